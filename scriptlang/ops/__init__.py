"""The operator table (`table`), eager calls (`dispatch`, `functions`), operators by family.

`ops.aten.relu` is an operator by qualified name, `ops.aten.add.Tensor` one overload (`packets`).
"""

from __future__ import annotations

NAMESPACES = ("aten", "prim", "prims", "quantized", "torchvision")
"""Namespaces of operators that are attributes here."""


def __getattr__(name: str):
    if name not in NAMESPACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .packets import OperatorNamespace

    globals()[name] = OperatorNamespace(name)
    return globals()[name]
