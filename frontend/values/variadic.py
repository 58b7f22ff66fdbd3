"""Functions and methods with `*args` and `**kwargs`.

    def total(x: int, *rest: int): ...     total(1, 2, 3)  ->  total_with_0_2(x, rest_0, rest_1)

Each call says how many further arguments it has and which keywords.  A function is compiled for
each such combination with its types.  In its body `args` is a tuple, and `kwargs` is a set of
entries that are known at compile time.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Value
from scriptlang.schema import Argument, Schema
from scriptlang.source import Source

from ..syntax.definitions import has_result_type
from ..syntax.places import called_at
from ..whole import whole
from .sugared import Arg, BuiltinFunction, ConstantValue, StaticSequence, SugaredValue

if TYPE_CHECKING:
    from ...source import Span
    from ..bodies.emitter import Emitter
    from .builder import Builder
    from .simple import SimpleValue


def is_variadic(definition: ast.FunctionDef) -> bool:
    """Whether a function takes `*args` or `**kwargs`."""
    return definition.args.vararg is not None or definition.args.kwarg is not None


class VariadicValue(SugaredValue):
    """A function with `*args` or `**kwargs`.

    `defaults` has the values of its defaults.  If it is a method, `self_type` is its class, to
    which the specialised functions are added as methods.
    """

    def __init__(
        self,
        definition: ast.FunctionDef,
        source: Source,
        resolver: Any,
        name: str,
        defaults: Mapping[str, Any] | None = None,
        self_type: T.ClassType | None = None,
    ) -> None:
        self.definition, self.source, self.resolver = definition, source, resolver
        self.name, self.defaults, self.self_type = name, defaults, self_type
        self.kind = f"{'method' if self_type else 'function'} '{name}'"
        self.made: dict[tuple[Any, ...], Function] = {}

    def call(
        self,
        b: Builder,
        args: Sequence[Arg],
        kwargs: Mapping[str, Arg],
        span: Span,
        owner: Value | None = None,
    ) -> SugaredValue:
        further, keywords = self._split(args, kwargs)
        types = [(a.value.type(b, a.span)) for a in (*further, *keywords.values())]
        key = (len(further), tuple(keywords), tuple(types))
        function = self.made.get(key)
        if function is None:
            function = self.made[key] = self._specialised(len(further), list(keywords), types)
            if self.self_type is not None:
                self.self_type.methods[function.name.rpartition(".")[2]] = function
        names = dict(zip(keywords, self._keyword_names(list(keywords))))
        given = {names.get(n, n): a for n, a in kwargs.items()}
        try:
            if owner is None:
                return b.call_function(function, args, given, span)
            return b.call_method(owner, function.name.rpartition(".")[2], args, given, span)
        except CompileError as error:
            self.made.pop(key, None)
            if self.self_type is not None:
                self.self_type.methods.pop(function.name.rpartition(".")[2], None)
            if not error.chain:
                raise
            called_at(error, function.name, span)
            raise

    def _split(
        self, args: Sequence[Arg], kwargs: Mapping[str, Arg]
    ) -> tuple[Sequence[Arg], dict[str, Arg]]:
        """The arguments of a call that go into `*args` and into `**kwargs`."""
        a = self.definition.args
        positional = [*a.posonlyargs, *a.args][self.self_type is not None :]
        own = {p.arg for p in (*a.args, *a.kwonlyargs)}
        further = args[len(positional) :] if a.vararg else ()
        keywords = {n: v for n, v in kwargs.items() if n not in own} if a.kwarg else {}
        return further, keywords

    def _keyword_names(self, keywords: list[str]) -> list[str]:
        kwarg = self.definition.args.kwarg
        return [f"{kwarg.arg}_{n}" for n in keywords] if kwarg else []

    def _specialised(self, count: int, keywords: list[str], types: list[T.Type]) -> Function:
        """The function for calls with `count` further arguments and these keywords.

        `types` are the types of both, in this order; annotations take precedence.
        """
        a = self.definition.args
        star = [f"{a.vararg.arg}_{i}" for i in range(count)] if a.vararg else []
        double = self._keyword_names(keywords)
        name = f"{self.name}_with_{'_'.join([str(len(self.made)), str(count), *keywords])}"
        plain = self._without_stars(count)
        schema = whole.function_schema(
            plain, self.source, self.resolver, name, self.self_type, self.defaults
        )
        declared = self._annotated([a.vararg] * count + [a.kwarg] * len(keywords))
        found = [d or t for d, t in zip(declared, types)]
        first = [p for p in schema.arguments if not p.kwarg_only]
        rest = [p for p in schema.arguments if p.kwarg_only]
        arguments = [
            *first,
            *(Argument(n, t) for n, t in zip(star, found)),
            *rest,
            *(Argument(n, t, kwarg_only=True) for n, t in zip(double, found[count:])),
        ]
        schema = Schema(name, "", tuple(arguments), schema.returns)
        plain.body = [*self._gathering(star, keywords, double), *plain.body]

        def define(function: Function) -> None:
            graph = whole.emit_function(
                plain, self.source, self.resolver, name, schema, self.self_type
            )
            if function.schema is None:
                function.schema = whole.infer_schema(schema, graph)
            function.graph = graph

        return Function(name, schema if has_result_type(plain) else None, define=define)

    def _without_stars(self, count: int) -> ast.FunctionDef:
        """The definition with only its named parameters.

        It has no defaults if there are `count` further arguments, as then all positional parameters
        are given.
        """
        d = self.definition
        a = d.args
        own = ast.arguments(
            a.posonlyargs,
            a.args,
            None,
            a.kwonlyargs,
            a.kw_defaults,
            None,
            [] if count else a.defaults,
        )
        made = ast.FunctionDef(d.name, own, list(d.body), [], d.returns)
        made.type_comment = d.type_comment
        return ast.copy_location(made, d)

    def _annotated(self, parameters: list[ast.arg]) -> list[T.Type | None]:
        """The types in the annotations of parameters; None for those without annotation."""
        from scriptlang.ir import Graph

        e = whole.Emitter(Graph(self.name), self.source, self.resolver, self.name, None, None)
        return [None if p.annotation is None else e.type(p.annotation) for p in parameters]

    def _gathering(self, star: list[str], keywords: list[str], double: list[str]) -> list[ast.stmt]:
        """Statements for the start of the body: `args = (args_0, args_1)`, and that of `kwargs`."""
        a, found = self.definition.args, []
        if a.vararg:
            parts = [_at(ast.Name(n, ast.Load()), a.vararg) for n in star]
            found.append(_assign(a.vararg, _at(ast.Tuple(parts, ast.Load()), a.vararg)))
        if a.kwarg:
            entries = {k: _at(ast.Name(n, ast.Load()), a.kwarg) for k, n in zip(keywords, double)}
            found.append(_assign(a.kwarg, _at(_keywords(entries), a.kwarg)))
        return found


class VariadicMethod(SugaredValue):
    """A method with `*args` or `**kwargs`, bound to its object."""

    def __init__(self, owner: Value, method: VariadicValue) -> None:
        self.owner, self.method, self.kind = owner, method, method.kind

    def call(
        self, b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
    ) -> SugaredValue:
        return self.method.call(b, args, kwargs, span, self.owner)


_methods: weakref.WeakKeyDictionary[T.ClassType, dict[str, VariadicValue]] = (
    weakref.WeakKeyDictionary()
)


def add_method(type: T.ClassType, name: str, method: VariadicValue) -> None:
    """Add a method with `*args` or `**kwargs` to a class."""
    _methods.setdefault(type, {})[name] = method


def bound_method(owner: Value, name: str) -> VariadicMethod | None:
    """The method with `*args` or `**kwargs` of this name of an object; None if it has none."""
    methods: Any = _methods
    found = methods.get(owner.type, {}).get(name)
    return None if found is None else VariadicMethod(owner, found)


def _at(node: Any, place: ast.AST) -> Any:
    return ast.copy_location(node, place)


def _assign(parameter: ast.arg, value: ast.expr) -> ast.Assign:
    target = _at(ast.Name(parameter.arg, ast.Store()), parameter)
    return _at(ast.Assign([target], value, type_comment=None), parameter)


class Keywords(ast.expr):
    """A syntax node of scriptlang's own: the entries of `**kwargs` in a specialised function."""

    _fields = ("entries",)
    entries: dict[str, ast.expr]


