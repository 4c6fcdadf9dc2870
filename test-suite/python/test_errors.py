"""Errors: of the compiler with its data, and of kernels in the simulator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import cutec

RACE = """
kernel rotate(x: tensor<f32, 64>, y: mut tensor<f32, 64>)
launch grid(1), block(64)
{
    let staged = smem<f32>(64);
    let i = thread_idx.x;
    staged[i] = 0.0;
    barrier();
    staged[i] = x[i];
    y[i] = staged[(i + 32) % 64];
}
"""

OUTSIDE = """
kernel outside(x: mut tensor<f32, n>)
launch grid(1), block(32)
{ x[thread_idx.x] = 1.0; }
"""


def test_a_text_that_does_not_parse():
    with pytest.raises(cutec.CompileError) as caught:
        cutec.loads("kernel f(x: tensor<f32, n>) launch grid(1) {", name="broken.cute")
    error = caught.value
    assert error.code.startswith("E0") and error.span.file == "broken.cute"
    assert "broken.cute:1:" in error.rendered
    assert error.diagnostics[0].severity == "error"


def test_what_is_wrong_in_a_kernel_is_said_when_it_is_compiled():
    mod = cutec.loads(
        """
kernel good(x: mut tensor<f32, n>) launch tiles(n / 32) { x.tile(32, tile.m) = 1.0; }
kernel bad(x: tensor<f32, n>) launch tiles(n / 32) { x.tile(32, tile.m) = 1.0; }
"""
    )
    mod.good(np.zeros(32, np.float32))
    with pytest.raises(cutec.CompileError) as caught:
        mod.bad(np.zeros(32, np.float32))
    (found,) = caught.value.diagnostics
    assert (found.code, found.span.line) == (caught.value.code, 3)
    assert found.help and found.labels and found.rendered in caught.value.rendered


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(cutec.CompileError, match="none.cute"):
        cutec.load(tmp_path / "none.cute")


def test_a_target_that_is_none():
    with pytest.raises(cutec.CompileError, match="sm_90a"):
        cutec.loads("", arch="sm_42")


def test_an_assembler_that_is_missing(mod, monkeypatch):
    for name in ("CUTEC_CUDA", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    try:
        cubin = mod.relu.cubin
    except cutec.CompileError as error:
        assert error.failures and "assembler" in str(error)
    else:
        assert cubin[:4] == b"\x7fELF"


def test_an_access_out_of_bounds_is_an_exception():
    kernel = cutec.loads(OUTSIDE).outside
    x = np.zeros(16, np.float32)
    with pytest.raises(cutec.KernelError) as caught:
        kernel(x)
    assert "out-of-bounds" in caught.value.rendered
    assert caught.value.span.line == 4
    assert (x == 0).all()


CALLS = """
fn put(y, i) { y[i] = 1.0; }
fn far(y, i) { put(y, i + 1000); }
kernel calls(y: mut tensor<f32, n>) launch grid(1), block(32) { far(y, thread_idx.x); }
"""


def test_calls_that_led_to_a_place_are_shown_from_the_cache_too(tmp_path, monkeypatch):
    monkeypatch.setenv("CUTEC_CACHE", str(tmp_path))
    for _ in range(2):
        with pytest.raises(cutec.KernelError) as caught:
            cutec.loads(CALLS).calls(np.zeros(16, np.float32))
        labels = caught.value.diagnostics[0].labels
        assert [label.span.line for label in labels] == [2, 3, 4]
        assert labels[1].text == "in this call of `put`"
        assert "in this call of `far`" in caught.value.rendered


def test_a_race_is_an_exception_where_it_is_looked_for():
    kernel = cutec.loads(RACE).rotate
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(cutec.RaceError) as caught:
        kernel(x, y, check=True)
    assert len(caught.value.diagnostics[0].labels) == 2
    with pytest.raises(cutec.RaceError):
        cutec.loads(RACE, check=True).rotate(x, y)
    synchronized = RACE.replace("    y[i] =", "    barrier();\n    y[i] =")
    cutec.loads(synchronized).rotate(x, y, check=True)
    np.testing.assert_array_equal(y, np.roll(x, 32))


def test_errors_may_be_pickled():
    with pytest.raises(cutec.CompileError) as compiled:
        cutec.loads("kernel", name="broken.cute")
    with pytest.raises(cutec.ArgumentError) as refused:
        cutec.loads(OUTSIDE).outside(np.zeros(16, np.int32))
    for error in (compiled.value, refused.value):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert vars(again) == vars(error)


def test_modules_say_what_they_have(mod):
    with pytest.raises(AttributeError, match="`relu`"):
        mod.rely
    with pytest.raises(KeyError, match="`relu`"):
        mod["rely"]
