"""scriptlang inspect: the modules, methods and operators of an archive; shapes, memory, work; or
all on a page with --html."""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Iterable
from typing import Any

from .main import UsageError, add_archive, add_method, limits_of
from .output import Output, Tree, count_text, size_text


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    command.add_argument("--code", action="store_true", help="print the program too")
    command.add_argument(
        "--depth", type=int, default=3, help="levels of the tree of modules to show (3)"
    )
    command.add_argument(
        "--shapes",
        action="append",
        metavar="NAME=SIZES",
        help="print the graph with the shapes that follow from inputs' "
        "(x=1,3,224,224, ids=int64[1,s0]; names are unknown sizes); repeatable",
    )
    command.add_argument(
        "--memory",
        action="store_true",
        help="print a plan that places all tensors in memory, for inputs of --shapes",
    )
    command.add_argument(
        "--work",
        action="store_true",
        help="print the FLOPs and bytes of each node, for inputs of --shapes",
    )
    add_method(command, "which method --shapes, --memory, --work and --html are about")
    command.add_argument(
        "--optimized", action="store_true", help="show the optimised graph with --shapes"
    )
    command.add_argument(
        "--registers",
        action="store_true",
        help="print the register code that the native engine runs, too",
    )
    command.add_argument(
        "--html", metavar="FILE.html", help="write a page that shows all of it, in one file"
    )
    command.add_argument(
        "--profile",
        metavar="TRACE.json",
        help="a trace of `scriptlang profile --trace`: the page of --html shows its times",
    )


def run(options: argparse.Namespace, out: Output) -> int:
    if options.html:
        return write_page(options, out)
    if options.shapes or options.memory or options.work:
        return print_shapes(options, out)
    from ..programs.inspection import inspect_archive

    with out.working(f"reading {options.archive}"):
        report = inspect_archive(options.archive, limits_of(options))
    if out.json:
        out.data(report_data(report))
        return 0
    print_report(report, options, out)
    return 0


def report_data(report: Any) -> dict[str, Any]:
    return {
        "name": report.name,
        "version": report.version,
        "producer": report.producer,
        "modules": report.modules,
        "parameters": report.parameters,
        "parameter_bytes": report.parameter_bytes,
        "methods": [str(f.schema) for f in report.functions],
        "errors": [str(e) for e in report.errors],
        "operators": [
            {"name": n, "nodes": c, "engines": engines_with(report, n)}
            for n, c in sorted(report.operators.items())
        ],
        "tree": part_data(report.tree),
    }


def part_data(part: Any) -> dict[str, Any]:
    return {
        "name": part.name,
        "class": part.class_name,
        "parameters": part.parameters,
        "bytes": part.bytes,
        "modules": [part_data(p) for p in part.parts],
    }


def engines_with(report: Any, operator: str) -> list[str]:
    return [e for e in report.lacking if operator not in report.lacking[e]]


def print_report(report: Any, options: argparse.Namespace, out: Output) -> None:
    from ..programs.inspection import number

    out.heading(report.name)
    out.text(f"  archive version {report.version}, {report.producer}")
    out.text(
        f"  {number(report.modules, 'module')}, {report.parameters:,} parameters and buffers, "
        f"{report.parameter_bytes:,} bytes"
    )
    out.tree(tree_of(report.tree, options.depth))
    out.heading("methods:")
    for f in report.functions:
        out.text(f"  {signature(f.schema)}")
    for e in report.errors:
        out.text(f"  does not compile: {e}")
    out.heading("operators:")
    out.table(
        ("operator", "nodes", "engines that have it"),
        [
            (name, count, ", ".join(engines_with(report, name)) or "none")
            for name, count in sorted(report.operators.items(), key=lambda kv: (-kv[1], kv[0]))
        ],
        "lrl",
    )
    out.text(report.availability())
    for function in report.functions if options.code else ():
        from ..serialization.printer import print_function

        out.text(print_function(function))
    for function in report.functions if options.registers else ():
        from ..interpreter.native_program import register_code

        out.text(register_code(function))


def signature(schema: Any) -> str:
    """A method's schema as it is called: without its class and its object."""
    text = str(schema)
    if len(schema.inputs) < len(schema.arguments):
        bound = schema.arguments[0]
        start = f"({bound.type} {bound.name}"
        text = text.replace(f"{start}, ", "(", 1).replace(f"{start})", "()", 1)
    return text.removeprefix(schema.name.rpartition(".")[0] + ".")


