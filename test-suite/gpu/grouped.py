#!/usr/bin/env python3
"""Grouped products on this machine's GPU, against torch._grouped_mm, and those that gather and scatter rows, against what PyTorch has of them.

    grouped.py make FOLDER [CUTEC]     compiles and exports the kernels, where the compiler is; needs no GPU
    grouped.py FOLDER                  checks and measures them, where the GPU is; needs PyTorch 2.8 or later

FOLDER, this file and rounds.py are all that is to be carried. The peer of `gemm_gather` is `torch._grouped_mm(a[index], …)`, that of `gemm_scatter` `index_add_` of
weighted rows of `torch._grouped_mm`, each with what it takes to fill the result with zeros. Group sizes are uneven: what a random choice of experts gives, of which some are chosen
more often. Operands are normal and rotate through more than twice the L2 cache; rounds alternate, each a CUDA graph; a ratio is the
median of those of 11 rounds. Errors are relative to the larger of the reference in f64 and the square root of k.
The exit status is 1 where a result is wrong.
"""
import ctypes
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.environ.get("GROUPED_EXAMPLES", os.path.join(HERE, "..", "..", "examples", "hopper"))
# Library, example, kernel, compile-time parameters.
LIBRARIES = [
    ("grouped", "gemm_grouped", "gemm_grouped", {}),
    ("grouped_64x256", "gemm_grouped", "gemm_grouped", {"bm": 64, "bn": 256, "stages": 4}),
    ("grouped_64x128", "gemm_grouped", "gemm_grouped", {"bm": 64, "bn": 128, "stages": 7}),
    ("grouped_128x256", "gemm_grouped", "gemm_grouped", {"bn": 256, "stages": 4, "sharing": "true"}),
    ("gather", "gemm_experts", "gemm_gather", {}),
    ("scatter", "gemm_experts", "gemm_scatter", {}),
]
# Groups, rows of all groups together, n, k.
SIZES = [
    (8, 8192, 4096, 4096),
    (8, 32768, 4096, 2048),
    (32, 16384, 2048, 4096),
    (64, 16384, 2048, 2048),
    (128, 8192, 1536, 4096),
    (256, 16384, 2048, 2048),
    (256, 4096, 2048, 2048),
]
if os.environ.get("GROUPED_SIZES"):
    SIZES = [tuple(int(x) for x in size.split("x")) for size in os.environ["GROUPED_SIZES"].split(",")]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


def tensor(x):
    """A tensor of PyTorch as the launchers take it."""
    import torch

    code, bits = {
        torch.bfloat16: (4, 16), torch.float16: (2, 16), torch.float32: (2, 32), torch.float64: (2, 64), torch.int8: (0, 8), torch.uint8: (1, 8),
        torch.int32: (0, 32), torch.int64: (0, 64), torch.float8_e4m3fn: (10, 8), torch.float8_e5m2: (12, 8),
    }[x.dtype]
    extents = ctypes.c_int64 * x.dim()
    return DLTensor(x.data_ptr(), 2, x.device.index, x.dim(), code, bits, 1, extents(*x.shape), extents(*x.stride()), 0)


def launcher(folder, library, kernel):
    loaded = ctypes.CDLL(os.path.join(folder, library + ".so"))
    function = getattr(loaded, f"{library}_{kernel}_launch", None) or getattr(loaded, f"{kernel}_launch")
    error = getattr(loaded, f"{library}_last_error")
    error.restype = ctypes.c_char_p

    def launch(*arguments):
        import torch

        given = [ctypes.c_float(x) if isinstance(x, float) else ctypes.byref(tensor(x)) for x in arguments]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if function(*given, stream) != 0:
            raise RuntimeError(f"{library}: {error().decode()}")

    return launch


def make(folder, cutec):
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    for library, example, kernel, defines in LIBRARIES:
        options = [text for name, value in defines.items() for text in ("-D", f"{name}={value}")]
        subprocess.run(
            [cutec, "export", os.path.join(EXAMPLES, example + ".cute"), "--arch", "sm_90a", "--kernel", kernel, "--kind", "shared", *options,
             "-o", os.path.join(folder, library)], check=True)


def uneven(groups, rows, generator):
    """Rows of each group: those that choose it, of groups that are chosen with unequal probability."""
    import torch

    weights = torch.rand(groups, generator=generator) + 0.3
    chosen = torch.multinomial(weights, rows, replacement=True, generator=generator)
    return torch.bincount(chosen, minlength=groups)


def largest(errors):
    return errors.nan_to_num(nan=float("inf")).max().item()


