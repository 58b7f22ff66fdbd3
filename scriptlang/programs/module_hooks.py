"""Hooks in Python around the `forward` of a ScriptModule, and what is registered on it.

PyTorch refuses hooks on its ScriptModules; here they run around calls of the module from Python, as
those of nn.Module do.  Calls inside a program do not come by Python, and run none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..tensors import Tensor

if TYPE_CHECKING:
    from ..nn.modules.hooks import RemovableHandle
    from ..observing.watching import Watch

HOOKS = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)

UNSUPPORTED = (
    "register_backward_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_load_state_dict_post_hook",
    "register_load_state_dict_pre_hook",
    "register_state_dict_post_hook",
    "register_state_dict_pre_hook",
    "_register_load_state_dict_pre_hook",
    "_register_state_dict_hook",
    "set_submodule",
    "compile",
    "forward_magic_method",
    "_replicate_for_data_parallel",
)
"""Methods of nn.Module that ScriptModules refuse when they are called, as PyTorch's do."""

_COMPILES = "how PyTorch compiles a module; scriptlang.script makes ours"
REFUSED = {
    **dict.fromkeys(
        (
            "_c",
            "_concrete_type",
            "_construct",
            "_finalize_scriptmodule",
            "_reconstruct",
            "_methods",
            "_constants_set",
            "_initializing",
            "_disable_script_meta",
            "__jit_unused_properties__",
        ),
        _COMPILES,
    ),
    **dict.fromkeys(
        (
            "_backward_hooks",
            "_backward_pre_hooks",
            "_get_backward_hooks",
            "_get_backward_pre_hooks",
            "_maybe_warn_non_full_backward_hook",
        ),
        "hooks of gradients are set on tensors: Tensor.register_hook",
    ),
    **dict.fromkeys(
        ("_call_impl", "_compiled_call_impl", "_slow_forward", "_wrapped_call_impl"),
        "call the module",
    ),
    **dict.fromkeys(
        (
            "_load_from_state_dict",
            "_save_to_state_dict",
            "_state_dict_hooks",
            "_state_dict_pre_hooks",
            "_load_state_dict_pre_hooks",
            "_load_state_dict_post_hooks",
        ),
        "call state_dict or load_state_dict; they have no hooks here",
    ),
    **dict.fromkeys(
        ("T_destination", "__annotations__", "_named_members"), "an inner part of torch.nn"
    ),
    **dict.fromkeys(
        ("__reduce_package__", "__setstate__"), "a ScriptModule is kept by save, in an archive"
    ),
    "_non_persistent_buffers_set": "archives keep every buffer",
}
"""Names that PyTorch's ScriptModule has and ours has not -> why."""


class Members(MutableMapping[Any, Any]):
    """The parameters, buffers or submodules of one module by name; setting sets the attribute."""

    def __init__(self, module: Any, kind: str, find: Callable[[], dict[str, Any]]) -> None:
        self._module, self._kind, self._find = module, kind, find

    def __getitem__(self, name: str) -> Any:
        return self._find()[name]

    def __setitem__(self, name: str, value: Any) -> None:
        set_member(self._module, self._kind, name, value)

    def __delitem__(self, name: str) -> None:
        raise RuntimeError(f"{name!r} cannot be taken out of a compiled module")

    def __iter__(self) -> Iterator[str]:
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())

    def __repr__(self) -> str:
        return repr(self._find())


def set_member(module: Any, kind: str, name: str, value: Any) -> None:
    """Set what a compiled module has.  Raises RuntimeError for a name that it has not."""
    own = module._type
    attribute = own.attribute(name) if own.slot(name) is not None else None
    found = (
        None
        if attribute is None
        else "submodule"
        if getattr(attribute.type, "is_module", False)
        else attribute.kind
    )
    if found != kind:
        raise RuntimeError(
            f"cannot add the {kind} {name!r} to {own.short_name}: a compiled module has the "
            "attributes that it was compiled with; add it before scriptlang.script"
        )
    setattr(module, name, value)


class ModuleHooks:
    """What ScriptModule has of torch.nn.Module to register hooks and members."""

    if TYPE_CHECKING:  # what Caller and ModuleState have

        def _enter_(self, program: Any, function: Any, first: Any = None) -> None: ...

        def _own_tensors(self, kind: str) -> Iterator[tuple[str, Tensor]]: ...

        def named_children(self) -> Iterator[tuple[str, Any]]: ...

        @property
        def _object_(self) -> Any: ...

    def watch(
        self, modules: str = "*", operators: str = "*", keep: Callable[[Tensor], Any] | None = None
    ) -> Watch:
        """A context manager that sees the values inside of calls of this module.

        modules, operators: patterns (`layer1.*`, `aten::conv*`) of what is watched.
        keep: makes of a value what is kept; by default a copy.
        """
        from ..observing.watching import Watch

        return Watch(self._object_, modules, operators, keep)

    @property
    def _parameters(self) -> Members:
        return Members(self, "parameter", lambda: dict(self._own_tensors("parameter")))

    @property
    def _buffers(self) -> Members:
        return Members(self, "buffer", lambda: dict(self._own_tensors("buffer")))

    @property
    def _modules(self) -> Members:
        return Members(self, "submodule", lambda: dict(self.named_children()))

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Set a buffer that the module was compiled with.  Raises RuntimeError for a new name, and
        for one that is not to be saved: archives keep every buffer."""
        if not persistent:
            raise RuntimeError("archives keep every buffer; register it without persistent=False")
        set_member(self, "buffer", name, tensor)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Set a parameter that the module was compiled with.  Raises RuntimeError for others."""
        set_member(self, "parameter", name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Set a submodule that the module was compiled with to a ScriptModule of the same type.

        Raises RuntimeError for a new name and for modules of other types.
        """
        set_member(self, "submodule", name, module)

    register_module = add_module

    # Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """`hook(module, args)`, with_kwargs: `hook(module, args, kwargs)`, before each call.

        What it returns, if anything, are the new arguments.  Returns a handle with `remove()`.
        """
        from ..nn.modules.hooks import put

        return put(
            self._hooks("_forward_pre_hooks"),
            hook,
            (self._hooks("_forward_pre_hooks_with_kwargs"), with_kwargs),
            prepend=prepend,
        )

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """`hook(module, args, output)`, with_kwargs: `hook(module, args, kwargs, output)`, after
        each call; always_call: also where it raised.

        What it returns, if anything, is the new output.  Returns a handle with `remove()`.
        """
        from ..nn.modules.hooks import put

        return put(
            self._hooks("_forward_hooks"),
            hook,
            (self._hooks("_forward_hooks_with_kwargs"), with_kwargs),
            (self._hooks("_forward_hooks_always_called"), always_call),
            prepend=prepend,
        )

    def _hooks(self, name: str) -> OrderedDict[Any, Any]:
        """The hooks, or marks of hooks, of that name; calls go by them from now on."""
        for record in HOOKS:
            self.__dict__.setdefault(record, OrderedDict())
        self._enter_(None, None)  # every call is `_call_`
        return self.__dict__[name]

    def _is_hooked(self) -> bool:
        own = self.__dict__
        return bool(own.get("_forward_hooks") or own.get("_forward_pre_hooks"))


def _unsupported(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"{name} is not supported on ScriptModules")

    method.__name__ = name
    return method


for _name in UNSUPPORTED:
    setattr(ModuleHooks, _name, _unsupported(_name))
for _name in HOOKS:

    def _read(self: Any, _n: Any = _name) -> OrderedDict[Any, Any]:
        return self.__dict__.get(_n, OrderedDict())

    setattr(ModuleHooks, _name, property(_read))
