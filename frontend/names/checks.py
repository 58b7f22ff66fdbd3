"""`torch._check`, `torch._assert` and similar functions, which are compiled as assertions.

    torch._check(x.dim() == 2, "a matrix")      ->  assert x.dim() == 2, "a matrix"

They differ in the exception that they raise.  PyTorch compiles only `_check` and `_assert`, and
only with a text as message.  Here a message may also be a lambda; its body runs if the check fails.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError

from ..bodies.statements import require
from ..values.sugared import ConstantValue, SpecialForm, SugaredValue

if TYPE_CHECKING:
    from ..bodies.emitter import Emitter

EXCEPTIONS = {
    "_check": "AssertionError",
    "_assert": "AssertionError",
    "_check_index": "IndexError",
    "_check_value": "ValueError",
    "_check_type": "TypeError",
    "_check_not_implemented": "NotImplementedError",
    "_check_is_size": "RuntimeError",
    "_check_tensor_all": "RuntimeError",
}
"""Function of torch -> the exception that it raises in a program.

Called from Python, `torch._check` raises RuntimeError.
"""


FIRST = {"_check_is_size": "i", "_assert": "condition"}
"""Function of torch -> the name of its first argument, if that is not `cond`."""

NEEDED = ("condition", "message")
"""What `_assert` has to be given; the others can do without a message."""


def _emit(name: str) -> Callable[..., Any]:
    def emit(e: Emitter, node: ast.Call, expected: T.Type | None) -> SugaredValue:
        parts = _parts(e, node, name)
        require(
            e,
            _test(name, node, parts),
            parts.get("message"),
            f"builtins.{EXCEPTIONS[name]}",
            e.span(node),
        )
        return ConstantValue(None)

    return emit


def _parts(e: Emitter, node: ast.Call, name: str) -> dict[str, ast.expr]:
    """The arguments of a call by name: condition, message, and max (of `_check_is_size`)."""
    given = dict(zip(("condition", "message"), node.args))
    first = FIRST.get(name, "cond")
    named = {
        "condition" if keyword.arg == first else keyword.arg or "": keyword.value
        for keyword in node.keywords
    }
    twice = given.keys() & named.keys()
    given |= named
    allowed = {"condition", "message", "max"} if name == "_check_is_size" else set(NEEDED)
    needed = NEEDED if name == "_assert" else NEEDED[:1]
    if twice or not set(needed) <= given.keys() <= allowed or len(node.args) > 2:
        raise CompileError(
            f"{name} takes a condition and a message",
            e.span(node),
            f'write torch.{name}(condition, "message")',
        )
    message = given.get("message")
    if isinstance(message, ast.Lambda) and not message.args.args:
        given["message"] = message.body
    elif isinstance(message, ast.Constant) and message.value is None:
        del given["message"]
    return given


def _test(name: str, node: ast.Call, parts: dict[str, ast.expr]) -> ast.expr:
    """The syntax of the condition that has to hold."""
    test = parts["condition"]
    if name == "_check_tensor_all":
        test = ast.Call(ast.Attribute(test, "all", ast.Load()), [], [])
    elif name == "_check_is_size":
        test = ast.Compare(ast.Constant(0), [ast.LtE()], [test])
        if "max" in parts:
            test.ops.append(ast.LtE())
            test.comparators.append(parts["max"])
    for part in ast.walk(test):
        if not hasattr(part, "lineno") and "lineno" in part._attributes:
            ast.copy_location(part, node)
    return test


CHECKS: dict[str, SugaredValue] = {name: SpecialForm(name, _emit(name)) for name in EXCEPTIONS}
"""Name of the function in torch -> its meaning."""
