"""Nested containers in transforms: what is made in their structure, and errors that name them."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple

import pytest

from scriptlang import trees
from tests.derivatives.both import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

Pair = namedtuple("Pair", "a b")


def told(value):
    """Types and contents; of tensors the numbers."""
    if hasattr(value, "detach"):
        return value
    if isinstance(value, dict):
        return [type(value).__name__, [[k, told(value[k])] for k in value]]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, [told(v) for v in value]]
    return value


STRUCTURES = [
    (1,),
    [1, (2, 3)],
    {"a": 1, "b": [1, 2]},
    OrderedDict(b=1, a=(1, {"x": 2, "y": 3})),
    Pair(1, (2, 3)),
    defaultdict(list, a=1),
    (),
    None,
    ({"a": [1, 2]}, 3),
]


@pytest.mark.parametrize("value", STRUCTURES, ids=repr)
def test_structures_are_written_as_in_pytorch(value):
    tree = pytest.importorskip("torch.utils._pytree")
    wanted = tree.tree_flatten(value)[1]
    assert trees.spec(value) == repr(wanted)
    assert trees.shown(value) == tree.treespec_pprint(wanted)
    again = trees.filled(value, iter(trees.flat(value)))
    assert again == value and type(again) is type(value)


def vector(lib):
    return lib.tensor([1.0, 2.0, 3.0])


def rows(lib):
    return lib.arange(12.0).reshape(4, 3)


CALLS = {
    "grad of an ordered dict": lambda lib: lib.func.grad(lambda d: (d["a"] * d["b"]).sum())(
        OrderedDict(b=vector(lib), a=lib.tensor(2.0))
    ),
    "grad of a named tuple": lambda lib: lib.func.grad(lambda p: (p.a * p.b).sum())(
        Pair(vector(lib), lib.tensor(2.0))
    ),
    "jacrev to a named tuple": lambda lib: lib.func.jacrev(lambda x: Pair(x, x * 2))(vector(lib)),
    "jacfwd to a named tuple": lambda lib: lib.func.jacfwd(lambda x: Pair(x, x * 2))(vector(lib)),
    "vmap to an ordered dict": lambda lib: lib.vmap(lambda x: OrderedDict(z=x, a=x))(rows(lib)),
    "pullback of two": lambda lib: lib.func.vjp(lambda x: (x, x), vector(lib))[1](
        vector(lib), vector(lib)
    ),
    "pullback of another type": lambda lib: lib.func.vjp(lambda x: [x, x], vector(lib))[1](
        (vector(lib), vector(lib))
    ),
    "tangents of another type": lambda lib: lib.func.jvp(
        lambda x: x, (vector(lib),), [vector(lib)]
    ),
    "linearized, too many": lambda lib: lib.func.linearize(lambda x: x * 2, vector(lib))[1](
        vector(lib), vector(lib)
    ),
    "linearized, other shape": lambda lib: lib.func.linearize(lambda x: x * 2, vector(lib))[1](
        rows(lib)
    ),
    "linearized, other type": lambda lib: lib.func.linearize(lambda x: x * 2, vector(lib))[1](
        vector(lib).double()
    ),
    "pullback of integers": lambda lib: lib.func.vjp(lambda x: x.long(), vector(lib)),
    "jacrev of integers": lambda lib: lib.func.jacrev(lambda x: x.long())(vector(lib)),
    "too many in_dims": lambda lib: lib.vmap(lambda x: x, in_dims=(0, 0))(rows(lib)),
    "in_dims of another type": lambda lib: lib.vmap(lambda x: x[0], in_dims=((0, None),))(
        [rows(lib), vector(lib)]
    ),
    "in_dims of fewer keys": lambda lib: lib.vmap(lambda x: x["a"], in_dims=({"a": 0},))(
        {"a": rows(lib), "b": vector(lib)}
    ),
    "in_dims for a part": lambda lib: lib.vmap(lambda x: x["a"][0], in_dims=({"a": 0, "b": None},))(
        {"a": [rows(lib), rows(lib)], "b": (vector(lib), vector(lib))}
    ),
    "out_dims of another type": lambda lib: lib.vmap(lambda x: [x, x], out_dims=(0, 1))(rows(lib)),
    "too few out_dims": lambda lib: lib.vmap(lambda x: (x, x), out_dims=(1,))(rows(lib)),
    "out_dims for a part": lambda lib: lib.vmap(lambda x: (x, (x, x)), out_dims=(0, 1))(rows(lib)),
    "out_dims of one": lambda lib: lib.vmap(lambda x: x, out_dims=(1,))(rows(lib)),
    "out_dims that are none": lambda lib: lib.vmap(lambda x: x, out_dims="a")(rows(lib)),
    "jacfwd draws numbers": lambda lib: lib.func.jacfwd(lambda x: x * lib.rand(3))(vector(lib)),
    "jacfwd draws the same": lambda lib: (
        lib.func.jacfwd(lambda x: x * lib.rand(()), randomness="same")(vector(lib)).unique().numel()
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_transforms_keep_structures(name):
    check(lambda lib: told(CALLS[name](lib)))
