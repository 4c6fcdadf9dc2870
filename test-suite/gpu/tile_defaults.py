#!/usr/bin/env python3
"""What the compiler chooses at the tile level, beside what somebody could have pinned: every kernel of examples/tile_*.cute and of
examples/hopper/tile_rows_cluster.cute as it stands, and with other tiles, warps, stages and blocks a multiprocessor, on a GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/tile_defaults.py [--arch sm_80] [--only TEXT,TEXT] [--source examples] [--rounds 7] [--json FILE]

The ratio is the time of the fastest pinned alternative over that of the default: 1 where the default is the fastest, and not below 0.9 by
what the tile level promises. Of a kernel all alternatives run in alternating rounds on the same operands (rounds.py), and write the same as
the default does, up to rounding. Alternatives are compile-time parameters of the kernel, or pins that are written into its source: `warps`,
`min_blocks`, and `pipeline` of every loop. What does not compile or fit is left out, and standard error says so. Cases in parentheses
are no first version of anybody's, for example products of so few tiles that most multiprocessors idle: no tile of a default suits them.
The exit status is 1 where a result differs; with `--strict` where a ratio is below 0.9, too.
"""

import argparse
import concurrent.futures
import functools
import itertools
import pathlib
import re
import statistics
import sys
import time

import cutec
import torch

from rounds import compare, geometric_mean, named, normal, ratio, save

HERE = pathlib.Path(__file__).resolve().parent
# Pins that are no compile-time parameters.
PINS = ("warps", "min_blocks", "pipeline")
BF16, F16, F32, F64, I8, I32 = torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int8, torch.int32


def grid(**choices):
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def tiles(*each, **others):
    """Tiles of a product: (bm, bn, bk, stages)."""
    return [dict(zip(("bm", "bn", "bk", "stages"), one)) | others for one in each]


def warps(*counts):
    return [{"warps": count} for count in counts]


def pipelines(*depths):
    return [{"pipeline": depth} for depth in depths]


class Case:
    """A kernel with its operands, of which it writes those at `written`, and the alternatives to its defaults."""

    def __init__(self, name, source, kernel, operands, alternatives, fixed=None, written=(-1,), bound=2e-2):
        self.name, self.source, self.kernel, self.operands = name, source, kernel, operands
        self.alternatives, self.fixed, self.written, self.bound = alternatives, fixed or {}, written, bound


def empty(*shape, dtype=F32):
    x = torch.empty(shape, dtype=dtype, device="cuda")
    return x.fill_(float("nan") if dtype.is_floating_point else -1)


def zeros(*shape, dtype=F32):
    return torch.zeros(shape, dtype=dtype, device="cuda")


def columns(rows, k, dtype):
    """A matrix whose columns lie together."""
    return normal(k, rows, dtype=dtype).t()


def bytes_of(*shape):
    return torch.randint(-100, 100, shape, dtype=I8, device="cuda")


# By tensor cores: those of `wgmma`, and those that suit `mma.sync` and less shared memory.
LARGE = tiles((128, 256, 64, 4), (128, 256, 64, 3), (256, 128, 64, 4), (128, 128, 64, 4), (128, 128, 64, 6), (128, 192, 64, 4), (64, 256, 64, 4),
              (128, 128, 32, 4), (128, 256, 32, 4))
# Of 8 bits.
BYTES = tiles((128, 256, 128, 4), (128, 256, 128, 3), (128, 256, 64, 4), (128, 128, 128, 6), (128, 128, 64, 4), (256, 128, 128, 4))
# Of 32 bits, on tensor cores and by single threads.
TF32 = tiles((128, 256, 32, 4), (128, 256, 32, 3), (128, 128, 32, 4), (128, 128, 32, 6), (128, 128, 16, 4), (64, 128, 32, 4), (64, 64, 32, 3))
SINGLE = tiles((128, 128, 16, 3), (128, 128, 16, 4), (128, 256, 16, 3), (256, 128, 16, 3), (128, 256, 8, 4), (64, 128, 16, 3)) + tiles(
    (128, 128, 16, 3), (128, 128, 8, 4), (64, 128, 16, 3), blocks=2)
DOUBLE = tiles((64, 64, 16, 3), (128, 64, 16, 3), (128, 128, 16, 3), (128, 128, 8, 4), (64, 128, 16, 4), (128, 64, 8, 4), (64, 64, 32, 3))
SMALL = tiles((64, 64, 32, 3), (64, 64, 64, 4), (64, 128, 64, 4), (128, 128, 64, 4), (128, 128, 32, 4), (128, 256, 64, 4), (64, 64, 128, 4))


