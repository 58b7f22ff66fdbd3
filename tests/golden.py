"""Golden cases: `.case` files of a program and what the compiler makes of it.

A file holds cases; a case is a title and sections:

    === a condition that is constant
    Lines before the first section are remarks.
    --- source
    def f(x: int) -> int:
        return x + 1 if True else x
    --- passes constant_propagation dce
    graph(%x : int):
      ...
    --- run f(3)
    4

One section is the input: `source` (Python; the last function or class is compiled) or `graph` (IR
text, `%x : Tensor = aten::relu(%y)`).  Every other section is computed from it and compared:

    ir [of NAME]      the graph as the front end made it (NAME: another function or Class.method)
    passes P Q ...    the graph after those passes of scriptlang.passes, verified after each
    optimized         the graph after pipeline.optimize
    shapes A B ...    the optimized graph with what is known of shapes, for inputs (`x=1,3,s0`)
    bytecode          the instructions, constants and operators
    code              the text that goes into the code/ of an archive
    error             the CompileError of the source, excerpt and underline included
    run EXPRESSION    what the program prints, then the value, on the python engine
    fails EXPRESSION  the exception of a run and its script stack

`pytest --update` rewrites the computed sections of the cases that differ; read the diff before
committing.  To add a case write its title, input and the heads of the sections wanted, then run
with --update.  A new kind of section is one function in SECTIONS.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import io
import linecache
import re
import sys
import types
import typing
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Callable

FILE = "case.py"
"""The file name that places in the source of a case have."""

INPUTS = ("source", "graph")


@dataclass
class Section:
    head: str
    text: str

    @property
    def kind(self) -> str:
        return self.head.partition(" ")[0]

    @property
    def argument(self) -> str:
        return self.head.partition(" ")[2].strip()


@dataclass
class Case:
    """A title, remarks and sections, as in the file."""

    title: str
    line: int
    remarks: str = ""
    sections: list[Section] = field(default_factory=list)

    def input(self, kind: str) -> str | None:
        return next((s.text for s in self.sections if s.kind == kind), None)

    @cached_property
    def program(self) -> Program:
        return Program(self)

    def computed(self) -> list[Section]:
        """The sections that are results, each with the text it has now."""
        return [
            Section(s.head, SECTIONS[s.kind](self.program, s.argument).rstrip("\n") + "\n")
            if s.kind in SECTIONS
            else s
            for s in self.sections
        ]


def read_cases(path: Path) -> list[Case]:
    """The cases of a file.  Raises ValueError for a section of an unknown kind."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("=== "):
            cases.append(Case(line[4:].strip(), number))
        elif not cases:
            raise ValueError(f"{path}:{number}: a file of cases starts with a title, `=== title`")
        elif line.startswith("--- "):
            section = Section(line[4:].strip(), "")
            if section.kind not in SECTIONS and section.kind not in INPUTS:
                raise ValueError(
                    f"{path}:{number}: no section {section.kind!r}; there are "
                    + ", ".join((*INPUTS, *SECTIONS))
                )
            cases[-1].sections.append(section)
        elif cases[-1].sections:
            cases[-1].sections[-1].text += line + "\n"
        else:
            cases[-1].remarks += line + "\n"
    for case in cases:
        for section in case.sections:
            section.text = section.text.rstrip("\n") + "\n"
    return cases


def write_cases(path: Path, cases: list[Case]) -> None:
    parts = []
    for case in cases:
        text = f"=== {case.title}\n" + case.remarks
        text += "".join(f"--- {s.head}\n{s.text}" for s in case.sections)
        parts.append(text.rstrip("\n") + "\n")
    path.write_text("\n".join(parts), encoding="utf-8")


