"""Matrix products by numpy's BLAS; half types are computed in float32."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ... import dtypes
from ...tensors import Tensor
from ..calling import functions as torch
from ..shared.elementwise import cast, check_factor, check_fits, lying, unsupported
from ..shared.layout import rows
from ..shared.numeric import check_same_dtype, finish, working
from ..table import composite, declare, describe, primitive
from .arithmetic import check_alpha
from .reduce import sum_dim


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b.  Raises NotImplementedError for bool matrices, as PyTorch does."""
    if a.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    with np.errstate(all="ignore"):
        return np.matmul(a, b)


def sizes(*tensors: Tensor) -> str:
    return " and ".join("x".join(map(str, t._size)) for t in tensors)


@primitive(
    "aten::mm(Tensor self, Tensor mat2) -> Tensor", autocast="reduced", weight=1, out_memory="free"
)
def mm(self, mat2):
    if self.dim() != 2 or mat2.dim() != 2:
        which = "self" if self.dim() != 2 else "mat2"
        raise RuntimeError(
            f"{which} must be a matrix, got shapes {list(self._size)} and {list(mat2._size)}"
        )
    if self._size[1] != mat2._size[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes(self, mat2)})")
    check_same_dtype("expected m1 and m2", self, mat2)
    return finish(rows(product(working(self), working(mat2))), self.dtype)


@primitive(
    "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
    autocast="reduced",
    layout="hides",
    out_memory="free",
)
def bmm(self, mat2):
    check_batches(self, mat2)
    return finish(rows(product(working(self), working(mat2))), self.dtype)


def check_batches(a: Tensor, b: Tensor) -> None:
    for name, x in (("batch1", a), ("batch2", b)):
        if x.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, got size {list(x._size)}")
    if a._size[0] != b._size[0] or a._size[2] != b._size[1]:
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{a._size[0]}, {a._size[2]}] but got: [{b._size[0]}, {b._size[1]}]."
        )
    check_same_dtype("expected m1 and m2", a, b)


@primitive("aten::dot(Tensor self, Tensor tensor) -> Tensor", autocast="full")
def dot(self, tensor):
    check_vectors(self, tensor)
    if self.dtype.kind == "b":
        raise unsupported("dot", self.dtype)
    return finish(np.dot(working(self), working(tensor)), self.dtype)


@primitive("aten::vdot(Tensor self, Tensor other) -> Tensor")
def vdot(self, other):
    check_vectors(self, other)
    if self.dtype is dtypes.bool:
        raise unsupported("dot", self.dtype)
    return finish(np.vdot(working(self), working(other)), self.dtype)


def check_vectors(a: Tensor, b: Tensor) -> None:
    if a.dim() != 1 or b.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.dim()}D and {b.dim()}D tensors")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {a.dtype} and {b.dtype}"
        )
    if a._size != b._size:
        raise RuntimeError(
            "inconsistent tensor size, expected tensor "
            f"{list(a._size)} and src {list(b._size)} to have the same number of "
            f"elements, but got {a._size[0]} and {b._size[0]} elements respectively"
        )


@primitive("aten::mv(Tensor self, Tensor vec) -> Tensor", autocast="reduced", out_memory="free")
def mv(self, vec):
    if self.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {self.dim()}, {vec.dim()}")
    if self._size[1] != vec._size[0]:
        raise RuntimeError(
            f"size mismatch, got input ({self._size[0]}), mat ({sizes(self)}), vec ({vec._size[0]})"
        )
    check_same_dtype("expected matrix and vector", self, vec)
    return finish(product(working(self), working(vec)), self.dtype)


