"""Whole training steps as programs: forward pass, loss, gradients and update in one method.

    step = training_step(model, nn.CrossEntropyLoss(), Adam(model.parameters()))
    loss = step.step(x, y)
    step.save("training.pt")        # training can go on in Python, C++ or PyTorch

The source of the methods is generated here; the functions that they call are in `updates`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

from ..api import script
from ..nn import Module
from ..nn.utils import clip_grad
from ..ops.calling import functions as torch
from ..programs.ahead.steps import let_steps_be_straight
from ..programs.module import ScriptFunction, ScriptModule
from ..programs.module_state import place_of
from ..programs.scripting import define_methods
from ..schema import Argument
from ..tensors import Tensor
from ..types import OptionalType
from . import algorithms, updates
from .algorithms import SGD
from .optimizer import Optimizer, Options, found
from .updates.at_once import at_once

NAMES = {
    "Tensor": Tensor,
    "List": list,
    "Dict": dict,
    "Optional": Optional,
    "Tuple": tuple,
    "present": updates.present,
    "joined": updates.joined,
    "total_norm": clip_grad.total_norm,
    "scaled_to": clip_grad.scaled_to,
    "clamped": clip_grad.clamped,
}
"""The global names that the methods use."""

STARTED = "started"
"""The buffer of an SGD group that says which momentum buffers have a value."""


OFFERED = tuple(name for name in algorithms.__all__ if name != "SparseAdam")
"""The optimizers that programs can hold."""


class Place(NamedTuple):
    """A place of a parameter in the program: its dotted name, and whether its type is Optional."""

    path: str
    is_optional: bool

    @property
    def expression(self) -> str:
        found = member(self.path)
        return f"present({found})" if self.is_optional else found


class Trained(NamedTuple):
    """A parameter that a step changes, and all its places in the program."""

    param: Tensor
    places: list[Place]


def training_step(
    module: Any,
    loss: Any,
    optimizer: Optimizer,
    *,
    max_norm: float | None = None,
    clip_value: float | None = None,
) -> ScriptModule:
    """A ScriptModule whose `step(*inputs, *targets)` trains `module` and returns the loss.

    module: a module of scriptlang.nn or a ScriptModule; its parameters are shared, not copied.
    loss: a module or function of the output and targets; None: the output is the loss.
    optimizer: an optimizer of the parameters; its current state is copied into buffers.
    max_norm, clip_value: limits of gradients, as in `nn.utils.clip_grad_norm_` and
    `clip_grad_value_`.

    `step` takes the arguments of `module.forward` without a default, and then those of the loss
    after the output. If an argument of the loss has the same name as one of `forward`, it is the
    same value. `forward` is that of the module; `get_lr()` and `set_lr([...])` access the learning
    rates of groups.

    Raises CompileError if something cannot be compiled, ValueError for parameters that the module
    does not have, and TypeError for an optimizer that a program cannot hold, such as LBFGS.
    """
    if type(optimizer).__name__ not in OFFERED:
        offered = ", ".join(OFFERED)
        raise TypeError(f"a program cannot hold {type(optimizer).__name__}; it can hold {offered}")
    whole = new_module("TrainingStep")
    whole.module = module if isinstance(module, ScriptModule) else script(module)
    function = None
    if isinstance(loss, Module):
        whole.loss = script(loss)
    elif loss is not None:
        function = loss if isinstance(loss, ScriptFunction) else script(loss)
    groups = trained_groups(whole, optimizer)
    whole.optimizer = new_module("Groups")
    whole.optimizer.kind = type(optimizer).__name__
    for i, (group, trained) in enumerate(zip(optimizer.param_groups, groups)):
        whole.optimizer.add_module(str(i), group_module(optimizer, group, trained))
    limits = {"max_norm": max_norm, "clip_value": clip_value}
    limits = {name: float(limit) for name, limit in limits.items() if limit is not None}
    for name, limit in limits.items():
        setattr(whole, name, limit)
    made = script(whole)
    names = {**NAMES, "algorithm": type(optimizer).update, "loss_function": function}
    for child, group, trained in zip(made.optimizer.children(), optimizer.param_groups, groups):
        define_methods(child, update_text(optimizer, group, len(trained)), names)
    inputs, targets = arguments_of(made.module.forward.schema.arguments[1:]), None
    if loss is not None:
        taken = function.schema.arguments if function else made.loss.forward.schema.arguments[1:]
        targets = arguments_of(taken)[1:]
    text = step_text(inputs, targets, groups, function is not None, limits)
    define_methods(made, text + rates_text(len(groups)), names)
    let_steps_be_straight(made._type.methods["step"], at_once)
    return made


def compile_steps(step: ScriptModule) -> ScriptModule:
    """Let a loaded training program make straight graphs of its steps, as `training_step` does.

    Returns the module itself. A step is then one graph of forward, backward and update, made at the
    first call with inputs of a kind. Raises ValueError for a module that `training_step` did not
    make.
    """
    check_made(step, "compile_steps")
    let_steps_be_straight(step._type.methods["step"], at_once)
    return step


def check_made(step: ScriptModule, name: str) -> None:
    """Raise ValueError for a module that `training_step` did not make, which may be a stranger's
    archive."""
    if not is_training_step(step):
        raise ValueError(f"{name} takes what training_step made, or an archive of that")


def is_training_step(module: ScriptModule) -> bool:
    """Whether `training_step` made a module, as far as its attributes tell."""
    kind = getattr(getattr(module, "optimizer", None), "kind", None)
    return isinstance(kind, str) and kind in OFFERED and "step" in module._type.methods


def new_module(name: str) -> Any:
    """A module of a new class, so that methods can be added to its program alone."""
    return type(name, (Module,), {"__annotations__": {"params": list[str]}})()


def trained_groups(whole: Any, optimizer: Optimizer) -> list[list[Trained]]:
    """The parameters of each group that require a gradient, with their places in the program."""
    places: dict[Any, list[Place]] = {}
    for name in ("module", "loss"):
        part = getattr(whole, name, None)
        if part is not None:
            for path, module in part.named_modules(prefix=name, remove_duplicate=False):
                for own, tensor in module._own_tensors("parameter"):
                    is_optional = isinstance(module._type.attribute(own).type, OptionalType)
                    found = Place(f"{path}.{own}", is_optional)
                    places.setdefault(place_of(tensor), []).append(found)
    groups = []
    for group in optimizer.param_groups:
        wanted = [p for p in group["params"] if p.requires_grad]
        lost = [tuple(p.shape) for p in wanted if place_of(p) not in places]
        if lost:
            raise ValueError(
                f"the optimizer has parameters that the module has not, of shapes {lost}: make it "
                "of module.parameters()"
            )
        groups.append([Trained(p, places[place_of(p)]) for p in wanted])
    return groups


# State


def group_module(optimizer: Optimizer, group: Options, trained: Sequence[Trained]) -> Any:
    """A module with a group's options as attributes, and the state of its parameters as buffers."""
    made = new_module(type(optimizer).__name__)
    for name, value in optimizer.arguments(group).items():
        setattr(made, name, value)
    made.params = [t.places[0].path for t in trained]
    started = []
    for i, (param, _) in enumerate(trained):
        known = optimizer.state.get(param, {})
        started.append(known.get("momentum_buffer") is not None)
        state = {**optimizer.new_state(param, group), **known}
        for name in optimizer.wanted(group):
            tensor = found(state, name)
            if tensor is None:  # SGD keeps that for parameters without a gradient
                tensor = optimizer.new_state(param, group)[name]
            made.register_buffer(f"{name}_{i}", tensor.clone())
    if isinstance(optimizer, SGD):
        made.register_buffer(STARTED, torch.tensor(started, dtype=torch.bool))
    return made


