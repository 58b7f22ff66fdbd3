"""Imports archives that have bytecode but no code/, which PyTorch's mobile exporter writes.

Classes are derived from the pickled objects: their attributes are those of the objects, in order,
with types as far as the values show them.  Functions come from the bytecode.  What neither shows,
scriptlang writes into another record (see names.py): the names of members of enums, the attributes
of classes without objects, and which arguments have the default None.  Of named tuples only the
elements are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .. import types as T
from ..errors import ArchiveError
from ..interpreter.prepare import CODE
from ..ir import Function
from .bytecode import read_functions
from .names import NONE, Names
from .pickle_tree import EnumRef, ObjectRef, TensorRef

MAX_SLOTS = 10_000

SIMPLE = {TensorRef: T.TENSOR, bool: T.BOOL, int: T.INT, float: T.FLOAT, str: T.STR}
"""The types that are derived from the values of attributes.  None, lists and dicts show no type."""


class BytecodeImporter:
    """Replaces Importer for such archives: it has types and functions by qualified name."""

    def __init__(self, data: Any, names: Names = NONE) -> None:
        self.types: dict[str, T.Type] = {}
        self.functions: dict[str, Function] = {}
        self.names = names
        for name, members in names.enums.items():
            kind = SIMPLE[type(next(iter(members.values())))]
            self.types[name] = T.EnumType(name, kind, members)
        for ref in objects_in(data):
            if isinstance(ref, EnumRef):
                self._declare_member(ref)
            else:
                self._declare(ref)
        for name, attributes in names.classes.items():
            self._declare_attributes(name, attributes)

    def find_type(self, name: str) -> T.Type | None:
        if name.startswith(T.CUSTOM_CLASSES):
            return T.custom_class(name)
        return self.types.get(name, T.ANY if name.startswith("__torch__.") else None)

    def find_function(self, name: str) -> Function | None:
        return self.functions.get(name)

    def _declare(self, ref: ObjectRef) -> None:
        """Declare the class of an object.  All objects of a class must have the same attributes; if
        the types of an attribute differ, it becomes Any."""
        if ref.name.startswith(T.CUSTOM_CLASSES):
            return
        known = self._class(ref.name)
        if not isinstance(ref.state, dict):
            return  # the class has a __setstate__, which takes the state
        if not known.attributes:
            for name, value in ref.state.items():
                known.add_attribute(str(name), self._type_of(value))
        if [a.name for a in known.attributes] != list(ref.state):
            raise ArchiveError(
                f"objects of {ref.name} have different attributes",
                "data.pkl",
                "the file is damaged, or was not made by PyTorch",
            )
        for a, value in zip(known.attributes, ref.state.values()):
            if a.type != self._type_of(value):
                a.type = T.ANY

    def _declare_attributes(self, name: str, attributes: list[str]) -> None:
        """Declare the attributes that names.pkl lists for a class.  They are needed if the class
        has no pickled objects, or if `__setstate__` restores its objects."""
        known = self._class(name)
        if not known.attributes:
            for attribute in attributes:
                known.add_attribute(attribute, T.ANY)
        if [a.name for a in known.attributes] != attributes:
            raise ArchiveError(
                f"objects of {name} have other attributes than names.pkl says",
                "data.pkl",
                "the file is damaged, or was not made by scriptlang",
            )

    def _declare_member(self, ref: EnumRef) -> None:
        known = self.types.setdefault(
            ref.name, T.EnumType(ref.name, SIMPLE.get(type(ref.value), T.ANY), {}, is_unnamed=True)
        )
        if not isinstance(known, T.EnumType):
            raise mixed(ref.name)

    def _class(self, name: str) -> T.ClassType:
        if name.startswith(T.CUSTOM_CLASSES):
            return T.custom_class(name)
        if name not in self.types:
            self.types[name] = T.ClassType(name, is_module=True)
        found = self.types[name]
        if not isinstance(found, T.ClassType):
            raise mixed(name)
        return found

    def _type_of(self, value: Any) -> T.Type:
        if isinstance(value, ObjectRef):
            return self._class(value.name)
        if isinstance(value, EnumRef):
            return self.types.get(value.name, T.ANY)
        return SIMPLE.get(type(value), T.ANY)

    def add_functions(self, tree: Any, constant: Callable[[Any], Any], version: int) -> None:
        """Read the functions in the unpickled record bytecode.pkl; see `read_functions`."""
        self.functions = read_functions(
            tree, self.find_type, constant, self._add_method, version, defaults=self.names.defaults
        )

    def _add_method(self, function: Function) -> None:
        """Add a function to the methods of the class whose name is a prefix of its own, if any."""
        owner, _, name = function.name.rpartition(".")
        cls = self.types.get(owner)
        if not isinstance(cls, T.ClassType):
            return
        cls.methods[name] = function
        if name == "__setstate__" and not cls.attributes:
            for i in range(slots_set(function)):
                cls.add_attribute(f"slot_{i}", T.ANY)


def mixed(name: str) -> ArchiveError:
    return ArchiveError(
        f"{name} is a class and an enum",
        "data.pkl",
        "the file is damaged, or was not made by PyTorch",
    )


def slots_set(function: Function) -> int:
    """The number of slots of an object, derived from the last one that its `__setstate__` sets."""
    code = function.attributes[CODE]
    last = max((i.x for i in code.instructions if i.op == "SET_ATTR"), default=-1)
    if last >= MAX_SLOTS:
        raise ArchiveError(
            f"{function.name} sets slot {last:,} of its object",
            "bytecode.pkl",
            "no model is written like this; do not use the file",
        )
    return last + 1


def objects_in(tree: Any) -> Iterator[ObjectRef | EnumRef]:
    """The objects and enum members in the value of a pickle, each once."""
    seen: set[int] = set()
    pending = [tree]
    while pending:
        value = pending.pop()
        if not isinstance(value, (ObjectRef, EnumRef, list, tuple, dict)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, EnumRef):
            yield value
        elif isinstance(value, ObjectRef):
            yield value
            pending.append(value.state)
        elif isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        else:
            pending += value