def products(n):
    gemm = "tile_gemm.cute"
    square = lambda dtype, to: lambda: (normal(n, n, dtype=dtype), normal(n, n, dtype=dtype), empty(n, n, dtype=to))
    yield Case(f"product of bf16, {n}³", gemm, "tile_gemm", square(BF16, BF16), LARGE)
    yield Case(f"product of f32, {n}³", gemm, "tile_gemm", square(F32, F32), SINGLE, dict(t="f32", to="f32", align=4), bound=1e-3)
    yield Case("product of f64, 2048³", gemm, "tile_gemm", lambda: (normal(2048, 2048, dtype=F64), normal(2048, 2048, dtype=F64), empty(2048, 2048, dtype=F64)),
               DOUBLE, dict(t="f64", sum="f64", to="f64", align=2), bound=1e-6)
    yield Case(f"product of i8, {n}³", gemm, "tile_gemm", lambda: (bytes_of(n, n), bytes_of(n, n), empty(n, n, dtype=I32)), BYTES,
               dict(t="i8", sum="i32", to="i32", align=16), bound=0)
    yield Case(f"product of f8, {n}³", gemm, "tile_gemm",
               lambda: (normal(n, n, dtype=torch.float8_e4m3fn), normal(n, n, dtype=torch.float8_e4m3fn), empty(n, n, dtype=BF16)), BYTES,
               dict(t="f8e4m3", align=16))
    yield Case(f"product of tf32, {n}³", gemm, "tile_gemm", square(F32, F32), TF32, dict(t="tf32", to="f32", align=4), bound=5e-3)
    yield Case(f"columns of b, {n}³", gemm, "tile_gemm_kn", lambda: (normal(n, n), columns(n, n, BF16), empty(n, n, dtype=BF16)), LARGE)
    yield Case(f"columns of a, {n}³", gemm, "tile_gemm_mk", lambda: (columns(n, n, BF16), normal(n, n), empty(n, n, dtype=BF16)), LARGE)
    yield Case(f"columns of both, {n}³", gemm, "tile_gemm_mn", lambda: (columns(n, n, BF16), columns(n, n, BF16), empty(n, n, dtype=BF16)), LARGE)
    yield Case(f"f32 as tf32, {n}³", gemm, "tile_gemm_tf32", square(F32, F32),
               grid(bm=(64, 128), bn=(64, 128, 256), bk=(16, 32)) + [dict(bm=128, bn=128, bk=32, pipeline=depth) for depth in (2, 3, 4)], bound=1e-2)
    yield Case(f"weights of bytes, {n}³", gemm, "tile_gemm_weights",
               lambda: (normal(n, n, dtype=F16), bytes_of(n, n), torch.rand(n, device="cuda"), empty(n, n, dtype=F16)),
               tiles((128, 128, 64, 3), (128, 256, 64, 3), (128, 256, 64, 2), (128, 256, 32, 3), (128, 128, 32, 4), (64, 256, 64, 3)))
    yield Case("16 products of 2048³", gemm, "tile_gemm_batched",
               lambda: (normal(16, 2048, 2048), normal(16, 2048, 2048), empty(16, 2048, 2048, dtype=BF16)), SMALL)
    yield Case("512 × 512 × 16384 in 8 parts", gemm, "tile_gemm_split_k",
               lambda: (normal(512, 16384), normal(512, 16384), empty(8, 512, 512)), [one for one in SMALL if one["bk"] == 64])
    yield Case("sums of 8 parts", gemm, "tile_add_parts", lambda: (normal(8, 4096, 4096, dtype=F32), empty(4096, 4096, dtype=BF16)),
               grid(bm=(16, 32, 64), bn=(64, 128, 256)) + warps(2, 4, 8, 16))
    yield Case("(product of bf16, 1024³)", gemm, "tile_gemm",
               lambda: (normal(1024, 1024), normal(1024, 1024), empty(1024, 1024, dtype=BF16)), SMALL)
    yield Case("split k, 512 × 512 × 16384, 8 parts, one launch", "tile_split_k.cute", "tile_split_k",
               lambda: (normal(512, 16384), normal(512, 16384), empty(8, 512, 512), zeros(8, 8, dtype=I32), empty(512, 512, dtype=BF16)), SMALL)
    yield Case("sum of 2^28", "tile_split_k.cute", "tile_total",
               lambda: (normal(1 << 28, dtype=F32), empty(1 << 18), zeros(1, dtype=I32), empty(1)),
               grid(bn=(1024, 2048, 4096, 8192, 16384)) + warps(4, 8, 16), bound=1.0)


