"""scriptlang profile: where the time of a method goes, by operator, module, line or node."""

from __future__ import annotations

import argparse
from typing import Any

from .inputs import add_inputs, arguments, told
from .main import add_archive, add_engine, add_method, load_module, method_of, positive
from .output import Output, count_text, size_text


def add(command: argparse.ArgumentParser) -> None:
    add_archive(command)
    add_inputs(command)
    add_method(command, "which method to profile")
    add_engine(command)
    command.add_argument(
        "--by",
        choices=("operator", "module", "line", "node"),
        default="operator",
        help="what the rows stand for (operator)",
    )
    command.add_argument(
        "--runs", type=positive(int), default=3, help="calls that are profiled (3)"
    )
    command.add_argument("--top", type=int, default=20, help="rows that are printed (20)")
    command.add_argument("--optimized", action="store_true", help="optimise the module first")
    command.add_argument(
        "--threads", type=positive(int), help="number of threads of the native engine"
    )
    command.add_argument(
        "--roofline",
        action="store_true",
        help="measure what the machine can do, and tell how near each row comes to it",
    )
    command.add_argument(
        "--trace", metavar="FILE.json", help="write a trace for chrome://tracing or Perfetto"
    )


def run(options: argparse.Namespace, out: Output) -> int:
    from .. import api
    from ..observing.profiling import profile

    if options.threads:
        api.set_num_threads(options.threads)
    module = load_module(options.archive, options, out, options.engine)
    if options.optimized:
        from ..programs.optimizing import methods_of, optimize

        module = optimize(module.eval(), methods_of(module))
    method = method_of(module, options.method, options.archive)
    args, kwargs = arguments(options, method.schema)
    with out.working(f"profiling {options.method}"), profile() as p:
        with told(method.schema, args, kwargs):
            method(*args, **kwargs)  # the first call includes one-time work
        warm = len(p.calls)
        for _ in range(max(options.runs, 1)):
            method(*args, **kwargs)
    p.forget_first(warm)
    if options.trace:
        p.save_trace(options.trace)
    roof = None
    if options.roofline:
        from ..observing.roofline import measure

        with out.working("measuring the machine"):
            roof = measure()
    rows = p.rows(options.by, roof)
    if out.json:
        machine = None if roof is None else {"flops": roof.flops, "bytes": roof.bytes}
        data = [row.to_json() for row in rows]
        facts = {"seconds": p.seconds, "calls": len(p.calls), "machine": machine}
        out.data({**facts, "by": options.by, "rows": data})
        return 0
    print_rows(p, rows, options, out)
    if roof is not None:
        out.remark(
            f"the machine: {roof.flops / 1e9:.3g} GFLOP/s in a matrix product, "
            f"{roof.bytes / 1e9:.3g} GB/s from memory"
        )
    return 0


def print_rows(p: Any, rows: list[Any], options: argparse.Namespace, out: Output) -> None:
    from ..observing.profiling import rate_text, time_text

    each = p.seconds / max(len(p.calls), 1)
    out.heading(f"{options.archive}: {time_text(each)} a call, {len(p.calls)} calls")
    out.table(
        ("time", "share", "runs", "FLOPs", "GFLOP/s", "bytes", "GB/s", "of roof", options.by),
        [
            (
                time_text(r.seconds / max(len(p.calls), 1)),
                f"{r.share:.1%}",
                r.count // max(len(p.calls), 1) or r.count,
                count_text(r.flops / r.count) if r.flops else "",
                rate_text(r.flops, r.seconds),
                size_text(r.bytes / r.count) if r.bytes else "",
                rate_text(r.bytes, r.seconds),
                f"{r.least / r.seconds:.0%}" if r.least and r.seconds else "",
                r.name or "(the module itself)",
            )
            for r in rows[: options.top]
        ],
        "rrrrrrrrl",
        ("bytes", "GB/s", "FLOPs", "runs", "GFLOP/s", "of roof"),
    )
    if len(rows) > options.top:
        out.remark(f"and {len(rows) - options.top} more rows: --top {len(rows)}")
    if p.unseen:
        out.remark(f"{p.unseen} calls were not looked into")
