#!/usr/bin/env python3
"""Products of other types than bf16 on a Hopper GPU, against what PyTorch calls for them.

    products_types.py make FOLDER [CUTEC]      compiles and exports the kernels, where the compiler is; needs no GPU
    products_types.py FOLDER [--only TEXT] [--quick]
                                               checks and measures them, where the GPU is; needs PyTorch 2.5 or later

FOLDER, this file, grouped.py and rounds.py are all that is to be carried. Operands are normal and rotate through more than twice the L2 cache;
rounds alternate, each a CUDA graph; a ratio is the median of those of the rounds, above 1 where ours is faster. Errors are the largest
of a sample of rows, relative to the larger of the reference in f64 and a standard deviation of the result; of a result that is wrong
the row says so, and the exit status is 1.
"""
import argparse
import concurrent.futures
import os
import statistics
import subprocess
import sys

from grouped import launcher

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.environ.get("TYPES_SOURCES", os.path.join(HERE, "..", "..", "examples"))
CUBES = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192)]
PINGPONG = {"schedule": "sm90_pingpong", "bn": 128}
# Case, source, kernel, and the variants of it: compile-time parameters. The first one is the default.
KERNELS = {
    "f8": ("hopper/gemm_f8.cute", "gemm_f8", [{}, PINGPONG, {"cluster": 2}]),
    "f8 rows": ("hopper/gemm_f8.cute", "gemm_f8_rows", [{}, PINGPONG]),
    "f8 blocks": ("hopper/gemm_f8.cute", "gemm_f8_blocks", [{}, {"bn": 128}, {"cluster": 2}]),
    "f8 blocks, tiles": ("hopper/tile_gemm_f8.cute", "tile_gemm_f8_blocks", [{}]),
    "i8": ("hopper/gemm_i8.cute", "gemm_i8", [{}, PINGPONG, {"cluster": 2}]),
    "tf32": ("hopper/gemm_tf32.cute", "gemm_tf32", [{}, PINGPONG, {"cluster": 2}]),
    "f32": ("hopper/gemm_3xtf32.cute", "gemm_3xtf32",
            [{}, {"p": "bf16", "parts": 3}, {"p": "bf16"}]),
    "c32": ("hopper/gemm_3xtf32.cute", "gemm_c32", [{}, {"p": "bf16", "parts": 3}]),
    "i4 weights, few": ("hopper/gemm_weights.cute", "gemm_weights_few",
                        [{}, {"stages": 8, "resident": 2}, {"bk": 256, "warps": 4, "stages": 12}, {"bm": 32}]),
    "i4 weights": ("hopper/gemm_weights.cute", "gemm_weights", [{}, {"bn": 128, "stages": 8}, {"cluster": 2}]),
    "i8 weights, few": ("hopper/gemm_weights.cute", "gemm_weights_few",
                        [{"bits": 8}, {"bits": 8, "stages": 8}]),
    "i8 weights": ("hopper/gemm_weights.cute", "gemm_weights", [{"bits": 8, "stages": 4}]),
    "f64": ("gemm_f64.cute", "gemm_f64", [{}, {"length": 8}, {"length": 4}, {"bm": 64}]),
    "c64": ("gemm_f64.cute", "gemm_c64", [{}, {"wm": 2, "wn": 2}, {"wm": 2, "wn": 2, "bm": 32}]),
}
PACK = ("hopper/gemm_weights.cute", "pack_weights")


def name_of(case, variant):
    """The name of the library of a variant."""
    parts = [case] + [f"{key}{value}" for key, value in variant.items()]
    return "".join(letter if letter.isalnum() else "_" for letter in "_".join(parts))


