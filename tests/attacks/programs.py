"""Archives whose pickles or code are hostile; `ATTACKS`: name -> (maker, what the error says)."""

from __future__ import annotations

import struct
from typing import Callable

from tests.attacks.zips import VICTIM
from tests.serialization.archives import changed

TORCH_SYSTEM = b"\x80\x02cposix\nsystem\nX\x02\x00\x00\x00id\x85R."


def data(pickle: bytes) -> bytes:
    """The victim with another data.pkl."""
    return changed(VICTIM, data_pkl=pickle)


def code(text: bytes) -> bytes:
    """The victim with another source for its classes."""
    return changed(VICTIM, code____torch___py=text)


def root(state: bytes) -> bytes:
    """A pickle of the victim's module with a state."""
    return b"\x80\x02c__torch__\nAttributes\nq\x00)\x81" + state + b"b."


def string(text: bytes) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text


def storage(numel: int, dtype: bytes = b"Float", key: bytes = b"0") -> bytes:
    return (
        b"("
        + string(b"storage")
        + b"ctorch\n"
        + dtype
        + b"Storage\n"
        + string(key)
        + string(b"cpu")
        + b"\x8a\x08"
        + struct.pack("<q", numel)
        + b"tQ"
    )


def tensor(numel: int, offset: int, size: int, stride: int, **which: bytes) -> bytes:
    number = b"\x8a\x08"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + storage(numel, **which)
        + number
        + struct.pack("<q", offset)
        + b"("
        + number
        + struct.pack("<q", size)
        + b"t("
        + number
        + struct.pack("<q", stride)
        + b"t\x89ccollections\nOrderedDict\n)RtR"
    )


def quantized(size: int, scheme: bytes) -> bytes:
    return (
        b"ctorch._utils\n_rebuild_qtensor\n("
        + storage(6, b"QUInt8")
        + b"K\x00(K"
        + bytes([size])
        + b"t(K\x01t("
        + scheme
        + b"t\x89ccollections\nOrderedDict\n)RtR"
    )


def weight(value: bytes) -> bytes:
    return data(root(b"}" + string(b"weight") + value + b"s"))


def deep_tuple(depth: int) -> bytes:
    return b")" + b"\x85" * depth


def laughs() -> bytes:
    """Lists of ten times the list before: 10^30 elements for whoever walks them all."""
    steps = b"]q\x01" + b"".join(
        b"](" + b"h%c" % (i,) * 10 + b"eq%c" % (i + 1,) for i in range(1, 31)
    )
    return steps


def self_containing_list() -> bytes:
    return b"]q\x01h\x01a"


def classes(body: bytes) -> bytes:
    return b"class Attributes(Module):\n" + body


