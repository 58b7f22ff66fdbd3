"""Module: the base class of all layers and models, compatible with PyTorch.

Parameters, Buffers and other Modules register themselves when they are assigned; a call runs
`forward`. `scriptlang.script` compiles instances from the dicts that this class keeps:
`_parameters`, `_buffers`, `_modules`, `_non_persistent_buffers_set` and `training`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar

from ... import dtypes
from ...interpreter.gradients import give
from ...ops.calling.options import ONLY_CPU, To, check_module_to, device_argument
from ...ops.calling.tensor_methods import type_argument
from ...ops.derivatives.members import clear_grad
from ...tensor_types import typename
from ...tensors import Tensor
from ..parameter import Buffer, Parameter
from .hooks import HookedModule
from .state import StatefulModule

M = TypeVar("M", bound="Module")

RECORDS: dict[str, type] = {
    "_parameters": dict,
    "_buffers": dict,
    "_non_persistent_buffers_set": set,
    "_modules": dict,
    "_backward_pre_hooks": OrderedDict,
    "_backward_hooks": OrderedDict,
    "_forward_hooks": OrderedDict,
    "_forward_hooks_with_kwargs": OrderedDict,
    "_forward_hooks_always_called": OrderedDict,
    "_forward_pre_hooks": OrderedDict,
    "_forward_pre_hooks_with_kwargs": OrderedDict,
    "_state_dict_hooks": OrderedDict,
    "_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_pre_hooks": OrderedDict,
    "_load_state_dict_post_hooks": OrderedDict,
}
"""The initial attributes of every module."""


class ModuleClass(type):
    """The class of module classes: a compiled module counts as a Module, as in PyTorch."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or (cls is Module and is_compiled(instance))


