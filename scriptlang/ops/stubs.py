"""`python -m scriptlang.ops.stubs` writes the types of operators for editors and type checkers.

Functions (`scriptlang.relu`) and methods of Tensor (`x.relu`) are made from the operator table on
first use, so no source file shows their signatures.  Run this in the repository after the table
has changed; `--check` compares instead of writing.  Functions whose Python signature differs from
the operator's are read from `calling/eager.py`.
"""

from __future__ import annotations

import inspect
import keyword
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import HOME, SUBMODULES, tensor_members
from .. import types as T
from ..schema import Argument, Schema
from . import table
from .calling import creation, eager, functions, tensor_methods
from .document import is_of_tensors

FUNCTIONS = pathlib.Path("scriptlang/operator_functions.pyi")
METHODS = pathlib.Path("scriptlang/tensor_methods.pyi")
RESULTS = pathlib.Path("scriptlang/operator_results.pyi")

FUNCTIONS_HEAD = '''# mypy: disable-error-code="overload-cannot-match"
"""Operators as functions of the package: `scriptlang.relu(x)`.

An overload that another one hides is one that fits other values. Written by
`python -m scriptlang.ops.stubs` from the operator table.
"""

from collections.abc import Sequence
from typing import Any, overload

from . import operator_results as results
from .dtypes import DType
from .layouts import Layout, MemoryFormat
from .objects import Device
from .operator_results import Number, _bool, _complex, _float, _int, _str
from .ops.shared.generator import Generator
from .tensors import Tensor
'''

METHODS_HEAD = '''# mypy: disable-error-code="overload-cannot-match"
"""Methods of Tensor that are operators: `x.relu()`.

Written by `python -m scriptlang.ops.stubs` from the operator table.
"""

from collections.abc import Sequence
from typing import Any, overload

from . import operator_results as results
from .dtypes import DType
from .layouts import Layout, MemoryFormat
from .objects import Device
from .operator_results import Number, _bool, _complex, _float, _int, _str
from .ops.shared.generator import Generator
from .tensors import Tensor

class Methods:
'''

RESULTS_HEAD = '''"""Results of operators that have names, and the types of arguments.

Written by `python -m scriptlang.ops.stubs` from the operator table.  For type checkers alone: what
a call gives is a named tuple with these fields.
"""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from typing import NamedTuple, TypeAlias

from .tensors import Tensor

__all__ = ["Number", "_bool", "_complex", "_float", "_int", "_str"]

Number: TypeAlias = _bool | _int | _float | _complex
'''

ATOMS = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "number": "Number",
    "int": "_int",
    "SymInt": "_int",
    "float": "_float",
    "bool": "_bool",
    "complex": "_complex",
    "str": "_str",
    "ScalarType": "DType",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat | _int",
    "Device": "Device | _str",
    "Generator": "Generator",
}
"""Atomic schema types -> the Python type in stubs."""

TENSOR_LIKE = {"Number", "_int", "_float", "_bool", "_complex"}

CASTS = frozenset(tensor_methods.CASTS)


class Results:
    """Collects the classes of named results, so that each is written once."""

    def __init__(self) -> None:
        self.classes: dict[str, tuple[tuple[str, str], ...]] = {}

    def name(self, operator: str, fields: tuple[tuple[str, str], ...]) -> str:
        name, n = operator, 2
        while self.classes.setdefault(name, fields) != fields:
            name, n = f"{operator}_{n}", n + 1
        return f"results.{name}"

    def text(self) -> str:
        parts = [RESULTS_HEAD]
        for name, fields in sorted(self.classes.items()):
            parts.append(f"class {name}(NamedTuple):")
            parts += [f"    {field}: {type}" for field, type in fields]
            parts.append("")
        return "\n".join(parts).rstrip("\n") + "\n"


def type_of(a: Argument, is_result: bool = False) -> str:
    """The Python type of an argument or a result."""
    text = type_text(a.text.split("(")[0] if "(" in a.text else a.text, a.type, is_result)
    if not is_result and a.size and text.startswith("Sequence["):
        one = text.partition("[")[2].partition("]")[0]
        text = f"{one} | {text}"  # a single number stands for a list of that length
    return text


