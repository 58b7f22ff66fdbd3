"""Eigenvalues and singular values, and functions of them: ranks, pseudoinverses, matrix norms."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..calling import functions as torch
from ..shared.elementwise import DISPLAY, cast
from ..shared.layout import copied, rows
from ..shared.numeric import check_floating
from ..table import composite, declare, describe, primitive
from .linalg import (
    adjoint,
    by_columns,
    check_same,
    inv,
    inv_ex,
    is_vector,
    matrices,
    real_type,
    wrap,
)
from .reduce import vector_norm


@primitive(
    "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", out_memory="free"
)
def eig(self):
    (a,) = matrices("linalg.eig", self, square=True)
    values, vectors = np.linalg.eig(a)
    wide = np.result_type(a.dtype, np.complex64)
    return wrap(values.astype(wide)), by_columns(vectors.astype(wide))


@primitive(
    "aten::linalg_eigvals(Tensor self) -> Tensor", "aten::_linalg_eigvals(Tensor self) -> Tensor"
)
def eigvals(self):
    (a,) = matrices("linalg.eigvals", self, square=True)
    return wrap(np.linalg.eigvals(a).astype(np.result_type(a.dtype, np.complex64)))


@primitive(
    'aten::linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
    out_memory="free",
)
def eigh(self, UPLO):
    (a,) = matrices("linalg.eigh", self, square=True)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    values, vectors = np.linalg.eigh(a, UPLO.upper())
    return wrap(values.astype(real_type(a))), by_columns(vectors)


declare(
    'aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor',
    lambda self, uplo: eigh(self, uplo)[0],
    "primitive",
)


def svd_of(name, A, full_matrices):
    (a,) = matrices(name, A)
    u, s, vh = np.linalg.svd(a, full_matrices)
    return by_columns(u, a), wrap(s.astype(real_type(a))), by_columns(vh, a)


def check_no_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


def linalg_svd(A, full_matrices, driver):
    check_no_driver(driver)
    return svd_of("linalg.svd", A, full_matrices)


declare(
    "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)",
    linalg_svd,
    "primitive",
)


@primitive("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", out_memory="free")
def svdvals(A, driver):
    check_no_driver(driver)
    (a,) = matrices("linalg.svdvals", A)
    return wrap(np.linalg.svd(a, compute_uv=False).astype(real_type(a)))


@primitive(
    "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)"
)
def svd(self, some, compute_uv):
    u, s, vh = svd_of("linalg.svd", self, not some)
    if not compute_uv:
        m, n = self._size[-2:]
        return (
            wrap(np.zeros((*self._size[:-2], m, m), self.dtype.numpy)),
            s,
            wrap(np.zeros((*self._size[:-2], n, n), self.dtype.numpy)),
        )
    return u, s, wrap(adjoint(vh._array))


@primitive(
    'aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', out_memory="free"
)
def qr(A, mode):
    (a,) = matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' "
            "(default), 'r', or 'complete'"
        )
    if mode == "r":
        return wrap(np.empty(0, a.dtype)), by_columns(np.linalg.qr(a, "r"), a)
    q, r = np.linalg.qr(a, mode)
    return by_columns(q, a), by_columns(r, a)


declare(
    "aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    lambda self, some: qr(self, "reduced" if some else "complete"),
    "primitive",
)


@primitive(
    "aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    "aten::orgqr(Tensor self, Tensor input2) -> Tensor",
)
def householder_product(input, tau):
    """The first columns of the product of reflections I - tau v v^H, like LAPACK's orgqr."""
    (a,) = matrices("torch.linalg.householder_product", input)
    m, n = a.shape[-2:]
    if m < n:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than "
            "or equal to input.shape[-1]"
        )
    if tau.dim() != a.ndim - 1 or tau._size[:-1] != input._size[:-2] or tau._size[-1] > n:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected tau to have one dimension "
            f"less than input, but got sizes {list(tau._size)} and "
            f"{list(input._size)}"
        )
    check_same("torch.linalg.householder_product", input, tau)
    q = np.broadcast_to(np.eye(m, n, dtype=a.dtype), a.shape).copy()
    for i in range(tau._size[-1] - 1, -1, -1):
        v = np.concatenate(
            [
                np.zeros((*a.shape[:-2], i), a.dtype),
                np.ones((*a.shape[:-2], 1), a.dtype),
                a[..., i + 1 :, i],
            ],
            -1,
        )
        inner = np.einsum("...m,...mn->...n", v.conj(), q)
        q = q - tau._array[..., i][..., None, None] * v[..., :, None] * inner[..., None, :]
    return by_columns(q, a)