@primitive(
    "aten::matmul(Tensor self, Tensor other) -> Tensor",
    "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor",
    autocast="reduced",
    out_memory="free",
)
def matmul(self, other):
    """numpy's matmul: vectors are promoted to matrices, leading dimensions broadcast."""
    if not self.dim() or not other.dim():
        raise RuntimeError(
            "both arguments to matmul need to be at least 1D, but they are "
            f"{self.dim()}D and {other.dim()}D"
        )
    if self.dim() == other.dim() == 1:
        return dot(self, other)
    inner = other._size[-2 if other.dim() > 1 else 0]
    if self._size[-1] != inner:
        if self.dim() <= 2 and other.dim() == 1:
            raise RuntimeError(
                f"size mismatch, got input ({self._size[0]}), mat ({sizes(self)}), vec ({inner})"
            )
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes(self, other)})")
    check_same_dtype("expected m1 and m2", self, other)
    try:
        return finish(rows(product(working(self), working(other))), self.dtype)
    except ValueError:
        raise RuntimeError(
            "matmul: the leading dimensions do not broadcast: "
            f"{list(self._size)} and {list(other._size)}"
        ) from None


@primitive(
    "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    autocast="reduced",
    weight=1,
    out_memory="free",
)
def linear(input, weight, bias):
    """input @ weight.T + bias; weight is (out, in), or (in) for results without that dimension."""
    if weight.dim() > 2 or not weight.dim() or not input.dim():
        raise RuntimeError(
            "linear: weight must have 1 or 2 dimensions, got shapes "
            f"{list(input._size)} and {list(weight._size)}"
        )
    if input._size[-1] != weight._size[-1]:
        count = input.numel() // max(input._size[-1], 1)
        shape = "x".join(map(str, reversed(weight._size)))
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({count}x{input._size[-1]} and {shape})"
        )
    check_same_dtype("expected m1 and m2", input, weight, bias)
    result = product(working(input), working(weight).T)
    if bias is not None and bias.dim() > max(result.ndim, 1):
        raise RuntimeError(
            f"linear: a bias of sizes {list(bias._size)} does not fit a result of sizes "
            f"{list(result.shape)}"
        )
    if bias is not None:
        result = result + working(bias)
    return finish(rows(result), input.dtype)


def scaled_sum(self: Tensor, result: np.ndarray, beta, alpha) -> Tensor:
    """beta * self + alpha * result; with beta = 0, self is ignored, nan included."""
    dtype = self.dtype
    check_factor(alpha, dtype)
    check_factor(beta, dtype)
    if alpha != 1:
        result = result * result.dtype.type(alpha)
    bias = working(self)
    try:
        bias = np.broadcast_to(bias, result.shape)
    except ValueError:
        raise RuntimeError(
            f"The expanded size of the tensor {list(result.shape)} must match the "
            f"existing size {list(self._size)}"
        ) from None
    if beta == 0:
        return finish(rows(result), dtype)
    with np.errstate(all="ignore"):
        bias = bias if beta == 1 else bias * bias.dtype.type(beta)
        return finish(rows(bias + result), dtype)


def addmm(self, mat1, mat2, beta, alpha):
    check_same_dtype("self and mat2 must", self, mat2)
    if mat1.dim() != 2 or mat2.dim() != 2:
        raise RuntimeError(f"mat1 and mat2 must be matrices, got {mat1.dim()}-D and {mat2.dim()}-D")
    if mat1._size[1] != mat2._size[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes(mat1, mat2)})")
    check_same_dtype("expected mat1 and mat2", mat1, mat2)
    return scaled_sum(self, product(working(mat1), working(mat2)), beta, alpha)


def baddbmm(self, batch1, batch2, beta, alpha):
    check_batches(batch1, batch2)
    check_same_dtype("Input", self, batch1)
    return scaled_sum(self, product(working(batch1), working(batch2)), beta, alpha)


def addbmm(self, batch1, batch2, beta, alpha):
    check_batches(batch1, batch2)
    check_same_dtype("Input", self, batch1)
    products = product(working(batch1), working(batch2))
    if self.dtype.itemsize > 2 or not len(products):
        return scaled_sum(self, products.sum(0), beta, alpha)
    for i, one in enumerate(products):  # half types are rounded after each matrix
        self = scaled_sum(self, one, 1 if i else beta, alpha)
    return self


def addmv(self, mat, vec, beta, alpha):
    mv(mat, vec)
    check_fits(alpha, self.dtype)
    check_fits(beta, self.dtype)
    return scaled_sum(self, product(working(mat), working(vec)), beta, alpha)


