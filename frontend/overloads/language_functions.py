"""Overloads that are written in the scripted language, for `1 - x`, `"b" in "abc"` and others.

They are tried after the operators of the same name, and are inlined into the caller.
"""

from __future__ import annotations

import ast
from typing import Any

from scriptlang import type_text
from scriptlang import types as T
from scriptlang.ir import Function
from scriptlang.source import Source, Span

from ..whole import whole

_NUMBERS = ("int", "float", "complex")
_REAL = ("int", "float")
_LAST_DIMS = (
    "    if count < 0 or count > min(a.dim(), b.dim()):\n"
    "        raise RuntimeError(f'tensordot cannot contract {count} dimensions')\n"
    "    of_a = [i - count for i in range(count)]\n"
    "    of_b = [i for i in range(count)]\n"
)

SOURCES: dict[str, list[str]] = {
    "aten::add": [f"def add(a: {n}, b: Tensor) -> Tensor: return b + a" for n in _NUMBERS],
    "aten::mul": [f"def mul(a: {n}, b: Tensor) -> Tensor: return b * a" for n in _NUMBERS],
    "aten::ne": [f"def ne(a: {n}, b: Tensor) -> Tensor: return b != a" for n in _NUMBERS],
    "aten::eq": [f"def eq(a: {n}, b: Tensor) -> Tensor: return b == a" for n in _NUMBERS],
    "aten::sub": [
        f"def sub(a: {n}, b: Tensor) -> Tensor: return torch.neg(b) + a" for n in _NUMBERS
    ],
    "aten::div": [
        f"def div(a: {n}, b: Tensor) -> Tensor: return torch.reciprocal(b) * a" for n in _NUMBERS
    ],
    "aten::lt": [f"def lt(a: {n}, b: Tensor) -> Tensor: return b > a" for n in _REAL],
    "aten::le": [f"def le(a: {n}, b: Tensor) -> Tensor: return b >= a" for n in _REAL],
    "aten::gt": [f"def gt(a: {n}, b: Tensor) -> Tensor: return b < a" for n in _REAL],
    "aten::ge": [f"def ge(a: {n}, b: Tensor) -> Tensor: return b <= a" for n in _REAL],
    "aten::floordiv": [
        f"def floordiv(self: Tensor, other: {t}) -> Tensor: return torch.floor_divide(self, other)"
        for t in ("Tensor", *_REAL)
    ],
    "aten::_list_with_default": [
        "def _list_with_default(out_size: List[int], defaults: List[int]) -> List[int]:\n"
        "    assert len(defaults) > len(out_size)\n"
        "    return out_size"
    ],
    "aten::__contains__": [
        "def __contains__(self: str, key: str) -> bool: return self.find(key, 0, len(self)) != -1"
    ],
    "torch::tensordot": [
        f"def tensordot(a: Tensor, b: Tensor, dims: {dims},\n"
        f"              out: Optional[Tensor] = None) -> Tensor:\n"
        + settle
        + "    if out is not None:\n"
        "        return torch.ops.aten.tensordot(a, b, of_a, of_b, out=out)\n"
        "    return torch.ops.aten.tensordot(a, b, of_a, of_b)"
        for dims, settle in (
            ("int = 2", "    count = dims\n" + _LAST_DIMS),
            ("Tuple[List[int], List[int]]", "    of_a, of_b = dims\n"),
            ("List[List[int]]", "    of_a, of_b = dims\n"),
            (
                "Tensor",
                "    count = int(dims.item()) if dims.numel() <= 1 else 0\n"
                + _LAST_DIMS
                + "    if dims.numel() > 1:\n"
                "        assert dims.size(0) == 2, 'dims of tensordot are two rows'\n"
                "        of_a = torch.jit.annotate(List[int], dims[0].tolist())\n"
                "        of_b = torch.jit.annotate(List[int], dims[1].tolist())\n",
            ),
        )
    ],
    "torch::norm": [
        f"def norm(input: Tensor, p: {p}, dim: Optional[{d}] = None, keepdim: bool = False,\n"
        f"         out: Optional[Tensor] = None, dtype: Optional[int] = None) -> Tensor:\n"
        + over
        + result
        + "    if out is not None:\n"
        "        return torch.ops.aten.linalg_vector_norm(input, order, over, keepdim,\n"
        "                                                 dtype=dtype, out=out)\n"
        "    return torch.ops.aten.linalg_vector_norm(input, order, over, keepdim, dtype=dtype)"
        for d, over in (
            ("List[int]", "    over = dim\n"),
            (
                "int",
                "    over: Optional[List[int]] = None\n"
                "    if dim is not None:\n"
                "        over = [dim]\n",
            ),
        )
        for p, result in (
            (
                "str = 'fro'",
                "    if p != 'fro' or over is not None and len(over) > 2:\n"
                "        axes = over if over is not None else [i for i in range(input.dim())]\n"
                "        return torch.ops.aten.linalg_matrix_norm(input, p, axes, keepdim,\n"
                "                                                 dtype=dtype)\n"
                "    order = 2\n",
            ),
            ("Optional[number]", "    order = 2 if p is None else p\n"),
        )
    ],
    "torch::cdist": [
        "def cdist(x1: Tensor, x2: Tensor, p: float = 2.0,\n"
        "          compute_mode: str = 'use_mm_for_euclid_dist_if_necessary') -> Tensor:\n"
        "    mode: Optional[int] = None\n"
        "    if compute_mode == 'use_mm_for_euclid_dist':\n"
        "        mode = 1\n"
        "    elif compute_mode == 'donot_use_mm_for_euclid_dist':\n"
        "        mode = 2\n"
        "    elif compute_mode != 'use_mm_for_euclid_dist_if_necessary':\n"
        "        raise ValueError(compute_mode + ' is no way to compute distances')\n"
        "    return torch.ops.aten.cdist(x1, x2, p, mode)"
    ],
    "torch::stft": [
        "def stft(input: Tensor, n_fft: int, hop_length: Optional[int] = None,\n"
        "         win_length: Optional[int] = None, window: Optional[Tensor] = None,\n"
        "         center: bool = True, pad_mode: str = 'reflect', normalized: bool = False,\n"
        "         onesided: Optional[bool] = None, return_complex: Optional[bool] = None,\n"
        "         align_to_window: Optional[bool] = None) -> Tensor:\n"
        "    return torch.ops.aten.stft(input, n_fft, hop_length, win_length, window, center,\n"
        "                               pad_mode, normalized, onesided, return_complex,\n"
        "                               align_to_window)"
    ],
}
"""Operator name -> source texts of its additional overloads, in the order they are tried."""

