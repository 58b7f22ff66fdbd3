"""Recognizes modules of layers (`torch.nn.Module`), their classes and their containers."""

from __future__ import annotations

import inspect
from typing import Any

PACKAGES = ("torch", "scriptlang")


CONTAINERS: dict[str, str] = {
    "Sequential": "list",
    "ModuleList": "list",
    "ModuleDict": "dict",
    "ParameterList": "parameter list",
    "ParameterDict": "parameter dict",
}
"""Name of a container class of torch.nn and scriptlang.nn -> its kind."""


def is_module(obj: Any) -> bool:
    """Whether an object is a Python module of layers that can be scripted."""
    held = getattr(obj, "__dict__", None)
    return (
        isinstance(held, dict)
        and "_parameters" in held
        and "_modules" in held
        and "_buffers" in held
        and not inspect.isclass(obj)
    )


def is_module_class(cls: type) -> bool:
    """Whether instances of a class are modules."""
    return any(c.__name__ == "Module" and package_of(c) in PACKAGES for c in cls.__mro__)


def container_kind(cls: type) -> str:
    """The kind of a container class; "" for other classes."""
    for c in cls.__mro__:
        if c.__name__ in CONTAINERS and package_of(c) in PACKAGES:
            return CONTAINERS[c.__name__]
    return ""


def package_of(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def is_base(cls: type) -> bool:
    """Whether a class is the base class of modules of torch or scriptlang."""
    return cls.__name__ in ("Module", "ScriptModule") and package_of(cls) in PACKAGES


def is_part_of_base(owner: type, cls: type) -> bool:
    """Whether `owner` is a library class: the base class of modules or a container class.

    `owner` is `cls`, the class of a module, or one of its bases.  Bases of library classes count,
    too.
    """
    return any(
        (is_base(c) or c.__name__ in CONTAINERS and package_of(c) in PACKAGES)
        and issubclass(c, owner)
        for c in cls.__mro__
    )