def epilogues(n):
    source = "tile_epilogues.cute"
    matrices = lambda count: [normal(n, n, dtype=F16) for _ in range(count)]
    bias = lambda: normal(n, dtype=F16)
    out = lambda: empty(n, n, dtype=F16)
    yield Case("bias, relu", source, "tile_gemm_bias_relu", lambda: (*matrices(2), bias(), out()), LARGE)
    yield Case("gelu, bias, residual", source, "tile_gemm_gelu_residual", lambda: (*matrices(2), bias(), *matrices(1), out()), LARGE)
    yield Case("residual", source, "tile_gemm_residual", lambda: (*matrices(3), out()), LARGE)
    yield Case("residual in place", source, "tile_gemm_residual_in_place", lambda: matrices(3), LARGE)
    yield Case("two results", source, "tile_gemm_two_results", lambda: (*matrices(2), bias(), out(), out()), LARGE, written=(-2, -1))
    yield Case("alpha, beta", source, "tile_gemm_alpha_beta", lambda: (*matrices(3), 0.5, 0.25), LARGE, written=(2,))
    yield Case("quantized", source, "tile_gemm_quantized",
               lambda: (bytes_of(n, n), bytes_of(n, n), torch.rand(n, 1, device="cuda") / 1e5, torch.rand(n, device="cuda"), empty(n, n, dtype=I8),
                        empty(n, n, dtype=I32)), tiles((64, 64, 64, 3), *(tuple(one.values()) for one in BYTES)), written=(-2, -1), bound=1.5)
    yield Case("a product of a product", source, "tile_chain",
               lambda: (normal(8192, 32, dtype=F16), normal(48, 32, dtype=F16), normal(8192, 48, dtype=F16), empty(8192, 8192)), warps(1, 2, 4))


def rows():
    source, eps = "tile_rows.cute", 1e-5
    short = lambda: (normal(16384, 4096), empty(16384, 4096, dtype=BF16))
    long = lambda: (normal(8192, 16384), empty(8192, 16384, dtype=BF16))
    with_weights = lambda x, y, count: (x, *(normal(x.shape[1]) for _ in range(count)), y, eps)
    whole = warps(2, 4, 8, 16) + [{"min_blocks": 4}, {"warps": 8, "min_blocks": 4}]
    deep = pipelines(1, 2, 3) + grid(bn=(1024, 2048, 4096, 8192)) + warps(4, 8, 16)
    yield Case("softmax of rows", source, "tile_softmax", short, whole)
    yield Case("softmax of long rows", source, "tile_softmax_long", long, deep)
    yield Case("RMS norm of rows", source, "tile_rms_norm", lambda: with_weights(*short(), 1), whole, written=(-2,))
    yield Case("RMS norm of long rows", source, "tile_rms_norm_long", lambda: with_weights(*long(), 1), deep, written=(-2,))
    yield Case("layer norm of rows", source, "tile_layer_norm", lambda: with_weights(*short(), 2), whole, written=(-2,))
    yield Case("sums of rows", source, "tile_row_sums", lambda: (normal(8192, 16384, dtype=F32), empty(8192, 1)),
               pipelines(1, 2, 3) + grid(bm=(1, 2, 4, 8), bn=(512, 1024, 2048)) + warps(4, 8, 16), bound=1e-2)
    yield Case("sums of columns", source, "tile_column_sums", lambda: (normal(16384, 16384, dtype=F32), empty(1, 16384)),
               pipelines(1, 2, 3, 4) + grid(bm=(32, 64, 128), bn=(32, 64, 128)) + warps(4, 8, 16, 32), bound=1e-2)
    yield Case("transpose", source, "tile_transpose", lambda: (normal(8192, 8192, dtype=F32), empty(8192, 8192)),
               grid(b=(32, 64, 128)) + warps(4, 8, 16), bound=0)
    m, n = 256, 393216
    both = [dict(blocks=blocks, warps=count) for blocks, count in ((8, 32), (16, 8), (16, 16), (16, 32))]
    yield Case("softmax of a cluster", "hopper/tile_rows_cluster.cute", "tile_softmax_cluster", lambda: (normal(m, n, dtype=F32), empty(m, n)),
               both + [dict(blocks=16, warps=count, stay=stay) for count in (8, 16) for stay in (True, False)], bound=1e-4)
    yield Case("RMS norm of a cluster", "hopper/tile_rows_cluster.cute", "tile_rms_norm_cluster",
               lambda: (normal(m, n, dtype=F32), normal(n, dtype=F32), empty(m, n), eps), both + [
                   dict(blocks=16, warps=count, stay=stay) for count in (8, 16) for stay in (True, False)], written=(-2,), bound=1e-4)


