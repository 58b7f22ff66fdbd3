"""The names of torch.autograd.gradcheck, which is a function, too."""

from ..ops.derivatives.gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