@primitive("aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", out="converts")
def geqrf(self):
    """R and, below its diagonal, the Householder vectors of Q; also their factors tau."""
    (a,) = matrices("torch.geqrf", self)
    packed, tau = np.linalg.qr(a, "raw")
    return by_columns(np.swapaxes(packed, -1, -2), a), wrap(tau, a)


@composite(
    "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
    "transpose=False) -> Tensor",
    out_memory="free",
)
def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    """Multiply by the square Q of geqrf's Householder vectors, or by its adjoint."""
    if self.dim() < 2 or input3.dim() < 2:
        raise RuntimeError("torch.ormqr: input and other must have at least 2 dimensions.")
    side = -2 if left else -1
    if input3.size(side) != self.size(-2):
        raise RuntimeError("torch.ormqr: other.shape[-2 or -1] must be equal to input.shape[-2]")
    if input2.dim() != self.dim() - 1 or input2.size(-1) != min(input3.size(side), self.size(-1)):
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, and "
            "tau.shape[-1] to be equal to min(other.shape[-2], input.shape[-1])"
        )
    missing = self.size(-2) - self.size(-1)
    whole = (
        torch.constant_pad_nd(self, [0, missing])
        if missing > 0
        else self.narrow(-1, 0, self.size(-2))
    )
    q = torch.linalg_householder_product(whole, input2)
    if transpose:
        q = q.transpose(-2, -1).conj()
    product = torch.matmul(q, input3) if left else torch.matmul(input3, q)
    return product.transpose(-2, -1).contiguous().transpose(-2, -1)


# powers, exponentials, ranks, norms


@primitive(
    "aten::linalg_matrix_power(Tensor self, int n) -> Tensor",
    "aten::matrix_power(Tensor self, int n) -> Tensor",
    shape="like_first",
)
def matrix_power(self, n):
    if self.dim() < 2 or self._size[-1] != self._size[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they "
            f"are {'x'.join(map(str, self._size[-2:]))} matrices"
        )
    if n < 0:
        matrices("linalg.matrix_power", self, square=True)
        return matrix_power(inv(self), -n)
    if n == 1:
        return Tensor._wrap(copied(self))
    if self.dtype.kind == "b":
        raise NotImplementedError("\"addmm_impl_cpu_\" not implemented for 'Bool'")
    made = np.linalg.matrix_power(self._array, n).astype(self.dtype.numpy)
    return Tensor._wrap(rows(made))


@primitive(
    "aten::linalg_matrix_exp(Tensor self) -> Tensor", "aten::matrix_exp(Tensor self) -> Tensor"
)
def matrix_exp(self):
    """The matrix exponential, by scaling, a Taylor series in float64 and squaring."""
    (a,) = matrices("linalg.matrix_exp", self, square=True)
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    size = np.abs(wide).sum(-2).max() if a.size else 0.0
    halvings = max(0, math.ceil(math.log2(size)) + 1) if size > 0.5 and math.isfinite(size) else 0
    scaled = wide / 2.0**halvings
    total = np.broadcast_to(np.eye(a.shape[-1], dtype=wide.dtype), wide.shape).copy()
    term = total.copy()
    for k in range(1, 25):
        term = term @ scaled / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return wrap(total, a)


