#!/usr/bin/env python3
"""Operators of f32 at the tile level, sorts among them, against PyTorch, eager and compiled, on a GPU.

    pip install target/wheels/cutec-*.whl
    test-suite/gpu/tile_operators.py [--source examples] [--only TEXT] [--quick] [--no-compiled] [--json FILE]
    test-suite/gpu/tile_operators.py --only "every way" --json FILE      the ways to say an elementwise kernel (tile_maps.cute)

Each result is checked against f64. Operands are normal, larger than the L2 cache or rotating through more than twice of it; rounds
alternate, each a CUDA graph; ratios are medians of the rounds', above 1 where ours is faster than the faster of the two. Of several
configurations of a kernel the fastest counts, and is named. PyTorch computes f32 exactly (TF32 is off). The exit status is 1 where a
result is wrong.
"""

import argparse
import functools
import itertools
import pathlib
import statistics
import sys

import cutec
import torch
import torch.nn.functional as F

from rounds import compare, made_at_once, named, ratio, save, sets
from rounds import normal as normal_of

HERE = pathlib.Path(__file__).resolve().parent


normal = functools.partial(normal_of, dtype=torch.float32)


def empty(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="cuda")


# Kernels of tile_maps.cute, and what to try of each.
WAYS = {
    "plain": dict(bn=(512, 1024, 2048, 4096), together=(1, 8)),
    "warps": dict(bn=(1024, 2048, 4096), number=(2, 4, 8, 16)),
    "streaming": dict(bn=(1024, 2048, 4096)),
    "streaming_out": dict(bn=(1024, 2048, 4096)),
    "past_l1": dict(bn=(1024, 2048, 4096)),
    "prefetched": dict(bn=(1024, 2048, 4096)),
    "evicted": dict(bn=(1024, 2048, 4096)),
    "evicted_in": dict(bn=(1024, 2048)),
    "evicted_out": dict(bn=(1024, 2048)),
    "across": dict(bn=(1024, 2048, 4096)),
    "rounds": dict(bn=(1024, 2048), count=(2, 4, 16), stages=(1, 2, 3)),
    "staying": dict(bn=(1024, 2048, 4096), places=(4, 24), stages=(2, 3)),
}


class Case:
    """An operator: the kernel, or several by a name of its own that a configuration has as `way`, with the configurations to try, how operands are made, the formula, and what it moves or computes.

    `exact` gives the rows `some` of the result in f64. Errors are relative to the larger of it and `least`: what a sum of many has as
    its standard deviation. Where there is a second result, `places`, the first one has to be what of the rows lies there."""

    def __init__(self, name, kernel, configurations, operands, formula, exact, work, unit, least, bound=1e-5, places=False):
        self.name, self.kernel, self.configurations = name, kernel, configurations
        self.operands, self.formula, self.exact = operands, formula, exact
        self.work, self.unit, self.least, self.bound, self.places = work, unit, least, bound, places
        self.results = 2 if places else 1


class StreamK:
    """`tile_stream_k` as a kernel of three operands: with the memory that its blocks, two for each multiprocessor, need beside these."""

    def __init__(self, kernel):
        workers = 2 * torch.cuda.get_device_properties(0).multi_processor_count
        self.kernel, self.beside = kernel, (empty(workers, 2, 128, 128), torch.zeros(workers, dtype=torch.int32, device="cuda"))

    def compile(self, *operands):
        self.kernel.compile(*operands, *self.beside)

    def __call__(self, *operands):
        self.kernel(*operands, *self.beside)


def grid(**choices):
    return [dict(zip(choices, values)) for values in itertools.product(*choices.values())]


