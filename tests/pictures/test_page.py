"""Pages and drawings: what they show, that nothing in a file becomes script, and in a browser."""

from __future__ import annotations

import html.parser
import json
import pathlib
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import scriptlang
from scriptlang.command_line import main
from scriptlang.ir import Graph
from scriptlang.pictures.drawing import Drawer, escape, svg_of
from scriptlang.pictures.layout import lay_out
from scriptlang.pictures.page import PageOptions, json_in_script, page_of
from scriptlang.programs.shape_report import ShapedGraph
from tests.pictures import browser

DATA = pathlib.Path(__file__).parent.parent / "data"
RESNET = str(DATA / "resnet.script.pt")
ATTENTION = str(DATA / "attention.script.pt")
MLP = str(DATA / "mlp.script.pt")
COUNTER = str(DATA / "counter.script.pt")

HOSTILE = "</script><img src=x onerror=alert(1)>\"'`]]><svg onload=alert(2)>\u202e\x1b[31m"


# layout


def test_boxes_do_not_meet_and_edges_go_down():
    sizes = [(60, 20)] * 4 + [(200, 90)] + [(30, 20)] * 5
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4), (4, 5), (4, 6), (5, 9), (0, 9), (7, 8)]
    made = lay_out(sizes, edges)
    boxes = [(x, y, x + w, y + h) for (x, y), (w, h) in zip(made.places, sizes)]
    for i, a in enumerate(boxes):
        assert 0 <= a[0] and a[2] <= made.width + 1e-6 and 0 <= a[1] and a[3] <= made.height + 1e-6
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for (a, b), route in zip(edges, made.routes):
        assert boxes[a][3] == route[0][1] and boxes[b][1] == route[-1][1]
        assert [y for _, y in route] == sorted(y for _, y in route)


