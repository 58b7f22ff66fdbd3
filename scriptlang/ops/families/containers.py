"""Operators on lists, dicts and tuples of programs.

Dicts keep insertion order.  Searches in lists compare tensors by value; dict keys that are tensors
are compared by identity.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ...limits import reserve
from ...tensors import Tensor
from ..shared.scalar_math import wrap
from ..table import declare, describe, primitive
from .string import value_text

KEYS = ("str", "int", "bool", "float", "complex", "Tensor")
"""Types that dict keys can have; they name the overloads."""


def in_range(values: list, index: int) -> int:
    """The nonnegative form of an index.  Raises IndexError if it is out of range."""
    n = len(values)
    if not -n <= index < n:
        raise IndexError(f"list index out of range: index {index} of a list of {n} elements")
    return index + n if index < 0 else index


def same(a: Any, b: Any) -> bool:
    """Whether two elements are equal; tensors are compared by value."""
    if isinstance(a, Tensor):
        return bool(a == b)
    if isinstance(a, (list, tuple, dict)) and isinstance(b, (list, tuple, dict)):
        return containers_equal(a, b, set())
    return a == b


def containers_equal(a: Any, b: Any, known: set[tuple[int, int]]) -> bool:
    """Whether two values are equal.

    known: pairs of containers already found equal, so that shared containers are compared only
    once.
    """
    if (id(a), id(b)) in known:
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = [(v, b.get(k, MISSING)) for k, v in a.items()]
    elif (
        isinstance(a, list) and isinstance(b, list) or isinstance(a, tuple) and isinstance(b, tuple)
    ):
        pairs = list(zip(a, b))
    else:
        return not isinstance(a, (list, tuple, dict)) and same(a, b)
    if len(a) != len(b) or not all(containers_equal(x, y, known) for x, y in pairs):
        return False
    known.add((id(a), id(b)))
    return True


MISSING = object()
"""Stands for a missing entry; it equals nothing."""


def position(values: list, element: Any) -> int | None:
    return next((i for i, v in enumerate(values) if same(v, element)), None)


# lists


@primitive("aten::append.t(t[](a!) self, t(c -> *) el) -> t[](a!)", stores=(0, 1))
def append(self, element):
    self.append(element)
    return self


@primitive("aten::extend.t(t[](a!) self, t[] other) -> ()", stores=(0, 1))
def extend(self, other):
    self.extend(other)


@primitive("aten::insert.t(t[](a!) self, int idx, t(b -> *) el) -> ()", stores=(0, 2))
def insert(self, index, element):
    self.insert(index, element)


@primitive("aten::pop.t(t[](a!) self, int idx=-1) -> t(*)")
def pop(self, index):
    if not self:
        raise IndexError("pop from empty list")
    return self.pop(in_range(self, index))


@primitive(
    "aten::__getitem__.t(t[](a) list, int idx) -> t(*)",
    "aten::select.t(t[](a) list, int idx) -> t(*)",
)
def get_item(values, index):
    return values[in_range(values, index)]


@primitive("aten::_set_item.t(t[](a!) l, int idx, t(b -> *) el) -> t[](a!)", stores=(0, 2))
def set_item(values, index, element):
    values[in_range(values, index)] = element
    return values


@primitive("aten::Delete.t(t[](a!) self, int idx) -> ()")
def delete(self, index):
    del self[in_range(self, index)]


@primitive("aten::slice.t(t[] l, int? start=None, int? end=None, int step=1) -> t[]")
def slice_list(values, start, end, step):
    if step == 0:
        raise RuntimeError("List slice should have non-zero step")
    return values[start:end:step]


@primitive("aten::reverse.t(t[](a!) self) -> ()")
def reverse(self):
    self.reverse()


@primitive("aten::clear.t(t[](a!) self) -> ()")
def clear(self):
    self.clear()


@primitive("aten::add_.t(t[](a!) self, t[] b) -> t[]", stores=(0, 1))
def add_(self, other):
    self.extend(other)
    return self


def times(values, n):
    reserve(len(values) * n * 8)
    return values * n


@primitive("aten::mul_.t(t[](a!) l, int n) -> t[](a!)")
def mul_(values, n):
    values[:] = times(values, n)
    return values


declare("aten::add.t(t[] a, t[] b) -> t[]", operator.add, "primitive")
declare("aten::mul.left_t(t[] l, int n) -> t[]", times, "primitive")
declare("aten::mul.right_(int n, t[] l) -> t[]", lambda n, values: times(values, n), "primitive")
declare("aten::copy.t(t[](a) self) -> t[]", list, "primitive")
declare("aten::list.t(t[] l) -> t[]", list, "primitive")
declare("aten::len.t(t[] a) -> int", len, "primitive", total=True)
declare("aten::len.any(Any[] a) -> int", len, "primitive", total=True)


def lists_equal(a: list, b: list) -> bool:
    return len(a) == len(b) and all(map(same, a, b))


for _overload, _type in (
    ("int_list", "int"),
    ("float_list", "float"),
    ("bool_list", "bool"),
    ("str_list", "str"),
    ("Tensor_list", "Tensor"),
):
    declare(f"aten::eq.{_overload}({_type}[] a, {_type}[] b) -> bool", lists_equal, "primitive")
    declare(
        f"aten::ne.{_overload}({_type}[] a, {_type}[] b) -> bool",
        lambda a, b: not lists_equal(a, b),
        "primitive",
    )


def index_of(self, element):
    found = position(self, element)
    if found is None:
        raise RuntimeError(f"'{value_text(element)}' is not in list")
    return found


def remove(self, element):
    found = position(self, element)
    if found is None:
        raise RuntimeError("list.remove(x): x not in list")
    del self[found]


def count(self, element):
    return sum(1 for v in self if same(v, element))


class ByValue:
    """A sort key: one-element tensors compare by their number, nan comes last, as in PyTorch."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __lt__(self, other: ByValue) -> bool:
        a, b = self.value, other.value
        if isinstance(a, float) and a != a:
            return False
        if isinstance(b, float) and b != b:
            return True
        try:
            return bool(a < b)
        except TypeError:
            raise RuntimeError(
                f"{value_text(a)} and {value_text(b)} cannot be ordered: sort takes "
                "lists of numbers, strings, tuples of those, or objects with "
                "__lt__"
            ) from None