def cases(source: pathlib.Path):
    operators = cutec.load(source / "tile_operators.cute", arch="sm_90a")
    products = cutec.load(source / "tile_gemm.cute", arch="sm_90a")
    rows = cutec.load(source / "tile_rows.cute", arch="sm_90a")
    by_hand = cutec.load(source / "hopper" / "norms_cluster.cute", arch="sm_90a")
    clusters = cutec.load(source / "hopper" / "tile_rows_cluster.cute", arch="sm_90a")
    sorts = cutec.load(source / "tile_sort.cute", arch="sm_90a")

    m, n = 4096, 393216
    for name, f in (("gelu", F.gelu), ("relu", F.relu), ("sigmoid", torch.sigmoid)):
        yield Case(f"{name}, {m} × {n}", operators.tile_map, [dict(f=name, bn=bn) for bn in (512, 1024, 2048)],
                   lambda: (normal(m, n), empty(m, n)), lambda x, f=f: f(x), lambda x, some, f=f: f(x[some].double()),
                   8 * m * n, "GB/s", 1.0)
    maps = cutec.load(HERE / "tile_maps.cute", arch="sm_90a")
    ways = {way: maps[f"map_{way}"] for way in WAYS}
    every = [dict(way=way) | choice for way, choices in WAYS.items() for choice in grid(**choices)]
    yield Case(f"relu, {m} × {n}, every way", ways, every, lambda: (normal(m, n), empty(m, n)), F.relu, lambda x, some: F.relu(x[some].double()),
               8 * m * n, "GB/s", 1.0)
    yield Case("sum over the middle of (120, 4096, 4095)", operators.tile_middle_sums,
               grid(bm=(8, 16, 32), bn=(128, 256, 512)), lambda: (normal(120, 4096, 4095), empty(120, 4095)),
               lambda x: x.sum(1), lambda x, some: x[some].double().sum(1), 4 * 120 * 4096 * 4095, "GB/s", 64.0)
    yield Case(f"softmax, {m} × {n}, a cluster's tile", clusters.tile_softmax_cluster,
               [dict(blocks=blocks, warps=warps, stay=stay)
                for blocks, warps, stay in ((8, 16, True), (8, 8, True), (16, 8, True), (8, 16, False), (16, 8, False))],
               lambda: (normal(m, n), empty(m, n)), lambda x: F.softmax(x, 1),
               lambda x, some: F.softmax(x[some].double(), 1), 8 * m * n, "GB/s", 1 / n)
    yield Case(f"softmax, {m} × {n}, by threads of a cluster", by_hand.softmax_cluster, [{}],
               lambda: (normal(m, n), empty(m, n)), lambda x: F.softmax(x, 1),
               lambda x, some: F.softmax(x[some].double(), 1), 8 * m * n, "GB/s", 1 / n)
    yield Case(f"softmax, {m} × {n}, tiles, read twice", rows.tile_softmax_long, [dict(t="f32", bn=bn) for bn in (2048, 4096, 8192)],
               lambda: (normal(m, n), empty(m, n)), lambda x: F.softmax(x, 1),
               lambda x, some: F.softmax(x[some].double(), 1), 8 * m * n, "GB/s", 1 / n)
    yield Case("prefix sums, 32768 × 32768", operators.tile_prefix_sums, grid(bn=(1024, 2048, 4096, 8192)),
               lambda: (normal(32768, 32768), empty(32768, 32768)), lambda x: x.cumsum(1),
               lambda x, some: x[some].double().cumsum(1), 8 << 30, "GB/s", 180.0)
    yield Case("argmax, 32768 × 32768", operators.tile_argmax, grid(bn=(1024, 2048, 4096)),
               lambda: (normal(32768, 32768), empty(32768, dtype=torch.int32)), lambda x: x.argmax(1),
               lambda x, some: x[some].double().argmax(1), 4 << 30, "GB/s", 1.0)
    yield Case("the 64 greatest of 32768 × 4096, with places", sorts.top_rows, grid(b=(1, 2)),
               lambda: (normal(32768, 4096), empty(32768, 64), empty(32768, 64, dtype=torch.int32)), lambda x: x.topk(64),
               lambda x, some: x[some].double().topk(64).values, 32768 * 4096 * 4, "GB/s", 1e-30, bound=0.0, places=True)
    for n in (256, 1024):
        # PyTorch gives places, too.
        yield Case(f"sort of 65536 × {n}", sorts.sort_rows, grid(n=(n,), b=(1, 2, 4, 8)), lambda n=n: (normal(65536, n), empty(65536, n)),
                   lambda x: x.sort(1), lambda x, some: x[some].double().sort(1).values, 8 * 65536 * n, "GB/s", 1e-30, bound=0.0)
    for m, n, k in ((4096, 4096, 4096), (8192, 2048, 4096)):
        yield Case(f"product of f32, {m} × {n} × {k}", products.tile_gemm,
                   [dict(t="f32", to="f32", align=4, bm=bm, bn=bn, bk=bk, stages=stages)
                    for bm, bn, bk, stages in ((128, 256, 16, 3), (128, 128, 16, 3), (128, 128, 16, 4), (128, 256, 8, 4), (256, 128, 16, 3))],
                   lambda m=m, n=n, k=k: (normal(m, k), normal(n, k), empty(m, n)), lambda a, b: a @ b.T,
                   lambda a, b, some: a[some].double() @ b.double().T, 2 * m * n * k, "TFLOP/s", k ** 0.5)
    shared = StreamK(cutec.load(source / "tile_stream_k.cute", arch="sm_90a").tile_stream_k)
    for m, n, k in ((4096, 4096, 4096), (8192, 2048, 4096), (5120, 5120, 5120), (3072, 3072, 3072), (1536, 1536, 1536)):
        yield Case(f"product of f32, shared along k, {m} × {n} × {k}", shared, [{}],
                   lambda m=m, n=n, k=k: (normal(m, k), normal(n, k), empty(m, n)), lambda a, b: a @ b.T,
                   lambda a, b, some: a[some].double() @ b.double().T, 2 * m * n * k, "TFLOP/s", k ** 0.5)