def operators():
    source = "tile_operators.cute"
    m, n = 512, 393216
    x = functools.cache(lambda: normal(m, n, dtype=F32))
    both = lambda: (x(), empty(m, n))
    for name in ("gelu", "relu"):
        yield Case(f"{name}", source, "tile_map", both, grid(bn=(512, 1024, 2048, 4096, 8192)) + warps(2, 4, 8, 16), dict(f=name), bound=1e-4)
    for bn in (256, 512, 1024, 4096, 8192, 16384):
        # A tile that somebody chose: the model has the threads to choose.
        yield Case(f"relu, tiles of {bn}", source, "tile_map", both, [dict(bn=2048), *warps(1, 2, 4, 8, 16, 32)], dict(f="relu", bn=bn), bound=0)
    yield Case("sums over the middle", source, "tile_middle_sums", lambda: (normal(30, 4096, 4095, dtype=F32), empty(30, 4095)),
               grid(bm=(8, 16, 32), bn=(128, 256, 512)) + pipelines(1, 2, 3) + warps(2, 4, 8, 16), bound=1e-2)
    square = lambda: (normal(16384, 16384, dtype=F32), empty(16384, 16384))
    deep = grid(bn=(1024, 2048, 4096, 8192)) + pipelines(1, 2, 3) + warps(2, 4, 8, 16)
    yield Case("prefix sums", source, "tile_prefix_sums", square, deep, bound=1e-2)
    yield Case("argmax", source, "tile_argmax", lambda: (normal(16384, 16384, dtype=F32), empty(16384, dtype=I32)), deep, bound=0)
    yield Case("sort of rows of 256", "tile_sort.cute", "sort_rows", lambda: (normal(65536, 256, dtype=F32), empty(65536, 256)),
               grid(b=(1, 2, 4, 8)) + warps(1, 2, 4, 8), bound=0)
    yield Case("the 64 greatest of 4096", "tile_sort.cute", "top_rows",
               lambda: (normal(16384, 4096, dtype=F32), empty(16384, 64), empty(16384, 64, dtype=I32)), grid(b=(1, 2)) + warps(4, 8, 16),
               written=(-2, -1), bound=0)


def windows():
    source = "tile_windows.cute"
    yield Case("depthwise", source, "depthwise",
               lambda: (normal(2048, 65536, dtype=F16), normal(2048, 5, dtype=F16), empty(2048, 65536, dtype=F16), 2),
               grid(bc=(1, 4, 8, 16), b=(128, 256, 512)) + pipelines(1, 2, 3) + warps(2, 4, 8), written=(2,))
    yield Case("stencil", source, "laplace", lambda: (normal(8192, 16384, dtype=F32), empty(8192, 16384)), grid(b=(16, 32, 64)) + warps(2, 4, 8, 16), bound=1e-4)
    yield Case("dilation", source, "dilate", lambda: (bytes_of(8192, 16384), empty(8192, 16384, dtype=I8)), grid(b=(16, 32, 64)) + warps(1, 2, 4, 8), bound=0)
    yield Case("a border", source, "pad", lambda: (normal(8192, 8192, dtype=F16), empty(8200, 8200, dtype=F16), 4, 4),
               grid(b=(32, 64, 128)) + warps(2, 4, 8, 16), written=(1,), bound=0)
    yield Case("a part of a matrix", source, "insert", lambda: (normal(8192, 8192, dtype=F16), empty(8200, 8200, dtype=F16), 4, 4),
               grid(b=(32, 64, 128)) + warps(1, 2, 4, 8), written=(1,), bound=0)
    yield Case("convolution of rows", source, "convolution",
               lambda: (normal(65536, 256, dtype=F16), normal(256, 768, dtype=F16), empty(65536, 256, dtype=F16), 3, 1), SMALL, written=(2,))
    yield Case("a product into a part", source, "add_product",
               lambda: (normal(4096, 4096, dtype=F16), normal(4096, 4096, dtype=F16), normal(8192, 8192, dtype=F32), 256, 256), SMALL, written=(2,))
    yield Case("a band", source, "banded", lambda: (normal(16384, 16384).tril().triu(-1024), normal(16384, 1024), empty(16384, 1024), 1024), SMALL, written=(2,))


