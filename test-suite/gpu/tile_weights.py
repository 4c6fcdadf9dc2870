#!/usr/bin/env python3
"""Products with weights of 4 and 8 bits at the tile level (examples/tile_weights.cute) on a Hopper GPU, beside those by hand.

    tile_weights.py make FOLDER [CUTEC]        compiles and exports the kernels, where the compiler is; needs no GPU
    tile_weights.py FOLDER [--only TEXT] [--rows 16,4096] [--n 8192] [--k 8192] [--rounds 11]
                                               checks and measures them, where the GPU is; needs PyTorch 2.5 or later

FOLDER, this file, grouped.py and rounds.py are all that is to be carried. Operands are random and rotate through more than twice the L2
cache; rounds alternate, each a CUDA graph; a ratio is the median of those of the rounds, above 1 where the tile level is faster than
`gemm_weights`, with few rows than `gemm_weights_few`. Errors are the largest of all rows, or of a sample, relative to the larger of the reference in f64 and a
standard deviation of the result; of a result that is wrong the row says so, and the exit status is 1.
"""
import argparse
import concurrent.futures
import os
import statistics
import subprocess
import sys

from grouped import launcher

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.environ.get("TILE_SOURCES", os.path.join(HERE, "..", "..", "examples"))
TILE, HAND = "tile_weights.cute", "hopper/gemm_weights.cute"
GROUP = 128
# Up to so many rows of x.
FEW = 64
# Weights: by hand with many and with few rows, then those of the tile level. Each a kernel and its parameters.
CASES = {
    "i4": {
        "hand": ("gemm_weights", {}),
        "hand few": ("gemm_weights_few", {}),
        "many": [("tile_weights", {}), ("tile_weights", {"stages": 4}), ("tile_weights", {"bk": 128, "stages": 2}),
                 ("tile_weights", {"bn": 128, "stages": 8})],
        "few": [("tile_weights_few", {}), ("tile_weights_few", {"stages": 3}), ("tile_weights_few", {"stages": 6}), ("tile_weights_few", {"slices": 2}),
                ("tile_weights_few", {"down": 2}), ("tile_weights_few", {"slices": 2, "down": 2}),
                ("tile_weights_few", {"slices": 2, "resident": 2, "stages": 6}), ("tile_weights_parts", {"parts": 4})],
    },
    "i8": {
        "hand": ("gemm_weights", {"bits": 8, "stages": 4}),
        "hand few": ("gemm_weights_few", {"bits": 8}),
        "many": [("tile_weights", {"q": "i8", "stages": 4}), ("tile_weights", {"q": "i8", "bn": 128, "stages": 6})],
        "few": [("tile_weights_few", {"q": "i8"}), ("tile_weights_few", {"q": "i8", "slices": 2}), ("tile_weights_few", {"q": "i8", "down": 2}),
                ("tile_weights_parts", {"q": "i8", "parts": 4, "stages": 4})],
    },
    # Bytes in their order, with a scale for each row.
    "i8 of rows": {
        "hand": ("gemm_weights", {"bits": 8, "stages": 4}),
        "hand few": ("gemm_weights_few", {"bits": 8}),
        "many": [("tile_weights_of_rows", {"stages": 4})],
        "few": [("tile_weights_of_rows_few", {}), ("tile_weights_of_rows_few", {"slices": 2}),
                ("tile_weights_of_rows", {"bm": 64, "bn": 16, "bk": 128, "stages": 12})],
    },
}
PACK = {"tile i4": (TILE, {}), "tile i8": (TILE, {"q": "i8"}), "hand i4": (HAND, {}), "hand i8": (HAND, {"bits": 8})}


def named(parameters):
    return " ".join(f"{key}={value}" for key, value in parameters.items()) or "default"


def library(*parts):
    return "".join(letter if letter.isalnum() else "_" for letter in "_".join(parts))


def exported(parameters):
    """Those at compile time: in how many parts k is, a launch says."""
    return {key: value for key, value in parameters.items() if key != "parts"}


def jobs():
    """Library, source, kernel, parameters."""
    found = {}
    for case, kernels in CASES.items():
        for kind in ("hand", "hand few"):
            kernel, parameters = kernels[kind]
            found[library(kernel, named(parameters))] = (HAND, kernel, parameters)
        for kernel, parameters in kernels["many"] + kernels["few"]:
            found[library(kernel, named(exported(parameters)))] = (TILE, kernel, exported(parameters))
    for case, (source, parameters) in PACK.items():
        found[library("pack", case)] = (source, "pack_weights", parameters)
    return [(name, *job) for name, job in found.items()]


