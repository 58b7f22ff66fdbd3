"""An HTML page that shows a model: modules, graph, source, weights, memory, and a profile.

    text = page_of("model.pt", PageOptions(shapes={"x": "1,3,224,224"}))

The page needs no network: its Content-Security-Policy, with the hash of its script, forbids a
browser to load or run anything else. Content from the file is either JSON data, which the script
inserts as text, or escaped text in SVG.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import ArchiveError, ScriptError
from ..ir import Function, Node, Value
from ..limits import Limits
from ..observing.observer import is_observed
from ..observing.paths import module_path
from ..observing.profiling import time_text
from ..observing.static import work_of
from ..programs.inspection import producer_of, tree_of
from .drawing import Drawer, escape, short_bytes, svg_text

HERE = pathlib.Path(__file__).parent
MOST_SOURCE = 600_000
"""The most characters of source in a page."""

MOST_WEIGHTS = 2000
SAMPLE = 20_000
"""The most weights that are shown, and how many elements of each its histogram samples."""

BINS = 32


@dataclass
class PageOptions:
    """What a page shows. shapes: the shapes of inputs, as for `scriptlang.inspect`. profile: the
    path of a trace written by `Profile.save_trace`."""

    shapes: dict[str, Any] = field(default_factory=dict)
    method: str = "forward"
    optimized: bool = False
    limits: Limits | None = None
    profile: str | None = None
    name: str = ""


def page_of(program: Any, options: PageOptions) -> str:
    """The page for an archive's path, or for a ScriptModule in eval mode."""
    from ..api import load
    from ..programs.module import ScriptModule
    from ..programs.shape_report import inspect

    module = program
    if not isinstance(program, ScriptModule):
        module = load(program, limits=options.limits).eval()
    shaped = inspect(
        module,
        options.shapes,
        method=options.method,
        optimized=options.optimized,
        limits=options.limits,
    )
    original = module._object_.type.methods[options.method]
    return Page(module, original, shaped, options, program).text()


class Page:
    def __init__(
        self, module: Any, function: Function, shaped: Any, options: PageOptions, source: Any
    ) -> None:
        self.module, self.function, self.shaped, self.options = module, function, shaped, options
        self.source = source
        self.paths = {n: module_path(function, n.callers) for n in shaped.graph.walk() if n.callers}

    def text(self) -> str:
        drawer = Drawer(self.shaped, self.paths)
        picture = drawer.picture(self.shaped.graph.block)
        svg = svg_text(picture, drawer.number)
        data = self.data(list(drawer.number))
        script = (HERE / "page.js").read_text(encoding="utf-8")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        name = self.options.name or str(self.module._type.name).rpartition(".")[2]
        facts = data.pop("facts")
        return TEMPLATE.format(
            digest=digest,
            title=escape(name),
            facts=escape(facts),
            style=(HERE / "page.css").read_text(encoding="utf-8"),
            svg=svg,
            data=json_in_script(data),
            script=script,
        )

    def data(self, nodes: list[Node]) -> dict[str, Any]:
        obj = self.module._object_
        tree = tree_of(obj)
        sources, places = self.sources(nodes)
        heat = heat_of(self.options.profile) if self.options.profile else {}
        most = max((sum(v) for v in heat.values()), default=0.0)
        version = ""
        if isinstance(self.source, (str, pathlib.Path)):
            version = f"{producer_of(self.source)} · "
        entries = [self.node(n, places.get(n), heat, most) for n in nodes]
        flops = sum(work_of(n, self.shaped.facts)[0] or 0 for n in nodes if is_observed(n))
        facts = f"{version}{tree.parameters:,} parameters · {short_bytes(tree.bytes)}"
        facts += f" · {len(nodes)} nodes of {self.options.method}"
        facts += f" · {flops / 1e9:.3g} GFLOPs" if flops > 1e6 else ""
        return {
            "facts": facts,
            "tree": tree_data(tree),
            "nodes": entries,
            "sources": sources,
            "weights": list(weights_of(self.module)),
            "memory": self.memory(),
        }

    def node(
        self, node: Node, source: Any, heat: dict[tuple[str, str], list[float]], most: float
    ) -> dict[str, Any]:
        path = self.paths.get(node, "")
        flops, count = work_of(node, self.shaped.facts) if is_observed(node) else (None, None)
        gives = ", ".join(f"%{v.name} : {self.shaped.type_text(v)}" for v in node.outputs)
        takes = ", ".join(map(taken, node.inputs[:40]))
        group = node.attributes.get("Subgraph")
        entry: dict[str, Any] = {
            "op": node.qualified_name,
            "path": path,
            "gives": gives[:400],
            "takes": takes[:400],
            "find": f"{node.qualified_name} {path} {gives}".lower()[:600],
        }
        if group is not None:
            inner = [n.qualified_name for n in group.walk() if n.kind != "prim::Constant"]
            entry["inside"] = ", ".join(inner)
        if flops:
            entry["flops"] = f"{flops:,}"
        if count:
            entry["bytes"] = short_bytes(count)
        if node.span is not None:
            entry["place"] = node.span.place[-200:]
        if source is not None:
            entry["source"] = source
        times = heat.get((path, node.qualified_name.partition(".")[0]))
        if times and most:
            entry["heat"] = round(sum(times) / most, 3)
            entry["time"] = f"{time_text(sum(times) / len(times))} x {len(times)}"
        return entry

    def sources(self, nodes: list[Node]) -> tuple[list[dict[str, Any]], dict[Node, Any]]:
        """Return (the source texts of the nodes, the [text index, line] of each node)."""
        numbers: dict[int, int] = {}
        found: list[dict[str, Any]] = []
        places: dict[Node, Any] = {}
        total = 0
        for node in nodes:
            span = node.span
            if span is None:
                continue
            source = span.source
            if id(source) not in numbers:
                total += len(source.text)
                if total > MOST_SOURCE:
                    continue
                numbers[id(source)] = len(found)
                found.append({"name": source.name, "first": source.first_line, "text": source.text})
            places[node] = [numbers[id(source)], span.line]
        return found, places

    def memory(self) -> dict[str, Any] | None:
        """The bytes alive at each step of the graph's own block; None if no sizes are known."""
        plan = self.shaped.memory_plan
        if not plan.buffers:
            return None
        steps = [n.qualified_name for n in self.shaped.graph.nodes]
        live = [0] * len(steps)
        for b in plan.buffers:
            for step in range(b.first, min(b.last + 1, len(steps))):
                live[step] += b.size
        shown = [k for k, n in enumerate(steps) if n != "prim::Constant"]
        text = f"at most {short_bytes(plan.lower_bound)} at once, in a block of "
        text += f"{short_bytes(plan.peak)}; {short_bytes(plan.naive)} without reuse"
        return {
            "text": text,
            "live": [live[k] for k in shown],
            "steps": [f"{steps[k]}: {short_bytes(live[k])}" for k in shown],
        }


