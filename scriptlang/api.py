"""The verbs: load, load_state_dict, save, script, trace, compile_archive, info."""

from __future__ import annotations

import inspect
import platform
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from ._version import __version__
from .building import alone
from .frontend.python import foreign
from .interpreter import engine as engines
from .limits import Limits
from .programs.module import ScriptFunction, ScriptModule, ScriptObjectFacade

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
    """Load a TorchScript archive (`.pt`, `.jit`, `.ptl`) as a ScriptModule.  Nothing in the file is
    executed: classes with a `__setstate__` have it run at first use, within limits.

    source: a path, a binary file object, or bytes.
    map_location: the CPU, by any spelling; a dict or a function has nothing to move.
    _extra_files: a dict whose keys name extra files; their contents (bytes) are put in as values.
    engine: "python", "native", or "auto": native where it is there and has every operator.
    limits: what each call may use, and what reading and compiling the archive may (`Limits`).
    mmap: map the file instead of reading it, so that weights are read when they are first used;
    None maps files over 16 MB.  A mapped file must stay as it is while the module lives: a process
    that touches what another has cut off ends (SIGBUS).  False reads it all at once.
    weights_only: True or False for a file that holds no program, of `save` or torch.save: its
    tensors in dicts and lists (`load_state_dict`).  Either way only data is read.
    Raises ArchiveError for a file that is not an archive, or is malformed or unsafe, RuntimeError
    for a map_location that is not the CPU.
    """
    from .serialization.native_archive import read_native
    from .serialization.sources import Contents, open_source

    if map_location is not None:
        from .ops.calling.options import map_location_argument

        map_location_argument(map_location)
    if weights_only is not None:
        return load_state_dict(source, mmap=mmap)
    contents = Contents(open_source(source, mmap))
    native = read_native(contents, engine, limits)
    if native is not None:
        if _extra_files is not None:
            from .serialization.archive import Reader

            Reader(contents).extra_files(_extra_files)
        return _module(native.root, None, engine, limits)
    from .serialization.archive import read_archive

    archive = read_archive(contents, extra_files=_extra_files, limits=limits)
    return _module(archive.root, archive.restore if archive.pending else None, engine, limits)


def _module(
    root: ScriptObject, restore: Callable[..., Any] | None, engine: str, limits: Limits | None
) -> ScriptModule:
    chosen = engines.choose(engine, root)
    return ScriptModule(chosen.adopt(root), chosen, limits, restore)


def load_state_dict(source: Any, *, mmap: bool | None = None) -> Any:
    """The weights in a file that holds no program: of torch.save, or a safetensors file.

    source: a path, a binary file object, or bytes; safetensors files need the package safetensors.
    mmap: as in `load`; tensors of mapped files are read when they are first touched.
    Gives what was saved, mostly a dict of name -> Tensor, for a module's `load_state_dict`.
    Nothing in the file is executed.  Raises ArchiveError for other files, and where anything but
    data is pickled.
    """
    from .serialization.checkpoint import read_checkpoint

    return read_checkpoint(source, mmap)


