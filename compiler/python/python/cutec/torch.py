"""Kernels as operators of PyTorch, for `torch.compile`, `torch.export` and autograd's bookkeeping of tensors that are written.

PyTorch is imported when it is first needed. A kernel that is called itself takes tensors too, at less cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._cutec import Kernel

if TYPE_CHECKING:
    from torch.library import CustomOpDef


def torch_op(kernel: Kernel, name: str) -> CustomOpDef:
    """Register a kernel as the operator `name`, such as "mine::gemm": it takes the kernel's arguments in their order, writes
    those that the kernel writes, and returns nothing. Under tracing it does nothing, which is what its schema says."""
    import torch

    parameters = []
    arguments = kernel.abi["args"]
    for number, argument in enumerate(arguments):
        if argument["kind"] == "tensor":
            # An alias set of its own: what is written is no other argument.
            ty = f"Tensor(a{number}!)" if argument["mutable"] else "Tensor"
        elif argument["dtype"] == "bool":
            ty = "bool"
        else:
            ty = "float" if argument["dtype"][0] in "fbt" else "int"
        parameters.append(f"{ty} {argument['name']}")

    def launch(*args: Any) -> None:
        kernel(*args)

    operator = torch.library.custom_op(
        name,
        launch,
        mutates_args=tuple(kernel.outputs),
        schema=f"({', '.join(parameters)}) -> ()",
    )
    operator.register_fake(lambda *args: None)
    return operator
