"""Shapes of the results of recurrent layers and cells, and of what their gradients are made of."""

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


@rule("_lstm_steps", dtype=("first", "first", "first"))
def lstm_steps(c: Call) -> Any:
    gates, h = c.shape("gates"), c.shape("h")
    states = gates[0], h[-1]
    return Several((states, states, gates))


@rule("_gru_steps", dtype=("first", "first"))
def gru_steps(c: Call) -> Any:
    gates, h = c.shape("gates"), c.shape("h")
    return Several(((gates[0], h[-1]), (gates[0], mul(h[-1], 4))))


@rule("_rnn_steps")
def rnn_steps(c: Call) -> Any:
    return c.shape("gates")


@rule("_lstm_steps_backward", dtype=("first",) * 4)
def lstm_steps_backward(c: Call) -> Any:
    return Several((c.shape("gates"), c.shape("h"), c.shape("c"), c.shape("weight")))


@rule("_gru_steps_backward", dtype=("first",) * 4)
def gru_steps_backward(c: Call) -> Any:
    gates = c.shape("output")[0], mul(c.shape("h")[-1], 3)
    return Several((gates, gates, c.shape("h"), c.shape("weight")))


@rule("_rnn_steps_backward", dtype=("first",) * 3)
def rnn_steps_backward(c: Call) -> Any:
    return Several((c.shape("output"), c.shape("h"), c.shape("weight")))
