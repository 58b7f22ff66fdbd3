"""What optimize does to frozen modules: which nodes come out, and the same values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scriptlang.interpreter.engine import available, engine

import scriptlang
from scriptlang.dtypes import float32
from scriptlang.ir import Function, Graph, schema_of_graph
from scriptlang.irverify import verify
from scriptlang.passes import (
    batch_linears,
    fold_batch_norm,
    fuse,
    layouts,
    numeric_padding,
    optimize,
)
from scriptlang.passes.shape_facts import tensor_facts
from scriptlang.passes.shapes import propagate
from tests.golden import parse

DATA = Path(__file__).resolve().parent.parent / "data"
ENGINES = available()
RANDOM = np.random.default_rng(3)


def tensor(*shape: int, low: float = -1.0):
    return scriptlang.from_numpy(RANDOM.uniform(low, 1, shape).astype(np.float32))


def graph_of(text: str, **constants) -> Graph:
    """A graph whose inputs of those names are constants."""
    graph = parse(text)
    for value in list(graph.inputs):
        if value.name in constants:
            with graph.at(next(graph.nodes)):
                known = graph.constant(constants[value.name], value.type)
            value.replace_all_uses_with(known)
    kept = [i for i, v in enumerate(graph.inputs) if v.name not in constants]
    for i in reversed(range(len(graph.inputs))):
        if i not in kept:
            graph.block.start.remove_output(i)
    return graph


def kinds(graph: Graph) -> list[str]:
    return [n.kind.partition("::")[2] for n in graph.nodes if n.kind != "prim::Constant"]


def value(graph: Graph, which: str, *args) -> np.ndarray:
    function = Function("f", schema_of_graph("f", graph), graph.copy())
    return engine(which).run(function, args).numpy()


def check(graph: Graph, run, *args) -> Graph:
    """A copy after `run`, which gives what the graph gave, on every engine."""
    expected = value(graph, "python", *args)
    changed = graph.copy()
    run(changed)
    verify(changed)
    for which in ENGINES:
        np.testing.assert_allclose(value(changed, which, *args), expected, 1e-5, 2e-5)
    return changed


CONV = """
  %three : int[] = prim::Constant[value=[1, 1]]()
  %n : int = prim::Constant[value=1]()
  %no : NoneType = prim::Constant()
"""
NORM = """
  %f : bool = prim::Constant[value=0]()
  %mo : float = prim::Constant[value=0.1]()
  %eps : float = prim::Constant[value=1e-05]()
