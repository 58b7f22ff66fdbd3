"""Which C++ file holds the kernels of a family of operators.

    python cpp_loader/tools/families.py            # a line for each family
    python cpp_loader/tools/families.py --check    # whether each kernel is in a file of its family

A kernel stands in a file whose name begins with the same word as that of its Python family:
`linalg_solve.cpp` has kernels of `linalg` and of `linalg_spectral`.  SHARED lists the others.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from functools import cache

SHARED: dict[str, str] = {
    # Functions of one element are made by one table of loops, whatever they mean.
    "activation": "pointwise_unary",
    "compare": "pointwise_unary convert_layout geometry sorting_unique",
    "arithmetic": "create_complex",
    # What a conversion of one element is, programs ask of tensors.
    "convert": "view geometry",
    "scalar": "geometry prim",
    # Comparisons and extremes of lists are those of numbers.
    "containers": "scalar scalar_functions",
    # Ranks and medians come from sorting as extremes do; covariances from sums.
    "sorting": "reduce_extremes",
    "statistics": "reduce_extremes scan_calculus",
    # Losses are distances.
    "distance": "loss",
    # Embeddings are rows of a table at places.
    "embedding": "index_parts reduce_renorm",
    "segments": "matmul",
    # Layers with quantized weights run the steps of the others.
    "quantized_rnn": "rnn",
}
"""Family -> files of other names that hold kernels of it, which share their loops."""


def room(name: str) -> str:
    """The first word of the name of a family or file: `linalg` of `linalg_solve`.  Families of
    quantized tensors have a folder."""
    return "quantized" if name.startswith("quantize") else name.partition("_")[0]


def has_its_name(family: str, file: str) -> bool:
    return room(family) == room(file.partition("/")[0])


def is_at_home(family: str, file: str) -> bool:
    """Whether a file, named without its ending, may hold kernels of a family."""
    return has_its_name(family, file) or file in SHARED.get(family, "").split()


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
    """Kernels in files of other families, and lines of SHARED that hold no more."""
    found = [
        f"{name} is of the family {family}, but stands in {file}.cpp"
        for name, family, file in kernels()
        if not is_at_home(family, file)
    ]
    used = {(family, file) for _, family, file in kernels()}
    listed = {(family, file) for family, files in SHARED.items() for file in files.split()}
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
