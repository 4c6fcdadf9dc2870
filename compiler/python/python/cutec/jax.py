"""Kernels in JAX's functions, under `jit` and `vmap`: on the host, in the simulator.

JAX is imported when it is first needed. On a GPU, tvm-ffi's bridge calls `kernel.tvm_ffi()` without a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._cutec import Kernel

if TYPE_CHECKING:
    import jax


def call(kernel: Kernel, *arguments: Any) -> jax.Array | tuple[jax.Array, ...]:
    """What a kernel writes, as new arrays: one, or a tuple of several.

    `arguments` are in the kernel's order. For an array that the kernel writes stands what it begins as, or a
    `jax.ShapeDtypeStruct` where the kernel does not read it.
    """
    import jax
    import numpy as np

    outputs = [at for at, name in enumerate(kernel.arguments) if name in kernel.outputs]
    if len(arguments) != len(kernel.arguments):
        # With the kernel's own words.
        kernel(*arguments)
    shapes = [
        jax.ShapeDtypeStruct(arguments[at].shape, arguments[at].dtype) for at in outputs
    ]
    fresh = {at: shape for at, shape in enumerate(arguments) if isinstance(shape, jax.ShapeDtypeStruct)}

    def run(*given: Any) -> list[Any]:
        values = iter(given)
        ready: list[Any] = []
        for at in range(len(arguments)):
            if at in fresh:
                ready.append(np.empty(fresh[at].shape, fresh[at].dtype))
                continue
            value = next(values)
            # Arrays of JAX are never written.
            ready.append(np.array(value) if at in outputs else number_or_array(value))
        kernel(*ready)
        return [ready[at] for at in outputs]

    scalars = [at for at, ty in enumerate(kernel.types.values()) if not ty.startswith("tensor<")]

    def number_or_array(value: Any) -> Any:
        array = np.asarray(value)
        return array.item() if array.ndim == 0 and scalars else array

    given = [argument for at, argument in enumerate(arguments) if at not in fresh]
    results = jax.pure_callback(run, shapes, *given, vmap_method="sequential")
    return results[0] if len(results) == 1 else tuple(results)
