"""What the functions of `functional` say, if `strict`, of derivatives that nothing depends on."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ..tensors import Tensor


class Told(Enum):
    """Which pass found that a derivative depends on nothing, and what it says of place {}."""

    BACK = "The output of the user-provided function is independent of input {}."
    TWICE = (
        "The gradient with respect to the input is independent of entry {} in the grad_outputs "
        "when using the double backward trick to compute forward mode gradients."
    )
    SECOND = "The jacobian of the user-provided function is independent of input {}."
    THIRD = (
        "The hessian of the user-provided function is independent of entry {} in the "
        "grad_jacobian. This is not allowed in strict mode as it prevents from using the double "
        "backward trick to replace forward mode AD."
    )


CONSTANT = {
    "outputs": (
        "Output {} of the user-provided function does not require gradients. The outputs must be "
        "computed in a differentiable manner from the input when running in strict mode."
    ),
    "grad_inputs": (
        "The gradient with respect to input {} is independent of the inputs of the user-provided "
        "function. This is not allowed in strict mode."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with "
        "respect to input {} is independent of the input. This is not allowed in strict mode. You "
        "should ensure that your function is twice differentiable and that the jacobian depends on "
        "the inputs (this would be violated by a linear function for example)."
    ),
    "hessian": (
        "The hessian of the user-provided function with respect to input {} is independent of the "
        "input. This is not allowed in strict mode. You should ensure that your function is thrice "
        "differentiable and that the hessian depends on the inputs."
    ),
}
"""What is said of a tensor without history, by what the tensors are."""


def check_recorded(tensors: Sequence[Tensor | None], what: str, strict: bool) -> None:
    """Raise RuntimeError, if strict, for a tensor that is None or has no history."""
    if not strict:
        return
    for k, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {k}. This is "
                "not allowed in strict mode."
            )
        if not tensor.requires_grad:
            raise RuntimeError(CONSTANT[what].format(k))


def check_filled(found: Sequence[Tensor | None], strict: bool, records: bool, told: Told) -> None:
    """Raise RuntimeError, if strict, for None, or for no history if the pass is recorded."""
    if not strict:
        return
    for k, tensor in enumerate(found):
        if tensor is None:
            text = told.value.format(k)
            if told is not Told.THIRD:
                text += " This is not allowed in strict mode."
            raise RuntimeError(text)
        if records and not tensor.requires_grad:
            which = "hessian" if told in (Told.SECOND, Told.THIRD) else "jacobian"
            raise RuntimeError(
                f"The {which} of the user-provided function is independent of input {k}. This is "
                "not allowed in strict mode when create_graph=True."
            )
