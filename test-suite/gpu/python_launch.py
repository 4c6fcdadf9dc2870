#!/usr/bin/env python3
"""Checks and measures launches from Python on a GPU: PyTorch's tensors, streams, graphs, `torch.compile`, several GPUs; arrays of
CuPy and JAX; registers and machine code.

Needs the package `cutec` (a wheel of scripts/wheel.sh) and nothing else: what is not installed is skipped, and a line says so. PyTorch with
CUDA has most of the checks and all figures; Triton and tvm-ffi are compared with where they are installed.

    python test-suite/gpu/python_launch.py            # everything
    python test-suite/gpu/python_launch.py --checks   # no figures
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any, Callable

import cutec

try:
    import torch
except ImportError:
    torch = None

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

RELU = """
/// y = max(x, 0), 16 bytes a thread
kernel relu(x: tensor<f16, n>, y: mut tensor<f16, n>)
where n % 8 == 0
launch tiles(n / 2048)
{
    y.tile(2048, tile.m) = max(x.tile(2048, tile.m), 0.0);
}

/// y = alpha x + y
kernel axpy(alpha: f32, x: tensor<f32, n>, y: mut tensor<f32, n>)
launch tiles(n / 1024)
{
    y.tile(1024, tile.m) = alpha * x.tile(1024, tile.m) + y.tile(1024, tile.m);
}
"""

#: Two tensors, a microsecond of work at most: what a call costs is the call.
SMALL = 4096
#: Launches that are begun without waiting: fewer than a stream holds.
BATCH = 200
ROUNDS = 50


if triton is not None:

    @triton.jit
    def triton_relu(x, y, n, BLOCK: tl.constexpr):
        """The same kernel in Triton."""
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < n)
        tl.store(y + at, tl.maximum(value, 0.0), mask=at < n)


def check(name: str, work: Callable[[], Any]) -> bool:
    """Runs a check and says how it went."""
    try:
        note = work()
    except Exception as error:  # noqa: BLE001: the others are to run too
        print(f"FAILED {name}: {type(error).__name__}: {error}")
        return False
    print(f"ok     {name}{f': {note}' if note else ''}")
    return True


def checks() -> bool:
    """All checks; whether they passed."""
    mod = cutec.loads(RELU, name="python_launch.cute")
    relu, axpy = mod.relu, mod.axpy
    x = torch.randn(SMALL, device="cuda", dtype=torch.float16)

    def relu_is_exact() -> str:
        y = torch.full_like(x, float("nan"))
        begin = time.perf_counter()
        relu(x, y)
        first = time.perf_counter() - begin
        assert torch.equal(y, torch.relu(x))
        return f"first call {first * 1e3:.1f} ms"

    def from_the_disk_cache() -> str:
        again = cutec.loads(RELU, name="python_launch.cute").relu
        y = torch.full_like(x, float("nan"))
        torch.cuda.synchronize()
        begin = time.perf_counter()
        again(x, y)
        first = time.perf_counter() - begin
        assert torch.equal(y, torch.relu(x))
        return f"first call {first * 1e3:.2f} ms"

    def numbers_and_names() -> None:
        a, b = torch.randn(2, 10_000, device="cuda")
        expected = 1.5 * a + b
        axpy(1.5, a, y=b)
        torch.testing.assert_close(b, expected)

    def in_another_stream() -> None:
        stream = torch.cuda.Stream()
        y = torch.zeros_like(x)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            source = x * 2
            relu(source, y)
            expected = torch.relu(source)
        stream.synchronize()
        assert torch.equal(y, expected)
        relu(x, y, stream=stream)
        stream.synchronize()
        assert torch.equal(y, torch.relu(x))

    def in_a_graph() -> None:
        source, y = x.clone(), torch.zeros_like(x)
        relu(source, y)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            relu(source, y)
        source.copy_(-x)
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(y, torch.relu(-x))

    def as_an_operator() -> None:
        operator = relu.torch_op("cutec_test::relu")
        y = torch.zeros_like(x)
        operator(x, y)
        assert torch.equal(y, torch.relu(x))
        torch.library.opcheck(operator, (x, torch.zeros_like(x)))

        @torch.compile(fullgraph=True)
        def twice(tensor: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(tensor)
            operator(tensor * 2, out)
            return out + 1

        assert torch.equal(twice(x), torch.relu(x * 2) + 1)

    def on_every_gpu() -> str:
        count = torch.cuda.device_count()
        for index in range(count):
            there = x.to(f"cuda:{index}")
            y = torch.zeros_like(there)
            relu(there, y)
            assert torch.equal(y, torch.relu(there)), index
            assert torch.cuda.current_device() == 0
        if count > 1:
            try:
                relu(x, torch.zeros_like(x, device="cuda:1"))
            except cutec.ArgumentError:
                pass
            else:
                raise AssertionError("tensors on two GPUs")
        return f"{count} of them"

    def what_does_not_fit() -> None:
        y = torch.zeros_like(x)
        for kind, args in {
            "DType": (x.float(), y),
            "Align": (x[1:-7], y[:-8]),
            "TiedExtent": (x, y[:8]),
            "Divisibility": (x[:9], y[:9]),
            "Device": (x, y.cpu()),
            "Kind": (x, 1.0),
        }.items():
            try:
                relu(*args)
            except cutec.ArgumentError as error:
                assert error.kind == kind, (kind, error)
            else:
                raise AssertionError(kind)

    def the_simulator_agrees() -> None:
        y, z = torch.zeros_like(x), torch.zeros(SMALL, dtype=torch.float16)
        relu(x, y)
        relu(x.cpu(), z)
        assert torch.equal(y.cpu(), z)

    def product(path: str, name: str, rows: int) -> Callable[[], str]:
        def work() -> str:
            kernel = cutec.load(EXAMPLES / path)[name]
            a = torch.randn(rows, 1024, device="cuda", dtype=torch.bfloat16)
            b = torch.randn(768, 1024, device="cuda", dtype=torch.bfloat16)
            c = torch.full((rows, 768), float("nan"), device="cuda", dtype=torch.bfloat16)
            kernel(a, b, c)
            torch.testing.assert_close(c, a @ b.T, rtol=2e-2, atol=0.5)
            # Other memory, of which there are tensor maps to be made anew.
            other = a.clone()
            a.zero_()
            kernel(other, b, c)
            torch.testing.assert_close(c, other @ b.T, rtol=2e-2, atol=0.5)
            return f"{kernel.arch}"

        return work

    def by_tvm_ffi() -> str:
        import tvm_ffi

        function = relu.tvm_ffi()
        y = torch.zeros_like(x)
        function(x, y)
        assert torch.equal(y, torch.relu(x))
        return f"tvm-ffi {tvm_ffi.__version__}"

    named = {
        "relu is exact": relu_is_exact,
        "a kernel from the disk cache": from_the_disk_cache,
        "numbers and names": numbers_and_names,
        "in another stream": in_another_stream,
        "in a CUDA graph": in_a_graph,
        "as an operator, and under torch.compile": as_an_operator,
        "on every GPU": on_every_gpu,
        "what does not fit": what_does_not_fit,
        "the simulator agrees": the_simulator_agrees,
        "gemm": product("gemm.cute", "gemm", 512),
    }
    if torch.cuda.get_device_capability() == (9, 0):
        named["gemm_sm90, by tensor maps"] = product("hopper/gemm_sm90.cute", "gemm_sm90", 512)
    if installed("tvm_ffi"):
        named["by tvm-ffi"] = by_tvm_ffi
    else:
        skipped("tvm-ffi", "the package tvm_ffi is not installed")
    return all([check(name, work) for name, work in named.items()])


def cupy_checks() -> bool:
    """Arrays of CuPy: values, the current stream, another GPU's refusal."""
    import cupy

    mod = cutec.loads(RELU, name="python_launch.cute")
    x = cupy.random.standard_normal(SMALL, dtype=cupy.float32).astype(cupy.float16)

    def values() -> str:
        y = cupy.zeros_like(x)
        mod.relu(x, y)
        assert (y == cupy.maximum(x, 0)).all()
        return f"CuPy {cupy.__version__}"

    def in_its_stream() -> None:
        y = cupy.zeros_like(x)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            source = x * 2
            mod.relu(source, y)
            expected = cupy.maximum(source, 0)
            stream.synchronize()
        assert (y == expected).all()

    def numbers() -> None:
        a, b = cupy.random.standard_normal((2, 10_000), dtype=cupy.float32)
        expected = 1.5 * a + b
        mod.axpy(1.5, a, b)
        cupy.testing.assert_allclose(b, expected, rtol=1e-6)

    def what_does_not_fit() -> None:
        try:
            mod.relu(x, cupy.asnumpy(x))
        except cutec.ArgumentError as error:
            assert error.kind == "Device", error
        else:
            raise AssertionError("an array on the GPU and one of the host")

    named = {
        "arrays of CuPy": values,
        "CuPy's current stream": in_its_stream,
        "CuPy: numbers and names": numbers,
        "CuPy: what does not fit": what_does_not_fit,
    }
    return all([check(name, work) for name, work in named.items()])


