"""Launches on the GPUs of `cuda.c`, of tensors of `framework.c` too: `launches.py CASE` is run by `test_gpu_launch.py`, each in a process of its own."""

from __future__ import annotations

import ctypes
import multiprocessing
import struct
import sys
import time
from pathlib import Path

import cutec

KERNELS = """
kernel scale(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m, n)>, by: f32, more: i32)
launch tiles(m / 4, n / 64)
{ let at = (tile.m, tile.n); y.tile((4, 64), at) = x.tile((4, 64), at) * by + f32(more); }

kernel count_up(x: mut tensor<i32, n>, count: i32)
launch grid(ceil_div(count, 32)), block(32)
{
    let i = block_idx.x * 32 + thread_idx.x;
    if i < count { x[i] = x[i] + 1; }
}
"""

class Launch(ctypes.Structure):
    """As `struct Launch` of the driver."""

    _fields_ = [
        ("entry", ctypes.c_char * 64),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("smem", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        ("pdl", ctypes.c_uint32),
        ("stream", ctypes.c_uint64),
        ("params", ctypes.c_uint64 * 8),
    ]


driver = ctypes.CDLL("libcuda.so")
framework = ctypes.CDLL("libframework.so")


def counter(name: str) -> int:
    """A counter of the driver."""
    return ctypes.c_uint32.in_dll(driver, name).value


def last() -> Launch:
    """What was launched last."""
    launches = (Launch * 64).in_dll(driver, "stub_launches")
    return launches[(counter("stub_count") - 1) % 64]


class Tensor:
    """An array in memory of a GPU that is not there."""

    def __init__(self, shape, *, at=0x10000, typestr="<f4", device=0, strides=None, read_only=False):
        self.device = type("Device", (), {"id": device})()
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": shape,
            "strides": strides,
            "typestr": typestr,
            "data": (at, read_only),
        }


def f32(bits: int) -> float:
    """A number of its bits."""
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFFFFFF))[0]


def streams_and_parameters() -> None:
    scale = cutec.loads(KERNELS).scale
    assert scale.arch == "sm_90a"
    x, y = Tensor((100, 200), at=0x20000), Tensor((100, 200), at=0x90000)
    scale(x, y, 1.5, -3, stream=0x77)
    launch = last()
    assert launch.entry == b"scale" and launch.stream == 0x77 and launch.device == 0
    assert list(launch.grid) == [25 * 4, 1, 1], list(launch.grid)
    params = [arg for arg in scale.abi["params"]]
    for param, value in zip(params, launch.params):
        if "pointer" in param:
            assert value == [0x20000, 0x90000][param["pointer"]["arg"]]
        elif "symbol" in param:
            assert value & 0xFFFFFFFF == [100, 200][param["symbol"]["index"]]
        elif param["scalar"]["arg"] == 2:
            assert f32(value) == 1.5
        else:
            assert value & 0xFFFFFFFF == (-3) & 0xFFFFFFFF
    # The same signature, with another address and other numbers.
    scale(x, Tensor((100, 200), at=0xA0000), 2.5, 4, stream=type("Stream", (), {"cuda_stream": 0x78})())
    launch = last()
    assert launch.stream == 0x78 and 0xA0000 in list(launch.params)
    assert 2.5 in [f32(value) for value in launch.params]
    # No stream is that of the framework: the default one, which is waited for.
    before = counter("stub_syncs")
    scale(x, y, 1.0, 1)
    assert last().stream == 0 and counter("stub_syncs") == before + 1