def test_edges_go_around_boxes():
    made = lay_out([(80, 20)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    (x1, y1), (x2, y2) = made.places[1], made.places[2]
    for x, y in made.routes[3][1:-1]:
        for left, top in ((x1, y1), (x2, y2)):
            assert not (left < x < left + 80 and top <= y <= top + 20)


def test_layouts_of_nothing_and_of_circles():
    assert lay_out([], []).width == 0
    assert lay_out([(10, 10)], []).places == [(0, 0)]
    with pytest.raises(ValueError, match="goes back"):
        lay_out([(1, 1), (1, 1)], [(1, 0)])


def test_a_deep_layout_is_quick_and_needs_no_recursion():
    count = 3000
    edges = [(i, i + 1) for i in range(count - 1)] + [(0, i) for i in range(2, count, 3)]
    assert len(lay_out([(50, 20)] * count, edges).places) == count


# drawings


def shaped(path, **shapes):
    return scriptlang.inspect(scriptlang.load(path, engine="python").eval(), shapes)


def test_a_drawing_has_a_box_for_each_node_and_shapes_on_edges():
    made = shaped(RESNET, x="1,3,32,32")
    root = ET.fromstring(svg_of(made))
    texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
    nodes = [n for n in made.graph.walk() if n.kind != "prim::Constant"]
    assert len([g for g in root.iter() if g.get("data-node")]) == len(nodes)
    begin = "1\u00d73\u00d732\u00d732 · "
    assert any(t and t.startswith(begin) for t in texts) and "conv2d" in texts


def test_blocks_and_groups_are_drawn():
    @scriptlang.script
    def f(x: scriptlang.Tensor, n: int):
        for i in range(n):
            if bool(x.sum() > 0):
                x = x.relu() * 2 + 1
        return x

    made = scriptlang.inspect(f, {"x": "4"}, optimized=True)
    text = svg_of(made)
    for word in ("then", "else", "each turn", "· mul"):
        assert f">{word}<" in text, word


def test_epilogues_are_part_of_the_title():
    m = scriptlang.load(RESNET).eval()
    text = svg_of(scriptlang.inspect(m, {"x": "1,3,32,32"}, optimized=True))
    assert re.search(r"conv2d \+ (add \+ )?relu", text)


def test_a_graph_that_is_too_large_is_cut():
    graph = Graph()
    v = graph.block.add_parameter(scriptlang.types.TENSOR, "x")
    for _ in range(30):
        v = graph.insert("aten::relu", [v], [scriptlang.types.TENSOR]).output
    graph.block.add_return(v)
    drawer = Drawer(ShapedGraph(graph, {}))
    drawer.left = 10
    picture = drawer.picture(graph.block)
    texts = [line for item, _, _ in picture.items for line in item.lines]
    assert "and 20 more nodes, which are not drawn" in texts and len(drawer.number) == 10


# pages


class Elements(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def page(path=RESNET, **options):
    return page_of(path, PageOptions(**options))


def test_a_page_has_all_of_a_model(tmp_path):
    target = tmp_path / "m.html"
    assert main(["inspect", RESNET, "--shapes", "x=1,3,32,32", "--html", str(target)]) == 0
    text = target.read_text()
    data = data_of(text)
    assert data["tree"]["type"] == "Resnet" or data["tree"]["parts"]
    conv = next(n for n in data["nodes"] if n["op"] == "aten::conv2d")
    assert conv["path"] == "stem.0" and conv["flops"] and conv["bytes"]
    source, line = conv["source"]
    assert "conv2d" in data["sources"][source]["text"]
    assert data["sources"][source]["first"] <= line
    weights = {w["name"]: w for w in data["weights"]}
    assert sum(weights["stem.0.weight"]["counts"]) > 0
    assert max(data["memory"]["live"]) > 0 and len(data["memory"]["live"]) > 10
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text.partition("<style>")[0])


def test_heat_of_a_profile_is_shown(tmp_path):
    trace = str(tmp_path / "t.json")
    assert main(["profile", MLP, "--random", "2,6", "--trace", trace]) == 0
    data = data_of(page(MLP, profile=trace))
    linear = [n for n in data["nodes"] if n["op"] == "aten::linear"]
    assert linear and all(0 < n["heat"] <= 1 and " x " in n["time"] for n in linear)


NO_TRACES = ("", "{}", "[1]", '{"traceEvents": [{"cat": "operator"}]}', "[" * 9999)


@pytest.mark.parametrize("text", NO_TRACES, ids=range(len(NO_TRACES)))
def test_what_is_no_trace_is_told(text, tmp_path, capsys):
    (tmp_path / "t.json").write_text(text)
    arguments = ["--profile", str(tmp_path / "t.json"), "--html", str(tmp_path / "o.html")]
    assert main(["inspect", MLP, *arguments]) == 1
    assert "no trace" in capsys.readouterr().err


def hostile_module():
    """A module whose names, strings and source are markup."""

    class M(scriptlang.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = scriptlang.nn.Linear(2, 2)

        def forward(self, x: scriptlang.Tensor) -> scriptlang.Tensor:
            if bool(x.sum() > 9):
                raise ValueError("</script><script>alert(3)</script>")
            return self.inner(x)

    m = scriptlang.script(M()).eval()
    for node in m._object_.type.methods["forward"].graph.walk():
        for v in node.outputs:
            v.name = HOSTILE
        if node.span is not None:
            source = node.span.source
            for field in ("text", "name"):
                value = getattr(source, field)
                if HOSTILE not in value:
                    object.__setattr__(source, field, HOSTILE + value)
    object.__setattr__(m._object_.type, "name", "__torch__." + HOSTILE)
    return m


def test_nothing_of_a_file_becomes_markup():
    m = hostile_module()
    text = page_of(m, PageOptions(name=HOSTILE))
    found = Elements(text).found
    assert not [t for t, a in found if t in ("img", "iframe", "object", "embed")]
    assert not [a for _, a in found for k in a if k.startswith("on")]
    assert [t for t, _ in found].count("script") == 2
    assert (
        "default-src 'none'" in text
        and "\x1b" not in text
        and "\u202e" not in text.partition('id="data">')[0]
    )
    drawing = svg_of(scriptlang.inspect(m, {}))
    assert {e.tag.rpartition("}")[2] for e in ET.fromstring(drawing).iter()} <= {
        *("svg", "style", "path", "title", "text", "g", "rect")
    }


def test_escaped_texts():
    assert escape('<a href="x">&\'\x00\n') == "&lt;a href=&quot;x&quot;&gt;&amp;&#x27;\ufffd\ufffd"
    assert json_in_script("</script><!--") == '"\\u003c/script\\u003e\\u003c!--"'
    assert json.loads(json_in_script({"a": HOSTILE})) == {"a": HOSTILE}


# in a browser

needs_browser = pytest.mark.skipif(browser.find() is None, reason="there is no Chromium")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "m.html"
    file.write_text(page(MLP, shapes={"x": "1,6"}), encoding="utf-8")
    with browser.Browser(browser.find()) as b:
        yield b.open(file), b


@needs_browser
def test_a_page_opens_folds_and_searches(opened):
    p, _ = opened
    assert p.run("document.querySelectorAll('#modules summary').length") >= 2
    p.run("document.querySelector('#modules summary').click()")
    assert p.run("document.querySelector('#modules details').open") is False
    p.run("document.querySelector('#modules summary').click()")
    p.run(
        "{const s = document.getElementById('search'); s.value = 'linear';"
        " s.dispatchEvent(new Event('input'));}"
    )
    hits = p.run("document.querySelectorAll('.n.hit').length")
    told = p.run("document.getElementById('count').textContent")
    assert hits >= 2 and told == f"{hits} operators"
    p.run(
        "document.getElementById('search').dispatchEvent(new KeyboardEvent('keydown',"
        "{key: 'Enter'}))"
    )
    assert p.run("document.querySelectorAll('.n.on').length") == 1
    assert p.run("document.querySelector('pre .on') !== null")
    assert p.problems == []


@needs_browser
def test_links_lead_from_source_to_graph_and_back(opened):
    p, _ = opened
    p.run("document.querySelector('[data-tab=source]').click()")
    p.run("document.querySelector('pre .linked').click()")
    number = p.run("document.querySelector('.n.on').dataset.node")
    assert number is not None
    p.run("document.querySelector('[data-tab=node]').click()")
    assert "aten::" in p.run("document.getElementById('node').textContent")
    for tab, inside in (("weights", ".bars rect"), ("memory", ".mem path")):
        p.run(f"document.querySelector('[data-tab={tab}]').click()")
        assert p.run(f"document.querySelectorAll('#{tab} {inside}').length") >= 1
    assert p.problems == []


@needs_browser
def test_hostile_pages_run_nothing(opened, tmp_path):
    _, b = opened
    file = tmp_path / "hostile.html"
    file.write_text(page_of(hostile_module(), PageOptions(name=HOSTILE)), encoding="utf-8")
    p = b.open(file)
    assert p.run("document.querySelectorAll('img').length") == 0
    p.run("document.querySelectorAll('.n').forEach((n) => n.dispatchEvent(new Event('click')))")
    for tab in ("source", "weights", "memory", "node"):
        p.run(f"document.querySelector('[data-tab={tab}]').click()")
    assert p.run("document.querySelectorAll('img, iframe').length") == 0
    assert p.run("document.querySelectorAll('script').length") == 2
    assert p.problems == []
    assert np.isfinite(p.run("document.querySelector('#graph svg').getBBox().width"))
