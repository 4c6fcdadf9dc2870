#!/usr/bin/env python3
"""Compares `gemm` with NVIDIA's CuTe DSL example for sm_80 and with cuBLAS, all three in each round.

    cute_dsl.py compile FOLDER EXAMPLE     PTX of both into FOLDER; no GPU is needed
    cute_dsl.py run FOLDER                 times them on this machine's first GPU and prints a Markdown table

EXAMPLE is `tensorop_gemm.py` of github.com/NVIDIA/cutlass. `compile` needs `pip install nvidia-cutlass-dsl`
and cutec (CUTEC, or target/release/cutec), `run` PyTorch.

Products are a · bᵀ of n × n matrices, 16 bits, added up in f32. A round takes 10 ms of each kernel, which
buffers in turn; 11 rounds. Inputs are normal numbers, and the integers -2 to 2 which the example itself
times: these take less power.
"""

import ctypes
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys

SIZES = (2048, 4096, 8192)
TYPES = {"bf16": "BFloat16", "f16": "Float16"}
ROUNDS = 11
ROUND_MS = 10.0
# What the example takes: tiles of 128 × 128 × 32 in four stages, eight columns of them together.
TILE, SHARED, RASTER = 128, 4 * (128 + 128) * 32 * 2, 8


def compile_all(folder, example):
    root = pathlib.Path(__file__).resolve().parents[2]
    cutec = os.environ.get("CUTEC", root / "target/release/cutec")
    for name in TYPES:
        command = [cutec, root / "examples/gemm.cute", "--arch", "sm_90", "-D", f"t={name}"]
        subprocess.run([*command, "-o", folder / f"ours_{name}.ptx"], check=True)
        for size in SIZES:
            # The DSL keeps its PTX in a folder that it reads from the environment once.
            subprocess.run([sys.executable, __file__, "one", folder, example, name, str(size)], check=True)


def keep_ptx(target, example, build):
    """The PTX of the one kernel that `build` compiles, which gets the module of the example. The DSL reads once from the environment where to
    keep it: a process for each kernel."""
    kept = target.with_suffix("")
    kept.mkdir(parents=True, exist_ok=True)
    os.environ.update(CUTE_DSL_ARCH="sm_90a", CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=str(kept))
    spec = importlib.util.spec_from_file_location(pathlib.Path(example).stem, example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    build(module)
    (ptx,) = kept.glob("*.ptx")
    ptx.rename(target)
    kept.rmdir()


def compile_one(folder, example, name, size):
    """The example's kernel as it is compiled there: extents along k and n of c are dynamic."""

    def build(module):
        import cutlass
        from cutlass import cute
        from cutlass.cute.runtime import make_fake_compact_tensor

        element = getattr(cutlass, TYPES[name])

        def tensor(shape, order):
            extents = tuple(extent or cute.sym_int(divisibility=8) for extent in shape)
            return make_fake_compact_tensor(element, extents, stride_order=order, assumed_align=16)

        a, c = (tensor((1, size, None), (2, 1, 0)) for _ in range(2))
        b = tensor((1, None, size), (2, 0, 1))
        module.compile_bmm((size,) * 3 + (1,), a, b, c, element, element, cutlass.Float32, (2, 2, 1))

    keep_ptx(folder / f"dsl_{name}_{size}.ptx", example, build)


class Kernel:
    """A kernel of a PTX file, by the driver's interface."""

    driver = None

    def __init__(self, path, shared):
        if Kernel.driver is None:
            Kernel.driver = ctypes.CDLL("libcuda.so.1")
        text = path.read_bytes()
        name = text.split(b".entry", 1)[1].split(b"(", 1)[0].strip()
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), text + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(self.function), module, name)
        self.call("cuFuncSetAttribute", self.function, 8, shared)  # MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.shared = shared

    def call(self, name, *arguments):
        code = getattr(Kernel.driver, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: CUDA error {code}")

    def launch(self, stream, grid, block, arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(x) for x in arguments))
        self.call("cuLaunchKernel", self.function, *grid, block, 1, 1, self.shared, ctypes.c_void_p(stream), pointers, None)


class Memref(ctypes.Structure):
    """A tensor of the DSL with one dynamic extent."""

    _fields_ = [("base", ctypes.c_uint64), ("extent", ctypes.c_int32), ("row", ctypes.c_int64), ("batch", ctypes.c_int64)]