def attention():
    def operands(d, h):
        q, k, v = (normal(2, 4096, h, d) for _ in range(3))
        return (q, k, v, empty(2, 4096, h, d, dtype=BF16), empty(2, h, 4096), d**-0.5, zeros(2, dtype=I32))

    for d, h in ((128, 16), (64, 32)):
        for mask in ("unmasked", "causal"):
            others = grid(bm=(64, 128, 192), bn=(64, 128), stages=(2, 3)) + [dict(bm=64, bn=32, stages=2), dict(bm=128, bn=32, stages=3)]
            yield Case(f"attention, heads of {d}, {mask}", "tile_attention.cute", "tile_attention", functools.partial(operands, d, h), others,
                       dict(d=d, mask=mask), written=(3, 4))


def convolutions():
    source = "tile_conv.cute"
    # How filters are packed depends on bk.
    forward = grid(bp=(64, 128, 256), bo=(64, 128)) + [dict(stages=1), dict(stages=3)]
    backward = grid(bo=(64, 128), be=(64, 128), bk=(16, 32))
    filters = lambda c, o, elements, dtype: normal(c * elements, o, dtype=dtype) / (c * elements) ** 0.5
    yield Case("filters packed", source, "pack", lambda: (normal(512, 512, 9, dtype=F32), empty(4608, 512)), grid(b=(16, 32, 64)) + warps(2, 4, 8), bound=0)
    yield Case("convolution of lines", source, "conv1d", lambda: (normal(64, 64, 8194, dtype=F32), filters(64, 128, 3, F32), empty(64, 128, 8192)), forward, bound=1e-3)
    for t, dtype in (("f32", F32), ("bf16", BF16)):
        yield Case(f"convolution of images, {t}", source, "conv2d",
                   lambda dtype=dtype: (normal(8, 64, 130, 258, dtype=dtype), filters(64, 128, 9, dtype), empty(8, 128, 128, 256, dtype=dtype)),
                   forward, dict(t=t))
    yield Case("convolution of volumes", source, "conv3d",
               lambda: (normal(2, 32, 34, 66, 66, dtype=F32), filters(32, 64, 27, F32), empty(2, 64, 32, 64, 64)), forward, bound=1e-3)
    for rank, shape in ((1, (16384,)), (2, (64, 256)), (3, (16, 16, 128))):
        large = tuple(2 * (extent - 1) + 3 for extent in shape)
        yield Case(f"transposed convolution, rank {rank}", source, f"conv{rank}d_transposed",
                   lambda shape=shape, large=large, rank=rank: (normal(8, 64, *shape, dtype=F32), filters(64, 64, 3**rank, F32), empty(8, 64, *large)),
                   grid(bp=(64, 128), bo=(64, 128)) + [dict(stages=1), dict(stages=3)], bound=1e-3)
        small = tuple(extent - 2 for extent in shape)
        yield Case(f"gradient of filters, rank {rank}", source, f"conv{rank}d_filters",
                   lambda shape=shape, small=small, rank=rank: (normal(8, 64, *shape, dtype=F32), normal(8, 128, *small, dtype=F32),
                                                               zeros(128, 64 * 3**rank), 32),
                   backward + [dict(stages=1), dict(stages=3)], written=(2,), bound=1e-2)
    yield Case("convolution, channels last", "tile_conv_last.cute", "conv2d_last",
               lambda: (normal(32, 58, 58, 256), normal(256, 3, 3, 256) / 48, empty(32 * 56 * 56, 256, dtype=BF16)),
               [dict(zip(("bp", "bo", "bk", "stages"), one)) for one in
                ((128, 128, 64, 4), (128, 256, 64, 4), (128, 256, 64, 3), (128, 128, 64, 6), (64, 256, 64, 4), (128, 128, 32, 4))])


