"""ScriptModule and ScriptFunction: thin facades over an object or function and an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar

from .. import budgets
from .. import types as T
from ..building import alone, lock
from ..interpreter.calls import Caller
from ..interpreter.engine import Engine
from ..interpreter.engine import engine as engine_named
from ..interpreter.gradients import give, put
from ..ir import Function
from ..limits import Limits
from ..objects import ScriptObject
from ..ops.calling import current
from ..records import replace
from ..tensors import Tensor
from .calling import (
    facades,
    let_be_direct,
    run,
    run_member_again,
    run_module_again,
    signature_of,
    unwrap,
    wrap,
)
from .module_hooks import REFUSED, ModuleHooks
from .module_state import ModuleState, refuse_pickling, saved

if TYPE_CHECKING:
    from ..schema import Schema
    from .graph_view import ConstMap, DebugState, GraphView

P = ParamSpec("P")
R = TypeVar("R")


class ScriptFunction(Caller, Generic[P, R]):  # type: ignore[misc]  # a class of either engine
    """A compiled function. Calling it runs it on its engine. `schema`, `graph` and `code` describe
    it; `python_function` is the function it was compiled from, or None."""

    python_function = None

    def __init__(
        self,
        function: Function,
        engine: Engine | str = "auto",
        python_function: Callable[..., Any] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._function = function
        self._engine = engine
        self._limits = limits
        self.__name__ = self.__qualname__ = function.name.rpartition(".")[2]
        if python_function is not None:
            self.python_function = self.__wrapped__ = python_function
            self.__doc__ = python_function.__doc__

    @property
    def engine(self) -> Engine:
        if isinstance(self._engine, str):
            self._engine = engine_named(self._engine)
        return self._engine

    def _call_(self, *args: P.args, **kwargs: P.kwargs) -> R:
        tracer = current.tracing()
        if tracer is not None:
            return tracer.call_function(self._function, args, kwargs, self._run)
        result = self._run(*args, **kwargs)
        let_be_direct(self, self._function, self.engine, self._limits)
        return result

    def _wrapped_(self, result: Any) -> Any:
        return wrap(result, self.engine, self._limits)

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__":  # read by `inspect.signature`
            return signature_of(self._function, self.python_function)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return run(self._function, args, kwargs, self.engine, self._limits)

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def qualified_name(self) -> str:
        return self._function.name

    @property
    def schema(self) -> Schema:
        """The arguments and results, with the short name, as in PyTorch."""
        return replace(self._function.schema, name=self.__name__)

    @property
    def graph(self) -> GraphView:
        """The graph as compiled, before optimisation."""
        from .graph_view import GraphView

        return GraphView(self._function.graph)

    @property
    @alone
    def inlined_graph(self) -> GraphView:
        """The graph with every call of a known function replaced by its body."""
        from ..passes import inline
        from .graph_view import GraphView

        with budgets.use(self._function.budget, self._function.name):
            graph = self._function.graph.copy()
            inline.run(graph)
        return GraphView(graph)

    def graph_for(self, *args: Any, **kwargs: Any) -> GraphView:
        """Call the function; returns the optimised graph that was run."""
        self(*args, **kwargs)
        return self._optimized()

    def get_debug_state(self) -> DebugState:
        """The state of the engine's executor: the optimised graph."""
        from .graph_view import DebugState

        return DebugState(self._optimized())

    @alone
    def _optimized(self) -> GraphView:
        from ..passes.pipeline import optimize
        from .graph_view import GraphView

        with budgets.use(self._function.budget, self._function.name):
            graph = self._function.graph.copy()
            optimize(graph)
        return GraphView(graph)

    @property
    @alone
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """Return (code, the constants that it names as CONSTANTS.c0 and so on)."""
        from ..serialization.printer import print_with_constants
        from .graph_view import ConstMap

        with budgets.use(self._function.budget, self._function.name):
            code, constants = print_with_constants(self._function)
        return code, ConstMap(constants)

    @property
    @alone
    def code(self) -> str:
        """The program as source code, as it is written to an archive."""
        from ..serialization.printer import print_function

        with budgets.use(self._function.budget, self._function.name):
            return print_function(self._function)

    def save(self, target: Any, _extra_files: dict[Any, Any] | None = None) -> None:
        """Write an archive with this function as its only content (see scriptlang.save)."""
        from ..api import save

        save(self, target, _extra_files)

    def save_to_buffer(self, _extra_files: dict[Any, Any] | None = None) -> bytes:
        """The bytes that `save` writes."""
        return saved(self, _extra_files)

    def _set_ignore_amp(self, ignore: bool) -> None:
        """Has no effect; autocast only applies where programs ask for it."""

    def _debug_flush_compilation_cache(self) -> None:
        """Has no effect; compiled code is kept as long as the function."""

    def __copy__(self) -> ScriptFunction[..., Any]:
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> ScriptFunction[..., Any]:
        return self  # as Python copies functions

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_pickling("ScriptFunction")

    def __repr__(self) -> str:
        return f"<ScriptFunction {self._function.schema}>"