def sort(self, reverse):
    self.sort(key=ByValue, reverse=reverse)


for _type in ("int", "float", "bool", "str", "Tensor"):
    _suffix = "list_" + _type
    declare(f"aten::index.{_suffix}({_type}[] self, {_type} el) -> int", index_of, "primitive")
    declare(f"aten::count.{_type}({_type}[] self, {_type} el) -> int", count, "primitive")
    declare(f"aten::remove.{_type}({_type}[](a!) self, {_type} el) -> ()", remove, "primitive")
    declare(f"aten::sort.{_type}({_type}[](a!) self, bool reverse=False) -> ()", sort, "primitive")
    declare(
        f"aten::sorted.{_type}({_type}[](a) input) -> {_type}[]",
        lambda values: sorted(values, key=ByValue),
        "primitive",
    )
declare("aten::sort.any(t[](a!) self, bool reverse=False) -> ()", sort, "primitive")
declare(
    "aten::sorted.any(t[](a) self) -> t[]", lambda values: sorted(values, key=ByValue), "primitive"
)
for _type in ("int", "str", "float"):
    declare(
        f"aten::__contains__.{_type}_list({_type}[] l, {_type} item) -> bool",
        lambda values, item: item in values,
        "primitive",
    )
for _type in ("str", "int", "float", "bool"):
    declare(f"aten::any.{_type}({_type}[] self) -> bool", any, "primitive")
    if _type != "str":
        declare(f"aten::all.{_type}({_type}[] self) -> bool", all, "primitive")
declare("aten::sum.int(int[] self) -> int", lambda v: wrap(sum(v)), "primitive")
declare("aten::sum.float(float[] self) -> float", lambda v: float(sum(v)), "primitive")
declare("aten::sum.complex(complex[] self) -> complex", lambda v: complex(sum(v)), "primitive")
declare("aten::sum.bool(bool[] self) -> int", sum, "primitive")