class Case:
    """Operands of one size, in as many sets as it takes to leave the L2 cache cold, and what is computed of them."""

    def __init__(self, groups, m, n, k, l2):
        import torch

        generator = torch.Generator().manual_seed(groups + m)
        self.size = (groups, m, n, k)
        self.ends = uneven(groups, m, generator).cumsum(0).to("cuda", torch.int32)
        # Two experts for each token.
        self.tokens = m // 2
        self.index = torch.cat([torch.randperm(self.tokens, generator=generator) for _ in range(2)]).to("cuda", torch.int32)
        self.weights = torch.rand(m, device="cuda")
        of_a_set = 2 * (groups * n * k + m * k + m * n)
        self.sets = [(self.normal(m, k), self.normal(groups, n, k)) for _ in range(-(-2 * l2 // of_a_set) + 1)]

    def normal(self, *shape):
        import torch

        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    def product(self, a, b):
        import torch

        return torch._grouped_mm(a, b.transpose(-2, -1), offs=self.ends, out_dtype=torch.bfloat16)

    def theirs(self, kernel, a, b):
        import torch

        if kernel == "gemm_grouped":
            return self.product(a, b)
        if kernel == "gemm_gather":
            return self.product(a[: self.tokens][self.index], b)
        result = torch.zeros(self.tokens, b.shape[1], device="cuda")
        return result.index_add_(0, self.index, self.product(a, b) * self.weights[:, None])

    def result(self, kernel):
        import torch

        _, m, n, _ = self.size
        if kernel == "gemm_scatter":
            return torch.zeros(self.tokens, n, device="cuda")
        return torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)

    def ours(self, kernel, launch, a, b, c):
        if kernel == "gemm_grouped":
            launch(a, b, self.ends, c)
        elif kernel == "gemm_gather":
            launch(a[: self.tokens], self.index, b, self.ends, c)
        else:
            c.zero_()
            launch(a, b, self.ends, self.index, self.weights, c)

    def error(self, kernel, c, a, b):
        """The largest error against f64: of a sample of rows of each group, or of all rows where they are added."""
        import torch

        _, m, n, k = self.size
        rows_of_a = a[: self.tokens][self.index] if kernel == "gemm_gather" else a
        worst, start = 0.0, 0
        exact_sums = torch.zeros(self.tokens, n, device="cuda", dtype=torch.float64) if kernel == "gemm_scatter" else None
        for group, end in enumerate(self.ends.tolist()):
            if end > start and exact_sums is not None:
                exact = rows_of_a[start:end].double() @ b[group].double().T
                exact_sums.index_add_(0, self.index[start:end], exact * self.weights[start:end, None].double())
            elif end > start:
                rows = sorted({start, end - 1, (start + end) // 2, max(start, end - 65)})
                exact = rows_of_a[rows].double() @ b[group].double().T
                worst = max(worst, largest((c[rows].double() - exact).abs() / exact.abs().clamp(min=k ** 0.5)))
            start = end
        if exact_sums is not None:
            worst = largest((c.double() - exact_sums).abs() / exact_sums.abs().clamp(min=k ** 0.5))
        return worst


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "make":
        default = os.path.join(HERE, "..", "..", "target", "release", "cutec")
        return make(arguments[1], os.path.abspath(arguments[2] if len(arguments) > 2 else default))
    if len(arguments) != 1:
        sys.exit(__doc__)
    import torch

    from rounds import compare, ratio

    folder = os.path.abspath(arguments[0])
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}\n")
    print("| kernel | groups | rows × n × k | ours | PyTorch | ratio | error | its error |\n|---|---|---|---|---|---|---|---|")
    kernels = [(library, kernel, launcher(folder, library, kernel)) for library, _, kernel, _ in LIBRARIES
               if os.path.exists(os.path.join(folder, library + ".so"))]
    wrong = False
    for groups, m, n, k in SIZES:
        case = Case(groups, m, n, k, l2)
        flops = 2.0 * m * n * k
        peers = {}
        for name, kernel, launch in kernels:
            label = f"| {name} | {groups} | {m}×{n}×{k} |"
            try:
                if kernel not in peers:
                    theirs = [lambda a=a, b=b, kernel=kernel: case.theirs(kernel, a, b) for a, b in case.sets]
                    peers[kernel] = (case.error(kernel, theirs[0](), *case.sets[0]), theirs)
                peer_error, theirs = peers[kernel]
                results = [case.result(kernel) for _ in case.sets]
                ours = [lambda a=a, b=b, c=c, kernel=kernel, launch=launch: case.ours(kernel, launch, a, b, c)
                        for (a, b), c in zip(case.sets, results)]
                ours[0]()
                torch.cuda.synchronize()
                error = case.error(kernel, results[0], *case.sets[0])
                times = compare({"PyTorch": theirs, "ours": ours})
            except RuntimeError as failure:
                print(f"{label} {failure} |")
                wrong = True
                continue
            bad = bool(results[0].isnan().any()) or not error < 1 / 128
            wrong |= bad
            mine, other = (statistics.median(times[who]) for who in ("ours", "PyTorch"))
            faster = ratio(times, "PyTorch", "ours")
            print(f"{label} {flops / mine * 1e-9:.1f} TFLOP/s | {flops / other * 1e-9:.1f} TFLOP/s | {faster:.3f} "
                  f"| {error:.1e} | {peer_error:.1e} |" + (" **wrong**" if bad else ""), flush=True)
            del results, ours
        case = peers = theirs = None
        torch.cuda.empty_cache()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
