"""Derivatives of eigenvalues, SVD, QR and pseudoinverse, and matrix norms composed of them."""

from __future__ import annotations

from numbers import Number

from ....tensors import Tensor
from ...calling import functions as torch


def gaps(values: Tensor) -> Tensor:
    """values[column] - values[row], with ones on the diagonal."""
    unit = torch.eye(values.size(-1), dtype=values.dtype)
    return values.unsqueeze(-2) - values.unsqueeze(-1) + unit


def without_diagonal(x: Tensor) -> Tensor:
    return x * (1 - torch.eye(x.size(-1), dtype=x.dtype))


def eigh_gradient(
    of_values: Tensor | None, of_vectors: Tensor | None, values: Tensor, vectors: Tensor
) -> Tensor | None:
    if of_vectors is None:
        if of_values is None:
            return None
        return (vectors * of_values.unsqueeze(-2)).matmul(vectors.adjoint())
    along = 0.5 * skew(vectors.adjoint().matmul(of_vectors))
    inner = without_diagonal(along) / gaps(values)
    if of_values is not None:
        inner = inner + torch.diag_embed(of_values)
    return vectors.matmul(inner).matmul(vectors.adjoint())


def eigvalsh_gradient(grad: Tensor, a: Tensor, uplo: str) -> Tensor | None:
    values, vectors = torch.linalg_eigh(a, uplo)
    return eigh_gradient(grad, None, values, vectors)


def eig_gradient(
    of_values: Tensor | None, of_vectors: Tensor | None, values: Tensor, vectors: Tensor
) -> Tensor | None:
    """The gradient of eig.

    Eigenvectors have unit length, so the component of their gradient along them is removed.
    """
    turned = vectors.adjoint()
    if of_vectors is None:
        if of_values is None:
            return None
        return torch.linalg_solve(turned, of_values.unsqueeze(-1) * turned)
    along = turned.matmul(of_vectors)
    own = torch.real(along.diagonal(0, -2, -1)).unsqueeze(-2)
    inner = without_diagonal(along - turned.matmul(vectors * own)) / gaps(values).conj()
    if of_values is not None:
        inner = inner + torch.diag_embed(of_values)
    return torch.linalg_solve(turned, inner.matmul(turned))


def skew(x: Tensor) -> Tensor:
    return x - x.adjoint()


def svd_gradient(
    grad_u: Tensor | None,
    grad_s: Tensor | None,
    grad_vh: Tensor | None,
    u: Tensor,
    s: Tensor,
    vh: Tensor,
) -> Tensor | None:
    """The gradient of an SVD by the first min(m, n) singular vectors; the others are arbitrary."""
    k, m, n = s.size(-1), u.size(-2), vh.size(-1)
    u, vh = u.narrow(-1, 0, k), vh.narrow(-2, 0, k)
    if grad_u is None and grad_vh is None:
        if grad_s is None:
            return None
        return (u * grad_s.unsqueeze(-2)).matmul(vh)
    inner = torch.zeros([1], dtype=u.dtype)
    outer = torch.zeros([1], dtype=u.dtype)
    if grad_u is not None:
        grad_u = grad_u.narrow(-1, 0, k)
        along = skew(u.adjoint().matmul(grad_u))
        inner = inner + along * s.unsqueeze(-2)
        if m > k:
            rest = grad_u / s.unsqueeze(-2)
            outer = outer + rest - u.matmul(u.adjoint().matmul(rest))
    if grad_vh is not None:
        grad_vh = grad_vh.narrow(-2, 0, k)
        inner = inner + s.unsqueeze(-1) * skew(vh.matmul(grad_vh.adjoint()))
    inner = inner / gaps(s * s)
    if grad_s is not None:
        inner = inner + torch.diag_embed(grad_s)
    if u.is_complex() and grad_u is not None and grad_vh is not None:
        turn = skew(u.adjoint().matmul(grad_u)).diagonal(0, -2, -1) / (2 * s)
        inner = inner + torch.diag_embed(turn)
    made = (u.matmul(inner) + outer).matmul(vh)
    if n > k and grad_vh is not None:
        rest = grad_vh - grad_vh.matmul(vh.adjoint()).matmul(vh)
        made = made + (u / s.unsqueeze(-2)).matmul(rest)
    return made


def svdvals_gradient(grad: Tensor, a: Tensor) -> Tensor:
    u, _, vh = torch.linalg_svd(a, False)
    return (u * grad.unsqueeze(-2)).matmul(vh)


