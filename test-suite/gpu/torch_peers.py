#!/usr/bin/env python3
"""Speed of PyTorch's kernels for the memory-bound cases of plan.json, as Markdown rows.

The protocol is that of cutec-bench: random normal data, operands rotated through more memory than
twice the L2 cache, batches as CUDA graphs, timed by events, medians of 11 rounds.
"""

import statistics

import torch
import torch.nn.functional as F

from rounds import compare, sets

HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32


def normal(dtype, *shape):
    return torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)


def cases():
    """Name, shape, and a function that makes the operands and a launch of one set."""
    for shape in [(4096, 4096), (16384, 16384)]:
        yield "copy f32", shape, lambda m, n: (lambda x, y: (lambda: y.copy_(x), 2 * m * n * 4))(
            normal(SINGLE, m, n), torch.empty(m, n, device="cuda"))
        yield "relu f16", shape, lambda m, n: (lambda x: (lambda: torch.relu(x), 2 * m * n * 2))(normal(HALF, m, n))
        yield "add f16", shape, lambda m, n: (lambda x, y: (lambda: torch.add(x, y), 3 * m * n * 2))(
            normal(HALF, m, n), normal(HALF, m, n))
    yield "transpose f32", (16384, 16384), lambda m, n: (
        lambda x, y: (lambda: y.copy_(x.t()), 2 * m * n * 4))(normal(SINGLE, m, n), torch.empty(n, m, device="cuda"))
    for shape in [(16384, 4096), (16384, 16384)]:
        yield "softmax bf16", shape, lambda m, n: (
            lambda x: (lambda: F.softmax(x, dim=-1), 2 * m * n * 2))(normal(BRAIN, m, n))
        yield "rms_norm bf16", shape, lambda m, n: (
            lambda x, w: (lambda: F.rms_norm(x, (n,), w, 1e-5), 2 * m * n * 2))(normal(BRAIN, m, n), normal(BRAIN, n))
        yield "layer_norm bf16", shape, lambda m, n: (
            lambda x, w, b: (lambda: F.layer_norm(x, (n,), w, b, 1e-5), 2 * m * n * 2))(
                normal(BRAIN, m, n), normal(BRAIN, n), normal(BRAIN, n))


def main():
    print(f"\nPyTorch {torch.__version__}, the same GPU\n\n| kernel | size | PyTorch |\n|---|---|---|")
    for name, (m, n), make in cases():
        launch, bytes_moved = make(m, n)
        launches = [launch] + [make(m, n)[0] for _ in range(sets(bytes_moved) - 1)]
        time = statistics.median(compare({"PyTorch": launches}, batch_ms=10.0)["PyTorch"])
        print(f"| {name} | {m}×{n} | {bytes_moved / time * 1e-6:.0f} GB/s |", flush=True)
        del launch, launches
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
