"""What is known of operators stands in their declarations, and nowhere besides.

A table of operators' names in another place is a second record: it is not updated when an operator
is added. The tables that there are, each with a reason, are listed here; a new one fails.
`python -m tests.test_operator_facts [FOLDER]` prints those of a checkout.
"""

from __future__ import annotations

import ast
import builtins
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

from scriptlang.ops import table
from tests.test_style import ROOT

PARTS = ("scriptlang", "frontend", "interpreter", "serialization")
FEW = 3
"""Names with which a container is a table."""

ALLOWED = {
    "what Python's syntax, names and magic methods stand for": """
        frontend/bodies/assignment.py:IN_PLACE frontend/overloads/conversions.py:IMPLICIT
        frontend/bodies/expressions.py:BINARY frontend/bodies/expressions.py:COMPARE
        frontend/overloads/language_functions.py:SOURCES frontend/names/namespaces.py:JIT
        frontend/names/namespaces.py:MATH_RENAMED frontend/names/namespaces.py:RENAMED
        frontend/names/python_builtins.py:CASTS frontend/names/python_builtins.py:OPERATORS
        frontend/values/simple.py:METHOD_SPELLINGS frontend/values/simple.py:TENSOR_PROPERTIES
        frontend/tracing/traced_number.py:OPERATORS frontend/tracing/traced_symbol.py:RECORDED
        frontend/values/value_types.py:NUMBERED frontend/values/variadic.py:KEYWORD_METHODS
        scriptlang/tensor_operators.py:BINARY scriptlang/tensor_operators.py:COMMUTE
        scriptlang/tensor_operators.py:REFLECTED scriptlang/tensor_operators.py:UNARY""",
    "what profiles count and leave out, which nothing that runs asks for": """
        scriptlang/observing/observer.py:CHEAP scriptlang/observing/work.py:RULES""",
    "what is drawn, and in which colours": """
        scriptlang/pictures/drawing.py:HIDDEN scriptlang/pictures/drawing.py:KINDS""",
    "which calls from Python are no plain calls of the operator": """
        frontend/tracing/trace_torch.py:LOOKS frontend/tracing/trace_torch.py:SAME
        scriptlang/ops/calling/eager.py:TUPLES scriptlang/ops/calling/eager.py:call
        scriptlang/ops/calling/tensor_methods.py:METHODS""",
    "attributes of torch.Tensor and functions of modules, most of which are operators' names": """
        scriptlang/tensor_members.py:DERIVED
        scriptlang/nn/init.py:GAINS scriptlang/nn/init.py:LINEAR
        scriptlang/ops/calling/tensor_methods.py:ACCELERATORS scriptlang/tensor_members.py:FACTS
        scriptlang/tensor_members.py:FALSE scriptlang/tensor_members.py:METHODS""",
    "what derivatives are about, besides the rules of operators": """
        scriptlang/passes/freeze.py:ASKING
        scriptlang/passes/ahead/evaluate.py:APART
        scriptlang/ops/derivatives/members.py:GETTERS
        scriptlang/ops/derivatives/plans.py:RESIZING
        scriptlang/ops/derivatives/plans.py:TAKING_NUMBERS
        scriptlang/ops/derivatives/rule_node.py:SHAPE_FUNCTIONS
        scriptlang/ops/derivatives/rule_node.py:SHAPE_METHODS""",
    "which rule of a batch is whose": """
        scriptlang/ops/batching/calls.py:LOOKS_AT_SHAPE
        scriptlang/ops/batching/calls.py:STATISTICS
        scriptlang/ops/batching/dimensions.py:DIMS
        scriptlang/ops/batching/dimensions.py:FLAT_BY_NONE
        scriptlang/ops/batching/dimensions.py:OF_ALL
        scriptlang/ops/batching/images.py:RESIZED""",
    "how the archive's code/ spells a node": """
        serialization/inlining.py:OWN_LINE serialization/inlining.py:TAKES_NAMES
        serialization/print_nodes.py:BEGIN_WITH_INPUT serialization/print_nodes.py:BUILTINS
        serialization/print_nodes.py:IMPLICIT serialization/print_nodes.py:KINDS""",
    "what operators of older archives are today": "serialization/upgraders.py:UPGRADERS",
    "which nodes an opcode of bytecode stands for": """
        interpreter/compiler.py:HANDLERS interpreter/compiler.py:PROMOTED
        interpreter/handlers.py:HANDLERS""",
    "kinds of the IR itself, which are no operators": """
        frontend/bodies/emit.py:DISPOSABLE scriptlang/irverify.py:KINDS
        scriptlang/passes/ahead/containers.py:KINDS
        scriptlang/passes/constant_propagation.py:PRIMITIVES
        scriptlang/passes/cse.py:UNIQUE scriptlang/passes/effects.py:ALLOCATIONS
        scriptlang/passes/effects.py:CALLS scriptlang/passes/effects.py:CONTROL
        scriptlang/passes/effects.py:EFFECTS scriptlang/passes/effects.py:PASSES_ON
        scriptlang/passes/effects.py:PURE_PRIM scriptlang/passes/effects.py:TOTAL
        scriptlang/passes/effects.py:UNPACKS scriptlang/passes/effects.py:VISIBLE""",
    "the patterns that one pass rewrites": """
        scriptlang/passes/ahead/simplify.py:RULES scriptlang/passes/ahead/simplify.py:SPREADING
        scriptlang/passes/ahead/writes.py:BACK scriptlang/passes/ahead/writes.py:RANDOM
        scriptlang/passes/batch_linears.py:MOVES scriptlang/passes/fold_shapes.py:FROM_TENSORS
        scriptlang/passes/fuse.py:CONVOLUTIONS scriptlang/passes/fuse.py:PRODUCTS
        scriptlang/passes/fuse.py:SIMPLE scriptlang/passes/fuse.py:TRANSPOSED
        scriptlang/passes/lower_lists.py:LOOK scriptlang/passes/lower_lists.py:READERS
        scriptlang/passes/numeric_padding.py:DIMS scriptlang/passes/take_numbers.py:OPERATORS
        scriptlang/passes/shape_rules/like.py:KEEP_VALUES""",
    "what one pass runs ahead of time, and what it cannot": """
        scriptlang/passes/ahead/containers.py:MAKING
        scriptlang/passes/ahead/containers.py:MOVING""",
    "kernels that a loop of the family declares by name": """
        scriptlang/ops/families/compare.py:ALIASES scriptlang/ops/derived.py:OPTIONS
        scriptlang/ops/shared/elementwise.py:EVERY_TYPE
        scriptlang/ops/families/pointwise.py:ALIASES scriptlang/ops/families/pointwise.py:REAL
        scriptlang/ops/quantization/quantized_layers.py:ACTIVATIONS
        scriptlang/ops/shared/scalar_math.py:ELEMENTARY
        scriptlang/ops/shared/scalar_math.py:NUMPY_NAMES
        scriptlang/ops/shared/scalar_math.py:REAL_ONLY""",
    "the declarations of operators that take quantized tensors as well": """
        scriptlang/ops/quantization/quantized_plain.py:ACTIVATIONS
        scriptlang/ops/quantization/quantized_plain.py:AVERAGES
        scriptlang/ops/quantization/quantized_plain.py:COMPARISONS
        scriptlang/ops/quantization/quantized_plain.py:INTERPOLATIONS
        scriptlang/ops/quantization/quantized_plain.py:IN_ROWS
        scriptlang/ops/quantization/quantized_plain.py:MOVING
        scriptlang/ops/quantization/quantized_plain.py:ON_CODES
        scriptlang/ops/quantization/quantized_plain.py:ON_LAID_CODES""",
}
"""Reason -> the tables, as `file:name`."""