def experts():
    def operands(adds):
        tokens, experts, top, n, k = 8192, 16, 4, 2048, 2048
        counts = [tokens * top // experts + 64 * (expert % 5 - 2) for expert in range(experts)]
        counts[-1] += tokens * top - sum(counts)
        lines, first = [], 0
        for expert, count in enumerate(counts):
            lines += [(expert, row, first + count) for row in range(first, first + count, 128)]
            first += count
        table = torch.tensor(lines, dtype=I32, device="cuda")
        index = (torch.randperm(tokens * top, device="cuda") % tokens).to(I32)
        x, w = normal(tokens, k), normal(experts, n, k)
        if adds:
            return (x, index, w, table, index, torch.rand(tokens * top, device="cuda"), zeros(tokens, n))
        return (x, index, w, table, empty(tokens * top, n, dtype=BF16))

    # The table is of tiles of 128 rows.
    others = [dict(zip(("bn", "bk", "stages"), one)) for one in ((128, 64, 4), (256, 64, 4), (256, 64, 3), (128, 64, 6), (64, 64, 4), (128, 32, 4))]
    yield Case("rows of experts", "tile_experts.cute", "experts_in", lambda: operands(False), others)
    yield Case("sums of experts", "tile_experts.cute", "experts", lambda: operands(True), others)


def cases():
    yield from products(4096)
    yield from epilogues(4096)
    yield from rows()
    yield from operators()
    yield from windows()
    yield from attention()
    yield from convolutions()
    yield from experts()


def pinned(text: str, kernel: str, pins: dict) -> str:
    """The source with pins in a kernel: `warps` and `min_blocks` in its launch, `pipeline` in front of its loops and of those of the functions
    that are no kernels (all other kernels are left out of use)."""
    head = re.search(rf"^kernel {kernel}\b", text, re.MULTILINE)
    end = text.index("\n}\n", head.start())
    before, own, behind = text[: head.start()], text[head.start() : end], text[end:]
    for clause in ("warps", "min_blocks"):
        if clause in pins:
            own = re.sub(rf", {clause}\([^)]*\)(?=[^{{]*\n\{{)", "", own)
            own = re.sub(r"^(launch [^\n]*)$", rf"\1, {clause}({pins[clause]})", own, count=1, flags=re.MULTILINE)
    if "pipeline" in pins:
        loop = re.compile(r"^(\s+)(?:pipeline(?:\([^)]*\))? )?for (\w+ in )", re.MULTILINE)
        deep = rf"\1pipeline({pins['pipeline']}) for \2"
        own = loop.sub(deep, own)
        # Functions in front of the kernels, such as `product`.
        first = re.search(r"^kernel ", text, re.MULTILINE).start()
        before = loop.sub(deep, before[:first]) + before[first:]
    return before + own + behind


class Sources:
    """The modules of sources, as they stand and with pins."""

    def __init__(self, folder: pathlib.Path, arch: str | None):
        self.folder, self.arch = folder, arch
        self.of = functools.cache(self._load)

    def _load(self, source: str, kernel: str, pins: tuple):
        path = self.folder / source
        arch = {"arch": self.arch} if self.arch else {}
        if not pins:
            return cutec.load(path, **arch)
        return cutec.loads(pinned(path.read_text(), kernel, dict(pins)), **arch)

    def kernel(self, case: Case, choice: dict):
        kernel = self.text_of(case, choice)
        return getattr(self.of(case.source, case.kernel if kernel else "", kernel), case.kernel)

    def text_of(self, case: Case, choice: dict) -> tuple:
        """What of a choice is written into the source: what is no parameter of the kernel."""
        parameters = getattr(self.of(case.source, "", ()), case.kernel).parameters
        return tuple((name, choice[name]) for name in PINS if name in choice and name not in parameters)

    def compiled(self, case: Case, choice: dict, operands):
        written = dict(self.text_of(case, choice))
        parameters = {**case.fixed, **{name: value for name, value in choice.items() if name not in written}}
        kernel = self.kernel(case, choice)
        kernel = kernel.specialize(**parameters) if parameters else kernel
        kernel.compile(*operands)
        return kernel


def outcomes(case, kernel, operands, begun):
    """What a launch writes where these tensors begin as they did."""
    for index, x in begun.items():
        operands[index].copy_(x)
    kernel(*operands)
    return [operands[index].double() for index in begun]


def difference(found, expected):
    """The largest difference, relative to the root of the mean square of what is expected; infinite where something was not written."""
    worst = 0.0
    for x, y in zip(found, expected):
        if torch.equal(x.isnan(), y.isnan()) and torch.equal(x.isinf(), y.isinf()):
            apart = (x - y).abs().nan_to_num(0.0, 0.0).max().item()
            worst = max(worst, apart / max(y.nan_to_num(0.0, 0.0, 0.0).square().mean().sqrt().item(), 1e-30) if apart else 0.0)
        else:
            worst = float("inf")
    return worst


def measure(case, kernels, operands, rounds):
    begun = {index % len(operands): operands[index].clone() for index in case.written}
    expected = outcomes(case, kernels["default"], operands, begun)
    worst = 0.0
    for kernel in kernels.values():
        worst = max(worst, difference(outcomes(case, kernel, operands, begun), expected))
    wrong = worst > 8 * case.bound
    del expected, begun
    times = compare({name: [functools.partial(kernel, *operands)] for name, kernel in kernels.items()}, batch_ms=3.0, rounds=rounds)
    middle = {name: statistics.median(found) for name, found in times.items()}
    others = [name for name in middle if name != "default"]
    best = min(others, key=middle.get) if others else "default"
    of_best = statistics.median(fast / own for fast, own in zip(times[best], times["default"]))
    row = dict(case=case.name, kernel=case.kernel, default=middle["default"], best=best, ratio=of_best, difference=worst, wrong=wrong, milliseconds=middle)
    print(f"| {case.name} | `{case.kernel}` | {1e3 * middle['default']:.1f} | {1e3 * middle[best]:.1f} | {best} | "
          f"{'**' if of_best < 0.9 else ''}{of_best:.2f}{'**' if of_best < 0.9 else ''} | {'**differs** ' if wrong else ''}{worst:.0e} |", flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=HERE.parents[1] / "examples", help="the folder of the kernels")
    parser.add_argument("--arch", help="compile for this target; that of the GPU if nothing is said")
    parser.add_argument("--only", default="", help="texts, with commas between them: cases that have one of them in their name or kernel")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a ratio is below 0.9")
    parser.add_argument("--json", type=pathlib.Path, help="all medians, too")
    arguments = parser.parse_args()
    wanted = [case for case in cases() if any(text in f"{case.name} {case.kernel}" for text in arguments.only.split(","))]
    sources, began = Sources(arguments.source, arguments.arch), time.monotonic()
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, {arguments.arch or 'its own target'}\n")
    print("| case | kernel | default, µs | best pinned, µs | pinned | best pinned over default | difference |\n|---|---|---|---|---|---|---|", flush=True)
    # Everything is made before anything is measured: compilers and operands of the next case would disturb this one.
    found, failed, waiting = [], [], []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for case in wanted:
            operands = case.operands()
            choices = {"default": {}} | {named(choice): choice for choice in case.alternatives}
            waiting.append((case, operands, {name: pool.submit(sources.compiled, case, choice, operands) for name, choice in choices.items()}))
        for case, _, kernels in waiting:
            for name, future in list(kernels.items()):
                try:
                    kernels[name] = future.result()
                except Exception as error:  # noqa: BLE001: whatever does not compile is left out
                    print(f"{case.name}, {name}: {str(error).splitlines()[0][:200]}", file=sys.stderr)
                    del kernels[name]
    compiled = time.monotonic()
    for index, (case, operands, kernels) in enumerate(waiting):
        try:
            found.append(measure(case, kernels, operands, arguments.rounds))
        except Exception as error:  # noqa: BLE001: the others are to run too
            failed.append(case.name)
            print(f"| {case.name} | `{case.kernel}` | **failed** | | | | {str(error).splitlines()[0][:120]} |", flush=True)
        waiting[index] = None
        del case, operands, kernels
    counted = [row for row in found if not row["case"].startswith("(")]
    below = [f"{row['case']} {row['ratio']:.2f}" for row in counted if row["ratio"] < 0.9]
    if counted:
        print(f"\nGeometric mean of best pinned over default {geometric_mean([row['ratio'] for row in counted]):.3f}; "
              f"{len(counted) - len(below)} of {len(counted)} at 0.90 or above; below: {', '.join(below) or 'none'}.")
    print(f"{compiled - began:.0f} s to compile, {time.monotonic() - compiled:.0f} s to measure.")
    save(found, arguments.json)
    wrong = any(row["wrong"] for row in found) or bool(failed)
    return int(wrong or (arguments.strict and bool(below)))


if __name__ == "__main__":
    sys.exit(main())
