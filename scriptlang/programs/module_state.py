"""The state of a ScriptModule: access to submodules, parameters and buffers by name.

Names are dotted, as in PyTorch (`layer.0.weight`). Tensors are the module's own, not copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from .. import dtypes
from .. import types as T
from ..dtypes import DType
from ..interpreter.gradients import give
from ..limits import Limits
from ..objects import ScriptObject, Snapshot
from ..tensors import Storage, Tensor, as_tensor

if TYPE_CHECKING:
    pass


class IncompatibleKeys(NamedTuple):
    """The names that were missing from a state_dict, and those that the module does not have."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self[0]}, unexpected_keys={self[1]})"


M = TypeVar("M", bound="ModuleState")


class ModuleState:
    """The methods of ScriptModule that read and change its state, as in torch.nn.Module."""

    if TYPE_CHECKING:  # what ScriptObjectFacade has

        def __init__(self, *args: Any) -> None: ...

        @property
        def _object_(self) -> ScriptObject: ...

        @property
        def _type(self) -> T.ClassType: ...

        _engine_: Any
        _limits_: Limits | None

    def named_children(self) -> Iterator[tuple[str, Any]]:
        for name in self._type.submodules():
            yield name, getattr(self, name)

    def children(self) -> Iterator[Any]:
        return (m for _, m in self.named_children())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all modules inside it, with dotted names; by default each once."""
        seen: set[int] = set() if memo is None else memo
        pending = [(prefix, self)]
        kept = []  # alive, so that their ids are not reused
        while pending:
            name, module = pending.pop()
            kept.append(module._object_)
            if id(module._object_) in seen:
                continue
            if remove_duplicate:
                seen.add(id(module._object_))
            yield name, module
            children = [(f"{name}.{n}" if name else n, m) for n, m in module.named_children()]
            pending += reversed(children)

    def modules(self) -> Iterator[Any]:
        return (m for _, m in self.named_modules())

    def _own_tensors(self, kind: str) -> Iterator[tuple[str, Tensor]]:
        for a in self._type.attributes:
            if a.kind == kind and self._object_.get(a.name) is not None:
                yield a.name, self._object_.get(a.name)

    def _named_tensors(self, kind: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Tensor]]:
        seen: dict[tuple[Any, ...], Tensor] = {}
        modules = self.named_modules(prefix=prefix) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, tensor in module._own_tensors(kind):
                place = place_of(tensor)
                if place not in seen:
                    seen[place] = tensor  # alive, so that its place is not reused
                    yield f"{path}.{name}" if path else name, tensor

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        return ((n, give(t)) for n, t in self._named_tensors("parameter", prefix, recurse))

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        return (t for _, t in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return ((n, give(t)) for n, t in self._named_tensors("buffer", prefix, recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        return (t for _, t in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Any:
        """The submodule with a dotted name. Raises AttributeError if there is none."""
        found = self
        for name in target.split(".") if target else ():
            if name not in dict(found.named_children()):
                raise AttributeError(f"{found._type.short_name} has no submodule {name!r}")
            found = getattr(found, name)
        return found

    def get_parameter(self, target: str) -> Tensor:
        return self._tensor(target, "parameter")

    def get_buffer(self, target: str) -> Tensor:
        return self._tensor(target, "buffer")

    def _tensor(self, target: str, kind: str) -> Tensor:
        path, _, name = target.rpartition(".")
        found = dict(self.get_submodule(path)._own_tensors(kind)).get(name)
        if found is None:
            raise AttributeError(f"there is no {kind} {target!r}")
        return give(found)

    # As a whole

    def state_dict(
        self, destination: dict[Any, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Parameters and buffers by dotted name, detached unless `keep_vars`.

        They share memory with the module.
        """
        state: dict[str, Tensor] = {} if destination is None else destination
        for path, module in self.named_modules(remove_duplicate=False):
            for kind in ("parameter", "buffer"):
                for name, tensor in module._own_tensors(kind):
                    kept = tensor if keep_vars else tensor.detach()
                    state[prefix + (f"{path}.{name}" if path else name)] = kept
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> IncompatibleKeys:
        """Copy the tensors of a state_dict into those of the module.

        Returns (missing_keys, unexpected_keys). Raises RuntimeError for different sizes, and if
        `strict`, for missing or unexpected names.
        """
        own: dict[str, Any] = dict(self.state_dict(keep_vars=True))
        missing = [n for n in own if n not in state_dict]
        unexpected = [n for n in state_dict if n not in own]
        problems = []
        if strict and missing:
            problems.append(f"Missing key(s) in state_dict: {', '.join(map(repr, missing))}.")
        if strict and unexpected:
            problems.append(f"Unexpected key(s) in state_dict: {', '.join(map(repr, unexpected))}.")
        given: dict[str, Any] = {n: as_tensor(v) for n, v in state_dict.items() if n in own}
        problems += [
            f"size mismatch for {n}: it is {tuple(own[n].shape)}, given {tuple(t.shape)}."
            for n, t in given.items()
            if tuple(t.shape) != tuple(own[n].shape)
        ]
        if problems:
            raise RuntimeError(
                f"Error(s) in loading state_dict for {self._type.short_name}:\n\t"
                + "\n\t".join(problems)
            )
        for name, tensor in given.items():
            own[name].detach().copy_(tensor)
        return IncompatibleKeys(missing, unexpected)

    def train(self: M, mode: bool = True) -> M:
        """Set `training` in this module and every submodule; returns the module."""
        for m in self.modules():
            if m._type.slot("training") is not None:
                m._object_.set("training", bool(mode))
        return self

    def eval(self: M) -> M:
        return self.train(False)

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        for p in self.parameters():
            p.requires_grad_(requires_grad)
            give(p)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of the parameters to None, or to zeros."""
        from ..ops.derivatives.members import clear_grad

        for p in self.parameters():
            clear_grad(p, set_to_none)

    def apply(self: M, fn: Callable[[Any], Any]) -> M:
        """Call `fn` with every submodule, inner ones first, and then with the module itself."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Convert parameters and buffers: `to(dtype)`, `to(device)`, `to(device, dtype)`,
        `to(tensor)`. A dtype only changes floating-point and complex tensors, a memory_format those
        with 4 (or 5) dimensions.

        A dtype may be one of ours or torch's, of Python or numpy, or a name. The device has to be
        the CPU.
        Raises TypeError for integral or invalid dtypes, and RuntimeError for other devices.
        """
        from ..ops.calling.options import To, check_module_to

        wanted = To(args, kwargs)
        check_module_to(wanted)
        return self._apply(wanted.convert)

    def _apply(self: M, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> M:
        """Replace every parameter and buffer by `fn` of it; fn is called once for each tensor."""
        made: dict[tuple[Any, ...], tuple[Tensor, Tensor]] = {}
        for m in self.modules() if recurse else (self,):
            for a in m._type.attributes:
                tensor = m._object_.get(a.name)
                if a.kind != "attribute" and tensor is not None:
                    if place_of(tensor) not in made:
                        made[place_of(tensor)] = tensor, fn(tensor)
                    m._object_.set(a.name, made[place_of(tensor)][1])
        return self

    def type(self: M, dst_type: Any) -> M:
        """Convert all parameters and buffers to a dtype, or to a named type (`torch.DoubleTensor`).

        Raises ValueError for an unknown name.
        """
        from ..ops.calling.tensor_methods import type_argument

        dtype = type_argument(dst_type)
        return self._apply(lambda t: t.to(dtype))

    def float(self: M) -> M:
        """Convert floating-point parameters and buffers to float32."""
        return self._cast(dtypes.float32)

    def double(self: M) -> M:
        """Convert floating-point parameters and buffers to float64."""
        return self._cast(dtypes.float64)

    def half(self: M) -> M:
        """Convert floating-point parameters and buffers to float16."""
        return self._cast(dtypes.float16)

    def bfloat16(self: M) -> M:
        """Convert floating-point parameters and buffers to bfloat16."""
        return self._cast(dtypes.bfloat16)

    def _cast(self: M, dtype: DType) -> M:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def cpu(self: M) -> M:
        return self

    def cuda(self: M, device: Any = None) -> M:
        """Raises RuntimeError: accelerators are not supported."""
        from ..ops.calling.options import ONLY_CPU

        raise RuntimeError(f"cuda: {ONLY_CPU}")

    ipu = xpu = mtia = cuda

    def to_empty(self: M, *, device: Any, recurse: bool = True) -> M:
        """Replace all tensors by uninitialised ones of the same size.
        Raises RuntimeError for other devices."""
        from ..ops.calling.options import device_argument

        if device is not None:
            device_argument(device)
        return self._apply(lambda t: t.new_empty(t.shape), recurse)

    def share_memory(self: M) -> M:
        """Move the tensors to shared memory, in which forked processes see each other's writes."""
        return self._apply(lambda t: t.share_memory_())

    def extra_repr(self) -> str:
        return f"original_name={self._type.short_name}"

    # Copies

    def __copy__(self: M) -> M:
        obj = self._object_
        return type(self)(ScriptObject(obj.type, list(obj.slots)), self._engine_, self._limits_)

    def _repr_html_(self) -> str:
        """The HTML that notebooks show: a collapsible tree of the modules."""
        from ..pictures.notebook import module_html

        return module_html(self._object_)

    def __deepcopy__(self: M, memo: dict[Any, Any]) -> M:
        return type(self)(deep_copy(self._object_, memo), self._engine_, self._limits_)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_pickling("ScriptModule")


