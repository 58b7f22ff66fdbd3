"""Functions that PyTorch has in Python only, or with another signature than in programs.

`nonzero(x, as_tuple=True)`, `meshgrid(a, b)`, `einsum("ij,jk", a, b)`, `x.float()`: all call
operators of the table.  Programs in the language do not use them: the front end has its own
definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from ... import dtypes
from ...lazy_numpy import is_loaded as numpy_is_loaded
from ...lazy_numpy import np
from ...tensors import Size, Tensor
from ...tensors import as_tensor as shared_tensor
from .. import table
from . import current, functions, options
from .creation import is_regular, requiring
from .dispatch import call
from .kernels import kernel_of


def of_tensors(name: str) -> Callable[..., Any]:
    """Make a function that takes tensors as a list or as separate arguments."""

    def function(*tensors: Any, **kwargs: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            tensors = tuple(tensors[0])
        return call(f"aten::{name}", (list(tensors),), kwargs)

    return named(function, name)


def at_least(name: str) -> Callable[..., Any]:
    """Make a function such as `atleast_2d`, of one tensor, or of several as a list or arguments."""

    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return call(f"aten::{name}", tensors)
        if len(tensors) == 1:
            tensors = tuple(tensors[0])
        return tuple(call(f"aten::{name}", (list(tensors),)))

    return named(function, name)


def named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = functions.described(f"aten::{name}")
    return function


def einsum(equation: Any, *operands: Any) -> Any:
    """Sums of products by an equation: `einsum("ij,jk->ik", a, b)`, or with operands as a list."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return call("aten::einsum", (equation, list(operands)))