class ScriptMethod(ScriptFunction[..., Any]):
    """A method of an object; calling it passes the object as the first argument."""

    def __init__(self, function: Function, owner: ScriptObjectFacade) -> None:
        state = object.__getattribute__(owner, "__dict__")
        engine, limits = state["_engine_"], state["_limits_"]
        super().__init__(function, engine, limits=limits)
        self.owner = owner
        if function.direct is not None and state["_restore_"] is None:
            let_be_direct(self, function, engine, limits, state["_raw_"])

    def _call_(self, *args: Any, **kwargs: Any) -> Any:
        again = NotImplemented if kwargs else run_member_again(self.owner, self._function, args)
        if again is not NotImplemented:
            return again
        tracer = current.tracing()
        if tracer is not None:
            return tracer.call_method(self.owner._object_, self._function, args, kwargs, self._run)
        result = self._run(*args, **kwargs)
        let_be_direct(self, self._function, self.engine, self._limits, self.owner._object_)
        return result

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        return run(self._function, (self.owner._object_, *args), kwargs, self.engine, self._limits)


class ScriptObjectFacade:
    """An instance of a script class. Its attributes, properties and methods can be read and set."""

    def __init__(
        self,
        obj: ScriptObject,
        engine: Engine,
        limits: Limits | None = None,
        restore: Callable[..., Any] | None = None,
    ) -> None:
        """restore: called once, with the limits, before the object is first used."""
        self.__dict__.update(
            _raw_=obj, _engine_=engine, _limits_=limits, _facades_={}, _restore_=restore
        )

    @property
    def _object_(self) -> ScriptObject:
        """The object. Code of its archive (`__setstate__`) only runs when this is first read, so
        that loading runs no code. If it raises an error, it runs again the next time."""
        state = self.__dict__
        if state["_restore_"] is not None:
            with lock:
                if state["_restore_"] is not None:
                    state["_restore_"](self._limits_)
                    state["_restore_"] = None
        return state["_raw_"]

    @property
    def _type(self) -> T.ClassType:
        return self.__dict__["_raw_"].type

    def __getattr__(self, name: str) -> Any:
        cls = self._type
        if cls.slot(name) is not None:
            return self._attribute(name)
        if name in cls.methods:
            return ScriptMethod(cls.methods[name], self)
        if name in cls.properties:
            return ScriptMethod(cls.methods[cls.properties[name][0]], self)()
        if name in cls.constants:
            return cls.constants[name]
        if name in cls.static_methods:
            return ScriptFunction(cls.static_methods[name], self._engine_, limits=self._limits_)
        raise AttributeError(f"{cls.name} has no attribute {name!r}")

    def _attribute(self, name: str) -> Any:
        value = self._object_.get(name)
        if isinstance(value, Tensor):
            return give(value)
        if isinstance(value, ScriptObject) and self._type.is_object(name):
            known = self._facades_.get(name)
            if known is not None and known._object_ is value:
                return known
            with lock:
                known = self._facades_.get(name)
                if known is None or known._object_ is not value:
                    known = self._facades_[name] = wrap(value, self._engine_, self._limits_)
                return known
        return wrap(value, self._engine_, self._limits_)

    def __setattr__(self, name: str, value: Any) -> None:
        cls = self._type
        if cls.slot(name) is not None:
            self._object_.set(name, unwrap(value))
            put(value)
        elif setter := cls.properties.get(name, (None, None))[1]:
            ScriptMethod(cls.methods[setter], self)(value)
        else:
            raise AttributeError(
                f"{cls.name} has no attribute {name!r} that can be set; a "
                "compiled class has the attributes it was compiled with"
            )

    def __dir__(self) -> list[str]:
        cls = self._type
        return sorted(
            {
                *super().__dir__(),
                *(a.name for a in cls.attributes),
                *cls.methods,
                *cls.properties,
                *cls.constants,
            }
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._type.name}>"


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        if name not in self._type.methods:
            return NotImplemented
        return ScriptMethod(self._type.methods[name], self)(*args)

    method.__name__ = name
    return method


for _name in (
    "__add__ __sub__ __mul__ __truediv__ __floordiv__ __mod__ __pow__ __and__ __or__ __xor__ "
    "__lt__ __le__ __gt__ __ge__ __neg__ __len__ __getitem__ __setitem__ __contains__ __call__"
).split():
    setattr(ScriptObjectFacade, _name, _operator(_name))