def _keywords(entries: dict[str, ast.expr]) -> Keywords:
    made = Keywords()
    made.entries = entries
    return made


def emit_keywords(e: Emitter, node: Keywords, expected: T.Type | None) -> SugaredValue:
    return KeywordsValue({k: e.expr(v) for k, v in node.entries.items()})


class KeywordsValue(SugaredValue):
    """`kwargs` in the body of a function: its names are known at compile time."""

    kind = "**kwargs"

    def __init__(self, entries: Mapping[str, SugaredValue]) -> None:
        self.entries = dict(entries)

    def attr(self, b: Builder, name: str, span: Span) -> SugaredValue:
        if name not in KEYWORD_METHODS:
            self.fail(
                f"has no attribute {name!r}",
                span,
                f'it has {", ".join(KEYWORD_METHODS)}; there are kwargs["name"] and '
                f'"name" in kwargs',
            )

        def emit(
            b: Builder, args: Sequence[Arg], kwargs: Mapping[str, Arg], span: Span
        ) -> SugaredValue:
            least, most = (1, 2) if name == "get" else (0, 0)
            if kwargs or not least <= len(args) <= most:
                what = "a name and a default" if most else "no arguments"
                self.fail(
                    f"takes {what} in {name}()",
                    span,
                    f"write kwargs.{name}({chr(34) + 'name' + chr(34) if most else ''})",
                )
            return KEYWORD_METHODS[name](self, b, args, span)

        return BuiltinFunction(name, emit)

    def get_item(self, b: Builder, index: Arg, span: Span) -> SugaredValue | None:
        name = known_text(b, index)
        if name not in self.entries:
            self.fail(
                f"has no entry {name!r} in this call",
                index.span,
                f"it has {', '.join(self.entries)}" if self.entries else "it is empty",
            )
        return self.entries[name]

    def contains(self, b: Builder, item: Arg) -> bool:
        return known_text(b, item) in self.entries

    def unpack(self, b: Builder, span: Span, count: int | None = None) -> list[SugaredValue] | None:
        return [ConstantValue(name) for name in self.entries]

    def iterate(self, b: Builder, span: Span) -> SugaredValue:
        return StaticSequence(self.unpack(b, span))


def known_text(b: Builder, index: Arg) -> str:
    """The text of an index that must be a constant `str`.  Raises CompileError if it is not."""
    value = index.value.value(b, index.span)
    if not value.is_constant or not isinstance(value.constant, str):
        raise CompileError(
            "the name of an entry of **kwargs must be a literal str",
            index.span,
            "loop over kwargs.items(), or take a Dict",
        )
    return value.constant


def _items(self: KeywordsValue, b: Builder, args: Sequence[Arg], span: Span) -> StaticSequence:
    return StaticSequence([StaticSequence([ConstantValue(n), v]) for n, v in self.entries.items()])


def _get(self: KeywordsValue, b: Builder, args: Sequence[Arg], span: Span) -> SimpleValue:
    found = self.entries.get(known_text(b, args[0]))
    return found or (args[1].value if len(args) > 1 else ConstantValue(None))


KEYWORD_METHODS: dict[str, Callable[..., SugaredValue]] = {
    "items": _items,
    "get": _get,
    "keys": lambda self, b, args, span: self.iterate(b, span),
    "values": lambda self, b, args, span: StaticSequence(list(self.entries.values())),
}
"""Method of `**kwargs` -> function (value, builder, arguments, span) that returns its result."""
