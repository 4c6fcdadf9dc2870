"""The package itself: the program, the cache, threads, forks, what notebooks show."""

from __future__ import annotations

import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import cutec
from conftest import KERNELS


def program(*arguments: str, **options) -> subprocess.CompletedProcess:
    """Runs the installed command."""
    command = Path(sys.executable).parent / "cutec"
    return subprocess.run([command, *arguments], capture_output=True, text=True, **options)


def test_the_program_is_installed(examples):
    assert program("--version").stdout.startswith(f"cutec {cutec.__version__} (")
    tested = program("test", "--device", "sim", str(examples / "relu.cute"))
    assert tested.returncode == 0, tested.stderr
    wrong = program("examples", "relu")
    assert wrong.returncode == 2 and "expected one FILE" in wrong.stderr
    piped = subprocess.run(
        [sys.executable, "-m", "cutec", "-", "--emit", "ptx"],
        input=KERNELS, capture_output=True, text=True,
    )
    assert ".visible .entry relu" in piped.stdout


def test_the_module_asks_for_glibc_alone():
    """What the wheel's name promises: no library of C++, zlib or zstd, and nothing of glibc after 2.34."""
    objdump = subprocess.run(
        ["objdump", "-p", cutec._cutec.__file__], capture_output=True, text=True, check=False
    )
    if objdump.returncode != 0:
        pytest.skip("no objdump")
    lines = objdump.stdout.splitlines()
    needed = {line.split()[1] for line in lines if line.strip().startswith("NEEDED")}
    assert needed <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libdl.so.2", "libpthread.so.0"}
    versions = [line.split("GLIBC_")[1] for line in lines if "GLIBC_" in line]
    assert max(tuple(map(int, version.split("."))) for version in versions) <= (2, 34)


def test_types_are_described():
    folder = resources.files("cutec")
    assert (folder / "py.typed").is_file()
    stub = (folder / "_cutec.pyi").read_text()
    for name in ("Kernel", "Profile", "Layout", "Atom"):
        cls = getattr(cutec, name)
        assert f"class {name}" in stub
        for member, value in vars(cls).items():
            if not member.startswith("_") and (callable(value) or inspect.isdatadescriptor(value)):
                assert f"def {member}(" in stub, f"{name}.{member}"
    for name in dir(cutec._cutec):
        if not name.startswith("_"):
            assert name in stub, name


def test_types_fit_the_package(tmp_path):
    pytest.importorskip("mypy")
    # Of other packages not all functions have types.
    others = ["--ignore-missing-imports", "--allow-untyped-calls"]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, *others, "-p", "cutec"],
        capture_output=True, text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    used = tmp_path / "used.py"
    used.write_text(
        "import cutec\n"
        "mod: cutec.Module = cutec.load('gemm.cute', defines={'bm': 64, 'shape': (8, 8)})\n"
        "kernel = mod['gemm'][{'bm': 64}].compile(arch='sm_80')\n"
        "kernel(1, 2, stream=None, check=True)\n"
        "count: int | None = kernel.registers\n"
        "texts: list[str] = [remark.message for remark in kernel.remarks]\n"
        "kernel.emit(3)  # wrong\n"
    )
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, used], capture_output=True, text=True
    )
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and "used.py:7:" in errors[0], checked.stdout


def test_what_a_kernel_says_of_itself(mod):
    scale = mod.scale
    assert (scale.name, scale.arguments, scale.outputs) == ("scale", ["x", "y", "more"], ["y"])
    assert scale.types["y"] == "tensor<f32, n>" and scale.docs.strip() == "y = x * by * more"
    assert str(inspect.signature(scale)) == (
        "(x: 'tensor<f32, n>', y: 'tensor<f32, n>', more: 'f32', *, by='2', stream=None, check=False, schedule=0) -> None"
    )
    assert ".visible .entry scale" in scale.ptx
    assert [arg["name"] for arg in scale.abi["args"]] == scale.arguments
    assert "llvm.func" in scale.emit("mlir")
    assert any("copy" in remark.message for remark in scale.remarks)
    assert "kernels.cute:" in scale.explain()
    with pytest.raises(cutec.ArgumentError, match="`sass`"):
        scale.emit("assembly")
    assert list(mod.kernels) == [kernel.name for kernel in mod] and "relu" in mod and len(mod) == 4