def error(case: Case, operands, some: slice) -> float:
    inputs, (result, *places) = operands[: -case.results], operands[-case.results :]
    if places and not torch.equal(inputs[0].gather(1, places[0].long().clamp(0, inputs[0].shape[1] - 1)), result):
        return float("inf")
    exact = case.exact(*inputs, some)
    difference = (result[some].to(exact.dtype) - exact).abs().double()
    return (difference / exact.abs().clamp(min=case.least)).nan_to_num(nan=float("inf")).max().item()


def measure(case: Case, compiled: bool, rounds: int) -> dict:
    operands = case.operands()
    moved = sum(x.numel() * x.element_size() for x in operands)
    every = [operands] + [case.operands() for _ in range(sets(moved) - 1)]

    def compiled_for(configuration):
        kernel, parameters = case.kernel, dict(configuration)
        if isinstance(kernel, dict):
            kernel = kernel[parameters.pop("way")]
        kernel = kernel.specialize(**parameters) if parameters else kernel
        kernel.compile(*operands)
        return kernel

    kernels = made_at_once({named(one): functools.partial(compiled_for, one) for one in case.configurations}, case.name)
    some = slice(0, None, max(1, operands[-1].shape[0] // 16))
    alternatives, worst = {}, 0.0
    for name, kernel in kernels.items():
        for result in operands[-case.results :]:
            result.fill_(-1)
        kernel(*operands)
        worst = max(worst, error(case, operands, some))
        alternatives["ours " + name] = [functools.partial(kernel, *each) for each in every]
    peers = {"eager": case.formula}
    if compiled:
        peers["compiled"] = torch.compile(case.formula, dynamic=False)
    for name, function in peers.items():
        alternatives[name] = [functools.partial(function, *each[: -case.results]) for each in every]
    times = compare(alternatives, batch_ms=4.0, rounds=rounds)
    best = min((name for name in times if name.startswith("ours")), key=lambda name: statistics.median(times[name]))
    speed = case.work / statistics.median(times[best]) * (1e-6 if case.unit == "GB/s" else 1e-9)
    against = {name: ratio(times, name, best) for name in peers}
    row = dict(case=case.name, best=best.removeprefix("ours "), speed=speed, unit=case.unit, error=worst, wrong=not worst <= case.bound, **against)
    row["milliseconds"] = {name: statistics.median(each) for name, each in times.items()}
    if isinstance(case.kernel, dict):
        for name, middle in sorted(row["milliseconds"].items(), key=lambda found: found[1])[:12]:
            print(f"  {name}: {middle:.4f} ms, {ratio(times, 'eager', name):.4f} of eager", file=sys.stderr)
    shown = " | ".join(f"{against[name]:.2f}" if name in against else "–" for name in ("eager", "compiled"))
    print(f"| {case.name} | {row['best']} | {speed:.{0 if case.unit == 'GB/s' else 1}f} {case.unit} | {shown} | "
          f"{min(against.values()):.2f} | {'**wrong** ' if row['wrong'] else ''}{worst:.1e} |", flush=True)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", type=pathlib.Path, default=HERE.parents[1] / "examples", help="the folder of the kernels")
    parser.add_argument("--only", default="", help="texts, with commas between them: cases that have one of them in their name")
    parser.add_argument("--quick", action="store_true", help="five rounds")
    parser.add_argument("--no-compiled", action="store_true", help="without torch.compile")
    parser.add_argument("--json", type=pathlib.Path, help="all medians, too")
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}\n")
    print("| operator | configuration | ours | eager | compiled | the faster | error |\n|---|---|---|---|---|---|---|")
    found = []
    for case in cases(arguments.source):
        # The many ways of one kernel are for who asks for them.
        if any(text in case.name for text in arguments.only.split(",")) and (arguments.only or not isinstance(case.kernel, dict)):
            found.append(measure(case, not arguments.no_compiled, 5 if arguments.quick else 11))
            torch.cuda.empty_cache()
    save(found, arguments.json)
    return int(any(row["wrong"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
