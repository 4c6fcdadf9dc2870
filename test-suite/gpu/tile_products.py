#!/usr/bin/env python3
"""Products of the tile level (examples/tile_gemm.cute, tile_epilogues.cute) on a Hopper GPU, beside those by hand and cuBLAS.

    tile_products.py make FOLDER [CUTEC]       compiles and exports the kernels, where the compiler is; needs no GPU
    tile_products.py FOLDER [--only TEXT] [--sizes 4096,8192] [--rounds 11]
                                               checks and measures them, where the GPU is; needs PyTorch 2.5 or later
                                               (`--only multicast`: blocks alone, and in clusters that load together;
                                               `--only epilogues`: these, of warpgroups that share a tile or take turns)

FOLDER, this file, grouped.py and rounds.py are all that is to be carried. Operands are normal and rotate through more than twice the L2
cache; rounds alternate, each a CUDA graph; a ratio is the median of those of the rounds, above 1 where the tile level is faster. Of
epilogues it is how much longer they take than the product alone. Errors are the largest of a sample of rows, relative to the larger of
the reference in f64 and a standard deviation of the result; of a result that is wrong the row says so, and the exit status is 1.
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
GEMM, EPILOGUES = "tile_gemm.cute", "tile_epilogues.cute"
BYTES = {"bk": 128, "align": 16, "stages": 4}
# Case: source, kernel and parameters of the tile level, then of that by hand.
PRODUCTS = {}
for letters, suffix in {"nk": "", "kn": "_kn", "mk": "_mk", "mn": "_mn"}.items():
    for name in ("bf16", "f16"):
        to = {"to": name} if not suffix else {}
        PRODUCTS[f"{name} {letters}"] = ((GEMM, f"tile_gemm{suffix}", {"t": name, **to}),
                                         ("hopper/gemm_sm90.cute", f"gemm_sm90{suffix}", {"t": name}))
PRODUCTS["tf32 nk"] = ((GEMM, "tile_gemm", {"t": "tf32", "to": "f32", "align": 4}),
                       ("hopper/gemm_tf32.cute", "gemm_tf32", {}))
# Of f32: by multiply-adds, beside the kernel of threads that does so, as tf32 and by three products of tf32.
OF_F32 = {"sum": "f32", "to": "f32"}
BY_WORD = {"bk": 32, "align": 4}
PRODUCTS["f32 ieee nk"] = ((GEMM, "tile_gemm", {"t": "f32", **OF_F32, "bm": 128, "bn": 128, "bk": 16, "align": 4}), ("sgemm.cute", "sgemm", {}))
PRODUCTS["f32 tf32 nk"] = ((GEMM, "tile_gemm_tf32", BY_WORD), ("hopper/gemm_tf32.cute", "gemm_tf32", {}))
PRODUCTS["f32 tf32x3 nk"] = ((GEMM, "tile_gemm_tf32", {**BY_WORD, "precision": "tf32x3"}), ("hopper/gemm_3xtf32.cute", "gemm_3xtf32", {}))
PRODUCTS["f8 nk"] = ((GEMM, "tile_gemm", {"t": "f8e4m3", **BYTES}), ("hopper/gemm_f8.cute", "gemm_f8", {}))
PRODUCTS["i8 nk"] = ((GEMM, "tile_gemm", {"t": "i8", "sum": "i32", "to": "i32", **BYTES}), ("hopper/gemm_i8.cute", "gemm_i8", {}))
# Epilogues of f16: source, kernel, parameters.
ALONE = (GEMM, "tile_gemm", {"t": "f16", "to": "f16"})
WITH = {
    "bias, relu": (EPILOGUES, "tile_gemm_bias_relu", {}),
    "residual": (EPILOGUES, "tile_gemm_residual", {}),
    "gelu, bias, residual": (EPILOGUES, "tile_gemm_gelu_residual", {}),
    "two results": (EPILOGUES, "tile_gemm_two_results", {}),
    "residual in place": (EPILOGUES, "tile_gemm_residual_in_place", {}),
}
# The same where two warpgroups share a tile; else they take turns, each with tiles of its own, as those by hand have.
WIDE = {"bm": 128, "bn": 256, "stages": 4}
for case, (source, kernel, _) in list(WITH.items()):
    WITH[f"{case}, sharing 128 × 256"] = (source, kernel, WIDE)
WITH["nothing, sharing 128 × 256"] = (GEMM, "tile_gemm", {"t": "f16", "to": "f16", **WIDE})
# Products of bf16 in clusters of so many blocks along m and n, which load together; a ratio is over blocks that are alone.
MULTICAST = {
    "alone": (GEMM, "tile_gemm", WIDE),
    "2 × 1": (GEMM, "tile_gemm", {**WIDE, "down": 2}),
    "1 × 2": (GEMM, "tile_gemm", {**WIDE, "across": 2}),
    "2 × 2": (GEMM, "tile_gemm", {**WIDE, "down": 2, "across": 2}),
    "4 × 1": (GEMM, "tile_gemm", {**WIDE, "down": 4}),
    "128 × 128, in turns": (GEMM, "tile_gemm", {}),
    "128 × 128, 2 × 1": (GEMM, "tile_gemm", {"stages": 5, "down": 2}),
    "by hand, 2 × 1": ("hopper/gemm_sm90.cute", "gemm_sm90", {"cluster": 2}),
}
# By hand: bm × bn = 128 × 128, in turns.
BY_HAND = {
    "bias, relu": ("hopper/gemm_epilogues.cute", "gemm_bias_act", {"t": "f16", "act": "relu"}),
    "residual": ("hopper/gemm_epilogues.cute", "gemm_residual", {"t": "f16"}),
}


def library(role, case):
    return "".join(letter if letter.isalnum() else "_" for letter in f"{role}_{case}")


def jobs():
    for case, (ours, by_hand) in PRODUCTS.items():
        yield library("tile", case), ours
        yield library("hand", case), by_hand
    yield library("tile", "alone"), ALONE
    for case, kernel in WITH.items():
        yield library("tile", case), kernel
    for case, kernel in BY_HAND.items():
        yield library("hand", case), kernel
    for case, kernel in MULTICAST.items():
        yield library("multicast", case), kernel


def make(folder, cutec):
    """Exports all kernels to FOLDER; whether all could be."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)

    def export(job):
        name, (source, kernel, parameters) = job
        options = [text for key, value in parameters.items() for text in ("-D", f"{key}={value}")]
        command = [cutec, "export", os.path.join(EXAMPLES, source), "--arch", "sm_90a", "--kernel", kernel, "--kind", "shared",
                   *options, "-o", os.path.join(folder, name)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{name} is left out:\n{done.stderr}", file=sys.stderr)
        return done.returncode == 0

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(list(pool.map(export, jobs())))


def wrongness(result, exact, unit):
    wrong = (result.double() - exact).abs() / exact.abs().clamp(min=unit)
    return wrong.nan_to_num(nan=float("inf")).max().item()


def operand(case, rows, k, along_k):
    import torch

    if case.startswith("i8"):
        return (40 * torch.randn(rows, k, device="cuda")).round().clamp(-128, 127).to(torch.int8)
    x = torch.randn((rows, k) if along_k else (k, rows), device="cuda")
    x = x if along_k else x.t()
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "tf32": torch.float32, "f32": torch.float32,
             "f8": torch.float8_e4m3fn}[case.split()[0]]
    return x.to(dtype)


