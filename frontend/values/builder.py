"""The builder, which inserts typed nodes into a graph.  Sugared values and the emitter use it."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Graph, Node, Value, clone_node
from scriptlang.schema import NO_DEFAULT, Argument, Schema
from scriptlang.source import Span

from ..overloads import conversions, language_functions, matching, operators
from ..overloads.matching import Actual
from ..syntax.places import called_at
from . import object_sorting
from .simple import SimpleValue, takes_as_self
from .sugared import Arg, ConstantValue, SugaredValue


class Builder:
    """Inserts nodes at the insertion point of a graph; chooses overloads and types.

    `unknown` lists the kinds of the operators without a schema that were called so far; the code of
    archives may call such.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.unknown: builtins.list[str] = []

    def insert(
        self,
        kind: str,
        inputs: Sequence[Value],
        outputs: Sequence[T.Type],
        span: Span,
        **attributes: Any,
    ) -> Node:
        """Insert a node without a schema."""
        return self.graph.insert(kind, inputs, outputs, span, attributes)

    def constant(self, value: Any, span: Span, type: T.Type | None = None) -> Value:
        return self.graph.constant(value, type, span)

    def simple(self, value: Value) -> SimpleValue:
        """The sugared value of a value of the graph.

        A module has more than its attributes and methods: its `origin` supplies the sugared value.
        """
        origin = getattr(value.type, "origin", None)
        return SimpleValue(value) if origin is None else origin.meaning(value)

    @staticmethod
    def is_simple(value: SugaredValue) -> bool:
        """Whether it is a value of the graph, or a constant that can become one."""
        return isinstance(value, (SimpleValue, ConstantValue))

    def name_value(self, value: Value, name: str) -> None:
        """Name a value after its variable, if it has no name and is in the current block."""
        if not value.name and value.node.block is self.graph.insert_point.block:
            value.name = name

    def tuple(self, values: Sequence[Value], span: Span) -> Value:
        type = T.TupleType(tuple(v.type for v in values))
        return self.insert("prim::TupleConstruct", values, (type,), span).output

    def list(self, values: Sequence[Value], element: T.Type, span: Span) -> Value:
        return self.insert("prim::ListConstruct", values, (T.ListType(element),), span).output

    def unpack_tuple(self, value: Value, span: Span) -> builtins.list[Value]:
        """The elements of a tuple; those of a `prim::TupleConstruct` are its inputs."""
        if value.node.kind == "prim::TupleConstruct":
            return list(value.node.inputs)
        return list(self.insert("prim::TupleUnpack", [value], value.type.elements, span).outputs)

    def cast(self, value: Value, type: T.Type, span: Span) -> Value:
        """The value with another type, without a check at run time."""
        if value.type == type and value.type is not T.NONE:
            return value
        if value.type == T.NONE and value.is_constant:
            return self.constant(None, span, type)
        return self.insert("prim::unchecked_cast", [value], (type,), span).output

    def widen(self, value: Value, wanted: T.Type, span: Span) -> Value:
        """The value, converted to `wanted` if both are tuples and `wanted` has wider elements.

        Named tuples are not converted.
        """
        wanted = T.without_none(wanted)
        if (
            not isinstance(wanted, T.TupleType)
            or value.type == wanted
            or not T.is_subtype(value.type, wanted)
            or value.type.fields
        ):
            return value
        if value.node.kind != "prim::TupleConstruct":
            return self.cast(value, wanted, span)
        return self.insert("prim::TupleConstruct", value.node.inputs, (wanted,), span).output

    def convert(self, value: Value, wanted: T.Type, span: Span, implicit: bool) -> Value:
        """The value after conversion to `wanted`; of another type if there is no conversion."""
        step, _ = conversions.plan(value.type, wanted, implicit, conversions.openness(value))
        return conversions.apply(self, step, value, span)

    def is_filled(self, container: Value, span: Span) -> Value:
        """The truth value of a list, dict or string: whether it has elements."""
        length = self.emit("aten::len", [container], span)
        return self.emit("aten::gt", [length, self.constant(0, span)], span)

    def emit(self, name: str, args: Sequence[Value], span: Span, **kwargs: Value) -> Value:
        """Call an operator on values of the graph; returns its result as one value."""
        result = self.call_operator(
            name,
            [Arg(self.simple(v), span) for v in args],
            {n: Arg(self.simple(v), span) for n, v in kwargs.items()},
            span,
        )
        return result.value(self, span)

    def actuals(
        self, args: Sequence[Arg], kwargs: Mapping[str, Arg]
    ) -> builtins.tuple[builtins.list[Actual], dict[str, Actual]]:
        """The positional and keyword arguments as values of the graph."""
        return (
            [Actual(a.value.value(self, a.span), a.span) for a in args],
            {n: Actual(a.value.value(self, a.span), a.span) for n, a in kwargs.items()},
        )

    def call_operator(
        self,
        name: str,
        args: Sequence[Arg],
        kwargs: Mapping[str, Arg],
        span: Span,
        self_arg: Arg | None = None,
        replaced: Mapping[str, Function] | None = None,
    ) -> SugaredValue:
        """Call an operator: choose the overload, emit conversions, defaults and the node.

        `replaced` maps overload names to functions that are inlined in their place.
        """
        own = Actual(self_arg.value.value(self, self_arg.span), self_arg.span) if self_arg else None
        positional, named = self.actuals(args, kwargs)
        first = own or next(iter(positional), None)
        sorting = first and object_sorting.sorting_function(name, first.value.type)
        if sorting is not None:
            args = [Arg(self.simple(a.value), a.span) for a in ([own] if own else []) + positional]
            return self.call_function(sorting, args, kwargs, span)
        bodies = [(replaced or {}).get(s.overload, s) for s in operators.overloads(name)]
        bodies += language_functions.functions(name)
        if not bodies:
            bare = name.partition("::")[2]
            raise CompileError(
                f"there is no operator {name!r}",
                span,
                self.similar(bare) or "check its name, and load the library that defines it",
            )
        candidates = [b.schema if isinstance(b, Function) else b for b in bodies]
        # Matching caches decisions for qualified names.  They do not hold for replaced overloads.
        known_as = name.partition("::")[2] if replaced else name
        match = matching.choose(known_as, candidates, positional, named, own, span)
        inputs = matching.materialise(self, match, positional, named, own, span)
        body = bodies[match.index]
        if isinstance(body, Function):
            return self.inline(body, inputs, span)
        node = self.graph.insert(name, inputs, match.returns, span, schema=match.schema)
        return self.pack(node, match.schema, span)

    def pack(self, node: Node, schema: Schema, span: Span) -> SugaredValue:
        """The outputs of an operator as one value: None, the only output, or a tuple."""
        if not node.outputs:
            return ConstantValue(None)
        if len(node.outputs) == 1:
            return SimpleValue(node.outputs[0])
        names = tuple(r.name for r in schema.returns)
        type = T.TupleType(tuple(v.type for v in node.outputs), None, names if all(names) else None)
        return SimpleValue(self.insert("prim::TupleConstruct", node.outputs, (type,), span).output)

    def inline(self, function: Function, inputs: Sequence[Value], span: Span) -> SugaredValue:
        """Copy the body of a function to the insertion point; returns its result."""
        body = function.graph
        env = dict(zip(body.inputs, inputs))
        for node in body.nodes:
            new = clone_node(node, self.graph, env).insert_before(self.graph.insert_point)
            new.span = span
            for block in new.blocks:
                for inner in block.walk():
                    inner.span = span
        return SimpleValue(env[body.outputs[0]])

    def similar(self, name: str, type: T.Type | None = None) -> str | None:
        """The help of an error: names of operators similar to `name`, or None.

        If `type` is given, only those that are methods of this type.
        """
        near = operators.similar_names(name.rpartition(".")[2])
        if type is not None:
            known = {n: operators.find_operator(n) for n in near}
            near = [n for n in near if known[n] and takes_as_self(known[n], type)]
        return f"did you mean {' or '.join(map(repr, near))}?" if near else None

    def call_function(
        self, function: Function, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        schema = self.schema_of(function, span)
        inputs, returns = self.bind(schema, args, kwargs, span, None)
        return SimpleValue(
            self.insert("prim::CallFunction", inputs, returns, span, function=function).output
        )

    def call_method(
        self, owner: Value, name: str, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        method = owner.type.methods[name]
        schema = method if isinstance(method, Schema) else self.schema_of(method, span)
        inputs, returns = self.bind(schema, args, kwargs, span, owner)
        return SimpleValue(self.insert("prim::CallMethod", inputs, returns, span, name=name).output)

    def bind(
        self,
        schema: Schema,
        args: Sequence[Arg],
        kwargs: Mapping[str, Arg],
        span: Span,
        owner: Value | None,
    ) -> builtins.tuple[builtins.list[Value], builtins.tuple[T.Type, ...]]:
        """The inputs and result types of a call of a function or method of the program.

        `owner` is the object of a method, which is its first argument.
        """
        positional, named = self.actuals(args, kwargs)
        own = None if owner is None else Actual(owner, span)
        if owner is not None and (not schema.arguments or schema.arguments[0].name != "self"):
            positional.insert(0, own)
            own = None
        match = matching.choose(schema.name, (schema,), positional, named, own, span)
        return matching.materialise(self, match, positional, named, own, span), match.returns

    def schema_of(self, function: Function, span: Span) -> Schema:
        """The schema of a function that is called here.

        If the type of its result is inferred, this compiles the function.
        """
        if function.schema is None:
            if function.is_defining:
                raise CompileError(
                    f"function {function.name!r} is called recursively. Recursive calls are not "
                    "supported where the type of the result is not declared",
                    span,
                    "annotate its result: `def f(...) -> int:`",
                )
            try:
                function.ensure_defined()
            except CompileError as e:
                raise called_at(e, function.name, span)
        return function.schema

    def make_named_tuple(
        self, type: T.TupleType, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        """Emit a call of a NamedTuple class, as `Point(x, y=2)`."""
        defaults = [NO_DEFAULT] * (len(type.elements) - len(type.defaults)) + list(type.defaults)
        schema = Schema(
            type.name,
            "",
            tuple(Argument(n, t, d) for n, t, d in zip(type.fields, type.elements, defaults)),
            (Argument("", type),),
        )
        inputs, returns = self.bind(schema, args, kwargs, span, None)
        return SimpleValue(self.insert("prim::TupleConstruct", inputs, returns, span).output)

    def exception_message(self, args: Sequence[Arg], span: Span) -> Value:
        """The message of an exception: `str` of its argument, or the tuple of several as text."""
        if len(args) > 1:
            parts = [self.text(a) for a in args]
            form = "(" + ", ".join(["{}"] * len(parts)) + ")"
            return self.emit("aten::format", [self.constant(form, span), *parts], span)
        return self.text(args[0]) if args else self.constant("", span)

    def text(self, arg: Arg) -> Value:
        value = arg.value.value(self, arg.span)
        return value if value.type == T.STR else self.emit("aten::str", [value], arg.span)
