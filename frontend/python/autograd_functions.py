"""Subclasses of `torch.autograd.Function`: programs call their `forward`, without the context.

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)        # left out, as all statements that only use ctx
        return x * x

Square.apply(x)     ->  a call of forward(x)
"""

from __future__ import annotations

import ast
import copy
import inspect
import sys
from typing import TYPE_CHECKING, Any

from scriptlang.errors import CompileError
from scriptlang.ir import Function
from scriptlang.source import Source

from ..syntax.definitions import defaults_of, qualified_name, source_of
from ..syntax.places import span_of
from ..values.sugared import FunctionValue, SugaredValue
from ..whole import whole

if TYPE_CHECKING:
    from ...source import Span
    from ..values.builder import Builder


def is_autograd_function(cls: Any) -> bool:
    base = getattr(sys.modules.get("torch.autograd"), "Function", None)
    return base is not None and issubclass(cls, base)


class AutogradFunctionValue(SugaredValue):
    """Such a class.  `apply` is compiled from `forward`; other functions in it can be called."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls
        self.kind = f"the autograd function '{cls.__name__}'"

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if name != "apply":
            found = getattr(self.cls, name, None)
            if not inspect.isfunction(found):
                self.fail(
                    f"has no attribute {name!r} in a program",
                    span,
                    "call its `apply` or a static method",
                )
            return whole.meaning_of(found, span)
        if self.cls not in _compiled:
            _compiled[self.cls] = _forward(self.cls)
        return FunctionValue(_compiled[self.cls])


_compiled: dict[type, Function] = {}


def _forward(cls: Any) -> Function:
    """Compile `forward` as a function of the arguments after `ctx`."""
    fn = inspect.unwrap(cls.forward)
    definition, source = source_of(fn)
    made = copy.deepcopy(definition)
    made.decorator_list = []
    if made.args.args and not _has_setup(cls):
        context = made.args.args.pop(0).arg
        _Without(context, source).visit(made)
    name = f"{qualified_name(cls)}_forward"
    defaults = defaults_of(fn)
    for parameter in made.args.args:
        if parameter.annotation is None and parameter.arg in defaults:
            parameter.annotation = _type_of_default(defaults[parameter.arg], parameter)
    return whole.declare(made, source, whole.PythonResolver.of(fn), name, defaults)


def _type_of_default(value: Any, place: ast.arg) -> ast.expr | None:
    """The annotation for a parameter that has a default but no annotation; None for a Tensor.

    PyTorch calls `forward` in Python, so that such a parameter may have any type.
    """
    text = "Optional[Tensor]" if value is None else type(value).__name__
    if value is not None and not isinstance(value, (bool, int, float, str)):
        return None
    note = ast.parse(text, mode="eval").body
    for node in ast.walk(note):
        ast.copy_location(node, place)
    return note


def _has_setup(cls: Any) -> bool:
    """Whether the class has a method `setup_context`, so that `forward` takes no context."""
    base: Any = sys.modules["torch.autograd"].Function
    return cls.setup_context is not base.setup_context


class _Without(ast.NodeTransformer):
    """Replaces statements that only write to the context by `pass`.

    Raises CompileError if the context is read.
    """

    def __init__(self, context: str, source: Source) -> None:
        self.context, self.source = context, source

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        speaks = isinstance(call, ast.Call) and self._is_context(call.func)
        return ast.copy_location(ast.Pass(), node) if speaks else self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        if all(self._is_context(t) for t in node.targets):
            return ast.copy_location(ast.Pass(), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == self.context:
            raise CompileError(
                "forward of an autograd function reads its context",
                span_of(node, self.source),
                "keep the value in a variable, too",
            )
        return node

    def _is_context(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.context
        )
