"""Derivatives of batched matrix products, and of einsum."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import sum_to


def matmul_gradient(
    grad: Tensor, a: Tensor, b: Tensor, needs: list[bool]
) -> tuple[Tensor | None, Tensor | None]:
    left: Tensor | None = None
    right: Tensor | None = None
    if a.dim() == 1 and b.dim() == 1:
        left, right = grad * b.conj(), grad * a.conj()
    elif a.dim() == 1:
        left = b.conj().matmul(grad.unsqueeze(-1)).squeeze(-1) if needs[0] else None
        right = a.conj().unsqueeze(-1) * grad.unsqueeze(-2) if needs[1] else None
    elif b.dim() == 1:
        left = grad.unsqueeze(-1) * b.conj() if needs[0] else None
        right = a.adjoint().matmul(grad.unsqueeze(-1)).squeeze(-1) if needs[1] else None
    else:
        left = grad.matmul(b.adjoint()) if needs[0] else None
        if needs[1] and b.dim() == 2:
            right = rows(a).adjoint().mm(rows(grad))
        elif needs[1]:
            right = a.adjoint().matmul(grad)
    return left, right


def rows(x: Tensor) -> Tensor:
    """A batch of matrices as one matrix with all rows."""
    return x.flatten(0, -2)


def linear_gradient(
    grad: Tensor, x: Tensor, weight: Tensor, needs: list[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    of_x: Tensor | None = None
    of_weight: Tensor | None = None
    if weight.dim() == 1:
        of_x = grad.unsqueeze(-1) * weight.conj() if needs[0] else None
        of_weight = (grad.unsqueeze(-1) * x.conj()) if needs[1] else None
    elif x.dim() == 1:
        of_x = grad.matmul(weight.conj()) if needs[0] else None
        of_weight = grad.unsqueeze(1) * x.conj() if needs[1] else None
    else:
        of_x = grad.matmul(weight.conj()) if needs[0] else None
        of_weight = rows(grad).t().mm(rows(x).conj()) if needs[1] else None
    return of_x, of_weight, grad if needs[2] else None


def einsum_gradient(grad: Tensor, equation: str, tensors: list[Tensor]) -> list[Tensor]:
    """The gradients of einsum: for each operand, `grad` times the others.

    Letters that the operand does not have are summed.
    """
    terms, output = einsum_letters(equation, [t.dim() for t in tensors])
    found: list[Tensor] = []
    for i, t in enumerate(tensors):
        inputs = output
        operands = [grad]
        for j, other in enumerate(tensors):
            if j != i:
                inputs = inputs + "," + terms[j]
                operands.append(other.conj())
        kept = ""
        for letter in terms[i]:
            if letter in inputs and letter not in kept:
                kept = kept + letter
        part = torch.einsum(inputs + "->" + kept, operands)
        found.append(spread(part, kept, terms[i], t.size()))
    return found


def spread(part: Tensor, kept: str, term: str, size: list[int]) -> Tensor:
    """Expand a tensor with the letters `kept` to an operand's size.

    Missing letters are broadcast; for repeated letters only the diagonal is nonzero.
    """
    seen = ""
    mask: list[Tensor] = []
    for d, letter in enumerate(term):
        if letter in seen or letter not in kept:
            part = part.unsqueeze(d)
        if letter in seen:
            shape = [1 for _ in size]
            first = term.find(letter)
            shape[first], shape[d] = size[first], size[d]
            mask.append(torch.eye(size[d], dtype=part.dtype).reshape(shape))
        seen = seen + letter
    wide = [max(size[d], part.size(d)) for d in range(len(size))]
    part = part.expand(wide)
    for m in mask:
        part = part * m
    return sum_to(part, size)


def einsum_letters(equation: str, dims: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with a letter for each dimension of "..."."""
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    text = equation.replace(" ", "")
    left = text.split("->")[0]
    free = ""
    for letter in alphabet:
        if letter not in text:
            free = free + letter
    most = 0
    terms = left.split(",")
    for term, dim in zip(terms, dims):
        if "..." in term:
            most = max(most, dim - (len(term) - 3))
    rest = free[0:most]
    found: list[str] = []
    for term, dim in zip(terms, dims):
        if "..." in term:
            number = dim - (len(term) - 3)
            found.append(term.replace("...", rest[most - number :]))
        else:
            found.append(term)
    if "->" in text:
        return found, text.split("->")[1].replace("...", rest)
    output = ""
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz":
        times = 0
        for term in left.split(","):
            for own in term:
                times += 1 if own == letter else 0
        if times == 1:
            output = output + letter
    return found, (rest if "..." in left else "") + output


def einsum_tangent(tangents: list[Tensor], equation: str, tensors: list[Tensor]) -> Tensor:
    """The derivative of a product: the sum of those with one operand's tangent in its place."""
    made = torch.einsum(equation, [tangents[0]] + tensors[1:])
    for i in range(1, len(tensors)):
        operands = tensors[:i] + [tangents[i]] + tensors[i + 1 :]
        made = made + torch.einsum(equation, operands)
    return made
