"""trace: a run of a Python function on example inputs becomes a function of the IR.

Every operator that is called on tensors is recorded.  Tensors are told apart by identity; sizes are
numbers that remember where they came from (traced_number.py); tensors that the run did not compute
become constants.  Control flow of Python leaves no trace.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import warnings
from typing import Any, Callable, Sequence

from scriptlang import tensors
from scriptlang import types as T
from scriptlang.errors import CompileError
from scriptlang.ir import Function, Graph, Node, Value, constant_type, schema_of_graph
from scriptlang.objects import Device
from scriptlang.ops import dispatch, table
from scriptlang.schema import Argument
from scriptlang.source import Source, Span
from scriptlang.tensors import Size, Tensor

from .builder import Builder
from .script import qualified_name
from .sugared import Arg
from .traced_number import TracedFloat, TracedInt, plain

PACKAGE = os.path.dirname(os.path.abspath(tensors.__file__))
HERE = os.path.dirname(os.path.abspath(__file__))


class TracerWarning(UserWarning):
    """What a trace recorded may differ from what the function means."""


class Tracer:
    """Records operator calls into a graph.  Installed as `dispatch.tracer` while a trace runs."""

    def __init__(self, name: str):
        self.graph = Graph(name)
        self.b = Builder(self.graph)
        self.known: dict[int, tuple[Tensor, Value]] = {}
        self.storages: dict[int, list[tuple[Tensor, Value]]] = {}
        self.sources: dict[str, Source] = {}
        self.is_recording = False

    # Where in the user's program

    def span(self) -> Span:
        """The line of the traced program that is running."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith((PACKAGE, HERE)):
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
        """Let a tensor stand for a value from here on."""
        self.known[id(tensor)] = (tensor, value)
        self.storages.setdefault(id(tensor.storage), []).append((tensor, value))

    def value(self, v: Any, type: T.Type | None, span: Span) -> Value:
        """The value of the graph that a run-time value stands for."""
        if isinstance(v, Tensor):
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
            raise CompileError(f"a {v.__class__.__name__} cannot be recorded in a trace",
                               span) from None

    def tensor(self, tensor: Tensor, span: Span) -> Value:
        found = self.known.get(id(tensor))
        if found is not None:
            return found[1]
        for other, value in reversed(self.storages.get(id(tensor.storage), ())):
            if other.dtype is tensor.dtype and (other._size, other._stride, other._offset) == (
                    tensor._size, tensor._stride, tensor._offset):
                self.bind(tensor, value)                 # detach() and its like
                return value
        value = self.graph.constant(tensor, T.TENSOR, span)
        self.bind(tensor, value)
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

    def call(self, op: table.Operator, values: list) -> Any:
        """Run an operator and record it."""
        span = self.span()
        arguments = op.schema.arguments
        inputs = [self.value(v, a.type, span) for v, a in zip(values, arguments)]
        result = self.run(lambda: op.kernel(*map(plain, values)))
        returns = tuple(_result_type(r, v) for r, v in zip(
            op.schema.returns, result if len(op.schema.returns) > 1 else (result,)))
        node = self.graph.insert(op.name, inputs, returns, span, schema=op.schema)
        if len(returns) == 1:
            return self.take(result, node.output, span)
        for part, value in zip(result, node.outputs) if returns else ():
            self.take(part, value, span)
        return result

    def call_function(self, function: Function, args: Sequence[Any], kwargs: dict[str, Any],
                      run: Callable[..., Any]) -> Any:
        """Record a call of a compiled function; `run(*args, **kwargs)` makes it."""
        span = self.span()
        result = self.run(lambda: run(*map(plain, args),
                                      **{k: plain(v) for k, v in kwargs.items()}))
        positional = [Arg(self.b.simple(self.value(a, None, span)), span) for a in args]
        named = {k: Arg(self.b.simple(self.value(a, None, span)), span)
                 for k, a in kwargs.items()}
        value = self.b.call_function(function, positional, named, span).value(self.b, span)
        return self.take(result, value, span)

    def run(self, call: Callable[[], Any]) -> Any:
        """Run something whose inner calls are not recorded."""
        self.pause()
        try:
            return call()
        finally:
            self.resume()

    def take(self, result: Any, value: Value, span: Span) -> Any:
        """Let what a recorded call gave stand for its value; numbers become traced ones."""
        if isinstance(result, Tensor):
            self.bind(result, value)
        elif isinstance(result, list) and result and isinstance(value.type, T.ListType):
            if isinstance(result[0], Tensor):
                node = self.b.insert("prim::ListUnpack", [value], [T.TENSOR] * len(result), span)
                for part, out in zip(result, node.outputs):
                    self.bind(part, out)
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

    def shape(self, tensor: Tensor) -> Size:
        """The shape of a tensor, as numbers that remember it."""
        if id(tensor) not in self.known:
            return Size(tensor._size)
        span = self.span()
        source = self.tensor(tensor, span)
        sizes = []
        for i, n in enumerate(tensor._size):
            value = self.b.emit("aten::size", [source, self.graph.constant(i, T.INT, span)], span)
            sizes.append(TracedInt(n, self, value))
        return Size(sizes)

    def number_operator(self, name: str, *numbers: int | float) -> Value:
        span = self.span()
        return self.b.emit(name, [self.value(n, None, span) for n in numbers], span)

    # On and off

    def resume(self) -> None:
        dispatch.tracer, tensors.shape_hook, self.is_recording = self, self.shape, True

    def pause(self) -> None:
        dispatch.tracer, tensors.shape_hook, self.is_recording = None, None, False