def of_cublas(case, a, b, c):
    import torch

    one = torch.ones((), device="cuda")
    if case.startswith("f8"):
        return lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
    if case.startswith("i8"):
        return lambda: torch._int_mm(a, b.t())
    return lambda: torch.matmul(a, b.t(), out=c)


def product(folder, case, size, rounds):
    """The row of a product."""
    import torch

    from rounds import compare, ratio, sets

    # Of f32 cuBLAS multiplies as exactly as is asked for of ours: what is asked for as three products of tf32 it does by multiply-adds.
    torch.backends.cuda.matmul.allow_tf32 = case.split()[:2] not in (["f32", "ieee"], ["f32", "tf32x3"])
    letters = case.split()[-1]
    to = {"bf16": torch.bfloat16, "f16": torch.float16, "tf32": torch.float32, "f32": torch.float32, "f8": torch.bfloat16,
          "i8": torch.int32}[case.split()[0]]
    ours, by_hand = (launcher(folder, library(role, case), PRODUCTS[case][index][1]) for index, role in enumerate(("tile", "hand")))
    one = torch.ones(1, device="cuda")
    scales = [one, one] if case.startswith("f8") else []
    scalars = [1.0, 0.0] if PRODUCTS[case][1][1] == "sgemm" else []
    work = {"tile": [], "hand": [], "cuBLAS": []}
    for _ in range(sets(3 * size * size * to.itemsize, most=4)):
        a, b = operand(case, size, size, letters in ("nk", "kn")), operand(case, size, size, letters in ("nk", "mk"))
        c = torch.full((size, size), 0 if to == torch.int32 else float("nan"), dtype=to, device="cuda")
        if not work["tile"]:
            sample = torch.arange(0, size, size // 61, device="cuda")
            exact = a[sample].double() @ b.double().T  # of f64, which no flag rounds
            unit = 1.0 if to == torch.int32 else size**0.5
            ours(a, b, c)
            error = wrongness(c[sample], exact, unit)
            c.zero_()
            by_hand(a, b, *scales, c, *scalars)
            error_by_hand = wrongness(c[sample], exact, unit)
            del exact
        work["tile"].append(lambda a=a, b=b, c=c: ours(a, b, c))
        work["hand"].append(lambda a=a, b=b, c=c: by_hand(a, b, *scales, c, *scalars))
        work["cuBLAS"].append(of_cublas(case, a, b, c))
    times = compare(work, rounds=rounds)
    bound = {"bf16": 1e-2, "f16": 2e-3, "tf32": 5e-3, "f8": 3e-2, "i8": 0.0, "f32 ieee": 2e-5, "f32 tf32": 5e-3, "f32 tf32x3": 1e-5}
    bound = bound[case.removesuffix(f" {letters}")]
    right = error <= bound and error_by_hand <= bound
    print(f"| {case} | {size}³ | {2e-9 * size**3 / statistics.median(times['tile']):.1f} | {ratio(times, 'hand', 'tile'):.3f} | "
          f"{ratio(times, 'cuBLAS', 'tile'):.3f} | {error:.1e}{'' if right else ' **wrong**'} | {error_by_hand:.1e} |", flush=True)
    return right


def plain_case(case):
    """The case without what is said of its warpgroups."""
    return case.split(", sharing")[0]


def epilogues(folder, size, rounds):
    """The rows of epilogues."""
    import torch

    from rounds import compare, sets

    names = {"alone": ALONE[1], **{case: kernel[1] for case, kernel in WITH.items()}}
    found = {case: launcher(folder, library("tile", case), kernel) for case, kernel in names.items()
             if os.path.exists(os.path.join(folder, library("tile", case) + ".so"))}
    by_hand = {f"{case} by hand": launcher(folder, library("hand", case), kernel[1]) for case, kernel in BY_HAND.items()}
    work = {case: [] for case in [*found, *by_hand]}
    errors = {}
    for _ in range(sets(8 * size * size, most=4)):
        a, b, x, c, h = (torch.randn(size, size, device="cuda").half() for _ in range(5))
        bias = torch.randn(size, device="cuda").half()
        given = {"alone": (a, b, c), "nothing": (a, b, c), "bias, relu": (a, b, bias, c), "residual": (a, b, x, c),
                 "gelu, bias, residual": (a, b, bias, x, c), "two results": (a, b, bias, h, c), "residual in place": (a, b, c),
                 "bias, relu by hand": (a, b, bias, c), "residual by hand": (a, b, x, c)}
        given = {case: given[plain_case(case)] for case in work}
        if not errors:
            sample = torch.arange(0, size, size // 61, device="cuda")
            plain = a[sample].double() @ b.double().T
            gelu = lambda y: torch.nn.functional.gelu(y)
            kept = c[sample].double()
            exact = {"alone": plain, "nothing": plain, "bias, relu": (plain + bias.double()).relu(), "residual": plain + x[sample].double(),
                     "gelu, bias, residual": gelu(plain + bias.double()) + x[sample].double(),
                     "two results": gelu(plain + bias.double()), "residual in place": plain + kept,
                     "bias, relu by hand": (plain + bias.double()).relu(), "residual by hand": plain + x[sample].double()}
            exact = {case: exact[plain_case(case)] for case in work}
            before = c.clone()
            for case in work:
                c.copy_(before)
                {**found, **by_hand}[case](*given[case])
                errors[case] = wrongness(c[sample], exact[case], size**0.5)
                if plain_case(case) == "two results":
                    errors[case] = max(errors[case], wrongness(h[sample], plain + bias.double(), size**0.5))
            del exact, plain
        for case in work:
            launch = {**found, **by_hand}[case]
            work[case].append(lambda launch=launch, given=given[case]: launch(*given))
    times = compare(work, rounds=rounds)
    ok = True
    for case in work:
        more = statistics.median(t / alone for t, alone in zip(times[case], times["alone"])) - 1
        right = errors[case] <= 2e-3
        ok &= right
        print(f"| f16 {case} | {size}³ | {1e3 * statistics.median(times[case]):.1f} µs | {100 * more:+.1f} % | "
              f"{errors[case]:.1e}{'' if right else ' **wrong**'} |", flush=True)
    return ok


def multicast(folder, size, rounds):
    """The rows of clusters."""
    import torch

    from rounds import compare, ratio, sets

    found = {case: launcher(folder, library("multicast", case), kernel[1]) for case, kernel in MULTICAST.items()}
    work, errors = {case: [] for case in [*found, "cuBLAS"]}, {}
    for _ in range(sets(6 * size * size, most=4)):
        a, b = operand("bf16", size, size, True), operand("bf16", size, size, True)
        c = torch.full((size, size), float("nan"), dtype=torch.bfloat16, device="cuda")
        if not errors:
            sample = torch.arange(0, size, size // 61, device="cuda")
            exact = a[sample].double() @ b.double().T
            for case, launch in found.items():
                c.fill_(float("nan"))
                launch(a, b, c)
                errors[case] = wrongness(c[sample], exact, size**0.5)
            del exact
        for case, launch in found.items():
            work[case].append(lambda launch=launch, a=a, b=b, c=c: launch(a, b, c))
        work["cuBLAS"].append(of_cublas("bf16", a, b, c))
    times = compare(work, rounds=rounds)
    for case, error in errors.items():
        print(f"| {case} | {size}³ | {2e-9 * size**3 / statistics.median(times[case]):.1f} | {ratio(times, 'alone', case):.3f} | "
              f"{ratio(times, 'cuBLAS', case):.3f} | {error:.1e}{'' if error <= 1e-2 else ' **wrong**'} |", flush=True)
    return all(error <= 1e-2 for error in errors.values())


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "make":
        cutec = sys.argv[3] if len(sys.argv) > 3 else os.path.join(HERE, "..", "..", "target", "release", "cutec")
        return 0 if make(sys.argv[2], os.path.abspath(cutec)) else 1
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default="4096,8192")
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    import torch

    folder = os.path.abspath(given.folder)
    sizes = [int(size) for size in given.sizes.split(",")]
    ok = True
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    for size in sizes:
        if given.only in "epilogues":
            print("| epilogue | size | time | over the product alone | error |\n|---|---|---|---|---|")
            ok &= epilogues(folder, size, given.rounds)
    if given.only in "multicast":
        print("\n| clusters | size | TFLOP/s | alone | cuBLAS | error |\n|---|---|---|---|---|---|")
        for size in sizes:
            ok &= multicast(folder, size, given.rounds)
    print("\n| product | size | TFLOP/s | by hand | cuBLAS | error | by hand |\n|---|---|---|---|---|---|---|")
    for case in PRODUCTS:
        for size in sizes:
            if not case.startswith(given.only):
                continue
            try:
                ok &= product(folder, case, size, given.rounds)
            except Exception as error:  # noqa: BLE001: the others are to run too
                print(f"| {case} | {size}³ | failed: {str(error).splitlines()[0]} | | | | |", flush=True)
                ok = False
            torch.cuda.empty_cache()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
