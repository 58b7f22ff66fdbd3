"""The derivatives of operators, read from rules/<family>.txt when an operator needs them.

    mul.Tensor
      self: grad * other.conj()
      other: grad * self.conj()

`rule_of(op)` returns the Rule of an operator, or that of the operator that it is a form of: `mul_`
and `mul.out` are derived from `mul`, `scatter` from `scatter_`; a file may name either.

Lines with `forward` tell the derivative forward, of what inputs it adds to that of the result:

    mm.
      forward self: linear                  the operator itself, on the tangent of `self`
      forward mat2: self.mm(tangent)        an expression of the tangent

`forward` alone means all inputs with gradients; `forward a, b` means both together, whose tangents
are a_tangent and b_tangent, zeros where there is none.  Instead of an expression there may be
    linear      the operator itself, applied to the tangents of these inputs
    products    the same for each of the inputs, while the other ones stay as they are
    pointwise   the expression of the gradient, with the tangent in place of `grad`
    reduction   that expression for a gradient of ones, times the tangent, summed over `dim`
    unknown     nothing: a tangent of these inputs raises an error
Pointwise operators (`Facts.pointwise`) need no such line.  Where nothing is told, what goes back
is differentiated once more (forward_rules.py).

Names in an expression: arguments of the schema; `self_size`, the size of the tensor argument
`self` (or of each tensor of a list), which does not keep the elements alive; `result` and
`result_size`, or the names of several results (result0, result1 if they have none); `grad`, or
`grad_<name of the result>` for several; `needs`, a list that says for which inputs of the line a
gradient is wanted; `torch`; functions of helpers.py and formulas/<family>.py.  If an argument is
called `grad`, the gradient of the result is `grad_result`.

The gradient of a broadcast input may have the shape of the result, and that of a real input may be
complex: the caller reduces it and takes the real part (`helpers.fitted`).
Types: `grad` is a Tensor, or a List[Optional[Tensor]] for a list of tensors; for several results
each is Optional, and None if no gradient arrived.  For one input the expression returns a Tensor
(or None), for a list of tensors a list; for a line with several inputs it returns a tuple.
"""

from __future__ import annotations

import ast
import importlib
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

from ... import types as T
from ...building import made_once
from ...ir import Function
from ...records import record
from ...schema import Argument, Schema
from .. import table
from ..calling import functions

FOLDER = os.path.join(os.path.dirname(__file__), "rules")

LINE = re.compile(r"(forward\b)?\s*(\w+(?:\s*,\s*\w+)*)?\s*:\s*(.*)", re.DOTALL)
"""A line of a rule: inputs, and the expression of their gradients; or `forward`, inputs, what they
add to the tangent of the result."""

KINDS = ("linear", "products", "pointwise", "reduction", "unknown")
"""What a line with `forward` may have instead of an expression."""

TANGENT = "_tangent"
"""The suffix that turns the name of an input into the name of its tangent."""

SIZE = "_size"
"""The suffix that turns the name of an argument or a result into the name of its size."""

BUILTINS = frozenset({"len", "range", "int", "float", "bool", "max", "min"})
"""Builtin functions of the language that expressions may use."""


class RuleError(ValueError):
    """An invalid rule; the text names the file and the line."""


class Expression:
    """One expression of a rule.

    inputs: the arguments whose gradients it computes; () for one that runs instead of the kernel.
    names: the operator's names that it uses, which are the parameters of `function`, in order.
    place: "file:line".  is_forward: whether it computes what the inputs add to a tangent.
    """

    def __init__(
        self, rule: Rule, inputs: tuple[str, ...], text: str, place: str, is_forward: bool = False
    ) -> None:
        self.rule, self.inputs, self.text, self.place = rule, inputs, text, place
        self.is_forward = is_forward
        used = free_names(text, place)
        known = self.types
        self.names = tuple(name for name in known if name in used)
        for name in sorted(used - known.keys() - BUILTINS - rule.namespace.keys()):
            raise RuleError(
                f"{place}: {name} is no argument, result or gradient of {rule.name}, and no helper"
            )

    @property
    def types(self) -> dict[str, T.Type]:
        """The types of the names that it may use."""
        if not self.is_forward:
            return self.rule.types | {"needs": T.ListType(T.BOOL)}
        types = {k: v for k, v in self.rule.types.items() if k not in self.rule.grads}
        schema = self.rule.operator.schema
        for name in self.inputs:
            of_input = T.without_none(schema.arguments[schema.index(name)].type)
            types["tangent" if len(self.inputs) == 1 else name + TANGENT] = of_input
        return types

    @property
    def source(self) -> str:
        """The expression as the source of a function."""
        return f"def derivative({', '.join(self.names)}):\n    return (\n{self.text}\n    )\n"

    @property
    def schema(self) -> Schema:
        """The schema of the function made from the expression; its result type is inferred."""
        types = self.types
        arguments = tuple(Argument(name, types[name]) for name in self.names)
        return Schema("derivative", "", arguments, (Argument("", T.ANY),))

    @made_once
    def function(self) -> Callable[..., Any]:
        """The expression as a Python function."""
        code = compile(self.source, f"<{self.place}>", "exec")
        namespace = dict(self.rule.namespace)
        exec(code, namespace)
        return namespace["derivative"]

    @made_once
    def _compiled(self) -> Function:
        from ...frontend.python.derivatives import compile_expression

        return compile_expression(self)

    def compiled(self) -> Function:
        """The expression as a function of the language (compiled once, by the front end)."""
        return self._compiled

    def __repr__(self) -> str:
        return f"<{self.rule.name} {', '.join(self.inputs)}: {self.text}>"


