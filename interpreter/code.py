"""Code, which is a function as bytecode, with its layout as tuples and its readable listing.

The layout is that of PyTorch's `bytecode.pkl`, which has one such tuple per function, with two more
fields that PyTorch ignores: the types of the registers, and the functions that CALL names.

    ('__torch__.f',
     (('instructions', (('STOREN', 1, 2), ...)), ('operators', (('aten::add', 'Tensor', 2), ...)),
      ('constants', (...)), ('types', ('List[int]', ...)), ('register_size', 5),
      ('register_types', ('Tensor', ...)), ('functions', ('__torch__.g', ...))),
     (('arguments', ((('name', 'x'), ('type', 'Tensor'), ('default_value', None)), ...)),
      ('returns', (...))))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import types as T
from ..errors import Frame
from ..records import field, record, replace
from ..schema import NO_DEFAULT, Argument, Schema
from ..source import Span
from .opcodes import OPCODES, TYPE_OPERANDS

CODE = "code"
"""Attribute of a Function that holds its Code.  Functions that were read from bytecode have it from
the start."""

FUSED = "fused_code"
"""Attribute of a Function that holds its Code with pointwise operators in fused groups."""

MAX_ARGUMENTS = 1000


class Instruction(NamedTuple):
    """An opcode's name and its two operands."""

    op: str
    x: int = 0
    n: int = 0


class OperatorRef(NamedTuple):
    """The name of an operator, and how many arguments a program passes to it.

    The arguments that are not passed are the last ones before any `out` argument; they take the
    defaults of the schema.  If num_args is None, all are passed, or as many as OPN states.
    """

    name: str
    overload: str
    num_args: int | None

    @property
    def qualified_name(self) -> str:
        return f"{self.name}.{self.overload}" if self.overload else self.name


class Place(NamedTuple):
    """The origin of an instruction: its span, and the calls through which it was inlined.

    callers has (name of the function called, span of the call) for each, outermost first.
    """

    span: Span | None = None
    callers: tuple[tuple[str, Span | None], ...] = ()


NOWHERE = Place()


@record(eq=False)
class Code:
    """One function as bytecode.

    register_types: the type of register i+1 at index i, None if it is not known; empty in code that
    PyTorch wrote.
    functions: the ir.Functions that CALL, FUSED, FORK and AWAITABLE name.
    straights: pairs of functions with the same arguments: whether a call is of a kind, and what
    then runs in place of this code, which asks for gradients. The native machine looks at them
    before it records a call.
    is_closed: whether these run even if the caller wants gradients of the arguments.
    interfaces: the types whose methods INTERFACE_CALL calls; empty if they are not known.
    places: one Place per instruction, or empty.
    is_sound: whether it needs no verification, because it was compiled here or has been verified.
    """

    name: str
    schema: Schema
    instructions: list[Instruction] = field(default_factory=list)
    operators: list[OperatorRef] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    types: list[T.Type] = field(default_factory=list)
    register_size: int = 0
    register_types: list[T.Type | None] = field(default_factory=list)
    functions: list[Any] = field(default_factory=list)
    interfaces: list[T.InterfaceType] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    is_sound: bool = True
    straights: list[tuple[Any, Any]] = field(default_factory=list)
    is_closed: bool = False

    def frames(self, pc: int) -> list[Frame]:
        """The script stack inside this function at an instruction, outermost first."""
        place = self.places[pc] if pc < len(self.places) else NOWHERE
        frames, name = [], self.name
        for callee, span in place.callers:
            frames.append(Frame(name, span))
            name = callee
        return [*frames, Frame(name, place.span)]

    def __str__(self) -> str:
        return listing(self)


def stack_frames(calls: Iterable[tuple[str, Code | None, int]]) -> tuple[Frame, ...]:
    """The script stack of calls, outermost first: (name of the function, its code, instruction).

    The operators of a fused group show as part of the caller, so the frames of the function that
    FUSED calls replace those of the caller.
    """
    frames: list[Frame] = []
    group = 0
    for name, code, pc in calls:
        del frames[len(frames) - group :]
        found = code.frames(pc) if code is not None else [Frame(name)]
        frames += found
        fused = code is not None and code.instructions[pc].op == "FUSED"
        group = len(found) if fused else 0
    return tuple(frames)


