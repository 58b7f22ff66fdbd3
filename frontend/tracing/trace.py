"""Traces a Python function or module: makes a program from its run on example inputs.

Every operator that is called on tensors is recorded, by tracer.py, or by trace_torch.py for tensors
of torch.  Control flow of Python is not recorded.

    trace_function(f, (x,))            ->  ir.Function "__torch__.f"
    trace_methods(module, {"forward": (x,)})   ->  a ScriptObject of a class with those methods
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from threading import RLock
from typing import Any, ParamSpec, TypeVar

from scriptlang import tensors
from scriptlang import types as T
from scriptlang.errors import CompileError, NotCompilable
from scriptlang.ir import Function, Graph, Node, Value, schema_of_graph
from scriptlang.objects import ScriptObject
from scriptlang.ops.calling import dispatch
from scriptlang.passes.effects import has_side_effects
from scriptlang.source import Source, Span
from scriptlang.tensors import Tensor
from scriptlang.types import constant_type

from ..syntax.definitions import qualified_name
from .trace_checks import (
    Named,
    TracerWarning,
    TracingCheckError,
    call,
    check_traced,
    named,
    parameters_of,
)
from .traced_modules import Held, traced_object
from .tracer import Tracer

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "TracerWarning",
    "TracingCheckError",
    "check_traced",
    "copy_inputs",
    "inputs_of",
    "trace_function",
    "trace_methods",
]

NOWHERE = Span(Source("", "<trace>"), 0, 0)

CONTAINER_OUT = (
    "Encountering a {} at the output of the tracer might cause the trace to be incorrect, this is "
    "only valid if the container structure does not change based on the module's inputs. Consider "
    "using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a "
    "`NamedTuple` instead). If you absolutely need this and know the side effects, pass "
    "strict=False to trace() to allow this behavior."
)


# Inputs


def inputs_of(example_inputs: Any) -> tuple[Any, ...]:
    """The example inputs as a tuple of arguments."""
    if example_inputs is None:
        return ()
    if isinstance(example_inputs, Named):
        return example_inputs
    if (
        isinstance(example_inputs, (tuple, list))
        and not hasattr(example_inputs, "_fields")
        and not isinstance(example_inputs, Tensor)
    ):
        return tuple(example_inputs)
    return (example_inputs,)


def copy_inputs(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs with copies of all tensors, so that a run does not change the originals.

    Raises TypeError for inputs that cannot be traced.
    """
    copies = tuple(map(_copy, args))
    return named(copies, args.names) if isinstance(args, Named) else copies


def is_torch_tensor(v: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "Tensor") and isinstance(v, torch.Tensor)


def _copy(v: Any) -> Any:
    if is_torch_tensor(v):
        return v.detach().clone().requires_grad_(v.requires_grad)
    found = tensors.as_tensor(v) if not isinstance(v, (bool, int, float, str)) else None
    if found is not None:
        return found.clone()
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*map(_copy, v))
    if isinstance(v, (list, tuple)):
        return type(v)(map(_copy, v))
    if isinstance(v, dict):
        return {k: _copy(x) for k, x in v.items()}
    raise NotCompilable(
        f"Type {type(v).__name__!r} cannot be traced. Only Tensors and (possibly nested) Lists, "
        "Dicts, and Tuples of Tensors can be traced",
        None,
        "bind other values with functools.partial or a lambda",
    )


def _type_of_input(v: Any) -> T.Type:
    if isinstance(v, Tensor) or is_torch_tensor(v):
        return T.TENSOR
    if isinstance(v, list):
        return T.ListType(_type_of_input(v[0]) if v else T.TENSOR)
    if isinstance(v, dict):
        key = next(iter(v), "")
        return T.DictType(constant_type(key), _type_of_input(v[key]) if v else T.TENSOR)
    return T.TupleType(tuple(map(_type_of_input, v)))


def _uses_torch(func: Callable[..., Any], args: Any) -> bool:
    """Whether a function works on tensors of torch, judged by its inputs, class and globals."""
    if isinstance(args, (list, tuple)) and args:
        return any(_uses_torch(func, v) for v in args)
    if isinstance(args, dict) and args:
        return any(_uses_torch(func, v) for v in args.values())
    if is_torch_tensor(args):
        return True
    if isinstance(args, Tensor):
        return False
    torch = sys.modules.get("torch")
    holder = getattr(func, "__self__", func)
    if torch is not None and hasattr(torch, "nn") and isinstance(holder, torch.nn.Module):
        return True
    return torch is not None and torch in getattr(func, "__globals__", {}).values()


# Tracing

_recording = RLock()
"""Held while a trace is recorded: a tracer sets hooks that all threads share."""


def _one_at_a_time(record: Callable[P, R]) -> Callable[P, R]:
    @wraps(record)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        with _recording:
            return record(*args, **kwargs)

    return run


@_one_at_a_time
def trace_function(func: Callable[..., Any], example_inputs: Any, strict: bool = True) -> Function:
    """Record a run of `func` on the example inputs.

    Raises TypeError for inputs that cannot be traced, and CompileError.  `strict` refuses a result
    that is a dict, and warns of a list.
    """
    args = copy_inputs(inputs_of(example_inputs))
    name = _name(func)
    tracer = _tracer(name, func, args)
    _record(tracer, func, args, parameters_of(func, args), strict)
    return Function(name, schema_of_graph(name, tracer.graph), tracer.graph)


