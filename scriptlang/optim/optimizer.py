"""Optimizer: groups of parameters with options and state, with the interface of torch.optim."""

from __future__ import annotations

import copy
import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, ClassVar, overload

from ..autograd.graph import saved_tensors_hooks
from ..dtypes import get_default_dtype
from ..grad_mode import enable_grad, set_grad_enabled
from ..nn.modules.hooks import RemovableHandle, put
from ..ops.calling import functions as torch
from ..ops.derivatives.state import count_write, is_leaf
from ..tensor_types import typename
from ..tensors import Tensor, as_tensor
from .updates.at_once import compiled_at_once

Options = dict[str, Any]
"""A group: `params`, and options by name."""

HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


FLAGS = ("nesterov", "amsgrad", "centered", "maximize", "decoupled_weight_decay")
"""Options that are true or false; the others that an update takes are numbers."""

PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}
"""Options of two numbers, and the names of the arguments of an update that take them."""


class Required:
    """The class of `required`, the default of an option that each group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()

Hook = Callable[..., Any]

_global_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
_global_post_hooks: OrderedDict[int, Hook] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before a step of any optimizer."""
    return put(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after a step of any optimizer."""
    return put(_global_post_hooks, hook)


def hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A method `step` that calls the hooks of its optimizer, and those of all.

    Classes of users get it, too; a step of a class that calls the step of its base is one step.
    """

    @functools.wraps(step)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if getattr(type(self).step, "__wrapped__", None) is not step:
            return step(*args, **kwargs)
        self._opt_called = True
        for hook in [*_global_pre_hooks.values(), *self._hooks("step_pre")]:
            changed = hook(self, args, kwargs)
            if isinstance(changed, tuple) and len(changed) == 2:
                args, kwargs = changed
            elif changed is not None:
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{changed}."
                )
        made = step(*args, **kwargs)
        for hook in [*self._hooks("step_post"), *_global_post_hooks.values()]:
            hook(self, args, kwargs)
        return made

    return wrapper


