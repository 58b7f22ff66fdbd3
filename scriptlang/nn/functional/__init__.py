"""The functions of torch.nn.functional, by family.

Each is written in the scripted language on top of the operator table: the same source runs eagerly
and is compiled into programs that call it. Where an operator already does the same, the name is the
operator itself.
"""

from __future__ import annotations

from .activation import *
from .activation import _get_softmax_dim
from .attention import *
from .attention import _canonical_mask, _none_or_dtype
from .boolean_dispatch import boolean_dispatch as boolean_dispatch
from .distance import *
from .dropout import *
from .embedding import *
from .embedding import _no_grad_embedding_renorm_
from .linear import *
from .loss import *
from .norm import *
from .norm import _verify_batch_size, _verify_spatial_size
from .padding import *
from .pool import *
from .vision import *