PYTHON_ONLY = {name.partition("::")[2]: name for name in SOURCES if name.startswith("torch::")}
"""Functions of the module `torch` that differ from the operator of the same name in archives."""

_compiled: dict[str, tuple[Function, ...]] = {}


def is_language_function(name: str) -> bool:
    """Whether an operator has overloads that are written in the language."""
    return name in SOURCES


def functions(name: str) -> tuple[Function, ...]:
    """The overloads of an operator that are written in the language; compiled on first use."""
    if name not in SOURCES:
        return ()
    if name not in _compiled:
        _compiled[name] = tuple(function_of_text(name, text) for text in SOURCES[name])
    return _compiled[name]


def function_of_text(name: str, text: str) -> Function:
    """A function whose text is part of scriptlang; its body is compiled on first use."""
    source = Source(text, "<language>")
    definition = ast.parse(text).body[0]
    resolver = LanguageResolver()
    schema = whole.function_schema(definition, source, resolver, name)

    def define(function: Function) -> None:
        function.graph = whole.emit_function(definition, source, resolver, name, schema)

    return Function(name, schema, define=define)


class LanguageResolver:
    """Resolves the names in these texts: `torch`, and the types."""

    def value(self, name: str, span: Span) -> Any:
        return whole.TORCH if name == "torch" else None

    def type(self, expr: ast.expr, span: Span) -> T.Type:
        return type_text.parse_annotation(ast.unparse(expr))