def addr(self, vec1, vec2, beta, alpha):
    if vec1.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            f"addr: Expected 1-D arguments vec1 and vec2, but got {vec1.dim()}-D and {vec2.dim()}-D"
        )
    common = dtypes.result_type(self, vec1, vec2)
    self, vec1, vec2 = (cast(t, common) for t in (self, vec1, vec2))
    check_alpha(self.dtype, alpha, beta)
    if dtypes.is_half(self.dtype):
        return stepwise_addr(self, vec1, vec2, beta, alpha)
    made = scaled_sum(self, np.multiply.outer(working(vec1), working(vec2)), beta, alpha)
    column = vec1._as_view((*vec1._size, 1), (*vec1._stride, 1), vec1._offset)
    return lying(made._array, None, self, column, vec2)


def stepwise_addr(self, vec1, vec2, beta, alpha):
    """addr of half types, which rounds after every step, the factors included."""

    def rounded(a):
        return np.asarray(a, self.dtype.numpy)

    first = rounded(vec1._array.astype(np.float32) * rounded(alpha).astype(np.float32))
    result = rounded(np.multiply.outer(first.astype(np.float32), vec2._array.astype(np.float32)))
    if beta != 0:
        bias = rounded(self._array.astype(np.float32) * rounded(beta).astype(np.float32))
        result = rounded(bias.astype(np.float32) + result.astype(np.float32))
    return Tensor._wrap(result)


for _name, _kernel, _first, _second in (
    ("addmm", addmm, "mat1", "mat2"),
    ("baddbmm", baddbmm, "batch1", "batch2"),
    ("addbmm", addbmm, "batch1", "batch2"),
    ("addmv", addmv, "mat", "vec"),
    ("addr", addr, "vec1", "vec2"),
):
    declare(
        f"aten::{_name}(Tensor self, Tensor {_first}, Tensor {_second}, *, Scalar beta=1, "
        "Scalar alpha=1) -> Tensor",
        _kernel,
        "primitive",
    )


@composite(
    "aten::outer(Tensor self, Tensor vec2) -> Tensor",
    "aten::ger(Tensor self, Tensor vec2) -> Tensor",
    out="converts",
)
def outer(self: Tensor, vec2: Tensor) -> Tensor:
    if self.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            "outer: Expected 1-D arguments self and vec2, but got {}-D and {}-D".format(
                self.dim(), vec2.dim()
            )
        )
    return self.unsqueeze(1) * vec2


@composite("aten::inner(Tensor self, Tensor other) -> Tensor", out="converts")
def inner(self: Tensor, other: Tensor) -> Tensor:
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    if self.size(-1) != other.size(-1):
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got "
            "shapes {} and {}".format(self.size(), other.size())
        )
    shape = self.size()[:-1] + other.size()[:-1]
    rows = 1
    for n in other.size()[:-1]:
        rows = rows * n
    return torch.matmul(self, other.reshape([rows, other.size(-1)]).t()).reshape(shape)


@composite("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", out_memory="free")
def linalg_vecdot(x: Tensor, y: Tensor, dim: int = -1) -> Tensor:
    if not torch.is_floating_point(x) and not torch.is_complex(x) or x.dtype != y.dtype:
        raise RuntimeError("linalg.vecdot: Expected floating point or complex vectors of one dtype")
    return torch.sum(torch.conj(x) * y, [dim])


@composite(
    "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    autocast="full",
    out_memory="free",
)
def tensordot(self: Tensor, other: Tensor, dims_self: list[int], dims_other: list[int]) -> Tensor:
    if len(dims_self) != len(dims_other):
        raise RuntimeError(
            "tensordot: both dimension lists should have same length, got {} and {}".format(
                dims_self, dims_other
            )
        )
    summed: list[int] = []
    other_summed: list[int] = []
    size = 1
    for i in range(len(dims_self)):
        a = dims_self[i] + self.dim() if dims_self[i] < 0 else dims_self[i]
        b = dims_other[i] + other.dim() if dims_other[i] < 0 else dims_other[i]
        if self.size(a) == 1:  # a dimension of size 1 broadcasts
            other = torch.sum(other, [b], True, dtype=other.dtype)
        elif other.size(b) == 1:
            self = torch.sum(self, [a], True, dtype=self.dtype)
        elif self.size(a) != other.size(b):
            raise RuntimeError(
                "contracted dimensions need to match, but first has size {} in dim "
                "{} "
                "and second has size {} in dim {}".format(self.size(a), a, other.size(b), b)
            )
        summed.append(a)
        other_summed.append(b)
        size = size * self.size(a)
    order: list[int] = []
    shape: list[int] = []
    for d in range(self.dim()):
        if d not in summed:
            order.append(d)
            shape.append(self.size(d))
    rest: list[int] = []
    columns = 1
    for d in range(other.dim()):
        if d not in other_summed:
            rest.append(d)
            shape.append(other.size(d))
            columns = columns * other.size(d)
    rows = 1
    for d in order:
        rows = rows * self.size(d)
    a = self.permute(order + summed).reshape([rows, size])
    b = other.permute(other_summed + rest).reshape([size, columns])
    return torch.mm(a, b).reshape(shape)


