"""Records a trace: operators that are called become nodes of a graph.

A tensor is mapped to its value in the graph by identity.  Sizes are traced numbers, which have a
value in the graph (traced_number.py).  Tensors that the run did not compute become attributes of
the traced module, or constants.
"""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from scriptlang import tensors
from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Graph, Value
from scriptlang.objects import Device, ScriptObject
from scriptlang.ops import table
from scriptlang.ops.calling import dispatch
from scriptlang.ops.calling.kernels import kernel_of
from scriptlang.schema import Argument
from scriptlang.source import Source, Span
from scriptlang.tensors import Size, Tensor
from scriptlang.type_variables import has_variables
from scriptlang.types import constant_type

from ..values.builder import Builder
from ..values.sugared import Arg
from .trace_checks import TracerWarning
from .traced_number import TracedFloat, TracedInt, plain

PACKAGE = os.path.dirname(os.path.abspath(tensors.__file__))
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

LOST = (
    "Converting a tensor to {} might cause the trace to be incorrect. We can't record the data "
    "flow of Python values, so this value will be treated as a constant in the future. This "
    "means that the trace might not generalize to other inputs!"
)
"""The warning if Python reads the value of a tensor."""

LOST_SIZE = {
    "its length in Python": "Using len to get tensor shape might cause the trace to be incorrect. "
    "Recommended usage would be tensor.shape[0]. Passing a tensor of different shape might lead to "
    "errors or silently give incorrect results.",
    "its elements": "Iterating over a tensor might cause the trace to be incorrect. Passing a "
    "tensor of different shape won't change the number of iterations executed (and might lead to "
    "errors or silently give incorrect results).",
}
"""What Python reads of a tensor -> the warning, where it depends on the size alone."""


def friendly_type(owner: Any) -> str:
    return owner.type.short_name if isinstance(owner, ScriptObject) else type(owner).__name__


