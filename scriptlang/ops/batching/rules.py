"""Rules for batches: operators of elements, views, joins, and writes of elements."""

from __future__ import annotations

from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..derivatives.tangents import NotMapped
from .call import Call, rule

# Elements


def pointwise(made: Call) -> Any:
    """Dimensions are added behind that of the examples, so that all tensors broadcast."""
    places = [i for i, v in enumerate(made.values) if isinstance(v, Tensor)]
    rank = max(made.rank(i) for i in places)
    parts: dict[int, Any] = {i: made.aligned(i, rank) for i in places}
    if len(places) > 1:
        keep_types(made, parts)
    return made.run(*made.with_parts(parts))


def keep_types(made: Call, parts: dict[int, Any]) -> None:
    """Convert batches of numbers, whose types count less than those of tensors with dimensions."""
    full = {made.values[i].dtype for i in parts if made.rank(i)}
    if len(full) != 1:
        return
    [dtype] = full
    for i, part in parts.items():
        of = part.dtype
        if not made.rank(i) and of is not dtype and "biufc".index(of.kind) <= weight(dtype):
            parts[i] = functions.to(part, dtype)


def weight(dtype: Any) -> int:
    return "biufc".index(dtype.kind)


@rule(
    "alias", "clone", "detach", "to.dtype", "to.dtype_layout", "to.device", "to.prim_dtype",
    "to.prim_Device", "_to_copy", "cpu", "lift", "lift_fresh", "lift_fresh_copy", "zeros_like",
    "ones_like", "full_like", "empty_like", "_conj", "_neg_view", "view_as_real", "view_as_complex",
    "one_hot", "mH", "mH.a", "constant_pad_nd",
)  # fmt: skip
def as_it_is(made: Call) -> Any:
    """The operator does not mind another dimension in front."""
    if not made.only(0) or isinstance(made.batches[0], list):
        raise NotMapped
    if made.op.name == "aten::one_hot" and made.values[1] == -1:
        raise NotMapped
    return made.run(*made.with_parts({0: made.part()}))


@rule("contiguous")
def contiguous(made: Call) -> Any:
    if made.results[0] is made.values[0]:
        return made.part()
    return functions.clone(made.part(), memory_format=0)


@rule("type_as", "to.other", "to.prim_other")
def to_type_of(made: Call) -> Any:
    return functions.to(made.part(), made.values[1].dtype) if 0 in made.batches else made.results[0]


# Views


@rule(
    "view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy", "view_as", "reshape_as",
    "flatten.using_ints", "unflatten.int", "ravel", "squeeze", "squeeze.dim", "squeeze.dims",
    "unsqueeze", "atleast_1d", "atleast_2d", "atleast_3d",
)  # fmt: skip
def reshaped(made: Call) -> Any:
    """Views with the same elements in the same order."""
    if 0 not in made.batches or isinstance(made.batches[0], list):
        raise NotMapped
    return functions.reshape(made.part(), [made.size, *made.results[0]._size])


@rule("expand", "expand_as", "broadcast_to")
def expanded(made: Call) -> Any:
    if 0 not in made.batches:
        raise NotMapped
    size = made.results[0]._size
    return functions.expand(made.aligned(0, len(size)), [made.size, *size])


@rule("permute")
def permuted(made: Call) -> Any:
    rank = made.rank()
    return functions.permute(made.part(), [0, *(d % rank + 1 for d in made.value("dims"))])


@rule("t", "numpy_T", "numpy_T.a")
def turned(made: Call) -> Any:
    return functions.permute(made.part(), [0, *range(made.rank(), 0, -1)])


@rule("mT", "mT.a", "adjoint", "tril", "triu", "pixel_shuffle",
      "pixel_unshuffle", "linalg_inv", "inverse", "linalg_inv_ex", "linalg_det",
      "det", "logdet", "linalg_slogdet", "slogdet", "linalg_cholesky", "cholesky",
      "linalg_cholesky_ex", "linalg_eigh", "linalg_eigvalsh", "linalg_qr", "linalg_svd",
      "linalg_svdvals", "linalg_matrix_exp", "matrix_exp", "linalg_pinv", "pinverse",
      "linalg_lu_factor", "linalg_eig")  # fmt: skip
def of_matrices(made: Call) -> Any:
    """Operators on the last dimensions of as many matrices or images as there are."""
    if not made.only(0) or made.rank() < (3 if "shuffle" in made.op.name else 2):
        raise NotMapped
    return made.run(*made.with_parts({0: made.part()}))


