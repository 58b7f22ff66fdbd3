"""Modules as functions of their parameters: `functional_call`, and the state of several modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..ops.calling import functions as torch
from ..ops.derivatives.state import required
from ..tensors import Tensor
from .modules.batchnorm import _BatchNorm
from .modules.module import Module

State = dict[str, Tensor]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: State | Sequence[State],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, by their names; it keeps its own.

    What the call assigns to buffers is put into the dict in their place. tie_weights: a tensor that
    the module has under several names is replaced under all of them. strict: raise RuntimeError if
    a name is missing, or is none of the module's. Raises ValueError if a name is in two dicts.
    """
    given = one_dict(parameter_and_buffer_dicts)
    places = places_of(module)
    if strict:
        check_names(module, set(places), given)
    chosen = tied(module, given, places) if tie_weights else dict(given)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced(chosen, places, given):
        return module(*positional, **(kwargs or {}))


def one_dict(given: Any) -> State:
    """The given dict, or several in one."""
    if isinstance(given, dict):
        return given
    if not isinstance(given, Sequence):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    if not all(isinstance(d, dict) for d in given):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for d in given for name in d]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: value for d in given for name, value in d.items()}


def places_of(module: Module) -> dict[str, dict[str, Any]]:
    """The dict in which each parameter and buffer is held, by its whole name."""
    found: dict[str, dict[str, Any]] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for record in ("_parameters", "_buffers"):
            held = part.__dict__.get(record)
            if held is None:
                raise TypeError(
                    f"functional_call: {prefix or 'the module'} is compiled, so it cannot run with "
                    "other parameters: call the module that it was made of"
                )
            for name in held:
                found[f"{prefix}.{name}" if prefix else name] = held
    return found


def check_names(module: Module, known: set[str], given: State) -> None:
    """Raise RuntimeError if the names of the module and the given ones differ."""
    lines = []
    for what, names in (("Unexpected", set(given) - known), ("Missing", known - set(given))):
        if names:
            lines.append(f"\t{what} key(s): " + ", ".join(f"'{n}'" for n in sorted(names)) + ".")
    if lines:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n" + "\n".join(lines)
        )


def tied(module: Module, given: State, places: dict[str, dict[str, Any]]) -> State:
    """The given tensors, also under the other names that the module has for one of them."""
    names: dict[int, list[str]] = {}
    for name, held in places.items():
        tensor = held[name.rpartition(".")[2]]
        if tensor is not None:
            names.setdefault(id(tensor), []).append(name)
    made = dict(given)
    for same in names.values():
        values = [given[name] for name in same if name in given]
        if any(value is not values[0] for value in values[1:]):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(same)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if values:
            made.update(dict.fromkeys(same, values[0]))
    return made


@contextmanager
def replaced(chosen: State, places: dict[str, dict[str, Any]], given: State) -> Iterator[None]:
    """Put tensors into a module for a while; `given` gets what was assigned meanwhile."""
    for value in chosen.values():
        if not isinstance(value, Tensor):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    before = []
    try:
        for name, value in chosen.items():
            held, last = places.get(name), name.rpartition(".")[2]
            if held is not None:
                before.append((name, held, last, held[last]))
                held[last] = value
        yield
    finally:
        for name, held, last, old in before:
            if name in given and held[last] is not given[name]:
                given[name] = held[last]
            held[last] = old


def stack_module_state(models: Sequence[Module]) -> tuple[State, State]:
    """Return (parameters, buffers) of several modules of one class, each stacked in one tensor."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not all(m.training == models[0].training for m in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return (
        {name: stacked([p[name] for p in parameters]) for name in parameters[0]},
        {name: stacked([b[name] for b in buffers]) for name in buffers[0]},
    )


def stacked(tensors: list[Tensor]) -> Tensor:
    """Tensors of one kind in one; a leaf that requires a gradient, if all of them are such."""
    wants = [t.requires_grad for t in tensors]
    if not (all(wants) or not any(wants)):
        raise RuntimeError("Expected parameters from each model to have the same .requires_grad")
    if all(wants) and all(t.is_leaf for t in tensors):
        return required(torch.stack([t.detach() for t in tensors]))
    return torch.stack(tensors)


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let all batch normalisations inside a module forget their running statistics; return it.

    They write them in place, which a function that is mapped or differentiated must not do; they
    use those of the batch from then on.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
