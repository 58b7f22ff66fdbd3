"""PyTorch's database of operators: samples of each, run on torch and on scriptlang."""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import scriptlang
from scriptlang.ops.calling import functions


def operators() -> list[Any]:
    """Every entry whose gradients PyTorch can take."""
    if "expecttest" not in sys.modules:  # what PyTorch's own tests import, and no entry needs
        module = types.ModuleType("expecttest")
        module.TestCase = object
        sys.modules["expecttest"] = module
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if op.supports_autograd]


def name_of(op: Any) -> str:
    return f"{op.name}/{op.variant_test_name}" if op.variant_test_name else op.name


def samples(op: Any, dtype: Any, number: int) -> list[Any]:
    """So many samples of an entry, of all that it has."""
    every = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=True), 200))
    return every[:: max(1, len(every) // number)][:number]


MODES = {
    None: None,
    "use_mm_for_euclid_dist_if_necessary": 0,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}

CALLED_OTHERWISE: dict[str, Callable] = {
    "where": lambda x, condition, other: functions.where(condition, x, other),
    "einsum": lambda tensors, equation: functions.einsum(equation, list(tensors)),
    "polygamma": lambda x, n: functions.polygamma(n, x),
    "special.polygamma": lambda x, n: functions.polygamma(n, x),
    "trace": functions.trace,
    "nn.functional.embedding": lambda weight, at, **given: scriptlang.nn.functional.embedding(
        at, weight, **given
    ),
    "cdist": lambda x, y, p=2.0, compute_mode=None: functions.cdist(x, y, p, MODES[compute_mode]),
    "linalg.pinv/singular": lambda a, b: scriptlang.linalg.pinv(a @ b.mT),
}
"""Entries whose functions change their arguments first."""

PROPERTIES = ("H", "T", "mH", "mT")
CONVERSIONS = ("double", "float", "cdouble", "cfloat")


def function_of(op: Any) -> Callable:
    """What an entry is called in scriptlang."""
    name = op.name
    special = CALLED_OTHERWISE.get(name_of(op)) or CALLED_OTHERWISE.get(name)
    if special is not None:
        return special
    if name in PROPERTIES:
        return lambda x: getattr(x, name)
    if name in CONVERSIONS:
        return lambda x, **given: getattr(x, name)(**given)
    found = scriptlang
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            break
    if callable(found):
        return found
    last = name.split(".")[-1]
    for spelling in (last, op.aten_name):
        try:
            return getattr(functions, spelling)
        except AttributeError:
            continue
    return lambda x, *args, **given: getattr(x, last)(*args, **given)


def flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from flat(part)
    else:
        yield value


def array(tensor: Any) -> np.ndarray:
    """A tensor of torch as an array."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    return np.array(plain.numpy(force=True))


def ours(value: Any, made: dict[int, Any]) -> Any:
    """Arguments of torch as those of scriptlang; made: tensors by identity, which stays."""
    import torch

    if isinstance(value, torch.Tensor):
        if id(value) not in made:
            made[id(value)] = scriptlang.from_numpy(array(value))
            made[id(value)].requires_grad_(value.requires_grad)
        return made[id(value)]
    if isinstance(value, torch.dtype):
        return getattr(scriptlang, str(value).removeprefix("torch."))
    if isinstance(value, torch.Size):
        return list(value)
    if isinstance(value, (list, tuple)):
        return type(value)(ours(v, made) for v in value)
    if isinstance(value, dict):
        return {k: ours(v, made) for k, v in value.items()}
    return value


def weights(size: Any, is_complex: bool) -> np.ndarray:
    """What results are multiplied with before they are added up."""
    at = np.arange(int(np.prod(size, dtype=np.int64)), dtype=np.float64)
    made = np.cos(at + 1)
    return (made + 1j * np.sin(1.7 * at + 0.3) if is_complex else made).reshape(tuple(size))


def gradients(
    library: Any, tensor: Callable, outputs: list[Any], inputs: list[Any]
) -> list[list[Any]]:
    """The first and, where there are some, second gradients of weighted results."""

    def back(results: list[Any], create_graph: bool) -> list[Any]:
        given = [tensor(weights(y.shape, y.is_complex())) for y in results]
        return list(
            library.autograd.grad(
                results, inputs, given, create_graph=create_graph, allow_unused=True
            )
        )

    first = back(outputs, True)
    rest = [g for g in first if g is not None and g.requires_grad]
    return [first, back(rest, False) if rest else []]


def forward(library: Any, tensor: Callable, function: Callable, sample: Any) -> list[Any]:
    """(result, tangent or None) for each of the floating results of a function.

    sample: (first argument, others, by name); the tensors in it that require a gradient are given
    tangents.
    """
    modes = library.autograd.forward_ad

    def dual(value: Any) -> Any:
        if isinstance(value, library.Tensor) and value.requires_grad:
            tangent = tensor(weights(value.shape, value.is_complex())).to(value.dtype)
            return modes.make_dual(value.detach(), tangent)
        if isinstance(value, (list, tuple)):
            return type(value)(map(dual, value))
        if isinstance(value, dict):
            return {k: dual(v) for k, v in value.items()}
        return value

    with modes.dual_level():
        first, args, kwargs = map(dual, sample)
        made = [
            y
            for y in flat(function(first, *args, **kwargs))
            if isinstance(y, library.Tensor) and (y.is_floating_point() or y.is_complex())
        ]
        return [tuple(modes.unpack_dual(y)) for y in made]