def taken(v: Value) -> str:
    """The text of an input: the value of a constant, or else the name."""
    plain = (bool, int, float, str, list, tuple, type(None))
    if v.is_constant and isinstance(v.constant, plain):
        return repr(v.constant)[:60]
    return f"%{v.name or v.node.kind}"


def tree_data(part: Any) -> dict[str, Any]:
    note = f"{part.parameters:,} · {short_bytes(part.bytes)}" if part.parameters else ""
    return {
        "name": part.name,
        "type": part.class_name,
        "note": note,
        "parts": [tree_data(p) for p in part.parts],
    }


def weights_of(module: Any) -> Any:
    """The name, facts and histogram (from a sample of elements) of each parameter and buffer."""
    for number, (name, tensor) in enumerate(module.state_dict().items()):
        if number >= MOST_WEIGHTS:
            return
        tensor = tensor.detach()
        facts = f"{tensor.dtype.name}{list(tensor.shape)}"
        entry: dict[str, Any] = {"name": name, "facts": facts, "counts": []}
        try:
            array = tensor.dequantize() if getattr(tensor, "is_quantized", False) else tensor
            values = sampled(array)
        except (ScriptError, RuntimeError, TypeError):
            values = np.zeros(0)
        if values.size:
            low, high = float(values.min()), float(values.max())
            entry["facts"] += f" · {low:.4g} to {high:.4g} · mean {float(values.mean()):.4g}"
            if values.size > 1:
                spread = high if high > low else low + 1.0
                entry["counts"] = np.histogram(values, BINS, (low, spread))[0].tolist()
        yield entry


def sampled(tensor: Any) -> np.ndarray[Any, Any]:
    flat = tensor.reshape(-1).numpy()
    flat = flat[:: max(1, flat.size // SAMPLE)]
    if flat.dtype.kind == "c":
        flat = np.abs(flat)
    values = flat.astype(np.float64)
    return values[np.isfinite(values)]


def heat_of(path: str) -> dict[tuple[str, str], list[float]]:
    """The seconds of each run in a trace, by (module, operator).
    Raises ArchiveError if it is no trace."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    try:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        for e in events:
            if e.get("cat") == "operator":
                key = str(e["args"]["module"]), str(e["name"]).partition(".")[0]
                found[key].append(float(e["dur"]) / 1e6)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        help = "write one with `scriptlang profile --trace FILE.json`"
        raise ArchiveError(f"this is no trace of a profile ({e})", path, help) from None
    return found


def json_in_script(value: Any) -> str:
    """JSON that is safe in a script element: nothing in it can end that or open a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src 'sha256-{digest}'">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="referrer" content="no-referrer"><link rel="icon" href="data:,">
<title>{title}</title><style>{style}</style></head><body>
<header><h1>{title}</h1><span class="facts">{facts}</span>
<input id="search" type="search" placeholder="Search  ( / )" aria-label="Search operators">
<span id="count" aria-live="polite"></span></header>
<section id="modules" aria-label="Modules"></section>
<section id="graph" aria-label="Graph">{svg}<div id="zoom"><button id="in">+</button>\
<button id="less">&minus;</button><button id="fit">Fit</button></div></section>
<section id="side"><div id="tabs" role="tablist">\
<button class="narrow" data-tab="graph">Graph</button>\
<button class="narrow" data-tab="modules">Modules</button>\
<button data-tab="node">Node</button><button data-tab="source">Source</button>\
<button data-tab="weights">Weights</button><button data-tab="memory">Memory</button></div>
<div class="tab" id="node"><p class="empty">Choose an operator in the graph.</p></div>
<div class="tab" id="source" hidden></div><div class="tab" id="weights" hidden></div>
<div class="tab" id="memory" hidden></div></section>
<script type="application/json" id="data">{data}</script>
<script>{script}</script></body></html>
"""