def make(folder, cutec):
    """Exports all kernels to FOLDER."""
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    jobs = [(name_of(case, variant), source, kernel, variant)
            for case, (source, kernel, variants) in KERNELS.items() for variant in variants]
    jobs += [(f"pack{bits}", *PACK, {"bits": bits}) for bits in (4, 8) if any("weights" in case for case in KERNELS)]

    def export(job):
        library, source, kernel, variant = job
        options = [text for key, value in variant.items() for text in ("-D", f"{key}={value}")]
        command = [cutec, "export", os.path.join(EXAMPLES, source), "--arch", "sm_90a", "--kernel", kernel, "--kind", "shared",
                   *options, "-o", os.path.join(folder, library)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{library} is left out:\n{done.stderr}", file=sys.stderr)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(export, jobs))


def normal(*shape, dtype=None):
    import torch

    x = torch.randn(shape, dtype=torch.float32, device="cuda")
    return x if dtype is None else x.to(dtype)


def octets(*shape):
    import torch

    return (40 * torch.randn(shape, device="cuda")).round().clamp(-128, 127).to(torch.int8)


def packed(folder, w, bits):
    """Weights in the order that the kernel takes."""
    import torch

    out = torch.empty(w.shape[0], w.shape[1] * bits // 8, dtype=torch.uint8, device="cuda")
    launcher(folder, f"pack{bits}", PACK[1])(w, out)
    return out


def scaled_mm(a, b, scale_a, scale_b, **options):
    import torch

    return torch._scaled_mm(a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16, **options)


def with_tf32(allowed, product):
    """The product with or without tf32, whatever was set."""
    import torch

    def launch():
        torch.backends.cuda.matmul.allow_tf32 = allowed
        return product()

    return launch


class Case:
    """One set of operands: arguments of ours, of which the last is the result; peers by name; the reference of some rows."""

    def __init__(self, arguments, peers, reference, unit, moved, bound):
        self.arguments, self.peers, self.reference = arguments, peers, reference
        self.unit, self.moved, self.bound = unit, moved, bound


def bytes_of(*tensors):
    return sum(x.numel() * x.element_size() for x in tensors)


def case_f8(folder, kind, m, n, k):
    import torch

    a, b = normal(m, k, dtype=torch.float8_e4m3fn), normal(n, k, dtype=torch.float8_e4m3fn)
    c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    one = torch.ones((), device="cuda")
    exact = lambda rows: a[rows].double() @ b.double().T
    peers = {"_scaled_mm": lambda: scaled_mm(a, b, one, one), "fast": lambda: scaled_mm(a, b, one, one, use_fast_accum=True)}
    if kind == "f8":
        return Case([a, b, one.reshape(1), one.reshape(1), c], peers, exact, k**0.5, bytes_of(a, b, c), 3e-2)
    if kind == "f8 rows":
        of_rows, of_columns = torch.rand(m, device="cuda") + 0.5, torch.rand(n, device="cuda") + 0.5
        peers = {"_scaled_mm": lambda: scaled_mm(a, b, of_rows[:, None], of_columns[None, :]),
                 "fast": lambda: scaled_mm(a, b, of_rows[:, None], of_columns[None, :], use_fast_accum=True)}
        scaled = lambda rows: exact(rows) * of_rows[rows, None].double() * of_columns[None, :].double()
        return Case([a, b, of_rows, of_columns, c], peers, scaled, k**0.5, bytes_of(a, b, c), 3e-2)
    blocks = -(-k // 128)
    of_rows = (torch.rand(blocks, m, device="cuda") + 0.5).t()
    of_columns = torch.rand(-(-n // 128), blocks, device="cuda") + 0.5

    def by_blocks(rows):
        x = a[rows].double() * of_rows[rows].double().repeat_interleave(128, 1)[:, :k]
        y = b.double() * of_columns.double().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
        return x @ y.T

    # What scales of blocks cost, our product with one scale, and what the tile level does, of the same operands in the same rounds.
    others = [("one scale", "f8", PINGPONG, "gemm_f8", (one.reshape(1), one.reshape(1)))]
    if kind == "f8 blocks, tiles":
        others.append(("by hand", "f8 blocks", {}, "gemm_f8_blocks", (of_rows, of_columns)))
    for name, case, variant, kernel, scales in others:
        library = name_of(case, variant)
        if os.path.exists(os.path.join(folder, library + ".so")):
            run, other = launcher(folder, library, kernel), torch.empty_like(c)
            peers[name] = lambda run=run, other=other, scales=scales: (run(a, b, *scales, other), other)[1]
    return Case([a, b, of_rows, of_columns, c], peers, by_blocks, k**0.5, bytes_of(a, b, c), 1e-2)


def case_i8(_kind, m, n, k):
    import torch

    a, b = octets(m, k), octets(n, k)
    c = torch.empty(m, n, dtype=torch.int32, device="cuda")
    return Case([a, b, c], {"_int_mm": lambda: torch._int_mm(a, b.t())}, lambda rows: a[rows].double() @ b.double().T, 1.0,
                bytes_of(a, b, c), 0.0)


def case_f32(kind, m, n, k):
    import torch

    dtype = {"f64": torch.float64, "c32": torch.complex64, "c64": torch.complex128}.get(kind, torch.float32)
    a, b = (torch.randn(rows, k, dtype=dtype, device="cuda") for rows in (m, n))
    c = torch.empty(m, n, dtype=dtype, device="cuda")
    product = lambda: torch.matmul(a, b.t())
    peers = {"cuBLAS": with_tf32(kind == "tf32", product)}
    if kind == "f32":
        peers["tf32"] = with_tf32(True, product)
    flat = (lambda x: torch.view_as_real(x).reshape(x.shape[0], -1)) if dtype.is_complex else (lambda x: x)
    double = torch.complex128 if dtype.is_complex else torch.float64
    exact = lambda rows: flat(a[rows].to(double) @ b.to(double).T)
    bound = {"tf32": 5e-3, "f32": 2e-4, "c32": 2e-5, "f64": 1e-12, "c64": 1e-12}[kind]
    return Case([flat(a), flat(b), flat(c)], peers, exact, k**0.5, bytes_of(a, b, c), bound)


def case_weights(folder, bits, m, n, k):
    import torch

    x = normal(m, k, dtype=torch.bfloat16)
    w = octets(n, k) if bits == 8 else torch.randint(-8, 8, (n, k), dtype=torch.int8, device="cuda")
    scales = (torch.rand(-(-k // 128), n, device="cuda") + 0.5).to(torch.bfloat16).t()
    w_packed = packed(folder, w, bits)
    whole = (w.float() * scales.float().repeat_interleave(128, 1)[:, :k]).to(torch.bfloat16)
    c = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    exact = lambda rows: x[rows].double() @ (w.double() * scales.double().repeat_interleave(128, 1)[:, :k]).T
    unit = k**0.5 * w.float().std().item()
    moved = bytes_of(x, w_packed, scales, c)
    half = [torch.empty(moved // 2, dtype=torch.uint8, device="cuda") for _ in range(2)]
    peers = {"bf16": lambda: torch.matmul(x, whole.t()), "a copy of as many bytes": lambda: half[0].copy_(half[1])}
    return Case([x, w_packed, scales, c], peers, exact, unit, moved, 2e-2)


def operands(folder, kind, size):
    if "weights" in kind:
        return case_weights(folder, int(kind[1]), *size)
    if kind.startswith("f8"):
        return case_f8(folder, kind, *size)
    return (case_i8 if kind == "i8" else case_f32)(kind, *size)


def sizes_of(kind):
    if "few" in kind:
        return [(16, 8192, 8192)]
    if "weights" in kind:
        return [(4096, 8192, 8192)]
    return CUBES[:2] if kind in ("f64", "c32", "c64") else CUBES


def measure(folder, kind, size, rounds):
    """Rows of the table for a case."""
    import torch

    from rounds import compare, ratio, sets

    m, n, k = size
    first = operands(folder, kind, size)
    all_sets = [first] + [operands(folder, kind, size) for _ in range(sets(first.moved, most=8) - 1)]
    _, kernel, variants = KERNELS[kind]
    sample = torch.arange(0, m, max(1, m // 61), device="cuda")
    exact = first.reference(sample)
    work, errors = {}, {}
    for variant in variants:
        name = " ".join(f"{key}={value}" for key, value in variant.items()) or "default"
        library = name_of(kind, variant)
        if not os.path.exists(os.path.join(folder, library + ".so")):
            continue
        launch = launcher(folder, library, kernel)
        result = first.arguments[-1]
        result.fill_(float("nan") if result.is_floating_point() else -1)
        launch(*first.arguments)
        wrong = (result[sample].double() - exact).abs() / exact.abs().clamp(min=first.unit)
        errors[name] = wrong.nan_to_num(nan=float("inf")).max().item()
        work[name] = [lambda launch=launch, one=one: launch(*one.arguments) for one in all_sets]
    ours = list(work)
    flat = (lambda x: torch.view_as_real(x).reshape(x.shape[0], -1) if x.is_complex() else x)
    for name, peer in first.peers.items():
        try:
            given = flat(peer())
        except RuntimeError as error:
            print(f"{kind}: {name}: {str(error).splitlines()[0]}", file=sys.stderr)
            continue
        # Copies, and products without the scales, are there for their time alone.
        if name not in ("a copy of as many bytes", "one scale"):
            errors[name] = ((given[sample].double() - exact).abs() / exact.abs().clamp(min=first.unit)).max().item()
        work[name] = [one.peers[name] for one in all_sets]
    del exact
    times = compare(work, rounds=rounds)
    names = list(work)
    operations = 2.0 * m * n * k * (4 if kind in ("c32", "c64") else 1)
    ok = True
    for name in ours:
        middle = statistics.median(times[name])
        against = ", ".join(
            f"{peer} {ratio(times, peer, name):.3f}" for peer in names if peer not in ours)
        right = errors[name] <= first.bound
        ok &= right
        print(f"| {kind} | {name} | {m}×{n}×{k} | {operations / middle * 1e-9:.1f} TFLOP/s, {first.moved / middle * 1e-6:.0f} GB/s | "
              f"{against} | {errors[name]:.1e}{'' if right else ' **wrong**'} | "
              f"{', '.join(f'{peer} {errors[peer]:.1e}' for peer in names if peer not in ours and peer in errors)} |", flush=True)
    return ok


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "make":
        cutec = sys.argv[3] if len(sys.argv) > 3 else os.path.join(HERE, "..", "..", "target", "release", "cutec")
        make(sys.argv[2], os.path.abspath(cutec))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--quick", action="store_true", help="five rounds")
    given = parser.parse_args()
    import torch

    folder = os.path.abspath(given.folder)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}\n")
    print("| case | parameters | m×n×k | ours | ratio to | error | theirs |\n|---|---|---|---|---|---|---|")
    ok = True
    for kind in KERNELS:
        if given.only not in kind:
            continue
        for size in sizes_of(kind):
            try:
                ok &= measure(folder, kind, size, 5 if given.quick else 11)
            except Exception as error:  # noqa: BLE001: the others are to run too
                print(f"| {kind} | | {'×'.join(map(str, size))} | failed: {str(error).splitlines()[0]} | | | |", flush=True)
                ok = False
            torch.cuda.empty_cache()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
