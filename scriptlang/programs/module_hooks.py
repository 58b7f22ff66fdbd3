"""Python hooks around the `forward` of a ScriptModule, and registration of its members.

PyTorch rejects hooks on ScriptModules. Here they run around calls of the module from Python, like
those of nn.Module. Calls inside a program do not run them.
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
"""Methods of nn.Module that raise RuntimeError on ScriptModules, as in PyTorch."""

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
"""Attributes of PyTorch's ScriptModule that ours lacks, and why."""


class Members(MutableMapping[Any, Any]):
    """The parameters, buffers or submodules of one module, by name; an item can be set."""

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
    """Set an attribute that a compiled module has. Raises RuntimeError for other names."""
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
    """The methods of ScriptModule that register hooks and members, as in torch.nn.Module."""

    if TYPE_CHECKING:  # what Caller and ModuleState have

        def _enter_(self, program: Any, function: Any) -> None: ...

        def _own_tensors(self, kind: str) -> Iterator[tuple[str, Tensor]]: ...

        def named_children(self) -> Iterator[tuple[str, Any]]: ...

        @property
        def _object_(self) -> Any: ...

    def watch(
        self, modules: str = "*", operators: str = "*", keep: Callable[[Tensor], Any] | None = None
    ) -> Watch:
        """A context manager that records the values computed inside calls of this module.

        modules, operators: patterns of what is watched (`layer1.*`, `aten::conv*`).
        keep: takes a value and returns what to store; the default stores a copy.
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
        """Set a buffer that the module was compiled with. Raises RuntimeError for other names, and
        for persistent=False, since archives contain every buffer."""
        if not persistent:
            raise RuntimeError("archives keep every buffer; register it without persistent=False")
        set_member(self, "buffer", name, tensor)

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Set a parameter that the module was compiled with.
        Raises RuntimeError for other names."""
        set_member(self, "parameter", name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Set a submodule that the module was compiled with to a ScriptModule of the same type.

        Raises RuntimeError for other names and for modules of other types.
        """
        set_member(self, "submodule", name, module)

    register_module = add_module

    # Hooks

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before each call; with_kwargs: `hook(module, args, kwargs)`.

        If it does not return None, its result replaces the arguments. Returns a handle with
        `remove()`.
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
        """Call `hook(module, args, output)` after each call; with_kwargs adds kwargs after args.

        always_call: also if the call raised.
        If it does not return None, its result replaces the output. Returns a handle with
        `remove()`.
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
        """The dict of hooks, or flags of hooks, with that name.
        From now on calls check for hooks."""
        for record in HOOKS:
            self.__dict__.setdefault(record, OrderedDict())
        self._enter_(None, None)  # disable the fast path: every call runs `_call_`
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
