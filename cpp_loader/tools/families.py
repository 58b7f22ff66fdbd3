"""Which C++ file holds the kernels of a family of operators.

    python cpp_loader/tools/families.py            # a line for each family
    python cpp_loader/tools/families.py --check    # whether each kernel is in a file of its family

A kernel stands in the file that has the name of its Python family, or one that begins with it:
`linalg_solve.cpp` has kernels of `linalg`. What else there is, SHARED and MIXED list.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from functools import cache

SHARED: dict[str, str] = {
    # Loops over pairs of elements, and over one: comparisons are a kind of arithmetic there.
    "arithmetic": "pointwise_binary choose create_complex",
    "compare": "pointwise_binary pointwise_unary activation choose layout geometry sorting_unique",
    "activation": "pointwise_unary pointwise_binary",
    "pointwise": "activation",
    "reduce": "pointwise_binary",
    "special_functions": "pointwise_unary",
    # The type of an element, or the format in memory, is what a conversion is about.
    "convert": "layout view geometry",
    # Sums over an axis are made as extremes are.
    "sorting": "reduce_extremes",
    "statistics": "reduce_extremes scan_calculus",
    # Factors are what eigenvalues and ranks come from.
    "linalg_spectral": "linalg_factor linalg_solve",
    "loss_kernels": "loss loss_margin",
    "distance": "loss",
    "embedding": "index_parts reduce_renorm",
    "create": "join",
    "segments": "matmul",
    "view_scatter": "index_put",
    # Numbers and strings of programs.
    "containers": "scalar scalar_functions prim",
    "scalar": "geometry prim",
    "string": "prim",
    "modes": "prim",
    "random": "prim",
    "prim": "geometry nested",
    # Quantized tensors.
    "quantize": "quantized/quantize",
    "quantized_layers": "quantized/pointwise quantized/norm",
    "quantized_packed": "quantized/conv quantized/linear",
    "quantized_rnn": "quantized/embedding rnn",
}
"""Family -> files of other names that hold kernels of it, which share their loops."""

MIXED: dict[str, str] = {"spatial": "conv embedding matmul upsample"}
"""File of many families -> those whose kernels it holds.  These lists only get shorter."""


def has_its_name(family: str, file: str) -> bool:
    return file == family or file.startswith(family + "_")


def is_at_home(family: str, file: str) -> bool:
    """Whether a file, named without its ending, may hold kernels of a family."""
    return (
        has_its_name(family, file)
        or file in SHARED.get(family, "").split()
        or family in MIXED.get(file, "").split()
    )


@cache
def kernels() -> list[tuple[str, str, str]]:
    """(qualified name, family, file) of each native kernel that the sources define."""
    import generate_ops_def as ops_def

    table = ops_def.operator_table()
    by_symbol = {ops_def.symbol(op.qualified_name): op for op in table.every_operator()}
    found = []
    for symbol, file in ops_def.defined_symbols().items():
        op = by_symbol[symbol]
        base = op
        while base.form:
            base = base.form.base
        if base.makers:
            found.append((op.qualified_name, base.makers[0], file.removesuffix(".cpp")))
    return found


def by_family() -> dict[str, Counter[str]]:
    """Family -> how many of its kernels each file has."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for _, family, file in kernels():
        found[family][file] += 1
    return found


def astray() -> list[str]:
    """Kernels in files of other families, and lines of SHARED and MIXED that hold no more."""
    found = [
        f"{name} is of the family {family}, but stands in {file}.cpp"
        for name, family, file in kernels()
        if not is_at_home(family, file)
    ]
    used = {(family, file) for _, family, file in kernels()}
    listed = {(family, file) for family, files in SHARED.items() for file in files.split()}
    listed |= {(family, file) for file, families in MIXED.items() for family in families.split()}
    return found + [
        f"families.py: {file}.cpp holds no kernel of the family {family}"
        for family, file in sorted(listed - used)
    ]


def main() -> None:
    if "--check" in sys.argv[1:]:
        if found := astray():
            sys.exit("\n".join(found))
        return
    for family, files in sorted(by_family().items()):
        own = sum(n for file, n in files.items() if has_its_name(family, file))
        print(
            f"{family:18} {own:4} of {files.total():4}  ",
            *(f"{file} {n}" for file, n in files.most_common()),
        )


if __name__ == "__main__":
    main()
