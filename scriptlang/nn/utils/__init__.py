"""Helpers around modules: packed sequences, vectors of parameters, folding of batch norm."""

from __future__ import annotations

from . import rnn
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .fusion import (
    fuse_conv_bn_eval,
    fuse_conv_bn_weights,
    fuse_linear_bn_eval,
    fuse_linear_bn_weights,
)