def type_text(text: str, type: T.Type, is_result: bool) -> str:
    if isinstance(type, T.OptionalType):
        return f"{type_text(text.rstrip('?'), type.element, is_result)} | None"
    if isinstance(type, T.ListType):
        inner = type_text(text.partition("[")[0], type.element, is_result)
        return f"list[{inner}]" if is_result else f"Sequence[{inner}]"
    if isinstance(type, T.TupleType):
        return f"tuple[{', '.join(type_text('', t, is_result) for t in type.elements)}]"
    if isinstance(type, T.DictType):
        return "dict[Any, Any]"
    name = text.rstrip("?") or str(type)
    if is_result and name in ("Scalar", "number"):
        return "Any"
    return ATOMS.get(name, ATOMS.get(str(type), "Any"))


def result_of(schema: Schema, results: Results) -> str:
    types = [type_of(r, True) for r in schema.returns]
    if not types:
        return "None"
    if types == ["list[Tensor]"] and schema.name.partition("::")[2] in OPERATORS:
        return "tuple[Tensor, ...]"
    if len(types) == 1:
        return types[0]
    names = [r.name for r in schema.returns]
    if all(n.isidentifier() and not keyword.iskeyword(n) for n in names):
        return results.name(schema.name.partition("::")[2], tuple(zip(names, types)))
    return f"tuple[{', '.join(types)}]"


def parameter(a: Argument, name: str) -> str:
    type = type_of(a)
    if a.has_default and a.default is None and not type.endswith("None") and type != "Any":
        type += " | None"
    return f"{name}: {type}{' = ...' if a.has_default else ''}"


def signatures(
    overloads: Iterable[table.Operator], results: Results, is_method: bool
) -> Iterator[tuple[str, str]]:
    """Yield (parameters, result) of each way to call an operator, without repetition."""
    overloads = list(overloads)
    outs = {
        a.name: type_of(a)
        for op in overloads
        for a in op.schema.arguments
        if a.is_out and len([b for b in op.schema.arguments if b.is_out]) == 1
    }
    seen = set()
    for op in overloads:
        s = op.schema
        if any(a.is_out for a in s.arguments) or "Tensor" not in op.text:
            continue
        if "Dimname" in op.text or s.is_vararg:
            continue
        arguments = list(s.arguments)
        if is_method:
            at = next((i for i, a in enumerate(arguments) if a.name == "self"), 0)
            if not arguments or arguments[at].type != T.TENSOR:
                continue
            del arguments[at]
        for parts in calls(arguments, is_method):
            more = []
            if not is_method and "out" in outs and s.returns and not s.is_mutable:
                more.append(f"out: {outs['out']} | None = ...")
            if creation.is_creation(op.text):
                more.append("requires_grad: _bool = ...")
            if more and not any(p.startswith("*") for p in parts):
                more.insert(0, "*")
            given = ", ".join([*parts, *more]), result_of(s, results)
            if given[0] not in seen:
                seen.add(given[0])
                yield given


def calls(arguments: list[Argument], is_method: bool) -> Iterator[list[str]]:
    """Yield the parameter lists of one overload: as declared, and with sizes as `*sizes`."""
    parts: list[str] = []
    starred = False
    for a in arguments:
        if a.kwarg_only and not starred:
            parts.append("*")
            starred = True
        name = "input" if a.name == "self" else a.name
        if keyword.iskeyword(name):
            name = f"__{name}"  # it can only be passed by position
        parts.append(parameter(a, name))
    yield parts
    plain = [a for a in arguments if not a.kwarg_only]
    sizes = plain[-1:] if len(plain) == (1 if is_method else 2) else []
    if not is_method and not (len(plain) == 2 and plain[0].type == T.TENSOR):
        sizes = plain if len(plain) == 1 else []
    if sizes and str(sizes[0].type) == "int[]":
        at = plain.index(sizes[0])
        rest = [p for p in parts[at + 1 :] if p != "*"]
        yield [*parts[:at], f"*{sizes[0].name}: _int", *rest]


def definition(
    name: str, overloads: Iterable[table.Operator], results: Results, is_method: bool
) -> list[str]:
    """The stub lines of a function or method, from its overloads."""
    own = ["self"] if is_method else []
    found = list(signatures(overloads, results, is_method))
    if not found:
        return [f"def {name}({', '.join([*own, '*args: Any', '**kwargs: Any'])}) -> Any: ..."]
    lines = []
    for parameters, result in found:
        if len(found) > 1:
            lines.append("@overload")
        lines.append(f"def {name}({', '.join([*own, parameters] if parameters else own)})")
        lines[-1] += f" -> {result}: ..."
    return lines


