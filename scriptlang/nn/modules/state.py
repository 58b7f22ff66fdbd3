"""Saving and loading the parameters and buffers of modules: `state_dict`, `load_state_dict`."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any, Callable, Mapping

from ...grad_mode import no_grad
from ...tensors import Tensor, as_tensor
from ..parameter import Parameter
from .hooks import RemovableHandle, put

EXTRA_STATE = "_extra_state"
"""The key for the result of `get_extra_state`."""


class IncompatibleKeys(namedtuple("IncompatibleKeys", ("missing_keys", "unexpected_keys"))):
    """The result of `load_state_dict`: (missing_keys, unexpected_keys)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<All keys matched successfully>" if not any(self) else super().__repr__()

    __str__ = __repr__


class StatefulModule:
    """The part of Module that saves and loads its state, and that of submodules under prefixes."""

    _version: int = 1
    """The version of the state's layout; it is stored, and passed to `_load_from_state_dict`."""

    def get_extra_state(self) -> Any:
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be "
            "called: override it together with set_extra_state()"
        )

    def set_extra_state(self, state: Any) -> None:
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be "
            "called: override it together with get_extra_state()"
        )

    # ---- hooks

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is collected."""
        return put(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` after that; it may edit it."""
        hook._from_public_api = True
        return put(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable) -> RemovableHandle:
        """The same, but the result of the hook, if not None, replaces the state."""
        return put(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` before a module loads its state."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Any, with_module: bool = False
    ) -> RemovableHandle:
        return put(
            self._load_state_dict_pre_hooks,
            (lambda *args: hook(self, *args)) if with_module else hook,
        )

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after that; it may change the lists of keys."""
        return put(self._load_state_dict_post_hooks, hook)

    # ---- saving

    def _kept_buffers(self) -> dict[str, Tensor | None]:
        return {n: b for n, b in self._buffers.items() if n not in self._non_persistent_buffers_set}

    def _has_extra_state(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(StatefulModule, method)

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, tensor in {**self._parameters, **self._kept_buffers()}.items():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if self._has_extra_state("get_extra_state"):
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: dict | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Parameters and persistent buffers by dotted name; they share memory with the module.

        keep_vars: return the parameters themselves instead of detached tensors.
        """
        for name, value in zip(("destination", "prefix", "keep_vars"), args):
            destination = value if name == "destination" else destination
            prefix = value if name == "prefix" else prefix
            keep_vars = value if name == "keep_vars" else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = dict(version=self._version)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars
                )
        for hook in self._state_dict_hooks.values():
            given = hook(self, destination, prefix, metadata)
            if not getattr(hook, "_from_public_api", False):
                destination = destination if given is None else given
            elif given is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return destination

    # ---- loading

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: Any,
        local_metadata: Any,
        strict: Any,
        missing_keys: Any,
        unexpected_keys: Any,
        error_msgs: Any,
    ) -> None:
        """Load this module's own values, without those of submodules, and note missing and
        unexpected keys."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict,
                prefix,
                local_metadata,
                strict,
                missing_keys,
                unexpected_keys,
                error_msgs,
            )
        own = {**self._parameters, **self._kept_buffers()}
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, mine in own.items():
            if mine is None:
                continue
            key = prefix + name
            if key in state_dict:
                problem = self._take(name, key, mine, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(
            state_dict, prefix + EXTRA_STATE, strict, missing_keys, unexpected_keys
        )
        if strict:
            known = {n for n, v in own.items() if v is not None}
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + EXTRA_STATE:
                    first, *rest = key[len(prefix) :].split(".", 1)
                    if not (first in self._modules if rest else first in known):
                        unexpected_keys.append(key)

    def _take(self, name: str, key: str, mine: Tensor, given: Any, assign: bool) -> str | None:
        """Copy a value; assign: replace ours by it instead. Returns an error message, or None."""
        value = as_tensor(given)
        if value is None:
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or '
                f"Tensor-like object from checkpoint but received {type(given)}"
            )
        if mine.dim() == 0 and value.dim() == 1 and value.numel() == 1:
            value = value[0]  # a scalar of PyTorch before 0.4
        if value.shape != mine.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from "
                f"checkpoint, the shape in current model is {mine.shape}."
            )
        if not assign:
            with no_grad():
                mine.copy_(value)
        elif isinstance(mine, Parameter):
            setattr(
                self,
                name,
                value if isinstance(value, Parameter) else Parameter(value, mine.requires_grad),
            )
        else:
            setattr(self, name, value)
        return None

    def _load_extra_state(
        self, state_dict: Any, key: Any, strict: Any, missing_keys: Any, unexpected_keys: Any
    ) -> None:
        if self._has_extra_state("set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values (our tensors or torch's, or numpy arrays) into the parameters and buffers.

        strict: missing or unexpected keys raise RuntimeError.
        assign: use the given tensors instead of copying them.
        Raises RuntimeError if shapes differ; all problems are reported at once.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        self._load(state_dict, "", metadata or {}, assign, strict, missing, unexpected, errors)
        if strict:
            for what, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    names = ", ".join(f'"{k}"' for k in keys)
                    errors.insert(0, f"{what} key(s) in state_dict: {names}. ")
        if errors:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors)
            )
        return IncompatibleKeys(missing, unexpected)

    def _load(
        self,
        state: Any,
        prefix: Any,
        metadata: Any,
        assign: Any,
        strict: Any,
        missing: Any,
        unexpected: Any,
        errors: Any,
    ) -> None:
        local = dict(metadata.get(prefix[:-1], {}))
        if assign:
            local["assign_to_params_buffers"] = True
        self._load_from_state_dict(state, prefix, local, True, missing, unexpected, errors)
        for name, module in self._modules.items():
            inside = f"{prefix}{name}."
            if module is not None and not isinstance(module, StatefulModule):  # a ScriptModule
                own = {k[len(inside) :]: v for k, v in state.items() if k.startswith(inside)}
                lacks, strange = module.load_state_dict(own, strict=False)
                missing += [inside + key for key in lacks]
                unexpected += [inside + key for key in strange]
            elif module is not None:
                module._load(
                    {k: v for k, v in state.items() if k.startswith(inside)},
                    inside,
                    metadata,
                    assign,
                    strict,
                    missing,
                    unexpected,
                    errors,
                )
        incompatible = IncompatibleKeys(missing, unexpected)
        for hook in self._load_state_dict_post_hooks.values():
            if hook(self, incompatible) is not None:
                raise AssertionError(
                    "Hooks registered with `register_load_state_dict_post_hook` "
                    "are not expected to return new values, if "
                    "incompatible_keys need to be modified, it should be done "
                    "inplace."
                )
