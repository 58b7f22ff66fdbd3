"""The operator table, and in rooms what calls, makes up and declares operators.

table.py facts.py derived.py  what an operator is; lists of all are in declared.txt, derived.txt
                              (forms of declared ones), lacking.txt; order.txt has the order in
                              which PyTorch tries overloads
calling/                      calls from Python: overloads by values, methods, options
shared/                       what kernels share
families/                     operators with their kernels, one file a family
quantization/                 quantized tensors, and the families of operators on them
derivatives/                  what gradients each operator gives its inputs

`ops.aten.relu` is an operator by qualified name, `ops.aten.add.Tensor` one overload (`packets`).
"""

from __future__ import annotations

from typing import Any

NAMESPACES = ("aten", "prim", "prims", "quantized", "torchvision")
"""Namespaces of operators that are attributes here."""


def __getattr__(name: str) -> Any:
    if name not in NAMESPACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .calling.packets import OperatorNamespace

    globals()[name] = OperatorNamespace(name)
    return globals()[name]
