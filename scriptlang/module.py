"""What users hold: ScriptModule and ScriptFunction, thin facades over an object and an engine."""

from __future__ import annotations

from typing import Any, Generic, Iterator, ParamSpec, TypeVar

from . import types as T
from .ir import Function, Graph
from .interpreter.engine import Engine, engine as engine_named
from .limits import Limits
from .objects import EnumValue
from .ops import dispatch
from .tensors import Tensor

P = ParamSpec("P")
R = TypeVar("R")


class ScriptFunction(Generic[P, R]):
    """A compiled function.  Calling it runs it on its engine.

    `schema`, `graph` and `code` show it; `python_function` is what it was compiled from, if anything.
    """

    def __init__(self, function: Function, engine: Engine | str = "auto", python_function=None,
                 limits: Limits | None = None):
        self._function = function
        self._engine = engine
        self._limits = limits
        self.python_function = python_function
        self.__name__ = function.name.rpartition(".")[2]
        self.__qualname__ = self.__name__
        self.__doc__ = getattr(python_function, "__doc__", None)
        self.__wrapped__ = python_function

    @property
    def engine(self) -> Engine:
        if isinstance(self._engine, str):
            self._engine = engine_named(self._engine)
        return self._engine

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if dispatch.tracer is not None:
            return dispatch.tracer.call_function(self._function, args, kwargs, self._run)
        return self._run(*args, **kwargs)

    def _run(self, *args, **kwargs):
        result = self.engine.run(self._function, args, kwargs, self._limits)
        return wrap(result, self.engine, self._limits)

    @property
    def name(self) -> str:
        return self.__name__

    @property
    def qualified_name(self) -> str:
        return self._function.name

    @property
    def schema(self):
        return self._function.schema

    @property
    def graph(self) -> Graph:
        """The graph as compiled, before optimisation."""
        return self._function.graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph with every call of a known function replaced by its body."""
        from .passes import inline

        graph = self.graph.copy()
        inline.run(graph)
        return graph

    @property
    def code(self) -> str:
        """The program as an archive holds it."""
        from .serialization.printer import print_function

        return print_function(self._function)

    def save(self, target, _extra_files: dict | None = None) -> None:
        """Write an archive with this function as its only content (see scriptlang.save)."""
        from .api import save

        save(self, target, _extra_files)

    def __repr__(self) -> str:
        return f"<ScriptFunction {self._function.schema}>"


class ScriptMethod(ScriptFunction):
    """A method of an object; calling it passes the object first."""

    def __init__(self, function: Function, owner: ScriptObjectFacade):
        super().__init__(function, owner._engine_, limits=owner._limits_)
        self.owner = owner

    def __call__(self, *args, **kwargs):
        result = self.engine.run(self._function, (self.owner._object_, *args), kwargs, self._limits)
        return wrap(result, self.engine, self._limits)


class ScriptObjectFacade:
    """An instance of a script class: its attributes, properties and methods, read and written."""

    def __init__(self, obj, engine: Engine, limits: Limits | None = None, restore=None):
        """restore: called once with the limits, before the object is first used."""
        self.__dict__.update(_raw_=obj, _engine_=engine, _limits_=limits, _facades_={},
                             _restore_=restore)

    @property
    def _object_(self):
        """The object.  What its archive has to run (`__setstate__`) runs when this is first asked
        for, so that loading runs nothing; until it has run without an error, it runs again."""
        if self._restore_ is not None:
            self._restore_(self._limits_)
            self.__dict__["_restore_"] = None
        return self._raw_

    @property
    def _type(self) -> T.ClassType:
        return self._raw_.type

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
        if isinstance(self._type.attribute(name).type, T.ClassType):
            known = self._facades_.get(name)
            if known is None or known._object_ is not value:
                known = self._facades_[name] = wrap(value, self._engine_, self._limits_)
            return known
        return wrap(value, self._engine_, self._limits_)

    def __setattr__(self, name: str, value: Any) -> None:
        cls = self._type
        if cls.slot(name) is not None:
            self._object_.set(name, unwrap(value))
        elif name in cls.properties and cls.properties[name][1]:
            ScriptMethod(cls.methods[cls.properties[name][1]], self)(value)
        else:
            raise AttributeError(f"{cls.name} has no attribute {name!r} that can be set; a compiled "
                                 "class has the attributes it was compiled with")

    def __dir__(self):
        cls = self._type
        return sorted({*super().__dir__(), *(a.name for a in cls.attributes), *cls.methods,
                       *cls.properties, *cls.constants})

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._type.name}>"


def _operator(name: str):
    def method(self, *args):
        if name not in self._type.methods:
            return NotImplemented
        return ScriptMethod(self._type.methods[name], self)(*args)

    method.__name__ = name
    return method


for _name in ("__add__", "__sub__", "__mul__", "__truediv__", "__floordiv__", "__mod__", "__pow__",
              "__and__", "__or__", "__xor__", "__lt__", "__le__", "__gt__", "__ge__", "__neg__",
              "__len__", "__getitem__", "__setitem__", "__contains__", "__call__"):
    setattr(ScriptObjectFacade, _name, _operator(_name))


class ScriptModule(ScriptObjectFacade):
    """A loaded or compiled module.  Calling it calls `forward`; hooks of the program run around it."""

    def __call__(self, *args, **kwargs):
        if "forward" not in self._type.methods:
            names = ", ".join(self._type.methods) or "none"
            raise AttributeError(f"{self._type.name} has no forward; its methods: {names}")
        return ScriptMethod(self._type.methods["forward"], self)(*args, **kwargs)

    @property
    def engine(self) -> str:
        """The name of the engine it runs on."""
        return self._engine_.name

    @property
    def original_name(self) -> str:
        return self._type.short_name

    @property
    def graph(self) -> Graph:
        return self.forward.graph

    @property
    def inlined_graph(self) -> Graph:
        return self.forward.inlined_graph

    @property
    def code(self) -> str:
        return self.forward.code

    def save(self, target, _extra_files: dict | None = None) -> None:
        """Write an archive that scriptlang and PyTorch load (see scriptlang.save)."""
        from .api import save

        save(self, target, _extra_files)

    def named_children(self) -> Iterator[tuple[str, "ScriptModule"]]:
        for a in self._type.attributes:
            if isinstance(a.type, (T.ClassType, T.InterfaceType)) and a.type.is_module:
                yield a.name, getattr(self, a.name)

    def children(self) -> Iterator["ScriptModule"]:
        return (m for _, m in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, "ScriptModule"]]:
        """This module and all inside it, each object once, with dotted names."""
        seen: set[int] = set()
        pending = [(prefix, self)]
        while pending:
            name, module = pending.pop()
            if id(module._object_) in seen:
                continue
            seen.add(id(module._object_))
            yield name, module
            children = [(f"{name}.{n}" if name else n, m) for n, m in module.named_children()]
            pending += reversed(children)

    def modules(self) -> Iterator["ScriptModule"]:
        return (m for _, m in self.named_modules())

    def _named_tensors(self, kind: str, recurse: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for prefix, module in self.named_modules() if recurse else [("", self)]:
            for a in module._type.attributes:
                value = module._object_.get(a.name) if a.kind == kind else None
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield f"{prefix}.{a.name}" if prefix else a.name, value

    def named_parameters(self, recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named_tensors("parameter", recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        return (t for _, t in self.named_parameters(recurse))

    def named_buffers(self, recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named_tensors("buffer", recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (t for _, t in self.named_buffers(recurse))

    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and buffers by dotted name; they share memory with the module."""
        state = {}
        for prefix, module in self.named_modules():
            for kind in ("parameter", "buffer"):
                for name, tensor in module._named_tensors(kind, recurse=False):
                    state[f"{prefix}.{name}" if prefix else name] = tensor
        return state

    def train(self, mode: bool = True) -> "ScriptModule":
        """Set `training` here and in every submodule; returns the module."""
        for m in self.modules():
            if m._type.slot("training") is not None:
                m._object_.set("training", bool(mode))
        return self

    def eval(self) -> "ScriptModule":
        return self.train(False)

    def __repr__(self) -> str:
        lines = [f"ScriptModule(original_name={self.original_name}"]
        for name, child in self.named_children():
            lines.append(f"  ({name}): " + repr(child).replace("\n", "\n  "))
        return lines[0] + ")" if len(lines) == 1 else "\n".join([*lines, ")"])


def wrap(value: Any, engine: Engine, limits: Limits | None = None) -> Any:
    """What a user sees of a run-time value: objects become facades, also inside containers."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "type") and isinstance(getattr(value, "type", None), T.ClassType):
        facade = ScriptModule if value.type.is_module else ScriptObjectFacade
        return facade(value, engine, limits)
    if isinstance(value, EnumValue):
        return value if value.type.python_class is None else value.type.python_class[value.name]
    if type(value) is list and any(isinstance(v, (list, tuple, dict)) or hasattr(v, "type")
                                   for v in value if not isinstance(v, Tensor)):
        return [wrap(v, engine, limits) for v in value]
    if type(value) is tuple:
        return tuple(wrap(v, engine, limits) for v in value)
    return value


def unwrap(value: Any) -> Any:
    """The run-time value behind what a user passes: facades become their objects."""
    return value._object_ if isinstance(value, ScriptObjectFacade) else value