def least(name: str, better: Callable) -> None:
    """Declare prim::min or prim::max of one list, and of two, compared lexicographically."""

    def of_list(values):
        if not values:
            raise RuntimeError(f"{name}() arg is an empty sequence")
        result = values[0]
        for v in values[1:]:
            if better(v, result):
                result = v
        return result

    def of_two(left, right):
        return left if better(left, right) or left == right else right

    for t in ("int", "float", "bool"):
        declare(f"prim::{name}.{t}_list({t}[] l, {t}[] r) -> {t}[]", of_two, "primitive")
        declare(f"prim::{name}.self_{t}({t}[] self) -> {t}", of_list, "primitive")


least("max", operator.gt)
least("min", operator.lt)


@primitive("prim::rangelist(int n) -> int[]")
def range_list(n):
    reserve(n * 40)
    return list(range(n))


declare("aten::Size(int[] sizes) -> int[]", list, "primitive")

# dicts


def missing(key: Any) -> RuntimeError:
    return RuntimeError(f"KeyError: {value_text(key)}")


def dict_get(self, key):
    if key not in self:
        raise missing(key)
    return self[key]


def dict_get_or(self, key, default):
    return self.get(key, default)


def dict_pop(self, key):
    if key not in self:
        raise missing(key)
    return self.pop(key)


def dict_pop_or(self, key, default):
    return self.pop(key, default)


def dict_popitem(self):
    """Remove and return the first entry, as PyTorch does."""
    if not self:
        raise RuntimeError("popitem(): dictionary is empty")
    key = next(iter(self))
    return key, self.pop(key)


def dict_delete(self, key):
    if key not in self:
        raise missing(key)
    del self[key]


def dict_set(self, key, value):
    self[key] = value


def dict_setdefault(self, key, value):
    return self.setdefault(key, value)


declare("aten::dict() -> Dict(str, Tensor)", dict, "primitive")
for _k in KEYS:
    _dict = f"Dict({_k}, t)"
    for _text, _kernel in (
        (f"len.Dict_{_k}({_dict} self) -> int", len),
        (f"keys.{_k}({_dict} self) -> {_k}[](*)", list),
        (f"values.{_k}({_dict} self) -> t[](*)", lambda self: list(self.values())),
        (f"items.{_k}({_dict} self) -> (({_k}, t)[])", lambda self: list(self.items())),
        (f"__getitem__.Dict_{_k}({_dict} self, {_k} key) -> t(*)", dict_get),
        (f"get.{_k}({_dict} self, {_k} key) -> t(*)?", dict.get),
        (f"get.default_{_k}({_dict} self, {_k} key, t default_value) -> t(*)", dict_get_or),
        (
            f"setdefault.{_k}({_dict}(a!) self, {_k}(b -> *) key, t(c -> *) default_value) -> t(*)",
            dict_setdefault,
        ),
        (f"Delete.Dict_{_k}({_dict}(a!) self, {_k} key) -> ()", dict_delete),
        (f"pop.Dict_{_k}({_dict}(a!) self, {_k} key) -> t(*)", dict_pop),
        (
            f"pop.Dict_default_{_k}({_dict}(a!) self, {_k} key, t default_value) -> t(*)",
            dict_pop_or,
        ),
        (f"popitem.{_k}({_dict}(a!) self) -> (({_k}, t))", dict_popitem),
        (f"clear.{_k}({_dict}(a!) self) -> ()", dict.clear),
        (f"update.{_k}({_dict}(a!) self, {_dict}(a!) to_add) -> ()", dict.update),
        (f"copy.Dict_{_k}({_dict}(a) self) -> {_dict}", dict),
        (f"__contains__.{_k}({_dict} dict, {_k} key) -> bool", lambda self, key: key in self),
        (f"_set_item.{_k}({_dict}(a!) l, {_k}(b -> *) idx, t(c -> *) v) -> ()", dict_set),
        (f"dict.{_k}(({_k}, tVal)[] inputs) -> Dict({_k}, tVal)", dict),
        (f"dict.Dict_{_k}({_dict}(a) self) -> {_dict}", dict),
    ):
        declare(f"aten::{_text}", _kernel, "primitive")
    describe(f"update.{_k}", stores=(0, 1))
    describe(f"setdefault.{_k} _set_item.{_k}", stores=(0, 2))
    describe(f"len.Dict_{_k}", total=True)
