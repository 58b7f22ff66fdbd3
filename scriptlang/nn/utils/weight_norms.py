"""Weights that are computed from other parameters before each call: weight and spectral norms.

Each is a forward pre-hook that sets the module's `weight` from what it registers in its place; a
trace records the computation.  Before a module is scripted, `remove_weight_norm` and
`remove_spectral_norm` make the weight a parameter again.
"""

from __future__ import annotations

from typing import Any, Optional, TypeVar

from ...grad_mode import no_grad
from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]

M = TypeVar("M", bound=Module)

TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


class WeightNorm:
    """The hook of `weight_norm`."""

    kind = "weight_norm"

    def __init__(self, name: str, dim: int) -> None:
        self.name, self.dim = name, dim

    def compute_weight(self, module: Module) -> Tensor:
        g, v = getattr(module, f"{self.name}_g"), getattr(module, f"{self.name}_v")
        return torch._weight_norm(v, g, self.dim)

    def register(self, module: Module) -> None:
        weight = module._parameters.pop(self.name)
        length = torch.norm_except_dim(weight, 2, self.dim).detach()
        module.register_parameter(f"{self.name}_g", Parameter(length))
        module.register_parameter(f"{self.name}_v", Parameter(weight.detach()))
        setattr(module, self.name, self.compute_weight(module))

    def remove(self, module: Module) -> None:
        weight = self.compute_weight(module).detach()
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        module.register_parameter(self.name, Parameter(weight))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


class SpectralNorm:
    """The hook of `spectral_norm`.  It estimates the greatest singular value by power iteration,
    one step for each call in training."""

    kind = "spectral_norm"

    def __init__(self, name: str, n_power_iterations: int, eps: float, dim: int) -> None:
        self.name, self.eps, self.dim = name, eps, dim
        self.n_power_iterations = n_power_iterations

    def matrix(self, weight: Tensor) -> Tensor:
        """The weight with the dimension of outputs first, and all others in one."""
        if self.dim != 0:
            others = [d for d in range(weight.dim()) if d != self.dim]
            weight = weight.permute(self.dim, *others)
        return weight.reshape(weight.size(0), -1)

    def register(self, module: Module) -> None:
        weight = module._parameters.pop(self.name)
        with no_grad():
            height, width = self.matrix(weight).size()
            u = F.normalize(weight.new_empty(height).normal_(0, 1), dim=0, eps=self.eps)
            v = F.normalize(weight.new_empty(width).normal_(0, 1), dim=0, eps=self.eps)
        module.register_parameter(f"{self.name}_orig", weight)
        setattr(module, self.name, weight.detach())
        module.register_buffer(f"{self.name}_u", u)
        module.register_buffer(f"{self.name}_v", v)

    def compute_weight(self, module: Module, iterates: bool) -> Tensor:
        weight = getattr(module, f"{self.name}_orig")
        u, v = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = self.matrix(weight)
        if iterates:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(torch.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(torch.mv(matrix, v), dim=0, eps=self.eps))
                # Copies, since the next call writes the buffers, and the gradient needs these.
                u, v = u.clone(), v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def remove(self, module: Module) -> None:
        with no_grad():
            weight = self.compute_weight(module, False)
        delattr(module, self.name)
        delattr(module, f"{self.name}_u")
        delattr(module, f"{self.name}_v")
        del module._parameters[f"{self.name}_orig"]
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def register(module: M, hook: WeightNorm | SpectralNorm) -> M:
    for other in module._forward_pre_hooks.values():
        if isinstance(other, type(hook)) and other.name == hook.name:
            raise RuntimeError(
                f"Cannot register two {hook.kind} hooks on the same parameter {hook.name}"
            )
    if module._parameters.get(hook.name) is None:
        raise ValueError(f"{module} has no parameter {hook.name!r} for {hook.kind}")
    hook.register(module)
    module.register_forward_pre_hook(hook)
    return module


def remove(module: M, name: str, cls: type[WeightNorm] | type[SpectralNorm]) -> M:
    for key, hook in list(module._forward_pre_hooks.items()):
        if isinstance(hook, cls) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"{cls.kind} of '{name}' not found in {module}")


def weight_norm(module: M, name: str = "weight", dim: Optional[int] = 0) -> M:
    """Compute a weight from its direction `name_v` and its length `name_g` before each call.

    dim: along which lengths are separate; None: one length for the whole weight.  Returns the
    module.  Source: torch.nn.utils.weight_norm.
    """
    return register(module, WeightNorm(name, -1 if dim is None else dim))


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the weight a parameter again.  Raises ValueError if it has no weight norm."""
    return remove(module, name, WeightNorm)


def spectral_norm(
    module: M,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: Optional[int] = None,
) -> M:
    """Divide a weight by its greatest singular value before each call.

    The weight is seen as a matrix whose rows are dimension `dim` (1 for transposed convolutions,
    else 0).  Returns the module.  Raises ValueError for less than one iteration.  Source:
    torch.nn.utils.spectral_norm.
    """
    if n_power_iterations <= 0:
        raise ValueError(
            "Expected n_power_iterations to be positive, but got "
            f"n_power_iterations={n_power_iterations}"
        )
    if dim is None:
        dim = 1 if isinstance(module, TRANSPOSED) else 0
    return register(module, SpectralNorm(name, n_power_iterations, eps, dim))


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the weight a parameter again.  Raises ValueError if it has no spectral norm."""
    return remove(module, name, SpectralNorm)
