"""The names of torch.library: operators that users define, for programs, archives and eager calls.

    @scriptlang.library.custom_op("my::scale", mutates_args=())
    def scale(x: Tensor, k: int = 1) -> Tensor:
        return x * k

    scriptlang.ops.my.scale(x, 3)            # also torch.ops.my.scale(x, 3) in scripts and archives

A function serves both engines: native programs call it with the GIL. `engine="python"` restricts it
to the Python engine; operators in C for the native engine come from a plug-in (`load_library`). The
operators are known to all archives loaded, and all functions compiled, afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .interpreter.native import load as native_module
from .ops.calling.packets import Overload, Packet
from .ops.custom import operators
from .ops.custom.annotations import infer_schema
from .ops.custom.checks import CHECKS, run_checks
from .ops.custom.gradients import Recording, Through, check_derivable, record_with
from .ops.custom.operators import OWN, CustomOperator

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "infer_schema",
    "load_library",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
]

Body = Callable[..., Any]

ENGINES = (None, "python")

HERE = frozenset(
    {"", "CPU", "cpu", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "default"}
)
"""Dispatch keys and device types whose functions run here; those for other devices never run."""

ELSEWHERE = frozenset({"CUDA", "cuda", "MPS", "mps", "XPU", "xpu", "HPU", "hpu", "XLA", "xla"})

_defined: set[str] = set()
"""Namespaces that have a Library of kind DEF."""


def _found(op: Any) -> CustomOperator:
    """The operator that a name, packet or definition refers to.
    Raises RuntimeError if there is none."""
    if isinstance(op, CustomOpDef):
        return op._op
    if isinstance(op, Overload):
        name = op.name()
    elif isinstance(op, Packet):
        name = op._qualified_name
    else:
        name = str(op)
    name = name.removesuffix(".default")
    found = operators.find(name)
    if found is None:
        if name.partition("::")[0] in OWN:
            raise RuntimeError(f"{name} is built in: nobody else implements it")
        raise RuntimeError(
            f"there is no operator {name}: scriptlang.library.define({name!r}, "
            "'(Tensor x) -> Tensor') defines one"
        )
    return found


def _define(text: str, alias_analysis: str = "") -> CustomOperator:
    if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
        raise RuntimeError(f"alias_analysis is '' or 'CONSERVATIVE', not {alias_analysis!r}")
    op = CustomOperator(text, alias_analysis == "CONSERVATIVE")
    record_with(op, Recording(op))
    return op


def _set_body(op: CustomOperator, body: Body, engine: str | None, is_new: bool = True) -> None:
    """Set the function that runs an operator. Raises RuntimeError if there is one already."""
    if not callable(body):
        raise TypeError(f"{op.name} is implemented by a function, not by {body!r}")
    if engine not in ENGINES:
        raise ValueError(
            f"engine is None, for both, or 'python', not {engine!r}: what the native engine alone "
            "calls is written in C, in a plug-in (scriptlang/plugin.h)"
        )
    if is_new and (op.for_python if engine else op.for_both) is not None:
        raise RuntimeError(
            f"{op.name} is implemented already; allow_override=True replaces what does it"
        )
    if engine == "python":
        op.for_python = body
        return
    if op.for_native is not None:
        raise RuntimeError(
            f"a plug-in implements {op.name}; engine='python' is what may be written besides"
        )
    is_first = op.for_both is None
    op.for_both = body
    native = native_module()[0]
    if is_first and native is not None:
        try:
            native.register_operator(op.text, op.call_natively)
        except native.NativeError as e:
            op.for_both = None
            raise RuntimeError(f"the native engine takes no {op.name}: {e.args[2]}") from None


def _implement(
    op: CustomOperator, body: Body, key: str, engine: str | None, override: bool = False
) -> None:
    """Implement an operator for a dispatch key or a device type; used by `impl`."""
    if key == "Meta":
        op.fake = body
    elif key in HERE:
        _set_body(op, body, engine, not override)
        if key == "CompositeImplicitAutograd":
            record_with(op, Through())
    elif key not in ELSEWHERE:
        raise RuntimeError(
            f"there is no dispatch key {key!r} here: CPU, CompositeExplicitAutograd, "
            "CompositeImplicitAutograd and Meta are known; derivatives are those of "
            "scriptlang.library.register_autograd"
        )


class Library:
    """Operators of one namespace. `Library("my", "DEF")` defines them, "FRAGMENT" adds to a
    namespace that may have a DEF elsewhere, and "IMPL" only implements. As in PyTorch, a namespace
    has only one DEF."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"a Library is DEF, FRAGMENT or IMPL, not {kind!r}")
        if not ns.isidentifier():
            raise ValueError(f"{ns!r} is no namespace of operators: it is a name as 'my' is")
        if ns in OWN:
            raise ValueError(f"operators of {ns}:: are built in; choose another namespace")
        if kind == "DEF" and ns in _defined:
            raise RuntimeError(
                f"there is a Library of {ns!r} already; Library({ns!r}, 'FRAGMENT') defines more"
            )
        if kind == "DEF":
            _defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator by a schema "op(Tensor x) -> Tensor"; returns `name.overload`.

        alias_analysis: "CONSERVATIVE" for an operator that writes or returns memory that its schema
        does not mention. Optimisations keep every call of a defined operator, once and in its
        place.
        """
        if self.kind == "IMPL":
            raise RuntimeError(f"Library({self.ns!r}, 'IMPL') defines nothing; 'FRAGMENT' does")
        text = schema.strip()
        namespace, colons, rest = text.partition("(")[0].partition("::")
        if colons and namespace != self.ns:
            raise ValueError(f"{namespace}::{rest} is no operator of the namespace {self.ns}")
        op = _define(text if colons else f"{self.ns}::{text}", alias_analysis)
        return op.name.partition("::")[2]

    def impl(
        self,
        op_name: Any,
        fn: Body,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
        engine: str | None = None,
    ) -> None:
        """Implement an operator by a function. engine: None for both engines, or "python"."""
        if with_keyset:
            raise NotImplementedError("there are no dispatch keys that a function could get")
        name = op_name
        if isinstance(op_name, str) and "::" not in op_name:
            name = f"{self.ns}::{op_name}"
        op = _found(name)
        if op.schema.name.partition("::")[0] != self.ns:
            raise RuntimeError(f"{op.name} is no operator of the namespace {self.ns}")
        _implement(op, fn, dispatch_key or self.dispatch_key, engine, allow_override)

    def __repr__(self) -> str:
        return f"Library({self.ns!r}, {self.kind!r})"


def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: Any = (), **options: Any
) -> None:
    """Define an operator: `define("my::op", "(Tensor x) -> Tensor")`."""
    if "::" not in qualname:
        raise ValueError(f"{qualname!r} is no name of an operator: my::op is one")
    _define(qualname + schema, **options)


def impl(
    qualname: Any, types: Any = "default", func: Body | None = None, *, lib: Any = None, **how: Any
) -> Any:
    """Implement an operator: `impl("my::op", "cpu", f)`, or without f as a decorator.

    types: device types; functions for devices other than the CPU never run. engine: None for both
    engines, or "python". `impl(lib, "op", "CPU")` is the decorator for a Library.
    """
    if isinstance(qualname, Library):
        library, name, key = qualname, types, func or ""

        def decorate_for(body: Body) -> Body:
            library.impl(name, body, key, **how)  # type: ignore[arg-type]  # a dispatch key
            return body

        return decorate_for
    op = _found(qualname)

    def decorate(body: Body) -> Body:
        for key in [types] if isinstance(types, str) else list(types or ["default"]):
            _implement(op, body, key, how.get("engine"), how.get("allow_override", False))
        return body

    if func is None:
        return decorate
    decorate(func)
    return None


def register_kernel(op: Any, device_types: Any, func: Body | None = None, **how: Any) -> Any:
    """Like `impl`, for one or several device types; None means all."""
    return impl(_found(op).name, device_types or "default", func, **how)


def register_fake(op: Any, func: Body | None = None, **how: Any) -> Any:
    """Register a function that determines the sizes and dtypes of an operator's results.

    It gets tensors with meaningless elements and returns such tensors. Optimisations and
    `scriptlang.inspect` call it. Without `func`, this is a decorator."""
    found = _found(op)

    def decorate(body: Body) -> Body:
        found.fake = body
        return body

    if func is None:
        return decorate
    decorate(func)
    return None


def register_autograd(
    op: Any, backward: Body, /, *, setup_context: Body | None = None, **how: Any
) -> None:
    """Register the derivative of an operator.

    `backward(ctx, *grads)` returns a gradient or None for each argument; `setup_context(ctx,
    inputs, output)` stores what it needs in ctx. Programs for which such a gradient is wanted run
    on the Python engine."""
    found = _found(op)
    check_derivable(found)
    record_with(found, Recording(found, backward, setup_context))


class CustomOpDef:
    """The result of `custom_op`; calling it calls the operator."""

    def __init__(self, op: CustomOperator, function: Body) -> None:
        self._op, self._function = op, function
        self._qualname = op.name
        self._opoverload = Overload(op.entry)
        self.__name__ = getattr(function, "__name__", op.name)
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_fake(self, fn: Body, /) -> Body:
        """Register the sizes and dtypes of the results (see the function `register_fake`)."""
        register_fake(self, fn)
        return fn

    def register_kernel(self, device_types: Any, fn: Body | None = None, /, **how: Any) -> Any:
        """Register another function for device types; for the CPU it replaces the first one."""
        return register_kernel(self, device_types, fn, allow_override=True, **how)

    def register_autograd(self, backward: Body, /, *, setup_context: Body | None = None) -> None:
        """Register the derivative (see the function `register_autograd`)."""
        register_autograd(self, backward, setup_context=setup_context)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str,
    fn: Body | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: Any = None,
    schema: str | None = None,
    engine: str | None = None,
) -> Any:
    """Make an operator from a function, by its annotations or a schema "(Tensor x) -> Tensor".

    mutates_args: the names of the tensors that it writes. Its results must not share memory with
    its arguments. If it is defined again with the same schema, the new function replaces the old
    one.
    """
    if "::" not in name:
        raise ValueError(f"{name!r} is no name of an operator: my::op is one")

    def decorate(function: Body) -> CustomOpDef:
        written = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        op = operators.find(name)
        if op is None or op.text != name + written or not op.is_apart:
            op = _define(name + written)
            op.is_apart = True
        keys = [device_types] if isinstance(device_types, str) else list(device_types or ["cpu"])
        for key in keys:
            _implement(op, function, key, engine, True)
        return CustomOpDef(op, function)

    return decorate if fn is None else decorate(fn)


def opcheck(
    op: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = tuple(CHECKS),
    raise_exception: bool = True,
) -> dict[str, str | Exception]:
    """Check whether an operator behaves as its schema and its fake say, for these arguments.

    Returns "SUCCESS" or an error for each check, by its name."""
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    if unknown := set(names) - CHECKS.keys():
        raise ValueError(f"there is no check {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    return run_checks(_found(op), args, kwargs or {}, names, raise_exception)


SL_INVALID_ARGUMENT = 1


def load_library(path: str | os.PathLike[str]) -> None:
    """Load a plug-in (scriptlang/plugin.h), whose operators both engines can then use.

    This runs its code, so it has to be trusted. Raises OSError if it is no plug-in, and
    RuntimeError if it fails to initialise.
    """
    native, why = native_module()
    if native is None:
        raise RuntimeError(f"plug-ins are for the native engine, which is not there: {why}")
    status, message = native.load_library(os.fspath(path))
    _adopt(native)
    if status:
        raise (OSError if status == SL_INVALID_ARGUMENT else RuntimeError)(message)


_seen: list[str] = []
"""The operators of the native engine that Python has already processed."""


def _adopt(native: Any) -> None:
    """Register the operators of plug-ins in Python."""
    while len(_seen) < len(texts := native.custom_operators()):
        text = texts[len(_seen)]
        _seen.append(text)
        name = text.partition("(")[0].strip()
        op = operators.find(name)
        if op is not None and (op.for_both is not None or op.for_native is not None):
            continue
        if op is None:
            op = _define(text)
        elif str(op.schema) != str(operators.checked_schema(text)):
            raise RuntimeError(
                f"a plug-in has {text}, but {op.name} is defined otherwise: {op.schema}"
            )
        op.for_native = _native_kernel(native, op)


def _native_kernel(native: Any, op: CustomOperator) -> Body:
    """A function that calls an operator of a plug-in from Python."""
    from .interpreter.native_engine import translate

    def call(*values: Any) -> Any:
        try:
            results = native.call_operator(op.name, list(values))
        except native.NativeError as e:
            error: Exception = translate(*e.args[:3])
            raise error from None
        return results[0] if len(results) == 1 else results if results else None

    return call
