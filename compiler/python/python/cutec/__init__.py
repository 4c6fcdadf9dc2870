"""Kernels of cutec: compiled from `.cute` text, called with arrays of any framework.

    mod = cutec.load("gemm.cute", defines={"bm": 64})
    mod.gemm(a, b, c)

Arrays on a GPU are taken as they lie there, and the kernel is launched in the current stream of their framework. Arrays in
memory of the host (NumPy, tensors of PyTorch on the CPU) run in the simulator, which needs no GPU and checks every access.
"""

from __future__ import annotations

from ._cutec import VERSION as COMPILER
from ._cutec import Atom, Kernel, Layout, Profile, atom, atoms, layout, native_arch
from ._errors import (
    ArgumentError,
    CompileError,
    CutecError,
    DeviceError,
    Diagnostic,
    KernelError,
    Label,
    LaunchError,
    RaceError,
    Span,
)
from ._module import Module, cache_folder, load, loads
from ._tune import tune

__version__ = COMPILER.split("+")[0]

__all__ = [
    "COMPILER",
    "ArgumentError",
    "Atom",
    "CompileError",
    "CutecError",
    "DeviceError",
    "Diagnostic",
    "Kernel",
    "KernelError",
    "Label",
    "Layout",
    "LaunchError",
    "Module",
    "Profile",
    "RaceError",
    "Span",
    "atom",
    "atoms",
    "cache_folder",
    "layout",
    "load",
    "loads",
    "native_arch",
    "tune",
]