def jax_checks() -> bool:
    """Arrays of JAX: read where they lie, never written; kernels under `jit`."""
    import jax
    import numpy as np

    gpus = [device for device in jax.devices() if device.platform in ("gpu", "cuda")]
    if not gpus:
        return skipped("JAX", f"this JAX has no GPU: {jax.devices()}")
    mod = cutec.loads(RELU, name="python_launch.cute")
    x = jax.device_put(np.linspace(-1, 1, SMALL, dtype=np.float16), gpus[0])

    def never_written() -> str:
        try:
            mod.relu(x, x)
        except cutec.ArgumentError as error:
            assert error.kind == "ReadOnly", error
        else:
            raise AssertionError("an array of JAX was written")
        return f"JAX {jax.__version__}"

    def read_where_it_lies() -> None:
        y = torch.zeros(SMALL, device="cuda", dtype=torch.float16)
        mod.relu(x, y)
        torch.cuda.synchronize()
        assert (y.cpu().numpy() == np.maximum(np.asarray(x), 0)).all()

    def under_jit() -> None:
        @jax.jit
        def positive(array):
            return mod.relu.jax(array, jax.ShapeDtypeStruct(array.shape, array.dtype)) + 1

        assert (np.asarray(positive(x)) == np.maximum(np.asarray(x), 0) + 1).all()

    named = {"arrays of JAX are not written": never_written, "under jax.jit, by the host": under_jit}
    if torch is not None:
        named["arrays of JAX are read where they lie"] = read_where_it_lies
    return all([check(name, work) for name, work in named.items()])


