"""Shapes of the results of recurrent layers and cells: lstm and gru."""

from __future__ import annotations

from typing import Any

from ..shape_facts import Shape, Unknown
from ..sizes import Size, mul
from . import Call, Several, rule


@rule("lstm.input", dtype=("first", "first", "first"))
def lstm(c: Call) -> Any:
    states = c["hx"]
    if not isinstance(states, tuple) or len(states) != 2 or any(s.shape is None for s in states):
        raise Unknown
    hidden, cell = states[0].shape, states[1].shape
    return Several((outputs(c, hidden[-1]), hidden, cell))


@rule("gru.input rnn_tanh.input rnn_relu.input", dtype=("first", "first"))
def gru(c: Call) -> Any:
    hidden = c.shape("hx")
    return Several((outputs(c, hidden[-1]), hidden))


def outputs(c: Call, size: Size) -> Shape:
    """The shape of the outputs of all steps; both directions are concatenated."""
    return (*c.shape("input")[:-1], mul(size, 2 if c.known("bidirectional") else 1))


@rule("lstm_cell", dtype=("first", "first"))
def lstm_cell(c: Call) -> Any:
    states = c["hx"]
    if not isinstance(states, tuple) or any(s.shape is None for s in states):
        raise Unknown
    return Several(tuple(s.shape for s in states))


@rule("gru_cell rnn_tanh_cell rnn_relu_cell")
def cell(c: Call) -> Any:
    return c.shape("hx")