def tree_of(part: Any, depth: int) -> Tree:
    """The tree of modules down to a depth; more than two equal neighbours become one line."""
    name = f"{part.name}: {part.class_name}" if part.name else part.class_name
    note = f"{count_text(part.parameters)} parameters, {size_text(part.bytes)}"
    tree = Tree(name, note if part.parameters else "")
    if depth > 0:
        tree.under = list(folded(part.parts, depth))
    elif part.parts:
        tree.note += f"  (+{count_in(part)} modules: --depth)"
    return tree


def count_in(part: Any) -> int:
    return len(part.parts) + sum(map(count_in, part.parts))


def folded(parts: Iterable[Any], depth: int) -> Iterable[Tree]:
    run: list[Any] = []
    for part in [*parts, None]:
        if run and part is not None and run[-1].same_as(part):
            run.append(part)
            continue
        if len(run) > 2:
            tree = tree_of(run[0], depth - 1)
            tree.text = f"{run[0].name} ... {run[-1].name}: {run[0].class_name} x {len(run)}"
            tree.note = f"{tree.note} each" if tree.note else ""
            yield tree
        else:
            yield from (tree_of(p, depth - 1) for p in run)
        run = [] if part is None else [part]


def print_shapes(options: argparse.Namespace, out: Output) -> int:
    shaped = shaped_graph(options, options.optimized)
    if options.memory:
        plan = shaped.memory_plan
        if out.json:
            buffers = [vars(b) for b in plan.buffers]
            facts = {"peak": plan.peak, "naive": plan.naive, "least": plan.lower_bound}
            out.data({**facts, "results": plan.results, "buffers": buffers})
        else:
            out.text(str(plan))
            if plan.unplanned:
                out.remark(GIVE_SHAPES)
        return 0
    if options.work:
        return print_work(shaped, out)
    tensors, shaped_ones, typed = shaped.coverage
    if out.json:
        facts = {"tensors": tensors, "shapes": shaped_ones, "types": typed}
        out.data({"graph": str(shaped), **facts})
    else:
        out.text(f"{shaped}# {tensors} tensors; shape known of {shaped_ones}, type of {typed}")
    return 0


def shapes_given(options: argparse.Namespace) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for text in options.shapes or ():
        name, equals, sizes = text.partition("=")
        if not equals:
            raise UsageError(f"--shapes takes NAME=SIZES, not {text!r}: write x=1,3,224,224")
        given[name] = sizes
    return given


def shaped_graph(options: argparse.Namespace, optimized: bool) -> Any:
    from ..programs.shape_report import inspect
    from ..programs.shape_text import ShapeError

    given = shapes_given(options)
    try:
        return inspect(
            options.archive,
            given,
            method=options.method,
            optimized=optimized,
            limits=limits_of(options),
        )
    except (ShapeError, AttributeError) as e:
        raise UsageError(str(e)) from None


GIVE_SHAPES = "give the sizes of all inputs to know more: --shapes x=1,3,224,224"


def print_work(shaped: Any, out: Output) -> int:
    from ..observing.static import work_in

    rows = list(work_in(shaped))
    total = sum(r.flops or 0 for r in rows)
    unknown = sum(r.flops is None for r in rows)
    if out.json:
        nodes = [vars(r) for r in rows]
        out.data({"flops": total, "unknown": unknown, "nodes": nodes})
        return 0
    out.table(
        ("node", "operator", "gives", "FLOPs", "bytes"),
        [
            (
                r.name,
                r.operator,
                r.gives,
                "?" if r.flops is None else count_text(r.flops) if r.flops else "",
                "?" if r.bytes is None else size_text(r.bytes),
            )
            for r in rows
        ],
        "lllrr",
        ("node", "bytes"),
    )
    out.text(f"{count_text(total)} FLOPs; nodes of unknown shapes: {unknown}")
    if unknown:
        out.remark(GIVE_SHAPES)
    return 0


def write_page(options: argparse.Namespace, out: Output) -> int:
    from ..pictures.page import PageOptions, page_of
    from ..programs.shape_text import ShapeError

    shown = PageOptions(
        shapes_given(options),
        options.method,
        options.optimized,
        limits_of(options),
        options.profile,
        pathlib.Path(options.archive).name,
    )
    with out.working(f"drawing {options.archive}"):
        try:
            text = page_of(options.archive, shown)
        except (ShapeError, AttributeError) as e:
            raise UsageError(str(e)) from None
        with open(options.html, "w", encoding="utf-8") as file:
            file.write(text)
    if out.json:
        out.data({"page": options.html, "bytes": len(text.encode())})
    else:
        out.text(f"{options.html}: {size_text(len(text.encode()))}")
    return 0
