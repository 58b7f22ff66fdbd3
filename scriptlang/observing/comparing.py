"""compare: finds the first value at which two runs of programs differ.

    print(scriptlang.compare("model.pt", "torch", (x,)))      # the same program in PyTorch
    scriptlang.compare(model, "python", (x,)).equal           # on the other engine
    scriptlang.compare("old.pt", "new.pt", (x,)).first        # two versions

Both programs are rewritten so that they also return the results of all their operators, then saved
and loaded again, so that the comparison does not change their state. The values of two different
programs are matched by submodule and operator, as far as these are equal.
"""

from __future__ import annotations

import contextlib
import difflib
import enum
import importlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import types as T
from ..errors import ScriptError
from ..ir import Function, Graph, Value
from ..objects import EnumValue
from ..ops import table
from ..passes.pipeline import optimize
from ..records import replace
from ..schema import Argument
from ..tensors import Tensor
from .observer import is_observed
from .paths import module_path

OBSERVED = "scriptlang_observed"
"""The name of the method that is added to a rewritten program."""

RUNNERS = ("native", "python", "torch", "auto")


@dataclass(frozen=True)
class Step:
    """Where a value of a program is computed."""

    module: str
    operator: str
    line: str

    def __str__(self) -> str:
        return f"{self.operator} in {self.module or 'the module itself'} ({self.line})"


@dataclass(frozen=True)
class Difference:
    """Two values that differ: where and how, and both as arrays."""

    step: Step
    number: int
    why: str
    a: Any
    b: Any

    def __str__(self) -> str:
        return f"value {self.number}: {self.step}\n  {self.why}"


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    first: the first difference inside the programs, or None. result: how the final results differ;
    "" if they do not. compared: the number of compared values. errors: the errors that runs raised,
    by the name of the program."""

    a: str
    b: str
    first: Difference | None
    result: str
    compared: int
    errors: Mapping[str, str]

    @property
    def equal(self) -> bool:
        return self.first is None and not self.result and not self.errors

    def __str__(self) -> str:
        lines = [f"{self.a} and {self.b}: {self.compared} values compared"]
        lines += [f"{name} raised {text}" for name, text in self.errors.items()]
        if self.first is not None:
            lines.append(f"the first that differ are {self.first}")
        lines.append(f"results: {self.result}" if self.result else "")
        if self.equal:
            lines = [lines[0] + "; all agree"]
        return "\n".join(filter(None, lines))


def compare(
    a: Any,
    b: Any,
    inputs: Sequence[Any] = (),
    *,
    method: str = "forward",
    rtol: float = 1e-4,
    atol: float = 1e-5,
    names: tuple[str, str] | None = None,
) -> Comparison:
    """Run two programs on the same inputs and find the first value at which they differ.

    a, b: a module or the path of an archive. b may also be "native", "python" or "torch": the same
    program there.
    rtol, atol: floats may differ by atol plus rtol times the largest element. The tolerance is not
    relative to each element, since elements near 0 have the rounding errors of larger ones.
    names: the names of both in the report.
    """
    runner = b if isinstance(b, str) and b in RUNNERS else ""
    first = instrumented(a, method)
    names = names or (label(a, "a"), runner or label(b, "b"))
    if names[0] == names[1]:
        names = names[0], f"{names[1]} again"
    second = first if runner else instrumented(b, method)
    errors: dict[str, str] = {}
    runs: list[Run] = []
    engine = "auto" if runner != "native" else "python"
    for name, made, where in ((names[0], first, engine), (names[1], second, runner or "auto")):
        try:
            runs.append(run(made, where, inputs))
        except Exception as e:
            errors[name] = f"{type(e).__name__}: {first_line(str(e))}"
    if errors:
        return Comparison(*names, None, "", 0, errors)
    found, count = None, 0
    for number, (i, j) in enumerate(pairs(runs[0].steps, runs[1].steps)):
        x, y = runs[0].values[i], runs[1].values[j]
        why = difference(x, y, rtol, atol)
        count += 1
        if why and found is None:
            found = Difference(runs[0].steps[i], number, why, x, y)
    result = difference_in(runs[0].result, runs[1].result, rtol, atol)
    return Comparison(*names, found, result, count, errors)


def first_line(text: str) -> str:
    """The line that says what is wrong; in longer messages, as of PyTorch, it is the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("RuntimeError:", "error:"))]
    return (told or lines or [""])[-1 if told else 0]


def label(program: Any, otherwise: str) -> str:
    return os.fspath(program) if isinstance(program, (str, os.PathLike)) else otherwise


