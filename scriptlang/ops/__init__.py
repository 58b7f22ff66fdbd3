"""The operator table, and packages that call, derive and declare operators.

table.py facts.py derived.py  what an operator is; lists of all are in declared.txt, derived.txt
                              (forms of declared ones), lacking.txt; order.txt has the order in
                              which PyTorch tries overloads
calling/                      calls from Python: overloads by values, methods, options
shared/                       helpers that several kernels use
families/                     operators with their kernels, one file a family
quantization/                 quantized tensors, and the families of operators on them
derivatives/                  the gradients of operators with respect to their inputs
custom/                       operators of users

`ops.aten.relu` is an operator by qualified name, `ops.aten.add.Tensor` one overload (`packets`);
`ops.my.op` is one registered by `scriptlang.library` or by a plug-in (`load_library`).
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

NAMESPACES = ("aten", "prim", "prims", "quantized", "scriptlang", "torchvision")
"""Operator namespaces that are attributes of this module."""


def __getattr__(name: str) -> Any:
    if name == "load_library":
        return importlib.import_module("scriptlang.library").load_library
    table = sys.modules.get(f"{__name__}.table")  # the table may be in the middle of its own import
    if name not in NAMESPACES and name not in getattr(table, "NAMESPACES", ()):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .calling.packets import OperatorNamespace

    globals()[name] = OperatorNamespace(name)
    return globals()[name]