@rule("sum_to_size")
def summed(made: Call) -> Any:
    size = made.results[0]._size
    missing = made.rank() - len(size)
    whole = functions.sum_to_size(made.part(), [made.size, *[1] * missing, *size])
    return functions.reshape(whole, [made.size, *size])


@rule("repeat")
def repeated(made: Call) -> Any:
    repeats = made.values[1]
    return functions.repeat(made.aligned(0, len(repeats)), [1, *repeats])


@rule("tile")
def tiled(made: Call) -> Any:
    given = list(made.values[1])
    given = [1] * (made.rank() - len(given)) + given
    return functions.repeat(made.aligned(0, len(given)), [1, *given])


@rule("as_strided")
def strided(made: Call) -> Any:
    """A view of memory, where the examples lie in it as the first one does."""
    x, batch = made.values[0], made.part()
    size, stride, offset = made.values[1:]
    if batch._stride[1:] != x._stride or offset is None:
        raise NotMapped
    step = batch._stride[0]
    if (made.size - 1) * step and step < x.numel():
        raise NotMapped
    start = batch._offset + offset - x._offset
    return functions.as_strided(batch, [made.size, *size], [step, *stride], start)


@rule("select_backward", "slice_backward")
def put_back(made: Call) -> Any:
    if not made.only(0):
        raise NotMapped
    size, dim = made.values[1], made.values[2]
    parts = {0: made.part(), 1: [made.size, *size], 2: dim % len(size) + 1}
    return made.run(*made.with_parts(parts))


# Joins


@rule("cat", "concat", "concatenate", "stack")
def joined(made: Call) -> Any:
    values, batches = made.values[0], made.batches[0]
    rank = len(values[0]._size)
    if any(len(v._size) != rank for v in values):
        raise NotMapped
    parts = [made.repeated(v) if b is None else b for v, b in zip(values, batches)]
    if made.op.name == "aten::stack":
        rank += 1
    dim = made.values[1]
    return made.run(parts, dim - rank if dim >= 0 else dim)


@rule("masked_fill.Tensor")
def filled(made: Call) -> Any:
    rank = max(made.rank(0), made.rank(1))
    value = functions.to(made.aligned(2, rank), made.values[0].dtype)
    return functions.where(made.aligned(1, rank), value, made.aligned(0, rank))


@rule("new_zeros", "new_ones", "new_empty", "new_full")
def fresh(made: Call) -> Any:
    """New tensors for each example, so that they may be written."""
    if not made.only(0):
        raise NotMapped
    return made.run(*made.with_parts({0: made.part(), 1: [made.size, *made.values[1]]}))


@rule("new_empty_strided")
def fresh_strided(made: Call) -> Any:
    """Each example lies in memory as one alone does."""
    if not made.only(0):
        raise NotMapped
    size, stride = made.values[1], made.values[2]
    step = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    parts = {0: made.part(), 1: [made.size, *size], 2: [step, *stride]}
    return made.run(*made.with_parts(parts))


@rule("broadcast_tensors")
def broadcast(made: Call) -> Any:
    size = made.results[0]._size
    found = []
    for value, batch in zip(made.values[0], made.batches[0]):
        whole = made.repeated(value) if batch is None else batch
        missing = len(size) - len(value._size)
        whole = functions.reshape(whole, [made.size, *[1] * missing, *value._size])
        found.append(functions.expand(whole, [made.size, *size]))
    return found


# Writes of elements


@rule(
    "copy_", "fill_", "fill_.Scalar", "fill_.Tensor", "zero_", "masked_fill_", "mul_.Scalar",
    "multiply_.Scalar", "pow_", "abs_", "absolute_", "floor_divide_", "float_power_", "polygamma_",
    "__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__",
)  # fmt: skip
def written(made: Call) -> Any:
    """Operators that write each element of the first argument."""
    rank = made.rank()
    if made.op.overload == "Tensor" and made.op.name in ("aten::fill_", "aten::masked_fill_"):
        value = functions.to(made.aligned(len(made.values) - 1, rank), made.part().dtype)
        if made.op.name == "aten::masked_fill_":
            value = functions.where(made.aligned(1, rank), value, made.part())
        return functions.copy_(made.part(), value)
    places = [i for i, v in enumerate(made.values) if isinstance(v, Tensor)]
    return made.run(*made.with_parts({i: made.aligned(i, rank) for i in places}))