def signatures() -> None:
    scale, count_up = (lambda mod: (mod.scale, mod.count_up))(cutec.loads(KERNELS))
    loads = counter("stub_loads")
    for rows in (4, 8, 4, 8, 400, 4):
        scale(Tensor((rows, 64)), Tensor((rows, 64)), 1.0, 1, stream=1)
        assert last().grid[0] == rows // 4
    for count in (10, 40, 10, 64):
        count_up(Tensor((64,), typestr="<i4"), count, stream=1)
        assert last().grid[0] == -(-count // 32), count
    assert counter("stub_loads") == loads + 2
    # An empty grid is no launch.
    before = counter("stub_count")
    count_up(Tensor((64,), typestr="<i4"), 0, stream=1)
    scale(Tensor((0, 64)), Tensor((0, 64)), 1.0, 1, stream=1)
    assert counter("stub_count") == before


def devices() -> None:
    scale = cutec.loads(KERNELS).scale
    for device in (1, 0, 1):
        scale(Tensor((4, 64), device=device), Tensor((4, 64), device=device), 1.0, 1, stream=1)
        assert last().device == device
    assert counter("stub_loads") == 2
    refused(scale, "Device", Tensor((4, 64)), Tensor((4, 64), device=1), 1.0, 1)
    try:
        scale(Tensor((4, 64), device=7), Tensor((4, 64), device=7), 1.0, 1)
    except cutec.DeviceError as error:
        assert "cuda:7" in str(error)
    else:
        raise AssertionError("there is no such device")


def current_context() -> None:
    scale = cutec.loads(KERNELS).scale
    current = ctypes.c_size_t()
    driver.cuCtxSetCurrent(ctypes.c_size_t(1))
    for _ in range(2):
        scale(Tensor((4, 64), device=1), Tensor((4, 64), device=1), 1.0, 1, stream=1)
        assert last().device == 1
        driver.cuCtxGetCurrent(ctypes.byref(current))
        assert current.value == 1, current.value


def tensor_maps() -> None:
    examples = Path(__file__).resolve().parents[3] / "examples"
    gemm = cutec.load(examples / "hopper" / "gemm_sm90.cute").gemm_sm90[{"t": "f16"}]
    a, b = (Tensor((256, 512), at=at << 20, typestr="<f2") for at in (1, 2))
    c = Tensor((256, 256), at=3 << 20, typestr="<f2")
    gemm(a, b, c, stream=1)
    maps = counter("stub_maps")
    assert maps >= 2 and last().smem > 48 << 10 and last().pdl == gemm.abi.get("pdl", False)
    gemm(a, b, c, stream=1)
    assert counter("stub_maps") == maps, "the same memory"
    gemm(Tensor((256, 512), at=7 << 20, typestr="<f2"), b, c, stream=1)
    assert counter("stub_maps") == maps + 1, "other memory of one argument"
    refused(gemm, "Align", Tensor((256, 512), at=(1 << 20) + 8, typestr="<f2"), b, c)


def frameworks() -> None:
    """A framework with DLPack's table of functions, as PyTorch has it: its stream, and no Python object for a tensor."""
    scale = cutec.loads(KERNELS).scale
    stream = ctypes.c_uint64.in_dll(framework, "framework_stream")
    managed = ctypes.c_int32.in_dll(framework, "framework_managed")
    for api in ("framework_api", "framework_later_api", "framework_managed_api"):
        tensor = type("Tensor", (), {"__dlpack_c_exchange_api__": exchange_api(api)})
        x, y = exchanged(tensor(), 0x20000), exchanged(tensor(), 0x90000)
        for number in (0x1234, 0x4321):
            stream.value = number
            scale(x, y, 1.0, 1)
            assert last().stream == number, hex(last().stream)
            assert {0x20000, 0x90000} <= set(last().params), [hex(p) for p in last().params]
        assert managed.value == 0
        scale(x, y, 1.0, 1, stream=0x55)
        assert last().stream == 0x55
        refused(scale, "Align", exchanged(tensor(), 0x20004), y, 1.0, 1)
        refused(scale, "TiedExtent", x, exchanged(tensor(), 0x90000, shape=(8, 64)), 1.0, 1)
        refused(scale, "Device", x, exchanged(tensor(), 0x90000, device=1), 1.0, 1)
        refused(scale, "Device", x, exchanged(tensor(), 0x90000, kind=10), 1.0, 1)
        measure(f"a call by the {api}", lambda: scale(x, y, 1.0, 1))


def tvm_ffi_functions() -> None:
    tvm_ffi = needed("tvm_ffi")
    scale = cutec.loads(KERNELS).scale.tvm_ffi()
    tensor = type("Tensor", (), {"__dlpack_c_exchange_api__": exchange_api("framework_api")})
    x, y = exchanged(tensor(), 0x20000), exchanged(tensor(), 0x90000)
    ctypes.c_uint64.in_dll(framework, "framework_stream").value = 0x1234
    scale(x, y, 1.0, 1)
    assert last().stream == 0x1234 and {0x20000, 0x90000} <= set(last().params)
    try:
        scale(x, exchanged(tensor(), 0x90000, shape=(8, 64)), 1.0, 1)
    except ValueError as error:
        assert "`m` must be one number" in str(error)
    else:
        raise AssertionError("extents that differ")
    measure("a call by tvm-ffi", lambda: scale(x, y, 1.0, 1))


def in_fork(result) -> None:
    try:
        cutec.loads(KERNELS).scale(Tensor((4, 64)), Tensor((4, 64)), 1.0, 1, stream=1)
    except cutec.DeviceError as error:
        result.put(str(error))


def forks() -> None:
    cutec.loads(KERNELS).scale(Tensor((4, 64)), Tensor((4, 64)), 1.0, 1, stream=1)
    context = multiprocessing.get_context("fork")
    result = context.SimpleQueue()
    child = context.Process(target=in_fork, args=(result,))
    child.start()
    child.join()
    assert child.exitcode == 0 and "spawn" in result.get()


def refusals() -> None:
    scale = cutec.loads(KERNELS).scale
    x, y = Tensor((4, 64)), Tensor((4, 64))
    scale(x, y, 1.0, 1, stream=1)
    before = counter("stub_count")
    # The signature that was seen, at an address that is not aligned.
    refused(scale, "Align", Tensor((4, 64), at=0x10004), y, 1.0, 1)
    refused(scale, "ReadOnly", x, Tensor((4, 64), read_only=True), 1.0, 1)
    refused(scale, "Stride", x, Tensor((4, 64), strides=(4, 16)), 1.0, 1)
    refused(scale, "DType", x, Tensor((4, 64), typestr="<f2"), 1.0, 1)
    refused(scale, "Kind", x, y, x, 1)
    refused(scale, "Range", x, y, 1.0, 1 << 31)
    refused(scale, "Device", x, y, 1.0, 1, check=True)
    assert counter("stub_count") == before


def refused(kernel, kind: str, *args, **options) -> None:
    """Asserts that a call is refused."""
    try:
        kernel(*args, **options)
    except cutec.ArgumentError as error:
        assert error.kind == kind, (kind, error.kind, str(error))
    else:
        raise AssertionError(f"expected {kind}")


def exchange_api(name: str):
    """A table of the framework, as a capsule."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(ctypes.addressof(ctypes.c_char.in_dll(framework, name)), b"dlpack_exchange_api", None)


def exchanged(tensor, address: int, *, shape=(4, 64), kind: int = 2, device: int = 0):
    """Tells the framework that an object is a row-major tensor there."""
    shape_array = (ctypes.c_int64 * 2)(*shape)
    strides = (ctypes.c_int64 * 2)(shape[1], 1)
    framework.framework_add(
        ctypes.c_void_p(id(tensor)), ctypes.c_uint64(address), kind, device, 2, shape_array, strides
    )
    kept.append(tensor)
    return tensor


#: Tensors of the framework, which knows them by their addresses.
kept: list = []


def needed(module: str):
    """A module, or the end of the test."""
    try:
        return __import__(module)
    except ImportError:
        print(f"no {module}")
        sys.exit(77)


def measure(what: str, work) -> None:
    """Prints what a call costs: the driver's part is not in it."""
    count = 20_000
    for _ in range(count):
        work()
    begin = time.process_time()
    for _ in range(count):
        work()
    print(f"{what}: {(time.process_time() - begin) / count * 1e9:.0f} ns")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