def tolerance(name, x, a, atol, rtol, default_rtol) -> tuple:
    """(absolute, relative) tolerances from numbers, tensors or None."""
    for kind, t in (("atol", atol), ("rtol", rtol)):
        if isinstance(t, Tensor) and t.dtype.kind == "c":
            raise RuntimeError(
                f"torch.linalg.{name}: {kind} tensor of complex type is not supported. "
                f"Got {DISPLAY[t.dtype.name]}"
            )

    def array(t):
        return t._array[..., None] if isinstance(t, Tensor) else t

    if rtol is None:
        given = atol is not None and np.any(np.asarray(array(atol)) > 0)
        rtol = 0.0 if given else default_rtol
    return 0.0 if atol is None else array(atol), array(rtol) if isinstance(rtol, Tensor) else rtol


def spectrum(a: np.ndarray, hermitian: bool) -> np.ndarray:
    return (
        np.sort(np.abs(np.linalg.eigvalsh(a)))[..., ::-1]
        if hermitian
        else np.linalg.svd(a, compute_uv=False)
    )


def rank(self, atol, rtol, hermitian):
    (a,) = matrices("linalg.matrix_rank", self)
    default = float(np.finfo(real_type(a)).eps) * max(a.shape[-2:])
    low, relative = tolerance("matrix_rank", self, a, atol, rtol, default)
    values = spectrum(a, hermitian)
    if not values.shape[-1]:
        return wrap(np.zeros(a.shape[:-2], np.int64))
    bound = np.maximum(low, relative * values.max(-1, keepdims=True))
    return wrap((values > bound).sum(-1).astype(np.int64))


for _args, _f in (
    (
        "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False)",
        lambda x, tol, hermitian: rank(x, tol, 0.0, hermitian),
    ),
    (
        "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False)",
        lambda x, tol, hermitian: rank(x, tol, 0.0, hermitian),
    ),
    (
        "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? "
        "rtol=None, bool hermitian=False)",
        rank,
    ),
    (
        "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
        "bool hermitian=False)",
        rank,
    ),
):
    declare(f"aten::{_args} -> Tensor", _f, "primitive")


def pinv(self, atol, rtol, hermitian):
    """The Moore-Penrose inverse; singular values below the tolerance count as zero."""
    (a,) = matrices("linalg.pinv", self)
    if not a.size:
        return wrap(np.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype))
    default = float(np.finfo(real_type(a)).eps) * max(a.shape[-2:])
    low, relative = tolerance("pinv", self, a, atol, rtol, default)
    if hermitian:  # from the eigenvalues of the lower triangle
        values, vectors = np.linalg.eigh(a)
        s, u, vh = np.abs(values), vectors * np.sign(values)[..., None, :], adjoint(vectors)
    else:
        u, s, vh = np.linalg.svd(a, False)
    bound = np.maximum(low, relative * s.max(-1, keepdims=True))
    inverse = np.where(s > bound, 1 / np.where(s > bound, s, 1), 0)
    return wrap(adjoint(vh) @ (inverse[..., None] * adjoint(u)), a)


for _args, _f in (
    (
        "linalg_pinv(Tensor self, float rcond, bool hermitian=False)",
        lambda x, rcond, hermitian: pinv(x, 0.0, rcond, hermitian),
    ),
    (
        "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False)",
        lambda x, rcond, hermitian: pinv(x, 0.0, rcond, hermitian),
    ),
    (
        "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, "
        "bool hermitian=False)",
        pinv,
    ),
    (
        "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, "
        "bool hermitian=False)",
        pinv,
    ),
    (
        "pinverse(Tensor self, float rcond=1.0000000000000001e-15)",
        lambda x, rcond: pinv(x, 0.0, rcond, False),
    ),
):
    declare(f"aten::{_args} -> Tensor", _f, "primitive")


