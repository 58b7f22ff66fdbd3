"""Programs that name operators which the native engine lacks, and may never come to them.

A scripted `nn.TransformerEncoder` names nested tensors, say, which are for batches with padding. A
program that leaves no trace, if it ends early, runs natively until it meets such an operator; that
call, and those after it, are the Python engine's.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable, Iterable, Mapping, Sequence

from .. import types as T
from ..errors import CompileError, GraphError, MissingOperatorError
from ..ir import Function
from ..limits import Limits
from ..ops.generator import default_generator
from .engine import engine

UNSEEN = frozenset({"aten::warn", "prim::RaiseException", "aten::is_grad_enabled",
                    "aten::_assert_async", "aten::_assert_scalar", "aten::_assert_tensor_metadata"})
"""Effects that another run repeats without harm."""


class Trial:
    """Runs a function natively until that fails for lack of an operator."""

    name = "native"

    def __init__(self) -> None:
        self.failed = False

    def run(self, function: Function, args: Sequence[Any],
            kwargs: Mapping[str, Any] | None = None, limits: Limits | None = None) -> Any:
        if not self.failed:
            before = default_generator.snapshot()
            try:
                return engine("native").run(function, args, kwargs, limits)
            except MissingOperatorError:
                self.failed = True
                self.name = "python"
                default_generator.restore(before)
        return engine("python").run(function, args, kwargs, limits)

    def direct(self, function: Function) -> Callable[[tuple], Any] | None:
        return None

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        return engine("python").missing(function, classes)

    def adopt(self, obj: Any) -> Any:
        return obj


def leaves_no_trace(function: Function) -> bool:
    """Whether a call that ends early can be made again: nothing is written that lived before, and
    nothing else is done that shows."""
    from ..passes import inline
    from ..passes.alias import AliasAnalysis
    from ..passes.effects import has_side_effects, is_random

    if not function.is_defined:
        return False                                     # bytecode alone says nothing of memory
    try:
        graph = function.graph.copy()
        inline.run(graph)
    except (CompileError, GraphError):
        return False
    for node in graph.walk():
        if not node.blocks and has_side_effects(node) and not is_random(node) and \
                node.kind not in UNSEEN:
            return False
    analysis = AliasAnalysis(graph)
    return not analysis.written & analysis.outside
