"""`torch.jit.isinstance` in plain Python, which also handles types such as `List[int]`."""

from __future__ import annotations

import types as python_types
import typing
from typing import Any

WITHOUT_PARTS = (
    *(typing.List, typing.Dict, typing.Tuple, typing.Optional),  # noqa: UP006
    *(list, dict, tuple),
)
"""Generic types without their arguments."""


def is_instance_of(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type, of one of a tuple of types, or of a type with arguments.

    Raises RuntimeError for List, Dict, Tuple and Optional without arguments.
    """
    if isinstance(target_type, tuple):
        return any(is_instance_of(obj, t) for t in target_type)
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if target_type in WITHOUT_PARTS:
        raise RuntimeError(
            f"Attempted to use {target_type} without a contained type. Please add "
            "a contained type, e.g. List[int]"
        )
    if origin in (typing.Union, getattr(python_types, "UnionType", typing.Union)):
        return any(is_instance_of(obj, t) for t in args)
    if origin is list:
        return isinstance(obj, list) and all(is_instance_of(v, args[0]) for v in obj)
    if origin is dict:
        return isinstance(obj, dict) and all(
            is_instance_of(k, args[0]) and is_instance_of(v, args[1]) for k, v in obj.items()
        )
    if origin is tuple:
        wanted = () if args == ((),) else args
        return (
            isinstance(obj, tuple)
            and len(obj) == len(wanted)
            and all(map(is_instance_of, obj, wanted))
        )
    if target_type in (None, type(None)):
        return obj is None
    return isinstance(obj, origin or target_type)
