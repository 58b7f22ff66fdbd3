"""`python -m tests.ops.record_order` writes scriptlang/ops/order.txt; PyTorch has to be installed.

The file says in which order PyTorch tries the overloads of a name. Forms with out= are left out:
they come last, and no call fits them and another.
"""

from __future__ import annotations

from scriptlang.ops import lacking, table

TARGET = lacking.FOLDER / "order.txt"
HEAD = (
    "# PyTorch's order of the overloads of a name, in which a call tries them; out= forms come "
    "last.\n"
)


def tried(name: str) -> set[str]:
    """The overloads of a name that stand in the file."""
    return {
        op.overload
        for op in table.overloads(name)
        if not any(a.is_out for a in op.schema.arguments)
    }


def names() -> list[str]:
    """The operators with several overloads."""
    return sorted(
        name for name in {op.name for op in table.every_operator()} if len(tried(name)) > 1
    )


def text() -> str:
    import torch

    lines = []
    for name in names():
        order = [s.overload_name for s in torch._C._jit_get_schemas_for_operator(name)]
        known = [overload or "-" for overload in order if overload in tried(name)]
        if known:
            lines.append(f"{name} {' '.join(known)}\n")
    return HEAD + "".join(lines)


if __name__ == "__main__":
    TARGET.write_text(text())
