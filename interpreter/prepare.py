"""From a Function to Code that can run: optimised and compiled once, kept on the function."""

from __future__ import annotations

from collections import Counter, deque
from typing import Callable, Iterable, Iterator

from .. import types as T
from ..ir import Function, schema_of_graph
from ..passes.pipeline import optimize
from .code import Code
from .compiler import compile_graph

CODE = "code"
"""Attribute of a Function that holds its Code.  Functions read from bytecode come with it."""


def code_of(function: Function) -> Code:
    """The optimised code of a function.  The function's own graph stays as it is."""
    code = function.attributes.get(CODE)
    if code is None:
        graph = function.graph.copy()
        optimize(graph)
        schema = function.schema or schema_of_graph(function.name, graph)
        code = function.attributes[CODE] = compile_graph(graph, function.name, schema)
    return code


def reachable(*functions: Function, code_of: Callable[[Function], Code] = code_of
              ) -> dict[Function, Code]:
    """The code of functions and of every function that they may call, those given first."""
    codes: dict[Function, Code] = {}
    pending = deque(functions)
    while pending:
        function = pending.popleft()
        if function not in codes:
            code = codes[function] = code_of(function)
            pending += [*code.functions, *methods_called(code)]
    return codes


def unique_names(functions: Iterable[Function]) -> dict[Function, str]:
    """A name for each function: its own, with a number behind it where an earlier one has it."""
    names: dict[Function, str] = {}
    taken: set[str] = set()
    for function in functions:
        name, n = function.name, 0
        while name in taken:
            n += 1
            name = f"{function.name}_{n}"
        taken.add(name)
        names[function] = name
    return names


def methods_called(code: Code) -> Iterator[Function]:
    """Methods that INTERFACE_CALL may reach, as far as classes known to the code have them."""
    names = {code.constants[i.x] for i in code.instructions if i.op == "INTERFACE_CALL"}
    if any(i.op in ("ENTER", "EXIT") for i in code.instructions):
        names |= {"__enter__", "__exit__"}
    for cls in classes_of(code) if names else ():
        for name in names & set(cls.methods):
            if isinstance(cls.methods[name], Function):
                yield cls.methods[name]


def classes_of(code: Code) -> Iterator[T.ClassType]:
    """The classes that arguments, types and registers of a code name, and those of their attributes."""
    roots = [a.type for a in code.schema.arguments] + code.types \
        + [t for t in code.register_types if t is not None]
    seen: set[T.ClassType] = set()
    pending = [t for root in roots for t in root.walk()]
    while pending:
        t = pending.pop()
        if isinstance(t, T.ClassType) and t not in seen:
            seen.add(t)
            yield t
            pending += [part for a in t.attributes for part in a.type.walk()]


def operators_of(function: Function) -> Counter[str]:
    """Qualified names of the operators that a function may reach, with the number of instructions
    that call each."""
    counts: Counter[str] = Counter()
    for code in reachable(function).values():
        counts.update(code.operators[i.x].qualified_name
                      for i in code.instructions if i.op in ("OP", "OPN"))
    return counts
