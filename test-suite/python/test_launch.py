"""Launches with NumPy's arrays, which run in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

import cutec


def test_the_result_is_in_the_array(mod):
    x = np.random.default_rng(0).standard_normal((100, 200), dtype=np.float32)
    y = np.full_like(x, np.nan)
    assert mod.relu(x, y) is None
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_arguments_have_names(mod):
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    mod.scale(y=y, more=1.5, x=x)
    np.testing.assert_array_equal(y, x * 3)
    mod.scale(x, y, more=np.float64(2))
    np.testing.assert_array_equal(y, x * 4)


def test_compile_time_parameters_are_chosen(mod):
    x, y = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)
    five = mod.scale[{"by": 5}]
    five(x, y, 1)
    np.testing.assert_array_equal(y, x * 5)
    mod.scale(x, y, 1, by=7)
    np.testing.assert_array_equal(y, x * 7)
    assert mod.scale.specialize(by=5) is five
    assert five[{"by": 5}] is five
    assert five.parameters == {"by": "5"} and mod.scale.parameters == {"by": "2"}
    assert "by = 5" in repr(five)
    of_all = cutec.loads("kernel k<a>(x: mut tensor<i32, n>) launch tiles(n / 32) { x.tile(32, tile.m) = a; }", defines={"a": 3})
    z = np.zeros(40, np.int32)
    of_all.k(z)
    assert (z == 3).all()
    with pytest.raises(KeyError, match="`by`"):
        mod.scale[{"bye": 1}]
    with pytest.raises(cutec.CompileError, match="`zz`"):
        cutec.loads("kernel k<a>(x: tensor<i32, n>) launch tiles(n / 32) { }", defines={"zz": 3})


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64"])
def test_element_types_of_numpy(mod, dtype):
    name = dtype.replace("float", "f").replace("uint", "u").replace("int", "i")
    x = np.arange(300).astype(dtype)
    y = np.zeros_like(x)
    mod.copy[{"t": name}](x, y)
    np.testing.assert_array_equal(x, y)


def test_arrays_of_no_axes_are_tensors_of_rank_0():
    total = cutec.loads("""
        kernel total(x: tensor<f32, n>, scale: tensor<f32, ()>, y: mut tensor<f32, ()>) launch tiles(n / 256) {
            atomic_add(y[], reduce(add, x.tile(256, tile.m)) * scale[]);
        }
    """).total
    x, y = np.arange(300, dtype=np.float32), np.zeros((), np.float32)
    total(x, np.array(0.5, np.float32), y)
    assert y[()] == x.sum() / 2
    total(x, np.full(3, 2, np.float32)[1, ...], y)
    assert y[()] == x.sum() * 2.5
    with pytest.raises(cutec.ArgumentError, match="rank 0"):
        total(x, np.ones(1, np.float32), y)


def test_tiles_are_printed_to_stdout(capsys):
    show = cutec.loads("""
        kernel show(x: mut tensor<i32, (m, n)>) launch tiles(m / 2) {
            printf("tile %d: %d\\n", tile.m, x.tile((2, 4), (tile.m, 0)));
        }
    """).show
    show(np.arange(12, dtype=np.int32).reshape(3, 4))
    lines = ["[0, :] tile 0: 0 1 2 3", "[1, :] tile 0: 4 5 6 7", "[0, :] tile 1: 8 9 10 11", "[1, :] tile 1: 0 0 0 0"]
    assert sorted(capsys.readouterr().out.splitlines()) == sorted(lines)


def test_views_keep_what_is_between_their_elements(mod):
    memory = np.full((64, 256), 7, np.float32)
    x = np.random.default_rng(1).standard_normal((32, 128), dtype=np.float32)
    y = memory[16:48, 64:192]
    strided = cutec.loads("""
    kernel relu(x: tensor<f32, (m, n)>, y: mut tensor<f32, (m, n) : (ld, 1)>)
    launch tiles(m / 4, n / 64)
    { y.tile((4, 64), (tile.m, tile.n)) = max(x.tile((4, 64), (tile.m, tile.n)), 0.0); }""").relu
    strided(x, y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    memory[16:48, 64:192] = 7
    assert (memory == 7).all()


def test_arrays_that_overlap_are_one_memory(mod):
    x = np.random.default_rng(2).standard_normal((8, 64), dtype=np.float32)
    expected = np.maximum(x, 0)
    mod.relu(x, x)
    np.testing.assert_array_equal(x, expected)


def test_a_launch_may_depend_on_a_number(mod):
    x = np.zeros(100, np.int32)
    for count in (10, 40, 0, 100, 10):
        before = x.copy()
        mod.count_up(x, count)
        before[:count] += 1
        np.testing.assert_array_equal(x, before)


def test_empty_arrays_are_no_launch(mod):
    x = np.zeros((0, 64), np.float32)
    mod.relu(x, x.copy())


def test_compiling_ahead_checks_the_arguments(mod):
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    assert mod.scale.compile(x, y, 2.0) is mod.scale
    assert (y == 0).all()
    with pytest.raises(cutec.ArgumentError):
        mod.scale.compile(x, y.astype(np.int32), 2.0)
    assert "sm_80" in mod.scale.compile(arch="sm_80").emit("ptx", arch="sm_80")


@pytest.mark.parametrize(
    ("kind", "argument", "args"),
    [
        ("Count", "more", lambda x, y: (x, y)),
        ("Count", None, lambda x, y: (x, y, 1.0, 2.0)),
        ("Kind", "more", lambda x, y: (x, y, "one")),
        ("Kind", "more", lambda x, y: (x, y, None)),
        ("Kind", "y", lambda x, y: (x, 3.0, 1.0)),
        ("DType", "x", lambda x, y: (x.astype(np.float16), y, 1.0)),
        ("DType", None, lambda x, y: (x.astype(np.complex64), y, 1.0)),
        ("DType", None, lambda x, y: (x.astype(">f4"), y, 1.0)),
        ("Rank", "x", lambda x, y: (x.reshape(8, 8), y, 1.0)),
        ("Stride", "x", lambda x, y: (np.repeat(x, 2)[::2], y, 1.0)),
        ("TooLarge", "x", lambda x, y: (x[::-1], y, 1.0)),
        ("TiedExtent", "y", lambda x, y: (x, y[:32], 1.0)),
    ],
)
def test_what_does_not_fit_is_refused(mod, kind, argument, args):
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(cutec.ArgumentError) as caught:
        mod.scale(*args(x, y))
    assert (caught.value.kind, caught.value.argument) == (kind, argument), caught.value
    assert isinstance(caught.value, (cutec.LaunchError, ValueError))
    assert (y == 0).all()


def test_names_that_are_none_are_refused(mod):
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(cutec.ArgumentError, match="`factor`"):
        mod.scale(x, y, factor=2.0)
    with pytest.raises(cutec.ArgumentError, match="twice"):
        mod.scale(x, y, 1.0, x=x)


def test_arrays_that_may_not_be_written_are_not(mod):
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    y.flags.writeable = False
    with pytest.raises(cutec.ArgumentError) as caught:
        mod.scale(x, y, 1.0)
    assert (caught.value.kind, caught.value.argument) == ("ReadOnly", "y")
    # One that is only read may be.
    y.flags.writeable, x.flags.writeable = True, False
    mod.scale(x, y, 1.0)
    assert (y == 2).all()


def test_numbers_beyond_their_type_are_refused(mod):
    x = np.zeros(8, np.int32)
    with pytest.raises(cutec.ArgumentError, match="beyond i32"):
        mod.count_up(x, 1 << 31)
    with pytest.raises(cutec.ArgumentError, match="beyond i32"):
        mod.count_up(x, 1 << 80)


def test_alignment_is_that_of_an_allocation(mod):
    x, y = np.ones(80, np.float16), np.zeros(80, np.float16)
    mod.copy(x[8:72], y[8:72])
    assert y.sum() == 64
    with pytest.raises(cutec.ArgumentError) as caught:
        mod.copy(x[1:65], y[8:72])
    assert caught.value.kind == "Align"


def test_products_of_the_examples(examples):
    rng = np.random.default_rng(3)
    kernel = cutec.load(examples / "gemm_tf32.cute", arch="sm_80", check=True)
    (gemm,) = kernel
    a, b = rng.standard_normal((2, 64, 64)).astype(np.float32)
    c = np.full((64, 64), np.nan, np.float32)
    gemm(a, b, c)
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-2, atol=5e-2)
