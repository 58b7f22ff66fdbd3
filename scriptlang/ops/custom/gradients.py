"""Records calls of users' operators: each is one step, whose backward is the user's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import types as T
from ...errors import MissingOperatorError
from ..calling.current import mode
from ..derivatives.function import Context, Function, applied
from ..derivatives.state import needs
from ..derivatives.views import run_quietly
from .operators import CustomOperator, tensors_in

Backward = Callable[..., Any]


class Recording:
    """The Plan of an operator's calls (derivatives/plans.py).

    backward: (ctx, gradients of the results...) -> those of the arguments; None if the user gave
    none.  setup_context: (ctx, inputs, output), which saves what backward needs.
    """

    def __init__(
        self,
        op: CustomOperator,
        backward: Backward | None = None,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        self.op = op
        self.backward = backward
        self.setup_context = setup_context

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        if not mode.enabled or not any(needs(t) for v in values for t in tensors_in(v)):
            return run_quietly(kernel, values)
        for place, _ in self.op.schema.written:
            if any(map(needs, tensors_in(values[place]))):
                name = self.op.schema.arguments[place].name
                raise RuntimeError(
                    f"{self.op.name} writes {name}, of which a gradient is wanted: nobody knows it"
                )
        in_lists = [t for v in values if isinstance(v, (list, tuple)) for t in tensors_in(v)]
        return applied(self.step(kernel), (*values, *in_lists), {})[0]

    def step(self, kernel: Callable[..., Any]) -> type[Function]:
        recording, schema = self, self.op.schema

        class Step(Function):
            @staticmethod
            def forward(ctx: Any, *given: Any) -> Any:
                inputs = given[: len(schema.arguments)]  # tensors from lists follow
                output = run_quietly(kernel, inputs)
                if recording.setup_context is not None:
                    named = {a.name: v for a, v in zip(schema.arguments, inputs) if a.kwarg_only}
                    by_place = tuple(
                        v for a, v in zip(schema.arguments, inputs) if not a.kwarg_only
                    )
                    more = {"keyword_only_inputs": named} if named else {}
                    recording.setup_context(ctx=ctx, inputs=by_place, output=output, **more)
                return output

            @staticmethod
            def backward(ctx: Context, *grads: Any) -> Any:
                if recording.backward is None:
                    raise MissingOperatorError(
                        f"going backward through {recording.op.name}, of which nobody has said the "
                        f"derivative: scriptlang.library.register_autograd({recording.op.name!r}, "
                        "backward) does"
                    )
                made = recording.backward(ctx, *grads)
                parts = made if isinstance(made, tuple) else (made,)
                return parts + (None,) * sum(a.kwarg_only for a in schema.arguments)

        Step.__name__ = schema.name.replace("::", "_")
        return Step


class Through:
    """The recording of a composite operator: the operators that it calls are recorded instead."""

    def run(self, kernel: Callable[..., Any], values: list[Any]) -> Any:
        return kernel(*values)


IN_PYTHON: set[str] = set()
"""Operators that must be called from Python if a gradient is wanted, as it records them."""


def record_with(op: CustomOperator, recording: Recording | Through) -> None:
    op.entry.__dict__["recording"] = recording
    if isinstance(recording, Through) or recording.backward is not None:
        IN_PYTHON.add(op.name)
    else:
        IN_PYTHON.discard(op.name)


def check_derivable(op: CustomOperator) -> None:
    """Raise RuntimeError if an operator cannot have a derivative."""
    if op.schema.is_mutable:
        raise RuntimeError(
            f"{op.name} writes its arguments: derivatives are those of operators that only give "
            f"results: {op.schema}"
        )
    if any(
        t == T.TENSOR
        for a in op.schema.arguments
        for t in list(a.type.walk())[1:]
        if isinstance(a.type, T.ListType)
    ):
        raise RuntimeError(
            f"{op.name} takes a list of tensors, of which no derivative can be given yet: let it "
            f"take them one by one: {op.schema}"
        )