class Optimizer:
    """The base class of optimizers, which change parameters according to their gradients.

    params: parameters, (name, parameter) pairs, or dicts that are groups with their own options.
    defaults: the options of groups that do not set them. Subclasses define `update`, `states` and
    `takes`, or their own `_step`; classes of users define `step`.
    """

    update: ClassVar[Callable[..., None] | None] = None
    """The function of `updates`. It takes the parameters, the gradients, one list of tensors for
    each name in `states`, and the `arguments`."""

    states: ClassVar[tuple[str, ...]] = ()
    """The names in the state of a parameter, in the order in which `update` takes them."""

    takes: ClassVar[tuple[str, ...]] = ()
    """The options that `update` takes after the state, in its order."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = hooked(cls.step)  # type: ignore[method-assign]  # of a class of the user

    def __init__(self, params: Any, defaults: Options) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got " + typename(params)
            )
        self.defaults = defaults
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[Options] = []
        for name in HOOKS:
            setattr(self, name, OrderedDict())
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(
                f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"
            )
        return text + ")"

    # Groups

    def add_param_group(self, param_group: Options) -> None:
        """Add a group of parameters with its own options.

        Raises TypeError or ValueError if they are not leaf tensors, or belong to a group
        already.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        given = [params] if isinstance(params, Tensor) else list(params)
        names = [p[0] for p in given if isinstance(p, tuple)]
        if names:
            if len(names) != len(given):
                raise ValueError(
                    "all optimizer params should be with/without names. Some param names are "
                    "missing"
                )
            given = [p[1] for p in given]
            param_group["param_names"] = names
        param_group["params"] = given
        for p in given:
            if not isinstance(p, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {typename(p)}"
                )
            if not (is_leaf(p) or p.retains_grad or self.defaults.get("differentiable")):
                raise ValueError("can't optimize a non-leaf Tensor")
        self._complete(param_group)
        if len({id(p) for p in given}) != len(given):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        if self.param_groups and ("param_names" in self.param_groups[0]) != bool(names):
            which = "with names" if names else "without names"
            raise ValueError(
                "all optimizer param groups should be with/without names. "
                f"cannot add param group {which} to the optimizer"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint(id(p) for p in given):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _complete(self, group: Options) -> None:
        """Set the options that a group does not have. Raises ValueError if one has no default."""
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    + name
                )
            group.setdefault(name, default)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to None, or to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach().zero_()

    # A step

    _opt_called = False
    """Whether a step was made; schedulers check it."""

    @overload
    def step(self, closure: None = None) -> None: ...

    @overload
    def step(self, closure: Callable[[], Any]) -> Any: ...

    @hooked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters according to their gradients.

        closure: recomputes the gradients and returns the loss, which `step` returns.
        """
        with set_grad_enabled(self.defaults.get("differentiable", False)):
            return self._step(closure)

    def _step(self, closure: Callable[[], Any] | None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._update([p for p in group["params"] if p.grad is not None], group)
        return loss

    def _update(self, params: list[Tensor], group: Options) -> None:
        """Update parameters of a group, all of which have gradients."""
        update = type(self).update
        if update is None:
            raise NotImplementedError
        if not params:
            return
        grads = [p.grad for p in params]
        given = [params, grads, *self._kept(params, group), *self.arguments(group).values()]
        if group.get("differentiable", False):
            # copies are kept for derivatives, as the state is written again and again
            with saved_tensors_hooks(lambda x: x.clone(), lambda x: x):
                update(*given)
            return
        compiled_at_once(update)(*given)
        for p in params:
            count_write(p)

    def _kept(self, params: list[Tensor], group: Options) -> list[Any]:
        """The state of parameters as `update` takes it; missing entries are created."""
        wanted = self.wanted(group)
        if wanted:
            for p in params:
                state = self.state[p]
                if not all(name in state for name in self.names(p, group)):
                    for name, value in self.new_state(p, group).items():
                        state.setdefault(name, value)
        return [
            [found(self.state[p], n) for p in params] if n in wanted else [] for n in self.states
        ]

    # Overridden by subclasses

    def wanted(self, group: Options) -> tuple[str, ...]:
        """The names of `states` that the parameters of a group have."""
        return self.states

    def names(self, param: Tensor, group: Options) -> tuple[str, ...]:
        """The names of `states` that a parameter has, of those that its group has."""
        return self.wanted(group)

    def new_state(self, param: Tensor, group: Options) -> dict[str, Tensor]:
        """The initial state of a parameter."""
        return {}

    def arguments(self, group: Options) -> dict[str, float | bool]:
        """The arguments of `update` after the state, by name: options as plain numbers."""
        made: dict[str, float | bool] = {}
        for name in self.takes:
            value = group[name]
            if name in PAIRS:
                made.update(zip(PAIRS[name], map(float, value)))
            else:
                made[name] = bool(value) if name in FLAGS else float(value)
        return made

    def options(self, arguments: dict[str, Any]) -> Options:
        """The options that correspond to `arguments`; the inverse of that."""
        return {
            name: tuple(arguments[n] for n in PAIRS[name]) if name in PAIRS else arguments[name]
            for name in self.takes
        }

    # State

    def state_dict(self) -> dict[str, Any]:
        """The state of parameters, by index, and the groups, in the format of torch.optim."""
        for hook in self._hooks("state_dict_pre"):
            hook(self)
        numbers: dict[int, int] = {}
        groups: list[Options] = []
        for group in self.param_groups:
            start = sum(len(g["params"]) for g in groups)
            own = {id(p): i for i, p in enumerate(group["params"], start)}
            numbers = {**own, **numbers}  # a parameter may be there twice
            made = {name: value for name, value in group.items() if name != "params"}
            made["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(made)
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._hooks("state_dict_post"):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Load a state from `state_dict`, of this package or PyTorch.

        Raises ValueError if its groups do not match those of this optimizer.
        """
        state_dict = dict(state_dict)
        for hook in self._hooks("load_state_dict_pre"):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, copy.deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        numbers = chain.from_iterable(s["params"] for s in saved)
        params = dict(zip(numbers, chain.from_iterable(g["params"] for g in groups)))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, value in state_dict["state"].items():
            p = params.get(number)
            state[number if p is None else p] = value if p is None else taken(value, p)
        for group, new in zip(groups, saved):
            new["params"] = group["params"]
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._hooks("load_state_dict_post"):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("defaults", "state", "param_groups")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        for group in self.param_groups:
            self._complete(group)
            for p in group["params"]:
                known = self.state.get(p, {})
                for name in self.states:
                    if isinstance(known.get(name), (int, float)):  # from an old PyTorch
                        known[name] = scalar(known[name], group.get("fused"))

    # Hooks

    def _hooks(self, kind: str) -> list[Callable[..., Any]]:
        return list(getattr(self, f"_optimizer_{kind}_hooks").values())

    def _register(self, kind: str, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
        hooks = getattr(self, f"_optimizer_{kind}_hooks")
        handle = put(hooks, hook)
        if prepend:
            hooks.move_to_end(next(reversed(hooks)), last=False)
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before a step; it may return new (args, kwargs)."""
        return self._register("step_pre", hook, False)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return self._register("step_post", hook, False)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is collected."""
        return self._register("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after that; its result, if any, replaces the state."""
        return self._register("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state is loaded; its result, if any, is
        loaded instead."""
        return self._register("load_state_dict_pre", hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after a state was loaded."""
        return self._register("load_state_dict_post", hook, prepend)


def taken(value: Any, param: Tensor, name: str = "") -> Any:
    """A value of a loaded state with our tensors; except for "step", they get the parameter's dtype
    if that is floating-point or complex."""
    if isinstance(value, Mapping):
        return {k: taken(v, param, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(taken(v, param) for v in value)
    if not hasattr(value, "__array__"):
        return value
    tensor: Any = as_tensor(value)
    fits = name == "step" or not (param.is_floating_point() or param.is_complex())
    return tensor if fits else tensor.to(dtype=param.dtype)


def check(name: str, value: Any, is_valid: bool) -> None:
    """Raise ValueError for an invalid option."""
    if not is_valid:
        raise ValueError(f"Invalid {name}: {value}")


def scalar(value: float, is_fused: bool | None = False) -> Tensor:
    """A number of the state, such as the count of steps; it is a tensor, as in PyTorch."""
    is_wide = get_default_dtype().name == "float64" and not is_fused
    return torch.tensor(value, dtype=torch.float64 if is_wide else torch.float32)


def found(state: Mapping[str, Any], name: str) -> Any:
    """A tensor of the state of a parameter; an empty one stands for what it has not."""
    return state[name] if name in state else torch.zeros(0)


Params = Iterable[Tensor] | Iterable[Options] | Iterable[tuple[str, Tensor]]
"""The types of parameters that optimizers accept."""

ParamsT = Params
"""Its name in PyTorch."""
