#!/usr/bin/env python3
"""Products at sizes where one tile is not enough, on a Hopper GPU against cuBLAS (through PyTorch): which configuration is the fastest there.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/products.py [--only sizes|skinny|f32|epilogues] [--sizes 1024x1024x1024,…] [--layouts nk,kn,mk,mn] [--json FILE]

All configurations of a case are measured in short rounds; the three fastest then in 11 rounds beside cuBLAS, of which the table is. Every
one of those is checked against f64 in a sample of rows; of a result that is wrong the row says so, and the exit status is 1.
"""

import argparse
import functools
import itertools
import pathlib
import statistics
import sys

import cutec
import torch

from rounds import compare, geometric_mean, made_at_once, normal, ratio, save, sets

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"

SIZES = [
    (1024, 1024, 1024), (1536, 2304, 3072), (3072, 3072, 3072), (4096, 4096, 512), (512, 512, 4096), (8192, 8192, 1024),
    (3000, 5000, 2048),
]
# The suffix of the kernels, and which mode of a and of b is the fast one.
LAYOUTS = {"nk": "", "kn": "_kn", "mk": "_mk", "mn": "_mn"}
PINGPONG = {"schedule": "sm90_pingpong"}
F32_SIZES = [(512, 512, 512), (1024, 1024, 1024), (1536, 1536, 1536), (3072, 3072, 3072), (4096, 4096, 4096), (8192, 2048, 4096)]
FINALISTS = 3

MODULES: dict[str, "cutec.Module"] = {}


def kernel(file, name):
    if file not in MODULES:
        MODULES[file] = cutec.load(str(EXAMPLES / file))
    return getattr(MODULES[file], name)


class Configuration:
    """A kernel with parameters, and which arguments it gets of a set of operands."""

    def __init__(self, file, name, parameters, arguments):
        self.text = " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])
        self.kernel = kernel(file, name).specialize(**parameters)
        self.arguments = arguments

    def launches(self, operands):
        given = [self.arguments(one) for one in operands]
        self.kernel.compile(*given[0])
        return [lambda one=one: self.kernel(*one) for one in given]


class Operands:
    """a (m, k), b (n, k) and a place for c, in a layout."""

    def __init__(self, m, n, k, layout="nk", dtype=torch.bfloat16):
        self.a = normal(k, m, dtype=dtype).t() if layout in ("mk", "mn") else normal(m, k, dtype=dtype)
        self.b = normal(k, n, dtype=dtype).t() if layout in ("kn", "mn") else normal(n, k, dtype=dtype)
        self.c = torch.empty(m, n, dtype=dtype, device="cuda")

    def moved(self):
        return sum(x.numel() * x.element_size() for x in (self.a, self.b, self.c))


def error_of(reference, result, rows, k):
    """The largest error of some rows, relative to the reference or to a standard deviation."""
    wrong = (result[rows].double() - reference).abs() / reference.abs().clamp(min=k**0.5)
    return wrong.nan_to_num(nan=float("inf")).max().item()