def svd_of(a: Tensor, some: bool, compute_uv: bool) -> tuple[Tensor, Tensor, Tensor]:
    if compute_uv:
        u, s, vh = torch.linalg_svd(a, not some)
        return u, s, vh.adjoint()
    batch, m, n = list(a.size()[:-2]), a.size(-2), a.size(-1)
    none_u = torch.zeros(batch + [m, m], dtype=a.dtype)
    return none_u, torch.linalg_svdvals(a), torch.zeros(batch + [n, n], dtype=a.dtype)


def qr_gradient(
    grad_q: Tensor | None, grad_r: Tensor | None, q: Tensor, r: Tensor, mode: str
) -> Tensor | None:
    m, n = q.size(-2), r.size(-1)
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols"
        )
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Please use linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    if grad_q is None and grad_r is None:
        return None
    gq = torch.zeros_like(q) if grad_q is None else grad_q
    gr = torch.zeros_like(r) if grad_r is None else grad_r
    if m >= n:
        return tall_qr_gradient(gq, gr, q, r)
    r1, r2 = r.narrow(-1, 0, m), r.narrow(-1, m, n - m)
    gr2 = gr.narrow(-1, m, n - m)
    gq = gq + q.matmul(r2).matmul(gr2.adjoint())
    left = tall_qr_gradient(gq, gr.narrow(-1, 0, m), q, r1)
    return torch.cat([left, q.matmul(gr2)], -1)


def tall_qr_gradient(gq: Tensor, gr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    inner = (gr.matmul(r.adjoint()) - q.adjoint().matmul(gq)).triu()
    both = inner + inner.adjoint()
    half = 1 - 0.5 * torch.eye(both.size(-1), dtype=both.dtype)
    made = gq + q.matmul(both * half)
    return torch.linalg_solve_triangular(r.adjoint(), made, upper=False, left=False)


def pinv_gradient(grad: Tensor, a: Tensor, p: Tensor) -> Tensor:
    turned, back = p.adjoint(), grad.adjoint()
    right = back.matmul(p).matmul(turned)
    left = turned.matmul(p).matmul(back)
    made = right - a.matmul(p).matmul(right) + left - left.matmul(p).matmul(a)
    return made - turned.matmul(grad).matmul(turned)


def lstsq_gradient(
    grad: Tensor | None,
    grad_residuals: Tensor | None,
    a: Tensor,
    b: Tensor,
    solution: Tensor,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None]:
    of_a: Tensor | None = None
    of_b: Tensor | None = None
    vector = b.dim() == a.dim() - 1
    right = b.unsqueeze(-1) if vector else b
    x = solution.unsqueeze(-1) if vector else solution
    if grad is not None:
        p = torch.linalg_pinv(a)
        g = grad.unsqueeze(-1) if vector else grad
        if needs[0]:
            of_a = pinv_gradient(g.matmul(right.adjoint()), a, p)
        if needs[1]:
            of_b = p.adjoint().matmul(g)
    if grad_residuals is not None and grad_residuals.numel() > 0:
        off = 2 * (a.matmul(x) - right) * grad_residuals.unsqueeze(-2)
        if needs[0]:
            more = off.matmul(x.adjoint())
            of_a = more if of_a is None else of_a + more
        if needs[1]:
            of_b = -off if of_b is None else of_b - off
    if of_b is not None and vector:
        of_b = of_b.squeeze(-1)
    return of_a, of_b


def matrix_exp_gradient(grad: Tensor, a: Tensor) -> Tensor:
    """The gradient of matrix_exp: the upper right block of exp([[a^H, grad], [0, a^H]])."""
    turned, n = a.adjoint(), a.size(-1)
    above = torch.cat([turned, grad.expand(turned.size())], -1)
    below = torch.cat([torch.zeros_like(turned), turned], -1)
    whole = torch.linalg_matrix_exp(torch.cat([above, below], -2))
    return whole.narrow(-2, 0, n).narrow(-1, n, n)


def constant(x: Tensor, value: Tensor) -> Tensor:
    """`value`, expanded to the size of x and depending on x with a zero gradient."""
    return torch.where(torch.zeros(x.size(), dtype=torch.bool), x, value)


def power_of_matrix(a: Tensor, n: int) -> Tensor:
    if a.dim() < 2 or a.size(-1) != a.size(-2):
        size = "x".join([str(k) for k in a.size()[-2:]])
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{size} matrices"
        )
    if n < 0:
        a, n = torch.linalg_inv(a), -n
    if n == 0:
        return constant(a, torch.eye(a.size(-1), dtype=a.dtype))
    made: Tensor | None = None
    square = a
    while n > 0:
        if n % 2 == 1:
            made = square if made is None else made.matmul(square)
        n = n // 2
        if n > 0:
            square = square.matmul(square)
    assert made is not None
    return made.clone() if made is a else made


