"""A call on an engine, and what came of it as plain data.

An outcome is ("ok", result, arguments afterwards, which arguments' memory results share) or
("error", class, message).  Tensors are ("tensor", type, size, elements).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from scriptlang import types as T
from scriptlang.limits import Limits
from scriptlang.ops import table

from . import values
from .values import Builder, Call

SEED = 20190620
MEMORY = 1 << 28
"""Bytes that a call may ask for."""
SHOWN = 1 << 14
"""Of larger tensors only about so many elements are looked at."""


def looked_at(array: np.ndarray) -> np.ndarray:
    if array.size <= SHOWN:
        return np.array(array)
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat
    return np.array(flat[:: array.size // SHOWN + 1])


def looked_at_text(text: str) -> Any:
    """A text; of one that is very long, how long it is and its beginning and end."""
    return text if len(text) <= SHOWN else ("text", len(text), text[:99], text[-99:])


def readable(array: np.ndarray) -> np.ndarray:
    """bfloat16 and float8 as float32, which numpy knows."""
    return (
        array.astype(np.float32)
        if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float8"))
        else array
    )


def type_of(value: Any) -> T.Type:
    """The type of an argument; lists and dicts hold what their first element is."""
    if isinstance(value, list):
        return T.ListType(type_of(value[0]) if value else T.INT)
    if isinstance(value, dict):
        key, element = next(iter(value.items()), (0, 0))
        return T.DictType(type_of(key), type_of(element))
    if isinstance(value, tuple):
        return T.TupleType(tuple(map(type_of, value)))
    plain = {
        type(None): T.NONE,
        bool: T.BOOL,
        int: T.INT,
        float: T.FLOAT,
        complex: T.COMPLEX,
        str: T.STR,
    }
    return plain.get(type(value), T.TENSOR)


def bind(formal: T.Type, value: Any, variables: dict[str, T.Type]) -> None:
    """Note what the type variables of an argument's type are."""
    if isinstance(formal, T.VarType):
        variables.setdefault(formal.name, type_of(value))
    elif isinstance(formal, T.OptionalType) and value is not None:
        bind(formal.element, value, variables)
    elif isinstance(formal, T.ListType) and isinstance(value, list) and value:
        bind(formal.element, value[0], variables)
    elif isinstance(formal, T.DictType) and isinstance(value, dict) and value:
        for part, given in zip((formal.key, formal.value), next(iter(value.items()))):
            bind(part, given, variables)