@_one_at_a_time
def trace_methods(module: Any, inputs: Mapping[str, Any], strict: bool = True) -> ScriptObject:
    """Record methods of a module of torch.nn or scriptlang.nn, each on its example inputs.

    The returned object has the parameters, buffers and submodules of the module as attributes, and
    shares their memory.  Errors and `strict` are as in `trace_function`.
    """
    held = Held()
    obj = traced_object(module, held)
    for method, example in inputs.items():
        args = copy_inputs(inputs_of(example))
        func = getattr(module, method)
        name = f"{obj.type.name}.{method}"
        tracer = _tracer(name, module, args)
        owner = tracer.graph.block.add_parameter(obj.type, "self")
        tracer.hold(owner, held.paths)
        _record(
            tracer, module if method == "forward" else func, args, parameters_of(func, args), strict
        )
        obj.type.methods[method] = Function(name, schema_of_graph(name, tracer.graph), tracer.graph)
    return obj


def _tracer(name: str, func: Callable[..., Any], args: tuple[Any, ...]) -> Tracer:
    """A new tracer for tensors of scriptlang or of torch, as the function needs.

    Raises CompileError inside of another trace.
    """
    if dispatch.tracing() is not None:
        raise CompileError(
            "a trace is being recorded already",
            None,
            "trace the inner function before the outer one",
        )
    if _uses_torch(func, args):
        from .trace_torch import TorchTracer

        return TorchTracer(name)
    return Tracer(name)


def _record(
    tracer: Tracer, func: Callable[..., Any], args: tuple[Any, ...], names: list[str], strict: bool
) -> None:
    """Run the function and record its operators; `names` are those of the graph's inputs."""
    for name, v in zip(names, args):
        value = tracer.graph.block.add_parameter(_type_of_input(v), name)
        tracer.take(v, value, NOWHERE)
    tracer.resume()
    try:
        result = call(func, args)
        span = tracer.span()
        tracer.pause()
        tracer.graph.block.add_return(_Outputs(tracer, strict, span).whole(result))
    finally:
        tracer.pause()
    sweep(tracer.graph)


def _name(func: Callable[..., Any]) -> str:
    if inspect.isfunction(func):
        return qualified_name(func)
    return f"__torch__.{getattr(func, '__name__', type(func).__name__)}"


# Outputs


class _Outputs:
    """Converts the result of a traced function to a value of the graph."""

    def __init__(self, tracer: Tracer, strict: bool, span: Span) -> None:
        self.tracer, self.strict, self.span = tracer, strict, span

    def whole(self, result: Any) -> Value:
        if result is None:
            raise CompileError(
                "the traced function returned nothing; effects are not recorded",
                self.span,
                "return the tensors that it computes",
            )
        return self.value(result)

    def value(self, v: Any) -> Value:
        tracer, b = self.tracer, self.tracer.b
        if tracer.is_tensor(v):
            return tracer.tensor(v, self.span)
        number = tracer.number(v)
        if number is not None:
            return b.emit("prim::NumToTensor", [number], self.span)
        if isinstance(v, dict):
            if self.strict:
                raise CompileError(CONTAINER_OUT.format("dict"), self.span)
            pairs = [
                x for k, p in v.items() for x in (tracer.value(k, None, self.span), self.value(p))
            ]
            types = (pairs[0].type, pairs[1].type) if pairs else (T.STR, T.TENSOR)
            return b.insert("prim::DictConstruct", pairs, (T.DictType(*types),), self.span).output
        if isinstance(v, list):
            if not all(map(tracer.is_tensor, v)):
                raise CompileError(
                    "a list that a traced function returns holds only Tensors",
                    self.span,
                    "return a tuple",
                )
            if self.strict:
                warnings.warn(CONTAINER_OUT.format("list"), TracerWarning, stacklevel=6)
            parts = list(map(self.value, v))
            return b.list(parts, parts[0].type if parts else T.TENSOR, self.span)
        if isinstance(v, tuple):
            return b.tuple(list(map(self.value, v)), self.span)
        raise CompileError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from "
            "traced functions"
            f", not {type(v).__name__}",
            self.span,
        )


def sweep(graph: Graph) -> None:
    """Remove recorded sizes, constants and number operators whose results are not used."""
    for node in graph.block.nodes_reversed:
        if is_pure(node) and not any(v.uses for v in node.outputs) and _no_tensor(node):
            node.destroy()


def is_pure(node: Node) -> bool:
    """Whether a node has results, and no blocks, writes or side effects."""
    writes = node.schema is not None and node.schema.is_mutable
    return bool(node.outputs) and not node.blocks and not writes and not has_side_effects(node)


def _no_tensor(node: Node) -> bool:
    """Whether a node may be removed: operators that give tensors stay, others only read numbers."""
    return node.schema is None or not any(T.TENSOR in v.type.walk() for v in node.outputs)
