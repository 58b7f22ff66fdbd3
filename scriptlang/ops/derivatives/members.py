"""Autograd attributes and methods of tensors: `grad`, `grad_fn`, `backward` and others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...records import record
from ...tensors import Tensor
from ..calling.current import calls, handed, mode, note_moved, shown
from .hooks import register_hook, register_post_accumulate_grad_hook, retain_grad
from .recorder import activate
from .state import is_leaf, later, needs, node_of, state_of, turned, version_of
from .tangents import refuse_batches


@record(frozen=True)
class Property:
    """What reads, sets and deletes an attribute; what cannot be done raises."""

    get: Callable[[Tensor], Any]
    set: Callable[[Tensor, Any], None]
    delete: Callable[[Tensor], None]


IN_C = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}
"""How errors of PyTorch name the types of gradients."""


# Reading and setting


def get_grad(self: Tensor) -> Tensor | None:
    state = self._autograd
    if state is None:
        return None
    if state.grad is None and not state.retains and needs(self) and node_of(self) is not None:
        warnings.warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want the "
            ".grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
            "Tensor.",
            UserWarning,
            3,
        )
    return state.grad


def set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is None:
        if self._autograd is not None:
            self._autograd.grad = None
        return
    if not isinstance(value, Tensor):
        raise TypeError(
            "assigned grad expected to be a Tensor or None but got grad of type "
            f"{type(value).__name__}"
        )
    if value is self:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.dtype is not self.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{IN_C.get(value.dtype.name)}' to a "
            f"tensor with grad_dtype '{dtypes.DISPLAY[self.dtype.name]}'. The gradient must match "
            "the tensor's grad_dtype (defaults to the tensor's dtype)."
        )
    if value._size != self._size:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._size)}' to a tensor of size "
            f"'{list(self._size)}'. Please ensure that the gradient and the tensor are the same "
            "size"
        )
    state_of(self).grad = value


def get_version(self: Tensor) -> int:
    if self._autograd is not None and self._autograd.is_inference:
        raise RuntimeError("Inference tensors do not track version counter.")
    return version_of(self)


def get_data(self: Tensor) -> Tensor:
    """A tensor that shares the memory, without history and with its own version counter."""
    made = self.detach()
    if mode.inference or made._autograd is not None and made._autograd.is_inference:
        return made
    if calls.recorder is not None:
        state_of(made).cell = [0]
    return made


def set_data(self: Tensor, other: Tensor) -> None:
    """Make the tensor share another tensor's memory, dtype, size and strides from now on.

    Its writes are counted on, apart from those of the other one.
    """
    if not isinstance(other, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(other).__name__}")
    refuse_batches((self, other))
    if needs(self) and other.dtype.kind not in "fc":
        raise RuntimeError(
            "data set to a tensor that requires gradients must be floating point or complex dtype"
        )
    if calls.recorder is not None and other._storage is not self._storage:
        state = state_of(self)
        if state.cell is None:
            state.cell = [version_of(self)]
    self._storage, self.dtype = other._storage, other.dtype
    self._size, self._stride, self._offset = other._size, other._stride, other._offset
    self._view = None
    note_moved(self)


def read_only(name: str) -> Callable[[Tensor, Any], None]:
    def refuse(self: Tensor, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of 'torch._C.TensorBase' objects is not writable")

    return refuse


def delete_grad(self: Tensor) -> None:
    set_grad(self, None)


def refuse_deletion(self: Tensor) -> None:
    raise RuntimeError("the attribute cannot be deleted")


def keep_data(self: Tensor) -> None:
    raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")


def set_grad_fn(self: Tensor, value: Any) -> None:
    if value is not None:
        raise AttributeError("grad_fn is what computed the tensor; it cannot be set")
    detach_(self)


GETTERS: dict[str, Callable[[Tensor], Any]] = {
    "grad_fn": node_of,
    "is_leaf": is_leaf,
    "output_nr": lambda self: 0 if self._autograd is None else self._autograd.output_nr,
    "retains_grad": lambda self: (
        self._autograd is not None and self._autograd.retains and not is_leaf(self)
    ),
    "_base": lambda self: None if self._autograd is None else self._autograd.base,
    "_version": get_version,
    "_post_accumulate_grad_hooks": lambda self: (
        None if self._autograd is None else self._autograd.after_hooks
    ),
}


def set_hooks(self: Tensor, value: dict[int, Any] | None) -> None:
    """Replace all hooks of a leaf; as in PyTorch, those of other tensors stay with their nodes."""
    state_of(self).hooks = value


def get_hooks(self: Tensor) -> dict[int, Any] | None:
    state = self._autograd
    node = node_of(self)
    if state is None or state.hooks is not None or node is None:
        return None if state is None else state.hooks
    return (node.tensor_hooks or {}).get(state.output_nr)


PROPERTIES: dict[str, Property] = {
    **{name: Property(get, read_only(name), refuse_deletion) for name, get in GETTERS.items()},
    "grad": Property(get_grad, set_grad, delete_grad),
    "_grad": Property(get_grad, set_grad, delete_grad),
    "_grad_fn": Property(node_of, set_grad_fn, refuse_deletion),
    "data": Property(get_data, set_data, keep_data),
    "_backward_hooks": Property(get_hooks, set_hooks, refuse_deletion),
}


# Methods


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """`require`, which functions that are transformed may not call."""
    if mode.transforms:
        raise RuntimeError(
            "You are attempting to call Tensor.requires_grad_() (or perhaps using "
            "torch.autograd.functional.* APIs) inside of a function being transformed by a "
            "functorch transform. This is unsupported, please attempt to use the functorch "
            "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside "
            "of a function being transformed instead."
        )
    if requires_grad and self.dtype.kind not in "fc":  # not the words that the attribute has
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return require(self, requires_grad)


def require(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether a leaf requires a gradient.

    Raises RuntimeError for integers and bools, and when turning it off for non-leaf tensors.
    """
    requires_grad = bool(requires_grad)
    state = self._autograd
    if requires_grad and state is not None and state.is_inference and not mode.inference:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )
    if requires_grad and self.dtype.kind not in "fc":
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    if node_of(self) is not None:
        if not requires_grad:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        return self
    if requires_grad:
        activate()
    if requires_grad is not self._requires_grad and shown.get(id(self)) is self:
        turned[id(self)] = self
    self._requires_grad = requires_grad
    if requires_grad and handed.get(id(self)) is self:
        later.give(self)
    return self