def _result_type(declared: Argument, result: Any) -> T.Type:
    """The type of a result: what the schema says, with type variables filled from the value."""
    from .matching import has_variables

    if not has_variables(declared.type) and declared.type != T.NUMBER:
        return declared.type
    if isinstance(result, list):
        return T.ListType(T.TENSOR if not result or isinstance(result[0], Tensor)
                          else constant_type(result[0]))
    return T.TENSOR if isinstance(result, Tensor) else constant_type(result)


# Inputs and outputs

def inputs_of(example_inputs: Any) -> tuple:
    """The example inputs as a tuple of arguments; they are copies, so that a run leaves them be."""
    if not isinstance(example_inputs, tuple):
        example_inputs = (example_inputs,) if example_inputs is not None else ()
    return tuple(_copy(v) for v in example_inputs)


def _copy(v: Any) -> Any:
    found = tensors.as_tensor(v) if not isinstance(v, (bool, int, float, str)) else None
    if found is not None:
        return found.clone()
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*map(_copy, v))
    if isinstance(v, (list, tuple)):
        return type(v)(map(_copy, v))
    if isinstance(v, dict):
        return {k: _copy(x) for k, x in v.items()}
    raise TypeError(f"trace takes Tensors, and tuples, lists and dicts of them, as example inputs, "
                    f"not {type(v).__name__}; bind other values with functools.partial or a lambda")


def _type_of_input(v: Any) -> T.Type:
    if isinstance(v, Tensor):
        return T.TENSOR
    if isinstance(v, list):
        return T.ListType(_type_of_input(v[0]) if v else T.TENSOR)
    if isinstance(v, dict):
        key = next(iter(v), "")
        return T.DictType(constant_type(key), _type_of_input(v[key]) if v else T.TENSOR)
    return T.TupleType(tuple(map(_type_of_input, v)))


def trace_function(func: Callable, example_inputs: Any) -> Function:
    """Record `func` on the example inputs.  Raises TypeError for inputs that cannot be traced."""
    if dispatch.tracer is not None:
        raise CompileError("a trace is being recorded already", None,
                           "trace the inner function before the outer one")
    args = inputs_of(example_inputs)
    name = _name(func)
    tracer = Tracer(name)
    place = Span(Source("", "<trace>"), 0, 0)
    for parameter, v in zip(_parameters(func, len(args)), args):
        value = tracer.graph.block.add_parameter(_type_of_input(v), parameter)
        tracer.take(v, value, place)
    tracer.resume()
    try:
        result = func(*args)
        span = tracer.span()
    finally:
        tracer.pause()
    tracer.graph.block.add_return(_output(tracer, result, span))
    sweep(tracer.graph)
    return Function(name, schema_of_graph(name, tracer.graph), tracer.graph)


def _name(func: Callable) -> str:
    if inspect.isfunction(func):
        return qualified_name(func)
    return f"__torch__.{getattr(func, '__name__', type(func).__name__)}"


def _parameters(func: Callable, count: int) -> list[str]:
    """Names of the first parameters; those of a `*args` are numbered."""
    try:
        parameters = list(inspect.signature(func).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (names + [f"input_{i}" for i in range(len(names), count)])[:count]


def _output(tracer: Tracer, result: Any, span: Span) -> Value:
    if result is not None and not isinstance(result, (Tensor, tuple, list, dict, int, float)):
        raise CompileError(f"a traced function returns Tensors, and tuples, lists and dicts of them"
                           f", not {type(result).__name__}", span)
    if isinstance(result, list):
        return tracer.b.list([_output(tracer, v, span) for v in result], _element(result), span)
    if isinstance(result, tuple):
        return tracer.b.tuple([_output(tracer, v, span) for v in result], span)
    return tracer.value(result, None, span)


def _element(values: list) -> T.Type:
    return T.TENSOR if not values or isinstance(values[0], Tensor) else _type_of_input(values[0])


PURE_HELPERS = {"prim::Constant", "aten::size", "prim::ListConstruct", "prim::TupleConstruct",
                "prim::ListUnpack", "prim::TupleUnpack", "aten::add", "aten::sub", "aten::mul",
                "aten::floordiv", "aten::remainder", "aten::div", "aten::neg"}
"""What the tracer records on the way; it goes where nothing reads it."""


def sweep(graph: Graph) -> None:
    """Remove sizes and constants that were recorded and not used."""
    for node in graph.block.nodes_reversed:
        if node.kind in PURE_HELPERS and not any(v.uses for v in node.outputs) and _no_tensor(node):
            node.destroy()


def _no_tensor(node: Node) -> bool:
    """Operators on tensors stay, as they were called; those on numbers may go."""
    return node.schema is None or node.kind == "aten::size" or not any(
        v.type == T.TENSOR for v in (*node.inputs, *node.outputs))


# Check

RANDOM = ("rand", "dropout", "bernoulli", "normal", "multinomial", "exponential")


def check_traced(func: Callable, traced: Callable, example_inputs: Any) -> None:
    """Run the function and its recording again; warn where they differ."""
    names = {node.kind for node in traced.graph.walk()}
    if any(word in name for name in names for word in RANDOM):
        return
    expected = func(*inputs_of(example_inputs))
    found = traced(*inputs_of(example_inputs))
    if not _same(expected, found):
        warnings.warn("the recorded function gives another result than the function itself; a "
                      "trace records no control flow, and values that Python computed become "
                      "constants", TracerWarning, stacklevel=3)


def _same(a: Any, b: Any) -> bool:
    import numpy as np

    if isinstance(a, Tensor):
        if not isinstance(b, Tensor) or a.dtype is not b.dtype or a._size != b._size:
            return False
        x, y = (np.asarray(t.tolist(), dtype=None) for t in (a, b))
        return x.dtype.kind == "O" or np.allclose(x, y, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return a == b
