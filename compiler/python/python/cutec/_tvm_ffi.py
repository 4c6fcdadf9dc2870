"""Kernels as functions of tvm-ffi."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _cutec
from ._cutec import Kernel

if TYPE_CHECKING:
    import tvm_ffi


def function(kernel: Kernel) -> tvm_ffi.Function:
    """A kernel as a `tvm_ffi.Function`, which keeps it: JAX, C++ and Rust call it without Python's objects."""
    from tvm_ffi.core import Function
    from tvm_ffi.libinfo import find_libtvm_ffi

    entry = _cutec.tvm_ffi_entry(find_libtvm_ffi())
    return Function.__from_extern_c__(entry, keep_alive_object=kernel)
