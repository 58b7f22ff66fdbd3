"""The names of torch.autograd.functional: derivatives of a function at given tensors.

jacobian(f, x)              the derivatives of each result by each input
hessian(f, x)               the second derivatives of a function with a single number as result
vjp, jvp(f, x, v)           the product of a vector and the Jacobian, and the other way round
vhp, hvp(f, x, v)           the same with the Hessian

The functions of scriptlang.func do the same for functions; these also say, if `strict`, where
a derivative is zero because nothing depends on an input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import forward_transforms as transforms
from ..grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from ..ops.calling import functions
from ..ops.calling.current import mode
from ..ops.derivatives.api import grad
from ..tensors import Tensor
from .strictness import Told, check_filled, check_recorded

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = Tensor | tuple[Tensor, ...]


class Call:
    """A call of a user's function on tensors of its own, whose results are checked.

    is_tuple, is_result_tuple: whether the inputs are given in a tuple, and the results.
    """

    outputs: tuple[Tensor, ...]
    is_result_tuple: bool

    def __init__(self, name: str, inputs: Any, records: bool) -> None:
        self.name = name
        self.is_tuple, given = as_tuple(inputs, "inputs", name)
        self.inputs = own(given, records, True)

    def run(self, func: Callable[..., Any], strict: bool) -> None:
        """Make the call.  strict: raise RuntimeError for results that require no gradient."""
        result = func(*self.inputs)
        self.is_result_tuple, self.outputs = as_tuple(result, RESULTS, self.name)
        check_recorded(self.outputs, "outputs", strict)

    def needs_number(self) -> None:
        """Raise RuntimeError if the result is anything but a single number."""
        if self.is_result_tuple:
            raise RuntimeError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0].numel() != 1:
            raise RuntimeError(
                f"The Tensor returned by the function given to {self.name} should contain a single "
                "element"
            )


RESULTS = "outputs of the user-provided function"


def as_tuple(value: Any, what: str, name: str) -> tuple[bool, tuple[Tensor, ...]]:
    """Return (whether a value is a tuple, it as a tuple).  Raises TypeError for other types."""
    parts = value if isinstance(value, tuple) else (value,)
    for k, part in enumerate(parts):
        if not isinstance(part, Tensor):
            which = f"value at index {k}" if isinstance(value, tuple) else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the "
                f"{which} has type {type(part)}."
            )
    return isinstance(value, tuple), parts


def own(tensors: Sequence[Tensor], records: bool, wants: bool) -> tuple[Tensor, ...]:
    """New tensors over the same memory: with the history of the given ones, if that is recorded."""
    return tuple(
        x.view_as(x) if records and x.requires_grad else x.detach().requires_grad_(wants)
        for x in tensors
    )


def direction(
    v: Any, like: Sequence[Tensor], is_tuple: bool, call: Call, records: bool, missing: str
) -> tuple[Tensor, ...] | None:
    """The vector that a user gives; None for a single number.  Raises if it does not fit."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(
                f"The vector v can only be None if {missing} a single Tensor with a single element."
            )
        return None
    _, given = as_tuple(v, "v", call.name)
    if len(given) != len(like):
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(given)}."
            if is_tuple
            else "The given v should contain a single Tensor."
        )
    for k, (part, x) in enumerate(zip(given, like)):
        if part.shape != x.shape:
            start = f"Entry {k} in v" if is_tuple else "v"
            raise RuntimeError(
                f"{start} has invalid size: should be {x.shape} but got {part.shape}."
            )
    return own(given, records, False)


RESULT = "the user-provided function returns"
INPUT = "the input to the user-provided function is"


def gradients(
    outputs: Sequence[Tensor | None],
    inputs: Sequence[Tensor],
    given: Sequence[Tensor | None] | None = None,
    records: bool = False,
    keeps: bool | None = None,
) -> tuple[Tensor | None, ...]:
    """`grad` of those outputs that have history; None for inputs that they do not depend on."""
    grads = given if given is not None else [None] * len(outputs)
    chosen = [(y, g) for y, g in zip(outputs, grads) if y is not None and y.requires_grad]
    if not chosen:
        return (None,) * len(inputs)
    ys, gs = [y for y, _ in chosen], [g for _, g in chosen]
    return grad(ys, list(inputs), gs, retain_graph=keeps, create_graph=records, allow_unused=True)