class Rule:
    """How an operator is differentiated.

    is_none: no result has a gradient.  instead: the expression that replaces the kernel if an
    argument requires a gradient, or None.  gradients: the expressions, each for one or several
    inputs; an input without an expression gets no gradient. results, grads: the names of results
    and of their gradients in expressions, in order. forward: (inputs, a word of KINDS or an
    expression) for lines that tell the derivative forward.
    """

    def __init__(self, operator: table.Operator, family: str, block: Block) -> None:
        self.operator, self.name = operator, operator.qualified_name
        self.namespace = namespace_of(family)
        schema = operator.schema
        several = len(schema.returns) > 1
        self.results = tuple(
            (r.name or f"result{i}") if several else "result" for i, r in enumerate(schema.returns)
        )
        taken = {a.name for a in schema.arguments}
        self.grads = tuple(
            f"grad_{name}" if several or "grad" in taken else "grad" for name in self.results
        )
        self.is_none = False
        self.instead: Expression | None = None
        self.gradients: list[Expression] = []
        self.forward: list[tuple[tuple[str, ...], str | Expression]] = []
        self.read(block)

    @property
    def types(self) -> dict[str, T.Type]:
        """The types of the names that expressions may use."""
        schema = self.operator.schema
        several = len(schema.returns) > 1
        types = {a.name: a.type for a in schema.arguments}
        for a in schema.arguments:
            if holds_tensors(a.type):
                types.setdefault(a.name + SIZE, size_type(a.type))
        for name, grad, r in zip(self.results, self.grads, schema.returns):
            types.setdefault(name, r.type)
            if holds_tensors(r.type):
                types.setdefault(name + SIZE, size_type(r.type))
            listed = isinstance(r.type, T.ListType)
            one = T.ListType(T.OptionalType(T.TENSOR)) if listed else T.TENSOR
            types[grad] = T.OptionalType(one) if several else one
        return types

    def read(self, block: Block) -> None:
        """Parse the lines of a block."""
        given: set[str] = set()
        told: list[tuple[str, str, str]] = []
        for text, place in block.lines:
            if text == "none":
                self.is_none = True
                continue
            found = LINE.fullmatch(text)
            if not found or not (found[1] or found[2]):
                raise RuleError(f"{place}: expected `inputs: expression`, `instead:` or `none`")
            if found[1]:
                told.append((found[2] or "", found[3], place))
                continue
            inputs = tuple(re.split(r"\s*,\s*", found[2]))
            if inputs == ("instead",):
                self.instead = Expression(self, (), found[3], place)
                continue
            self.check(inputs, given, place)
            self.gradients.append(Expression(self, inputs, found[3], place))
        given = set()
        for names, text, place in told:
            if names:
                inputs = tuple(re.split(r"\s*,\s*", names))
            else:
                inputs = tuple(name for e in self.gradients for name in e.inputs)
            self.check(inputs, given, place)
            self.read_forward(inputs, text, place)
        if self.is_none + bool(self.instead) + bool(self.gradients) != 1:
            raise RuleError(
                f"{block.place}: {self.name} has either gradients of inputs, `instead:` or `none`"
            )

    def check(self, inputs: tuple[str, ...], given: set[str], place: str) -> None:
        """Raise RuleError if a line cannot be for these inputs, and note them in `given`."""
        for name in inputs:
            at = self.operator.schema.index(name)
            if at is None:
                raise RuleError(f"{place}: {self.name} has no argument {name}")
            if not holds_tensors(self.operator.schema.arguments[at].type):
                raise RuleError(f"{place}: argument {name} of {self.name} is no tensor")
            if name in given:
                raise RuleError(f"{place}: {self.name} has two lines for {name}")
            given.add(name)

    def read_forward(self, inputs: tuple[str, ...], text: str, place: str) -> None:
        """Take a line that tells the derivative forward."""
        if text not in KINDS:
            expression = Expression(self, inputs, text, place, is_forward=True)
            self.forward.append((inputs, expression))
        elif text in ("linear", "unknown"):
            self.forward.append((inputs, text))
        else:
            kind = "linear" if text == "products" else text
            self.forward += [((name,), kind) for name in inputs]
            alone = {e.inputs for e in self.gradients}
            if kind != "linear" and any((name,) not in alone for name in inputs):
                raise RuleError(f"{place}: {text}: the gradient of each input has its own line")

    def __repr__(self) -> str:
        return f"<rule of {self.name}>"