class Scriptlang:
    """One of our engines; the memory of arguments is the native engine's where that is there."""

    def __init__(self, name: str):
        from scriptlang.interpreter.engine import engine

        from tests.ops.one_operator import program

        self.name, self.engine, self.program = name, engine(name), program
        self.limits = Limits(memory=MEMORY) if name == "native" else None

    def run(self, call: Call) -> tuple:
        from scriptlang.ops.families import random

        name, _, overload = call.overload.partition(".")
        operator = table.find(name, overload)
        builder = Builder(self.tensor, self.view, self.quantized, self.packed, self.device)
        try:
            given = [builder.of(v) for v in call.arguments]
        except Exception as error:
            return "unbuilt", type(error).__name__, str(error)[:200]
        random.manual_seed(SEED)
        memories = [t._storage for t in builder.held]
        try:
            with np.errstate(all="ignore"):
                result = self.call(operator, given)
            return ("ok", self.told(result), self.told(given), self.shares(result, memories))
        except Exception as error:
            return "error", type(error).__name__, str(error)[:300]

    def call(self, operator, given: list) -> Any:
        """Bools that stand for numbers are constants of the program, as functions take none."""
        constants = [
            i
            for i, (a, v) in enumerate(zip(operator.schema.arguments, given))
            if isinstance(v, bool) and "Scalar" in a.text
        ]
        variables: dict = {}
        for a, v in zip(operator.schema.arguments, given):
            bind(a.type, v, variables)
        function = self.program(
            operator, tuple((i, given[i]) for i in constants), tuple(variables.items())
        )
        taken = [v for i, v in enumerate(given) if i not in constants]
        return self.engine.run(function, taken, limits=self.limits)

    # values

    def storage(self, data: np.ndarray):
        from scriptlang.tensors import Storage, Tensor

        flat = data.view(np.uint8) if data.size else np.empty(0, np.uint8)
        if self.name != "native":
            return Storage(np.array(flat))
        made = self.call(table.find("aten::clone"), [Tensor._wrap(np.array(flat)), None])
        return made._storage

    def tensor(self, t: values.T, data: np.ndarray):
        from scriptlang import dtypes
        from scriptlang.tensors import Tensor

        return Tensor(self.storage(data), dtypes.as_dtype(t.dtype), t.size, t.stride, t.offset)

    def view(self, t, v: values.V):
        from scriptlang.tensors import Tensor

        return Tensor(t._storage, t.dtype, v.size, v.stride, v.offset)

    def quantized(self, codes, scale, zero_point, axis):
        from scriptlang import dtypes
        from scriptlang.ops.quantization.quantized_tensors import (
            CODES,
            ChannelQuantizer,
            Quantizer,
            of_codes,
        )
        from scriptlang.tensors import from_numpy

        kind = next(q for q, c in CODES.items() if c is codes.dtype)
        if axis is None:
            return of_codes(codes, kind, Quantizer(scale, zero_point))
        n = codes.size(axis)
        return of_codes(
            codes,
            dtypes.as_dtype(kind),
            ChannelQuantizer(
                from_numpy(np.full(n, scale, np.float64)), from_numpy(np.full(n, zero_point)), axis
            ),
        )

    def packed(self, operator: str, arguments: list):
        name, _, overload = operator.partition(".")
        return self.call(table.find(name, overload), arguments)

    def device(self, name: str):
        from scriptlang.objects import Device

        return Device(name)

    # outcomes

    def told(self, value: Any) -> Any:
        from scriptlang.tensors import Tensor

        if isinstance(value, Tensor):
            array = value.codes._array if hasattr(value, "codes") else value._array
            return "tensor", value.dtype.name, tuple(value._size), readable(looked_at(array))
        if isinstance(value, (list, tuple)):
            return (
                type(value)(map(self.told, value))
                if type(value) in (list, tuple)
                else tuple(map(self.told, value))
            )
        if isinstance(value, dict):
            return "dict", [(self.told(k), self.told(v)) for k, v in value.items()]
        if isinstance(value, str):
            return looked_at_text(value)
        if value is None or isinstance(value, (bool, int, float, complex)):
            return value
        if hasattr(value, "slots"):
            return "object", [self.told(v) for v in value.slots]
        return "other", str(value)

    def shares(self, result: Any, memories: list) -> list:
        """For each tensor of a result, the first argument tensor whose memory it shares, or -1."""
        from scriptlang.tensors import Tensor

        if isinstance(result, Tensor):
            if not result.numel():
                return []
            place = self.place(result._storage)
            return [next((k for k, m in enumerate(memories) if self.place(m) == place), -1)]
        if isinstance(result, (list, tuple)):
            return [p for v in result for p in self.shares(v, memories)]
        return []

    @staticmethod
    def place(storage) -> int:
        return storage.data.__array_interface__["data"][0]


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self.torch = torch
        self.dtypes = {}
        from scriptlang import dtypes

        for code in range(64):
            try:
                self.dtypes[code] = getattr(torch, dtypes.by_code(code).name)
            except (RuntimeError, AttributeError, KeyError, ValueError):
                pass
        self.formats = {
            0: torch.contiguous_format,
            1: torch.preserve_format,
            2: torch.channels_last,
            3: torch.channels_last_3d,
        }

    def run(self, call: Call) -> tuple:
        torch = self.torch
        name, _, overload = call.overload.partition(".")
        schema = table.find(name, overload).schema
        try:
            operator = torch._C._get_operation_overload(name, overload)
            if operator is None:
                return "unbuilt", "RuntimeError", "no such overload"
            operator = operator[0]
            builder = Builder(self.tensor, self.view, self.quantized, self.packed, torch.device)
            given = [builder.of(v) for v in call.arguments]
            passed = [self.converted(a.text, v) for a, v in zip(schema.arguments, given)]
        except Exception as error:
            return "unbuilt", type(error).__name__, str(error)[:200]
        memories = [t.untyped_storage()._cdata for t in builder.held]
        named = {a.name: v for a, v in zip(schema.arguments, passed) if a.kwarg_only}
        placed = [v for a, v in zip(schema.arguments, passed) if not a.kwarg_only]
        torch.manual_seed(SEED)
        try:
            result = operator(*placed, **named)
            return ("ok", self.told(result), self.told(given), self.shares(result, memories))
        except Exception as error:
            text = str(error).split("\n")[0][:300]
            # What PyTorch itself calls a bug says nothing of what is right.
            kind = "unbuilt" if "INTERNAL ASSERT" in text else "error"
            return kind, type(error).__name__, text

    def converted(self, text: str, v: Any) -> Any:
        if type(v) is int:
            if text.startswith("ScalarType"):
                return self.dtypes[v]
            if text.startswith("MemoryFormat"):
                return self.formats[v]
            if text.startswith("Layout"):
                return {0: self.torch.strided}[v]
        return v

    def tensor(self, t: values.T, data: np.ndarray):
        torch = self.torch
        raw = torch.empty(data.nbytes, dtype=torch.uint8)  # memory that out= may resize
        raw.copy_(torch.from_numpy(np.array(data.view(np.uint8))))
        made = torch.empty(0, dtype=getattr(torch, t.dtype))
        return made.set_(raw.untyped_storage(), t.offset, t.size, t.stride)

    def view(self, t, v: values.V):
        made = self.torch.empty(0, dtype=t.dtype)
        return made.set_(t.untyped_storage(), v.offset, v.size, v.stride)

    def quantized(self, codes, scale, zero_point, axis):
        torch = self.torch
        if axis is None:
            return torch._make_per_tensor_quantized_tensor(codes, scale, zero_point)
        n = codes.size(axis)
        return torch._make_per_channel_quantized_tensor(
            codes, torch.full((n,), scale, dtype=torch.float64), torch.full((n,), zero_point), axis
        )

    def packed(self, operator: str, arguments: list):
        return self.torch._C._get_operation_overload(operator, "")[0](*arguments)

    def told(self, value: Any) -> Any:
        torch = self.torch
        if isinstance(value, torch.Tensor):
            value = value.detach()
            name = str(value.dtype).removeprefix("torch.")
            if value.is_quantized:
                value = value.int_repr()
            if value.is_sparse or value.layout is not torch.strided:
                return "other", str(value.layout)
            value = value.resolve_conj().resolve_neg()
            if name.startswith(("bfloat16", "float8")):
                value = value.to(torch.float32)
            return "tensor", name, tuple(value.shape), looked_at(value.numpy())
        if isinstance(value, (list, tuple)):
            return (
                type(value)(map(self.told, value))
                if type(value) in (list, tuple)
                else tuple(map(self.told, value))
            )
        if isinstance(value, dict):
            return "dict", [(self.told(k), self.told(v)) for k, v in value.items()]
        if isinstance(value, str):
            return looked_at_text(value)
        if value is None or isinstance(value, (bool, int, float, complex)):
            return value
        return "other", str(value)

    def shares(self, result: Any, memories: list) -> list:
        torch = self.torch
        if isinstance(result, torch.Tensor):
            if result.layout is not torch.strided or not result.numel():
                return []
            place = result.untyped_storage()._cdata
            return [next((k for k, m in enumerate(memories) if m == place), -1)]
        if isinstance(result, (list, tuple)):
            return [p for v in result for p in self.shares(v, memories)]
        return []


def make(name: str):
    """The engine of that name: native, python or torch."""
    if name == "torch":
        return Torch()
    sys.setrecursionlimit(5000)
    return Scriptlang(name)