def matrix_norm(self, ord, dim=(-2, -1), keepdim=False, dtype=None):
    """Matrix norms: "fro", "nuc", 1, 2, inf, -1, -2 and -inf."""
    x = self if dtype is None else cast(self, dtypes.by_code(dtype))
    if x.dim() < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            "linalg.matrix_norm: Expected a floating point or complex tensor as "
            f"input. Got {DISPLAY[x.dtype.name]}"
        )
    if ord == "nuc" and dtypes.is_half(x.dtype):
        raise RuntimeError(
            f"linalg.matrix_norm: Low precision dtypes not supported. Got {DISPLAY[x.dtype.name]}"
        )
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = (wrap_dim(d, x.dim()) for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({rows}, {columns})")
    if ord == "fro":
        return vector_norm(x, 2, [rows, columns], keepdim)
    if ord not in ("nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    a = np.moveaxis(x._array, (rows, columns), (-2, -1))
    if ord in ("nuc", 2, -2):
        s = np.linalg.svd(a, compute_uv=False)
        value = s.sum(-1) if ord == "nuc" else s.max(-1, initial=0) if ord == 2 else s.min(-1)
    else:
        sums = np.abs(a).sum(-2 if abs(ord) == 1 else -1)
        value = sums.max(-1, initial=0) if ord > 0 else sums.min(-1)
    value = np.asarray(value).astype(real_type(a))
    if keepdim:
        value = np.expand_dims(value, sorted((rows, columns)))
    return wrap(value)


_TAIL = "int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None"
declare(
    f"aten::linalg_matrix_norm(Tensor self, Scalar ord, {_TAIL}) -> Tensor",
    matrix_norm,
    "primitive",
)
declare(
    f'aten::linalg_matrix_norm.str_ord(Tensor self, str ord="fro", {_TAIL}) -> Tensor',
    matrix_norm,
    "primitive",
)
declare(
    "aten::nuclear_norm(Tensor self, bool keepdim=False) -> Tensor",
    lambda self, keepdim: matrix_norm(self, "nuc", keepdim=keepdim),
    "primitive",
)
declare(
    "aten::nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor",
    lambda self, dim, keepdim: matrix_norm(self, "nuc", dim, keepdim),
    "primitive",
)


def linalg_norm(self, ord=None, dim=None, keepdim=False, dtype=None):
    if ord is None or (dim is not None and len(dim) == 1) or (dim is None and self.dim() == 1):
        if dim is None and ord is None:
            flat = vector_norm(self, 2, None, keepdim, dtype)
            return flat
        return vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype)
    if dim is None and self.dim() != 2:
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D "
            f"or 2D. Got {self.dim()}D."
        )
    return matrix_norm(self, ord, (-2, -1) if dim is None else dim, keepdim, dtype)


_TAIL = "int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None"
declare(
    f"aten::linalg_norm(Tensor self, Scalar? ord=None, {_TAIL}) -> Tensor", linalg_norm, "primitive"
)
declare(
    f"aten::linalg_norm.ord_str(Tensor self, str ord, {_TAIL}) -> Tensor", linalg_norm, "primitive"
)


def cond(self, p=None):
    if p in (None, 2, -2):
        if not self.numel() and self.dim() > 1:
            return wrap(np.zeros(self._size[:-2], real_type(self._array)))
        s = svdvals(self, None)._array
        with np.errstate(all="ignore"):
            high, low = (s[..., 0], s[..., -1]) if p != -2 else (s[..., -1], s[..., 0])
            return wrap(np.asarray(high / low))
    matrices("linalg.cond", self, square=True)
    inverse, info = inv_ex(self, False)
    value = matrix_norm(self, p)._array * np.where(
        info._array > 0, np.inf, matrix_norm(inverse, p)._array
    )
    return wrap(np.asarray(value).astype(real_type(self._array)))


declare("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", cond, "primitive")
declare("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", cond, "primitive")


