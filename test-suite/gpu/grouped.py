#!/usr/bin/env python3
"""Grouped products on this machine's GPU, against torch._grouped_mm.

    grouped.py make FOLDER [CUTEC]     compiles and exports the kernels, where the compiler is; needs no GPU
    grouped.py FOLDER                  checks and measures them, where the GPU is; needs PyTorch 2.8 or later

FOLDER and this file are all that is to be carried. Group sizes are uneven: what a random choice of experts gives, of which some are chosen
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
SOURCE = os.environ.get("GROUPED_SOURCE", os.path.join(HERE, "..", "..", "examples", "hopper", "gemm_grouped.cute"))
ROUNDS = 11
BATCH_MS = 8.0
# Library, kernel, compile-time parameters.
LIBRARIES = [
    ("grouped", "gemm_grouped", {}),
    ("grouped_64x256", "gemm_grouped", {"bm": 64, "bn": 256, "stages": 4}),
    ("grouped_64x128", "gemm_grouped", {"bm": 64, "bn": 128, "stages": 7}),
    ("grouped_128x256", "gemm_grouped", {"bn": 256, "stages": 4, "sharing": "true"}),
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
        torch.bfloat16: (4, 16), torch.float32: (2, 32), torch.float64: (2, 64), torch.int8: (0, 8), torch.uint8: (1, 8),
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

        given = [tensor(x) for x in arguments]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if function(*[ctypes.byref(x) for x in given], stream) != 0:
            raise RuntimeError(f"{library}: {error().decode()}")

    return launch


def make(folder, cutec):
    folder = os.path.abspath(folder)
    os.makedirs(folder, exist_ok=True)
    for library, kernel, defines in LIBRARIES:
        options = [text for name, value in defines.items() for text in ("-D", f"{name}={value}")]
        subprocess.run(
            [cutec, "export", SOURCE, "--arch", "sm_90a", "--kernel", kernel, "--kind", "shared", *options,
             "-o", os.path.join(folder, library)], check=True)


def uneven(groups, rows, generator):
    """Rows of each group: those that choose it, of groups that are chosen with unequal probability."""
    import torch

    weights = torch.rand(groups, generator=generator) + 0.3
    chosen = torch.multinomial(weights, rows, replacement=True, generator=generator)
    return torch.bincount(chosen, minlength=groups)


def graph_of(launches, count):
    """A graph of so many launches, which take the sets of operands in turn."""
    import torch

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for launch in launches:
            launch()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for index in range(count):
                launches[index % len(launches)]()
    torch.cuda.synchronize()
    return graph, stream


def time_of(graph, stream, count):
    import torch

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream):
        begin.record()
        graph.replay()
        end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def error_of(c, a, b, ends):
    """The largest error against f64, of a sample of rows of each group."""
    worst, start = 0.0, 0
    for group, end in enumerate(ends.tolist()):
        if end > start:
            rows = sorted({start, end - 1, (start + end) // 2, max(start, end - 65)})
            exact = a[rows].double() @ b[group].double().T
            unit = exact.abs().clamp(min=a.shape[1] ** 0.5)
            worst = max(worst, ((c[rows].double() - exact).abs() / unit).nan_to_num(nan=float("inf")).max().item())
        start = end
    return worst


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "make":
        default = os.path.join(HERE, "..", "..", "target", "release", "cutec")
        return make(arguments[1], os.path.abspath(arguments[2] if len(arguments) > 2 else default))
    if len(arguments) != 1:
        sys.exit(__doc__)
    import torch

    folder = os.path.abspath(arguments[0])
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}\n")
    print("| kernel | groups | rows × n × k | ours | torch._grouped_mm | ratio | error | its error |\n|---|---|---|---|---|---|---|---|")
    kernels = [(library, launcher(folder, library, kernel)) for library, kernel, _ in LIBRARIES
               if os.path.exists(os.path.join(folder, library + ".so"))]
    wrong = False
    for groups, m, n, k in SIZES:
        generator = torch.Generator().manual_seed(groups + m)
        ends = uneven(groups, m, generator).cumsum(0).to("cuda", torch.int32)
        sets = []
        for _ in range(max(1, -(-2 * l2 // (2 * (groups * n * k + m * k + m * n))))):
            sets.append((torch.randn(m, k, device="cuda", dtype=torch.bfloat16), torch.randn(groups, n, k, device="cuda", dtype=torch.bfloat16)))
        flops = 2.0 * m * n * k
        count = max(1, int(BATCH_MS / (flops / 500e12 * 1e3 + groups * n * k * 2 / 3.5e12 * 1e3)))
        theirs = [lambda a=a, b=b: torch._grouped_mm(a, b.transpose(-2, -1), offs=ends, out_dtype=torch.bfloat16) for a, b in sets]
        peer_error = error_of(theirs[0](), *sets[0], ends)
        peer = graph_of(theirs, count)
        for name, launch in kernels:
            results = [torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16) for _ in sets]
            ours = [lambda a=a, b=b, c=c: launch(a, b, ends, c) for (a, b), c in zip(sets, results)]
            try:
                ours[0]()
                torch.cuda.synchronize()
            except RuntimeError as failure:
                print(f"| {name} | {groups} | {m}×{n}×{k} | {failure} |")
                continue
            error = error_of(results[0], *sets[0], ends)
            bad = bool(results[0].isnan().any()) or not error < 1 / 128
            wrong |= bad
            graph = graph_of(ours, count)
            times = []
            for turn in range(ROUNDS):
                pair = [time_of(*graph, count), time_of(*peer, count)] if turn % 2 else [time_of(*peer, count), time_of(*graph, count)][::-1]
                times.append(pair)
            mine, other = (statistics.median(pair[i] for pair in times) for i in (0, 1))
            ratio = statistics.median(pair[1] / pair[0] for pair in times)
            print(f"| {name} | {groups} | {m}×{n}×{k} | {flops / mine * 1e-9:.1f} TFLOP/s | {flops / other * 1e-9:.1f} TFLOP/s | {ratio:.3f} "
                  f"| {error:.1e} | {peer_error:.1e} |" + (" **wrong**" if bad else ""), flush=True)
            del graph
        del sets, results, ours, theirs, peer
        torch.cuda.empty_cache()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
