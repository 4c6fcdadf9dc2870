#!/usr/bin/env python3
"""Compares `hstu_attention` with NVIDIA's CuTe DSL example of HSTU, both in each round.

    hstu_dsl.py compile FOLDER EXAMPLE     PTX of the example into FOLDER; no GPU is needed
    hstu_dsl.py run FOLDER                 times both on this machine's first GPU and prints a Markdown table

EXAMPLE is `hstu_attention.py` of github.com/NVIDIA/cutlass, which is for sm_80 (`mma.sync`, `cp.async`) and the only one there.
`compile` needs `pip install nvidia-cutlass-dsl`, `run` PyTorch and the wheel of cutec.

Eight sequences of 4096, eight heads, causal, bf16. The example reads a bias for each query and key, in 16 bits; ours reads one for
each distance, and the example is given the same numbers. All extents are compiled into the example, its approximate sigmoid is on.
"""

import functools
import pathlib
import statistics
import subprocess
import sys

from cute_dsl import Kernel, keep_ptx

BATCHES, LENGTH, HEADS = 8, 4096, 8
DEPTHS = (128, 64)
# Queries and keys of a tile, and threads.
TILES = ((128, 64, 128), (128, 64, 256), (128, 128, 256), (64, 64, 128))


def compile_one(folder: pathlib.Path, example: str, d: int, m: int, n: int, threads: int) -> None:
    def build(module):
        import cutlass
        from cutlass import cute
        from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_stream

        def tensor(*shape):
            return make_fake_compact_tensor(cutlass.BFloat16, shape, stride_order=(3, 2, 1, 0), assumed_align=16)

        rows = [tensor(BATCHES, LENGTH, HEADS, d) for _ in range(4)]
        bias = tensor(BATCHES, HEADS, LENGTH, LENGTH)
        kernel = module.HSTUAttentionForwardAmpere(cutlass.BFloat16, BATCHES, LENGTH, LENGTH, HEADS, d, m, n, threads, enable_fast_sigmoid=True,
                                                   enable_block_rasterization=True, is_causal=True)
        cute.compile(kernel, *rows, bias, make_fake_stream())

    keep_ptx(folder / f"hstu_{d}_{m}_{n}_{threads}.ptx", example, build)


def run_all(folder: pathlib.Path) -> None:
    import ctypes

    import cutec
    import torch
    import torch.nn.functional as F
    from rounds import compare, normal, ratio

    torch.zeros(1, device="cuda")
    ours = cutec.load(pathlib.Path(__file__).resolve().parents[2] / "examples/sequence/hstu.cute")
    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}\n")
    print("| heads of | ours | CuTe DSL | ours / CuTe DSL | errors | µs of its tiles |\n|---|---|---|---|---|---|")
    for d in DEPTHS:
        q, k, v = (normal(BATCHES * LENGTH, HEADS, d) for _ in range(3))
        q = q * d**-0.5
        table = torch.randn(HEADS, LENGTH, device="cuda").to(torch.bfloat16)
        at = torch.arange(LENGTH, device="cuda")
        distance = (at[:, None] - at[None]).clamp(min=0)
        bias = table[:, distance].expand(BATCHES, HEADS, LENGTH, LENGTH).contiguous()
        starts = LENGTH * torch.arange(BATCHES + 1, dtype=torch.int32, device="cuda")
        targets = torch.zeros(BATCHES, dtype=torch.int32, device="cuda")
        mine, its = torch.empty_like(q), torch.empty_like(q)
        kernel = ours.hstu_attention.specialize(d=d)
        launches = {"ours": [functools.partial(kernel, q, k, v, starts, targets, table.float(), mine, 1.0, 1.0, 0, LENGTH)]}
        pointers = [ctypes.c_uint64(x.data_ptr()) for x in (q, k, v, its, bias)]
        for m, n, threads in TILES:
            theirs = Kernel(folder / f"hstu_{d}_{m}_{n}_{threads}.ptx", 2 * ((m + 2 * n) * d + m * n))

            def launch(theirs=theirs, m=m, threads=threads):
                theirs.launch(torch.cuda.current_stream().cuda_stream, (BATCHES, HEADS, LENGTH // m), threads, pointers)

            launches[f"{m} × {n}, {threads} threads"] = [launch]
        rows = slice(LENGTH, 2 * LENGTH)
        scores = torch.einsum("ihd,jhd->hij", q[rows, :1].double(), k[rows, :1].double()) + bias[0, :1].double()
        weights = torch.where(at[:, None] >= at[None], F.silu(scores), 0.0)
        exact = torch.einsum("hij,jhd->ihd", weights, v[rows, :1].double())
        unit = exact.square().mean().sqrt()
        errors = {}
        for who, (launch, *_) in launches.items():
            found = mine if who == "ours" else its
            found.fill_(torch.nan)
            launch()
            errors[who] = ((found[rows, :1].double() - exact).abs() / exact.abs().clamp(min=unit)).nan_to_num(nan=float("inf")).max().item()
        times = compare(launches)
        middle = {who: statistics.median(each) for who, each in times.items()}
        best = min((who for who in launches if who != "ours"), key=middle.get)
        flop = 2.0 * BATCHES * HEADS * LENGTH * (LENGTH + 1) * d
        others = ", ".join(f"{who} {middle[who] * 1e3:.0f}" for who in launches)
        print(f"| {d} | {flop / middle['ours'] * 1e-9:.0f} TFLOP/s | {flop / middle[best] * 1e-9:.0f} TFLOP/s, {best} | {ratio(times, best, 'ours'):.2f} | "
              f"{errors['ours']:.1e}, {errors[best]:.1e} | {others} |", flush=True)
        if max(errors.values()) > 5e-2:
            sys.exit(f"wrong: {errors}")


def main(arguments: list) -> None:
    match arguments:
        case ["compile", folder, example]:
            for d in DEPTHS:
                for tile in TILES:
                    subprocess.run([sys.executable, __file__, "one", folder, example, *map(str, (d, *tile))], check=True)
        case ["one", folder, example, *numbers]:
            compile_one(pathlib.Path(folder), example, *map(int, numbers))
        case ["run", folder]:
            run_all(pathlib.Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