"""


def statistics(n: int) -> dict:
    return {"g": tensor(n), "be": tensor(n), "me": tensor(n), "va": tensor(n, low=0.1)}


def test_a_batch_norm_becomes_part_of_its_convolution():
    text = (
        "graph(%x : Tensor, %w : Tensor, %g : Tensor, %be : Tensor, %me : Tensor, "
        "%va : Tensor):"
        + CONV
        + NORM
        + """
  %a : Tensor = aten::conv2d(%x, %w, %no, %three, %three, %three, %n)
  %b : Tensor = aten::batch_norm(%a, %g, %be, %me, %va, %f, %mo, %eps, %f)
  return (%b)"""
    )
    constants = {"w": tensor(5, 3, 3, 3), **statistics(5)}
    changed = check(graph_of(text, **constants), fold_batch_norm.run, tensor(2, 3, 6, 7))
    assert kinds(changed) == ["conv2d"]
    again = graph_of(
        text.replace("return (%b)", "%c : Tensor = aten::add(%a, %b, %n)\n  return (%c)"),
        **constants,
    )
    assert kinds(check(again, fold_batch_norm.run, tensor(2, 3, 6, 7))) == [
        "conv2d",
        "batch_norm",
        "add",
    ]


@pytest.mark.parametrize("dimensions", [1, 3])
def test_a_batch_norm_becomes_part_of_a_convolution_of_signals_and_volumes(dimensions):
    text = (
        "graph(%x : Tensor, %w : Tensor, %bias : Tensor, %g : Tensor, %be : Tensor, "
        "%me : Tensor, %va : Tensor):"
        + NORM
        + f"""
  %ones : int[] = prim::Constant[value={[1] * dimensions}]()
  %n : int = prim::Constant[value=1]()
  %a : Tensor = aten::conv{dimensions}d(%x, %w, %bias, %ones, %ones, %ones, %n)
  %b : Tensor = aten::batch_norm(%a, %g, %be, %me, %va, %f, %mo, %eps, %f)
  return (%b)"""
    )
    constants = {"w": tensor(5, 3, *[3] * dimensions), "bias": tensor(5), **statistics(5)}
    changed = check(
        graph_of(text, **constants), fold_batch_norm.run, tensor(2, 3, *[6, 7, 5][:dimensions])
    )
    assert kinds(changed) == [f"conv{dimensions}d"]


def test_a_batch_norm_of_a_matrix_becomes_part_of_its_linear_layer():
    text = (
        "graph(%x : Tensor, %w : Tensor, %g : Tensor, %be : Tensor, %me : Tensor, "
        "%va : Tensor):"
        + CONV
        + NORM
        + """
  %m : int = prim::Constant[value=-1]()
  %q : Tensor = aten::flatten(%x, %n, %m)
  %a : Tensor = aten::linear(%q, %w, %no)
  %b : Tensor = aten::batch_norm(%a, %g, %be, %me, %va, %f, %mo, %eps, %f)
  return (%b)"""
    )
    constants = {"w": tensor(5, 12), **statistics(5)}
    changed = check(graph_of(text, **constants), fold_batch_norm.run, tensor(4, 3, 4))
    assert kinds(changed) == ["flatten", "linear"]
    # A three-dimensional input would be normalised along its second dimension.
    unknown = graph_of(text.replace("aten::linear(%q", "aten::linear(%x"), **constants)
    assert kinds(check(unknown, fold_batch_norm.run, tensor(4, 5, 12))) == [
        "flatten",
        "linear",
        "batch_norm",
    ]


@pytest.mark.parametrize(
    "name, padding, weight, stride, dilation, numbers",
    [
        ("_convolution_mode", "same", (4, 3, 3, 5), 1, [2, 1], [2, 2]),
        ("_convolution_mode", "valid", (4, 3, 3), 2, [1], [0]),
        ("conv2d", "same", (4, 3, 1, 7), 1, [1, 1], [0, 3]),
        ("conv2d", "valid", (4, 3, 2, 2), 3, [1, 1], [0, 0]),
        ("conv3d", "same", (4, 3, 1, 3, 1), 1, [1, 1, 1], [0, 1, 0]),
        ("conv1d", "same", (4, 3, 3), 1, [3], [3]),
        ("_convolution_mode", "same", (4, 3, 2, 3), 1, [1, 1], None),  # one side has more
        ("conv1d", "same", (4, 3, 4), 1, [1], None),
    ],
)
def test_padding_by_name_becomes_numbers(name, padding, weight, stride, dilation, numbers):
    n = len(weight) - 2
    graph = graph_of(
        f"""graph(%x : Tensor, %w : Tensor):
  %no : NoneType = prim::Constant()
  %s : int[] = prim::Constant[value={[stride] * n}]()
  %p : str = prim::Constant[value="{padding}"]()
  %d : int[] = prim::Constant[value={dilation}]()
  %g : int = prim::Constant[value=1]()
  %a : Tensor = aten::{name}(%x, %w, %no, %s, %p, %d, %g)
  return (%a)""",
        w=tensor(*weight),
    )
    changed = check(graph, numeric_padding.run, tensor(2, 3, *[9, 8, 7][:n]))
    (convolution,) = (node for node in changed.nodes if node.kind != "prim::Constant")
    if numbers is None:
        assert convolution.inputs[4].constant == padding
    else:
        assert convolution.kind == f"aten::conv{n}d" and convolution.inputs[4].constant == numbers


def test_padding_by_name_stays_where_the_weight_does_not_fit_the_operator():
    graph = graph_of(
        """graph(%x : Tensor, %w : Tensor):
  %no : NoneType = prim::Constant()
  %s : int[] = prim::Constant[value=[1, 1]]()
  %p : str = prim::Constant[value="valid"]()
  %g : int = prim::Constant[value=1]()
  %a : Tensor = aten::conv2d(%x, %w, %no, %s, %p, %s, %g)
  return (%a)""",
        w=tensor(4, 3, 3),
    )
    assert not numeric_padding.run(graph) and kinds(graph) == ["conv2d"]


CHAIN = (
    "graph(%x : Tensor, %r : Tensor, %w : Tensor, %bias : Tensor):"
    + CONV
    + """
  %a : Tensor = aten::conv2d(%x, %w, %bias, %three, %three, %three, %n)
  %s : Tensor = aten::add(%r, %a, %n)
  %y : Tensor = ACTIVATION
  return (%y)"""
)


@pytest.mark.parametrize(
    "text",
    [
        "aten::relu(%s)",
        "aten::silu(%s)",
        "aten::sigmoid(%s)",
        "aten::hardswish(%s)",
        "aten::hardsigmoid(%s)",
        "aten::tanh(%s)",
        "aten::gelu(%s, %none)",
        "aten::gelu(%s, %tanh)",
        "aten::hardtanh(%s, %low, %high)",
    ],
)
def test_a_convolution_takes_in_a_sum_and_an_activation(text):
    settings = """
  %none : str = prim::Constant[value="none"]()
  %tanh : str = prim::Constant[value="tanh"]()
  %low : int = prim::Constant[value=0]()
  %high : int = prim::Constant[value=6]()
  %y """
    graph = graph_of(
        CHAIN.replace("\n  %y ", settings).replace("ACTIVATION", text),
        w=tensor(40, 3, 3, 3),
        bias=tensor(40),
    )
    changed = check(graph, fuse.run, tensor(2, 3, 6, 7), tensor(2, 40, 6, 7))
    assert kinds(changed) == ["conv2d"]
    assert next(n for n in changed.walk() if n.kind == "scriptlang::conv2d")


def test_a_sum_that_broadcasts_is_taken_in_too():
    graph = graph_of(
        CHAIN.replace("ACTIVATION", "aten::relu(%s)"), w=tensor(4, 3, 3, 3), bias=tensor(4)
    )
    for shape in [(4, 1, 1), (1,), (3, 2, 4, 6, 7)]:
        check(graph, fuse.run, tensor(2, 3, 6, 7), tensor(*shape))


def test_a_written_result_is_not_taken_in():
    graph = graph_of(
        CHAIN.replace("ACTIVATION", "aten::relu_(%s)"), w=tensor(4, 3, 3, 3), bias=tensor(4)
    )
    changed = check(graph, fuse.run, tensor(2, 3, 6, 7), tensor(2, 4, 6, 7))
    assert kinds(changed) == ["conv2d", "add", "relu_"]
    assert kinds(check(graph, optimize.run, tensor(2, 3, 6, 7), tensor(2, 4, 6, 7))) == ["conv2d"]


def test_a_sum_of_unknown_type_stays_in_place():
    graph = graph_of(
        CHAIN.replace("add(%r, %a", "add_(%a, %r").replace("ACTIVATION", "aten::relu(%s)"),
        w=tensor(4, 3, 3, 3),
        bias=tensor(4),
    )
    changed = check(graph, optimize.run, tensor(2, 3, 6, 7), tensor(2, 4, 6, 7))
    assert kinds(changed) == ["conv2d", "add_", "relu"]


@pytest.mark.parametrize(
    "call",
    [
        "aten::conv_transpose2d(%x, %w, %bias, %two, %three, %zero, %n, %one)",
        "aten::convolution(%x, %w, %bias, %two, %three, %one, %yes, %zero, %n)",
    ],
)
def test_a_transposed_convolution_takes_in_a_batch_norm_and_an_activation(call):
    text = """graph(%x : Tensor, %w : Tensor, %bias : Tensor, %mean : Tensor, %var : Tensor):
  %n : int = prim::Constant[value=1]()
  %yes : bool = prim::Constant[value=1]()
  %no : bool = prim::Constant[value=0]()
  %eps : float = prim::Constant[value=0.001]()
  %one : int[] = prim::Constant[value=[1, 1]]()
  %two : int[] = prim::Constant[value=[2, 2]]()
  %three : int[] = prim::Constant[value=[1]]()
  %zero : int[] = prim::Constant[value=[0, 0]]()
  %a : Tensor = CALL
  %b : Tensor = aten::batch_norm(%a, %mean, %bias, %mean, %var, %no, %eps, %eps, %no)
  %c : Tensor = aten::relu(%b)
  return (%c)""".replace("CALL", call)
    graph = graph_of(
        text, w=tensor(3, 5, 4, 4), bias=tensor(5), mean=tensor(5), var=tensor(5) + 1.5
    )
    changed = check(graph, optimize.run, tensor(2, 3, 6, 7))
    assert kinds(changed)[0] == "conv_transpose2d"
    assert not {"batch_norm", "relu"} & set(kinds(changed))


def test_a_transposed_convolution_may_compute_its_output_padding():
    text = """graph(%x : Tensor, %more : int[], %w : Tensor):
  %n : int = prim::Constant[value=1]()
  %none : NoneType = prim::Constant()
  %one : int[] = prim::Constant[value=[1]]()
  %two : int[] = prim::Constant[value=[2, 2]]()
  %a : Tensor = aten::conv_transpose2d(%x, %w, %none, %two, %one, %more, %n, %one)
  %b : Tensor = aten::relu(%a)
  return (%b)"""
    for more in ([0, 0], [1, 0], [1]):
        graph = graph_of(text, w=tensor(3, 5, 4, 4))
        changed = check(graph, fuse.run, tensor(2, 3, 6, 7), more)
        assert kinds(changed) == ["conv_transpose2d"]


def test_products_with_constant_matrices_become_linear_layers():
    text = (
        "graph(%x : Tensor, %w : Tensor, %v : Tensor, %bias : Tensor):"
        + CONV
        + """
  %a : Tensor = aten::addmm(%bias, %x, %w, %n, %n)
  %b : Tensor = aten::tanh(%a)
  %c : Tensor = aten::matmul(%b, %v)
  %d : Tensor = aten::linear(%c, %v, %no)
  %e : Tensor = aten::add(%d, %c, %n)
  return (%e)"""
    )
    graph = graph_of(text, w=tensor(6, 40), v=tensor(40, 40), bias=tensor(40))
    changed = check(graph, fuse.run, tensor(3, 6))
    assert kinds(changed) == ["linear"] * 3


def test_images_stay_channels_last_and_are_converted_once():
    text = (
        "graph(%x : Tensor, %w : Tensor):"
        + CONV
        + """
  %two : int[] = prim::Constant[value=[2, 2]]()
  %zero : int[] = prim::Constant[value=[0, 0]]()
  %f : bool = prim::Constant[value=0]()
  %flat : int[] = prim::Constant[value=[-1]]()
  %a : Tensor = aten::conv2d(%x, %w, %no, %three, %three, %three, %n)
  %b : Tensor = aten::max_pool2d(%a, %two, %two, %zero, %three, %f)
  %c : Tensor = aten::conv2d(%b, %w, %no, %three, %three, %three, %n)
  %d : Tensor = aten::view(%c, %flat)
  %e : Tensor = aten::add(%d, %d, %n)
  return (%e)"""
    )
    graph = graph_of(text, w=tensor(3, 3, 3, 3))

    def run(g: Graph) -> None:
        fuse.run(g)
        layouts.run(g)

    changed = check(graph, run, tensor(2, 3, 8, 8))
    assert kinds(changed) == ["conv2d", "max_pool2d", "conv2d", "view", "add"]
    formats = [n.inputs[9].constant for n in changed.walk() if n.kind == "scriptlang::conv2d"]
    assert formats == [2, 0]


EXPANSION = (
    "graph(%x : Tensor, %w : Tensor, %v : Tensor, %p : Tensor):"
    + CONV
    + """
  %six : int = prim::Constant[value=6]()
  %zeros : int[] = prim::Constant[value=[0, 0]]()
  %a : Tensor = aten::conv2d(%x, %w, %no, %three, %zeros, %three, %n)
  %b : Tensor = aten::silu(%a)
  %c : Tensor = aten::conv2d(%b, %v, %no, %three, %three, %three, %six)
  %d : Tensor = aten::conv2d(%c, %p, %no, %three, %zeros, %three, %n)
  %e : Tensor = aten::relu(%d)
  return (%e)"""
)


def test_an_expansion_and_the_convolution_of_its_channels_are_one_operator():
    weights = dict(w=tensor(6, 3, 1, 1), v=tensor(6, 1, 3, 3), p=tensor(3, 6, 1, 1))
    graph = graph_of(EXPANSION, **weights)
    changed = check(graph, optimize.run, tensor(2, 3, 8, 8))
    assert kinds(changed) == ["expanded_conv2d", "conv2d"]
    first = next(n for n in changed.nodes if n.kind == "scriptlang::expanded_conv2d")
    assert first.inputs[3].constant == "silu"
    known = propagate(changed, {changed.inputs[0]: tensor_facts((2, 3, 8, 9), float32)})
    assert known[first.output].shape == (2, 6, 8, 9)


@pytest.mark.parametrize(
    "there, then, weights",
    [
        ("relu(%d)", "add(%b, %c, %n)", {}),  # used again
        ("conv2d(%x, %w, %no, %three, %zeros", "conv2d(%x, %w, %no, %three, %three", {}),
        ("", "", dict(w=(6, 3, 3, 3))),
        ("", "", dict(v=(12, 1, 3, 3), p=(3, 12, 1, 1))),
    ],
)
def test_other_convolutions_in_a_row_stay_two(there, then, weights):
    shapes = dict(w=(6, 3, 1, 1), v=(6, 1, 3, 3), p=(3, 6, 1, 1)) | weights
    graph = graph_of(
        EXPANSION.replace(there, then) if there else EXPANSION,
        **{name: tensor(*shape) for name, shape in shapes.items()},
    )
    assert "expanded_conv2d" not in kinds(check(graph, optimize.run, tensor(2, 3, 8, 8)))


def test_images_that_are_permuted_to_channels_last_stay_so():
    text = (
        "graph(%x : Tensor, %w : Tensor):"
        + CONV
        + """
  %order : int[] = prim::Constant[value=ORDER]()
  %a : Tensor = aten::conv2d(%x, %w, %no, %three, %three, %three, %n)
  %b : Tensor = aten::permute(%a, %order)
  return (%b)"""
    )
    for order, wanted in (
        ([0, 2, 3, 1], ["conv2d", "permute"]),
        ([0, 3, 2, 1], ["conv2d", "contiguous", "permute"]),
    ):
        graph = graph_of(text.replace("ORDER", str(order)), w=tensor(3, 3, 3, 3))
        assert kinds(check(graph, optimize.run, tensor(2, 3, 8, 8))) == wanted


@pytest.mark.parametrize(
    "name", sorted(p.name for p in DATA.glob("*.pt") if not p.name.startswith("counter"))
)
@pytest.mark.parametrize("which", ENGINES)
def test_an_optimised_archive_gives_what_it_gave(name, which, tmp_path):
    module = scriptlang.load(DATA / name, engine=which)
    stored = np.load(DATA / name.replace(".pt", ".npz"))
    inputs = [scriptlang.from_numpy(stored[k]) for k in stored.files if k[0] == "i"]
    fast = scriptlang.optimize(module)
    compare(fast(*inputs), module(*inputs))
    fast.save(tmp_path / "m.pt")
    assert "scriptlang::" not in fast.forward.code
    compare(scriptlang.load(tmp_path / "m.pt", engine=which)(*inputs), module(*inputs))


def compare(a, b) -> None:
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            compare(x, y)
    else:
        np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-4, 1e-5)


def test_a_module_in_training_mode_is_refused():
    module = scriptlang.load(DATA / "resnet.script.pt")
    module.train()
    with pytest.raises(RuntimeError, match="eval"):
        scriptlang.optimize(module)


def test_sums_of_shared_values_are_looked_at_once():
    lines = ["  %v0 : Tensor = aten::conv2d(%x, %w, %no, %three, %three, %three, %n)"]
    lines += [f"  %v{i + 1} : Tensor = aten::add(%v{i}, %v{i}, %n)" for i in range(90)]
    text = (
        "graph(%x : Tensor, %w : Tensor):"
        + CONV
        + "\n".join(lines)
        + """
  %r : Tensor = aten::add_(%v90, %v89, %n)
  %d : int = aten::dim(%r)
  return (%d)"""
    )
    graph = graph_of(text, w=tensor(3, 3, 1, 1))
    optimize.run(graph)
    assert graph.outputs[0].node.inputs[0] is graph.inputs[0]
    assert not any(n.kind == "aten::add_" for n in graph.walk())


def test_an_optimised_module_is_a_copy_of_a_frozen_one_too():
    module = scriptlang.load(DATA / "resnet.script.pt")
    frozen = scriptlang.freeze(module)
    inputs = [
        scriptlang.from_numpy(v)
        for k, v in np.load(DATA / "resnet.script.npz").items()
        if k[0] == "i"
    ]
    expected = frozen(*inputs)
    fast = scriptlang.optimize(frozen)
    assert fast is not frozen
    assert optimize.OPTIMIZED in fast._type.methods["forward"].attributes
    assert optimize.OPTIMIZED not in frozen._type.methods["forward"].attributes
    compare(fast(*inputs), expected)


class Branching(scriptlang.nn.Module):
    """A branch has a convolution of what is no image."""

    def __init__(self):
        super().__init__()
        self.inner = scriptlang.nn.Linear(3, 3)
        self.flat = scriptlang.nn.Parameter(scriptlang.nn.Linear(3, 2).weight.detach())

    def forward(self, x: scriptlang.Tensor, strange: bool = False) -> scriptlang.Tensor:
        if strange:
            return scriptlang.nn.functional.conv2d(self.flat, self.flat)
        return self.inner(x)


def doubled(self, input: tuple[scriptlang.Tensor]) -> tuple[scriptlang.Tensor]:
    return (input[0] * 2,)


def summed(self, input: tuple[scriptlang.Tensor], output: scriptlang.Tensor) -> scriptlang.Tensor:
    return output + input[0]


@pytest.mark.parametrize("name", ENGINES)
def test_hooks_of_an_optimised_module_run(name, tmp_path):
    module = scriptlang.nn.Sequential(scriptlang.nn.Linear(3, 3))
    module.register_forward_pre_hook(doubled)
    module.register_forward_hook(summed)
    plain = scriptlang.script(module.eval(), engine=name)
    fast = scriptlang.optimize(plain)
    x = tensor(2, 3)
    compare(fast(x), plain(x))
    fast.save(tmp_path / "fast.pt")
    compare(scriptlang.load(tmp_path / "fast.pt", engine=name)(x), plain(x))


@pytest.mark.parametrize("name", ENGINES)
def test_a_call_that_no_kernel_takes_raises_where_it_is_reached(name):
    fast = scriptlang.optimize(scriptlang.script(Branching().eval(), engine=name))
    x = tensor(2, 3)
    assert fast(x).shape == (2, 3)
    with pytest.raises(RuntimeError, match="3D .* or 4D .* input to conv2d"):
        fast(x, True)


HEADS = """graph(%x : Tensor, %q : Tensor, %k : Tensor, %v : Tensor, %b : Tensor, %none : NoneType):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %heads : int = prim::Constant[value=4]()
  %last : int = prim::Constant[value=-1]()
  %nothing : NoneType = prim::Constant()
  %n : int = aten::size(%x, %zero)
  %m : int = aten::size(%x, %one)
  %sizes : int[] = prim::ListConstruct(%n, %m, %heads, %last)
  %a : Tensor = aten::linear(%x, %q, %b)
  %c : Tensor = aten::linear(%x, %k, %nothing)
  %d : Tensor = aten::linear(%x, %v, %b)
  %e : Tensor = aten::view(%a, %sizes)
  %f : Tensor = aten::view(%c, %sizes)
  %g : Tensor = aten::transpose(%e, %one, %two)
  %h : Tensor = aten::transpose(%f, %one, %two)
  %i : Tensor = aten::transpose(%h, %two, %last)
  %j : Tensor = aten::matmul(%g, %i)
  %dd : Tensor = LAST
  %o : (Tensor, Tensor) = prim::TupleConstruct(%j, %dd)
  return (%o)"""


def heads(last: str) -> Graph:
    text = HEADS.replace(", %none : NoneType", "").replace("LAST", last)
    return graph_of(text, q=tensor(128, 128), k=tensor(128, 128), v=tensor(160, 128), b=tensor(128))


@pytest.mark.parametrize(
    "last, count",
    [
        ("aten::sigmoid(%x)", 1),  # %d is dead, the others are one product
        ("aten::flatten(%c, %zero, %last)", 2),  # shows how %c lies, so %a stays alone
    ],
)
def test_layers_of_one_input_become_one_product(last, count):
    graph = heads(last)
    next(n for n in graph.walk() if n.output.name == "d").destroy()
    changed = check_parts(graph, tensor(2, 3, 128))
    assert kinds(changed).count("linear") == count
    assert kinds(changed).count("split_with_sizes") == (count == 1)


def check_parts(graph: Graph, *args) -> Graph:
    """As `check`, of a graph that returns tensors."""
    changed = graph.copy()
    batch_linears.run(changed)
    verify(changed)
    for which in ENGINES:

        def run(g: Graph):
            return engine(which).run(Function("f", schema_of_graph("f", g), g.copy()), args)

        compare(run(changed), run(graph))
    assert not batch_linears.run(changed)
    return changed