def test_ptx_is_kept_on_disk(tmp_path):
    x, y = np.ones(300, np.float32), np.zeros(300, np.float32)
    cutec.loads(KERNELS, cache=tmp_path).scale(x, y, 1.0)
    (entry,) = tmp_path.iterdir()
    written = entry.stat().st_mtime_ns
    begin = time.perf_counter()
    cutec.loads(KERNELS, cache=tmp_path).scale(x, y, 1.0)
    took = time.perf_counter() - begin
    assert [found.stat().st_mtime_ns for found in tmp_path.iterdir()] == [written]
    # Two milliseconds on a machine that does nothing else; compiling takes some hundred on one that does.
    assert took < 0.5
    cutec.loads(KERNELS, cache=False).relu.compile()
    assert len(list(tmp_path.iterdir())) == 1


def test_imports_are_those_of_the_load(tmp_path):
    path, imported = tmp_path / "main.cute", tmp_path / "parts" / "value.cute"
    imported.parent.mkdir()
    imported.write_text("const value = 3.0;")
    path.write_text('import "parts/value.cute"; kernel k(x: mut tensor<f32, n>) launch tiles(n / 32) { x.tile(32, tile.m) = value; }')
    for cache in (False, tmp_path / "cache"):
        imported.write_text("const value = 3.0;")
        kernel = cutec.load(path, cache=cache).k
        imported.write_text("const value = 4.0;")
        x = np.zeros(32, np.float32)
        kernel(x)
        assert (x == 3).all()
        cutec.load(path, cache=cache).k(x)
        assert (x == 4).all()


def test_threads_launch_and_compile_at_a_time():
    mod = cutec.loads(KERNELS, cache=False)
    failed = []

    def work(number: int) -> None:
        x, y = np.full(300, number, np.float32), np.zeros(300, np.float32)
        for _ in range(3):
            mod.scale(x, y, 1.0, by=number % 3 + 1)
            if not (y == x * (number % 3 + 1)).all():
                failed.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_other_threads_run_while_a_kernel_does():
    # Long enough that other work on the machine's processors leaves this thread its turns.
    kernel = cutec.loads(
        "kernel spin(x: mut tensor<f32, 32>) launch grid(2048), block(32) "
        "{ var s = 0.0; for i in 0..4000 { s = s + 1.0; } x[thread_idx.x] = s; }"
    ).spin
    x = np.zeros(32, np.float32)
    kernel.compile(x)
    thread = threading.Thread(target=kernel, args=(x,))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0)
    assert turns > 10


SPIN = """
kernel spin(x: mut tensor<f32, 32>, turns: i32) launch grid(1), block(32)
{
    var s = 0.0;
    for i in 0..turns { s = s + 1.0; }
    x[thread_idx.x] = s;
}
"""