class Module(HookedModule, StatefulModule, metaclass=ModuleClass):
    """Base class of modules; a subclass calls `super().__init__()` and defines `forward`."""

    training: bool
    dump_patches: bool = False
    call_super_init: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = type(self).__name__
        if not self.call_super_init and kwargs:
            raise TypeError(
                f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
            )
        if not self.call_super_init and args:
            raise TypeError(
                f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        self.__dict__["training"] = True
        for record, make in RECORDS.items():
            self.__dict__[record] = make()
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    if TYPE_CHECKING:  # subclasses choose the signature

        def forward(self, *args: Any, **kwargs: Any) -> Any: ...

    else:

        def forward(self, *input: Any) -> None:
            raise NotImplementedError(
                f'Module [{type(self).__name__}] is missing the required "forward" function'
            )

    # ---- registration

    def _check_name(self, kind: str, name: Any, known: dict) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if hasattr(self, name) and name not in known:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is state but no parameter; persistent: it is in `state_dict`.

        Raises AttributeError before `Module.__init__`, KeyError for invalid names, TypeError for
        values that are no tensors."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if not isinstance(tensor, (Tensor, type(None))):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        (
            self._non_persistent_buffers_set.discard
            if persistent
            else self._non_persistent_buffers_set.add
        )(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if not isinstance(param, (Parameter, type(None))):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def add_module(self, name: str, module: Module | None) -> None:
        if module is not None and not is_submodule(module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = module

    register_module = add_module

    def __getattr__(self, name: str) -> Any:
        for record in ("_parameters", "_buffers", "_modules"):
            held = self.__dict__.get(record)
            if held is not None and name in held:
                return held[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        kind = next((k for k in KINDS if isinstance(value, k)), None)
        if kind is None and is_submodule(value):
            kind = Module
        if kind is not None:
            record, what = KINDS[kind]
            if record not in self.__dict__:
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            self._forget(name, self.__dict__, record)
            if kind is Buffer:
                self.register_buffer(name, value, value.persistent)
            elif kind is Parameter:
                self.register_parameter(name, value)
            else:
                self._modules[name] = value
            return
        for record, (accepted, what, named) in HOLDERS.items():
            held = self.__dict__.get(record)
            if held is not None and name in held:
                if value is not None and not isinstance(value, accepted):
                    raise TypeError(
                        f"cannot assign '{typename(value)}' as {what} '{name}' "
                        f"({named} or None expected)"
                    )
                held[name] = value
                return
        super().__setattr__(name, value)

    def _forget(self, name: str, attributes: dict, but: str = "") -> None:
        """Remove a name from all dicts except `but`."""
        attributes.pop(name, None)
        for record in HOLDERS:
            if record != but:
                attributes.get(record, {}).pop(name, None)
        if but != "_buffers":
            attributes.get("_non_persistent_buffers_set", set()).discard(name)

    def __delattr__(self, name: str) -> None:
        if any(name in self.__dict__.get(record, ()) for record in HOLDERS):
            for record in HOLDERS:
                self.__dict__[record].pop(name, None)
            self._non_persistent_buffers_set.discard(name)
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [
            *dir(type(self)),
            *self.__dict__,
            *self._parameters,
            *self._modules,
            *self._buffers,
        ]
        return sorted(n for n in names if not n[0].isdigit())

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        for record, make in RECORDS.items():
            self.__dict__.setdefault(record, make())

    # ---- lookup

    def get_submodule(self, target: str) -> Module:
        """The submodule with a dotted name; "" is this module. Raises AttributeError."""
        module = self
        for part in target.split(".") if target else ():
            if not hasattr(module, part):
                raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
            module = getattr(module, part)
            if not is_submodule(module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Replace the submodule with a dotted name; strict: it has to exist.
        Raises ValueError, AttributeError."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not is_submodule(module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        return self._get_tensor(target, Parameter, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        path, _, name = target.rpartition(".")
        found = self._get_tensor(target, object, "a buffer")
        if name not in self.get_submodule(path)._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def _get_tensor(self, target: str, kind: type, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        found = getattr(module, name)
        if not isinstance(found, kind):
            raise AttributeError(f"`{name}` is not {what}")
        return found

    # ---- iteration

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The names and direct submodules, each module once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        return (m for _, m in self.named_children())

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all inside it, depth first, with dotted names; by default each once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                inside = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, inside, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        return (m for _, m in self.named_modules(remove_duplicate=remove_duplicate))

    def _named_members(
        self,
        members: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator:
        seen = set()
        owners = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in owners:
            for name, value in members(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield f"{path}.{name}" if path else name, value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        return self._named_members(
            lambda m: m._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        return (give(p) for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (b for _, b in self.named_buffers(recurse=recurse))

    # ---- changes

    def apply(self: M, fn: Callable[[Module], None]) -> M:
        """Call fn on every submodule, and then on this module; returns the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Replace every parameter and buffer by fn of it; the Parameter objects stay the same."""
        for module in self.children() if recurse else ():
            module._apply(fn)
        for param in self._parameters.values():
            if param is not None:
                param.data = fn(param.data)
                if param.grad is not None:
                    param.grad = fn(param.grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _cast(self: M, dtype: dtypes.DType) -> M:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self: M) -> M:
        return self._cast(dtypes.float32)

    def double(self: M) -> M:
        return self._cast(dtypes.float64)

    def half(self: M) -> M:
        return self._cast(dtypes.float16)

    def bfloat16(self: M) -> M:
        return self._cast(dtypes.bfloat16)

    def type(self: M, dst_type: Any) -> M:
        """Convert all tensors to a dtype or named tensor type.
        Raises ValueError for an unknown name."""
        dtype = type_argument(dst_type)
        return self._apply(lambda t: t.to(dtype))

    def cpu(self: M) -> M:
        return self

    def cuda(self: M, device: Any = None) -> M:
        raise RuntimeError(f"cuda: {ONLY_CPU}")

    ipu = xpu = mtia = cuda

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """Replace all tensors by uninitialised ones of the same size.
        Raises RuntimeError for other devices."""
        if device is not None:
            device_argument(device)
        return self._apply(lambda t: t.new_empty(t.shape), recurse)

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Convert all tensors: `to(dtype)`, `to(device)`, `to(device, dtype)` or `to(tensor)`.

        A dtype only changes floating-point and complex tensors, a memory_format those with 4 or 5
        dimensions.
        Raises TypeError for an invalid dtype, and RuntimeError for devices other than the CPU."""
        wanted = To(args, kwargs)
        check_module_to(wanted)
        return self._apply(wanted.convert)

    def train(self: M, mode: bool = True) -> M:
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: M) -> M:
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in self.parameters():
            clear_grad(p, set_to_none)

    def share_memory(self: M) -> M:
        """Move all tensors to shared memory, in which forked processes see each other's writes."""
        return self._apply(lambda t: t.share_memory_())

    # ---- printing

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """The text in the parentheses of `repr`, besides submodules; subclasses override it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): " + indented(repr(module)) for name, module in self._modules.items()
        ]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        inside = "".join(f"\n  {line}" for line in lines + children)
        return f"{self._get_name()}({inside}\n)" if inside else f"{self._get_name()}()"


def is_submodule(value: Any) -> bool:
    """Whether a value may be a submodule: a Module or a ScriptModule."""
    return isinstance(value, Module)


def is_compiled(value: Any) -> bool:
    """Whether a value is a ScriptModule."""
    cls = type(value)
    return hasattr(cls, "_object_") and hasattr(cls, "named_modules")


KINDS: dict[type, tuple[str, str]] = {
    Parameter: ("_parameters", "parameters"),
    Module: ("_modules", "module"),
    Buffer: ("_buffers", "buffer"),
}
"""Classes that register themselves when assigned: the dict they go into, their name in errors."""

HOLDERS: dict[str, tuple[type, str, str]] = {
    "_parameters": (Parameter, "parameter", "torch.nn.Parameter"),
    "_modules": (Module, "child module", "torch.nn.Module"),
    "_buffers": (Tensor, "buffer", "torch.nn.Buffer, torch.Tensor"),
}
"""For each dict: the class of values that it may hold, and the names of these in errors."""


def indented(text: str) -> str:
    """The text with all lines but the first indented by two columns."""
    return text.replace("\n", "\n  ")
