#!/usr/bin/env python3
"""Exported kernels on this machine's GPU: from C, and by way of tvm-ffi from PyTorch.

    export.py make FOLDER [CUTEC]     compiles and exports the products, where the compiler is; needs no GPU
    export.py FOLDER                  launches them, where the GPU is; needs gcc, and neither Rust nor LLVM

FOLDER and this folder are all that is to be carried. What is installed of PyTorch and apache-tvm-ffi is used.
The exit status is 1 where a result is wrong.
"""
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# The library, its kernel, the file, the targets.
LIBRARIES = [
    ("gemm", "gemm", "examples/gemm.cute", "sm_80,sm_90"),
    ("gemm_ptx", "gemm", "examples/gemm.cute", "sm_80"),
    ("gemm_sm90", "gemm_sm90", "examples/hopper/gemm_sm90.cute", "sm_90a"),
]
failed = []


def fail(text):
    print("FAILED:", text)
    failed.append(text)


def make(folder, cutec):
    root = os.path.dirname(os.path.dirname(HERE))
    os.makedirs(folder, exist_ok=True)
    for library, kernel, source, targets in LIBRARIES:
        # Machine code of sm_80 runs on no Hopper: `gemm_ptx` is PTX there.
        subprocess.run(
            [cutec, "export", source, "--arch", targets, "--kernel", kernel, "--kind", "object,shared,source",
             "-o", os.path.join(os.path.abspath(folder), library)], cwd=root, check=True)


def from_c(folder, library, kernel):
    compiler = os.environ.get("CC", "gcc")
    program = os.path.join(folder, library + "_test")
    subprocess.run(
        [compiler, "-std=gnu11", "-O2", "-Wall", "-I", folder, os.path.join(HERE, "export.c"),
         os.path.join(folder, library + ".o"), f'-DHEADER="{library}.h"', f'-DNAME="{library}"', f"-DLOAD={library}_load",
         f"-DLAUNCH={kernel}_launch", f"-DERROR={library}_last_error", "-lm", "-ldl", "-lpthread",
         "-o", program], check=True)
    if subprocess.run([program]).returncode != 0:
        fail(f"{library} from C")


def from_tvm_ffi(folder, library, kernel):
    import torch
    import tvm_ffi

    function = tvm_ffi.load_module(os.path.join(folder, library + ".so"))[kernel]
    torch.manual_seed(0)
    for m, n, k in [(128, 256, 64), (100, 72, 40), (1, 8, 8), (1024, 1024, 1024), (4096, 4096, 4096)]:
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
        c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            function(a, b, c)
        stream.synchronize()
        expected = a.double() @ b.double().T
        error = ((c.double() - expected).abs() / expected.abs().clamp(min=k ** 0.5)).max().item()
        print(f"{library} {m} x {n} x {k} from PyTorch: largest error {error:.2e}: {'ok' if error < 1 / 128 else 'WRONG'}")
        if not error < 1 / 128:
            fail(f"{library} {m} x {n} x {k} from PyTorch")
    # A graph, captured and replayed on other data.
    a, b = (torch.randn(256, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.zeros(256, 256, device="cuda", dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function(a, b, c)
    a.copy_(torch.randn_like(a))
    graph.replay()
    torch.cuda.synchronize()
    if not torch.allclose(c.float(), (a.float() @ b.float().T), atol=0.2, rtol=0.02):
        fail(f"{library}: a replayed graph")
    try:
        function(a, b.float(), c)
        fail(f"{library}: another element type is not refused")
    except ValueError as error:
        print(f"{library}: {error}")
    torch.cuda.synchronize()
    a, b = (torch.zeros(128, 64, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.zeros(128, 128, device="cuda", dtype=torch.bfloat16)
    best = min(per_call(lambda: function(a, b, c), torch) for _ in range(10))
    peer = min(per_call(lambda: torch.matmul(a, b.T, out=c), torch) for _ in range(10))
    print(f"{library}: a call from Python {best:.2f} us; torch.matmul {peer:.2f} us")


def per_call(call, torch):
    count = 200
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    elapsed = time.perf_counter() - start
    torch.cuda.synchronize()
    return 1e6 * elapsed / count


def main(arguments):
    if len(arguments) >= 2 and arguments[0] == "make":
        default = os.path.join(os.path.dirname(os.path.dirname(HERE)), "target", "release", "cutec")
        return make(arguments[1], os.path.abspath(arguments[2] if len(arguments) > 2 else default))
    if len(arguments) != 1:
        sys.exit(__doc__)
    folder = os.path.abspath(arguments[0])
    have = True
    try:
        import torch  # noqa: F401
        import tvm_ffi  # noqa: F401
    except ImportError as error:
        have = False
        print(f"left out: calls from PyTorch ({error})")
    if not shutil.which(os.environ.get("CC", "gcc")):
        sys.exit("export.py: no C compiler: set CC")
    for library, kernel, _, _ in LIBRARIES:
        from_c(folder, library, kernel)
        if have:
            from_tvm_ffi(folder, library, kernel)
    if failed:
        sys.exit(f"{len(failed)} failed")
    print("all right")


main(sys.argv[1:])