class Table(NamedTuple):
    place: str
    names: int


def words(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield from part.value.split()


def operator_names() -> tuple[set[str], set[str]]:
    """(the qualified names of operators, with and without overload; their names less namespace)."""
    operators = table.every_operator()
    names = {op.name for op in operators}
    return names | {op.qualified_name for op in operators}, {
        name.partition("::")[2] for name in names
    }


QUALIFIED, BARE = operator_names()


def count(node: ast.AST) -> int:
    """How many operators a container names; 0 where it names other things, too, for the most."""
    found = list(words(node))
    qualified = [w for w in found if w in QUALIFIED or w.startswith(("aten::", "prim::"))]
    bare = [w for w in found if w in BARE and not hasattr(builtins, w)]
    return max(len(qualified), len(bare) if 2 * len(bare) >= len(found) else 0)


def declares(statement: ast.stmt) -> bool:
    """Whether a statement of a family declares operators, or is a table of their kernels."""
    if isinstance(statement, (ast.For, ast.Expr)):
        return True
    value = getattr(statement, "value", None)
    return isinstance(value, ast.Dict) and any(
        isinstance(part, (ast.Name, ast.Attribute, ast.Lambda))
        for v in value.values
        for part in ast.walk(v)
    )


def target_of(statement: ast.stmt) -> str:
    target = (
        statement.targets[0]
        if isinstance(statement, ast.Assign)
        else getattr(statement, "target", None)
    )
    return ast.unparse(target).replace(" ", "") if target is not None else "call"


def tables(root: Path = ROOT) -> list[Table]:
    """The tables of operators' names on the top level of modules."""
    modules = [*map(table.module_of, table.FAMILIES), "scriptlang.ops.families.loss_kernels"]
    families = {module.replace(".", "/") + ".py" for module in modules}
    found = []
    for part in PARTS:
        for path in sorted((root / part).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            for statement in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(
                    statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.Expr)
                ):
                    continue
                is_text = isinstance(statement, ast.Expr) and isinstance(
                    statement.value, ast.Constant
                )
                if is_text or name in families and declares(statement):
                    continue
                whole = statement if isinstance(statement, ast.For) else statement.value
                names = count(whole) if whole is not None else 0
                if names >= FEW:
                    found.append(Table(f"{name}:{target_of(statement)}", names))
    return found


def allowed() -> dict[str, str]:
    return {place: reason for reason, places in ALLOWED.items() for place in places.split()}


def test_there_is_no_table_of_operators_besides_the_record():
    found = {t.place for t in tables()}
    new = sorted(found - allowed().keys())
    assert not new, (
        "tell it by a fact (scriptlang/ops/facts.py) where the operators are declared,"
        f" or give a reason in ALLOWED: {new}"
    )
    gone = sorted(allowed().keys() - found)
    assert not gone, f"not there any more: {gone}"


def main() -> None:
    found = tables(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    for place, names in found:
        print(f"{names:5} {place}")
    print(f"{len(found)} tables with {sum(t.names for t in found)} names")


if __name__ == "__main__":
    main()
