"""Helpers around modules: packed sequences, vectors of parameters, folding batch norm into weights."""

from __future__ import annotations

from . import rnn