def filled(
    found: Sequence[Tensor | None], like: Sequence[Tensor], strict: bool, records: bool, told: Told
) -> tuple[Tensor, ...]:
    """Gradients with zeros in place of None.  told: what is said if `strict` forbids that."""
    check_filled(found, strict, records, told)
    return tuple(
        functions.zeros_like(x) if g is None else g for g, x in zip(found, like, strict=False)
    )


def recording(records: bool) -> set_grad_enabled:
    return set_grad_enabled(records or is_grad_enabled())


def bare(tensors: Sequence[Tensor], records: bool) -> tuple[Tensor, ...]:
    """Tensors without history, unless that is wanted."""
    return tuple(tensors) if records else tuple(t.detach() for t in tensors)


def packed(tensors: Sequence[Tensor], is_tuple: bool, records: bool) -> Any:
    made = bare(tensors, records)
    return made if is_tuple else made[0]


def vjp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (the result of `func`, the product of `v` and the Jacobian at `inputs`).

    v: in the structure of the result; None if that is a single number.  create_graph: whether the
    product has a history.  strict: raise RuntimeError for derivatives that are zero because
    nothing depends on an input.
    """
    with enable_grad():
        call = Call("vjp", inputs, create_graph)
        call.run(func, strict)
        given = direction(v, call.outputs, call.is_result_tuple, call, create_graph, RESULT)
    with recording(create_graph):
        found = gradients(call.outputs, call.inputs, given, create_graph)
        made = filled(found, call.inputs, strict, create_graph, Told.BACK)
    return (
        packed(call.outputs, call.is_result_tuple, create_graph),
        packed(made, call.is_tuple, create_graph),
    )


def jvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (the result of `func`, the product of the Jacobian at `inputs` and `v`).

    It goes backward twice, as in PyTorch; `scriptlang.func.jvp` goes forward.
    """
    with enable_grad():
        call = Call("jvp", inputs, create_graph)
        given = direction(v, call.inputs, call.is_tuple, call, create_graph, INPUT)
        call.run(func, strict)
        weights = [functions.zeros_like(y).requires_grad_() for y in call.outputs]
        back = gradients(call.outputs, call.inputs, weights, True)
        check_recorded(back, "grad_inputs", strict)
    with recording(create_graph):
        found = gradients(back, weights, given, create_graph)
        made = filled(found, call.outputs, strict, create_graph, Told.TWICE)
    return (
        packed(call.outputs, call.is_result_tuple, create_graph),
        packed(made, call.is_result_tuple, create_graph),
    )


def vhp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (the number that `func` gives, the product of `v` and the Hessian at `inputs`)."""
    with enable_grad():
        call = Call("vhp", inputs, create_graph)
        given = direction(v, call.inputs, call.is_tuple, call, create_graph, INPUT)
        call.run(func, strict)
        call.needs_number()
        first = gradients(call.outputs, call.inputs, None, True)
        check_recorded(first, "jacobian", strict)
    with recording(create_graph):
        found = gradients(first, call.inputs, given, create_graph)
        made = filled(found, call.inputs, strict, create_graph, Told.SECOND)
    return packed(call.outputs, False, create_graph), packed(made, call.is_tuple, create_graph)


def hvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """Return (the number that `func` gives, the product of the Hessian at `inputs` and `v`).

    It goes backward three times, as in PyTorch; `vhp`, which is the same for most functions, goes
    twice.
    """
    with enable_grad():
        call = Call("hvp", inputs, create_graph)
        given = direction(v, call.inputs, call.is_tuple, call, create_graph, INPUT)
        call.run(func, strict)
        call.needs_number()
        first = gradients(call.outputs, call.inputs, None, True)
        check_recorded(first, "jacobian", strict)
        weights = [functions.zeros_like(x).requires_grad_() for x in call.inputs]
        second = gradients(first, call.inputs, weights, True)
        check_recorded(second, "hessian", strict)
    with recording(create_graph):
        found = gradients(second, weights, given, create_graph)
        made = filled(found, call.inputs, strict, create_graph, Told.THIRD)
    return packed(call.outputs, False, create_graph), packed(made, call.is_tuple, create_graph)


MODES = ("forward-mode", "reverse-mode")


def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The derivatives of the results of `func` by the inputs.

    The size of each is that of the result followed by that of the input. They are in tuples where
    there are several results, and in those where there are several inputs.
    vectorize: has no effect here, but that strategy "forward-mode" takes it, as in PyTorch.
    """
    if strategy not in MODES:
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        return forward_jacobian(func, inputs, create_graph, strict, vectorize)
    with enable_grad():
        call = Call("jacobian", inputs, create_graph)
        call.run(func, strict)
        if vectorize and strict:
            raise RuntimeError(NOT_BOTH)
        rows = [rows_of(y, i, call, create_graph, strict) for i, y in enumerate(call.outputs)]
    made = [packed(row, call.is_tuple, create_graph) for row in rows]
    return tuple(made) if call.is_result_tuple else made[0]


