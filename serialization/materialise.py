"""Makes run-time values from unpickled trees: Tensors on the records, objects of imported classes.

Values are checked against the types that classes declare, so that other code may rely on these.
An object that occurs several times in the pickle stays one object.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from .. import dtypes
from .. import types as T
from ..errors import ArchiveError
from ..lazy_numpy import np
from ..objects import Device, EnumValue, ScriptObject
from ..records import field, record
from ..tensors import Storage, Tensor
from .pickle_tree import (
    ITEM_SIZES,
    SCALAR_TYPES,
    DeviceRef,
    EnumRef,
    ObjectRef,
    StorageRef,
    TensorRef,
    Tree,
)

if TYPE_CHECKING:
    from ..ops.quantization.quantized_tensors import ChannelQuantizer, Quantizer

MAX_DEPTH = 80

DAMAGED = "the file is damaged, or not written by torch.jit.save"

PLAIN: dict[T.Type, tuple[type, ...]] = {
    T.INT: (int,),
    T.FLOAT: (float,),
    T.BOOL: (bool,),
    T.STR: (str,),
    T.COMPLEX: (complex,),
    T.NONE: (type(None),),
    T.NUMBER: (int, float, complex),
}
"""The Python classes of values that are the same in the pickle and at run time."""


@record
class PendingState:
    """An object and the state to pass to its `__setstate__`, which does not run while loading."""

    object: ScriptObject
    state: Any


@record
class Storages:
    """The storages of an archive, each opened once.

    view: returns the bytes of a record, aligned by `sources.aligned`; they are writable if writes
    do not change the file.
    swapped: whether the file's byte order differs from this machine's.
    opened: the storages by record.  bools: the records that were checked to be bools.
    """

    view: Callable[[str], memoryview]
    swapped: bool = False
    opened: dict[str, Storage] = field(default_factory=dict)
    bools: set[str] = field(default_factory=set)

    def open(self, folder: str, ref: StorageRef) -> Storage:
        record = f"{folder}/{ref.key}"
        item = ITEM_SIZES[ref.dtype]
        storage = self.opened.get(record)
        if storage is None:
            storage = self.opened[record] = self._storage(record, item, SCALAR_TYPES[ref.dtype])
        if SCALAR_TYPES[ref.dtype] == "Bool" and record not in self.bools:
            self.bools.add(record)
            memory = storage.owner if storage.owner is not None else storage.data
            if bytes(memory).translate(None, b"\0\1"):
                raise ArchiveError("a bool is neither 0 nor 1", record, DAMAGED)
        if ref.numel * item > storage.nbytes:
            raise ArchiveError(
                f"a storage declares {ref.numel:,} elements of {item} bytes, the "
                f"record has {storage.nbytes:,} bytes",
                record,
                DAMAGED,
            )
        return storage

    def _storage(self, record: str, item: int, scalar_type: str) -> Storage:
        view = self.view(record)
        if self.swapped and item > 1:
            item //= 2 if "Complex" in scalar_type else 1
            whole = np.frombuffer(view, np.uint8, len(view) // item * item)
            return Storage(whole.reshape(-1, item)[:, ::-1].reshape(-1).copy())
        return Storage(None, memoryview(bytearray(view)) if view.readonly else view)


class Materialiser:
    """Makes the values of one pickle.

    folder: that of its storages (`data`, `constants`).
    find_type: returns the class, enum or named tuple of a name, or None.
    parse_type: returns the type of the text with which a container is tagged.
    pending: collects objects whose `__setstate__` has to run.
    made, open: the values made so far and the containers being made, by the id in the tree.
    """

    def __init__(
        self,
        tree: Tree,
        record: str,
        folder: str,
        storages: Storages,
        find_type: Callable[[str], T.Type | None],
        parse_type: Callable[[str], T.Type],
    ) -> None:
        self.tree, self.record, self.folder, self.storages = tree, record, folder, storages
        self.find_type, self.parse_type = find_type, parse_type
        self.made: dict[tuple[int, T.Type | None], Any] = {}
        self.open: set[int] = set()
        self.pending: list[PendingState] = []

    def root(self, type: T.Type = T.ANY) -> Any:
        """The value of the whole pickle."""
        return self.value(self.tree.value, type, "the value", 0)

    def fail(self, why: str, help: str = DAMAGED) -> NoReturn:
        raise ArchiveError(why, self.record, help)

    def value(self, v: Any, type: T.Type, what: str, depth: int) -> Any:
        """The run-time value of `v`, which has to be of type `type`.

        what: a description of the value for errors.  depth: how deep it is nested.
        """
        if depth > MAX_DEPTH:
            self.fail(f"{what} is nested over {MAX_DEPTH} deep")
        plain = PLAIN.get(type)
        if plain is not None:
            if v.__class__ not in plain:
                self.mismatch(v, type, what)
            return v
        if isinstance(type, T.OptionalType):
            return None if v is None else self.value(v, type.element, what, depth)
        if isinstance(type, T.UnionType):
            return self.any(v, what, depth, type)
        if type == T.ANY:
            return self.any(v, what, depth, type)
        return self.typed(v, type, what, depth)

    def typed(self, v: Any, type: T.Type, what: str, depth: int) -> Any:
        if isinstance(v, TensorRef) and type == T.TENSOR:
            return self.once(v, None, lambda: self.tensor(v))
        if isinstance(v, ObjectRef) and isinstance(type, (T.ClassType, T.InterfaceType)):
            made = self.object(v, what, depth)
            if made.type is not type and not T.is_subtype(made.type, type):
                self.mismatch(v, type, what)
            return made
        if isinstance(v, list) and isinstance(type, T.ListType):
            return self.guarded(
                v,
                type,
                what,
                lambda: [self.value(item, type.element, what, depth + 1) for item in v],
            )
        if isinstance(v, dict) and isinstance(type, T.DictType):
            return self.guarded(
                v,
                type,
                what,
                lambda: {
                    self.value(k, type.key, what, depth + 1): self.value(
                        x, type.value, what, depth + 1
                    )
                    for k, x in v.items()
                },
            )
        if isinstance(v, tuple) and isinstance(type, T.TupleType) and len(v) == len(type.elements):
            return self.guarded(
                v,
                type,
                what,
                lambda: type.make(
                    [self.value(x, t, what, depth + 1) for x, t in zip(v, type.elements)]
                ),
            )
        if isinstance(v, EnumRef) and isinstance(type, T.EnumType):
            return self.enum(v)
        if isinstance(v, DeviceRef) and type == T.DEVICE:
            return self.device(v)
        if type in (T.ANY_LIST, T.ANY_TUPLE, T.ANY_CLASS, T.ANY_ENUM, T.NUMBER):
            return self.any(v, what, depth, T.ANY)
        self.mismatch(v, type, what)

    def any(self, v: Any, what: str, depth: int, type: T.Type) -> Any:
        """A value without a declared type: its tag or the value itself tells the type.

        type: Any or a Union.
        """
        tag = self.tree.tags.get(id(v))
        if tag is not None and isinstance(v, (list, dict)):
            return self.typed(v, self.parse_type(tag), what, depth)
        if v is None or isinstance(v, (bool, int, float, str, complex)):
            return v
        if isinstance(v, list):
            return self.typed(v, T.ListType(T.ANY), what, depth)
        if isinstance(v, dict):
            return self.typed(v, T.DictType(T.ANY, T.ANY), what, depth)
        if isinstance(v, tuple):
            fitting = [
                t
                for t in getattr(type, "options", ())
                if isinstance(t, T.TupleType) and len(t.elements) == len(v)
            ]
            if len(fitting) == 1:
                return self.typed(v, fitting[0], what, depth)
            return self.guarded(
                v,
                T.ANY_TUPLE,
                what,
                lambda: tuple(self.value(item, T.ANY, what, depth + 1) for item in v),
            )
        if isinstance(v, TensorRef):
            return self.typed(v, T.TENSOR, what, depth)
        if isinstance(v, ObjectRef):
            return self.object(v, what, depth)
        if isinstance(v, EnumRef):
            return self.enum(v)
        if isinstance(v, DeviceRef):
            return self.device(v)
        self.fail(f"{what} is a {v.__class__.__name__}, which is no value")

    def mismatch(self, v: Any, type: T.Type, what: str) -> None:
        have = KINDS.get(v.__class__, v.__class__.__name__)
        have = v.name if isinstance(v, ObjectRef) else have
        self.fail(f"{what} is declared {type.annotation}, the pickle has {have}")

    # Identity

    def once(self, v: Any, type: T.Type | None, make: Callable[[], Any]) -> Any:
        key = (id(v), type)
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def guarded(self, v: Any, type: T.Type, what: str, make: Callable[[], Any]) -> Any:
        """`once` for containers.  It refuses a container that contains itself."""
        if id(v) in self.open:
            self.fail(f"{what} contains itself")
        self.open.add(id(v))
        try:
            return self.once(v, type, make)
        finally:
            self.open.discard(id(v))

    # Tensors, objects

    def tensor(self, ref: TensorRef) -> Tensor:
        if ref.kind or ref.storage is None:
            self.fail(
                f"tensors made by {ref.kind} (sparse, nested) are not supported",
                "save the model with plain dense tensors",
            )
        dtype = dtypes.BY_CODE.get(ref.storage.dtype)
        if dtype is None:
            self.fail(
                f"tensors of dtype {SCALAR_TYPES[ref.storage.dtype]} are not supported",
                f"convert them to one of {', '.join(d.name for d in dtypes.ALL)} before saving",
            )
        if (dtype.kind == "q") != (ref.quantizer is not None):
            self.fail(
                f"a tensor of {dtype} is made as if it were "
                f"{'plain' if ref.quantizer is None else 'quantized'}"
            )
        storage = self.storages.open(self.folder, ref.storage)
        if ref.quantizer is not None:
            from ..ops.quantization.quantized_tensors import QuantizedTensor

            return QuantizedTensor(
                storage,
                dtype,
                ref.size,
                ref.stride,
                ref.offset,
                self.quantizer(ref),
                ref.requires_grad,
            )
        tensor = Tensor(storage, dtype, ref.size, ref.stride, ref.offset, ref.requires_grad)
        if ref.is_conj or ref.is_neg:
            array = tensor._array
            array = np.conj(array) if ref.is_conj else array
            tensor = Tensor._wrap(np.negative(array) if ref.is_neg else array.copy())
        return tensor

    def quantizer(self, ref: TensorRef) -> Quantizer | ChannelQuantizer:
        """The quantizer of a tensor.  Parameters per channel must fit the size of the tensor."""
        from ..ops.quantization.quantized_tensors import ChannelQuantizer, Quantizer

        assert ref.quantizer is not None
        if len(ref.quantizer) == 2:
            return Quantizer(float(ref.quantizer[0]), ref.quantizer[1])
        scales, zeros, axis = ref.quantizer
        if (
            not 0 <= axis < len(ref.size)
            or scales.size != (ref.size[axis],)
            or zeros.size != scales.size
        ):
            self.fail("the parameters of a quantized tensor do not fit its size")
        made = [self.once(t, None, partial(self.tensor, t)) for t in (scales, zeros)]
        if any(t.dtype.kind not in "fi" for t in made):
            self.fail("the parameters of a quantized tensor are no numbers")
        return ChannelQuantizer(made[0], made[1], axis)

    def object(self, ref: ObjectRef, what: str, depth: int) -> ScriptObject:
        made = self.made.get((id(ref), None))
        if made is None:
            type = self.find_type(ref.name)
            if not isinstance(type, T.ClassType):
                self.fail(f"{what} is of class {ref.name}, which is not in the archive's code")
            made = self.made[id(ref), None] = ScriptObject(type)
            self.fill(made, ref, depth)
        return made

    def fill(self, made: ScriptObject, ref: ObjectRef, depth: int) -> None:
        if made.type.name.startswith(T.CUSTOM_CLASSES):
            wanted = state_type(made.type.name)
            state = self.value(ref.state, wanted, f"the state of {ref.name}", depth + 1)
            made.slots = [state]  # an object of a class in C++ keeps its state as it is
            return
        if "__setstate__" in made.type.methods:
            arguments = made.type.methods["__setstate__"].schema.arguments
            wanted = arguments[1].type if len(arguments) == 2 else T.ANY
            state = self.value(ref.state, wanted, f"the state of {ref.name}", depth + 1)
            self.pending.append(PendingState(made, state))
            return
        if not isinstance(ref.state, dict):
            self.fail(f"an object of {ref.name} has no attributes")
        for i, attribute in enumerate(made.type.attributes):
            what = f"{ref.name}.{attribute.name}"
            if attribute.name not in ref.state:
                self.fail(f"{what} is missing")
            made.slots[i] = self.value(ref.state[attribute.name], attribute.type, what, depth + 1)

    def enum(self, ref: EnumRef) -> EnumValue:
        type = self.find_type(ref.name)
        if isinstance(type, T.EnumType):
            for name, value in type.members.items():
                if value.__class__ is ref.value.__class__ and value == ref.value:
                    return EnumValue(type, name, value)
            if type.is_unnamed:
                return EnumValue(type, "", ref.value)
        self.fail(f"{ref.name} has no member with the value {ref.value!r:.40}")

    def device(self, ref: DeviceRef) -> Device:
        try:
            return Device(ref.text)
        except RuntimeError:
            self.fail(f"{ref.text!r} is no device")


_QUANTIZED = T.CUSTOM_CLASSES + "quantized."
_LINEAR = T.custom_class(_QUANTIZED + "LinearPackedParamsBase")
STATES = {
    _LINEAR.name: T.TupleType((T.TENSOR, T.OptionalType(T.TENSOR))),
    T.CUSTOM_CLASSES + "rnn.CellParamsBase": T.TupleType(
        (T.STR, T.ListType(T.TENSOR), T.ListType(T.FLOAT), T.ListType(T.INT), T.ListType(_LINEAR))
    ),
    _QUANTIZED + "EmbeddingPackedParamsBase": T.TupleType(
        (T.INT, T.ListType(T.TENSOR), T.ListType(T.FLOAT), T.ListType(T.INT))
    ),
}
"""The types of the states of classes in PyTorch's C++ library that always have the same type."""


def state_type(name: str) -> T.Type:
    """The type of the state of a class in PyTorch's C++ library; Any if it varies."""
    if name not in STATES and name.startswith(T.CUSTOM_CLASSES + "xnnpack."):
        from ..ops.families import prepacked

        return prepacked.STATES.get(name, T.ANY)
    return STATES.get(name, T.ANY)


KINDS = {
    TensorRef: "a Tensor",
    list: "a list",
    dict: "a dict",
    tuple: "a tuple",
    str: "a str",
    int: "an int",
    float: "a float",
    bool: "a bool",
    type(None): "None",
    EnumRef: "an enum",
    complex: "a complex",
    DeviceRef: "a device",
}
"""The names of values in a pickle, for errors."""