def launchers(folder, name, size, torch):
    """What multiplies one set of buffers, of each of the three."""
    stream = torch.cuda.current_stream().cuda_stream
    abi = abi_of((folder / f"ours_{name}.ptx").read_text())
    ours = Kernel(folder / f"ours_{name}.ptx", abi["smem_bytes"])
    tile = {key: int(abi["defines"][key]) for key in ("bm", "bn")}
    blocks = -(-size // tile["bm"]) * -(-size // tile["bn"])
    theirs = Kernel(folder / f"dsl_{name}_{size}.ptx", SHARED)
    tiles = -(-size // TILE)

    def run_ours(a, b, c):
        pointers = [ctypes.c_uint64(x.data_ptr()) for x in (a, b, c)]
        ours.launch(stream, (blocks, 1, 1), abi["block"][0]["const"], pointers + [ctypes.c_int32(size)] * 3)

    def run_theirs(a, b, c):
        views = [Memref(x.data_ptr(), size, size, size * size) for x in (a, b, c)]
        theirs.launch(stream, (tiles * RASTER, -(-tiles // RASTER), 1), 128, views + [ctypes.c_int32(RASTER)])

    return {"ours": run_ours, "dsl": run_theirs, "cublas": lambda a, b, c: torch.matmul(a, b.T, out=c)}


def abi_of(ptx):
    """The interface of the only kernel, which cutec writes into its PTX as comments."""
    text = ptx.split("// cutec-abi-begin", 1)[1].split("// cutec-abi-end", 1)[0]
    return json.loads(text.replace("\n//", ""))["kernels"][0]


def measure(folder, name, size, integers, torch):
    element = {"bf16": torch.bfloat16, "f16": torch.float16}[name]
    matrix = size * size * 2
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    sets = []
    for _ in range(max(2, -(-2 * l2 // (3 * matrix)))):
        a, b = (torch.randn(size, size, device="cuda") for _ in range(2))
        if integers:
            a, b = (x.random_(-2, 3) for x in (a, b))
        sets.append((a.to(element), b.to(element), torch.full((size, size), torch.nan, dtype=element, device="cuda")))
    run = launchers(folder, name, size, torch)
    results = {}
    for who, launch in run.items():
        sets[0][2].fill_(torch.nan)
        launch(*sets[0])
        results[who] = sets[0][2].clone()
    exact = sets[0][0].double() @ sets[0][1].double().T
    for who, result in results.items():
        error = ((result.double() - exact).abs() / exact.abs().clamp(min=size**0.5)).max().item()
        if not error < 2e-2:
            sys.exit(f"{who} {name} {size}: wrong, error {error}")
    del exact
    times = {who: [] for who in run}
    count = max(1, round(ROUND_MS / (2 * size**3 / 5e14 * 1e3)))
    for turn in range(ROUNDS + 1):
        order = list(run) if turn % 2 else list(run)[::-1]
        for who in order:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for i in range(count):
                run[who](*sets[i % len(sets)])
            end.record()
            end.synchronize()
            if turn:  # the first round warms up
                times[who].append(start.elapsed_time(end) / count)
    speed = {who: 2 * size**3 / statistics.median(t) * 1e-9 for who, t in times.items()}
    ratio = {who: statistics.median(theirs / mine for mine, theirs in zip(times["ours"], times[who])) for who in run}
    return speed, ratio


def run_all(folder):
    import torch

    print(f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}\n")
    print("| element | inputs | size | ours | CuTe DSL | cuBLAS | ours / CuTe DSL | ours / cuBLAS |")
    print("|---|---|---|---|---|---|---|---|")
    for name in TYPES:
        for integers in (False, True):
            for size in SIZES:
                speed, ratio = measure(folder, name, size, integers, torch)
                kind = "-2 to 2" if integers else "normal"
                speeds = " | ".join(f"{speed[who]:.1f} TFLOP/s" for who in ("ours", "dsl", "cublas"))
                print(f"| {name} | {kind} | {size}³ | {speeds} | {ratio['dsl']:.3f} | {ratio['cublas']:.3f} |", flush=True)


def main(arguments):
    match arguments:
        case ["compile", folder, example]:
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            compile_all(pathlib.Path(folder), pathlib.Path(example))
        case ["one", folder, example, name, size]:
            compile_one(pathlib.Path(folder), example, name, int(size))
        case ["run", folder]:
            run_all(pathlib.Path(folder))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
