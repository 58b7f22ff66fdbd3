"""Traces programs that use tensors of torch, if torch is installed.

Torch itself runs the operators.  A dispatch mode above autograd gets every operator with its
overload and all its arguments, and records it.  Sizes are numbers of the class torch.SymInt, whose
node has the value of the graph (traced_symbol.py).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch

from scriptlang import types as T
from scriptlang.ir import Value
from scriptlang.objects import Device
from scriptlang.ops import table
from scriptlang.ops.calling import dispatch
from scriptlang.schema import Argument
from scriptlang.source import Span
from scriptlang.tensors import Tensor, as_tensor

from ..python import foreign
from ..python.resolver import code_of
from . import traced_index
from .traced_symbol import Symbol
from .tracer import HERE, PACKAGE, Tracer

if TYPE_CHECKING:
    from ...ir import Function

LOOKS = {
    "aten::item": "a Python number",
    "aten::is_nonzero": "a Python boolean",
    "aten::_local_scalar_dense": "a Python number",
}
"""Operator that reads the value of a tensor -> what it gives.  These are not recorded."""

SAME = ("aten::lift_fresh", "aten::alias", "aten::lift")
"""Operators that are not recorded: in the graph their result is the value of the argument."""


TORCH = os.path.dirname(os.path.abspath(torch.__file__))


class TorchTracer(Tracer):
    """A Tracer for tensors of torch; tensors of scriptlang are accepted, too."""

    skipped = (PACKAGE, HERE, TORCH)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.open: contextlib.ExitStack | None = None
        self.taken_as_int: list[Symbol] = []

    # Values

    def is_tensor(self, v: Any) -> bool:
        return isinstance(v, (torch.Tensor, Tensor))

    def memory(self, tensor: Any) -> int:
        if isinstance(tensor, Tensor):
            return id(tensor._storage)
        try:
            return tensor.untyped_storage().data_ptr() or id(tensor)
        except (RuntimeError, NotImplementedError):
            return id(tensor)

    def layout(self, tensor: Any) -> tuple[Any, ...]:
        if isinstance(tensor, Tensor):
            return super().layout(tensor)
        if tensor.layout != torch.strided:
            return (id(tensor),)
        return tensor.dtype, tensor.size(), tensor.stride(), tensor.storage_offset()

    def alias(self, value: Value, span: Span) -> Value:
        return value  # PyTorch's own detach is recorded as the operator that it is

    def constant(self, tensor: Any) -> Tensor:
        if tensor.requires_grad:
            self.refuse_gradient()
        return as_tensor(
            tensor.detach().resolve_conj() if isinstance(tensor, torch.Tensor) else tensor
        )

    def number(self, v: Any) -> Value | None:
        node = getattr(v, "node", None)
        if isinstance(v, (torch.SymInt, torch.SymFloat)) and isinstance(node, Symbol):
            return node.value
        return super().number(v)

    def value(self, v: Any, type: T.Type | None, span: Span) -> Value:
        found = self.number(v)
        if found is not None:
            return found
        if isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            v = plain(v)
        if isinstance(v, torch.device):
            v = Device(str(v))
        elif isinstance(v, torch.Generator):
            v = None
        else:
            code = code_of(v)
            v = v if code is None else code
        return super().value(v, type, span)

    def take(self, result: Any, value: Value, span: Span) -> Any:
        # The results of compiled functions are tensors of scriptlang.
        if isinstance(result, Tensor):
            result = torch.from_numpy(result.numpy().copy())
        elif isinstance(result, tuple) and any(isinstance(v, Tensor) for v in result):
            result = tuple(
                torch.from_numpy(v.numpy().copy()) if isinstance(v, Tensor) else v for v in result
            )
        elif isinstance(result, list) and any(isinstance(v, Tensor) for v in result):
            result = [torch.from_numpy(v.numpy().copy()) for v in result]
        taken = super().take(result, value, span)
        return result if isinstance(taken, (int, float)) else taken

    def call_function(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        run: Callable[..., Any],
    ) -> Any:
        return super().call_function(
            function, args, kwargs, lambda *a, **k: run(*plain(a), **plain(k))
        )

    def call_method(
        self,
        owner: Any,
        function: Function,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        run: Callable[..., Any],
    ) -> Any:
        return super().call_method(
            owner, function, args, kwargs, lambda *a, **k: run(*plain(a), **plain(k))
        )

    # What the mode calls

    def operator(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operator of torch and record it; returns its result."""
        schema = func._schema
        span = self.span()
        with self.paused():
            result = func(*plain(args), **plain(kwargs))
        given = {a.name: v for a, v in zip(schema.arguments, args)} | kwargs
        given |= self.remembered(schema, given)
        if schema.name in LOOKS:
            self.looked_at(LOOKS[schema.name], args[0])
            return result
        if schema.name in SAME:
            self.bind(result, self.tensor(args[0], span))
            return result
        overload = choose(schema.name, schema.overload_name, given)
        op = table.find(schema.name, overload)
        if op is None:
            raise NotImplementedError(
                f"{schema.name}.{overload} is not an operator that can be recorded"
            )
        self.record(op, given, result, span)
        return result

    def remembered(self, schema: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Arguments that torch converted to plain ints, as the traced numbers that they were.

        An argument is recognized by its value: a traced number replaces the only int argument equal
        to it.  If several are equal to it, all stay plain ints.  Arguments `dim...` are not
        considered, as they rarely are traced numbers.
        """
        found = {}
        for symbol in self.taken_as_int:
            places = [
                a.name
                for a in schema.arguments
                if a.name not in found
                and type(given.get(a.name)) is int
                and given[a.name] == symbol.number
                and str(a.type) == "int"
                and not a.name.startswith("dim")
            ]
            if len(places) == 1:
                found[places[0]] = torch.SymInt(symbol)
        self.taken_as_int.clear()
        return found

    def record(self, op: table.Operator, given: dict[str, Any], result: Any, span: Span) -> None:
        """Insert the node of a call, and bind the results to its outputs."""
        inputs = [self.argument(a, given, span) for a in op.schema.arguments]
        returns = [
            result_type(r.type, v)
            for r, v in zip(op.schema.returns, result if len(op.schema.returns) > 1 else (result,))
        ]
        node = self.graph.insert(op.name, inputs, returns, span, schema=op.schema)
        if len(returns) == 1:
            self.take(result, node.output, span)
        for part, value in zip(result, node.outputs) if len(returns) > 1 else ():
            self.take(part, value, span)

    def argument(self, a: Argument, given: dict[str, Any], span: Span) -> Value:
        if a.name not in given:
            default = a.default
            if a.size and isinstance(default, (int, float)):
                default = [default] * a.size
            return self.graph.constant(default, _constant_type(default, a.type), span)
        v = given[a.name]
        if a.type == T.TENSOR and not self.is_tensor(v) and v is not None:
            number = self.number(v)
            if number is not None:
                return self.b.emit("prim::NumToTensor", [number], span)
            v = as_tensor(
                torch.tensor(plain(v), dtype=torch.float64 if isinstance(v, float) else None)
            )
        if a.size and not isinstance(v, (list, tuple)) and v is not None:
            v = [v] * a.size
        return self.value(v, a.type, span)

    def size_of(self, tensor: torch.Tensor) -> torch.Size | tuple[Any, ...]:
        """The shape of a tensor, as traced numbers if the tensor is in the graph."""
        sizes = plain_size(tensor)
        if id(tensor) not in self.known:
            return sizes
        span = self.span()
        source = self.tensor(tensor, span)
        made = []
        for i, n in enumerate(sizes):
            value = self.b.emit("aten::size", [source, self.graph.constant(i, T.INT, span)], span)
            made.append(torch.SymInt(Symbol(n, self, value)))
        return torch.Size(made) if not made else tuple(made)

    def number_operator(self, name: str, *numbers: Any) -> Value:
        span = self.span()
        values = [
            n.value
            if isinstance(n, Symbol) and n.value is not None
            else self.graph.constant(n.number if isinstance(n, Symbol) else n, None, span)
            for n in numbers
        ]
        return self.b.emit(name, values, span)

    # On and off

    def resume(self) -> None:
        dispatch.calls.trace(self)
        self.is_recording = True
        self.open = contextlib.ExitStack()
        self.open.enter_context(sizes_from(self))
        self.open.enter_context(_python_dispatcher())
        self.open.enter_context(_mode_class()(self))

    def pause(self) -> None:
        dispatch.calls.trace(None)
        self.is_recording = False
        if self.open is not None:
            self.open.close()
            self.open = None

    @contextlib.contextmanager
    def paused(self) -> Iterator[Any]:
        """Do not record meanwhile; used while torch runs an operator."""
        dispatch.calls.trace(None)
        self.is_recording = False
        try:
            with plain_sizes(), torch._C._DisablePythonDispatcher():
                yield
        finally:
            dispatch.calls.trace(self)
            self.is_recording = True


def choose(name: str, overload: str, given: dict[str, Any]) -> str:
    """The overload to record: `Scalar` if a number was given for a Tensor of overload `Tensor`."""
    op = table.find(name, overload)
    if op is None or overload != "Tensor":
        return overload
    numbers = [
        a.name
        for a in op.schema.arguments
        if a.type == T.TENSOR and isinstance(given.get(a.name), (int, float, complex, torch.SymInt))
    ]
    return "Scalar" if numbers and table.find(name, "Scalar") is not None else overload


def _constant_type(value: Any, wanted: T.Type) -> T.Type | None:
    if value is None:
        return T.NONE
    return T.without_none(wanted) if isinstance(value, (list, tuple)) else None


def result_type(declared: T.Type, result: Any) -> T.Type:
    """The type of a result; for a result of type number, that of the value."""
    if declared == T.NUMBER:
        return T.FLOAT if isinstance(result, float) else T.INT
    return declared


def plain(v: Any) -> Any:
    """The value with all traced numbers in it made plain, and scriptlang's tensors made torch's."""
    if isinstance(v, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return v.node.number if isinstance(v.node, Symbol) else v
    if isinstance(v, Tensor):
        return torch.from_numpy(v.numpy())
    if type(v) in (list, tuple, torch.Size):
        return (list if type(v) is list else tuple)(map(plain, v))
    if type(v) is dict:
        return {k: plain(x) for k, x in v.items()}
    return v


# Functions of torch that are replaced while a trace is recorded

plain_size: Callable[[torch.Tensor], torch.Size] = torch._C.TensorBase.size
plain_count: Callable[[torch.Tensor], int] = torch._C.TensorBase.numel
SHAPE = torch._C.TensorBase.shape
_tracer: TorchTracer | None = None
_thread = 0


@contextlib.contextmanager
def sizes_from(tracer: TorchTracer) -> Iterator[Any]:
    """Replace functions of torch, so that a tracer sees sizes, indexing and compiled functions.

    `torch.jit.is_tracing()` is true meanwhile.
    """
    global _tracer, _thread
    tracing = torch._C._is_tracing
    _tracer, _thread = tracer, get_ident()
    torch.Tensor.size, torch.Tensor.shape = _size, property(_shape)
    torch.Tensor.numel, torch.Tensor.__getitem__ = _numel, traced_index.get_item
    scripted = torch._C.ScriptFunction.__call__
    torch._C.ScriptFunction.__call__ = _calls(scripted, foreign.foreign_function)
    torch.jit.RecursiveScriptModule.__call__ = _module_call
    torch._C._is_tracing = lambda: _here() is not None or tracing()
    try:
        yield
    finally:
        del torch.Tensor.size, torch.Tensor.shape, torch.Tensor.numel, torch.Tensor.__getitem__
        torch._C.ScriptFunction.__call__ = scripted
        del torch.jit.RecursiveScriptModule.__call__
        torch._C._is_tracing = tracing
        _tracer = None


@contextlib.contextmanager
def plain_sizes() -> Iterator[Any]:
    """Give plain sizes instead of traced ones meanwhile."""
    global _tracer
    tracer, _tracer = _tracer, None
    try:
        yield
    finally:
        _tracer = tracer


def _here() -> TorchTracer | None:
    """The tracer, if it was started in this thread; else None.

    The replaced functions are called in all threads.
    """
    return _tracer if _tracer is not None and _thread == get_ident() else None


def _calls(original: Callable[..., Any], meaning: Callable[[Any], Any]) -> Callable[..., Any]:
    """A replacement for `__call__` of functions that torch compiled, which records the call.

    The operators in the function are not recorded.
    """

    def call(scripted: Any, *args: Any, **kwargs: Any) -> Any:
        tracer = _here()
        if tracer is None:
            return original(scripted, *args, **kwargs)
        return tracer.call_function(
            meaning(scripted), args, kwargs, lambda *a, **k: original(scripted, *a, **k)
        )

    return call


def _module_call(module: Any, *args: Any, **kwargs: Any) -> Any:
    original = torch.nn.Module.__call__
    tracer = _here()
    if tracer is None:
        return original(module, *args, **kwargs)
    method = foreign.foreign_module(module).type.methods["forward"]
    return tracer.call_method(
        module, method, args, kwargs, lambda *a, **k: original(module, *a, **k)
    )


def _shape(tensor: torch.Tensor) -> Any:
    tracer = _here()
    return SHAPE.__get__(tensor) if tracer is None else tracer.size_of(tensor)


def _size(tensor: torch.Tensor, dim: int | None = None) -> Any:
    tracer = _here()
    if tracer is None:
        sized: Any = plain_size
        return sized(tensor) if dim is None else sized(tensor, dim)
    sizes = tracer.size_of(tensor)
    return sizes if dim is None else sizes[dim]


def _numel(tensor: torch.Tensor) -> Any:
    tracer = _here()
    if tracer is None or id(tensor) not in tracer.known:
        return plain_count(tensor)
    span = tracer.span()
    value = tracer.b.emit("aten::numel", [tracer.tensor(tensor, span)], span)
    return torch.SymInt(Symbol(plain_count(tensor), tracer, value))


def _python_dispatcher() -> Any:
    from torch._dispatch.python import enable_python_dispatcher

    return enable_python_dispatcher()


@cache
def _mode_class() -> type:
    """The class of the dispatch mode.

    It derives from a class of torch, because torch accepts only known classes above autograd.
    """
    from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(ProxyTorchDispatchMode):  # type: ignore[misc]
        def __init__(self, tracer: TorchTracer) -> None:
            TorchDispatchMode.__init__(self, _dispatch_key=torch._C.DispatchKey.PreDispatch)
            self.tracer, self.pre_dispatch = tracer, True

        __enter__ = TorchDispatchMode.__enter__
        __exit__ = TorchDispatchMode.__exit__

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return self.tracer.operator(func, args, kwargs or {})

    return Mode