class ScriptModule(Caller, ModuleState, ModuleHooks, ScriptObjectFacade):  # type: ignore[misc]
    """A loaded or compiled module. Calling it calls `forward`, with the program's hooks around it.

    The program's own attributes are type-checked when they are set; others are plain Python
    attributes. Names of the program take precedence over those of this class (`values`, `graph`).
    """

    def __getattribute__(self, name: str) -> Any:
        if name[:1] != "_":
            cls = object.__getattribute__(self, "__dict__")["_raw_"].type
            if name in cls.methods:
                return ScriptMethod(cls.methods[name], self)
            if cls.slot(name) is not None or name in cls.properties:
                return ScriptModule.__getattr__(self, name)
        return object.__getattribute__(self, name)

    def _call_(self, *args: Any, **kwargs: Any) -> Any:
        again = NotImplemented if kwargs else run_module_again(self, args)
        if again is not NotImplemented:
            return again
        if self._is_hooked():
            from ..nn.modules.hooks import HookedModule

            return HookedModule._call_hooked(self, self._call_program, args, kwargs)
        return self._call_program(*args, **kwargs)

    def _call_program(self, *args: Any, **kwargs: Any) -> Any:
        cls = self._type
        forward = cls.methods.get("forward")
        if forward is not None and not (cls.pre_hooks or cls.hooks or current.tracing()):
            first, engine, limits = self._object_, self._engine_, self._limits_
            result = run(forward, (first, *args), kwargs, engine, limits)
            if not self._is_hooked():
                let_be_direct(self, forward, engine, limits, first)
            return result
        for name in cls.pre_hooks:
            result = ScriptMethod(cls.methods[name], self)(args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
        output = self._forward()(*args, **kwargs)
        for name in cls.hooks:
            result = ScriptMethod(cls.methods[name], self)(args, output)
            output = output if result is None else result
        return output

    def _wrapped_(self, result: Any) -> Any:
        return wrap(result, self._engine_, self._limits_)

    def _forward(self) -> ScriptFunction[..., Any]:
        if "forward" in self._type.methods:
            return ScriptMethod(self._type.methods["forward"], self)
        found: Any = overloaded_method(self, "forward")
        if found is None:
            names = ", ".join(self._type.methods) or "none"
            raise AttributeError(f"{self._type.name} has no forward; its methods: {names}")
        return found

    def __getattr__(self, name: str) -> Any:
        if name == "__signature__" and "forward" in self._type.methods:
            return signature_of(self._type.methods["forward"])
        try:
            return super().__getattr__(name)
        except AttributeError as error:
            found = overloaded_method(self, name)
            if found is not None:
                return found
            if self._type.origin is not None:
                from .scripting import python_attribute

                return python_attribute(self, name, error)
            if name in REFUSED:
                raise AttributeError(f"ScriptModule has no {name}: {REFUSED[name]}") from None
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        cls = self._type
        if cls.slot(name) is not None:
            self._object_.set(name, self._fitting(name, value))
            put(value)
        elif name in cls.constants:
            raise RuntimeError(f"Can't set constant {name!r} of {cls.short_name}")
        elif name in cls.properties or name in cls.methods:
            super().__setattr__(name, value)
        else:
            object.__setattr__(self, name, value)

    def _fitting(self, name: str, value: Any) -> Any:
        """A value converted to the attribute's type. Raises RuntimeError if it does not fit."""
        from ..interpreter.arguments import Mismatch, convert
        from ..interpreter.values import type_name

        attribute = self._type.attribute(name)
        assert attribute is not None
        declared = attribute.type
        if getattr(declared, "is_module", False) and not isinstance(value, ScriptModule):
            raise RuntimeError(
                "Cannot re-assign modules in a ScriptModule with non-scripted module, tried to "
                f"replace existing module {name!r} with a {type_name(value)}: script it first"
            )
        try:
            return convert(value, declared)
        except Mismatch:
            found, lacks = type_name(value), ""
            if isinstance(value, ScriptObjectFacade):
                found = value._type.annotation
                if isinstance(declared, T.InterfaceType):
                    lacks = f". {T.why_not_implements(value._type, declared)}"
            raise RuntimeError(
                f"Expected a value of type {declared.annotation!r} for field {name!r}, but found "
                f"{found!r}{lacks}"
            ) from None

    def define(self, src: str) -> None:
        """Compile the functions of a text as further methods.  Raises CompileError."""
        from .scripting import define_methods

        define_methods(self, src)

    # Containers

    def _members(self) -> dict[str, Any]:
        return dict(self.named_children())

    def __len__(self) -> int:
        if "__len__" in self._type.methods:
            return ScriptMethod(self._type.methods["__len__"], self)()
        return len(self._members())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        names = self._members()
        return iter(names.values() if all(n.isdigit() for n in names) else names)

    def __contains__(self, key: str) -> bool:
        return key in self._members()

    def __getitem__(self, key: Any) -> ScriptModule:
        if "__getitem__" in self._type.methods:
            return ScriptMethod(self._type.methods["__getitem__"], self)(key)
        members = self._members()
        if isinstance(key, str):
            return members[key]
        return list(members.values())[key]

    def keys(self) -> list[str]:
        """The names of the submodules, as in a ModuleDict."""
        return list(self._members())

    def values(self) -> list[Any]:
        """The submodules, as in a ModuleDict."""
        return list(self._members().values())

    def items(self) -> list[tuple[str, Any]]:
        """The names and submodules, as in a ModuleDict."""
        return list(self._members().items())

    @property
    def engine(self) -> str:
        """The name of the engine that runs the module."""
        return self._engine_.name

    @property
    def original_name(self) -> str:
        return self._type.short_name

    @property
    def graph(self) -> GraphView:
        return self.forward.graph

    @property
    def inlined_graph(self) -> GraphView:
        return self.forward.inlined_graph

    @property
    def code(self) -> str:
        return self.forward.code

    @property
    def code_with_constants(self) -> tuple[str, ConstMap]:
        """The code of `forward`, and the constants that it names as CONSTANTS.c0 and so on."""
        return self.forward.code_with_constants

    def graph_for(self, *args: Any, **kwargs: Any) -> GraphView:
        """Call `forward`; returns the optimised graph that was run."""
        return self.forward.graph_for(*args, **kwargs)

    def get_debug_state(self) -> DebugState:
        """The state of the engine's executor for `forward`: its optimised graph."""
        return self.forward.get_debug_state()

    _version = 1
    call_super_init = dump_patches = False

    def _get_name(self) -> str:
        return type(self).__name__

    def get_extra_state(self) -> Any:
        """Raises RuntimeError: all state of a compiled module is in its attributes."""
        raise RuntimeError("get_extra_state: compiled modules have no state besides attributes")

    def set_extra_state(self, state: Any) -> None:
        """Raises RuntimeError: all state of a compiled module is in its attributes."""
        raise RuntimeError("set_extra_state: compiled modules have no state besides attributes")

    def save(self, target: Any, _extra_files: dict[Any, Any] | None = None) -> None:
        """Write an archive that scriptlang and PyTorch load (see scriptlang.save)."""
        from ..api import save

        save(self, target, _extra_files)

    def save_to_buffer(self, _extra_files: dict[Any, Any] | None = None) -> bytes:
        """The bytes of what `save` writes."""
        return saved(self, _extra_files)

    def _save_for_lite_interpreter(
        self,
        target: Any,
        _extra_files: dict[Any, Any] | None = None,
        _save_mobile_debug_info: bool = False,
    ) -> None:
        """Like `save`, for PyTorch's lite interpreter, which needs bytecode in the archive.

        Raises RuntimeError for a program that cannot be written as bytecode.
        """
        self._save_to_buffer_for_lite_interpreter()
        self.save(target, _extra_files)

    def _save_to_buffer_for_lite_interpreter(
        self, _extra_files: dict[Any, Any] | None = None, _save_mobile_debug_info: bool = False
    ) -> bytes:
        from ..serialization.archive import names_in

        made = saved(self, _extra_files)
        if "bytecode.pkl" not in names_in(made):
            raise RuntimeError(
                "the program has no bytecode for PyTorch's lite interpreter: it "
                "calls operators of a library, or forks; use save instead"
            )
        return made

    def __repr__(self) -> str:
        parts = [f"({n}): {child!r}".replace("\n", "\n  ") for n, child in self.named_children()]
        own = f"original_name={self.original_name}"
        lines = ["ScriptModule(", own, *parts]
        return "\n  ".join(lines) + "\n)" if parts else f"ScriptModule({own})"


class OverloadedScriptMethod:
    """A method with several declarations: a call runs the first one that the arguments fit."""

    def __init__(self, methods: list[ScriptMethod]) -> None:
        self.methods = methods

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        from ..errors import RunError
        from ..interpreter.arguments import bind

        for method in self.methods[:-1]:
            try:
                bind(method.schema, (method.owner._object_, *args), kwargs)
            except RunError:
                continue
            return method(*args, **kwargs)
        return self.methods[-1](*args, **kwargs)


def overloaded_method(owner: ScriptModule, name: str) -> OverloadedScriptMethod | None:
    """The methods `name__0`, `name__1`, ... of a module as one; None if there are none."""
    found: list[ScriptMethod] = []
    while f"{name}__{len(found)}" in owner._type.methods:
        found.append(ScriptMethod(owner._type.methods[f"{name}__{len(found)}"], owner))
    return OverloadedScriptMethod(found) if found else None


facades.module, facades.object = ScriptModule, ScriptObjectFacade