@primitive(
    "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    out_memory="free",
)
def lstsq(self, b, rcond, driver):
    """Least squares; results that the driver does not compute are empty."""
    (a,) = matrices("torch.linalg.lstsq", self)
    check_same("torch.linalg.lstsq", self, b)
    driver = driver or "gelsy"
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    vector = is_vector(self, b)
    right = b._array[..., None] if vector else b._array
    m, n = a.shape[-2:]
    bound = float(np.finfo(real_type(a)).eps) * max(m, n) if rcond is None else rcond
    u, s, vh = np.linalg.svd(a, False)
    kept = s > bound * s.max(-1, keepdims=True) if s.shape[-1] else s > 0
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    x = adjoint(vh) @ (inverse[..., None] * (adjoint(u) @ right))
    ranks = kept.sum(-1).astype(np.int64)
    full = m > n and driver != "gelsy" and np.all(ranks == n)
    residuals = (np.abs(a @ x - right) ** 2).sum(-2) if full else np.empty(0)
    nothing = np.empty(0, real_type(a))
    room = np.zeros((*x.shape[:-2], x.shape[-1], max(m, n)), a.dtype)
    solution = np.swapaxes(room, -1, -2)[..., :n, :]  # LAPACK overwrites the right side
    solution[...] = x
    return (
        wrap(x[..., 0], a) if vector else Tensor._wrap(solution),
        wrap(residuals.astype(real_type(a))),
        wrap(ranks) if driver != "gels" else wrap(np.empty(0, np.int64)),
        wrap(s.astype(real_type(a))) if driver in ("gelsd", "gelss") else wrap(nothing),
    )


@primitive(
    "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", out="converts", out_memory="free"
)
def tensorinv(self, ind):
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    head, tail = self._size[:ind], self._size[ind:]
    if math.prod(head) != math.prod(tail):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(tail)} != "
            f"{math.prod(head)}"
        )
    flat = Tensor._wrap(self._array.reshape(math.prod(head), -1))
    return Tensor._wrap(inv(flat)._array.reshape(tail + head))


@primitive(
    "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    out="converts",
    out_memory="free",
)
def tensorsolve(self, other, dims):
    check_floating("linalg.solve", self)
    check_same("linalg.solve", self, other)
    a = self._array
    if dims is not None:
        axes = [wrap_dim(d, a.ndim) for d in dims]
        a = np.moveaxis(a, axes, range(a.ndim - len(axes), a.ndim))
    shape = a.shape[other.dim() :]
    if math.prod(shape) != other.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) "
            f"== prod(self.shape[:other.ndim]), but got {math.prod(shape)} != "
            f"{other.numel()}"
        )
    value = np.linalg.solve(a.reshape(-1, math.prod(shape)), other._array.reshape(-1))
    return wrap(value.reshape(shape), a)


@primitive("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor")
def linalg_vander(x, N):
    if x.dtype.kind == "b":
        raise RuntimeError(
            "linalg.vander supports floating point, complex, and integer tensors, but got Bool"
        )
    n = (x._size[-1] if x._size else 1) if N is None else N
    if n <= 1:
        raise RuntimeError(f"N must be greater than 1, but got {n}")
    a = x._array.astype(np.int64) if x.dtype.kind in "bui" else x._array
    powers = np.atleast_1d(a)[..., None] ** np.arange(n).astype(a.dtype)
    return wrap(rows(powers), a)


describe("nuclear_norm", autocast="full")
describe(
    """linalg_cond linalg_eigvals linalg_householder_product linalg_matrix_power
         linalg_matrix_rank linalg_pinv""",
    out="converts",
)
describe(
    """linalg_cond linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_matrix_exp
         linalg_matrix_norm linalg_matrix_power linalg_matrix_rank linalg_norm linalg_pinv
         linalg_svd""",
    out_memory="free",
)
describe("matrix_exp", shape="like_first")
describe("linalg_lstsq", dynamic_shape=True)
