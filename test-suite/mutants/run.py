#!/usr/bin/env python3
"""Removes every operation that synchronizes from the PTX of the Hopper examples, one at a time, and wants each noticed.

    run.py CUTEC [--only REGEX] [--most N] [--jobs N] [--verbose]

A mutant is the PTX without one `mbarrier`, `fence`, `wgmma.fence`, `commit`, `wait`, barrier or `griddepcontrol`
instruction; of one that answers whether a wait is over, the answer is yes. It runs with `cutec-sim --check
--schedules 5`, and is noticed by a report, a deadlock, or another result than that of the program as it is.

Of a line of the source LLVM makes several instructions, as where it unrolls a loop. Those that a run does not come to have
no mutants; at least one of each must be executed, but of what `UNREACHED` names.

`KEPT` has those of which the removal is not noticed, one instruction of a program for each line, with the reason; LLVM
makes several instructions of one operation, and of some only the first changes nothing. The program fails where another
one is not noticed, where all are that a line of `KEPT` may mean, and where an example stands in no line of `PROGRAMS`.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLES = os.path.join("examples", "hopper")
SCHEDULES = 5
SECONDS = 120


@dataclass
class Integers:
    """An argument of given numbers, as a file of NumPy."""
    # "i4", "i8", or "f4" for other numbers.
    dtype: str
    shape: tuple
    values: list

    def file(self, path):
        header = f"{{'descr': '<{self.dtype}', 'fortran_order': False, 'shape': {self.shape}, }}"
        header = header.ljust(128 - 10 - 1) + "\n"
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
            file.write(struct.pack(f"<{len(self.values)}{ {'i4': 'i', 'i8': 'q', 'f4': 'f'}[self.dtype] }", *self.values))
        return path


@dataclass
class Program:
    """A kernel with its arguments: so small that a run is short, and large enough that every ring goes round and
    every block has several tiles."""
    example: str
    kernel: str
    parameters: dict = field(default_factory=dict)
    arguments: dict = field(default_factory=dict)

    @property
    def results(self):
        """What is compared: what is poisoned before, or added to."""
        return [name for name, value in self.arguments.items()
                if isinstance(value, str) and (value.startswith("poison") or name in ("c", "dw", "dq", "dbias"))]

    @property
    def name(self):
        return " ".join([self.kernel] + [f"-D {key}={value}" for key, value in self.parameters.items()])


def product(example, kernel, m, n, k, **parameters):
    return Program(example, kernel, parameters, {"a": f"normal:{m}x{k}", "b": f"normal:{n}x{k}", "c": f"poison:{m}x{n}"})


def moved(example, kernel, m, n, **parameters):
    result = f"poison:{n}x{m}" if kernel.startswith("transpose") else f"poison:{m}x{n}"
    return Program(example, kernel, parameters, {"x": f"normal:{m}x{n}", "y": result})


def rows(kernel, m, n, **arguments):
    parameters = {"threads": 64, "vecs": 2, "cluster": 2, "group": 1}
    return Program("norms_cluster", kernel, parameters, {"x": f"normal:{m}x{n}", "y": f"poison:{m}x{n}", **arguments})


def scaled(kernel, m, n, k, scales, **parameters):
    return Program("gemm_f8", kernel, parameters, {"a": f"normal:{m}x{k}", "b": f"normal:{n}x{k}", **scales, "c": f"poison:{m}x{n}"})


def weights(m, n, k, **parameters):
    return Program("gemm_weights", "gemm_weights", parameters, {
        "x": f"normal:{m}x{k}", "w": f"uniform:{n}x{k // 2}", "scales": f"normal:{n}x{-(-k // 128)}", "c": f"poison:{m}x{n}"})


def attention(kernel, m, n, d, more=None, batch=1, file="attention_sm90", **parameters):
    keys = values = f"normal:{batch}x{n}x1x{d}"
    if kernel == "attention_f8":
        keys, values = f"normal:{batch}x{n // 4}x4x1x{d}", f"normal:{batch}x1x{d}x{n}"
    return Program(f"../attention/{file}", kernel, {"d": d, "bn": 64, **parameters}, {
        "q": f"normal:{batch}x{m}x2x{d}", "k": keys, "v": values,
        "o": f"poison:{batch}x{m}x2x{d}", "lse": f"poison:{batch}x2x{m}", "scale": "0.125", **(more or {"counter": "zeros:2"})})


def variant(kind, more, **parameters):
    return attention(f"attention_{kind}", 700, 300, 64, {"counter": "zeros:2", **more}, file="attention_variants_sm90", warpgroups=2,
                     q_stages=2, stages=2, pingpong="false", **parameters)


def of_sm80(kind, more, **parameters):
    return Program("../attention/attention_variants_sm80", f"attention_{kind}_sm80", {"d": 64, "bn": 32, **parameters}, {
        "q": "normal:1x150x2x64", "k": "normal:1x200x1x64", "v": "normal:1x200x1x64", "o": "poison:1x150x2x64", "lse": "poison:1x2x150",
        "scale": "0.125", **more})


def few_weights(m, n, k, **parameters):
    return Program("gemm_weights", "gemm_weights_few", parameters, {
        "x": f"normal:{m}x{k}", "w": f"uniform:{n}x{k // 2}", "scales": f"normal:{n}x{-(-k // 128)}", "c": f"poison:{m}x{n}"})


def sparse(m, n, k, **parameters):
    rows, words = -(-m // 64), -(-k // 64) * 128
    # The first two of each four.
    metadata = Integers("i4", (rows, words), rows * words * [0x44444444])
    return Program("gemm_sparse", "gemm_sparse", parameters, {
        "a": f"normal:{m}x{k // 2}", "e": metadata, "b": f"normal:{n}x{k}", "c": f"poison:{m}x{n}"})


# Rows of 36 groups end before these: more groups than a warp has lanes; the tokens of rows.
ENDS = Integers("i4", (36,), [70, 71] + 33 * [71] + [200])
TOKENS = Integers("i4", (200,), [7 * i % 100 for i in range(200)])


def grouped(example, kernel, more, m, n, k, a=None, c=None, **parameters):
    return Program(example, kernel, {"bn": 64, "stages": 3, "most": 40, **parameters},
                   {"a": a or f"normal:{m}x{k}", "b": f"normal:36x{n}x{k}", "c": c or f"poison:{m}x{n}", **more})


# Kernels of the tile level in which two warpgroups take turns.
TURNS = "../../test-suite/tile-specialize-warps/pingpong"
# Those whose factors are computed, and one of which products read rows and columns.
WRITTEN = "../../test-suite/tile-specialize-warps/written"
PROLOGUE = "../../test-suite/tile-specialize-warps/prologue"
TWINS = "../../test-suite/tile/twins"

PROGRAMS = [
    Program("tile_rows_cluster", "tile_softmax_cluster", {"bn": 4096, "blocks": 2, "warps": 1},
            {"x": "normal:9x4000", "y": "poison:9x4000"}),
    product("../tile_gemm", "tile_gemm", 130, 136, 264, bm=64, bn=64, stages=3),
    product("../tile_gemm", "tile_gemm", 260, 136, 264, bm=64, bn=64, stages=3, down=2),
    product(TURNS, "rounded", 260, 264, 264),
    Program(WRITTEN, "linear", {}, {
        "q": "normal:150x300x64", "k": "normal:150x300x64", "v": "normal:150x300x64", "o": "poison:150x300x64"}),
    product(PROLOGUE, "swapped", 260, 264, 520),
    Program(TWINS, "through", {}, {"q": "normal:1500x64", "x": "normal:1300x64", "o": "poison:1500x64"}),
    Program(TURNS, "residual_of_f32", {}, {"a": "normal:260x264", "b": "normal:264x264", "x": "normal:260x264", "c": "poison:260x264"}),
    product("gemm_1_wgmma", "gemm_1_wgmma", 130, 72, 200, bn=64, bk=64, stages=3),
    product("gemm_2_tma", "gemm_2_tma", 130, 72, 328, bn=64, stages=3),
    product("gemm_3_roles", "gemm_3_roles", 130, 72, 648, bn=64, stages=3),
    product("gemm_4_persistent", "gemm_4_persistent", 130, 328, 328, bn=64, stages=3),
    product("gemm_sm90", "gemm_sm90", 130, 840, 328, bn=128, stages=3),
    product("gemm_sm90", "gemm_sm90", 260, 840, 328, bn=128, stages=3, cluster=2),
    product("gemm_sm90", "gemm_sm90_any", 130, 330, 330, bn=64, stages=3, align=2),
    product("gemm_sm90", "gemm_sm90_any", 130, 329, 331, bn=64, stages=4, align=1),
    product("gemm_sm90", "gemm_sm90", 130, 840, 264, bm=64, bn=64, stages=3, schedule="sm90_pingpong"),
    Program("gemm_epilogues", "gemm_alpha_beta_sm90", {"bm": 64, "bn": 64, "stages": 3},
            {"a": "normal:130x264", "b": "normal:840x264", "c": "normal:130x840", "alpha": "0.5", "beta": "2"}),
    Program("gemm_batched_sm90", "gemm_batched_sm90", {"bm": 64, "bn": 64, "stages": 3},
            {"a": "normal:3x70x264", "b": "normal:3x136x264", "c": "poison:3x70x136"}),
    Program("gemm_epilogues", "gemm_two_results", {"bm": 64, "bn": 128, "stages": 3, "schedule": "sm90_cooperative"},
            {"a": "normal:130x264", "b": "normal:840x264", "bias": "normal:130", "h": "poison:130x840", "c": "poison:130x840"}),
    Program("gemv", "gemv", {"fetch": 256}, {"x": "normal:1x520", "w": "normal:37x520", "y": "poison:1x37"}),
    Program("gemm_skinny", "gemm_skinny", {"bk": 64, "stages": 2, "cluster": 2},
            {"x": "normal:5x456", "w": "normal:136x456", "y": "poison:5x136"}),
    product("gemm_split_k", "gemm_split_k", 130, 72, 456, bn=64, stages=2, cluster=2),
    grouped("gemm_grouped", "gemm_grouped", {"ends": ENDS}, 200, 840, 200),
    grouped("gemm_grouped", "gemm_grouped", {"ends": ENDS}, 200, 840, 200, bn=128, sharing="true"),
    grouped("gemm_experts", "gemm_gather", {"ends": ENDS, "index": TOKENS}, 200, 840, 200, a="normal:100x200"),
    grouped("gemm_experts", "gemm_scatter", {"ends": ENDS, "index": TOKENS, "weights": "normal:200"}, 200, 840, 200, c="zeros:100x840"),
    Program("gemm_stream_k", "gemm_stream_k", {"bn": 64, "stages": 3}, {
        "a": "normal:130x456", "b": "normal:136x456", "c": "poison:130x136", "parts": "zeros:4x8192", "flags": "zeros:4"}),
    Program("gemm_grouped_maps", "gemm_grouped_maps", {"bn": 64, "stages": 3, "most": 40}, {
        "a": "normal:1x42648", "b": "normal:1x23168", "c": "poison:1x44728",
        "sizes": Integers("i4", (36, 3), [130, 72, 200, 1, 8, 8] + 33 * [0, 8, 8] + [260, 136, 64]),
        "starts": Integers("i8", (36, 3), [0, 0, 0] + 34 * [26000, 14400, 9360] + [26008, 14464, 9368]), "maps": "zeros:1x4x16"}),
    scaled("gemm_f8", 130, 264, 528, {"scale_a": "normal:1", "scale_b": "normal:1"}, bn=128, stages=3),
    scaled("gemm_f8_rows", 130, 840, 528, {"rows": "normal:130", "columns": "normal:840"}, bm=64, bn=64, stages=3,
           schedule="sm90_pingpong"),
    scaled("gemm_f8_blocks", 132, 264, 528, {"scales_a": "normal:132x5", "scales_b": "normal:3x5"}, bn=128, stages=3),
    Program("tile_gemm_f8", "tile_gemm_f8_blocks", {}, {
        "a": "normal:132x656", "b": "normal:1304x656", "scales_a": "normal:132x6", "scales_b": "normal:11x6", "c": "poison:132x1304"}),
    product("gemm_i8", "gemm_i8", 130, 264, 528, bn=128, stages=3),
    product("gemm_tf32", "gemm_tf32", 130, 264, 132, bn=128, stages=3),
    product("gemm_3xtf32", "gemm_3xtf32", 130, 264, 132, stages=3),
    Program("gemm_3xtf32", "gemm_c32", {"stages": 3}, {"a": "normal:130x132", "b": "normal:132x132", "c": "poison:130x264"}),
    weights(130, 264, 416, bn=32, stages=3),
    weights(18, 520, 416, bm=64, bn=16, bk=128, stages=4, cluster=2),
    few_weights(18, 72, 1184, bk=128, warps=2, stages=4),
    sparse(130, 264, 672, bn=64, stages=3),
    sparse(130, 264, 672, bm=64, bn=64, stages=3, cluster=2, schedule="sm90_pingpong"),
    product("gemm_triangular", "trmm_sm90", 456, 264, 456, bn=64, stages=3),
    Program("gemm_triangular", "gram_sm90", {"stages": 3}, {"a": "normal:456x328", "c": "poison:456x456"}),
    Program("gemm_triangular", "syrk_sm90", {"bm": 64, "stages": 3, "schedule": "sm90_pingpong"},
            {"a": "normal:456x328", "c": "poison:456x456"}),
    Program("conv", "conv2d", {"bm": 64, "bn": 64, "stages": 3},
            {"x": "normal:2x12x11x72", "f": "normal:136x3x3x72", "y": "poison:2x12x11x136"}),
    Program("conv", "conv2d_weights", {"bm": 64, "bn": 64, "stages": 3, "parts": 1},
            {"x": "normal:2x12x11x72", "dy": "normal:2x12x11x136", "dw": "zeros:136x3x3x72"}),
    Program("conv_data", "conv2d_data", {"bm": 64, "bn": 64, "stages": 3, "step": 2},
            {"dy": "normal:2x6x5x72", "f": "normal:72x3x3x136", "dx": "poison:2x12x10x136"}),
    attention("attention_sm90", 700, 300, 64, warpgroups=2, q_stages=2, stages=2, mask="causal", pingpong="false"),
    attention("attention_sm90", 700, 300, 64, warpgroups=2, q_stages=1, stages=3, mask="causal", pingpong="true"),
    attention("attention_decode", 20, 600, 64, {
        "lengths": Integers("i4", (2,), [590, 260]), "sums": "zeros:4x64x64", "rows": "zeros:4x64x2", "counters": "zeros:2"},
        batch=2, file="attention_decode_sm90", pack=2, stages=2),
    attention("attention_f8", 700, 320, 64, {"counter": "zeros:2", "sq": "normal:1x1", "sk": "normal:1x1", "sv": "normal:1x1"},
              file="attention_f8_sm90", q_stages=1),
    Program("../attention/attention_lengths_sm90", "attention_lengths", {"d": 64, "bn": 64, "warpgroups": 2, "q_stages": 2, "stages": 2}, {
        "q": "normal:700x2x64", "k": "normal:300x1x64", "v": "normal:300x1x64", "o": "poison:700x2x64", "lse": "poison:2x700",
        "scale": "0.125", "counter": "zeros:2", "query_starts": Integers("i4", (36,), [0, 330] + 33 * [331] + [700]),
        "key_starts": Integers("i4", (36,), [0, 150] + 33 * [160] + [300])}),
    Program("../attention/attention_lengths_sm90", "attention_pages", {"d": 64, "bn": 64, "warpgroups": 2, "q_stages": 2, "stages": 2, "page": 16}, {
        "q": "normal:700x2x64", "k": "normal:20x16x1x64", "v": "normal:20x16x1x64", "o": "poison:700x2x64", "lse": "poison:2x700",
        "scale": "0.125", "counter": "zeros:2", "query_starts": Integers("i4", (3,), [0, 330, 700]), "lengths": Integers("i4", (2,), [150, 160]),
        "table": Integers("i4", (2, 10), [19 - i for i in range(20)])}),
    attention("attention_append", 4, 600, 64, {
        "new_k": "normal:2x4x1x64", "new_v": "normal:2x4x1x64", "lengths": Integers("i4", (2,), [590, 260]), "sums": "zeros:4x64x64",
        "rows": "zeros:4x64x2", "counters": "zeros:2"}, batch=2, file="attention_decode_sm90", pack=2, stages=2),
    Program("../attention/attention_decode_sm90", "attention_decode_pages", {"d": 64, "bn": 64, "page": 64, "pack": 2, "stages": 2}, {
        "q": "normal:2x4x2x64", "k": "normal:20x64x1x64", "v": "normal:20x64x1x64", "o": "poison:2x4x2x64", "lse": "poison:2x2x4",
        "scale": "0.125", "lengths": Integers("i4", (2,), [590, 260]), "table": Integers("i4", (2, 10), [19 - i for i in range(20)]),
        "sums": "zeros:4x64x64", "rows": "zeros:4x64x2", "counters": "zeros:2"}),
    Program("../attention/attention_sm80", "attention_sm80", {"d": 64, "bn": 32, "mask": "causal"}, {
        "q": "normal:1x150x2x64", "k": "normal:1x200x1x64", "v": "normal:1x200x1x64", "o": "poison:1x150x2x64", "lse": "poison:1x2x150",
        "scale": "0.125"}),
    Program("../attention/attention_lengths_sm80", "attention_lengths_sm80", {"d": 64, "bm": 64, "bn": 32}, {
        "q": "normal:200x2x64", "k": "normal:150x1x64", "v": "normal:150x1x64", "o": "poison:200x2x64", "lse": "poison:2x200",
        "scale": "0.125", "query_starts": Integers("i4", (36,), [0, 130] + 33 * [131] + [200]),
        "key_starts": Integers("i4", (36,), [0, 70] + 33 * [80] + [150])}),
    Program("../attention/attention_lengths_sm80", "attention_pages_sm80", {"d": 64, "bm": 64, "bn": 32, "page": 16}, {
        "q": "normal:200x2x64", "k": "normal:20x16x1x64", "v": "normal:20x16x1x64", "o": "poison:200x2x64", "lse": "poison:2x200",
        "scale": "0.125", "query_starts": Integers("i4", (3,), [0, 130, 200]), "lengths": Integers("i4", (2,), [150, 160]),
        "table": Integers("i4", (2, 10), [19 - i for i in range(20)])}),
    variant("prefix", {"prefix": "70"}),
    variant("window", {"before": "100", "behind": "20"}),
    variant("softcap", {"cap": "3"}, mask="causal"),
    variant("alibi", {"slopes": "normal:2"}, mask="causal"),
    variant("sinks", {"sinks": "normal:2", "before": "100"}),
    variant("blocks_listed", {"counts": Integers("i4", (2, 6), 12 * [3]), "list": Integers("i4", (2, 6, 3), 12 * [0, 1, 2])}),
    of_sm80("prefix", {"prefix": "70"}),
    of_sm80("window", {"before": "100", "behind": "20"}),
    of_sm80("softcap", {"cap": "3"}, mask="causal"),
    of_sm80("alibi", {"slopes": "normal:2"}, mask="causal"),
    of_sm80("sinks", {"sinks": "normal:2", "before": "100"}),
    of_sm80("blocks_listed", {"counts": Integers("i4", (2, 2), 4 * [2]), "list": Integers("i4", (2, 2, 2), 4 * [2, 0])}),
    Program("../tile_attention", "tile_attention", {"d": 64, "bm": 128, "bn": 64, "stages": 2, "mask": "causal"}, {
        "q": "normal:1x700x2x64", "k": "normal:1x300x1x64", "v": "normal:1x300x1x64", "o": "poison:1x700x2x64", "lse": "poison:1x2x700",
        "scale": "0.125", "counter": "zeros:2"}),
    Program("../tile_attention", "tile_attention_bias", {"d": 64, "bn": 64}, {
        "q": "normal:1x700x2x64", "k": "normal:1x304x1x64", "v": "normal:1x304x1x64", "o": "poison:1x700x2x64", "lse": "poison:1x2x700",
        "scale": "0.125", "counter": "zeros:2", "bias": "normal:2x700x304"}),
    Program("../tile_attention_gradient", "tile_attention_dkv", {"d": 64, "bm": 64, "bn": 128}, {
        "q": "normal:4x200x2x64", "k": "normal:4x300x1x64", "v": "normal:4x300x1x64", "dout": "normal:4x200x2x64", "lse": "normal:4x2x200",
        "delta": "normal:4x2x200", "dk": "poison:4x300x1x64", "dv": "poison:4x300x1x64", "scale": "0.125", "counter": "zeros:2"}),
    Program("../tile_attention", "tile_attention_sinks", {"bm": 128, "bn": 64, "stages": 2}, {
        "q": "normal:1x700x2x64", "k": "normal:1x300x1x64", "v": "normal:1x300x1x64", "o": "poison:1x700x2x64", "lse": "poison:1x2x700",
        "scale": "0.125", "counter": "zeros:2", "sinks": "normal:2"}),
    Program("../tile_attention", "tile_attention_listed", {"d": 64, "bm": 128, "bn": 64, "stages": 2}, {
        "q": "normal:1x700x2x64", "k": "normal:1x300x1x64", "v": "normal:1x300x1x64", "o": "poison:1x700x2x64", "lse": "poison:1x2x700",
        "scale": "0.125", "counter": "zeros:2", "counts": Integers("i4", (2, 6), 12 * [3]), "list": Integers("i4", (2, 6, 3), 12 * [4, 0, 2])}),
    moved("copy_tma", "copy_tma", 70, 1028, bm=8, stages=3),
    moved("copy_tma", "transpose_tma", 520, 264, stages=2),
    rows("softmax_cluster", 9, 1020),
    rows("rms_norm_cluster", 9, 1020, weight="normal:1020", eps="0.5"),
    Program("../sequence/norm_gradients", "layer_norm_gradient", {"threads": 128, "group": 64, "vecs": 1, "stages": 3}, {
        "x": "normal:13x504", "dy": "normal:13x504", "weight": "normal:504", "mean": "normal:13", "rstd": "normal:13",
        "dx": "poison:13x504", "weights": "poison:2x504", "biases": "poison:2x504"}),
    Program("../sequence/norm_gradients", "rms_norm_weights", {}, {"weights": "normal:70x136", "dweight": "poison:136"}),
    Program("../sequence/dropout_norm", "dropout_rms_norm_gradient", {"threads": 128, "group": 64, "vecs": 1}, {
        "h": "normal:13x504", "dy": "normal:13x504", "dh": "normal:13x504", "weight": "normal:504", "rstd": "normal:13",
        "dx": "poison:13x504", "dresidual": "poison:13x504", "weights": "poison:2x504", "keep": "0.5", "seed": "3"}),
    Program("../sequence/rotary", "rotary", {}, {
        "x": "normal:3x20x128", "positions": "zeros:3", "cosines": "normal:4x64", "sines": "normal:4x64", "y": "poison:3x20x128"}),
    Program("../sequence/cross_entropy", "cross_entropy_parts", {"bn": 64, "bm": 64, "stages": 3, "schedule": "sm90_pingpong"}, {
        "x": "normal:130x264", "w": "normal:840x264", "targets": "zeros:130", "tops": "poison:14x130", "sums": "poison:14x130",
        "picked": "poison:130"}),
    Program("../sequence/cross_entropy", "cross_entropy_loss", {}, {
        "tops": "normal:9x70", "sums": "normal:9x70", "picked": "normal:70", "targets": "zeros:70", "lse": "poison:70",
        "loss": "poison:70", "mean": "poison:2", "counter": "zeros:1", "v": "7"}),
    Program("../sequence/cross_entropy", "cross_entropy_dlogits", {"bn": 64, "bm": 64, "stages": 3, "schedule": "sm90_pingpong"}, {
        "x": "normal:130x264", "w": "normal:840x264", "targets": "zeros:130", "lse": "normal:130", "scale": "normal:130",
        "dlogits": "poison:130x840", "first": "0", "v": "840"}),
    Program("../sequence/mamba2_ssd", "mamba2_ssd", {"stages": 2, "cluster": 2}, {
        "x": "normal:1x300x3x64", "dt": "normal:1x300x3", "bias": "normal:3", "a": "zeros:3", "b": "normal:1x300x1x128",
        "c": "normal:1x300x1x128", "d": "normal:3", "states": "normal:1x1x3x64x128", "y": "poison:1x300x3x64",
        "ends": "poison:1x1x3x64x128"}),
    Program("../sequence/mamba2_ssd", "mamba2_states", {"stages": 2, "cluster": 1}, {
        "x": "normal:1x300x3x64", "dt": "normal:1x300x3", "bias": "normal:3", "a": "zeros:3", "b": "normal:1x300x1x128",
        "ends": "poison:1x1x3x64x128", "totals": "poison:1x1x3"}),
    Program("../sequence/hstu", "hstu_attention", {"d": 64, "bn": 64}, {
        "q": "normal:430x1x64", "k": "normal:430x1x64", "v": "normal:430x1x64", "starts": Integers("i4", (3,), [0, 20, 430]),
        "targets": Integers("i4", (2,), [0, 3]), "bias": "normal:1x500", "o": "poison:430x1x64", "alpha": "0.2", "scale": "0.1",
        "origin": "0", "longest": "410"}),
    Program("../sequence/attention_gradient", "attention_gradient", {"causal": 1, "ordered": 1}, {
        "q": "normal:1x300x1x128", "k": "normal:1x200x1x128", "v": "normal:1x200x1x128", "gradient": "normal:1x300x1x128",
        "lse": "normal:1x1x320", "products": "normal:1x1x320", "dq": "zeros:1x300x1x128", "dk": "poison:1x200x1x128",
        "dv": "poison:1x200x1x128", "turns": "zeros:1x1x5", "scale": "0.1", "offset": "0"}),
    # Sums of f32 in any order: 32 keys are seen by all queries, by one warp of those that add up diagonals, the others by themselves, where the
    # bias is so low that they have no slope.
    Program("../sequence/hstu_gradient", "hstu_gradient", {"d": 64, "stages": 1, "causal": 0}, {
        "q": "normal:128x1x64", "k": "normal:128x1x64", "v": "normal:128x1x64", "gradient": "normal:128x1x64",
        "starts": Integers("i4", (2,), [0, 128]), "targets": Integers("i4", (1,), [96]),
        "bias": Integers("f4", (1, 255), 127 * [0.5] + [-100.0] + 127 * [-0.5]),
        "dq": "zeros:128x1x64", "dk": "poison:128x1x64", "dv": "poison:128x1x64", "dbias": "zeros:1x255", "turns": "zeros:1x3",
        "alpha": "0.2", "scale": "0.1", "origin": "127", "longest": "128"}),
    Program("../sequence/linear_attention", "linear_attention", {"stages": 2, "n": 64, "p": 64}, {
        "q": "normal:1x300x1x64", "k": "normal:1x300x1x64", "v": "normal:1x300x1x64", "gates": "zeros:1x300x1",
        "states": "normal:1x1x1x64x64", "o": "poison:1x300x1x64", "ends": "poison:1x1x1x64x64", "scale": "0.125"}),
    Program("../sequence/norm_gradients", "rms_norm_gradient", {"threads": 128, "group": 64, "vecs": 1, "stages": 3}, {
        "x": "normal:13x504", "dy": "normal:13x504", "weight": "normal:504", "rstd": "normal:13", "dx": "poison:13x504",
        "weights": "poison:2x504"}),
    Program("../sequence/norm_gradients", "layer_norm_weights", {}, {
        "weights": "normal:70x136", "biases": "normal:70x136", "dweight": "poison:136", "dbias": "poison:136"}),
    Program("../sequence/dropout_norm", "dropout_rms_norm", {"vecs": 1}, {
        "x": "normal:5x1000", "residual": "normal:5x1000", "weight": "normal:1000", "h": "poison:5x1000", "y": "poison:5x1000",
        "rstd": "poison:5", "eps": "0.5", "keep": "0.5", "seed": "3"}),
    Program("../sequence/dropout_norm", "dropout_layer_norm", {"vecs": 1}, {
        "x": "normal:5x1000", "residual": "normal:5x1000", "weight": "normal:1000", "bias": "normal:1000", "h": "poison:5x1000",
        "y": "poison:5x1000", "mean": "poison:5", "rstd": "poison:5", "eps": "0.5", "keep": "0.5", "seed": "3"}),
    Program("../sequence/dropout_norm", "dropout_layer_norm_gradient", {"threads": 128, "group": 64, "vecs": 1}, {
        "h": "normal:13x504", "dy": "normal:13x504", "dh": "normal:13x504", "weight": "normal:504", "mean": "normal:13", "rstd": "normal:13",
        "dx": "poison:13x504", "dresidual": "poison:13x504", "weights": "poison:2x504", "biases": "poison:2x504", "keep": "0.5", "seed": "3"}),
    Program("../sequence/hstu", "hstu_attention_unbiased", {"d": 64, "bn": 64}, {
        "q": "normal:430x1x64", "k": "normal:430x1x64", "v": "normal:430x1x64", "starts": Integers("i4", (3,), [0, 20, 430]),
        "targets": Integers("i4", (2,), [0, 3]), "o": "poison:430x1x64", "alpha": "0.2", "scale": "0.1", "longest": "410"}),
    Program("../sequence/attention_gradient", "attention_gradient_lengths", {"d": 64, "causal": 1, "ordered": 1}, {
        "q": "normal:1x300x1x64", "k": "normal:1x200x1x64", "v": "normal:1x200x1x64", "gradient": "normal:1x300x1x64",
        "starts": Integers("i4", (3,), [0, 30, 300]), "key_starts": Integers("i4", (3,), [0, 50, 200]), "lse": "normal:1x1x448",
        "products": "normal:1x1x448", "dq": "zeros:1x300x1x64", "dk": "poison:1x200x1x64", "dv": "poison:1x200x1x64",
        "turns": "zeros:1x1x7", "scale": "0.1", "longest": "150"}),
    Program("../sequence/hstu_gradient", "hstu_gradient_unbiased", {"d": 64, "stages": 1, "ordered": 1}, {
        "q": "normal:300x1x64", "k": "normal:300x1x64", "v": "normal:300x1x64", "gradient": "normal:300x1x64",
        "starts": Integers("i4", (2,), [0, 300]), "targets": Integers("i4", (1,), [3]), "dq": "zeros:300x1x64", "dk": "poison:300x1x64",
        "dv": "poison:300x1x64", "turns": "zeros:1x5", "alpha": "0.2", "scale": "0.1", "longest": "300"}),
    Program("../sequence/linear_attention", "linear_attention_states", {"stages": 2, "n": 64, "p": 64}, {
        "k": "normal:1x300x1x64", "v": "normal:1x300x1x64", "gates": "zeros:1x300x1", "ends": "poison:1x1x1x64x64",
        "totals": "poison:1x1x1"}),
    Program("../sequence/linear_attention", "retention", {"stages": 2, "n": 64, "p": 64}, {
        "q": "normal:1x300x1x64", "k": "normal:1x300x1x64", "v": "normal:1x300x1x64", "gates": "zeros:1",
        "states": "normal:1x1x1x64x64", "o": "poison:1x300x1x64", "ends": "poison:1x1x1x64x64", "scale": "0.125"}),
    Program("../sequence/cross_entropy", "cross_entropy_logits", {"bn": 64, "bm": 64, "stages": 3, "schedule": "sm90_pingpong"}, {
        "x": "normal:130x264", "w": "normal:840x264", "targets": "zeros:130", "logits": "poison:130x840", "tops": "poison:14x130",
        "sums": "poison:14x130", "picked": "poison:130"}),
    Program("../sequence/cross_entropy", "cross_entropy_dw", {"bn": 64, "bm": 64, "stages": 3}, {
        "dlogits": "normal:136x264", "x": "normal:840x264", "dw": "zeros:136x840"}),
    Program("../sequence/cross_entropy", "cross_entropy_dx", {"bn": 64, "bm": 64, "stages": 3}, {
        "dlogits": "normal:130x264", "w": "normal:840x264", "dx": "zeros:130x840", "accumulate": "true"}),
]

SYNCHRONIZES = re.compile(
    r"(?:@!?%?\w+\s+)?"
    r"(?P<opcode>(?:mbarrier\.|fence\.|membar\.|wgmma\.(?:fence|commit_group|wait_group)|bar\.|barrier\.|griddepcontrol\."
    r"|cp\.async\.(?:bulk\.)?(?:commit_group|wait_group|wait_all)|cp\.async\.mbarrier|tensormap\.cp_fenceproxy)[\w.:]*)"
    r"(?P<operands>[^;]*);")
ANSWERS = re.compile(r"mbarrier\.(?:test_wait|try_wait)")
RESULT = re.compile(r"\s*(%\w+)\s*,")

# What is not noticed: the program's name, the opcode and the line of the source, each as a regular expression; why; and of
# how many instructions, if not of one.
KEPT = [
    (r"^(?!.*cluster=2|gemm_alpha_beta|attention|cross_entropy_dx|hstu|linear_attention|retention)", r"^fence\.mbarrier_init", "mbarrier_init_fence|^kernel tile_attention",
     "In a block without a cluster the barrier after it orders the making of the objects for all who use them. CUTLASS has "
     "the fence there as well; Triton has none."),
    (r"^(gemm_alpha_beta|cross_entropy_dx)", r"^fence\.mbarrier_init", "mbarrier_init_fence", "The same of both its rings.", 2),
    (r"^attention(?!_gradient)", r"^fence\.mbarrier_init", "mbarrier_init_fence", "The same of all its rings.", 4),
    (r"^(hstu|attention_gradient)", r"^fence\.mbarrier_init", "mbarrier_init_fence", "The same of all its rings.", 3),
    (r"^attention(?!_gradient)", r"^mbarrier\.try_wait", r"^mbarrier_wait\(self\.empty\[stage\], number", "The first wait of the thread that takes numbers, for a new barrier."),
    (r"^attention_f8", r"^mbarrier\.try_wait", "passed", "A wait that is over already, for ptxas, which moves little across its branch."),
    (r"^attention(?!_gradient)", r"^wgmma\.fence", r"^(wgmma_fence|gemm)\(",
     "Between the products of scores and those of weights with values, for ptxas: where it finds none it makes one, and in a loop whose "
     "rounds it cannot tell to be the same for all threads waits for each product."),
    (r"^attention(?!_gradient)", r"^fence\.acq_rel", "fence.acq_rel", "The simulator's atomics are seen in their order."),
    (r"^attention(?!_gradient)", r"^bar\.sync", "^fn wait", "Turns with the tensor cores are for speed."),
    (r"^attention(?!_gradient)", r"^bar\.warp\.sync", "^warp_barrier", "The lanes of a warp read a number together.", 2),
    (r"^attention_(lengths|pages)", r"^bar\.sync", r"^barrier\(\);",
     "Barriers behind this one do what it is for; and one warp has the lengths of a few sequences.", 2),
    (r"^attention_(decode|append)", r"^bar\.sync", r"^barrier\(\);",
     "The same, ahead of the wait for the launch before and behind it; and behind the last rows that a block adds up.", 4),
    (r"^tile_attention", r"^griddepcontrol\.wait", r"^kernel", "The simulator runs one launch after the other."),
    (r"^tile_attention", r"^griddepcontrol\.launch", r"^kernel", "The same."),
    (r"^tile_attention", r"^wgmma\.fence", "sums \\+= dot", "Between the products of scores and those of weights with values, for ptxas, as at the cute level."),
    (r"^tile_attention_listed", r"^bar\.warp\.sync", "let value",
     "Of the number of the next tile: behind a shuffle of all lanes, who have read it then."),
    (r"^tile_attention_dkv", r"^bar\.warp\.sync", "let (grad|common)", "The same, in both roles.", 2),
    (r"^tile_attention_bias", r"^bar\.warp\.sync", "bias", "Behind `ldmatrix`, which all lanes do together."),
    (r"^tile_attention", r"^fence\.acq_rel", "", "The simulator's atomics are seen in their order."),
    (r"^attention_(\w+_)?sm80", r"^cp\.async\.wait_group", r"^cp_async_wait\(0\)",
     "Of a tile that sees no key, whose copies are complete before the block ends; behind blocks of keys no copy is under way."),
    (r"^(gemm_(2_tma|skinny|split_k)|linear_attention|retention)", r"^mbarrier\.try_wait", "self.empty",
     "The first waits of a producer, where LLVM has peeled them: for a new barrier, whose phase before the first is over.", 3),
    (r"^gemm_(skinny|split_k)", r"^wgmma\.fence", r"^(wgmma_fence|gemm)\(",
     "Of all blocks along k but the first, which LLVM has peeled: products of one shape may follow each other on the same sums."),
    (r"^(gemm_(3|4|\w*sm90|two_results|skinny|split|grouped|gather|scatter|stream|f8|i8|tf32|sparse)|gram|syrk|conv|cross_entropy)", r"^wgmma\.wait_group.* 1$", r"^(wgmma_wait\(1\)|gemm\()",
     "Of the first block along k, which LLVM has peeled: no group is under way but the one that may be."),
    (r"^gemm_(3|skinny|split_k)", r"^mbarrier\.arrive", "self.empty",
     "The last release of a stage, behind which nothing is loaded: each block has one tile."),
    (r"^copy_tma", r"^cp\.async\.bulk\.wait_group\.read", r"^bulk_wait_read\(stages",
     "Of the first tile of a block, which LLVM has peeled: nothing has been stored."),
    (r"^gemm_weights_few", r"^griddepcontrol\.", "griddepcontrol_", "As below, of lanes that fetch ahead and of the others.", 4),
    (r"^(gem[mv]|gram|syrk|trmm|conv|attention|(rms|layer)_norm_weights|retention|cross_entropy|mamba2|linear_attention|hstu)", r"^griddepcontrol\.wait", "griddepcontrol_wait",
     "The simulator runs one launch after the other."),
    (r"^(gem[mv]|gram|syrk|trmm|conv|attention|retention|cross_entropy|mamba2|linear_attention|hstu)", r"^griddepcontrol\.launch", "griddepcontrol_launch", "The same."),
    (r"^gemm_grouped_maps", r"^bar\.warp\.sync", "^warp_barrier",
     "Of the map of c: the thread that edits it is the one by which the simulator has the warp copy it."),
    (r"^(hstu|attention_gradient)", r"^mbarrier\.try_wait", "self.empty",
     "Of the ring of queries or keys, which is filled once: for a new barrier, whose phase before the first is over; and the first waits of "
     "other rings, where LLVM has peeled them.", 3),
    (r"^(attention|hstu)_gradient", r"^(fence\.acq_rel|cp\.async\.bulk\.wait_group)", r"fence\.acq_rel|^bulk_wait\(0\)",
     "Of the order in which blocks add to dq: an addition takes place as a whole, and in the simulator where the block comes to it.", 4),
    (r"^(mamba2|linear_attention)", r"^bar\.warp\.sync", "^warp_barrier",
     "Before the first chunk nobody has read, and between two chunks the warps of a warpgroup meet at a barrier.", 2),
    (r"^(dropout_)?(layer|rms)_norm_gradient", r"^bar\.warp\.sync", "^warp_barrier",
     "Between two reads of a row, which the compiler is not to take for one."),
    (r"^hstu", r"^bar\.sync", r"^fn wait\(self\)",
     "Of the first block: turns are for the tensor cores, what one warpgroup computes depends on no other one."),
    (r"^hstu", r"^bar\.sync", r"^barrier\(1 \+ i, 128\)",
     "Before the result is written where the queries were: the simulator executes a product when the last of its four warps has come, "
     "so that none reads its rows of A after another one has waited."),
    (r"^(mamba2_ssd|linear_attention|retention)", r"^fence\.mbarrier_init", "mbarrier_init_fence", "Of the ring of states, which is the block's own, and of both rings "
     "of a block without a cluster.", 2),
    (r"^mamba2_ssd", r"^mbarrier\.try_wait", "self.empty", "Of the state before the first chunk: for a new barrier."),
    (r"^(attention|hstu)_gradient", r"^bar\.warp\.sync", "^warp_barrier",
     "All lanes come to an aligned barrier, which is what the ISA wants; the warp barrier only brings them there together."),
    (r"^(hstu_gradient|attention_gradient_lengths)", r"^bar\.sync", r"barrier\(1 \+ i, 128\); }$",
     "Before dk and dv are written where keys and values were: as of the result of the forward pass."),
    (r"^(tile_gemm(?!.*down=2)|rounded|residual|linear$|swapped|through)", r"^fence\.mbarrier_init", "^kernel", "What the compiler makes of tiles: as of mbarrier_init_fence in a block without a cluster."),
    (r"^(tile_gemm|rounded|residual|linear$|swapped|through)", r"^griddepcontrol\.", "^kernel", "The simulator runs one launch after the other.", 2),
    (r"^(tile_gemm|rounded|residual)", r"^wgmma\.wait_group.* 1$", r"^sums \+= dot",
     "Of the first block along k, which LLVM has peeled: no group is under way but the one that may be."),
    (r"^linear$", r"^wgmma\.fence", r"^state \+= dot", "Of sums that no thread has touched since the product before them was waited for: for ptxas, as at the cute level."),
    (r"^swapped$", r"^bar\.warp\.sync", r"^for i in tiles", "Behind the last product, to which all lanes come when they have read what it is made of."),
    (r"^residual", r"^cp\.async\.bulk\.commit_group", r"^c\.tile", "Of the last piece but one: the last has it in its group, and nothing waits between."),
    (r"^tile_gemm.*down=2", r"^bar\.warp\.sync", r"^c\.tile", "Before the aligned barrier of the cluster, as below."),
    (r"cluster=2", r"^bar\.warp\.sync", "^warp_barrier",
     "All lanes come to the aligned barrier of the cluster, which is what the ISA wants; the warp barrier only brings them "
     "there together."),
]

# What no run of a program comes to: its name and the opcode, each as a regular expression; and why.
UNREACHED = [
    (r"^(tile_gemm|rounded|residual|swapped|through)", r"^bar\.warp\.sync", "Of a product without k, whose sums are zeros."),
]


@dataclass
class Mutant:
    program: Program
    opcode: str
    # Line of the PTX, from 1.
    line: int
    # File, line and text of the source.
    place: str
    source: str
    ptx: str


def source_line(path, line):
    for folder in ("", "frontend"):
        found = os.path.join(ROOT, folder, path)
        if os.path.exists(found):
            with open(found, encoding="utf-8") as file:
                return file.read().split("\n")[line - 1].strip()
    return ""


def mutants(program, ptx):
    files = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.M))
    starts = [match.start() for match in re.finditer(r"^\.visible \.entry", ptx, re.M)] + [len(ptx)]
    first = re.search(rf"^\.visible \.entry {program.kernel}\(", ptx, re.M).start()
    end = next(start for start in starts if start > first)
    for match in SYNCHRONIZES.finditer(ptx, first, end):
        place, source = "", ""
        locations = list(re.finditer(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)", ptx[first:match.start()]))
        if locations:
            number, line, _ = locations[-1].groups()
            place, source = f"{files[number]}:{line}", source_line(files[number], int(line))
        opcode, result = match["opcode"], RESULT.match(match["operands"])
        if opcode.startswith("wgmma.wait_group"):
            # How many groups it leaves.
            opcode += match["operands"].rstrip()
        instead = ""
        if ANSWERS.match(opcode):
            instead = f"setp.eq.b32 {result[1]}, 0, 0;"
        elif opcode.startswith("mbarrier.") and result:
            instead = f"mov.b64 {result[1]}, 0;"
        yield Mutant(program, opcode, ptx.count("\n", 0, match.start()) + 1, place, source,
                     ptx[:match.start()] + instead + ptx[match.end():])


class Simulator:
    """Runs PTX of a program."""

    def __init__(self, cutec, folder):
        self.cutec, self.folder = cutec, folder

    def arguments(self, program):
        """Options of `cutec-sim`."""
        for name, value in program.arguments.items():
            if isinstance(value, Integers):
                path = os.path.join(self.folder, f"{program.kernel}.{name}.npy")
                value = path if os.path.exists(path) else value.file(path)
            yield from ("--arg", f"{name}={value}")

    def compile(self, program):
        path = os.path.join(self.folder, "program.ptx")
        command = [self.cutec, os.path.join(EXAMPLES, program.example + ".cute"), "--kernel", program.kernel,
                   "--arch", "sm_90a", "-o", path]
        for key, value in program.parameters.items():
            command += ["-D", f"{key}={value}"]
        subprocess.run(command, check=True, cwd=ROOT)
        with open(path, encoding="utf-8") as file:
            return file.read()

    def executed(self, program, ptx):
        """Lines of the PTX that are executed."""
        path = os.path.join(self.folder, "program.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ptx)
        command = [self.cutec + "-sim", path, "--kernel", program.kernel, "--json"]
        command += self.arguments(program)
        (counts,) = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return {instruction["ptx_line"] for instruction in counts["instructions"] if instruction["counts"]["executed"]}

    def run(self, program, ptx, number):
        """What is reported, or nothing, and the bytes of the results."""
        path = os.path.join(self.folder, f"{number}.ptx")
        outputs = {name: os.path.join(self.folder, f"{number}.{name}.npy") for name in program.results}
        with open(path, "w", encoding="utf-8") as file:
            file.write(ptx)
        command = [self.cutec + "-sim", path, "--kernel", program.kernel, "--check", "--schedules", str(SCHEDULES)]
        command += self.arguments(program)
        for name, output in outputs.items():
            command += ["--out", f"{name}={output}"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return f"no end after {SECONDS} seconds", []
        finally:
            os.remove(path)
        if run.returncode:
            lines = [line.strip() for line in (run.stderr + run.stdout).split("\n") if line.strip()]
            return lines[0] if lines else f"exit code {run.returncode}", []
        results = []
        for output in outputs.values():
            with open(output, "rb") as file:
                results.append(file.read())
            os.remove(output)
        return None, results


def is_kept(mutant):
    return next((i for i, (program, opcode, source, *_) in enumerate(KEPT)
                 if re.search(program, mutant.program.name) and re.search(opcode, mutant.opcode)
                 and re.search(source, mutant.source)), None)


def is_unreached(mutant):
    return any(re.search(program, mutant.program.name) and re.search(opcode, mutant.opcode) for program, opcode, _ in UNREACHED)


def sample(everything, most):
    """At most so many of a list, from all over it."""
    count = min(most, len(everything))
    return [everything[i * len(everything) // count] for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cutec")
    parser.add_argument("--only", default="", help="programs whose names hold this")
    parser.add_argument("--most", type=int, metavar="N", help="of each program so many mutants")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--verbose", action="store_true", help="each mutant, with what is reported of it")
    options = parser.parse_args()

    wrong = []
    examples = {os.path.splitext(os.path.relpath(path, os.path.join(ROOT, EXAMPLES)))[0]
                for folder in (EXAMPLES, os.path.join("examples", "attention"), os.path.join("examples", "sequence"))
                for path in glob.glob(os.path.join(glob.escape(os.path.join(ROOT, folder)), "*.cute"))}
    wrong += [f"{EXAMPLES}/{example}.cute has no line in PROGRAMS"
              for example in sorted(examples - {program.example for program in PROGRAMS})]
    programs = [program for program in PROGRAMS if re.search(options.only, program.name)]
    met, count = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        simulator = Simulator(options.cutec, folder)
        for program in programs:
            ptx = simulator.compile(program)
            report, expected = simulator.run(program, ptx, "program")
            if report:
                wrong.append(f"{program.name}: {report}")
                continue
            lines = simulator.executed(program, ptx)
            everything = list(mutants(program, ptx))
            all_mutants = [mutant for mutant in everything if mutant.line in lines]
            reached = {(mutant.opcode, mutant.place) for mutant in all_mutants}
            wrong += sorted({f"{program.name}: {mutant.opcode} at {mutant.place} is never executed"
                             for mutant in everything if (mutant.opcode, mutant.place) not in reached and not is_unreached(mutant)})
            if options.most:
                all_mutants = sample([mutant for mutant in all_mutants if is_kept(mutant) is None], options.most)
            count += len(all_mutants)
            runs = pool.map(lambda job: simulator.run(program, job[1].ptx, job[0]), enumerate(all_mutants))
            for mutant, (report, found) in zip(all_mutants, runs):
                if not report and found != expected:
                    report = "another result"
                kept = is_kept(mutant)
                text = f"{program.name}: without {mutant.opcode} (ptx line {mutant.line}, {mutant.place}: {mutant.source})"
                if options.verbose:
                    print(f"{text}: {report or 'NOTHING'}", flush=True)
                allowed = 0 if kept is None else (*KEPT[kept], 1)[4]
                if not report and met[program.name, kept] < allowed:
                    met[program.name, kept] += 1
                elif not report:
                    wrong.append(f"{text} is not noticed")
    if not options.only and not options.most:
        wrong += [f"KEPT has what is noticed, or is in no program: {entry[:3]}" for i, entry in enumerate(KEPT)
                  if all(i != kept for _, kept in met)]
    for text in wrong:
        print(text)
    print(f"{count} mutants of {len(programs)} programs: {len(wrong)} errors")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
