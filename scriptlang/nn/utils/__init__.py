"""Utilities: packed sequences, parameters as vectors, gradient clipping, batch norm folding,
norms of weights."""

from __future__ import annotations

from . import rnn as rnn
from .clip_grad import clip_grad_norm_ as clip_grad_norm_
from .clip_grad import clip_grad_value_ as clip_grad_value_
from .clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from .clip_grad import get_total_norm as get_total_norm
from .convert_parameters import parameters_to_vector as parameters_to_vector
from .convert_parameters import vector_to_parameters as vector_to_parameters
from .fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from .fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from .fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from .fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from .weight_norms import remove_spectral_norm as remove_spectral_norm
from .weight_norms import remove_weight_norm as remove_weight_norm
from .weight_norms import spectral_norm as spectral_norm
from .weight_norms import weight_norm as weight_norm