class Program:
    """The program of a case: its definitions, compiled on demand."""

    def __init__(self, case: Case):
        self.case = case

    @cached_property
    def namespace(self) -> dict:
        """What the source defines, executed as Python with `torch` standing for scriptlang."""
        import scriptlang

        text = self.case.input("source")
        linecache.cache[FILE] = (len(text), None, text.splitlines(True), FILE)
        module = sys.modules["case"] = types.ModuleType("case")  # where inspect finds classes
        module.__file__ = FILE
        space = module.__dict__
        space.update(
            {
                "torch": scriptlang,
                "scriptlang": scriptlang,
                "Tensor": scriptlang.Tensor,
                **{
                    n: getattr(typing, n)
                    for n in ("Any", "Dict", "List", "NamedTuple", "Optional", "Tuple", "Union")
                },
            }
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # That is what a case may be about.
            exec(compile(text, FILE, "exec"), space)
        return space

    @cached_property
    def main(self) -> str:
        """Name of the last function or class of the source."""
        body = ast.parse(self.case.input("source")).body
        return [d.name for d in body if isinstance(d, (ast.FunctionDef, ast.ClassDef))][-1]

    def scripted(self, name: str = ""):
        """The definition of that name, scripted."""
        import scriptlang

        definition = self.namespace[name or self.main]
        return scriptlang.script(definition, engine="python")

    def graph(self, name: str = ""):
        """A graph that the caller may change."""
        text = self.case.input("graph")
        if text is not None:
            return parse(text)
        owner, _, method = (name or self.main).partition(".")
        compiled = self.scripted(owner)
        return (getattr(compiled, method) if method else compiled).graph.ir.copy()


def parse(text: str):
    """A graph from IR text, its operators found in the operator table."""
    from scriptlang.irtext import parse_graph
    from scriptlang.ops import table

    return parse_graph(text, overloads=lambda kind: [o.schema for o in table.overloads(kind)])


def show_graph(graph) -> str:
    """The text of a graph without the file name in places, which is that of every case."""
    return re.sub(rf" # {re.escape(FILE)}:", " # ", str(graph))


def section_ir(program: Program, argument: str) -> str:
    from scriptlang.irverify import verify

    graph = program.graph(argument.removeprefix("of "))
    verify(graph)
    return show_graph(graph)


def section_passes(program: Program, argument: str) -> str:
    from scriptlang.irverify import verify

    graph = program.graph()
    for name in argument.split():
        importlib.import_module(f"scriptlang.passes.{name}").run(graph)
        verify(graph)
    return show_graph(graph)


def section_optimized(program: Program, argument: str) -> str:
    from scriptlang.passes.pipeline import optimize

    graph = program.graph()
    optimize(graph)
    return show_graph(graph)


def section_shapes(program: Program, argument: str) -> str:
    from scriptlang.ir import schema_of_graph
    from scriptlang.passes.pipeline import optimize
    from scriptlang.passes.shapes import propagate
    from scriptlang.programs.shape_report import ShapedGraph
    from scriptlang.programs.shape_text import input_facts

    graph = program.graph()
    optimize(graph)
    facts = input_facts(
        schema_of_graph("f", graph), dict(text.split("=") for text in argument.split())
    )
    inputs = {v: facts[v.name] for v in graph.inputs if v.name in facts}
    return show_graph(ShapedGraph(graph, propagate(graph, inputs)))


def section_bytecode(program: Program, argument: str) -> str:
    from scriptlang.interpreter import compiler

    from scriptlang.ir import schema_of_graph

    graph = program.graph(argument.removeprefix("of "))
    return str(compiler.compile_graph(graph, "f", schema_of_graph("f", graph)))


def section_code(program: Program, argument: str) -> str:
    return program.scripted(argument.removeprefix("of ")).code


def section_error(program: Program, argument: str) -> str:
    """The error of scripting the last definition, or what the argument gives (`M()`)."""
    import scriptlang
    from scriptlang.errors import CompileError

    try:
        if argument:
            scriptlang.jit.script(eval(argument, program.namespace))
        else:
            program.scripted()
    except CompileError as e:
        return str(e)
    return "no error"


def section_run(program: Program, argument: str) -> str:
    space = dict(program.namespace)
    space[program.main] = program.scripted()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        value = eval(argument, space)
    return out.getvalue() + repr(value)


def section_fails(program: Program, argument: str) -> str:
    from scriptlang.errors import script_stack

    try:
        value = section_run(program, argument)
    except Exception as e:
        lines = [f"{type(e).__name__}: {e}"]
        if "script stack" not in lines[0]:
            lines += [str(frame) for frame in script_stack(e)]
        return "\n".join(lines)
    return f"no error; {value}"


SECTIONS: dict[str, Callable[[Program, str], str]] = {
    "ir": section_ir,
    "passes": section_passes,
    "optimized": section_optimized,
    "shapes": section_shapes,
    "bytecode": section_bytecode,
    "code": section_code,
    "error": section_error,
    "run": section_run,
    "fails": section_fails,
}


def check(case: Case) -> str:
    """Differences between the sections in the file and those computed, as text."""
    differences = []
    for want, have in zip(case.sections, case.computed()):
        if want.text != have.text:
            lines = difflib.unified_diff(
                want.text.splitlines(),
                have.text.splitlines(),
                f"--- {want.head}",
                "now",
                lineterm="",
                n=100,
            )
            differences += [f"--- {want.head}", *list(lines)[3:]]
    return "\n".join(differences)


def update(path: Path, title: str) -> None:
    """Rewrite the computed sections of one case."""
    cases = read_cases(path)
    for case in cases:
        if case.title == title:
            case.sections = case.computed()
    write_cases(path, cases)
