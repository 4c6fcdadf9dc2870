"""Modules: the kernels of a source as attributes."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any, Iterator, Mapping, Union

from . import _cutec
from ._cutec import Kernel

Define = Union[str, int, float, bool, "tuple[Any, ...]"]
CacheChoice = Union[bool, str, "os.PathLike[str]"]


def cache_folder() -> Path:
    """Where PTX is kept between runs: `$CUTEC_CACHE`, or the folder `cutec` of the user's caches."""
    own = os.environ.get("CUTEC_CACHE")
    if own:
        return Path(own)
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "cutec"


def signature(kernel: Kernel) -> inspect.Signature:
    """How a kernel is called: its arguments with their types, then its compile-time parameters and the options by name."""
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, positional, annotation=ty) for name, ty in kernel.types.items()
    ]
    for name, value in [*kernel.parameters.items(), ("stream", None), ("check", False), ("schedule", 0)]:
        if name not in kernel.types:
            parameters.append(inspect.Parameter(name, named, default=value))
    return inspect.Signature(parameters, return_annotation=None)


class Module:
    """The kernels of a source: `module.gemm`, `module["gemm"]`. It may be pickled, and is then loaded anew."""

    def __init__(self, name: str, text: str | None, options: dict[str, Any]):
        self._made = (name, text, options)
        cache = options["cache"]
        folder = cache_folder() if cache is True else cache or None
        kernels = _cutec.kernels(
            name,
            text,
            arch=options["arch"],
            defines=dict(options["defines"]),
            check=options["check"],
            cache=folder,
            plan=options["plan"],
        )
        self._kernels = {kernel.name: kernel for kernel in kernels}
        for kernel_name, kernel in self._kernels.items():
            # What a module itself has keeps its meaning; the kernel is module[NAME].
            if not hasattr(type(self), kernel_name):
                self.__dict__.setdefault(kernel_name, kernel)

    @property
    def kernels(self) -> dict[str, Kernel]:
        """All kernels by name, in the order of the source."""
        return dict(self._kernels)

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise KeyError(self._unknown(name)) from None

    def __getattr__(self, name: str) -> Kernel:
        # Only of what is no attribute.
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        known = ", ".join(f"`{kernel}`" for kernel in self._kernels) or "none"
        return f"no kernel `{name}` in {self._made[0]}: there is {known}"

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels.values())

    def __len__(self) -> int:
        return len(self._kernels)

    def __contains__(self, name: object) -> bool:
        return name in self._kernels

    def __repr__(self) -> str:
        return f"<module of {self._made[0]}: {', '.join(self._kernels)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Module, self._made)


def load(
    path: str | os.PathLike[str],
    *,
    arch: str = "native",
    defines: Mapping[str, Define] | None = None,
    check: bool = False,
    cache: CacheChoice = True,
    plan: str | os.PathLike[str] | None = None,
) -> Module:
    """The kernels of a file, `.cute` or `.mlir`. Each is compiled when it is first called.

    `arch` is a target such as "sm_80" or "sm_90a"; "native" is that of the GPU that a kernel is launched on. `defines` are
    values of compile-time parameters for all kernels that have them. With `check` every launch runs in the simulator and
    looks for data races. `cache` says where PTX is kept: True for `cache_folder()`, False for nowhere, or a folder. With a
    `plan`, the file of a search (`tune`, `cutec tune`), a launch takes the configuration of the nearest size that was measured.
    """
    options = {"arch": arch, "defines": defines or {}, "check": check, "cache": cache, "plan": plan}
    return Module(os.fspath(path), None, options)


def loads(
    text: str,
    *,
    name: str = "kernels.cute",
    arch: str = "native",
    defines: Mapping[str, Define] | None = None,
    check: bool = False,
    cache: CacheChoice = True,
    plan: str | os.PathLike[str] | None = None,
) -> Module:
    """The kernels of a text, as `load`. `name` is what messages call it, and says by `.mlir` that it is MLIR; files that it
    imports are looked for beside it."""
    options = {"arch": arch, "defines": defines or {}, "check": check, "cache": cache, "plan": plan}
    return Module(name, text, options)
