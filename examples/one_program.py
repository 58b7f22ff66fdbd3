"""One program from source to kernels: prints what each stage of scriptlang makes of it.

`python examples/one_program.py STAGE` prints one stage, without an argument all of them.  The
chapter docs/architecture/one_program.md explains what it prints.  Stages: graph, passes, optimized,
fused, bytecode, registers, result.  The last two need the native engine.
"""

from __future__ import annotations

import re
import sys
from itertools import chain

from scriptlang.interpreter.code import listing
from scriptlang.interpreter.native_program import register_code
from scriptlang.interpreter.prepare import fused_code

import scriptlang
import scriptlang as torch
from scriptlang import Tensor
from scriptlang.passes import fuse_pointwise, pipeline


def half(x: Tensor) -> Tensor:
    return x * 0.5


@scriptlang.script
def smooth(x: Tensor, turns: int) -> Tensor:
    for i in range(turns):
        if i % 2 == 0:
            x = torch.tanh(half(x) + 1.0)
    return x


def text(graph) -> str:
    """A graph without the comments that say from which line of source a node comes."""
    return re.sub(r" # .*", "", str(graph)).strip()


def print_graph() -> None:
    """What the front end makes of the source."""
    print(text(smooth._function.graph))


def print_passes() -> None:
    """The passes that change the graph, in order, each with the reason for its place."""
    graph = smooth._function.graph.copy()
    for step in chain(pipeline.ONCE_BEFORE, *[pipeline.REPEATED] * 2, pipeline.ONCE_AFTER):
        if step.run(graph):
            print(f"{step.name}: {step.reason}")


def print_optimized() -> None:
    """The graph after all passes."""
    graph = smooth._function.graph.copy()
    pipeline.optimize(graph)
    print(text(graph))


def print_fused() -> None:
    """The graph that is compiled for the native engine: pointwise operators are in groups."""
    graph = smooth._function.graph.copy()
    pipeline.optimize(graph)
    fuse_pointwise.run(graph)
    print(text(graph))


def print_bytecode() -> None:
    """The bytecode that the native engine is given."""
    print(listing(fused_code(smooth._function)))


def print_registers() -> None:
    """The register code that the native engine makes of the bytecode."""
    print(register_code(smooth._function).strip())


def print_result() -> None:
    """The result of a call, on the native engine."""
    print(smooth(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), 3))


STAGES = {
    name.partition("_")[2]: stage
    for name, stage in list(globals().items())
    if name.startswith("print_")
}


def main(names: list[str]) -> None:
    for name in names or STAGES:
        if not names:
            print(f"---- {name}: {STAGES[name].__doc__}")
        STAGES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