@alone
def save(program: Any, target: Any, _extra_files: Mapping[Any, Any] | None = None) -> None:
    """Write an archive that scriptlang, `torch.jit.load` and PyTorch's lite interpreter load; or
    data without a program (a state_dict: tensors, numbers and strings in dicts and lists) as
    torch.save does, for `torch.load` and `load(target, weights_only=True)`.

    target: a path (written atomically: a crash leaves the old file) or a binary file object.
    _extra_files: name -> contents (str or bytes), stored beside the program.
    Raises TypeError for modules that are not compiled and other objects that are no data.
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
def script(obj: Module, *, engine: str = "auto", limits: Limits | None = None) -> ScriptModule: ...


@overload
def script(
    obj: Callable[P, R], *, engine: str = "auto", limits: Limits | None = None
) -> ScriptFunction[P, R]: ...


@alone
def script(obj: Any, *, engine: str = "auto", limits: Limits | None = None) -> Any:
    """Compile a function written in the typed subset of Python; use it as a decorator or a call.

    Parameters without an annotation are Tensors.  Raises CompileError, with the place and a remedy.
    Classes are compiled so that scripted functions can make and use their instances, and returned
    as they are.  Modules of torch.nn and scriptlang.nn become ScriptModules with the same tensors.
    An instance of a class becomes an object that programs share and change.  What torch.jit has
    scripted, traced, frozen or loaded is exported by PyTorch and read, with copies of its tensors.
    """
    from .frontend.python.module_classes import is_module
    from .frontend.python.script import script_class, script_function

    if isinstance(obj, (ScriptFunction, ScriptObjectFacade)):
        return obj
    if foreign.is_foreign_function(obj):
        return ScriptFunction(foreign.foreign_function(obj), engine, None, limits)
    if is_module(obj):
        from .programs.scripting import script_module

        return script_module(obj, engine, limits)
    if inspect.isclass(obj):
        script_class(obj)
        return obj
    if not callable(obj) or not hasattr(obj, "__code__"):
        return _script_object(obj, engine, limits)
    return ScriptFunction(script_function(obj), engine, obj, limits)


def _script_object(obj: Any, engine: str, limits: Limits | None) -> ScriptObjectFacade:
    """An instance of a Python class as an object of its script class."""
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

    func: a function, or a module, of which `forward` is recorded.  Control flow is not recorded,
    only the operators that ran; sizes stay symbolic where they come from a tensor's shape.
    check_trace: the recording is run again, on check_inputs, too (a list of example inputs), and
    its result compared; a difference warns.  strict: a dict as a result is refused.
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
    *,
    engine: str = "auto",
    limits: Limits | None = None,
) -> ScriptModule:
    """Record methods of a module, each on its example inputs: `trace_module(m, {"forward": x})`.

    The result has the module's parameters, buffers and submodules, and shares its tensors.
    """
    from .frontend.python.module_classes import is_module
    from .frontend.tracing.trace import copy_inputs, inputs_of, trace_methods
    from .frontend.tracing.trace_checks import check_traced

    if not is_module(mod):
        raise AttributeError("expected torch.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
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
    """Let `torch.save(value, name)` in programs call `handler(value, name)`; None refuses it again.

    Unless a host says so programs write no files: what the handler does with the name is its own.
    Only the Python engine calls it, also under engine="auto".
    """
    from .frontend.values.python_calls import PythonCall
    from .ops.families import prim

    prim.save_handler = handler and (
        lambda value, name: handler(PythonCall.see(value, handler), name)
    )


@alone
def compile_archive(
    source: Any, target: Any, *, optimize: bool = True, limits: Limits | None = None
) -> ScriptModule:
    """Load an archive and write it again with the bytecode that engines run: it starts at once,
    also in the C++ engine, which reads bytecode but no source. Scriptlang and PyTorch load it as
    ever.
    What it runs comes from the code in the archive, also where that was compiled before.

    optimize: make it faster, too (`scriptlang.optimize`), keeping its methods but not its
    parameters as attributes; a module in training mode stays as it is.
    limits: what reading and compiling the archive may use.
    Returns what was written.
    """
    from .programs import optimizing
    from .serialization.archive import read_archive, write_archive

    archive = read_archive(source, from_code=True, limits=limits)
    restore = archive.restore if archive.pending else None
    module = _module(archive.root, restore, "auto", limits)
    if optimize and not optimizing.is_training(module):
        module = optimizing.optimize(module, optimizing.methods_of(module))
    write_archive(module._object_, target, compiled=True)
    return module


def set_num_threads(n: int) -> None:
    """Use `n` threads in the native engine (at least 1)."""
    if n < 1:
        raise ValueError(f"set_num_threads takes at least 1, not {n}")
    engines.set_num_threads(n)


def get_num_threads() -> int:
    """How many threads the native engine uses; 1 where it is not installed."""
    return engines.get_num_threads()


def facts_of_installation() -> dict[str, Any]:
    """Which engines, CPU features and versions there are."""
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
    """Print which engines, CPU features and versions there are; returns the same as a dict."""
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
    """The object of an archive that PyTorch made of one of its own compiled programs."""
    from .serialization.archive import read_archive

    archive = read_archive(source)
    if archive.pending:
        archive.restore(None)
    return archive.root


foreign.read = _read_foreign