def to_tuple(
    code: Code,
    name: str | None = None,
    names: Mapping[Any, str] | None = None,
    renamed: Mapping[T.Type, str] | None = None,
    whole: bool = False,
) -> tuple[Any, ...]:
    """The code as a tuple in the layout of `bytecode.pkl`.  Constants are not converted.

    name, names: other names for it and for the functions that it calls.
    renamed: other names for named types.
    whole: write the fields of named tuples inside other types, too, which PyTorch does not do.
    """
    names = names or {}

    def spell(t: T.Type) -> str:
        return type_text(t, renamed or {}, whole)

    table = (
        ("instructions", tuple(map(tuple, code.instructions))),
        (
            "operators",
            tuple(
                (o.name, o.overload, -1 if o.num_args is None else o.num_args)
                for o in code.operators
            ),
        ),
        ("constants", tuple(code.constants)),
        ("types", tuple(map(spell, code.types))),
        ("register_size", code.register_size),
        ("register_types", tuple(spell(t) if t else "" for t in code.register_types)),
        ("functions", tuple(names.get(f, f.name) for f in code.functions)),
        ("straights", tuple(names.get(f, f.name) for pair in code.straights for f in pair)),
        ("is_closed", code.is_closed),
    )
    schema = (
        ("arguments", tuple(_argument_tuple(a, spell) for a in code.schema.arguments)),
        ("returns", tuple(_argument_tuple(r, spell) for r in code.schema.returns)),
    )
    return (name or code.name, table[:5] + tuple(f for f in table[5:] if f[1]), schema)


def _argument_tuple(a: Argument, spell: Callable[[T.Type], str]) -> tuple[Any, ...]:
    return (
        ("name", a.name),
        ("type", spell(a.type)),
        ("default_value", a.default if a.has_default else None),
    )


def type_text(t: T.Type, renamed: Mapping[T.Type, str], whole: bool = False) -> str:
    """A type as bytecode writes it: its annotation, for a named tuple with its fields.

    renamed, whole: see `to_tuple`.
    """

    def rename(t: T.Type) -> T.Type:
        if whole and isinstance(t, T.TupleType) and t.name:
            return T.AtomType(type_text(t, renamed, whole))
        return T.AtomType(renamed[t]) if t in renamed else t.map(rename)

    if isinstance(t, T.TupleType) and t.name:
        fields = ",".join(
            f"[{n}, {rename(e).annotation}]" for n, e in zip(t.fields or (), t.elements)
        )
        return f"{renamed.get(t, t.name)}[NamedTuple, [{fields}]]"
    return (rename(t) if renamed or whole else t).annotation


class MalformedCode(ValueError):
    """A tuple does not have the layout of a function; the message says what is wrong with it."""


