"""Derivatives of linear equations and triangular factors."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def inverse_gradient(grad: Tensor, inverse: Tensor) -> Tensor:
    turned = inverse.adjoint()
    return -turned.matmul(grad).matmul(turned)


def is_vector(a: Tensor, b: list[int]) -> bool:
    """Whether the right-hand side of an equation is a batch of vectors."""
    size = list(a.size())
    return len(b) == 1 or (len(b) == len(size) - 1 and b == size[:-1])


def solve_gradient(
    grad: Tensor, a: Tensor, b: list[int], result: Tensor, left: bool, needs: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    vector = is_vector(a, b)
    of_b = torch.linalg_solve(
        a.adjoint(), grad.unsqueeze(-1) if vector else grad, left=left or vector
    )
    of_a: Tensor | None = None
    if needs[0]:
        x = result.unsqueeze(-1) if vector else result
        of_a = -of_b.matmul(x.adjoint()) if left or vector else -x.adjoint().matmul(of_b)
    return of_a, of_b.squeeze(-1) if vector else of_b


def triangular_gradient(
    grad: Tensor, a: Tensor, result: Tensor, upper: bool, left: bool, unit: bool, needs: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    of_b = torch.linalg_solve_triangular(
        a.adjoint(), grad, upper=not upper, left=left, unitriangular=unit
    )
    of_a: Tensor | None = None
    if needs[0]:
        whole = -of_b.matmul(result.adjoint()) if left else -result.adjoint().matmul(of_b)
        off = 1 if unit else 0
        of_a = whole.triu(off) if upper else whole.tril(-off)
    return of_a, of_b


def det_gradient(grad: Tensor, a: Tensor, det: Tensor) -> Tensor:
    """The gradient of det: the cofactors, computed by the SVD for singular matrices."""
    grad = grad.unsqueeze(-1).unsqueeze(-1)
    if a.numel() > 0 and bool((det == 0).any()):
        u, s, vh = torch.linalg_svd(a)
        turn = torch.linalg_det(u) * torch.linalg_det(vh)
        n = s.size(-1)
        parts: list[Tensor] = []
        for i in range(n):
            others = torch.cat([s.narrow(-1, 0, i), s.narrow(-1, i + 1, n - i - 1)], -1)
            parts.append(others.prod(-1))
        product = torch.stack(parts, -1).unsqueeze(-2)
        return grad * turn.conj().unsqueeze(-1).unsqueeze(-1) * (u * product).matmul(vh)
    along = (grad * det.conj().unsqueeze(-1).unsqueeze(-1)).expand(a.size())
    unit = torch.eye(a.size(-1), dtype=along.dtype)
    return torch.linalg_solve(a.adjoint(), along * unit)


def slogdet_gradient(
    grad_sign: Tensor | None, grad_log: Tensor | None, a: Tensor, sign: Tensor
) -> Tensor | None:
    """The gradient of slogdet; the sign of a complex determinant is not constant."""
    along: Tensor | None = grad_log
    if grad_sign is not None and a.is_complex():
        turn = torch.mul(torch.imag(grad_sign * sign.conj()), 1j)
        along = turn if grad_log is None else turn + grad_log
    if along is None:
        return None
    return along.unsqueeze(-1).unsqueeze(-1) * torch.linalg_inv(a).adjoint()


def cholesky_gradient(grad: Tensor, factor: Tensor, upper: bool) -> Tensor:
    low = factor.adjoint() if upper else factor
    phi = low.adjoint().matmul(grad.adjoint() if upper else grad)
    phi = 0.5 * (phi.tril() + phi.tril(-1).adjoint())
    right = torch.linalg_solve_triangular(low, phi, upper=False, left=False)
    return torch.linalg_solve_triangular(low.adjoint(), right, upper=True)


def cholesky_inverse_gradient(grad: Tensor, factor: Tensor, result: Tensor, upper: bool) -> Tensor:
    both = result.matmul(grad + grad.adjoint()).matmul(result)
    return -factor.matmul(both) if upper else -both.matmul(factor)


def cholesky_solve_gradient(
    grad: Tensor, factor: Tensor, result: Tensor, upper: bool, needs: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    of_b = torch.cholesky_solve(grad, factor, upper)
    of_factor: Tensor | None = None
    if needs[1]:
        half = of_b.matmul(result.adjoint())
        both = half + half.adjoint()
        of_factor = -factor.matmul(both) if upper else -both.matmul(factor)
    return of_b, of_factor


def lu_gradient(
    grad_l: Tensor | None, grad_u: Tensor | None, p: Tensor, low: Tensor, up: Tensor, pivot: bool
) -> Tensor | None:
    """The gradient of the factors p, low and up.

    The parts outside of the square block depend on that block.
    """
    if grad_l is None and grad_u is None:
        return None
    gl = torch.zeros_like(low) if grad_l is None else grad_l
    gu = torch.zeros_like(up) if grad_u is None else grad_u
    m, n = low.size(-2), up.size(-1)
    k = min(m, n)
    l1, u1 = low.narrow(-2, 0, k), up.narrow(-1, 0, k)
    inner_l = l1.adjoint().matmul(gl.narrow(-2, 0, k))
    inner_u = gu.narrow(-1, 0, k).matmul(u1.adjoint())
    if n > k:
        gu2, u2 = gu.narrow(-1, k, n - k), up.narrow(-1, k, n - k)
        inner_l = inner_l - gu2.matmul(u2.adjoint())
    if m > k:
        gl2, l2 = gl.narrow(-2, k, m - k), low.narrow(-2, k, m - k)
        inner_u = inner_u - l2.adjoint().matmul(gl2)
    inner = inner_l.tril(-1) + inner_u.triu()
    made = torch.linalg_solve_triangular(u1.adjoint(), inner, upper=False, left=False)
    made = torch.linalg_solve_triangular(l1.adjoint(), made, upper=True, unitriangular=True)
    if n > k:
        right = gu.narrow(-1, k, n - k)
        right = torch.linalg_solve_triangular(l1.adjoint(), right, upper=True, unitriangular=True)
        made = torch.cat([made, right], -1)
    if m > k:
        below = gl.narrow(-2, k, m - k)
        below = torch.linalg_solve_triangular(u1.adjoint(), below, upper=False, left=False)
        made = torch.cat([made, below], -2)
    return p.matmul(made) if pivot else made


def factor_gradient(grad: Tensor, lu: Tensor, pivots: Tensor, pivot: bool) -> Tensor | None:
    p, low, up = torch.lu_unpack(lu, pivots, True, pivot)
    m, n = lu.size(-2), lu.size(-1)
    k = min(m, n)
    of_low = grad.narrow(-1, 0, k).tril(-1)
    return lu_gradient(of_low, grad.narrow(-2, 0, k).triu(), p, low, up, pivot)


def unpack_gradient(grad_l: Tensor | None, grad_u: Tensor | None, size: list[int]) -> Tensor | None:
    m, n = size[-2], size[-1]
    low: Tensor | None = None
    up: Tensor | None = None
    if grad_l is not None:
        low = torch.constant_pad_nd(grad_l.tril(-1), [0, max(n - m, 0)])
    if grad_u is not None:
        up = torch.constant_pad_nd(grad_u.triu(), [0, 0, 0, max(m - n, 0)])
    if low is None:
        return up
    return low if up is None else low + up


def solved_by_factors(lu: Tensor, pivots: Tensor, b: Tensor, left: bool, adjoint: bool) -> Tensor:
    """Solve an equation with LU factors, one triangular matrix after the other."""
    p, low, up = torch.lu_unpack(lu, pivots)
    if left != adjoint:
        if left:
            b = p.mT.matmul(b)
            b = torch.linalg_solve_triangular(low, b, upper=False, unitriangular=True)
            return torch.linalg_solve_triangular(up, b, upper=True)
        b = b.matmul(p)
        b = torch.linalg_solve_triangular(
            low.adjoint(), b, upper=True, left=False, unitriangular=True
        )
        return torch.linalg_solve_triangular(up.adjoint(), b, upper=False, left=False)
    if left:
        b = torch.linalg_solve_triangular(up.adjoint(), b, upper=False)
        b = torch.linalg_solve_triangular(low.adjoint(), b, upper=True, unitriangular=True)
        return p.matmul(b)
    b = torch.linalg_solve_triangular(up, b, upper=True, left=False)
    b = torch.linalg_solve_triangular(low, b, upper=False, left=False, unitriangular=True)
    return b.matmul(p.mT)


def cholesky_tangent(tangent: Tensor, factor: Tensor, upper: bool) -> Tensor:
    """The derivative of a factor of a Hermitian matrix, whose tangent should be one, too."""
    low = factor.adjoint() if upper else factor
    phi = torch.linalg_solve_triangular(low, tangent, upper=False)
    phi = torch.linalg_solve_triangular(low.adjoint(), phi, upper=True, left=False)
    made = low.matmul(phi.tril(-1) + 0.5 * torch.diag_embed(torch.diagonal(phi, 0, -2, -1)))
    return made.adjoint() if upper else made