ATTACKS: dict[str, tuple[Callable[[], bytes], str]] = {
    "os.system": (lambda: data(TORCH_SYSTEM), "names posix.system"),
    "os.system in the constants": (
        lambda: changed(VICTIM, constants_pkl=TORCH_SYSTEM),
        "constants.pkl: the pickle names",
    ),
    "constants that are no table": (
        lambda: changed(VICTIM, constants_pkl=b"\x80\x02N."),
        "no tuple",
    ),
    "eval": (
        lambda: data(b"\x80\x02cbuiltins\neval\n" + string(b"1") + b"\x85R."),
        "names builtins.eval",
    ),
    "getattr by STACK_GLOBAL": (
        lambda: data(b"\x80\x04\x8c\x08builtins\x8c\x07getattr\x93."),
        "names builtins.getattr",
    ),
    "a class of torch": (lambda: data(b"\x80\x02ctorch.nn\nModule\n)R."), "names torch.nn.Module"),
    "torch.load inside": (lambda: data(b"\x80\x02ctorch\nload\n)R."), "names torch.load"),
    "INST": (lambda: data(b"\x80\x02(ios\nsystem\n."), "opcode 0x69"),
    "extension codes": (lambda: data(b"\x80\x02\x82\x01."), "opcode 0x82"),
    "SETITEM on an object": (
        lambda: data(b"\x80\x02c__torch__\nAttributes\n)\x81" + string(b"weight") + b"K\x01s."),
        "as if it were a dict",
    ),
    "SETITEMS on a tensor": (
        lambda: data(b"\x80\x02" + tensor(6, 0, 6, 1) + b"(K\x00K\x01u."),
        "as if it were a dict",
    ),
    "APPENDS on a dict": (lambda: data(b"\x80\x02}(K\x01e."), "as if it were a list"),
    "memo index of 4 billion": (lambda: data(b"\x80\x02]r\xff\xff\xff\xff0."), "opcode 0x30"),
    "value before it is in the memo": (lambda: data(b"\x80\x02j\xff\xff\xff\xff."), "memo"),
    "string of 4 GB": (lambda: data(b"\x80\x02X\xff\xff\xff\xff."), "cut short"),
    "string of 16 EB": (lambda: data(b"\x80\x02\x8d" + b"\xff" * 8 + b"."), "cut short"),
    "endless integer": (lambda: data(b"\x80\x02\x8b\xff\xff\xff\x7f."), "opcode 0x8b"),
    "storage larger than its record": (
        lambda: weight(tensor(10**9, 0, 10**9, 1)),
        "declares 1,000,000,000 elements",
    ),
    "tensor larger than its storage": (lambda: weight(tensor(6, 0, 7, 1)), "reaches element 6"),
    "as_strided out of bounds": (lambda: weight(tensor(6, 0, 2, 1 << 40)), "reaches element"),
    "offset out of bounds": (lambda: weight(tensor(6, 1 << 40, 1, 1)), "reaches element"),
    "negative stride": (lambda: weight(tensor(6, 5, 6, -1)), "no list of sizes"),
    "negative storage": (lambda: weight(tensor(-1, 0, 0, 1)), "no storage"),
    "storage that is another record": (
        lambda: weight(tensor(6, 0, 6, 1, key=b"../data.pkl")),
        "lacks this storage",
    ),
    "wider dtype than the record": (
        lambda: weight(tensor(6, 0, 6, 1, dtype=b"ComplexDouble")),
        "declares 6 elements",
    ),
    "bools that are neither 0 nor 1": (
        lambda: weight(tensor(6, 0, 6, 1, dtype=b"Bool")),
        "neither 0 nor 1",
    ),
    "bytes that are bools elsewhere": (
        lambda: data(
            b"\x80\x02("
            + tensor(6, 0, 6, 1, dtype=b"Byte")
            + tensor(6, 0, 6, 1, dtype=b"Bool")
            + b"t."
        ),
        "neither 0 nor 1",
    ),
    "quantized tensor without a scheme": (
        lambda: weight(b"ctorch._utils\n_rebuild_qtensor\n)R"),
        "without its scheme",
    ),
    "quantized tensor past its storage": (
        lambda: weight(quantized(7, b"ctorch\nper_tensor_affine\nG" + bytes(8) + b"K\x00")),
        "reaches element",
    ),
    "scheme of quantization that calls": (
        lambda: weight(quantized(6, b"cos\nsystem\nG" + bytes(8) + b"K\x00")),
        "names os.system",
    ),
    "channels that are none": (
        lambda: weight(
            quantized(
                6,
                b"ctorch\nper_channel_affine\n"
                + tensor(6, 0, 5, 1, dtype=b"Double")
                + tensor(6, 0, 5, 1, dtype=b"Long")
                + b"K\x00",
            )
        ),
        "do not fit its size",
    ),
    "axis that is none": (
        lambda: weight(
            quantized(
                6,
                b"ctorch\nper_channel_affine\n"
                + tensor(6, 0, 6, 1)
                + tensor(6, 0, 6, 1)
                + b"M\x00\x10",
            )
        ),
        "do not fit its size",
    ),
    "plain tensor of a quantized type": (
        lambda: weight(tensor(6, 0, 6, 1, dtype=b"QInt8")),
        "as if it were plain",
    ),
    "sparse tensor": (
        lambda: weight(b"ctorch._utils\n_rebuild_sparse_tensor\n)R"),
        "_rebuild_sparse_tensor",
    ),
    "state of another type": (lambda: weight(b"K\x01"), "is declared Tensor"),
    "module that is no class of the code": (
        lambda: data(b"\x80\x02c__torch__\nEvil\n)\x81}b."),
        "not in the archive's code",
    ),
    "deep tuple": (lambda: weight(deep_tuple(10**5)), "is declared Tensor"),
    "deep tuple where anything goes": (
        lambda: data(b"\x80\x02" + deep_tuple(10**5) + b"."),
        "nested over",
    ),
    "deep tuple as a key": (
        lambda: data(b"\x80\x02}" + deep_tuple(10**5) + b"Ns."),
        "key of a dict",
    ),
    "list that contains itself": (
        lambda: data(b"\x80\x02" + self_containing_list() + b"."),
        "contains itself",
    ),
    "state that is not a dict": (lambda: data(root(b"]")), "has no attributes"),
    "state set twice": (
        lambda: data(b"\x80\x02c__torch__\nAttributes\n)\x81}b}b."),
        "sets the state",
    ),
    "source of brackets": (
        lambda: code(b"def f(x: Tensor) -> Tensor:\n  return " + b"(" * 10**5 + b"x"),
        "nested",
    ),
    "source of minuses": (
        lambda: code(b"def f(x: Tensor) -> Tensor:\n  return " + b"-" * 10**5 + b"x"),
        "nested",
    ),
    "source of attributes": (
        lambda: code(b"def f(x: Tensor) -> Tensor:\n  return x" + b".a" * 10**5),
        "nested",
    ),
    "source of a sum": (
        lambda: code(b"def f(x: Tensor) -> Tensor:\n  return x" + b"+x" * 10**5),
        "nested",
    ),
    "statement at the top": (lambda: code(b"__import__('os').system('id')\n"), "outside of"),
    "decorator": (
        lambda: code(classes(b"  @print\n  def forward(self) -> int:\n    return 1\n")),
        "signature that archives do not have",
    ),
    "default that calls": (
        lambda: code(classes(b"  def forward(self, x: int=print(1)) -> int:\n    return 1\n")),
        "no constant",
    ),
    "default that adds a text": (
        lambda: code(classes(b"  def forward(self, x: complex='a' + 1.j) -> int:\n    return 1\n")),
        "no constant",
    ),
    "default that is no device": (
        lambda: code(
            classes(b"  def f(self, x: Device=torch.device('nowhere')) -> int:\n    return 1\n")
        ),
        "Expected one of cpu, cuda",
    ),
    "default of 64 bits without a sign": (
        lambda: code(classes(b"  def f(self, x: int=9223372036854775808) -> int:\n    return x\n")),
        "does not fit 64 bits",
    ),
    "default of many hexadecimal digits": (
        lambda: code(classes(b"  def f(self, x: int=0x" + b"f" * 10**5 + b") -> int:\n    pass\n")),
        "does not fit 64 bits",
    ),
    "base that calls": (lambda: code(b"class Attributes(print(1)):\n  pass\n"), "has a base"),
    "deep type": (
        lambda: code(classes(b"  x : " + b"List[" * 150 + b"int" + b"]" * 150 + b"\n")),
        "nested",
    ),
    "named tuple of itself": (
        lambda: code(
            classes(b"  x : __torch__.P\n") + b"class P(NamedTuple):\n  x : __torch__.P\n"
        ),
        "contains itself",
    ),
    "integer of a million digits": (
        lambda: code(classes(b"  def f(self, x: int=" + b"9" * 10**6 + b") -> int:\n    pass\n")),
        "",
    ),
    "NUL in the source": (lambda: code(b"class A:\n  x : int\0\n"), ""),
    "source that is not UTF-8": (lambda: code(b"# \xff\n"), "not UTF-8"),
}
