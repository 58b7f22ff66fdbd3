"""The smallest cut of a network: against all cuts of small ones."""

from __future__ import annotations

import itertools
import random

import pytest

from scriptlang.passes.ahead.flow import ENDLESS, Network


def smallest(nodes: int, edges: list[tuple[int, int, int]]) -> int:
    """By trying every side that has the source and not the sink."""
    found = []
    for inner in itertools.product([False, True], repeat=nodes - 2):
        near = (True, *inner, False)
        found.append(sum(c for a, b, c in edges if near[a] and not near[b]))
    return min(found)


@pytest.mark.parametrize("seed", range(40))
def test_cuts_of_random_networks(seed):
    rng = random.Random(seed)
    nodes = rng.randint(2, 7)
    edges = [
        (rng.randrange(nodes), rng.randrange(nodes), rng.choice([0, 1, 2, 5, 9, ENDLESS]))
        for _ in range(rng.randint(0, 16))
    ]
    edges = [e for e in edges if e[0] != e[1]]
    network = Network(nodes)
    for a, b, capacity in edges:
        network.connect(a, b, capacity)
    size, near = network.smallest_cut(0, nodes - 1)
    assert size == sum(c for a, b, c in edges if near[a] and not near[b])
    assert near[0]
    if size < ENDLESS:
        assert not near[-1]
        assert size == smallest(nodes, edges)


def test_a_long_chain_is_cut_where_it_is_thinnest():
    network = Network(5000)
    for i in range(4999):
        network.connect(i, i + 1, 3 if i == 1234 else 7)
    size, near = network.smallest_cut(0, 4999)
    assert size == 3
    assert near.index(False) == 1235
