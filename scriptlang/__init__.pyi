"""The public names for type checkers: those of HOMES and SUBMODULES, which load on first use."""

from typing import Any

from . import autograd as autograd
from . import backends as backends
from . import fft as fft
from . import frontend as frontend
from . import func as func
from . import interpreter as interpreter
from . import jit as jit
from . import library as library
from . import linalg as linalg
from . import nn as nn
from . import ops as ops
from . import optim as optim
from . import seeding as seeding
from . import serialization as serialization
from . import special as special
from . import utils as utils
from .api import get_num_threads as get_num_threads
from .api import info as info
from .api import load as load
from .api import load_state_dict as load_state_dict
from .api import on_save as on_save
from .api import save as save
from .api import script as script
from .api import set_num_threads as set_num_threads
from .api import trace as trace
from .api import trace_module as trace_module
from .batching import vmap as vmap
from .compiling import compile_archive as compile_archive
from .dtypes import DType as DType
from .dtypes import bfloat16 as bfloat16
from .dtypes import bool as bool
from .dtypes import complex64 as complex64
from .dtypes import complex128 as complex128
from .dtypes import double as double
from .dtypes import dtype as dtype
from .dtypes import finfo as finfo
from .dtypes import float as float
from .dtypes import float16 as float16
from .dtypes import float32 as float32
from .dtypes import float64 as float64
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import half as half
from .dtypes import iinfo as iinfo
from .dtypes import int as int
from .dtypes import int8 as int8
from .dtypes import int16 as int16
from .dtypes import int32 as int32
from .dtypes import int64 as int64
from .dtypes import long as long
from .dtypes import set_default_dtype as set_default_dtype
from .dtypes import short as short
from .dtypes import uint8 as uint8
from .dtypes import uint16 as uint16
from .dtypes import uint32 as uint32
from .dtypes import uint64 as uint64
from .errors import ArchiveError as ArchiveError
from .errors import CompileError as CompileError
from .errors import LimitError as LimitError
from .errors import MissingOperatorError as MissingOperatorError
from .errors import RunError as RunError
from .errors import ScriptError as ScriptError
from .grad_mode import enable_grad as enable_grad
from .grad_mode import inference_mode as inference_mode
from .grad_mode import is_grad_enabled as is_grad_enabled
from .grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .grad_mode import no_grad as no_grad
from .grad_mode import set_grad_enabled as set_grad_enabled
from .layouts import channels_last as channels_last
from .layouts import contiguous_format as contiguous_format
from .layouts import layout as layout
from .layouts import memory_format as memory_format
from .layouts import preserve_format as preserve_format
from .layouts import qscheme as qscheme
from .layouts import strided as strided
from .limits import Limits as Limits
from .nn.functional.unique import unique as unique
from .nn.functional.unique import unique_consecutive as unique_consecutive
from .objects import Device as Device
from .observing.comparing import compare as compare
from .observing.profiling import profile as profile
from .operator_functions import *
from .printing import set_printoptions as set_printoptions
from .programs.ahead.functions import aot_backward as aot_backward
from .programs.ahead.functions import value_and_grad as value_and_grad
from .programs.freezing import freeze as freeze
from .programs.freezing import optimize_for_inference as optimize_for_inference
from .programs.module import ScriptFunction as ScriptFunction
from .programs.module import ScriptModule as ScriptModule
from .programs.optimizing import optimize as optimize
from .programs.shape_report import inspect as inspect
from .programs.shape_report import memory_plan as memory_plan
from .tensor_types import Generator as Generator
from .tensor_types import asarray as asarray
from .tensor_types import compile as compile
from .tensor_types import cuda as cuda
from .tensor_types import default_generator as default_generator
from .tensor_types import from_dlpack as from_dlpack
from .tensor_types import frombuffer as frombuffer
from .tensor_types import get_rng_state as get_rng_state
from .tensor_types import initial_seed as initial_seed
from .tensor_types import manual_seed as manual_seed
from .tensor_types import seed as seed
from .tensor_types import set_rng_state as set_rng_state
from .tensor_types import typename as typename
from .tensors import Size as Size
from .tensors import Tensor as Tensor
from .tensors import from_numpy as from_numpy

__version__: str
device = Device
random = seeding
HOMES: dict[str, tuple[str, ...]]
SUBMODULES: tuple[str, ...]
HOME: dict[str, str]

# Classes of tensors by their element types, which are made in a loop.
FloatTensor: Any
DoubleTensor: Any
HalfTensor: Any
BFloat16Tensor: Any
ByteTensor: Any
CharTensor: Any
ShortTensor: Any
IntTensor: Any
LongTensor: Any
BoolTensor: Any

def __getattr__(name: str) -> Any: ...  # operators