def code_checks() -> bool:
    """Machine code and registers of an example, which need an assembler but no framework."""
    gemm = cutec.load(EXAMPLES / "gemm.cute", arch=cutec.native_arch() or "sm_90a").gemm

    def registers() -> str:
        assert 32 <= gemm.registers <= 255, gemm.registers
        return f"{gemm.registers} of gemm for {gemm.arch}, {len(gemm.cubin)} bytes"

    def sass() -> str:
        assert "HMMA" in gemm.sass
        return f"{gemm.sass.count('HMMA')} HMMA"

    return all([check(name, work) for name, work in {"registers": registers, "SASS": sass}.items()])


def skipped(what: str, why: str) -> bool:
    """Says that something is not checked; that is no failure."""
    print(f"skipped {what}: {why}")
    return True


def frameworks() -> bool:
    """The checks of all frameworks that are there; whether they passed."""
    passed = [code_checks()]
    if torch is None:
        skipped("PyTorch", "the package torch is not installed")
    elif not torch.cuda.is_available():
        skipped("PyTorch", "this PyTorch finds no GPU")
    else:
        passed.append(checks())
    for name, module, work in [("CuPy", "cupy", cupy_checks), ("JAX", "jax", jax_checks)]:
        passed.append(work() if installed(module) else skipped(name, f"the package {module} is not installed"))
    return all(passed)


def installed(module: str) -> bool:
    """Whether a module can be imported."""
    try:
        __import__(module)
    except ImportError:
        return False
    return True


def host_cost(work: Callable[[], Any]) -> float:
    """Microseconds of the host for a call: the median of rounds, each of launches that nothing waits for."""
    for _ in range(BATCH):
        work()
    times = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(BATCH):
            work()
        times.append((time.perf_counter() - begin) / BATCH)
    torch.cuda.synchronize()
    return statistics.median(times) * 1e6


def figures() -> None:
    """What a launch with two tensors costs the host."""
    mod = cutec.loads(RELU, name="python_launch.cute")
    relu, axpy = mod.relu, mod.axpy
    x = torch.randn(SMALL, device="cuda", dtype=torch.float16)
    y = torch.zeros_like(x)
    a, b = torch.randn(2, SMALL, device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    operator = torch.ops.cutec_test.relu if hasattr(torch.ops.cutec_test, "relu") else None
    rows: dict[str, Callable[[], Any]] = {
        "cutec: relu(x, y)": lambda: relu(x, y),
        "cutec: mod.relu(x, y)": lambda: mod.relu(x, y),
        "cutec: relu(x, y, stream=...)": lambda: relu(x, y, stream=stream),
        "cutec: axpy(1.5, a, b)": lambda: axpy(1.5, a, b),
        "torch: clamp_min(x, 0, out=y)": lambda: torch.clamp_min(x, 0, out=y),
        "torch: relu_(y)": lambda: torch.relu_(y),
        "an empty function": lambda: None,
    }
    if operator is not None:
        rows["cutec: as an operator of torch"] = lambda: operator(x, y)
    if installed("tvm_ffi"):
        function = relu.tvm_ffi()
        rows["cutec: by tvm-ffi"] = lambda: function(x, y)
    if triton is not None:
        grid = (triton.cdiv(SMALL, 2048),)
        rows["triton: relu[grid](x, y, n)"] = lambda: triton_relu[grid](x, y, SMALL, BLOCK=2048)
    print(f"\nmicroseconds of the host a call, {torch.cuda.get_device_name()}, torch {torch.__version__}:")
    for name, work in rows.items():
        try:
            print(f"  {host_cost(work):6.2f}  {name}")
        except Exception as error:  # noqa: BLE001: the others are to be measured too
            print(f"       -  {name}: {type(error).__name__}: {error}")


def main() -> int:
    """Runs all of it; 1 where a check failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checks", action="store_true", help="no figures")
    arguments = parser.parse_args()
    print(f"cutec {cutec.COMPILER}, for {cutec.native_arch()}")
    passed = frameworks()
    if not arguments.checks and torch is not None and torch.cuda.is_available():
        figures()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