@pytest.fixture
def interruptible():
    """Where the tests were started in the background the signal is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("how", ["launch", "profile"])
def test_an_interrupt_ends_a_launch(how, interruptible):
    spin = cutec.loads(SPIN).spin
    x = np.full(32, 7, np.float32)
    spin.compile(x, 1)
    sent = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    sent.start()
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        # Some minutes.
        (spin if how == "launch" else spin.profile)(x, 1 << 25)
    assert time.perf_counter() - begin < 10
    sent.join()
    assert (x == 7).all()
    spin(x, 5)
    assert (x == 5).all()


def test_what_kernels_print_is_python_s(capsys):
    kernel = cutec.loads(
        'kernel say(x: tensor<i32, 4>) launch grid(1), block(4) { printf("x[%d] = %d\\n", thread_idx.x, x[thread_idx.x]); }'
    ).say
    kernel(np.arange(4, dtype=np.int32) * 10)
    assert capsys.readouterr().out == "x[0] = 0\nx[1] = 10\nx[2] = 20\nx[3] = 30\n"


def test_an_output_that_cannot_be_written(monkeypatch):
    class Full:
        def write(self, text):
            raise OSError("the disk is full")

    say = cutec.loads('kernel say(x: tensor<i32, 4>) launch grid(9), block(4) { printf("%d", thread_idx.x); }').say
    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(OSError, match="full"):
        say(np.arange(4, dtype=np.int32))


def test_forks_launch_and_compile():
    # In a process of its own, without the threads of what other tests import.
    script = Path(__file__).parent / "forked.py"
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "launched and compiled\n"), ran.stdout + ran.stderr


def test_kernels_end_with_their_module():
    import gc
    import weakref

    mod = cutec.loads(KERNELS)
    chosen = mod.scale.specialize(by=9)
    ends = [weakref.ref(mod.scale), weakref.ref(chosen)]
    assert chosen.specialize(by=9) is chosen
    del mod, chosen
    gc.collect()
    assert [end() for end in ends] == [None, None]


def test_modules_may_be_pickled(mod):
    again = pickle.loads(pickle.dumps(mod))
    x = np.ones((4, 64), np.float32)
    again.relu(x, x)
    assert repr(again) == repr(mod)


def test_layouts_and_atoms_are_pictures():
    layout = cutec.layout("composition((8,8):(8,1), 4:2)")
    assert str(layout) == "4:16" and layout._repr_svg_().startswith("<svg") and layout.grid
    swizzle = cutec.layout("S<2,3,3>")
    assert str(swizzle) == "S<2,3,3>" and swizzle.svg is None and swizzle.grid is None
    held = cutec.layout("(4,2):(2,1)", tile="8")
    assert "T3V1" in held.grid
    with pytest.raises(ValueError, match="expected"):
        cutec.layout("(8,8):(8")
    atom = cutec.atom("sm80_16x8x16_f32f16f16f32")
    assert atom._repr_svg_().startswith("<svg") and "T31V3" in atom.grid
    assert "ldmatrix_x4" in cutec.atoms()
    with pytest.raises(ValueError, match="ldmatrix_x4"):
        cutec.atom("ldmatrix_x5")


def test_profiles_are_pages(mod):
    x, y = np.ones(300, np.float32), np.zeros(300, np.float32)
    profile = mod.scale.profile(x, y, 1.0)
    assert (y == 2).all()
    assert "scale" in str(profile) and profile._repr_html_().startswith("<iframe")
    assert profile.data[0]["kernel"] == "scale" and "<!doctype html>" in profile.html


def test_mlir_is_loaded_too(mod, tmp_path):
    path = tmp_path / "scale.mlir"
    path.write_text(mod.scale.emit("cute", arch="sm_80"))
    scale = cutec.load(path, arch="sm_80").scale
    x, y = np.ones(300, np.float32), np.zeros(300, np.float32)
    scale(x, y, 2.0)
    assert (y == 4).all() and scale.arguments == ["x", "y", "more"]


def test_a_gpu_that_is_not_there():
    if cutec.native_arch() is None:
        assert cutec.loads(KERNELS).relu.arch == "sm_90a"
    else:
        assert cutec.loads(KERNELS).relu.arch == cutec.native_arch()
    assert cutec.loads(KERNELS, arch="sm_89").relu.arch == "sm_89"


def test_the_cache_is_where_it_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("CUTEC_CACHE", os.fspath(tmp_path))
    assert cutec.cache_folder() == tmp_path
    cutec.loads(KERNELS).relu.compile()
    assert len(list(tmp_path.iterdir())) == 1