def measure(label, size, operands, configurations, bound, peers=None):
    """The row of a case: its figures, as data. Peers are lists of launches by name; without them cuBLAS is the only one."""
    m, _, k = size
    peers = peers or {"cuBLAS": [lambda one=one: torch.matmul(one.a, one.b.t(), out=one.c) for one in operands]}
    found = made_at_once({one.text: functools.partial(one.launches, operands) for one in configurations}, label)
    if len(found) > FINALISTS:
        short = compare(found, batch_ms=1.5, rounds=3)
        first = sorted(found, key=lambda name: statistics.median(short[name]))[:FINALISTS]
        found = {name: found[name] for name in first}
    rows = torch.arange(0, m, max(1, m // 61), device="cuda")
    exact = operands[0].a[rows].double() @ operands[0].b.double().T
    errors = {}
    for name, launches in {**found, **peers}.items():
        operands[0].c.fill_(float("nan"))
        launches[0]()
        errors[name] = error_of(exact, operands[0].c, rows, k)
    times = compare({**peers, **found})
    peer = next(iter(peers))
    best = max(found, key=lambda name: ratio(times, peer, name))
    flop = 2.0 * size[0] * size[1] * size[2]
    middle = statistics.median(times[best])
    right = errors[best] <= max(bound, 2 * errors[peer])
    row = {
        "case": label, "size": size, "ratio": ratio(times, peer, best), "configuration": best, "tflops": flop / middle * 1e-9,
        "gbs": operands[0].moved() / middle * 1e-6, "error": errors[best], "peer_error": errors[peer], "right": right,
    }
    beside = [f"{name} {ratio(times, peer, name):.3f}" for name in (*found, *peers) if name not in (best, peer)]
    print(
        f"| {label} | {'×'.join(map(str, size))} | {row['tflops']:.0f} | {row['gbs']:.0f} | {row['ratio']:.3f} | {best} | "
        f"{errors[best]:.1e} ({errors[peer]:.1e}){'' if right else ' **wrong**'} | {', '.join(beside)} |",
        flush=True,
    )
    return row


def tiles_of_sm90(m, n, k, layout):
    """Configurations of `gemm_sm90`, of `gemm_split_k` where there are few tiles, and of `gemm_stream_k`."""
    suffix = LAYOUTS[layout]
    plain = lambda one: (one.a, one.b, one.c)
    shared = [(128, 256), (128, 224), (128, 192), (128, 160), (128, 128), (256, 128), (192, 128), (192, 160), (64, 128), (64, 64)]
    in_turns = [(64, 256), (64, 192), (128, 128), (128, 96), (64, 128)]
    tiles = [(bm, bn, {}) for bm, bn in shared] + [(bm, bn, PINGPONG) for bm, bn in in_turns]
    choices = [{"bm": bm, "bn": bn, **schedule} for bm, bn, schedule in tiles]
    choices += [{**choice, "cluster": 2} for choice in choices if choice["bm"] * choice["bn"] >= 16384]
    choices += [{"bm": 128, "bn": 256, "cluster": 2, "group": 16}, {"bm": 128, "bn": 256, "group": 16}]
    found = [Configuration("hopper/gemm_sm90.cute", f"gemm_sm90{suffix}", choice, plain) for choice in choices]
    if -(-m // 128) * -(-n // 128) <= 132:
        for bm, bn, bk, stages, cluster in [
            (64, 64, 64, 6, 2), (64, 64, 128, 6, 2), (64, 64, 64, 6, 4), (128, 128, 64, 6, 6), (128, 128, 64, 6, 4), (64, 128, 64, 6, 4),
            (128, 128, 64, 6, 2), (64, 128, 64, 4, 2),
        ]:
            choice = {"bm": bm, "bn": bn, "bk": bk, "stages": stages, "cluster": cluster}
            found.append(Configuration("hopper/gemm_split_k.cute", f"gemm_split_k{suffix}", choice, plain))
    blocks = torch.cuda.get_device_properties(0).multi_processor_count
    parts = torch.empty(blocks, 32768, device="cuda")
    flags = torch.zeros(blocks, dtype=torch.int32, device="cuda")
    shared = lambda one: (one.a, one.b, one.c, parts, flags)
    for bm, bn, stages in [(128, 256, 4), (128, 192, 5), (128, 128, 6)]:
        choice = {"bm": bm, "bn": bn, "stages": stages}
        found.append(Configuration("hopper/gemm_stream_k.cute", f"gemm_stream_k{suffix}", choice, shared))
    return found


def sizes(arguments):
    rows = []
    for layout in arguments.layouts.split(","):
        for size in arguments.sizes or SIZES:
            first = Operands(*size, layout)
            operands = [first] + [Operands(*size, layout) for _ in range(sets(first.moved()) - 1)]
            rows.append(measure(f"bf16 {layout}", size, operands, tiles_of_sm90(*size, layout), 1e-2))
    print(f"\ngeometric mean {geometric_mean([row['ratio'] for row in rows]):.3f}, least {min(row['ratio'] for row in rows):.3f}\n")
    return rows


def skinny(arguments):
    rows = []
    plain = lambda one: (one.a, one.b, one.c)
    for m in (1, 4, 16, 64):
        size = (m, 8192, 8192)
        operands = [Operands(*size) for _ in range(4)]
        found = []
        if m <= 4:
            for columns, unroll, warps in itertools.product((1, 2, 4), (2, 4, 8), (4, 8)):
                if columns * unroll * (1 if m == 1 else 2) > 16:
                    continue
                choice = {"rows": m, "columns": columns, "unroll": unroll, "warps": warps}
                found.append(Configuration("hopper/gemv.cute", "gemv", choice, plain))
        bn = max(8, m)
        for bm, bk, cluster, stages in itertools.product((64, 128), (64, 128, 256), (1, 2, 4, 8), (3, 4, 6, 8, 12)):
            bytes_of_block = 2 * stages * bk * (bm + bn)
            # One block of a multiprocessor or two, with much under way.
            if bytes_of_block > 226 * 1024 or bytes_of_block < 64 * 1024:
                continue
            choice = {"bm": bm, "bn": bn, "bk": bk, "cluster": cluster, "stages": stages}
            found.append(Configuration("hopper/gemm_skinny.cute", "gemm_skinny", choice, plain))
        half = [(torch.empty_like(one.b[:4096]), one.b[:4096]) for one in operands]
        peers = {
            "cuBLAS": [lambda one=one: torch.matmul(one.a, one.b.t(), out=one.c) for one in operands],
            "copy": [lambda to=to, of=of: to.copy_(of) for to, of in half],
        }
        rows.append(measure("bf16 few rows", size, operands, found, 1e-2, peers))
    return rows


def f32(arguments):
    rows = []
    torch.backends.cuda.matmul.allow_tf32 = False
    resident = 2 * torch.cuda.get_device_properties(0).multi_processor_count
    parts, flags = torch.empty(resident, 16384, device="cuda"), torch.zeros(resident, dtype=torch.int32, device="cuda")
    for size in F32_SIZES:
        first = Operands(*size, dtype=torch.float32)
        operands = [first] + [Operands(*size, dtype=torch.float32) for _ in range(sets(first.moved()) - 1)]
        found = [Configuration("sgemm_stream_k.cute", "sgemm_stream_k", {}, lambda one: (one.a, one.b, one.c, 1.0, 0.0, parts, flags))]
        for bm, bn, bk, wm, wn in itertools.product((64, 96, 128), (64, 96, 128), (8, 16, 32), (1, 2, 3), (1, 2, 4)):
            warps = wm * wn
            fits = (warps >= 2 and bm % (32 * wm) == 0 and bn % (16 * wn) == 0 and bn >= 32 * wn and 512 * warps <= bm * bn <= 2048 * warps
                    and bm % (128 * warps / bk) == 0 and bn % (128 * warps / bk) == 0)
            splits = (1, 2, 4) if size[0] <= 1024 else (1, 2) if size[0] <= 1536 else (1,)
            for split, ahead in itertools.product(splits, (0, 128)):
                if fits and (ahead == 0 or split > 1):
                    choice = {"bm": bm, "bn": bn, "bk": bk, "wm": wm, "wn": wn, "split_k": split, "ahead": ahead}
                    found.append(Configuration("sgemm.cute", "sgemm", choice, lambda one: (one.a, one.b, one.c, 1.0, 0.0)))
        rows.append(measure("f32", size, operands, found, 1e-4))
    return rows


def epilogues(arguments):
    """What each of them costs over the fastest product alone, in the same run."""
    n = 4096
    size = (n, n, n)
    operands = [Operands(*size) for _ in range(3)]
    file = "hopper/gemm_epilogues.cute"
    bias = normal(n)
    residual, second = normal(n, n), torch.empty(n, n, dtype=torch.bfloat16, device="cuda")
    scales = torch.rand(n, device="cuda") + 0.5
    to_f8 = torch.empty(n, n, dtype=torch.float8_e4m3fn, device="cuda")
    amax = torch.zeros(1, device="cuda")
    parts = [torch.empty(n, n // 64, device="cuda") for _ in range(2)]
    tiles = [{}, {"bn": 256, "schedule": "sm90_cooperative"}, {"cluster": 2},
             {"bn": 256, "schedule": "sm90_cooperative", "cluster": 2}]
    gated = [{}, {"bn": 256, "schedule": "sm90_cooperative"}, {"cluster": 2}, {"bn": 256, "schedule": "sm90_cooperative", "cluster": 2},
             {"bn": 256, "bm": 64}]
    cases = {
        "bias, relu": ("gemm_bias_act", [{**tile, "act": "relu"} for tile in tiles], lambda one: (one.a, one.b, bias, one.c)),
        "bias, gelu": ("gemm_bias_act", tiles, lambda one: (one.a, one.b, bias, one.c)),
        "residual": ("gemm_residual", tiles, lambda one: (one.a, one.b, residual, one.c)),
        "alpha, beta": ("gemm_alpha_beta_sm90", tiles, lambda one: (one.a, one.b, one.c, 0.5, 2.0)),
        "two results": ("gemm_two_results", tiles, lambda one: (one.a, one.b, bias, second, one.c)),
        "scales": ("gemm_scaled", tiles, lambda one: (one.a, one.b, scales, scales, one.c)),
        "SwiGLU": ("gemm_gated", gated, lambda one: (one.a, one.b[: n // 2], one.b[n // 2 :], second[:, : n // 2].contiguous())),
        "to f8, amax": ("gemm_to_f8", tiles, lambda one: (one.a, one.b, amax, to_f8, 0.25)),
        "sums of rows": ("gemm_row_sums", [{}, {"cluster": 2}], lambda one: (one.a, one.b, *(part[:, : n // 128].contiguous() for part in parts), one.c)),
    }
    plain = {}
    for choice in [{}, {"cluster": 2}, {**PINGPONG, "bn": 128}, {**PINGPONG, "bn": 128, "cluster": 2}]:
        one = Configuration("hopper/gemm_sm90.cute", "gemm_sm90", choice, lambda one: (one.a, one.b, one.c))
        plain[one.text] = one.launches(operands)
    work = {**plain, "cuBLAS": [lambda one=one: torch.matmul(one.a, one.b.t(), out=one.c) for one in operands]}
    ours = {}
    for label, (name, choices, given) in cases.items():
        for choice in choices:
            one = Configuration(file, name, choice, given)
            try:
                work[f"{label}: {one.text}"] = one.launches(operands)
                ours.setdefault(label, []).append(f"{label}: {one.text}")
            except cutec.CutecError as failure:
                print(f"{label} {one.text}: {str(failure)[:300]}", file=sys.stderr)
    times = compare(work)
    best = max(plain, key=lambda name: ratio(times, "cuBLAS", name))
    rows = []
    print(f"the product alone: {best}, {ratio(times, 'cuBLAS', best):.3f} of cuBLAS\n\n| epilogue | over the product alone | configuration | others |\n|---|---|---|---|")
    for label, names in ours.items():
        cost = {name: 1 / ratio(times, best, name) for name in names}
        ranked = sorted(names, key=cost.get)
        rows.append({"case": label, "cost": cost[ranked[0]], "configuration": ranked[0], "right": True})
        print(f"| {label} | {100 * (cost[ranked[0]] - 1):+.1f} % | {ranked[0].split(': ')[1]} | "
              f"{', '.join(f'{name.split(chr(32), 2)[-1]} {100 * (cost[name] - 1):+.1f} %' for name in ranked[1:])} |", flush=True)
    return rows


SECTIONS = {"sizes": sizes, "skinny": skinny, "f32": f32, "epilogues": epilogues}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=SECTIONS, action="append")
    parser.add_argument("--sizes", type=lambda text: [tuple(map(int, size.split("x"))) for size in text.split(",")])
    parser.add_argument("--layouts", default=",".join(LAYOUTS))
    parser.add_argument("--json")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
    rows = []
    for name in arguments.only or SECTIONS:
        if name != "epilogues":
            print("\n| case | m×n×k | TFLOP/s | GB/s | ratio to cuBLAS | configuration | error (cuBLAS') | beside |\n|---|---|---|---|---|---|---|---|")
        rows += SECTIONS[name](arguments)
        torch.cuda.empty_cache()
    save(rows, arguments.json)
    return 0 if all(row["right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
