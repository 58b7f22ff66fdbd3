"""Random calls from schemas: `call_of(overload, seed, number)` is always the same call."""

from __future__ import annotations

import math
import random as random_module
from typing import Any

from scriptlang import dtypes
from scriptlang import types as T
from scriptlang.ops import table
from scriptlang.schema import Argument
from scriptlang.tensors import contiguous_strides

from . import names, recipes, samples, values
from .values import Call

ROOM = 1 << 16
"""Elements that the memory of a tensor may have."""

HUGE = 1 << 21
"""A plausible list of sizes asks for no more elements."""

MEANT = (("quantized", 1.0), ("prepacked", 1.0))


def call_of(overload: str, seed: int, number: int) -> Call:
    """One call.  Of three, about one is a sample with changes, one plausible, one hostile."""
    random = random_module.Random(f"{seed}/{overload}/{number}")
    name, _, short = overload.partition(".")
    schema = table.find(name, short).schema
    sampled = samples.arguments_for(overload)
    way = random.random()
    base = random.choice(sampled) if sampled and way < 0.5 else None
    hostility = 0.0 if way < 0.3 else 0.12 if way < 0.8 else 0.5
    maker = Maker(random, name, hostility)
    if base is None:
        base = recipes.arguments_for(overload, maker) if way < 0.8 else {}
    arguments = [maker.argument(a, base) for a in schema.arguments]
    if random.random() < hostility or base and random.random() < 0.6:
        arguments = maker.changed(arguments)
    arguments = maker.shared(arguments)
    if (
        len(arguments) > 1
        and isinstance(arguments[0], dict)
        and arguments[0]
        and schema.arguments[1].name == "key"
        and maker.chance(0.6)
    ):
        arguments[1] = maker.pick(list(arguments[0]))
    return Call(overload, arguments)