class Tracer:
    """Records calls of operators in a graph.  It is `dispatch.calls.tracer` while a trace runs."""

    skipped: tuple[str, ...] = (PACKAGE, HERE)
    """Folders whose files are not part of the user's program."""

    def __init__(self, name: str) -> None:
        self.graph = Graph(name)
        self.b = Builder(self.graph)
        self.known: dict[int, tuple[Tensor, Value]] = {}
        self.storages: dict[int, list[tuple[Tensor, Value]]] = {}
        self.sources: dict[str, Source] = {}
        self.held: dict[int, tuple[str, ...]] = {}
        self.owner: Value | None = None
        self.is_recording = False

    def hold(self, owner: Value, held: dict[int, tuple[str, ...]]) -> None:
        """Set the module that is traced: `owner` is its value in the graph.

        `held` maps the id of a tensor or object that it contains to the attribute names that lead
        to it.
        """
        self.owner, self.held = owner, held

    # Where in the user's program

    def span(self) -> Span:
        """The span of the line of the user's program that is running."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(self.skipped):
            frame = frame.f_back
        if frame is None:
            return Span(Source("", "<trace>"), 0, 0)
        name, line = frame.f_code.co_filename, frame.f_lineno
        source = self.sources.get(name)
        if source is None:
            source = self.sources[name] = Source("".join(linecache.getlines(name)), name)
        start, text = source.line_text(source.offset(line, 0))
        return Span(source, start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    # Values

    def bind(self, tensor: Tensor, value: Value) -> None:
        """Map a tensor to its value in the graph, from here on."""
        self.known[id(tensor)] = (tensor, value)
        self.storages.setdefault(self.memory(tensor), []).append((tensor, value))

    def is_tensor(self, v: Any) -> bool:
        return isinstance(v, Tensor)

    def memory(self, tensor: Any) -> int:
        """A key that is equal for tensors over the same memory."""
        return id(tensor._storage)

    def layout(self, tensor: Any) -> tuple[Any, ...]:
        """A key that is equal for tensors over the same memory with the same elements."""
        return tensor.dtype, tensor._size, tensor._stride, tensor._offset

    def constant(self, tensor: Any) -> Tensor:
        """The tensor as a constant of the graph; subclasses convert it."""
        if tensor._requires_grad or tensor._autograd is not None and tensor.requires_grad:
            self.refuse_gradient()
        return tensor

    def refuse_gradient(self) -> NoReturn:
        raise CompileError(
            "Cannot insert a Tensor that requires grad as a constant",
            self.span(),
            "pass it as an argument, make it a parameter of a module, or detach() it",
        )

    def value(self, v: Any, type: T.Type | None, span: Span) -> Value:
        """The value in the graph of a tensor, number, container or constant.

        `type` is the type that is wanted, if known.  Raises CompileError for other objects.
        """
        if self.is_tensor(v):
            return self.tensor(v, span)
        if isinstance(v, (TracedInt, TracedFloat)) and v.tracer is self:
            return v.value
        wanted = None if type is None else T.without_none(type)
        if isinstance(v, (list, tuple, dict)) and not isinstance(v, str):
            return self.container(v, wanted, span)
        if isinstance(v, Device):
            return self.graph.constant(v, T.DEVICE, span)
        if v is None:
            return self.graph.constant(None, T.NONE, span)
        if wanted == T.FLOAT and isinstance(v, int) and not isinstance(v, bool):
            v = float(v)
        try:
            return self.graph.constant(v, constant_type(v), span)
        except TypeError:
            raise CompileError(
                f"a {v.__class__.__name__} cannot be recorded in a trace", span
            ) from None

    def tensor(self, tensor: Tensor, span: Span) -> Value:
        """The value of a tensor; one that the run did not compute is an attribute or a constant."""
        found = self.known.get(id(tensor))
        if found is not None:
            return found[1]
        for other, value in reversed(self.storages.get(self.memory(tensor), ())):
            if self.layout(other) == self.layout(tensor):
                value = self.alias(value, span)
                self.bind(tensor, value)
                return value
        if id(tensor) in self.held:
            value = self.attribute(self.held[id(tensor)], span)
        else:
            value = self.graph.constant(self.constant(tensor), T.TENSOR, span)
        self.bind(tensor, value)
        return value

    def alias(self, value: Value, span: Span) -> Value:
        """The value of a tensor that is the same as another one: `detach` and `data` give such."""
        return self.b.emit("aten::detach", [value], span)

    def attribute(self, path: tuple[str, ...], span: Span) -> Value:
        """The value of the attribute of the traced module to which these names lead."""
        value = self.owner
        for name in path:
            value = self.b.simple(value).attr(self.b, name, span).value(self.b, span)
        return value

    def container(self, v: Any, wanted: T.Type | None, span: Span) -> Value:
        if isinstance(v, dict):
            pairs = [self.value(x, None, span) for pair in v.items() for x in pair]
            types = (pairs[0].type, pairs[1].type) if pairs else (T.STR, T.TENSOR)
            type = T.DictType(*types)
            return self.b.insert("prim::DictConstruct", pairs, (type,), span).output
        element = wanted.element if isinstance(wanted, T.ListType) else None
        parts = [self.value(x, element, span) for x in v]
        if isinstance(v, tuple) and element is None:
            return self.b.tuple(parts, span)
        if element is None or isinstance(element, T.VarType):
            element = parts[0].type if parts else T.TENSOR
        return self.b.list(parts, element, span)

    # What dispatch calls

    def call(self, op: table.Operator, values: list[Any]) -> Any:
        """Run an operator and record it; returns its result."""
        span = self.span()
        arguments = op.schema.arguments
        inputs = [self.value(v, a.type, span) for v, a in zip(values, arguments)]
        result = self.run(lambda: kernel_of(op)(*map(plain, values)))
        returns = tuple(
            _result_type(r, v)
            for r, v in zip(op.schema.returns, result if len(op.schema.returns) > 1 else (result,))
        )
        node = self.graph.insert(op.name, inputs, returns, span, schema=op.schema)
        if len(returns) == 1:
            return self.take(result, node.output, span)
        for part, value in zip(result, node.outputs) if returns else ():
            self.take(part, value, span)
        return result

    def call_function(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        run: Callable[..., Any],
    ) -> Any:
        """Record a call of a compiled function; returns its result.

        `run(*args, **kwargs)` executes the call.
        """
        span = self.span()
        result = self.run(
            lambda: run(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        )
        positional = [Arg(self.b.simple(self.value(a, None, span)), span) for a in args]
        named = {k: Arg(self.b.simple(self.value(a, None, span)), span) for k, a in kwargs.items()}
        value = self.b.call_function(function, positional, named, span).value(self.b, span)
        return self.take(result, value, span)

    def call_method(
        self,
        owner: Any,
        function: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        run: Callable[..., Any],
    ) -> Any:
        """Record a call of a method of a scripted object in the traced module; returns its result.

        `owner` is the object, or the module of torch for which it was made.  `run(*args, **kwargs)`
        executes the call.
        """
        span = self.span()
        if id(owner) not in self.held:
            raise CompileError(
                f"{friendly_type(owner)} is called in a trace of which it is no part",
                span,
                "make it a submodule of the module that is traced",
            )
        value = self.attribute(self.held[id(owner)], span)
        result = self.run(
            lambda: run(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})
        )
        positional = [Arg(self.b.simple(self.value(a, None, span)), span) for a in args]
        named = {k: Arg(self.b.simple(self.value(a, None, span)), span) for k, a in kwargs.items()}
        name = function.name.rpartition(".")[2]
        out = self.b.call_method(value, name, positional, named, span).value(self.b, span)
        return self.take(result, out, span)

    def run(self, call: Callable[[], Any]) -> Any:
        """Run a function without recording the operators that it calls."""
        self.pause()
        try:
            return call()
        finally:
            self.resume()

    def take(self, result: Any, value: Value, span: Span) -> Any:
        """Map the results of a recorded call to values of the graph; returns the result.

        A number becomes a traced number.
        """
        if self.is_tensor(result):
            self.bind(result, value)
        elif isinstance(result, (list, tuple)) and result and isinstance(value.type, T.ListType):
            if any(t == T.TENSOR for t in value.type.walk()):
                types = [value.type.element] * len(result)
                node = self.b.insert("prim::ListUnpack", [value], types, span)
                for part, out in zip(result, node.outputs):
                    self.take(part, out, span)
        elif isinstance(result, tuple) and isinstance(value.type, T.TupleType):
            for part, out in zip(result, self.b.unpack_tuple(value, span)):
                self.take(part, out, span)
        elif isinstance(result, dict) and isinstance(value.type, T.DictType):
            for key, part in result.items():
                out = self.b.emit("aten::__getitem__", [value, self.value(key, None, span)], span)
                self.take(part, out, span)
        elif type(result) is int and value.type == T.INT:
            return TracedInt(result, self, value)
        elif type(result) is float and value.type == T.FLOAT:
            return TracedFloat(result, self, value)
        return result

    def read(self, tensor: Tensor, operator: str) -> Any:
        """The number in a tensor that an argument takes as a number."""
        number = self.run(tensor.item)
        if id(tensor) not in self.known:
            return number
        operator = operator or ("aten::Float" if type(number) is float else "aten::Int")
        span = self.span()
        value = self.b.emit(operator, [self.tensor(tensor, span)], span)
        return self.take(float(number) if value.type == T.FLOAT else number, value, span)

    def shape(self, tensor: Tensor) -> Size:
        """The shape of a tensor, as traced numbers if the tensor is in the graph."""
        if id(tensor) not in self.known or dispatch.tracing() is not self:
            return Size(tensor._size)
        span = self.span()
        source = self.tensor(tensor, span)
        sizes = []
        for i, n in enumerate(tensor._size):
            value = self.b.emit("aten::size", [source, self.graph.constant(i, T.INT, span)], span)
            sizes.append(TracedInt(n, self, value))
        return Size(sizes)

    def number(self, v: Any) -> Value | None:
        """The value in the graph of a traced number; None for other objects."""
        return v.value if isinstance(v, (TracedInt, TracedFloat)) and v.tracer is self else None

    def number_operator(self, name: str, *numbers: int | float) -> Value:
        span = self.span()
        return self.b.emit(name, [self.value(n, None, span) for n in numbers], span)

    # On and off

    def resume(self) -> None:
        """Start or continue to record."""
        dispatch.calls.trace(self)
        tensors.shape_hook, self.is_recording = self.shape, True
        tensors.look_hook = self.looked_at

    def pause(self) -> None:
        """Stop recording for now."""
        dispatch.calls.trace(None)
        tensors.shape_hook, self.is_recording = None, False
        tensors.look_hook = None

    def looked_at(self, what: str, tensor: Any) -> None:
        """Warn that Python reads the value of a tensor; `what` says as which type."""
        if dispatch.tracing() is not self:
            return
        depth, frame = 1, sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(self.skipped):
            depth, frame = depth + 1, frame.f_back
        warnings.warn(LOST_SIZE.get(what) or LOST.format(what), TracerWarning, stacklevel=depth)


def _result_type(declared: Argument, result: Any) -> T.Type:
    """The type of a result: that in the schema, or that of the value if the schema is generic."""
    if not has_variables(declared.type) and declared.type != T.NUMBER:
        return declared.type
    if isinstance(result, list):
        return T.ListType(
            T.TENSOR if not result or isinstance(result[0], Tensor) else constant_type(result[0])
        )
    return T.TENSOR if isinstance(result, Tensor) else constant_type(result)
