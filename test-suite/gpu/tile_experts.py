#!/usr/bin/env python3
"""The products of examples/tile_experts.cute on this machine's GPU, against torch._grouped_mm with what PyTorch has to gather and add rows.

    tile_experts.py make FOLDER [CUTEC]     compiles and exports the kernels, where the compiler is; needs no GPU
    tile_experts.py FOLDER                  checks and measures them, where the GPU is; needs PyTorch 2.8 or later

FOLDER, this file, grouped.py and rounds.py are all that is to be carried. The peer of `experts_in` is `torch._grouped_mm(x[index], …)`. That of `experts` is
`index_add_` of weighted rows of that, with what it takes to fill the result with zeros: the faster of sums in f32, as ours are, and of
sums in bf16. Which tokens an expert gets is random and uneven. Operands are normal and exceed the L2 cache; rounds alternate, each a
CUDA graph; a ratio is the median of those of 11 rounds. Errors are relative to the larger of the reference in f64 and the square root of k.
The exit status is 1 where a result is wrong.
"""

import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.environ.get("EXPERTS_EXAMPLE", os.path.join(HERE, "..", "..", "examples", "tile_experts.cute"))
# Library, kernel, compile-time parameters.
LIBRARIES = [
    ("in_128x128", "experts_in", {}),
    ("in_128x256", "experts_in", {"bn": 256}),
    ("sum_128x128", "experts", {}),
    ("sum_128x256", "experts", {"bn": 256}),
]
# Experts, of which each token has so many, tokens, n, k.
SIZES = [(64, 8, 8192, 2048, 2048), (64, 8, 8192, 1408, 2048), (8, 2, 8192, 4096, 4096), (64, 8, 1003, 2048, 1032)]
ROWS = 128


def make(folder, cutec):
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    for library, kernel, defines in LIBRARIES:
        options = [text for name, value in defines.items() for text in ("-D", f"{name}={value}")]
        command = [cutec, "export", EXAMPLE, "--arch", "sm_90a", "--kernel", kernel, "--kind", "shared", *options]
        subprocess.run([*command, "-o", os.path.join(folder, library)], check=True)


class Case:
    """Tokens, their experts, and weights of one size."""

    def __init__(self, experts, top, tokens, n, k):
        import torch

        from rounds import normal, sets

        generator = torch.Generator().manual_seed(tokens + n)
        popular = torch.rand(experts, generator=generator) + 0.3
        chosen = torch.multinomial(popular.expand(tokens, experts), top, generator=generator)
        order = chosen.flatten().argsort(stable=True)
        counts = torch.bincount(chosen.flatten(), minlength=experts)
        ends = counts.cumsum(0)
        lines = []
        for expert, end in enumerate(ends.tolist()):
            first = end - counts[expert].item()
            lines += [(expert, row, end) for row in range(first, end, ROWS)]
        self.m, self.tokens, self.n, self.k = tokens * top, tokens, n, k
        self.ends = ends.to("cuda", torch.int32)
        self.list = torch.tensor(lines, dtype=torch.int32, device="cuda")
        self.index = (order // top).to("cuda", torch.int32)
        self.weights = torch.rand(self.m, device="cuda")
        count = sets(2 * (tokens * k + experts * n * k) + 4 * tokens * n)
        self.sets = [(normal(tokens, k), normal(experts, n, k)) for _ in range(count)]

    def rows(self, x, w):
        import torch

        return torch._grouped_mm(x[self.index], w.transpose(-2, -1), offs=self.ends, out_dtype=torch.bfloat16)

    def sums(self, x, w, dtype):
        import torch

        weighted = self.rows(x, w) * self.weights[:, None].to(dtype)
        return torch.zeros(self.tokens, self.n, device="cuda", dtype=dtype).index_add_(0, self.index, weighted)

    def theirs(self, kernel):
        import torch

        if kernel == "experts_in":
            return {"PyTorch": lambda x, w: self.rows(x, w)}
        return {
            "PyTorch f32": lambda x, w: self.sums(x, w, torch.float32),
            "PyTorch bf16": lambda x, w: self.sums(x, w, torch.bfloat16),
        }

    def result(self, kernel):
        import torch

        if kernel == "experts":
            return torch.zeros(self.tokens, self.n, device="cuda")
        return torch.full((self.m, self.n), float("nan"), device="cuda", dtype=torch.bfloat16)

    def ours(self, kernel, launch, x, w, y):
        if kernel == "experts_in":
            return launch(x, self.index, w, self.list, y)
        y.zero_()
        return launch(x, self.index, w, self.list, self.index, self.weights, y)

    def error(self, kernel, y, x, w):
        """The largest error against f64."""
        import torch

        worst, first = 0.0, 0
        sums = torch.zeros(self.tokens, self.n, device="cuda", dtype=torch.float64)
        for expert, end in enumerate(self.ends.tolist()):
            index = self.index[first:end]
            exact = x[index].double() @ w[expert].double().T
            if kernel == "experts":
                sums.index_add_(0, index, exact * self.weights[first:end, None].double())
            elif end > first:
                worst = max(worst, relative(y[first:end], exact, self.k))
            first = end
        return relative(y, sums, self.k) if kernel == "experts" else worst


def relative(found, exact, k):
    errors = (found.double() - exact).abs() / exact.abs().clamp(min=k**0.5)
    return errors.nan_to_num(nan=float("inf")).max().item()


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "make":
        default = os.path.join(HERE, "..", "..", "target", "release", "cutec")
        return make(arguments[1], os.path.abspath(arguments[2] if len(arguments) > 2 else default))
    if len(arguments) != 1:
        sys.exit(__doc__)
    import torch

    from grouped import launcher
    from rounds import compare, ratio

    folder = os.path.abspath(arguments[0])
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}\n")
    print("| kernel | experts, top | rows × n × k | ours | PyTorch | ratio | error |\n|---|---|---|---|---|---|---|")
    wrong = False
    for experts, top, tokens, n, k in SIZES:
        case = Case(experts, top, tokens, n, k)
        for library, kernel, _ in LIBRARIES:
            launch = launcher(folder, library, kernel)
            results = [case.result(kernel) for _ in case.sets]
            ours = [
                lambda x=x, w=w, y=y, launch=launch, kernel=kernel: case.ours(kernel, launch, x, w, y)
                for (x, w), y in zip(case.sets, results)
            ]
            ours[0]()
            torch.cuda.synchronize()
            error = case.error(kernel, results[0], *case.sets[0])
            peers = {
                name: [lambda x=x, w=w, peer=peer: peer(x, w) for x, w in case.sets]
                for name, peer in case.theirs(kernel).items()
            }
            times = compare({**peers, "ours": ours})
            bad = not error < 1 / 128
            wrong |= bad
            mine = statistics.median(times["ours"])
            best = min(peers, key=lambda name: statistics.median(times[name]))
            flops = 2e-9 * case.m * n * k
            print(f"| {library} | {experts}, {top} | {case.m}×{n}×{k} | {flops / mine:.1f} TFLOP/s "
                  f"| {best} {flops / statistics.median(times[best]):.1f} TFLOP/s | {ratio(times, best, 'ours'):.3f} | {error:.1e} |"
                  + (" **wrong**" if bad else ""), flush=True)
            del results, ours, peers
        case = None
        torch.cuda.empty_cache()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
