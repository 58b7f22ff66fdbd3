"""The main functions: load, load_state_dict, save, script, trace, info."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from ._version import __version__
from .building import alone
from .errors import reading
from .frontend.python import foreign
from .interpreter import engine as engines
from .limits import Limits
from .programs.module import ScriptFunction, ScriptModule, ScriptObjectFacade
from .script_containers import ScriptDict, ScriptList

if TYPE_CHECKING:
    from .nn import Module
    from .objects import ScriptObject

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")


@overload
def load(
    source: Any,
    map_location: Any = None,
    _extra_files: dict[Any, Any] | None = None,
    *,
    engine: str = "auto",
    limits: Limits | None = None,
    mmap: bool | None = None,
    weights_only: None = None,
) -> ScriptModule: ...


@overload
def load(
    source: Any,
    map_location: Any = None,
    _extra_files: dict[Any, Any] | None = None,
    *,
    engine: str = "auto",
    limits: Limits | None = None,
    mmap: bool | None = None,
    weights_only: bool,
) -> Any: ...


def load(
    source: Any,
    map_location: Any = None,
    _extra_files: dict[Any, Any] | None = None,
    *,
    engine: str = "auto",
    limits: Limits | None = None,
    mmap: bool | None = None,
    weights_only: bool | None = None,
) -> Any:
    """Load a TorchScript archive (`.pt`, `.jit`, `.ptl`) as a ScriptModule.

    Nothing in the file is executed; a class's `__setstate__` runs at first use, within the limits.

    source: a path, a binary file object, or bytes.
    map_location: the CPU in any form; a dict or function is accepted, but there is nothing to move.
    _extra_files: a dict whose keys are names of extra files; their contents (bytes) become the
    values, b"" for those that the archive does not have.
    engine: "python", "native", or "auto": native if it is available and has all operators.
    limits: what each call may use, and what reading and compiling the archive may use (`Limits`).
    mmap: map the file, so that weights are only read when they are used; None maps files over 16
    MB. A mapped file must not change while the module exists: reading a part that another process
    has truncated ends this process (SIGBUS). False reads the whole file at once.
    weights_only: True or False for a file without a program, written by `save` or torch.save:
    returns its tensors in dicts and lists (`load_state_dict`). In both cases only data is read.
    Raises ArchiveError for a file that is not an archive, malformed or unsafe, and RuntimeError for
    a map_location other than the CPU.
    """
    from .serialization.native_archive import read_native
    from .serialization.sources import Contents, open_source

    if map_location is not None:
        from .ops.calling.options import map_location_argument

        map_location_argument(map_location)
    if weights_only is not None:
        return load_state_dict(source, mmap=mmap)
    contents = Contents(open_source(source, mmap))
    with reading(source):
        native = read_native(contents, engine, limits)
        if native is not None:
            if _extra_files is not None:
                from .serialization.archive import Reader

                Reader(contents).extra_files(_extra_files)
            return module_of(native.root, None, engine, limits)
        from .serialization.archive import read_archive

        archive = read_archive(contents, extra_files=_extra_files, limits=limits)
    return module_of(archive.root, archive.restore if archive.pending else None, engine, limits)


def module_of(
    root: ScriptObject, restore: Callable[..., Any] | None, engine: str, limits: Limits | None
) -> ScriptModule:
    chosen = engines.choose(engine, root)
    return ScriptModule(chosen.adopt(root), chosen, limits, restore)


def load_state_dict(source: Any, *, mmap: bool | None = None) -> Any:
    """Load the weights in a file without a program: a file of torch.save, or a safetensors file.

    source: a path, a binary file object, or bytes; safetensors files need the package safetensors.
    mmap: as for `load`; tensors of mapped files are read when they are first used.
    Returns what was saved, usually a dict of name -> Tensor for a module's `load_state_dict`.
    Nothing in the file is executed. Raises ArchiveError for other files, and for pickles that
    contain more than data.
    """
    from .serialization.checkpoint import read_checkpoint

    with reading(source):
        return read_checkpoint(source, mmap)


@alone
def save(program: Any, target: Any, _extra_files: Mapping[Any, Any] | None = None) -> None:
    """Write an archive for scriptlang, `torch.jit.load` and PyTorch's lite interpreter.

    Data without a program (a state_dict: tensors, numbers and strings in dicts and lists) is
    written in the format of torch.save, for `torch.load` and `load(target, weights_only=True)`.

    target: a path (written atomically: after a crash the old file is intact) or a binary file
    object.
    _extra_files: name -> contents (str or bytes), stored next to the program.
    Raises TypeError for modules that are not compiled, and for other objects that are no data.
    """
    from .frontend.python.module_classes import is_module
    from .serialization.archive import write_archive

    if isinstance(program, ScriptFunction):
        write_archive(program._function, target, extra_files=_extra_files)
    elif isinstance(program, ScriptObjectFacade):
        write_archive(program._object_, target, extra_files=_extra_files)
    elif is_module(program) or callable(program):
        raise TypeError(
            f"save takes a ScriptModule, a ScriptFunction or data, not "
            f"{type(program).__name__}; compile it with scriptlang.script first, or "
            "save its state_dict()"
        )
    elif _extra_files is not None:
        raise TypeError("only programs have extra files beside them")
    else:
        from .serialization.checkpoint_writer import write_checkpoint

        write_checkpoint(program, target)


@overload
def script(  # type: ignore[overload-overlap]  # a class can be called, too
    obj: type[C], *, engine: str = "auto", limits: Limits | None = None
) -> type[C]: ...


@overload
def script(obj: list[Any], *, engine: str = "auto", limits: Limits | None = None) -> ScriptList: ...


@overload
def script(
    obj: dict[Any, Any], *, engine: str = "auto", limits: Limits | None = None
) -> ScriptDict: ...


@overload
def script(obj: Module, *, engine: str = "auto", limits: Limits | None = None) -> ScriptModule: ...


@overload
def script(
    obj: Callable[P, R], *, engine: str = "auto", limits: Limits | None = None
) -> ScriptFunction[P, R]: ...


@alone
def script(obj: Any, *, engine: str = "auto", limits: Limits | None = None) -> Any:
    """Compile a function written in the typed subset of Python; usable as a decorator.

    Arguments without an annotation are Tensors. Raises CompileError with the location and a remedy.
    A class is compiled, so that scripted functions can use its instances, and returned unchanged. A
    module of torch.nn or scriptlang.nn becomes a ScriptModule with the same tensors. An instance of
    any other class becomes an object that programs can share and change. A list or dict becomes a
    ScriptList or ScriptDict, which programs change in place. A program that torch.jit
    has scripted, traced, frozen or loaded is exported by PyTorch and read, with copies of its
    tensors.
    """
    from .frontend.python.module_classes import is_module, is_module_class
    from .frontend.python.script import script_class, script_function

    if isinstance(obj, (ScriptFunction, ScriptObjectFacade)):
        return obj
    if foreign.is_foreign_function(obj):
        return ScriptFunction(foreign.foreign_function(obj), engine, None, limits)
    if is_module(obj) or is_module_class(type(obj)):
        from .programs.scripting import script_module

        return script_module(obj, engine, limits)
    if isinstance(obj, type):
        script_class(obj)
        return obj
    if isinstance(obj, (list, dict)):
        return _script_container(obj)
    if not callable(obj) or not hasattr(obj, "__code__"):
        return _script_object(obj, engine, limits)
    return ScriptFunction(script_function(obj), engine, obj, limits)


def _script_container(obj: Any) -> ScriptList | ScriptDict:
    """A list or dict that programs change in place."""
    from . import types as T
    from .frontend.values.value_types import NotInferable, infer_type
    from .interpreter.arguments import Mismatch, convert
    from .interpreter.values import type_name

    def fit(value: Any, type: T.Type) -> Any:
        try:
            return convert(value, type)
        except Mismatch:
            raise TypeError(f"{type_name(value)} is no {type.annotation}") from None

    if not obj:
        if isinstance(obj, list):
            return ScriptList(obj, T.ListType(T.TENSOR), fit)
        return ScriptDict(obj, T.DictType(T.STR, T.TENSOR), fit)
    try:
        type = infer_type(obj)
    except NotInferable as why:
        raise TypeError(f"script takes lists and dicts whose type is known: {why}") from None
    if isinstance(type, T.ListType):
        return ScriptList(obj, type, fit)
    assert isinstance(type, T.DictType)
    return ScriptDict(obj, type, fit)


def _script_object(obj: Any, engine: str, limits: Limits | None) -> ScriptObjectFacade:
    """Convert an instance of a Python class to an object of its script class."""
    from .errors import NotCompilable
    from .frontend.python.script import script_class
    from .frontend.syntax.source_lines import caller
    from .interpreter.arguments import Mismatch, convert
    from .objects import ScriptObject

    cls = type(obj)
    if cls.__module__.partition(".")[0] in ("builtins", "functools", "scriptlang"):
        raise NotCompilable(
            f"script takes a function, a class, a module or an object of a class, "
            f"not {cls.__name__}",
            caller(),
            "give it one of these",
        )
    made = script_class(cls)
    try:
        value = convert(obj, made)
    except Mismatch:
        value = None
    if not isinstance(value, ScriptObject):
        raise TypeError(
            f"this {cls.__name__} has not the attributes that its class is compiled with"
        )
    return ScriptObjectFacade(value, engines.choose(engine, value), limits)


def trace(
    func: Callable[..., Any],
    example_inputs: Any = None,
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    *,
    example_kwarg_inputs: Mapping[Any, Any] | None = None,
    engine: str = "auto",
    limits: Limits | None = None,
) -> ScriptFunction[..., Any] | ScriptModule:
    """Record what `func` does with the example inputs (a Tensor, or a tuple) as a program.

    func: a function, or a module, whose `forward` is recorded. Only the operators that ran are
    recorded, no control flow; sizes stay symbolic if they come from the shape of a tensor.
    check_trace: run the recording again, also on check_inputs (a list of example inputs), and
    compare the results; differences cause a warning.
    strict: reject a dict as a result.
    """
    from .frontend.python.module_classes import is_module
    from .frontend.tracing.trace import copy_inputs, inputs_of, trace_function
    from .frontend.tracing.trace_checks import check_graphs, check_traced, is_random, with_keywords

    compiled = foreign.is_foreign_function(func) or foreign.is_foreign_module(func)
    if compiled or isinstance(func, (ScriptFunction, ScriptModule)):
        is_function = foreign.is_foreign_function(func) or isinstance(func, ScriptFunction)
        kind = "ScriptFunction" if is_function else "ScriptModule"
        warnings.warn(
            f"The input to trace is already a {kind}, tracing it is a no-op. "
            "Returning the object as is.",
            stacklevel=2,
        )
        return script(func, engine=engine, limits=limits)
    if example_kwarg_inputs is not None:
        if example_inputs is not None:
            raise TypeError("trace takes example_inputs or example_kwarg_inputs, not both")
        example_inputs = with_keywords(func, example_kwarg_inputs)
        check_inputs = check_inputs and [with_keywords(func, given) for given in check_inputs]
    owner = getattr(func, "__self__", None)
    if is_module(func) or is_module(owner) and func.__name__ == "forward":
        return trace_module(
            func if is_module(func) else owner,
            {"forward": example_inputs},
            optimize,
            check_trace,
            check_inputs and [{"forward": i} for i in check_inputs],
            check_tolerance,
            strict,
            engine=engine,
            limits=limits,
        )
    traced: ScriptFunction[..., Any] = ScriptFunction(
        trace_function(func, example_inputs, strict), engine, func, limits
    )
    if check_trace:
        examples = [inputs_of(i) for i in check_inputs or [example_inputs]]
        for example in examples if not is_random(traced._function.graph) else ():
            check_graphs(traced._function.graph, trace_function(func, example, strict).graph)
        check_traced(func, traced, examples, traced._function.graph, copy_inputs, check_tolerance)
    return traced


def trace_module(
    mod: Any,
    inputs: Mapping[str, Any],
    optimize: Any = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    example_inputs_is_kwarg: bool = False,
    *,
    engine: str = "auto",
    limits: Limits | None = None,
) -> ScriptModule:
    """Record methods of a module, each with its example inputs: `trace_module(m, {"forward": x})`.

    example_inputs_is_kwarg: inputs are dicts by the names of parameters.
    The result has the module's parameters, buffers and submodules, and shares its tensors.
    """
    from .frontend.python.module_classes import is_module
    from .frontend.tracing.trace import copy_inputs, inputs_of, trace_methods
    from .frontend.tracing.trace_checks import check_traced, with_keywords

    if not is_module(mod):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    if example_inputs_is_kwarg:
        inputs, *further = (
            {method: with_keywords(getattr(mod, method), given) for method, given in i.items()}
            for i in [inputs, *(check_inputs or ())]
        )
        check_inputs = further or None
    obj = trace_methods(mod, inputs, strict)
    chosen = engines.choose(engine, obj)
    traced = ScriptModule(chosen.adopt(obj), chosen, limits)
    for method in inputs if check_trace else ():
        examples = [inputs_of(i[method]) for i in check_inputs or [inputs]]
        func = mod if method == "forward" else getattr(mod, method)
        check_traced(
            func,
            getattr(traced, method),
            examples,
            obj.type.methods[method].graph,
            copy_inputs,
            check_tolerance,
        )
    return traced


def on_save(handler: Callable[[Any, str], None] | None) -> None:
    """Let `torch.save(value, name)` in programs call `handler(value, name)`; None forbids it again.

    Without a handler, programs cannot write files; the handler decides what to do with the name.
    Only the Python engine calls it, also with engine="auto".
    """
    from .frontend.values.python_calls import PythonCall
    from .ops.families import prim

    prim.save_handler = handler and (
        lambda value, name: handler(PythonCall.see(value, handler), name)
    )


def set_num_threads(n: int) -> None:
    """Set the number of threads of the native engine (at least 1). Raises ValueError for less."""
    if n < 1:
        raise ValueError(f"set_num_threads takes at least 1, not {n}")
    engines.set_num_threads(n)


def get_num_threads() -> int:
    """The number of threads of the native engine; 1 if it is not installed."""
    return engines.get_num_threads()


def facts_of_installation() -> dict[str, Any]:
    """The available engines, CPU features and versions."""
    import platform

    import numpy

    return {
        "scriptlang": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "engines": engines.describe(),
        "archive format": "reads TorchScript zip archives, writes bytecode version 8",
    }


def info() -> dict[str, Any]:
    """Print the available engines, CPU features and versions; returns them as a dict."""
    facts = facts_of_installation()
    for key, value in facts.items():
        if isinstance(value, dict):
            print(f"{key}:")
            for name, text in value.items():
                print(f"  {name}: {text}")
        else:
            print(f"{key}: {value}")
    return facts


@alone
def _read_foreign(source: Any) -> Any:
    """The object in an archive that PyTorch exported from one of its own compiled programs."""
    from .serialization.archive import read_archive

    archive = read_archive(source)
    if archive.pending:
        archive.restore(None)
    return archive.root


foreign.read = _read_foreign