@record(frozen=True)
class Block:
    """The text of a rule: its lines, with continuation lines joined, each with its place."""

    place: str
    lines: tuple[tuple[str, str], ...]


def size_type(type: T.Type) -> T.Type:
    """The type of the size of a tensor, or of the list of sizes of a list of tensors."""
    if isinstance(type, T.ListType):
        return T.ListType(size_type(type.element))
    if isinstance(type, T.OptionalType):
        return size_type(type.element)  # [] stands for None
    return T.ListType(T.INT)


def size_of(value: Any) -> Any:
    """The value of `self_size`: the size of a tensor, the sizes of a list, [] for None."""
    if isinstance(value, (list, tuple)):
        return [size_of(v) for v in value]
    return [] if value is None else list(value.size())


def holds_tensors(type: T.Type) -> bool:
    """Whether a value of the type may be or contain a tensor."""
    return type == T.TENSOR or (
        isinstance(type, (T.OptionalType, T.ListType)) and holds_tensors(type.element)
    )


def free_names(text: str, place: str) -> set[str]:
    """The names that an expression reads but does not bind."""
    try:
        tree = ast.parse(f"(\n{text}\n)", mode="eval")
    except SyntaxError as error:
        raise RuleError(f"{place}: {error.msg}: {text}") from None
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound


@cache
def namespace_of(family: str) -> dict[str, Any]:
    """The names that expressions of a family may use besides those of their operator."""
    found: dict[str, Any] = {"torch": functions}
    for module in ("helpers", f"formulas.{family}"):
        file = os.path.join(os.path.dirname(__file__), *module.split(".")) + ".py"
        if os.path.exists(file):
            made = importlib.import_module(f"{__package__}.{module}")
            found |= {k: v for k, v in vars(made).items() if isinstance(v, FunctionType)}
    return found


def families() -> list[str]:
    """The names of the families that have rules."""
    return sorted(f.removesuffix(".txt") for f in os.listdir(FOLDER) if f.endswith(".txt"))


@cache
def blocks_of(family: str) -> dict[str, Block]:
    """Qualified name of an operator -> the text of its rule, for a family."""
    path = os.path.join(FOLDER, f"{family}.txt")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as f:
        return dict(read_blocks(f.read(), f"{family}.txt"))


def read_blocks(text: str, file: str) -> Iterator[tuple[str, Block]]:
    """Yield (qualified name, block) for each operator that a text has a rule for."""
    seen: set[str] = set()
    for headers, lines in grouped(text, file):
        place = headers[0][1]
        if not lines:
            raise RuleError(f"{place}: {headers[0][0]} has no lines")
        for header, where in headers:
            name, dot, overload = header.partition(".")
            if not dot:
                raise RuleError(f"{where}: {header} is no `name.overload` (or `name.`)")
            full = f"{'' if '::' in name else 'aten::'}{name}{dot if overload else ''}{overload}"
            if full in seen:
                raise RuleError(f"{where}: {header} has two rules")
            seen.add(full)
            yield full, Block(where, tuple(lines))


def grouped(text: str, file: str) -> Iterator[tuple[list[tuple[str, str]], list[tuple[str, str]]]]:
    """Yield ([(header, place)...], [(line, place)...]) for each group of lines."""
    headers: list[tuple[str, str]] = []
    lines: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        body, place = line.strip(), f"{file}:{number}"
        indent = len(line) - len(line.lstrip())
        if not body or body.startswith("#"):
            continue
        if indent == 0:
            if lines:
                yield headers, lines
                headers, lines = [], []
            headers += [(header, place) for header in body.split()]
        elif not headers:
            raise RuleError(f"{place}: a line of no operator")
        elif indent == 2:
            lines.append((body, place))
        elif lines:
            lines[-1] = f"{lines[-1][0]}\n{body}", lines[-1][1]
        else:
            raise RuleError(f"{place}: lines of an operator are indented by two")
    if headers:
        yield headers, lines


def rule_of(op: table.Operator) -> Rule | None:
    """The rule of an operator, or of the one that it is derived from; None if there is none."""
    known = op.__dict__
    if "derivative" not in known:
        known["derivative"] = found_rule(op)
    return known["derivative"]


def found_rule(op: table.Operator) -> Rule | None:
    if op.kind in ("lacking", "custom"):
        return None
    if op.form is not None:
        return rule_of(op.form.base)
    family = op.makers[0] if op.makers else ""
    blocks = blocks_of(family)
    block = blocks.get(op.qualified_name)
    if block is None and op.name.endswith("_"):
        rest = op.qualified_name.removeprefix(op.name)
        block = blocks.get(op.name[:-1] + rest)
    return Rule(op, family, block) if block else None