@primitive(
    "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", may_share=True
)
def einsum(equation, tensors, path):
    """numpy's einsum, contracted pairwise; spaces are allowed and `...` broadcasts."""
    if not tensors:
        raise RuntimeError("einsum(): must provide at least one operand")
    equation = equation.replace(" ", "")
    inputs = equation.partition("->")[0]
    if inputs.count(",") + 1 != len(tensors):
        raise RuntimeError(
            f"einsum(): {inputs.count(',') + 1} subscripts were given for "
            f"{len(tensors)} operands in {equation!r}"
        )
    equation, tensors = summed_alone(equation, tensors)
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        if contracts(equation, tensors):
            check_same_dtype("einsum(): expected operands", *tensors)
        tensors = [cast(t, reduce(dtypes.promote, [t.dtype for t in tensors])) for t in tensors]
    plain = rearranged(equation, tensors)
    if plain is not None:
        return plain
    try:
        with np.errstate(all="ignore"):
            result = np.einsum(equation, *map(working, tensors), optimize=len(tensors) > 1)
    except ValueError as error:
        shapes = ", ".join(str(list(t._size)) for t in tensors)
        raise RuntimeError(
            f"einsum(): {equation!r} does not fit operands of shapes {shapes}: {error}"
        ) from None
    return finish(np.array(result, order="C"), tensors[0].dtype)


def summed_alone(equation: str, tensors) -> tuple[str, list[Tensor]]:
    """Sum integer operands over the dimensions that only they have, before the product.

    Such sums are int64, as all sums of integers are.  Returns the remaining equation and operands.
    """
    inputs, arrow, output = equation.partition("->")
    parts = inputs.split(",")
    if "." in equation or not arrow:
        return equation, list(tensors)
    made = []
    for k, t in enumerate(tensors):
        labels = parts[k]
        others = "".join(
            label
            for j, part in enumerate(parts)
            if j != k
            for label, n in zip(part, tensors[j]._size)
            if n != 1
        )
        alone = [d for d, label in enumerate(labels) if label not in output + others]
        if t.dtype.kind not in "bui" or not alone or len(labels) != t.dim():
            pass  # unchanged, or an error follows
        elif len(set(labels)) != len(labels):
            t = cast(t, dtypes.int64)
        elif len(parts) == 1 or any(t._size[d] != 1 for d in alone):
            t = sum_dim(t, alone)
            parts[k] = "".join(x for d, x in enumerate(labels) if d not in alone)
        made.append(t)
    return ",".join(parts) + "->" + output, made


def rearranged(equation: str, tensors) -> Tensor | None:
    """The result of an einsum that sums nothing, or None for others.

    It is a view of one operand, or the product of two, with their dimension order in memory.
    """
    inputs, _, output = equation.partition("->")
    parts = inputs.split(",")
    if (
        "->" not in equation
        or "." in equation
        or len(parts) > 2
        or sorted(output) != sorted(set(output))
        or set(output) != set(inputs) - {","}
        or any(len(labels) != t.dim() for labels, t in zip(parts, tensors))
    ):
        return None
    views = []
    for labels, t in zip(parts, tensors):
        labels, t = diagonals(labels, t)
        if t is None:
            return None
        at = [labels.find(label) for label in output]
        views.append(
            t._as_view(
                [t._size[d] if d >= 0 else 1 for d in at],
                [t._stride[d] if d >= 0 else 0 for d in at],
                t._offset,
            )
        )
    if len(views) == 1:
        return views[0]
    try:
        made = finish(np.multiply(*map(working, views)), tensors[0].dtype)
    except ValueError:  # sizes do not match: einsum raises
        return None
    return lying(made._array, None, *views)


