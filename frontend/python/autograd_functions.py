"""Subclasses of `torch.autograd.Function`: programs call their `forward`, without the context.

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)        # left out, as all statements that only write to ctx
        return x * x

Square.apply(x)     ->  a call of forward(x)
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
import sys
import weakref
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


_compiled: weakref.WeakKeyDictionary[type, Function] = weakref.WeakKeyDictionary()


def _forward(cls: Any) -> Function:
    """Compile `forward` as a function of the arguments after `ctx`."""
    fn = inspect.unwrap(cls.forward)
    definition, source = source_of(fn)
    made = copy.deepcopy(definition)
    made.decorator_list = []
    if _has_setup(cls):
        _refuse_writes(cls)
    elif made.args.args:
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


def _refuse_writes(cls: Any) -> None:
    """Raises CompileError if `setup_context`, which programs do not run, writes to a tensor."""
    definition, source = source_of(inspect.unwrap(cls.setup_context))
    for node in ast.walk(definition):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and re.search(r"[^_]_$", node.func.attr)
        ):
            raise CompileError(
                "setup_context of an autograd function writes to a tensor, and does not run in "
                "programs",
                span_of(node, source),
                "write to it in forward",
            )


class _Without(ast.NodeTransformer):
    """Replaces statements that only write to the context by what they compute besides.

        ctx.n = x.add_(1)                       ->  x.add_(1)
        ctx.save_for_backward(x, y := x + 1)    ->  y := x + 1
        ctx.shape = x.shape                     ->  pass

    Raises CompileError if the context is read.
    """

    def __init__(self, context: str, source: Source) -> None:
        self.context, self.source = context, source

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if isinstance(call, ast.Call) and self._is_context(call.func):
            return self._kept([*call.args, *(k.value for k in call.keywords)], node)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        others = [t for t in node.targets if not self._is_context(t)]
        if not others:
            return self._kept([node.value], node)
        node.targets = others
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if self._is_context(node.target):
            return self._kept([node.value] if node.value is not None else [], node)
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
        """Whether an expression is an attribute of the context, or several of them."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return bool(node.elts) and all(map(self._is_context, node.elts))
        if isinstance(node, ast.Starred):
            return self._is_context(node.value)
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.context
        )

    def _kept(self, values: list[ast.expr], node: ast.stmt) -> list[ast.stmt] | ast.stmt:
        """What stays of a statement that gives these values to the context."""
        parts = [part for value in values for part in _effects(value)]
        found: list[ast.stmt] = [
            ast.copy_location(ast.Expr(self.visit(part)), part) for part in parts
        ]
        return found or ast.copy_location(ast.Pass(), node)


WITHOUT_EFFECT = frozenset(
    "abs all any bool callable dict enumerate float frozenset getattr hasattr id int isinstance "
    "issubclass len list max min range repr reversed set sorted str sum tuple type zip".split()
)
"""Builtins of Python whose calls only compute a value."""

_MADE_OF_PARTS = (
    *(ast.Attribute, ast.Compare, ast.Dict, ast.FormattedValue, ast.JoinedStr, ast.List, ast.Set),
    *(ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp),
)
"""Syntax that evaluates all its parts and does nothing else to them."""


def _effects(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression that have to run although its value is not used.

    These are calls, which may write, and names that `:=` binds.
    """
    acts = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    if isinstance(node, ast.Lambda) or not any(isinstance(n, acts) for n in ast.walk(node)):
        return []
    if isinstance(node, ast.GeneratorExp):  # Only what it goes through is evaluated at once.
        return _effects(node.generators[0].iter)
    if isinstance(node, _MADE_OF_PARTS):
        parts = [p for p in ast.iter_child_nodes(node) if isinstance(p, ast.expr)]
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in WITHOUT_EFFECT
    ):
        given = [*node.args, *(k.value for k in node.keywords)]
        parts = [
            ast.copy_location(ast.ListComp(p.elt, p.generators), p)
            if isinstance(p, ast.GeneratorExp)
            else p
            for p in given
        ]
    else:
        return [node]
    return [effect for part in parts for effect in _effects(part)]