NOT_BOTH = (
    "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
    "together. Please either set `strict=False` or `vectorize=False`."
)


def forward_jacobian(
    func: Callable[..., Any], inputs: Any, records: bool, strict: bool, vectorize: bool
) -> Any:
    """`jacobian` column by column, in forward mode."""
    if records:
        raise NotImplementedError(
            "torch.autograd.functional.jacobian: `create_graph=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are '
            "not supported together (yet). Please either set `strict=False` or "
            '`strategy="reverse-mode"`.'
        )
    is_tuple, given = as_tuple(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly "
            "implemented for `vectorize=True`."
        )

    outside = mode.transforms

    def checked(*args: Tensor) -> Any:
        within, mode.transforms = mode.transforms, outside  # the user's function is in no transform
        try:
            result = func(*args)
        finally:
            mode.transforms = within
        as_tuple(result, RESULTS, "jacobian")
        return result

    places: Any = tuple(range(len(given))) if is_tuple else 0
    return transforms.jacfwd(checked, places)(*own(given, False, False))


def rows_of(y: Tensor, i: int, call: Call, records: bool, strict: bool) -> tuple[Tensor, ...]:
    """The derivatives of result i by each input, an element of the result at a time."""
    rows: list[list[Tensor]] = [[] for _ in call.inputs]
    for element in y.reshape([-1]).unbind(0):
        one = functions.ones_like(element) if element.dtype.kind == "c" else None
        found = gradients([element], call.inputs, [one], records, keeps=True)
        for k, (x, part) in enumerate(zip(call.inputs, found)):
            if part is None and strict:
                raise RuntimeError(
                    f"Output {i} of the user-provided function is independent of input {k}. This "
                    "is not allowed in strict mode."
                )
            if part is not None and strict and records and not part.requires_grad:
                raise RuntimeError(
                    "The jacobian of the user-provided function is independent of input "
                    f"{i}. This is not allowed in strict mode when create_graph=True."
                )
            rows[k].append(functions.zeros_like(x) if part is None else part)
    made = []
    for x, parts in zip(call.inputs, rows):
        size = list(y.shape) + list(x.shape)
        whole = functions.stack(parts) if parts else functions.zeros([0], dtype=x.dtype)
        made.append(whole.reshape(size))
    return tuple(made)


def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The second derivatives of the number that `func` gives by the inputs.

    For several inputs they are in a tuple of tuples. outer_jacobian_strategy: how the gradient is
    differentiated; "forward-mode" takes vectorize, as in PyTorch.
    """
    is_tuple, given = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in MODES:
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def number(*args: Tensor) -> Tensor:
        result = func(*args)
        is_several, parts = as_tuple(result, RESULTS, "hessian")
        check_recorded(parts, "outputs", strict)
        if is_several:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if parts[0].numel() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single "
                "element"
            )
        return parts[0].reshape([])

    def slopes(*args: Tensor) -> tuple[Tensor, ...]:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(x.requires_grad_() for x in args)
        made = jacobian(number, args, create_graph=True)
        check_recorded(made, "jacobian", strict)
        return made

    made = jacobian(
        slopes, given, create_graph, strict, vectorize, strategy=outer_jacobian_strategy
    )
    return made if is_tuple else made[0][0]