def update_text(optimizer: Optimizer, group: Options, count: int) -> str:
    """The source of `update` of a group: it calls the algorithm with its state and options."""
    wanted = optimizer.wanted(group)
    lists = [
        [f"self.{name}_{i}" for i in range(count)] if name in wanted else []
        for name in optimizer.states
    ]
    kept = [f"[{', '.join(names)}]" if names else "no_tensors" for names in lists]
    if isinstance(optimizer, SGD):
        kept.append(f"self.{STARTED}")
    options = [f"self.{name}" for name in optimizer.arguments(group)]
    return f"""
def update(self, params: List[Tensor], grads: List[Optional[Tensor]]) -> None:
    no_tensors: List[Tensor] = []
    algorithm(params, grads, {", ".join(kept + options)})
"""


def optimizer_of(step: ScriptModule) -> Optimizer:
    """The optimizer in a training step in its current state, to continue or for its state_dict.

    Its parameters are those of the step; its state is a copy. `training_step` can make a step of it
    again. Raises ValueError for a module that `training_step` did not make.
    """
    check_made(step, "optimizer_of")
    cls = getattr(algorithms, step.optimizer.kind)
    children = list(step.optimizer.children())
    made = cls([{"params": [step.get_parameter(path) for path in c.params]} for c in children])
    for child, group in zip(children, made.param_groups):
        numbers = {name: getattr(child, name) for name in made.arguments(group)}
        group.update(made.options(numbers))
        started = child.started.tolist() if cls is SGD else None
        for i, param in enumerate(group["params"]):
            if started is None or started[i]:
                names = made.names(param, group)
                made.state[param] = {n: getattr(child, f"{n}_{i}").clone() for n in names}
    return made