@dataclass
class Run:
    """The values of one run, with where they come from, and its result."""

    steps: list[Step]
    values: list[Any]
    result: Any


@dataclass
class Instrumented:
    """An archive whose added method returns (result, values, indices into `places`)."""

    contents: bytes
    places: list[Step]


def instrumented(program: Any, method: str) -> Instrumented:
    from ..api import load
    from ..programs.module import ScriptModule

    if isinstance(program, (str, os.PathLike)):
        module = load(program, engine="python")
    elif isinstance(program, ScriptModule):
        module = load(io.BytesIO(program.save_to_buffer()), engine="python")
    else:
        raise TypeError(f"compare takes modules and paths, not a {type(program).__name__}")
    methods = module._object_.type.methods
    if method not in methods:
        raise ScriptError(f"there is no method {method!r}; there are {', '.join(methods)}")
    function = methods[method]
    graph = function.graph.copy()
    optimize(graph)
    places = give_values(graph, function)
    returned = Argument("", graph.outputs[0].type)
    owner = function.name.rpartition(".")[0]
    schema = replace(function.schema, name=OBSERVED, returns=(returned,))
    methods[OBSERVED] = Function(f"{owner}.{OBSERVED}", schema, graph)
    return Instrumented(module.save_to_buffer(), places)


def give_values(graph: Graph, function: Function) -> list[Step]:
    """Let a graph return (result, values, indices of places); returns the places."""
    nodes = [n for n in graph.walk() if is_observed(n) and tensors_of(n.outputs)]
    first = next(iter(graph.nodes), graph.block.end)
    with graph.at(first):
        values = graph.insert("prim::ListConstruct", (), [T.ListType(T.TENSOR)]).output
        numbers = graph.insert("prim::ListConstruct", (), [T.ListType(T.INT)]).output
    steps: list[Step] = []
    for node in nodes:
        with graph.at(node.next):
            for v in tensors_of(node.outputs):
                number = graph.constant(len(steps), T.INT, like=node)
                none = graph.constant(None, T.NONE, like=node)
                copy = insert(graph, "aten::clone", "", [v, none], [T.TENSOR], node)
                insert(graph, "aten::append", "t", [values, copy], [values.type], node)
                insert(graph, "aten::append", "t", [numbers, number], [numbers.type], node)
                line = node.span.place.rpartition(":")[0] if node.span else "unknown"
                path = module_path(function, node.callers)
                steps.append(Step(path, node.qualified_name, line))
    end = graph.block.end
    result = [*graph.outputs, values, numbers]
    end.remove_inputs()
    with graph.at(end):
        made = graph.insert(
            "prim::TupleConstruct", result, [T.TupleType(tuple(v.type for v in result))]
        ).output
    end.add_input(made)
    return steps


def insert(
    graph: Graph, kind: str, overload: str, inputs: list[Value], types: list[T.Type], like: Any
) -> Value:
    operator = table.find(kind, overload)
    assert operator is not None, kind
    return graph.insert(kind, inputs, types, schema=operator.schema, like=like).output


def tensors_of(values: Sequence[Value]) -> list[Value]:
    return [v for v in values if v.type == T.TENSOR]


def run(made: Instrumented, engine: str, inputs: Sequence[Any]) -> Run:
    if engine == "torch":
        result, values, numbers = run_in_torch(made.contents, inputs)
    else:
        from ..api import load
        from ..ops.calling.eager import manual_seed

        module = load(io.BytesIO(made.contents), engine=engine)
        manual_seed(0)
        result, values, numbers = getattr(module, OBSERVED)(*map(copy_of, inputs))
    arrays = [array_of(v) for v in values]
    return Run([made.places[n] for n in numbers], arrays, result)


def run_in_torch(contents: bytes, inputs: Sequence[Any]) -> Any:
    import torch

    with contextlib.suppress(ImportError):
        importlib.import_module("torchvision")  # it registers operators
    module = torch.jit.load(io.BytesIO(contents), map_location="cpu")
    torch.manual_seed(0)
    given = [as_torch(v) for v in inputs]
    with torch.no_grad():
        return getattr(module, OBSERVED)(*given)


def as_torch(value: Any) -> Any:
    import torch

    if isinstance(value, Tensor):
        return torch.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, (list, tuple)):
        return type(value)(as_torch(v) for v in value)
    if isinstance(value, dict):
        return {k: as_torch(v) for k, v in value.items()}
    return value


def copy_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copy_of(v) for v in value)
    if isinstance(value, dict):
        return {k: copy_of(v) for k, v in value.items()}
    return value