def make(folder, cutec):
    """Exports all kernels to FOLDER."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)

    def export(job):
        name, source, kernel, parameters = job
        options = [text for key, value in parameters.items() for text in ("-D", f"{key}={value}")]
        command = [cutec, "export", os.path.join(EXAMPLES, source), "--arch", "sm_90a", "--kernel", kernel, "--kind", "shared",
                   *options, "-o", os.path.join(folder, name)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name} is left out:\n{done.stderr}", file=sys.stderr)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(export, jobs()))


class Case:
    """Operands of one size, in as many sets as it takes to leave the L2 cache cold."""

    def __init__(self, folder, case, m, n, k):
        import torch

        from rounds import sets

        bits = int(case[1])
        self.size, self.case, self.bits = (m, n, k), case, bits
        self.sets = []
        groups = -(-k // GROUP)
        for _ in range(sets(n * k * bits // 8 + 2 * m * (n + k))):
            x = torch.randn(m, k, device="cuda").to(torch.bfloat16)
            most = 2 ** (bits - 1)
            w = torch.randint(-most, most, (n, k), dtype=torch.int8, device="cuda")
            scales = (torch.rand(groups, n, device="cuda") + 0.5).to(torch.bfloat16)
            of_rows = torch.rand(n, device="cuda") + 0.5
            if case.endswith("of rows"):
                scales[:] = of_rows.to(torch.bfloat16)
            by_hand = torch.empty(n, k * bits // 8, dtype=torch.uint8, device="cuda")
            launcher(folder, library("pack", f"hand {case[:2]}"), "pack_weights")(w, by_hand)
            packed = torch.empty(n, -(-k // 64) * 8 * bits, dtype=torch.uint8, device="cuda")
            launcher(folder, library("pack", f"tile {case[:2]}"), "pack_weights")(w, packed)
            made = {"x": x, "w": w, "scales": scales.t(), "of_rows": scales[0].float() if case.endswith("of rows") else of_rows,
                    "hand": by_hand, "packed": packed}
            if not self.sets:
                self.sample = torch.arange(0, m, max(1, m // 61), device="cuda")
                whole = w.double() * made["scales"].double().repeat_interleave(GROUP, 1)[:, :k]
                self.exact = x[self.sample].double() @ whole.T
                self.unit = k**0.5 * whole.std().item()
                del whole
            if not case.endswith("of rows"):
                made.pop("w")
            self.sets.append(made)

    def result(self):
        import torch

        m, n, _ = self.size
        return torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)

    def launches(self, kernel, parameters, launch):
        """A launch for each set, and the result of the first one."""
        import torch

        m, n, _ = self.size
        work, first = [], None
        for made in self.sets:
            c = self.result()
            first = c if first is None else first
            given = [made["x"], made["packed"], made["scales"]]
            if kernel.startswith("gemm"):
                given = [made["x"], made["hand"], made["scales"]]
            elif kernel.startswith("tile_weights_of_rows"):
                given = [made["x"], made["w"], made["of_rows"]]
            elif kernel == "tile_weights_parts":
                parts = parameters["parts"]
                sums = torch.empty(parts, n, m, device="cuda")
                came = torch.zeros(-(-n // 64), -(-m // 16), device="cuda", dtype=torch.int32)
                given += [sums, came]
            work.append(lambda given=(*given, c): launch(*given))
        return work, first

    def error(self, result):
        wrong = (result[self.sample].double() - self.exact).abs() / self.exact.abs().clamp(min=self.unit)
        return wrong.nan_to_num(nan=float("inf")).max().item()


def measure(folder, case, m, n, k, rounds):
    """The rows of a case; whether all are right."""
    import torch

    from rounds import compare, ratio

    few = m <= FEW
    operands = Case(folder, case, m, n, k)
    hand = CASES[case]["hand few" if few else "hand"]
    kernels = {"by hand": hand}
    kernels.update({f"{kernel} {named(parameters)}": (kernel, parameters) for kernel, parameters in CASES[case]["few" if few else "many"]})
    work, errors = {}, {}
    for name, (kernel, parameters) in kernels.items():
        path = library(kernel, named(exported(parameters)))
        if not os.path.exists(os.path.join(folder, path + ".so")):
            continue
        try:
            launches, result = operands.launches(kernel, parameters, launcher(folder, path, kernel))
            launches[0]()
            torch.cuda.synchronize()
            errors[name] = operands.error(result)
            # Counters are 0 again behind a launch.
            launches[0]()
            torch.cuda.synchronize()
            errors[name] = max(errors[name], operands.error(result))
            work[name] = launches
        except RuntimeError as failure:
            print(f"| {case} | {m}×{n}×{k} | {name} | failed: {str(failure).splitlines()[0]} | | | |", flush=True)
            errors[name] = float("inf")
    times = compare(work, rounds=rounds)
    for name in work:
        right = errors[name] <= 2e-2
        time = statistics.median(times[name])
        print(f"| {case} | {m}×{n}×{k} | {name} | {1e3 * time:.1f} | {2e-9 * m * n * k / time:.1f} | {ratio(times, 'by hand', name):.3f} | "
              f"{errors[name]:.1e}{'' if right else ' **wrong**'} |", flush=True)
    return all(error <= 2e-2 for error in errors.values())


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "make":
        cutec = sys.argv[3] if len(sys.argv) > 3 else os.path.join(HERE, "..", "..", "target", "release", "cutec")
        make(sys.argv[2], os.path.abspath(cutec))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", default="16,4096")
    parser.add_argument("--n", type=int, default=8192)
    parser.add_argument("--k", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    import torch

    folder = os.path.abspath(given.folder)
    ok = True
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    print("| weights | rows × n × k | kernel | µs | TFLOP/s | of by hand | error |\n|---|---|---|---|---|---|---|")
    for case in CASES:
        for rows in [int(rows) for rows in given.rows.split(",")]:
            if not case.startswith(given.only):
                continue
            try:
                ok &= measure(folder, case, rows, given.n, given.k, given.rounds)
            except Exception as error:  # noqa: BLE001: the others are to run too
                print(f"| {case} | {rows}×{given.n}×{given.k} | failed: {str(error).splitlines()[0]} | | | | |", flush=True)
                ok = False
            torch.cuda.empty_cache()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