def refuse_pickling(name: str) -> NoReturn:
    from pickle import PickleError

    raise PickleError(f"a {name} cannot be pickled; use scriptlang.save")


def place_of(tensor: Tensor) -> tuple[Any, ...]:
    """A key that all Tensors of one value share: the native engine returns a new one each time."""
    if tensor.is_quantized or not tensor.numel():
        return id(tensor), tensor.dtype
    return tensor.data_ptr(), tensor.dtype, tensor._size, tensor._stride


SNAPSHOT = "scriptlang.objects.Snapshot"
"""The key of a Snapshot in the memo of a deep copy."""


def deep_copy(value: Any, memo: dict[Any, Any]) -> Any:
    """A deep copy of a run-time value; memory that is shared stays shared."""
    if id(value) in memo:
        return memo[id(value)]
    memo.setdefault(id(memo), []).append(value)  # alive, so that its id is not reused
    made: Any
    if isinstance(value, ScriptObject):
        made = memo[id(value)] = ScriptObject(value.type, [None] * len(value.slots))
        if {"__getstate__", "__setstate__"} <= value.type.methods.keys():
            _restore(made, value, memo)
            return made
        slots = memo.setdefault(SNAPSHOT, Snapshot()).slots(value)
        made.slots[:] = [deep_copy(v, memo) for v in slots]
        return made
    if isinstance(value, Tensor):
        made = _copy_tensor(value, memo)
    elif type(value) is list:
        made = memo[id(value)] = []
        made += [deep_copy(v, memo) for v in value]
    elif type(value) is dict:
        made = {deep_copy(k, memo): deep_copy(v, memo) for k, v in value.items()}
    elif isinstance(value, tuple):
        parts = [deep_copy(v, memo) for v in value]
        made = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    else:
        return value
    memo[id(value)] = made
    return made


def _restore(made: ScriptObject, value: ScriptObject, memo: dict[Any, Any]) -> None:
    """Let a new object take a copy of another's state, by the methods that its class has for it."""
    from ..interpreter.engine import engine

    methods = value.type.methods
    state = deep_copy(engine("python").run(methods["__getstate__"], (value,)), memo)
    engine("python").run(methods["__setstate__"], (made, state))


def _copy_tensor(value: Tensor, memo: dict[Any, Any]) -> Tensor:
    storage = memo.get(id(value._storage))
    if storage is None:
        memo.setdefault(id(memo), []).append(value._storage)
        storage = memo[id(value._storage)] = Storage(value._storage.data.copy())
    made = Tensor(storage, value.dtype, value.shape, value.stride(), value.storage_offset())
    made._requires_grad = value._requires_grad
    return made


def saved(program: Any, extra_files: dict[Any, Any] | None) -> bytes:
    """The archive of a program."""
    import io

    buffer = io.BytesIO()
    program.save(buffer, extra_files)
    return buffer.getvalue()
