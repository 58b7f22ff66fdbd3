"""scriptlang diff: the differences of two archives: code, weights, attributes."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

import numpy as np

from .inputs import brief
from .main import DIFFERS, OK, limits_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("a", help="the first archive")
    command.add_argument("b", help="the second archive")
    command.add_argument(
        "--rtol",
        type=float,
        default=0.0,
        help="allowed difference, as a part of the largest element (0)",
    )
    command.add_argument(
        "--context", type=int, default=2, help="lines of code to show around those that differ (2)"
    )


def run(options: argparse.Namespace, out: Output) -> int:
    from .code import files_of

    with out.working("comparing"):
        codes = files_of(options.a, options), files_of(options.b, options)
        values = attributes_of(options.a, options), attributes_of(options.b, options)
        code = list(code_diff(codes[0], codes[1], options))
        rows = list(value_diff(values[0], values[1], options.rtol))
    result = DIFFERS if code or rows else OK
    if out.json:
        out.data({"equal": result == OK, "code": code, "values": rows})
        return result
    for line in code:
        out.text(line)
    if rows:
        out.table(
            ("attribute", "how", options.a, options.b),
            [(r["name"], r["how"], r["a"], r["b"]) for r in rows],
        )
    if result == OK:
        out.text(f"no difference: {len(values[0])} attributes, {len(codes[0])} files of code")
    return result


def code_diff(a: dict[str, str], b: dict[str, str], options: Any) -> Any:
    """The lines of a unified diff of all files."""
    for name in sorted(a.keys() | b.keys()):
        yield from difflib.unified_diff(
            a.get(name, "").splitlines(),
            b.get(name, "").splitlines(),
            f"{options.a}:{name}",
            f"{options.b}:{name}",
            n=options.context,
            lineterm="",
        )


def attributes_of(path: str, options: Any) -> dict[str, Any]:
    """The values of all attributes except modules, by dotted path; shared ones occur repeatedly."""
    from .. import types as T
    from ..serialization.archive import read_archive

    archive = read_archive(path, limits=limits_of(options))
    found: dict[str, Any] = {}
    pending, seen = [("", archive.root)], {id(archive.root)}
    while pending:
        prefix, obj = pending.pop()
        for a in obj.type.attributes:
            value = obj.get(a.name)
            name = f"{prefix}{a.name}"
            if isinstance(getattr(value, "type", None), T.ClassType):
                if id(value) not in seen:
                    seen.add(id(value))
                    pending.append((f"{name}.", value))
            else:
                found[name] = value
    return found


def value_diff(a: dict[str, Any], b: dict[str, Any], rtol: float) -> Any:
    for name in sorted(a.keys() | b.keys()):
        x, y = a.get(name), b.get(name)
        if name not in a or name not in b:
            how = "only in the second" if name not in a else "only in the first"
        else:
            how = difference(x, y, rtol)
        if how:
            yield {
                "name": name,
                "how": how,
                "a": brief(x) if name in a else "",
                "b": brief(y) if name in b else "",
            }


def difference(x: Any, y: Any, rtol: float, seen: set[tuple[int, int]] | None = None) -> str:
    """How two values differ; "" if they are equal.

    seen: pairs of objects whose comparison has begun, since objects may contain themselves.
    """
    from ..objects import EnumValue, ScriptObject
    from ..tensors import Tensor

    seen = set() if seen is None else seen
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return tensor_difference(x.detach(), y.detach(), rtol)
    if type(x) is not type(y):
        return "type"
    if isinstance(x, (list, tuple, dict, ScriptObject)):
        if (id(x), id(y)) in seen:
            return ""
        seen.add((id(x), id(y)))
        why, inside = parts_of(x, y)
        return why or next((d for u, v in inside if (d := difference(u, v, rtol, seen))), "")
    if isinstance(x, (bool, int, float, complex, str, type(None))):
        return "value" if repr(x) != repr(y) else ""  # tells -0.0 from 0.0, but not nan from nan
    if isinstance(x, EnumValue):  # their types come from two archives
        return "" if (x.known_name, x.value) == (y.known_name, y.value) else "value"
    return "" if x == y else "value"


def parts_of(x: Any, y: Any) -> tuple[str, list[tuple[Any, Any]]]:
    """Return (how two containers or objects of one class differ, apart from their elements; the
    pairs of elements)."""
    from ..objects import ScriptObject

    if isinstance(x, dict):
        return ("keys" if list(x) != list(y) else ""), [(x[k], y.get(k)) for k in x]
    if isinstance(x, ScriptObject):
        names = [a.name for a in x.type.attributes]
        if names != [a.name for a in y.type.attributes]:
            return "attributes", []
        return "", [(x.get(n), y.get(n)) for n in names]
    return ("length" if len(x) != len(y) else ""), list(zip(x, y))


def tensor_difference(x: Any, y: Any, rtol: float) -> str:
    if tuple(x.shape) != tuple(y.shape):
        return "shape"
    if x.dtype != y.dtype:
        return "type"
    if getattr(x, "is_quantized", False):
        x, y = x.int_repr(), y.int_repr()
    u, v = x.numpy(), y.numpy()
    if u.tobytes() == v.tobytes():
        return ""
    if u.dtype.kind not in "fiubc":
        u, v = u.astype(np.float32), v.astype(np.float32)
    wide = np.complex128 if u.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        apart = np.abs(u.astype(wide) - v.astype(wide))
        wrong = ~(apart <= rtol * np.abs(v.astype(wide)).max(initial=0.0))
        wrong &= ~(np.isnan(u.astype(wide)) & np.isnan(v.astype(wide)))
    if not wrong.any():
        return ""
    return f"{int(wrong.sum())} of {u.size} elements, by up to {np.nanmax(apart):.3g}"