def tensordot(a: Any, b: Any, dims: Any = 2, out: Any = None) -> Any:
    """Contract dimensions of two tensors.

    dims: how many dimensions to contract, or a pair of lists of them, or a Tensor of either.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = list(range(-dims, 0)), list(range(dims))
    of_a, of_b = dims
    given = (a, b, list(of_a), list(of_b))
    return call("aten::tensordot", given, {} if out is None else {"out": out})


def nonzero(input: Any, *, as_tuple: Any = False) -> Any:
    """The indices of nonzero elements.

    They are the rows of one tensor, or with `as_tuple` one tensor for each dimension.
    """
    return (
        tuple(call("aten::nonzero_numpy", (input,)))
        if as_tuple
        else call("aten::nonzero", (input,))
    )


def where(condition: Any, *values: Any, out: Any = None) -> Any:
    """Elementwise choice between two values; for a condition alone, the indices where it holds."""
    if out is not None:
        return call("aten::where", (condition, *values), {"out": out})
    return (
        call("aten::where", (condition, *values))
        if values
        else tuple(call("aten::where", (condition,)))
    )


def norm(
    input: Any, p: Any = "fro", dim: Any = None, keepdim: Any = False, dtype: Any = None
) -> Any:
    """The p-norm of all elements or over `dim`; "nuc" is the sum of singular values."""
    if p == "nuc":
        args = (input, keepdim) if dim is None else (input, dim, keepdim)
        return call("aten::nuclear_norm", args)
    if p in ("fro", None):
        p = 2
    return call("aten::linalg_vector_norm", (input, p, dim, keepdim), {"dtype": dtype})


def unique(
    input: Any,
    sorted: Any = True,
    return_inverse: Any = False,
    return_counts: Any = False,
    dim: Any = None,
) -> Any:
    """The distinct elements, or slices along `dim`.

    Returns a tuple with their inverse indices and counts if these are asked for.
    """
    result = (
        call("aten::_unique2", (input, sorted, return_inverse, return_counts))
        if dim is None
        else call("aten::unique_dim", (input, dim, sorted, return_inverse, return_counts))
    )
    return _wanted(result, return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: Any = False, return_counts: Any = False, dim: Any = None
) -> Any:
    """The first of each run of equal elements, or of slices along `dim`.

    Returns a tuple with their inverse indices and counts if these are asked for.
    """
    result = call("aten::unique_consecutive", (input, return_inverse, return_counts, dim))
    return _wanted(result, return_inverse, return_counts)


def _wanted(result: Any, inverse: bool, counts: bool) -> Any:
    chosen = [result[0], *([result[1]] if inverse else []), *([result[2]] if counts else [])]
    return tuple(chosen) if len(chosen) > 1 else chosen[0]


def split(tensor: Any, split_size_or_sections: Any, dim: Any = 0) -> Any:
    """Split along `dim` into views of one size, or of a list of sizes."""
    return tuple(call("aten::split", (tensor, split_size_or_sections, dim)))


def tuple_of(name: str) -> Callable[..., Any]:
    """Make a function that returns the operator's list of views as a tuple."""

    def function(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return tuple(call(f"aten::{name}", args, kwargs))

    return named(function, name)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A new tensor from a number, nested lists, an array, or another tensor."""
    place(device)
    code = None if dtype is None else chosen_dtype("tensor", dtype).code
    # To import numpy takes longer than to load a model and to call it once; for many numbers, it is
    # fast once it is there.
    if is_regular(data, 64 if numpy_is_loaded() else inf):
        op: Any = table.find("aten::tensor", "" if isinstance(data, list) else type(data).__name__)
        made = kernel_of(op)(data, code, None, False)
    else:
        from ..families.create import from_list

        given = None if isinstance(data, (list, tuple)) else shared_tensor(data)
        made = from_list(data if given is None else given, code)
    if current.mode.inference and current.marks:
        current.marks[0](made)
    return requiring(made) if requires_grad else made


def place(device: Any) -> None:
    """Raise if a device is given that is not the CPU."""
    if device is not None:
        options.device_argument(device)


def chosen_dtype(function: str, dtype: Any) -> dtypes.DType:
    """The given dtype: one of ours, torch's or Python's, or its number in programs."""
    if options.is_code(dtype):
        return dtypes.by_code(dtype)
    found = None if isinstance(dtype, str) else options.find_dtype(dtype)
    if found is None:
        raise TypeError(
            f"{function}(): argument 'dtype' must be a dtype such as "
            f"scriptlang.float32, not {options.shown(dtype)}"
        )
    return found


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """The tensor itself, one that shares the array's memory, or a new one from numbers."""
    place(device)
    given = None if isinstance(data, (list, tuple)) else shared_tensor(data)
    if given is None:
        return tensor(data, dtype=dtype)
    return given if dtype is None else call("aten::to", (given, chosen_dtype("as_tensor", dtype)))


def result_type(*operands: Any) -> Any:
    """The dtype of an operator's result for such tensors and numbers."""
    return dtypes.result_type(*operands)


def promote_types(a: Any, b: Any) -> Any:
    """The smallest dtype that both can be converted to."""
    return dtypes.promote(dtypes.as_dtype(a), dtypes.as_dtype(b))


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor."""
    return isinstance(value, Tensor)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that shapes broadcast to.  Raises RuntimeError if they do not broadcast."""
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    try:
        return Size(np.broadcast_shapes(*given))
    except ValueError as e:
        raise RuntimeError(f"broadcast_shapes: {e}") from None


def stft(
    input: Any,
    n_fft: Any,
    hop_length: Any = None,
    win_length: Any = None,
    window: Any = None,
    center: Any = True,
    pad_mode: Any = "reflect",
    normalized: Any = False,
    onesided: Any = None,
    return_complex: Any = None,
) -> Any:
    """The short-time Fourier transform of a signal, as aten::stft computes it."""
    return call(
        "aten::stft",
        (
            input,
            n_fft,
            hop_length,
            win_length,
            window,
            center,
            pad_mode,
            normalized,
            onesided,
            return_complex,
        ),
    )


TUPLES = ("chunk", "unbind", "split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit")
"""Functions that return a tuple, while programs in the language get a list."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        einsum,
        tensordot,
        nonzero,
        where,
        norm,
        unique,
        unique_consecutive,
        split,
        tensor,
        as_tensor,
        result_type,
        promote_types,
        is_tensor,
        broadcast_shapes,
        stft,
    )
}
FUNCTIONS.update(
    {
        name: of_tensors(name)
        for name in ("broadcast_tensors", "block_diag", "cartesian_prod", "meshgrid")
    }
)
FUNCTIONS.update({name: at_least(name) for name in ("atleast_1d", "atleast_2d", "atleast_3d")})
FUNCTIONS.update({name: tuple_of(name) for name in TUPLES})
"""Functions of `scriptlang.*` whose signature differs from the operator's."""


def __getattr__(name: str) -> Any:
    """A public function by name: one of the above, else the operator."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    return getattr(functions, name)