def product_of_reflectors(a: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of I - tau v v^H; each v is 1 on the diagonal."""
    m, n, k = a.size(-2), a.size(-1), tau.size(-1)
    made = constant(a, torch.eye(m, n, dtype=a.dtype))
    low = a.tril(-1)
    for j in range(k):
        i = k - 1 - j
        unit = torch.zeros([m, 1], dtype=a.dtype)
        unit[i, 0] = 1
        v = low.narrow(-1, i, 1) + unit
        scale = tau.narrow(-1, i, 1).unsqueeze(-1)
        made = made - scale * v.matmul(v.adjoint().matmul(made))
    return made


def typed(x: Tensor, dtype: int | None) -> Tensor:
    return x if dtype is None else x.to(dtype=dtype)


def moved(a: Tensor, dim: list[int]) -> Tensor:
    """Move the two dimensions of the matrices to the end."""
    return a.movedim(dim, [-2, -1])


def kept(x: Tensor, a: Tensor, dim: list[int], keepdim: bool) -> Tensor:
    if not keepdim:
        return x
    size = list(a.size())
    size[dim[0]], size[dim[1]] = 1, 1
    return x.reshape(size)


def named_norm(a: Tensor, ord: str, dim: list[int], keepdim: bool) -> Tensor:
    if ord != "nuc" and ord != "fro":
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "nuc":
        return kept(torch.linalg_svdvals(moved(a, dim)).sum([-1]), a, dim, keepdim)
    return torch.linalg_vector_norm(a, 2, dim, keepdim)


def matrix_norm(a: Tensor, ord: float, dim: list[int], keepdim: bool) -> Tensor:
    if ord == 2.0 or ord == -2.0:
        values = torch.linalg_svdvals(moved(a, dim))
        return kept(greatest(values) if ord > 0 else values.amin([-1]), a, dim, keepdim)
    if abs(ord) != 1.0 and abs(ord) != torch.inf:
        text = str(int(ord)) if ord == float(int(ord)) else str(ord)
        raise RuntimeError(f"linalg.matrix_norm: Order {text} not supported.")
    sums = moved(a, dim).abs().sum([-2 if ord == 1.0 or ord == -1.0 else -1])
    return kept(greatest(sums) if ord > 0 else sums.amin([-1]), a, dim, keepdim)


def greatest(values: Tensor) -> Tensor:
    """The greatest of numbers that are not negative; 0 if there are none."""
    return values.amax([-1]) if values.size(-1) > 0 else values.sum([-1])


def norm_of(a: Tensor, ord: Number | None, dim: list[int] | None, keepdim: bool) -> Tensor:
    """The vector norm, or the matrix norm if an order and two dimensions are given."""
    if ord is None:
        return torch.linalg_vector_norm(a, 2, dim, keepdim)
    number = a.dim() if dim is None else len(dim)
    if number == 2:
        return matrix_norm(a, float(ord), [-2, -1] if dim is None else dim, keepdim)
    return torch.linalg_vector_norm(a, ord, dim, keepdim)


def condition(a: Tensor, p: Number | None) -> Tensor:
    order = 2.0 if p is None else float(p)
    if order == 2.0 or order == -2.0:
        values = torch.linalg_svdvals(a)
        first, end = values.select(-1, 0), values.select(-1, -1)
        return first / end if order > 0 else end / first
    inverse = torch.linalg_inv(a)
    return matrix_norm(a, order, [-2, -1], False) * matrix_norm(inverse, order, [-2, -1], False)


def inverse_of_tensor(a: Tensor, ind: int) -> Tensor:
    size = list(a.size())
    rows = 1
    for n in size[:ind]:
        rows *= n
    return torch.linalg_inv(a.reshape([rows, -1])).reshape(size[ind:] + size[:ind])


def solution_of_tensor(a: Tensor, b: Tensor, dims: list[int] | None) -> Tensor:
    if dims is not None:
        ends = list(range(a.dim() - len(dims), a.dim()))
        a = a.movedim(dims, ends)
    size = list(a.size()[b.dim() :])
    return torch.linalg_solve(a.reshape([b.numel(), -1]), b.reshape([-1])).reshape(size)


def vandermonde(x: Tensor, columns: int | None) -> Tensor:
    row = x.reshape([1]) if x.dim() == 0 else x
    number = row.size(-1) if columns is None else columns
    return torch.stack([torch.pow(row, i) for i in range(number)], -1)
