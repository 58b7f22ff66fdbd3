"""The names of torch.autograd.function: operators whose derivatives are written in Python."""

from ..ops.derivatives.function import Context as FunctionCtx
from ..ops.derivatives.function import Function
from ..ops.derivatives.once import once_differentiable

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class InplaceFunction(Function):
    """A Function that can be told to write to its argument: `forward` reads `self.inplace`.

    It is from before forward became a static method, and kept for programs that derive from it.
    """

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace
