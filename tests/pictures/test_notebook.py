"""What notebooks show of modules, graphs and tensors, and that it is no more than that."""

from __future__ import annotations

import base64
import html.parser
import pathlib
import re

import pytest

import scriptlang

DATA = pathlib.Path(__file__).parent.parent / "data"


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.open = [], []
        self.feed(text)
        assert not self.open, "each element ends"

    def handle_starttag(self, tag, attributes):
        self.found.append(tag)
        if tag not in ("img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_module_is_a_tree_that_folds():
    m = scriptlang.load(DATA / "mlp.script.pt")
    text = m._repr_html_()
    assert "layers: Sequential" in text and "160 parameters" in text
    assert Tags(text).found.count("details") == 2


def test_a_graph_is_drawn():
    m = scriptlang.load(DATA / "mlp.script.pt").eval()
    shaped = scriptlang.inspect(m, {"x": "2,6"})
    for graph in (m.inlined_graph, shaped):
        text = graph._repr_html_()
        svg = base64.b64decode(re.search(r"base64,([^\"]+)", text)[1]).decode()
        assert "linear" in svg and set(Tags(text).found) <= {"img", "details", "summary", "pre"}
    assert "2\u00d76" in svg


def test_a_name_is_no_markup():
    def f(x: scriptlang.Tensor):
        return x + 1

    graph = scriptlang.script(f).graph
    for node in graph.ir.walk():
        for v in node.outputs:
            v.name = "<script>alert(1)</script>"
    assert "<script" not in graph._repr_html_()


@pytest.mark.parametrize(
    "tensor, cells",
    [
        (scriptlang.zeros(2, 3), 6),
        (scriptlang.zeros(()), 1),
        (scriptlang.ones(4, dtype=scriptlang.bool), 4),
        (scriptlang.ones(2, 2, dtype=scriptlang.bfloat16), 4),
        (scriptlang.ones(2, 2, dtype=scriptlang.complex64), 4),
        (scriptlang.ones(2, 2, requires_grad=True), 4),
        (scriptlang.zeros(3, 2, 2), 4),
        (scriptlang.zeros(100, 100), 20 * 13 + 1),
        (scriptlang.zeros(0, 3), 0),
    ],
    ids=str,
)
def test_a_tensor_is_a_table(tensor, cells):
    text = tensor._repr_html_()
    assert Tags(text).found.count("td") == cells and str(list(tensor.shape)) in text