# Methods


def arguments_of(taken: Sequence[Argument]) -> list[Argument]:
    """The arguments without a default."""
    return [a for a in taken if not a.has_default]


def member(path: str) -> str:
    """A Python expression for a dotted name under `self`."""
    made = "self"
    for name in path.split("."):
        made = f"{made}.{name}" if name.isidentifier() else f'getattr({made}, "{name}")'
    return made


def declared(arguments: Sequence[Argument]) -> str:
    return ", ".join(["self", *(f"{a.name}: {a.type.annotation}" for a in arguments)])


def step_text(
    inputs: Sequence[Argument],
    targets: Sequence[Argument] | None,
    groups: Sequence[Sequence[Trained]],
    is_function: bool,
    limits: Iterable[str],
) -> str:
    """The source of `forward` and `step` (forward pass, loss, gradients, update).

    targets: the arguments of the loss after the output; None if there is no loss."""
    taken = [a.name for a in inputs]
    further = [a for a in targets or () if a.name not in taken]
    made = "made"
    if targets is not None:
        loss = "loss_function" if is_function else "self.loss"
        made = f"{loss}({', '.join(['made', *(a.name for a in targets)])})"
    trained = [t for group in groups for t in group]
    params = [t.places[0] for t in trained]
    ties = [(i, place) for i, t in enumerate(trained) for place in t.places[1:]]
    wanted = ",\n        ".join(p.expression for p in [*params, *(p for _, p in ties)])
    lines = [
        f"def forward({declared(inputs)}):",
        f"    return self.module({', '.join(taken)})",
        f"def step({declared([*inputs, *further])}) -> Tensor:",
        f"    made = self.module({', '.join(taken)})",
        f"    loss = {made}",
        f"    params = [{wanted}]",
        "    grads = torch.autograd.grad([loss], params, allow_unused=True)",
        "    with torch.no_grad():",
        *(
            f"        grads[{i}] = joined(params[{i}], grads[{i}], params[{k}], grads[{k}])"
            for k, (i, _) in enumerate(ties, len(params))
        ),
        *(f"        grads = {LIMITS[name]}" for name in limits),
    ]
    start = 0
    for i, group in enumerate(groups):
        part = f"{start}:{start + len(group)}"
        lines.append(f"        {member(f'optimizer.{i}')}.update(params[{part}], grads[{part}])")
        start += len(group)
    return "\n".join([*lines, "    return loss.detach()", ""])


LIMITS = {
    "max_norm": "scaled_to(grads, self.max_norm, total_norm(grads))",
    "clip_value": "clamped(grads, self.clip_value)",
}
"""The code that limits gradients, by the attribute that holds the limit."""


def rates_text(count: int) -> str:
    """The source of the methods that read and set the learning rates of all groups."""
    groups = [member(f"optimizer.{i}") for i in range(count)]
    lines = [
        "def get_lr(self) -> List[float]:",
        f"    return [{', '.join(f'{group}.lr' for group in groups)}]",
        "def set_lr(self, rates: List[float]) -> None:",
        f"    if len(rates) != {count}:",
        f'        raise ValueError("groups of parameters: {count}")',
        *(f"    {group}.lr = rates[{i}]" for i, group in enumerate(groups)),
    ]
    return "\n".join([*lines, ""])
