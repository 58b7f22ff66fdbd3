"""Calls of modules with hooks around `forward`, and handles that remove hooks."""

from __future__ import annotations

import itertools
import warnings
import weakref
from collections import OrderedDict
from typing import Any, Callable


class RemovableHandle:
    """The handle of a registered hook: `remove()` removes the hook.
    It is also a context manager."""

    _ids = itertools.count()

    def __init__(self, hooks: OrderedDict, *marks: OrderedDict) -> None:
        """marks: further dicts with flags of the hook, by its id."""
        self.id = next(self._ids)
        self._dicts = [weakref.ref(d) for d in (hooks, *marks)]

    def remove(self) -> None:
        for ref in self._dicts:
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return self.id, [ref() for ref in self._dicts]

    def __setstate__(self, state: Any) -> None:
        self.id, dicts = state
        self._dicts = [weakref.ref(OrderedDict() if d is None else d) for d in dicts]

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def put(
    hooks: OrderedDict, hook: Callable, *marks: tuple[OrderedDict, bool], prepend: bool = False
) -> RemovableHandle:
    """Add a hook to a dict of hooks, and its id to the dicts of those flags that are set."""
    handle = RemovableHandle(hooks, *(d for d, _ in marks))
    hooks[handle.id] = hook
    for d, wanted in marks:
        if wanted:
            d[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


class HookedModule:
    """The part of Module that calls `forward` with its hooks.

    A pre-hook may return new arguments, and a hook a new result; None leaves them unchanged.
    """

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; with_kwargs: `hook(module, args, kwargs)`.

        Returns a handle with `remove()`."""
        return put(
            self._forward_pre_hooks,
            hook,
            (self._forward_pre_hooks_with_kwargs, with_kwargs),
            prepend=prepend,
        )

    def register_forward_hook(
        self,
        hook: Callable,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; with_kwargs adds kwargs after args.

        always_call: also if `forward` or another hook raised. Returns a handle with `remove()`.
        """
        return put(
            self._forward_hooks,
            hook,
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
            prepend=prepend,
        )

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` when the arguments' gradients are known.

        They are tuples with one gradient for each positional argument or result; None for values
        that are no tensors. If the hook does not return None, its result replaces grad_input."""
        return put(self._backward_hooks, hook, prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the backward pass of the module.

        If the hook does not return None, its result replaces grad_output."""
        return put(self._backward_pre_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable) -> RemovableHandle:
        raise NotImplementedError(
            "register_backward_hook is deprecated in PyTorch and not there; "
            "register_full_backward_hook is"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._backward_hooks or self._backward_pre_hooks:
            return HookedModule._call_hooked_backward(self, args, kwargs)
        if not self._forward_hooks and not self._forward_pre_hooks:
            return self.forward(*args, **kwargs)
        return HookedModule._call_hooked(self, self.forward, args, kwargs)

    def _call_hooked_backward(self, args: tuple, kwargs: dict) -> Any:
        from .backward_hooks import HookedCall

        call = HookedCall(
            self, list(self._backward_hooks.values()), list(self._backward_pre_hooks.values())
        )

        def forward(*args: Any, **kwargs: Any) -> Any:
            return self.forward(*call.arguments(args), **kwargs)

        return call.results(HookedModule._call_hooked(self, forward, args, kwargs))

    def _call_hooked(self, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """Call `forward` with the hooks of a module, which may be one of ours or a compiled one."""
        called: set[int] = set()
        try:
            args, kwargs = HookedModule._before(self, args, kwargs)
            return HookedModule._after(
                self, self._forward_hooks, called, args, kwargs, forward(*args, **kwargs)
            )
        except Exception:
            always = {
                i: h
                for i, h in self._forward_hooks.items()
                if i in self._forward_hooks_always_called and i not in called
            }
            try:
                HookedModule._after(self, always, called, args, kwargs, None)
            except Exception as e:
                warnings.warn(
                    "forward hook with ``always_call=True`` raised an exception that was "
                    f"silenced as another error was raised in forward: {e}"
                )
            raise

    def _before(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        for id, hook in list(self._forward_pre_hooks.items()):
            if id in self._forward_pre_hooks_with_kwargs:
                given = hook(self, args, kwargs)
                if given is not None:
                    if not isinstance(given, tuple) or len(given) != 2:
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of "
                            f"(new_args, new_kwargs), but got {given}."
                        )
                    args, kwargs = given
            else:
                given = hook(self, args)
                if given is not None:
                    args = given if isinstance(given, tuple) else (given,)
        return args, kwargs

    def _after(
        self, hooks: dict[int, Callable], called: set[int], args: Any, kwargs: Any, result: Any
    ) -> Any:
        for id, hook in list(hooks.items()):
            called.add(id)
            given = (
                hook(self, args, kwargs, result)
                if id in self._forward_hooks_with_kwargs
                else hook(self, args, result)
            )
            if given is not None:
                result = given
        return result