def array_of(value: Any) -> Any:
    """A tensor of either library as an array; float32 for dtypes that numpy does not have."""
    value = value.detach()
    if hasattr(value, "is_quantized") and value.is_quantized:
        value = value.dequantize()
    try:
        return value.numpy()
    except TypeError:  # bfloat16 in PyTorch
        return value.float().numpy()


def pairs(a: list[Step], b: list[Step]) -> Iterator[tuple[int, int]]:
    """The index pairs of matching values: all, if both runs had the same operators."""
    if [s.operator for s in a] == [s.operator for s in b]:
        yield from zip(range(len(a)), range(len(b)))
        return
    has_paths = any(s.module for s in a) and any(s.module for s in b)
    keys = [[(s.module * has_paths, base_of(s.operator)) for s in steps] for steps in (a, b)]
    alike = difflib.SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    for block in alike.get_matching_blocks():
        for k in range(block.size):
            yield block.a + k, block.b + k


def base_of(operator: str) -> str:
    return operator.partition("::")[2].partition(".")[0].rstrip("_")


def difference(x: Any, y: Any, rtol: float, atol: float) -> str:
    """How two arrays differ; "" if they do not."""
    if x.shape != y.shape:
        return f"shapes {list(x.shape)} and {list(y.shape)}"
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype and "bfloat16" not in (x.dtype.name, y.dtype.name):
        return f"types {x.dtype} and {y.dtype}"
    if x.dtype.kind not in "fciub":
        x, y = x.astype(np.float32), y.astype(np.float32)
    if x.dtype.kind in "iub":
        wrong = x != y
    else:
        wide = np.complex128 if "c" in (x.dtype.kind, y.dtype.kind) else np.float64
        x, y = x.astype(wide), y.astype(wide)
        finite = np.abs(y[np.isfinite(y)])
        allowed = atol + rtol * float(finite.max(initial=0.0))
        wrong = ~np.isclose(x, y, rtol=0.0, atol=allowed, equal_nan=True)
    if not wrong.any():
        return ""
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    count = int(wrong.sum())
    return (
        f"{count} of {wrong.size} elements differ; the first is {list(where)}: "
        f"{x[where]!s} and {y[where]!s}"
    )


def difference_in(
    x: Any,
    y: Any,
    rtol: float,
    atol: float,
    place: str = "result",
    seen: frozenset[int] = frozenset(),
) -> str:
    """How two results differ, which may be containers, or objects of either library; "" if equal.

    seen: the ids of the objects around this one, since objects may contain themselves.
    """
    if id(x) in seen:
        return ""
    if hasattr(x, "detach") and hasattr(y, "detach"):
        why = difference(array_of(x), array_of(y), rtol, atol)
        return f"{place}: {why}" if why else ""
    if isinstance(x, dict) and isinstance(y, dict):
        if list(x) != list(y):
            return f"{place}: keys {list(x)} and {list(y)}"
        parts = [(f"{place}[{k!r}]", x[k], y[k]) for k in x]
    elif isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        if len(x) != len(y):
            return f"{place}: {len(x)} and {len(y)} values"
        parts = [(f"{place}[{i}]", *both) for i, both in enumerate(zip(x, y))]
    elif attributes_of(x) and all(hasattr(y, a) for a in attributes_of(x)):
        parts = [(f"{place}.{a}", getattr(x, a), getattr(y, a)) for a in attributes_of(x)]
    else:
        return "" if same_value(x, y, rtol, atol) else f"{place}: {x!r} and {y!r}"
    inside = seen | {id(x)}
    return next((w for p, u, v in parts if (w := difference_in(u, v, rtol, atol, p, inside))), "")


def attributes_of(value: Any) -> list[str]:
    """The names of the attributes of an instance of a script class; [] for other values."""
    from ..programs.module import ScriptObjectFacade

    known = isinstance(value, ScriptObjectFacade)
    return [a.name for a in value._type.attributes] if known else []


def same_value(x: Any, y: Any, rtol: float, atol: float) -> bool:
    """Whether two values that are neither tensors nor containers are equal.

    Values of PyTorch have their own classes: enum members are compared by name, devices by text.
    """
    plain = (bool, int, float, complex, str, type(None))
    if isinstance(x, plain) or isinstance(y, plain):
        if type(x) is not type(y):
            return False
        if isinstance(x, (float, complex)):
            return bool(np.isclose(x, y, rtol, atol, equal_nan=True))
        return bool(x == y)
    if isinstance(x, (EnumValue, enum.Enum)) and isinstance(y, (EnumValue, enum.Enum)):
        return x.name == y.name
    return str(x) == str(y)
