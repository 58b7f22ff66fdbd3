"""The names of torch.func: derivatives as functions of functions.

func.grad(f)(x)             the gradient of f, whose result is a single number
func.jacrev(f)(x)           the Jacobian, row by row
func.vmap(f)(batch)         f applied to each example of a batch
func.jvp(f, (x,), (v,))     the result of f, and its derivative in the direction v
func.functional_call(m, parameters, args)   a module with other parameters

`grad`, `vjp`, `jacrev` and `hessian` go backward (reverse_transforms.py); `jvp`, `jacfwd` and
`linearize` go forward (forward_transforms.py).
"""

from .batching import vmap
from .forward_transforms import jacfwd, jvp, linearize
from .nn.stateless import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .reverse_transforms import grad, grad_and_value, hessian, jacrev, vjp

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