def from_tuple(
    tree: Any,
    resolve_type: Callable[[str], T.Type],
    resolve_function: Callable[[str], Any],
    defaults: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Code:
    """The Code of a tuple from an archive.  Only the layout is checked; `verify` checks the rest.

    resolve_type, resolve_function: return the type or function of a name; they raise if it is
    unknown.  defaults: for functions of these names, the arguments whose default is None; for
    others that is guessed (`with_none_defaults`).  Raises MalformedCode.
    """
    name, table, schema = _entry(tree)
    fields = _fields(table, name)
    instructions = [_instruction(i, name) for i in _sequence(fields, "instructions", name)]
    operators = [_operator(o, name) for o in _sequence(fields, "operators", name)]
    types = [resolve_type(_text(t, name)) for t in _sequence(fields, "types", name)]
    registers = [
        resolve_type(_text(t, name)) if t else None for t in fields.get("register_types", ())
    ]
    functions = [resolve_function(_text(f, name)) for f in fields.get("functions", ())]
    straights = [resolve_function(_text(f, name)) for f in fields.get("straights", ())]
    if len(straights) % 2:
        raise MalformedCode(f"{name}: straights are pairs, and {len(straights)} functions are none")
    size = fields.get("register_size")
    if type(size) is not int or size < 0:
        raise MalformedCode(f"{name}: register_size is {size!r}")
    given = _schema(name, schema, resolve_type, instructions, defaults.get(name))
    return Code(
        name,
        given,
        instructions,
        operators,
        list(_sequence(fields, "constants", name)),
        types,
        size,
        registers,
        functions,
        straights=list(zip(straights[::2], straights[1::2])),
        is_closed=fields.get("is_closed") is True,
    )


def _entry(tree: Any) -> tuple[Any, ...]:
    if not isinstance(tree, tuple) or len(tree) not in (2, 3) or not isinstance(tree[0], str):
        raise MalformedCode(f"a function is a tuple (name, code, schema), not {_brief(tree)}")
    return tree if len(tree) == 3 else (*tree, None)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields(table: Any, name: str) -> dict[str, Any]:
    if not isinstance(table, (tuple, list)) or not all(
        isinstance(f, tuple) and len(f) == 2 and isinstance(f[0], str) for f in table
    ):
        raise MalformedCode(
            f"{name}: a table is a tuple of (field, value) pairs, not {_brief(table)}"
        )
    return dict(table)


def _sequence(fields: dict[str, Any], field: str, name: str) -> tuple[Any, ...] | list[Any]:
    value = fields.get(field)
    if not isinstance(value, (tuple, list)):
        raise MalformedCode(f"{name}: {field} is {_brief(value)}, not a tuple")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise MalformedCode(f"{name}: {_brief(value)} stands where a name should")
    return value


def _instruction(i: Any, name: str) -> Instruction:
    if not isinstance(i, tuple) or len(i) != 3 or type(i[1]) is not int or type(i[2]) is not int:
        raise MalformedCode(f"{name}: {_brief(i)} is not an instruction (opcode, int, int)")
    if not isinstance(i[0], str) or i[0] not in OPCODES:
        raise MalformedCode(f"{name}: unknown opcode {_brief(i[0])}")
    return Instruction(*i)


def _operator(o: Any, name: str) -> OperatorRef:
    good = (
        isinstance(o, tuple)
        and len(o) in (2, 3)
        and all(isinstance(p, str) for p in o[:2])
        and all(p is None or type(p) is int for p in o[2:])
    )
    if not good:
        raise MalformedCode(f"{name}: {_brief(o)} is not an operator (name, overload, arguments)")
    given = o[2] if len(o) == 3 else None
    return OperatorRef(o[0], o[1], None if given is None or given < 0 else given)


def _schema(
    name: str,
    table: Any,
    resolve_type: Callable[[str], T.Type],
    instructions: list[Instruction],
    nones: tuple[str, ...] | None,
) -> Schema:
    """The schema of a function.  Early versions of the format had none; there the first
    instruction, which stores the arguments, tells their number.

    nones: the arguments whose default is None; None if that has to be guessed.
    """
    fields = _fields(table, name) if table is not None else {}
    if not fields:
        first = instructions[0] if instructions else Instruction("RET")
        count = {"STORE": 1, "STOREN": min(first.n, MAX_ARGUMENTS)}.get(first.op, 0)
        return Schema(name, "", tuple(Argument(f"arg{i}", T.ANY) for i in range(count)), ())
    parts = []
    for part in ("arguments", "returns"):
        rows = [_fields(row, name) for row in _sequence(fields, part, name)]
        parts.append(
            tuple(
                Argument(
                    _text(r.get("name"), name),
                    resolve_type(_text(r.get("type"), name)),
                    NO_DEFAULT if r.get("default_value") is None else r["default_value"],
                )
                for r in rows
            )
        )
    arguments = (
        with_none_defaults(parts[0]) if nones is None else take_none_defaults(name, parts[0], nones)
    )
    return Schema(name, "", arguments, parts[1])


def take_none_defaults(
    name: str, arguments: tuple[Argument, ...], nones: tuple[str, ...]
) -> tuple[Argument, ...]:
    left = set(nones)
    made = []
    for a in arguments:
        if a.name in left:
            left.remove(a.name)
            if a.has_default or not T.may_be_none(a.type):
                raise MalformedCode(f"{name}: its argument {a.name} has no default None")
            a = replace(a, default=None)
        made.append(a)
    if left:
        raise MalformedCode(f"{name}: it lacks arguments whose default is told")
    return tuple(made)


def with_none_defaults(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Guess which arguments have the default None, which the file does not distinguish from having
    no default: the last ones that may be None, as PyTorch's lite interpreter assumes."""
    made = list(arguments)
    for i in range(len(made) - 1, -1, -1):
        if not made[i].has_default:
            if not T.may_be_none(made[i].type) or made[i].type == T.ANY:
                break
            made[i] = replace(made[i], default=None)
    return tuple(made)


def listing(code: Code) -> str:
    """A readable listing: the schema, then one instruction per line with its operands by name, then
    the types of the registers.  ">" marks the targets of jumps."""
    lines = [f"{code.schema}"]
    targets = {pc + i.x for pc, i in enumerate(code.instructions) if OPCODES[i.op].x == "jump"}
    width = max((len(i.op) for i in code.instructions), default=0)
    for pc, i in enumerate(code.instructions):
        mark = ">" if pc in targets else " "
        lines.append(f"{mark}{pc:4} {i.op:{width}} {_operands(code, pc, i)}".rstrip())
    types = [f"r{k}: {t}" for k, t in enumerate(code.register_types, 1) if t is not None]
    return "\n".join(lines + (["registers " + ", ".join(types)] if types else []))


def _operands(code: Code, pc: int, i: Instruction) -> str:
    opcode = OPCODES[i.op]
    texts = [_operand(code, pc, kind, v) for kind, v in ((opcode.x, i.x), (opcode.n, i.n)) if kind]
    return " ".join(texts)


def _operand(code: Code, pc: int, kind: str, v: int) -> str:
    if kind in ("register", "registers"):
        return f"r{v}"
    if kind == "jump":
        return f"-> {pc + v}"
    if kind == "operator":
        o = code.operators[v]
        return o.qualified_name + ("" if o.num_args is None else f"/{o.num_args}")
    if kind in ("constant", "method"):
        return _brief(code.constants[v])
    if kind in TYPE_OPERANDS:
        return str(code.types[v])
    if kind == "function":
        return code.functions[v].name
    return str(v)