def of_python(name: str, function: Callable[..., Any], is_method: bool) -> list[str]:
    """The stub line of a function that is written in Python."""
    if is_method and name in CASTS:
        return [f"def {name}(self, memory_format: Any = ...) -> Tensor: ..."]
    parts = []
    starred = False
    for i, p in enumerate(inspect.signature(function).parameters.values()):
        if is_method and i == 0:
            parts.append("self")
            continue
        if p.kind == p.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        star = "*" if p.kind == p.VAR_POSITIONAL else "**" if p.kind == p.VAR_KEYWORD else ""
        starred = starred or p.kind == p.VAR_POSITIONAL
        annotated = str(p.annotation) if p.annotation is not p.empty else "Any"
        default = "" if p.default is p.empty else " = ..."
        parts.append(f"{star}{p.name}: {in_stub(annotated)}{default}")
    annotation = inspect.signature(function).return_annotation
    result = in_stub(str(annotation)) if annotation is not inspect.Signature.empty else "Any"
    if result == "Any":
        result = RETURNED.get(name, "Any")
    return [f"def {name}({', '.join(parts)}) -> {result}: ..."]


RETURNED = {
    **dict.fromkeys(
        """einsum tensordot norm tensor as_tensor stft block_diag cartesian_prod new new_tensor
        share_memory_ apply_ map_ map2_""".split(),
        "Tensor",
    ),
    **dict.fromkeys(("meshgrid", "broadcast_tensors"), "tuple[Tensor, ...]"),
    "where": "Any",  # a tuple of indices if there is only one argument
    "is_tensor": "_bool",
    "is_shared": "_bool",
    "result_type": "DType",
    "promote_types": "DType",
}
"""Result types of functions written in Python whose annotation leaves them open."""


def in_stub(annotation: str) -> str:
    """An annotation from the sources, with the type names that stubs use."""
    plain = {"bool": "_bool", "int": "_int", "float": "_float", "str": "_str"}
    known = {*plain, "Any", "Tensor", "None"}
    words = [w.strip() for w in annotation.split("|")]
    return " | ".join(plain.get(w, w) for w in words) if set(words) <= known else "Any"


def stubs() -> dict[pathlib.Path, str]:
    """Path of each stub file -> its text."""
    results = Results()
    names = {op.name for op in table.all_operators()}
    public = {
        name.partition("::")[2]
        for name in names
        if name.partition("::")[0] in functions.NAMESPACES and is_of_tensors(table.overloads(name))
    }
    public = {n for n in public if n.isidentifier() and not keyword.iskeyword(n)}
    public = {n for n in public if not n.startswith("_")} | set(eager.FUNCTIONS)
    function_lines = []
    for name in sorted(public - set(HOME) - set(SUBMODULES)):
        if name in eager.FUNCTIONS and name not in OPERATORS:
            function_lines += of_python(name, eager.FUNCTIONS[name], False)
        else:
            function_lines += definition(name, of_name(name), results, False)
    method_lines = []
    for name in sorted(tensor_members.METHODS):
        if name in tensor_methods.METHODS and name not in OPERATORS:
            method_lines += of_python(name, tensor_methods.METHODS[name], True)
        else:
            method_lines += definition(name, of_name(name), results, True)
    return {
        FUNCTIONS: FUNCTIONS_HEAD + "\n" + "\n".join(function_lines) + "\n",
        METHODS: METHODS_HEAD + "".join(f"    {line}\n" for line in method_lines),
        RESULTS: results.text(),
    }


OPERATORS = frozenset((*eager.TUPLES, "split", "qscheme"))
"""Functions written in Python that have the signature of the operator of the same name."""


def of_name(name: str) -> list[table.Operator]:
    found = (table.overloads(f"{namespace}::{name}") for namespace in functions.NAMESPACES)
    return next((overloads for overloads in found if overloads), [])


def main(arguments: list[str]) -> None:
    for path, text in stubs().items():
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path} is not current: run python -m scriptlang.ops.stubs")


if __name__ == "__main__":
    main(sys.argv[1:])
