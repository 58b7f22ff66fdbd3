"""Emits `if`, `while`, `for`, `with` and the conditional expression.

Their parts become blocks of the graph.  Variables that a block assigns become outputs of the node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Node, Value
from scriptlang.source import Span

from ..syntax.questions import assigned_names, leaves_loop
from ..values.environment import Frame, Unusable
from ..values.iteration import known_elements
from ..values.sugared import SugaredValue
from ..whole import whole
from . import exits
from .assignment import assign
from .autocast import AUTOCAST, autocast_dtype
from .emitter import Loop
from .ignore_context import emit_ignoring, ignoring
from .refinement import condition, narrows, refine
from .refused import refuse_dead

if TYPE_CHECKING:
    from .emitter import Emitter

ENDLESS = exits.ENDLESS
"""The trip count of a loop that ends only by its condition."""


# if


def emit_if(e: Emitter, node: ast.If) -> None:
    """Emit an `if`; only one branch is compiled if the condition is known at compile time."""
    test = condition(e, node.test)
    span = e.span(node.test)
    if test.static is not None:
        refine(e, test.if_true if test.static else test.if_false, span)
        whole.emit_statements(e, node.body if test.static else node.orelse)
        refuse_dead(e, node.orelse if test.static else node.body)
        return
    branch = e.b.insert("prim::If", [test.value], (), e.span(node))
    frames = []
    for facts, body in ((test.if_true, node.body), (test.if_false, node.orelse)):
        with e.block(branch.add_block()) as frame:
            refine(e, facts, span)
            whole.emit_statements(e, body)
        frames.append(frame)
    merge(e, branch, frames, e.span(node))


def merge(e: Emitter, branch: Node, frames: list[Frame], span: Span) -> None:
    """Make the variables that two branches bind outputs of their node.

    `frames` are those of the two branches.
    """
    then, other = frames
    if then.exits and other.exits:
        e.frame.exits = True
        return
    gone = then.unusable.keys() | other.unusable.keys()
    touched = then.values.keys() | other.values.keys() | gone
    assigned = then.assigned() | other.assigned() | gone
    for name in sorted(touched):
        if name in assigned:
            merge_name(e, branch, name, then, other, span)
        else:
            _merge_facts(e, branch, name, then, other, span)
    nones = other.nones if then.exits else then.nones if other.exits else then.nones & other.nones
    e.frame.nones |= nones - assigned


def _merge_facts(
    e: Emitter, branch: Node, name: str, then: Frame, other: Frame, span: Span
) -> None:
    """Refine the type of a name that no branch assigned, if the branches know a narrower one."""
    types = [f.find(name).type(e.b, span) for f in (then, other) if not f.exits]
    known = T.unify(types[0], types[-1])
    if known is not None and then.exits != other.exits:
        keep_facts(e, branch, {name: known}, 1 if then.exits else 0, span)
    elif known is not None:
        refine(e, {name: known}, span)


def keep_facts(
    e: Emitter, branch: Node, facts: dict[str, T.Type], goes_on: int, span: Span
) -> None:
    """Refine variables after a branch of which only the block with index `goes_on` continues.

    As in PyTorch, the refined value is an output of the branch, and the cast to the narrower type
    is in the block that continues.  So the cast is not executed for a value of another type.
    """
    for name, type in sorted(facts.items()):
        known = e.frame.find(name)
        if known is None or not e.b.is_simple(known) or not narrows(e, known, type, span):
            continue
        if type == T.NONE:
            refine(e, {name: type}, span)
            continue
        with e.graph.at(branch.blocks[goes_on]):
            refined = e.b.cast(known.value(e.b, span), type, span)
            e.b.name_value(refined, name)
        for i, block in enumerate(branch.blocks):
            block.add_return(refined if i == goes_on else e.uninitialized(type))
        e.frame.refine(name, e.simple(branch.add_output(type, name)), known)


def merge_name(e: Emitter, branch: Node, name: str, then: Frame, other: Frame, span: Span) -> None:
    """Make a name that at least one branch assigned an output of their node.

    If the branches do not agree on its type or kind, it becomes unusable after the branch.
    """
    values: list[SugaredValue | None] = []
    for frame in (then, other):
        value = None if frame.exits else frame.find(name)
        if value is None and not frame.exits:
            which = "true" if frame is then else "false"
            why = frame.find_unusable(name)
            e.frame.forget(
                name,
                Unusable(
                    why.message if why else f"{name!r} is not defined in the {which} branch",
                    why.help if why else "assign it before the if, or in both branches",
                ),
            )
            return
        values.append(value)
    live = [v for v in values if v is not None]
    if len(live) == 2 and live[0] is live[1]:
        if e.frame.find(name) is not live[0]:
            e.frame.set(name, live[0])
        return
    if not all(e.b.is_simple(v) for v in live):
        if len(live) == 1:
            e.frame.set(name, live[0])
        else:
            e.frame.forget(
                name,
                Unusable(
                    f"{name!r} is {live[0].kind} in one branch and {live[1].kind} in the other",
                    "use two names",
                ),
            )
        return
    _merge_values(e, branch, name, values, span)


def _merge_values(
    e: Emitter, branch: Node, name: str, values: list[SugaredValue | None], span: Span
) -> None:
    """Make the values of a name in two branches an output; None is that of a branch that exits."""
    plain: list[Value | None] = []
    for value, block in zip(values, branch.blocks):
        with e.graph.at(block):
            plain.append(None if value is None else value.value(e.b, span))
    if None not in plain and T.unify(plain[0].type, plain[1].type) is None:
        # Results of operators without schema take the type of the other branch.
        values[0].declare(plain[1].type)
        values[1].declare(plain[0].type)
    types = [v.type for v in plain if v is not None]
    type = T.unify(types[0], types[-1])
    if type is None and all(T.is_subtype(t, e.frame.declared(name, e.b, span)) for t in types):
        type = T.union(*types)
    if getattr(type, "is_module", False) and len(types) > 1:
        e.frame.forget(
            name,
            Unusable(
                f"{name!r} is one of two modules, depending on the branch",
                "call the modules in the branches, and keep what they give",
            ),
        )
        return
    if type is None:
        e.frame.forget(
            name,
            Unusable(
                f"Type mismatch: {name} is set to type {types[0].annotation} in the true branch "
                f"and type {types[-1].annotation} in the false branch",
                "use two names, or annotate it before the if with a type that fits both",
            ),
        )
        return
    for given, block in zip(plain, branch.blocks):
        block.add_return(e.uninitialized(type) if given is None else given)
    output = branch.add_output(type, name)
    e.frame.set(name, e.simple(output))


def keep_named(e: Emitter, branch: Node, frames: list[Frame], span: Span) -> None:
    """Merge the names that `:=` binds in one branch of a conditional expression.

    If that branch did not run, a new name is uninitialized; in Python it is not defined then.
    """
    for name in sorted(frames[0].assigned() | frames[1].assigned()):
        for frame, other in (frames, frames[::-1]):
            if frame.find(name) is None:
                type = other.find(name).type(e.b, span)
                frame.set(name, e.simple(e.uninitialized(type)))
        merge_name(e, branch, name, frames[0], frames[1], span)


def choose_value(e: Emitter, node: ast.IfExp, expected: T.Type | None) -> SugaredValue:
    """Emit `a if condition else b`."""
    test = condition(e, node.test)
    if test.static is not None:
        refine(e, test.if_true if test.static else test.if_false, e.span(node.test))
        return e.expr(node.body if test.static else node.orelse, expected)
    branch = e.b.insert("prim::If", [test.value], (), e.span(node))
    values, frames = [], []
    for facts, body in ((test.if_true, node.body), (test.if_false, node.orelse)):
        block = branch.add_block()
        with e.block(block) as frame:
            frames.append(frame)
            refine(e, facts, e.span(node.test))
            value = e.value(body, expected)
            if expected is not None:
                value = e.b.convert(value, expected, e.span(body), False)
                value = e.b.widen(value, expected, e.span(body))
            block.add_return(value)
        values.append(value)
    first, second = (v.type for v in values)
    type = T.unify(first, second)
    if (
        type is None
        and expected is not None
        and all(T.is_subtype(t, expected) for t in (first, second))
    ):
        type = expected
    if type is None:
        raise CompileError(
            f"if-expression's true branch has type {first.annotation} but false branch has type "
            f"{second.annotation}",
            e.span(node),
            "convert one of them",
        )
    result = branch.add_output(type)
    keep_named(e, branch, frames, e.span(node))
    return e.simple(result)


# Loops


def _carried(e: Emitter, body: list[ast.AST]) -> list[str]:
    """The loop-carried variables, sorted: names that are assigned in `body` and have a value before
    the loop."""
    names = []
    for name in sorted(assigned_names(body)):
        value = e.frame.find(name)
        if value is not None and e.b.is_simple(value):
            names.append(name)
    return names


def emit_while(e: Emitter, node: ast.While) -> None:
    """Emit a `while` as a prim::Loop without a limit on its trip count."""
    if node.orelse:
        _no_else(e, node)
    span = e.span(node)
    endless = e.b.constant(ENDLESS, span)
    test = condition(e, node.test)
    if test.static is False:
        return
    names = _carried(e, [*node.body, node.test])
    loop = Loop(names, node.test)
    emit_loop(
        e,
        loop,
        endless,
        test.value,
        node,
        lambda frame, turn: refine(e, condition_facts(e, node.test), span),
    )
    changes = {n.id for n in ast.walk(node.test) if isinstance(n, ast.Name)} & set(names)
    if test.static and not changes and not loop.breaks:
        e.frame.exits = True


def condition_facts(e: Emitter, test: ast.expr) -> dict[str, T.Type]:
    """The types of variables that a loop condition implies in the body of the loop.

    The condition is emitted to find them, and its nodes are removed again.
    """
    before, saved = e.graph.insert_point.prev, e.frame
    e.frame = Frame(saved)
    try:
        return condition(e, test).if_true
    finally:
        e.frame = saved
        e.drop_after(before)


def _no_else(e: Emitter, node: ast.While | ast.For) -> NoReturn:
    loop = "for" if isinstance(node, ast.For) else "while"
    raise CompileError(
        f"else branches of {loop} loops aren't supported",
        e.span(node.orelse[0]),
        "set a flag in the loop and test it after",
    )


def emit_for(e: Emitter, node: ast.For) -> None:
    """Emit a `for`; it is unrolled if the number of elements is known at compile time."""
    if node.orelse:
        _no_else(e, node)
    iterable = e.expr(node.iter).iterate(e.b, e.span(node.iter))
    span = e.span(node.iter)
    static = known_elements(e.b, iterable, span)
    if static is not None:
        _unroll(e, node, static)
        return
    names = _carried(e, [node.target, *node.body])
    length = iterable.length(e.b, span)
    if length is None:
        raise CompileError("a loop without end", span, "zip it with something that ends")
    go = e.b.constant(True, span)

    def start(frame: Frame, turn: Value) -> None:
        assign(e, node.target, iterable.element(e.b, turn, span), e.span(node.target))

    loop = Loop(names)
    made = emit_loop(e, loop, length, go, node, start)
    if loop.exits:
        exits.count_turns(e, made)


def _unroll(e: Emitter, node: ast.For, elements: list[SugaredValue]) -> None:
    e.loops.append(Loop([], static=True))
    try:
        for element in elements:
            if e.frame.exits:
                break
            assign(e, node.target, element, e.span(node.target))
            whole.emit_statements(e, node.body)
    finally:
        e.loops.pop()


def emit_loop(
    e: Emitter,
    loop: Loop,
    count: Value,
    go: Value,
    node: ast.While | ast.For,
    start: Callable[..., Any],
) -> Node:
    """Emit a prim::Loop with trip count `count` and initial condition `go`; returns the node.

    `start(frame, turn)` is called at the start of the body, where `turn` is the number of the
    iteration: it binds the target of a `for`, or refines types by the condition of a `while`.
    """
    span = e.span(node)
    initial = [e.frame.find(n).value(e.b, span) for n in loop.names]
    made = e.b.insert("prim::Loop", [count, go, *initial], (), span)
    body = made.add_block()
    turn = body.add_parameter(T.INT)
    e.loops.append(loop)
    try:
        with e.block(body) as frame:
            for name, value in zip(loop.names, initial):
                frame.set(name, e.simple(body.add_parameter(value.type, name)))
            start(frame, turn)
            whole.emit_statements(e, node.body)
            if not frame.exits:
                next_turn(e, loop, span)
    finally:
        e.loops.pop()
    for name, value in zip(loop.names, initial):
        e.frame.set(name, e.simple(made.add_output(value.type, name)))
    for name in frame.assigned() - set(loop.names):
        if e.frame.find(name) is None:
            e.frame.forget(
                name,
                Unusable(f"{name!r} is defined only inside the loop", "assign it before the loop"),
            )
    exits.close_loop(e, loop, made, span)
    return made


def next_turn(e: Emitter, loop: Loop, span: Span) -> None:
    """End an iteration: emit the condition for the next one, and the loop-carried variables."""
    if loop.condition is None:
        go = e.b.constant(True, span)
    else:
        go = condition(e, loop.condition).value
    leave_turn(e, loop, go, span)


def leave_turn(e: Emitter, loop: Loop, go: Value, span: Span) -> Node:
    """Emit the node that ends an iteration; `go` says whether the loop continues.  Returns it."""
    values = [e.lookup(n, span).value(e.b, span) for n in loop.names]
    node = e.b.insert(exits.LEAVE, [go, *values], (), span)
    loop.exits.append(node)
    return node


def emit_break(e: Emitter, node: ast.Break) -> None:
    loop = _open_loop(e, node, "break")
    loop.breaks = True
    leave_turn(e, loop, e.b.constant(False, e.span(node)), e.span(node))
    e.frame.exits = True


def emit_continue(e: Emitter, node: ast.Continue) -> None:
    next_turn(e, _open_loop(e, node, "continue"), e.span(node))
    e.frame.exits = True


def _open_loop(e: Emitter, node: ast.stmt, what: str) -> Loop:
    if not e.loops:
        raise CompileError(
            f"{what} outside of a loop", e.span(node), "leave the function with return"
        )
    if e.loops[-1].static:
        raise CompileError(
            "Because we emit iteration over modulelists or tuples as unrolled loops, we do not "
            "support break or continue inside the body of these loops",
            e.span(node),
            "use if instead, or loop over a list",
        )
    return e.loops[-1]


def emit_with(e: Emitter, node: ast.With) -> None:
    """Emit `with a as x, b:`.

    The `__exit__` methods run in reverse order, also if the body is left by a return, break or
    continue.
    """
    ignored = ignoring(e, node)
    if ignored is not None:
        emit_ignoring(e, node, ignored)
        return
    span = e.span(node)
    entered = [_enter(e, item) for item in node.items]
    if not leaves_loop(node.body):
        whole.emit_statements(e, node.body)
        for value, place in reversed(entered):
            e.b.insert("prim::Exit", [value], (T.NONE,), place)
        return
    region = e.b.insert(exits.WITH, (), (), span)
    body, leaving = region.add_block(), region.add_block()
    with e.block(body) as frame:
        whole.emit_statements(e, node.body)
    with e.graph.at(leaving):
        for value, place in reversed(entered):
            e.b.insert("prim::Exit", [value], (T.NONE,), place)
    for name in sorted(frame.values):
        kept = frame.values[name]
        if name in frame.refined or frame.exits:
            continue
        if e.b.is_simple(kept):
            plain = kept.value(e.b, span)
            body.add_return(plain)
            kept = e.simple(region.add_output(plain.type, name))
        e.frame.set(name, kept)
    e.frame.exits = frame.exits


def _check_exit(e: Emitter, t: T.ClassType, span: Span) -> None:
    arguments = e.b.schema_of(t.methods["__exit__"], span).arguments[1:]
    wrong = next((i for i, a in enumerate(arguments, 1) if a.type != T.ANY), None)
    if len(arguments) != 3 or wrong is not None:
        message = f"argument {wrong} of __exit__ must have Any type"
        if len(arguments) != 3:
            message = "__exit__ must have four arguments"
        raise CompileError(
            message, span, "declare it as `def __exit__(self, type: Any, value: Any, trace: Any)`"
        )


def _enter(e: Emitter, item: ast.withitem) -> tuple[Value, Span]:
    """Emit the call of `__enter__` for a part of a `with`; returns the context manager."""
    span = e.span(item.context_expr)
    value = e.value(item.context_expr)
    t = value.type
    if not isinstance(t, T.ClassType) or not {"__enter__", "__exit__"} <= t.methods.keys():
        raise CompileError(
            "Object returned by with item expression does not define __enter__ and __exit__ methods"
            if isinstance(t, T.ClassType)
            else f"With item expression must return an object, not {t.annotation}",
            span,
            "its class needs methods __enter__ and __exit__",
        )
    _check_exit(e, t, span)
    schema = e.b.schema_of(t.methods["__enter__"], span)
    if len(schema.arguments) != 1:
        raise CompileError(
            "__enter__ must have only one argument and one return value",
            span,
            "declare it as `def __enter__(self)`",
        )
    result = e.b.insert("prim::Enter", [value], (schema.returns[0].type,), span).output
    reduced = autocast_dtype(value, span) if t.name in AUTOCAST else None
    if reduced is not None:
        result.node.attributes["reduced"] = reduced
    if item.optional_vars is not None:
        assign(e, item.optional_vars, e.simple(result), span)
    return value, span
