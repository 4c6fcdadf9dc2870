"""Arrays and functions of other packages; each test runs where its package is installed."""

from __future__ import annotations

import numpy as np
import pytest

import cutec


class OnlyDlpack:
    """An array that gives itself by DLPack alone, in the version before capsules had one."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(OnlyDlpack):
    """An array on a device that no kernel runs on."""

    def __dlpack_device__(self):
        return (10, 0)

    def __dlpack__(self, *, stream=None, max_version=None):
        raise BufferError("no")


def test_any_object_with_dlpack_is_an_array(mod):
    x = np.random.default_rng(0).standard_normal((8, 64), dtype=np.float32)
    y = np.zeros_like(x)
    mod.relu(OnlyDlpack(x), OnlyDlpack(y))
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    with pytest.raises(BufferError):
        mod.relu(Elsewhere(x), y)


def test_capsules_are_given_back(mod):
    import sys

    x = np.zeros((4, 64), np.float32)
    wrapped, before = OnlyDlpack(x), sys.getrefcount(x)
    for _ in range(10):
        mod.relu(wrapped, wrapped)
    # The call that was last may have kept one for the next.
    mod.relu(np.zeros((4, 64), np.float32), np.zeros((4, 64), np.float32))
    assert sys.getrefcount(x) == before


def test_types_of_ml_dtypes(mod):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.arange(300).astype(ml_dtypes.bfloat16)
    y = np.zeros_like(x)
    mod.copy[{"t": "bf16"}](x, y)
    np.testing.assert_array_equal(x, y)
    x = np.arange(16).astype(ml_dtypes.float8_e4m3fn)
    y = np.zeros_like(x)
    mod.copy[{"t": "f8e4m3"}](x, y)
    np.testing.assert_array_equal(x, y)


def test_arrays_of_jax_are_read_and_not_written(mod):
    jax = pytest.importorskip("jax")
    x = jax.numpy.linspace(-1, 1, 512).reshape(8, 64)
    y = np.zeros((8, 64), np.float32)
    mod.relu(x, y)
    np.testing.assert_array_equal(y, np.maximum(np.asarray(x), 0))
    with pytest.raises(cutec.ArgumentError) as caught:
        mod.relu(y, x)
    assert caught.value.kind == "ReadOnly"


def test_kernels_in_functions_of_jax(mod):
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    @jax.jit
    def positive(x):
        return mod.relu.jax(x, jax.ShapeDtypeStruct(x.shape, x.dtype)) + 1

    x = jnp.linspace(-1, 1, 512).reshape(8, 64)
    np.testing.assert_array_equal(positive(x), np.maximum(np.asarray(x), 0) + 1)

    @jax.jit
    def more(x, count):
        return mod.count_up.jax(x, count)

    counted = more(jnp.zeros(100, jnp.int32), 40)
    assert counted.sum() == 40


def test_kernels_as_functions_of_tvm_ffi(mod):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    scale = mod.scale.tvm_ffi()
    x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y), 1.5)
    np.testing.assert_array_equal(y, x * 3)
    scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y), 2)
    np.testing.assert_array_equal(y, x * 4)
    with pytest.raises(ValueError, match="takes 3 arguments"):
        scale(tvm_ffi.from_dlpack(x))
    with pytest.raises(ValueError, match="`more`"):
        scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y), "one")
    with pytest.raises(ValueError, match="`y`"):
        scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y.astype(np.int32)), 1.0)


def test_tensors_of_torch_on_the_host(mod):
    torch = pytest.importorskip("torch")
    x = torch.randn(8, 64)
    y = torch.zeros(8, 64)
    mod.relu(x, y)
    assert torch.equal(y, torch.relu(x))
    x = torch.randn(300).bfloat16()
    y = torch.zeros_like(x)
    mod.copy[{"t": "bf16"}](x, y)
    assert torch.equal(x, y)
    operator = mod.scale.torch_op("cutec_test::scale")
    x, y = torch.randn(2, 300)
    operator(x, y, 2.0)
    assert torch.equal(y, x * 2 * 2.0)
    torch.library.opcheck(operator, (x, y, 1.5))