def clear_grad(tensor: Tensor, to_none: bool) -> None:
    """Set the gradient of a tensor to None, or to zeros if it has one."""
    state = tensor._autograd
    if state is None or state.grad is None:
        return
    if to_none:
        state.grad = None
    else:
        if state.grad._autograd is not None and node_of(state.grad) is not None:
            detach_(state.grad)
        state.grad._requires_grad = False
        state.grad.zero_()


def detach_(self: Tensor) -> Tensor:
    """Detach the tensor from its graph in place."""
    if mode.levels:
        refuse_batches((self,))
    if shown.get(id(self)) is self:
        turned[id(self)] = self
    state = self._autograd
    if state is not None:
        if state.base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
                "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
                "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
                "function in torch/optim/optimizer.py as the solution."
            )
        state.node, state.output_nr = None, 0
        state.tangents = state.source = None
    self._requires_grad = False
    return self


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Compute the gradients of this tensor, and add them to `grad` of the leaves of its graph.

    gradient: of the tensor itself; 1 for a single number.  inputs: add to these only.
    """
    from .api import backward as run

    run(self, gradient, retain_graph, create_graph, inputs=inputs)


def is_view(self: Tensor) -> bool:
    return self._autograd is not None and self._autograd.base is not None


def refuse_numpy(self: Tensor) -> None:
    if not mode.enabled:
        return
    raise RuntimeError(
        "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
    )


def deepcopy(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A deep copy of a leaf with its gradient.  Raises RuntimeError for non-leaf tensors."""
    if id(self) in memo:
        return memo[id(self)]
    if not is_leaf(self):
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    make, args = self.__reduce__()[:2]
    made = memo[id(self)] = make(*copy.deepcopy(args, memo))
    if self._autograd is not None and self._autograd.grad is not None:
        state_of(made).grad = copy.deepcopy(self._autograd.grad, memo)
    return made


METHODS: dict[str, Callable[..., Any]] = {
    "backward": backward,
    "register_hook": register_hook,
    "register_post_accumulate_grad_hook": register_post_accumulate_grad_hook,
    "requires_grad_": requires_grad_,
    "_require": require,
    "retain_grad": retain_grad,
    "_is_view": is_view,
    "_refuse_numpy": refuse_numpy,
    "__deepcopy__": deepcopy,
}