def diagonals(labels: str, t: Tensor) -> tuple[str, Tensor | None]:
    """A view by diagonals, in which each label occurs once; None if sizes of a label differ."""
    once = list(dict.fromkeys(labels))
    places = [[d for d, label in enumerate(labels) if label == o] for o in once]
    if any(t._size[d] != t._size[p[0]] for p in places for d in p):
        return labels, None
    return "".join(once), t._as_view(
        [t._size[p[0]] for p in places], [sum(t._stride[d] for d in p) for p in places], t._offset
    )


def contracts(equation: str, tensors) -> bool:
    """Whether a dimension of several operands is summed: only elementwise products mix types."""
    inputs, arrow, output = equation.partition("->")
    for label in filter(str.isalpha, set(inputs)):
        if label in output if arrow else inputs.count(label) == 1:
            continue
        wide = 0
        for labels, t in zip(inputs.split(","), tensors):
            if label in labels:
                before, _, after = labels.partition("...")
                at = before.index(label) if label in before else after.index(label) - len(after)
                wide += t._size[at] > 1
        if wide > 1:
            return True
    return False


@composite(
    "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    autocast="full",
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is not None and bias.dim() > 0 and bias.size(-1) != weight.size(0):
        raise RuntimeError(
            "bilinear(): bias size does not match weight size: got {} but expected {}".format(
                bias.size(-1), weight.size(0)
            )
        )
    out = torch.einsum("...i,kij,...j->...k", [input1, weight, input2])
    if bias is not None:
        out = out + bias
    return out


@composite("aten::chain_matmul(Tensor[] matrices) -> Tensor", may_share=True)
def chain_matmul(matrices: list[Tensor]) -> Tensor:
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError("Tensor dimension is {}, expected 2 instead.".format(matrix.dim()))
    if len(matrices) == 0:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return matrices[0] if len(matrices) == 1 else torch.linalg_multi_dot(matrices)


@composite("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", may_share=True)
def multi_dot(tensors: list[Tensor]) -> Tensor:
    if len(tensors) < 2:
        raise RuntimeError(
            "multi_dot(): expected at least 2 tensors but got {}".format(len(tensors))
        )
    for i in range(len(tensors)):
        least = 1 if i == 0 or i == len(tensors) - 1 else 2
        if tensors[i].dim() < least or tensors[i].dim() > 2:
            raise RuntimeError(
                "multi_dot(): tensor {} must be {} but got {}D".format(
                    i, "1D or 2D" if least == 1 else "2D", tensors[i].dim()
                )
            )
    result = tensors[0]
    for i in range(1, len(tensors)):
        result = torch.matmul(result, tensors[i])
    return result


@composite("aten::kron(Tensor self, Tensor other) -> Tensor", out="converts", out_memory="apart")
def kron(self: Tensor, other: Tensor) -> Tensor:
    n = max(self.dim(), other.dim())
    left: list[int] = []
    right: list[int] = []
    shape: list[int] = []
    for d in range(n):
        i = d - (n - self.dim())
        j = d - (n - other.dim())
        a = self.size(i) if i >= 0 else 1
        b = other.size(j) if j >= 0 else 1
        left += [a, 1]
        right += [1, b]
        shape.append(a * b)
    return (self.reshape(left) * other.reshape(right)).reshape(shape)


describe(
    """addbmm addmm addmv addr baddbmm bmm.dtype bmm.dtype_out mm.dtype mm.dtype_out""",
    autocast="reduced",
)
describe("baddbmm. matmul", layout="hides")
describe("einsum.sublist", may_share=True)
describe("addr", out="converts")
describe("outer", out_memory="apart")
describe("linalg_multi_dot", out_memory="free")
describe("matmul mm.dtype mm.dtype_out", weight=1)
describe("addmm", weight=2)
