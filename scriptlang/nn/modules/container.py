"""Modules that contain modules or parameters: sequences, lists, dicts."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any, Iterator

from ...tensor_types import typename
from ...tensors import Tensor
from ..parameter import Parameter
from .module import Module, indented, is_submodule


class _Sequence(Module):
    """Submodules named "0", "1", ...: the common part of Sequential and ModuleList."""

    def _key(self, index: int) -> str:
        """The name of the element at an index, which may be negative. Raises IndexError."""
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return next(islice(self._modules, index % len(self), None))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._part(list(self._modules.items())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Module]) -> None:
        self._modules = {str(i): m for i, m in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [n for n in super().__dir__() if not n.isdigit()]

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        if not is_submodule(module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        for module in list(modules):
            self.append(module)
        return self

    def pop(self, index: int | slice) -> Module:
        module = self[index]
        del self[index]
        return module


class Sequential(_Sequence):
    """Calls modules one after another: `Sequential(a, b)(x)` is `b(a(x))`.

    The arguments are modules, or an OrderedDict that names them.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = (
            args[0].items()
            if len(args) == 1 and isinstance(args[0], OrderedDict)
            else ((str(i), m) for i, m in enumerate(args))
        )
        for name, module in named:
            self.add_module(name, module)

    def _part(self, items: list[tuple[str, Module]]) -> Sequential:
        return type(self)(OrderedDict(items))

    def _joined(self, other: Any, what: str) -> list[Module]:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"{what} operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )
        return [*self, *other]

    def __add__(self, other: Sequential) -> Sequential:
        return Sequential(*self._joined(other, "add"))

    def __iadd__(self, other: Sequential) -> Sequential:
        for module in self._joined(other, "add")[len(self) :]:
            self.append(module)
        return self

    def __mul__(self, times: int) -> Sequential:
        return Sequential(*list(self) * _times(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Sequential:
        return self.extend(list(self) * (_times(times) - 1))

    def forward(self, input):
        for module in self:
            input = module(input)
        return input


def _times(times: int) -> int:
    if not isinstance(times, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(times)}")
    if times <= 0:
        raise ValueError(f"Non-positive multiplication factor {times} for {Sequential}")
    return times


class ModuleList(_Sequence):
    """A list of modules; it has no `forward` of its own."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _part(self, items: list[tuple[str, Module]]) -> ModuleList:
        return type(self)(m for _, m in items)

    def __iadd__(self, modules: Iterable[Module]) -> ModuleList:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                f"{type(modules).__name__}"
            )
        return super().extend(modules)

    def __repr__(self) -> str:
        """Print equal neighbours only once: `(0-2): 3 x ReLU()`."""
        runs: list[list] = []
        for i, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({a}): {indented(text)}" if a == b else f"({a}-{b}): {b - a + 1} x {indented(text)}"
            for a, b, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules by name; it has no `forward` of its own."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Module:
        return self._modules.pop(key)

    def keys(self) -> Any:
        return self._modules.keys()

    def items(self) -> Any:
        return self._modules.items()

    def values(self) -> Any:
        return self._modules.values()

    def update(self, modules: Mapping[str, Module]) -> None:
        for name, module in pairs(modules, "ModuleDict"):
            self[name] = module


def pairs(given: Any, what: str) -> Iterator[tuple[str, Any]]:
    """The (key, value) pairs of a mapping or of an iterable of pairs.
    Raises TypeError or ValueError."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{what}.update should be called with an iterable of key/value pairs, but "
            f"got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        yield from given.items()
        return
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(
                f"{what} update sequence element #{i} should be Iterable; is {type(pair).__name__}"
            )
        if len(pair) != 2:
            raise ValueError(
                f"{what} update sequence element #{i} has length {len(pair)}; 2 is required"
            )
        yield tuple(pair)


class _Values(Module):
    """Parameters and other values by name: the common part of ParameterList and ParameterDict."""

    def _put(self, name: str, value: Any) -> None:
        """Set an attribute; a tensor becomes a Parameter."""
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value, requires_grad=value.dtype.kind in "fc")
        setattr(self, name, value)

    def _described(self, label: str, value: Any, of: str) -> str:
        """One line of the printed module; of: how it introduces the size of a tensor."""
        if not isinstance(value, Tensor):
            return f"  ({label}): Object of type: {type(value).__name__}"
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        shape = "x".join(map(str, value.shape))
        return f"  ({label}): {kind} containing: [{of} of size {shape}]"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self._get_name()} should not be called.")


class ParameterList(_Values):
    """A list of parameters; tensors that are added become Parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def _name(self, index: int) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(*index.indices(len(self))))
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._name(index), value)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def __dir__(self) -> list[str]:
        return [n for n in super().__dir__() if not n.isdigit()]

    def append(self, value: Any) -> ParameterList:
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                f"{type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            self._described(str(i), p, isinstance(p, Tensor) and f"torch.{p.dtype.name}")
            for i, p in enumerate(self)
        )


class ParameterDict(_Values):
    """A dict of parameters; tensors that are added become Parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a "
                f"string (type is '{type(key).__name__}'). Open an issue on github if "
                "you need non-string keys."
            )
        self._keys[key] = None
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def keys(self) -> Any:
        return self._keys.keys()

    def values(self) -> Any:
        return (self[k] for k in self._keys)

    def items(self) -> Any:
        return ((k, self[k]) for k in self._keys)

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        for key in list(self._keys):
            del self[key]

    def copy(self) -> ParameterDict:
        return ParameterDict(OrderedDict(self.items()))

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        return ParameterDict((k, default) for k in keys)

    def update(self, parameters: Any) -> None:
        for key, value in pairs(parameters, "ParameterDict"):
            self[key] = value

    def __or__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict(chain(self.items(), other.items()))

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        return ParameterDict(chain(other.items(), self.items()))

    def __ior__(self, other: ParameterDict) -> ParameterDict:
        self.update(other)
        return self

    def extra_repr(self) -> str:
        return "\n".join(self._described(k, p, typename(p)) for k, p in self.items())