class Maker:
    """Makes the arguments of one call, which have sizes, a type and a rank in common."""

    def __init__(self, random: random_module.Random, name: str, hostility: float):
        self.random, self.hostility = random, hostility
        self.name = name.partition("::")[2]
        self.quantized = name.startswith("quantized::") or "quant" in name
        self.dtype = random.choice(names.COMMON)
        self.rank = random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5))
        n = random.choice((1, 2, 3, 4, 5))
        self.size = (
            (n,) * self.rank
            if random.random() < 0.45
            else tuple(random.choice((1, 2, 2, 3, 3, 4, 5, 7)) for _ in range(self.rank))
        )
        if random.random() < 0.04 and self.rank:
            k = random.randrange(self.rank)
            self.size = (*self.size[:k], 0, *self.size[k + 1 :])
        self.element = random.choice((T.INT, T.FLOAT, T.STR, T.TENSOR, T.BOOL))
        self.spread = random.choice(("plain",) * 6 + ("unit", "unit", "positive", "wild", "ones"))

    def pick(self, options):
        return options[self.random.randrange(len(options))]

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # arguments

    def argument(self, a: Argument, base: dict) -> Any:
        if (
            a.name in base
            and not (self.chance(self.hostility / 2))
            and ("Tensor" in a.text or not isinstance(base[a.name], values.T))
        ):
            return self.laid(base[a.name])
        if a.name == "out" or a.alias and a.alias.is_write and a.kwarg_only:
            return self.output(a)
        if a.has_default and self.chance(0.3 if not base else 0.8):
            value = list(a.default) if isinstance(a.default, (list, tuple)) else a.default
            if a.size and isinstance(value, (int, float)):
                value = [value] * a.size
            return value
        return self.of(a.type, a)

    def of(self, t: T.Type, a: Argument) -> Any:
        """A value of a type; `a` says what it is for."""
        if isinstance(t, T.OptionalType):
            return None if self.chance(0.4) else self.of(t.element, a)
        if t == T.TENSOR:
            return self.tensor(a.name)
        if t == T.INT:
            return self.integer(a)
        if t == T.FLOAT:
            return self.number(a)
        if t == T.BOOL:
            return self.chance(0.5)
        if t == T.NUMBER:
            return self.scalar(a)
        if t == T.COMPLEX:
            return complex(self.number(a), self.number(a))
        if t == T.STR:
            return self.text(a.name)
        if t == T.DEVICE:
            return values.D("cpu" if self.chance(0.9) else self.pick(("meta", "cuda:0")))
        if isinstance(t, T.ListType):
            return self.list_of(t.element, a)
        if isinstance(t, T.TupleType):
            return tuple(self.of(part, a) for part in t.elements)
        if isinstance(t, T.DictType):
            return {self.of(t.key, a): self.of(t.value, a) for _ in range(self.pick((0, 1, 2, 3)))}
        if isinstance(t, T.ClassType):
            return self.packed(str(t))
        if isinstance(t, T.VarType):
            return self.of(self.element, a)
        if "Generator" in str(t) or "Enum" in str(t):
            return None
        return self.of(self.element, a)  # Any

    def integer(self, a: Argument) -> int:
        if self.chance(self.hostility):
            return self.pick(names.EXTREME_INTS)
        if a.text.startswith("ScalarType") or a.name == "dtype":
            if "quantize" in self.name:
                return self.pick((12, 13, 14))
            return dtypes.as_dtype(self.dtype if self.chance(0.5) else self.pick(names.COMMON)).code
        if a.name in names.DIMS:
            return self.random.randrange(-self.rank, self.rank) if self.rank else self.pick((0, -1))
        if a.name in names.NUMBERS:
            return self.pick(names.NUMBERS[a.name])
        return self.pick((0, 1, 1, 2, 2, 3, 4, 5, -1))

    def number(self, a: Argument) -> float:
        if self.chance(self.hostility):
            return self.pick(names.EXTREME_FLOATS)
        if a.name in ("p", "dropout", "momentum", "q", "alpha", "lower", "upper", "scale"):
            return self.pick((0.0, 0.1, 0.25, 0.5, 1.0))
        if a.name in ("eps", "scales_w", "scales_h", "scales_d", "scales", "std", "output_scale"):
            return self.pick((1e-5, 0.5, 1.0, 2.0, 0.1))
        return self.pick((0.0, 0.5, 1.0, 1.5, 2.0, -0.5, -1.0, 3.0, 0.1))

    def scalar(self, a: Argument) -> Any:
        kind = self.pick("iiiffffbc")
        if kind == "b":
            return self.chance(0.5)
        if kind == "c":
            return complex(self.number(a), self.number(a))
        return self.integer(a) if kind == "i" else self.number(a)

    def text(self, name: str) -> str:
        if self.chance(self.hostility):
            return self.pick(names.HOSTILE_TEXT)
        return self.pick(names.TEXTS.get(name, names.ANY_TEXT))

    def list_of(self, element: T.Type, a: Argument) -> list:
        length = self.length(a, element)
        if (
            element == T.INT
            and a.name in names.DIMS
            and self.rank
            and not self.chance(self.hostility)
        ):
            dims = self.random.sample(range(self.rank), min(length, self.rank))
            return [d - self.rank if self.chance(0.3) else d for d in dims]
        if element == T.INT and a.name in names.LISTS and not self.chance(self.hostility):
            pool = names.LISTS[a.name]
            if self.chance(0.3):
                return [self.pick(pool)] * length
            return [self.pick(pool) for _ in range(length)]
        if element == T.INT and a.name == "stride":
            return list(contiguous_strides(self.size))
        return [self.of(element, a) for _ in range(length)]

    def length(self, a: Argument, element: T.Type) -> int:
        if self.chance(self.hostility / 2):
            return self.pick((0, 1, 2, 3, 5, 7, 9))
        if a.size:
            return a.size if self.chance(0.95) else self.pick((0, 1, a.size + 1))
        if a.name in ("size", "shape", "repeats", "strides"):
            return self.rank if self.chance(0.7) else self.pick((0, 1, 2, 3, 4))
        if a.name in ("kernel_size", "stride", "padding", "dilation", "output_size"):
            return max(self.rank - 2, 1)
        return self.pick((0, 1, 1, 2, 2, 2, 3, 4))

    # tensors

    def tensor(self, name: str) -> Any:
        size, dtype, fill = self.size, self.dtype, self.spread
        if self.chance(self.hostility):
            dtype = self.pick(names.DTYPES + names.RARE)
        elif self.chance(0.06):
            dtype = self.pick(names.DTYPES)
        if name in names.INDICES or name in names.MASKS:
            dtype = "bool" if name in names.MASKS else self.pick(("int64",) * 5 + ("int32",))
            fill = f"index:{max(min(self.size, default=1), 1)}"
            if self.chance(0.1):
                fill = f"signed:{max(min(self.size, default=1), 1)}"
            if self.chance(self.hostility):
                fill = "wild"
            if name in names.INDICES and self.chance(0.4):
                size = (self.pick((0, 1, 2, 3)),)
        elif name in names.VECTORS and self.chance(0.75):
            size = (self.size[1] if self.rank > 1 else self.size[0] if self.rank else 1,)
        elif self.chance(0.25):
            size = self.broadcast()
        if name in names.POSITIVE:
            fill = "positive"
        if self.chance(self.hostility):
            size = tuple(self.pick((0, 1, 2, 3, 9, 17)) for _ in range(self.pick((0, 1, 2, 3, 6))))
        if self.chance(0.003):
            size, fill = (self.pick((1000, 4097, 3001)),) * min(self.rank, 1), "plain"
        t = self.layout(dtype, size, fill)
        if (
            self.quantized
            and (name.startswith("q") or name in ("x", "X", "input", "self"))
            and self.chance(0.8)
        ):
            return self.quantize(t)
        return t

    def quantize(self, t: values.T) -> values.Q:
        codes = t._replace(dtype=self.pick(("uint8", "uint8", "int8", "int32")))
        zero = self.pick((0, 3, 100))
        return values.Q(codes, self.pick((0.05, 0.5, 1.0)), zero, None)

    def broadcast(self) -> tuple:
        """Sizes that broadcast with the common ones."""
        size = (
            self.size[self.random.randrange(self.rank) :]
            if self.rank and self.chance(0.5)
            else self.size
        )
        return tuple(1 if self.chance(0.3) else n for n in size)

    def layout(self, dtype: str, size: tuple, fill: str) -> values.T:
        """A tensor of these sizes whose memory is exactly as large as it must be."""
        how, rank = self.random.random(), len(size)
        stride, offset = list(contiguous_strides(size)), 0
        if how < 0.55 or not rank:
            pass
        elif how < 0.70:  # dimensions in another order
            order = list(range(rank))
            self.random.shuffle(order)
            step = 1
            for d in order:
                stride[d], step = step, step * max(size[d], 1)
        elif how < 0.78:  # with gaps
            stride = [s * 2 for s in stride]
        elif how < 0.88:  # expanded
            for d in range(rank):
                if self.chance(0.5):
                    stride[d] = 0
        elif how < 0.92 and rank > 1:  # channels last
            order = [*range(2, rank), 1] if rank > 2 else [0]
            step = size[1] if rank > 2 else 1
            stride[1] = 1
            for d in reversed(order[:-1] if rank > 2 else order):
                stride[d], step = step, step * max(size[d], 1)
            stride[0] = step
        elif how < 0.95:  # overlapping
            stride = [self.pick((0, 1, 1, 2, 3)) for _ in stride]
        if self.chance(0.12):
            offset = self.pick((1, 2, 3, 5))
        return self.placed(dtype, size, stride, offset, fill)

    def placed(self, dtype, size, stride, offset, fill) -> values.T:
        while math.prod(size) > ROOM or self.reach(size, stride) > ROOM:
            size = tuple(min(n, max(n // 2, 1)) for n in size)
            stride = list(contiguous_strides(size))
        room = offset + self.reach(size, stride)
        return values.T(
            dtype, tuple(size), tuple(stride), offset, room, fill, self.random.randrange(1 << 31)
        )

    @staticmethod
    def reach(size, stride) -> int:
        return 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride))

    def laid(self, value: Any) -> Any:
        """A value of a sample, its tensors perhaps in another layout."""
        if isinstance(value, values.T):
            if self.chance(0.6):
                return value
            return self.layout(value.dtype, value.size, value.fill)
        if type(value) in (list, tuple):
            return type(value)(self.laid(v) for v in value)
        return value

    def output(self, a: Argument) -> Any:
        if isinstance(a.type, T.ListType):
            return [self.output_tensor() for _ in range(self.pick((0, 1, 2, 3)))]
        return self.output_tensor()

    def output_tensor(self) -> values.T:
        dtype = self.pick(names.COMMON) if self.chance(0.3) else self.dtype
        if self.chance(0.75):
            return values.T(dtype, (0,), (1,), 0, 0, "zeros", 0)
        return self.layout(dtype, self.size, "plain")

    def packed(self, name: str) -> values.P:
        """Packed weights of a quantized layer."""
        from .packing import packed

        return packed(self, name)

    # changes

    def changed(self, arguments: list) -> list:
        """One to three arguments changed: a size, a type, a number, a list."""
        arguments = list(arguments)
        for _ in range(self.pick((1, 1, 2, 3)) if arguments else 0):
            k = self.random.randrange(len(arguments))
            arguments[k] = self.change(arguments[k])
        return arguments

    def change(self, value: Any) -> Any:
        if isinstance(value, values.T):
            return self.change_tensor(value)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            near = min(max(value + self.pick((1, -1)), -(2**63)), 2**63 - 1)
            return near if self.chance(0.6) else self.pick(names.EXTREME_INTS)
        if isinstance(value, float):
            return self.pick(names.EXTREME_FLOATS)
        if isinstance(value, str):
            return self.pick(names.HOSTILE_TEXT + names.ANY_TEXT)
        if isinstance(value, list):
            value = list(value)
            how = self.pick("aacdd")
            if how == "a" and value:
                k = self.random.randrange(len(value))
                value[k] = self.change(value[k])
            elif how == "c" and value:
                value.append(value[-1])
            elif value:
                value.pop()
            return value
        return value

    def change_tensor(self, t: values.T) -> values.T:
        how, size = self.pick("tssssf"), list(t.size)
        if how == "t":
            return t._replace(dtype=self.pick(names.DTYPES))
        if how == "f" and not t.fill.startswith("sample"):
            return t._replace(fill="wild")
        if size and self.chance(0.7):
            size[self.random.randrange(len(size))] = self.pick((0, 1, 2, 3, 5, 17))
        elif self.chance(0.5):
            size.insert(self.random.randrange(len(size) + 1), self.pick((1, 1, 2)))
        elif size:
            size.pop(self.random.randrange(len(size)))
        return self.layout(t.dtype, tuple(size), t.fill)

    def shared(self, arguments: list) -> list:
        """Now and then one tensor is another once more, or a view of its memory."""
        if not self.chance(0.1):
            return arguments
        made = [v for v in _tensors_in(arguments)]
        places = [k for k, v in enumerate(arguments) if isinstance(v, values.T)]
        if len(places) < 2 or any(isinstance(v, (values.V, values.A)) for v in arguments):
            return arguments
        k = places[-1] if self.chance(0.5) else self.pick(places[1:])
        before = len([*_tensors_in(arguments[:k])])
        if before == 0:
            return arguments
        other = self.random.randrange(before)
        arguments = list(arguments)
        arguments[k] = values.A(other) if self.chance(0.5) else self.view_of(other, made[other])
        return arguments

    def view_of(self, k: int, t: values.T) -> values.V:
        size, stride, offset = list(t.size), list(t.stride), t.offset
        if len(size) > 1 and self.chance(0.5):
            size.reverse()
            stride.reverse()
        elif size and size[0] > 1 and self.chance(0.7):
            size[0] -= 1
            offset += stride[0] if self.chance(0.5) else 0
        return values.V(k, tuple(size), tuple(stride), offset)


def _tensors_in(value: Any):
    """The T in values, in the order in which they are built."""
    if isinstance(value, values.T):
        yield value
    elif isinstance(value, values.Q):
        yield from _tensors_in(value.codes)
    elif isinstance(value, values.P):
        yield from _tensors_in(value.arguments)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _tensors_in(v)
    elif isinstance(value, dict):
        for k, v in value.items():
            yield from _tensors_in(k)
            yield from _tensors_in(v)
