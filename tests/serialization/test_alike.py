"""Methods that are written alike: copied graphs are those that compiling each of them gives."""

from __future__ import annotations

import pytest
from scriptlang.serialization import alike
from scriptlang.serialization.archive import read_archive
from scriptlang.serialization.code_files import CodeFiles
from scriptlang.serialization.importer import Importer
from scriptlang.serialization.zip_reader import ZipReader

from scriptlang import types as T

from .archives import FIXTURES, zipped

ROOT = "__torch__.m."


def classes(t: T.Type, found: dict[str, T.ClassType]) -> dict[str, T.ClassType]:
    for part in t.walk():
        if isinstance(part, T.ClassType) and part.name not in found:
            found[part.name] = part
            for a in part.attributes:
                classes(a.type, found)
    return found


def graphs(path) -> dict[str, tuple]:
    """Function name -> its graph as text, where each node is from, and the types of its values."""
    made = {}
    for t in classes(read_archive(path).root.type, {}).values():
        for f in t.methods.values():
            nodes = list(f.graph.walk_all())
            made[f.name] = (
                str(f.graph),
                [n.span and (n.span.place, n.span.text) for n in nodes],
                [v.type.annotation for n in nodes for v in n.outputs],
            )
    return made


@pytest.mark.parametrize("path", FIXTURES, ids=lambda p: p.stem)
def test_copied_graphs_are_those_of_compiling_each(path, monkeypatch):
    try:
        shared = graphs(path)
    except Exception as e:
        pytest.skip(f"not every method of it compiles: {e}")
    monkeypatch.setattr(alike, "MOST_TRIED", 0)
    assert shared == graphs(path)


def test_most_methods_of_a_network_are_copies(monkeypatch):
    copied = []
    copy = alike.copy
    monkeypatch.setattr(alike, "copy", lambda *args: copied.append(copy(*args)) or copied[-1])
    path = next(p for p in FIXTURES if p.name == "resnet.script.pt")
    assert len(graphs(path)) < 2 * sum(graph is not None for graph in copied)


def imported(**files: str) -> Importer:
    """An importer of sources: `a="..."` is `code/__torch__/m/___torch_mangle_a.py`."""
    contents = {
        f"code/__torch__/m/___torch_mangle_{name}.py": text.encode() for name, text in files.items()
    }
    reader = ZipReader(zipped(contents))
    return Importer(CodeFiles(reader.records, reader.read), lambda: [])


SOURCE = """\
class C(Module):
  __parameters__ = []
  k : Final[int] = {k}
  unused : Final[int] = {unused}
  at : {at}
  def f(self: __torch__.m.___torch_mangle_{n}.C, x: {x}) -> {x}:
    return {body}
"""


def both(body: str, first: dict, second: dict, monkeypatch) -> tuple[list, str, str]:
    """The graphs of two methods with that body, and the copies that were made."""
    usual = {"k": 1, "unused": 1, "at": "int", "x": "int", "body": body}
    importer = imported(
        **{str(n): SOURCE.format(n=n, **{**usual, **own}) for n, own in enumerate((first, second))}
    )
    copied = []
    copy = alike.copy
    monkeypatch.setattr(alike, "copy", lambda *args: copied.append(copy(*args)) or copied[-1])
    texts = [
        str(importer.find_type(f"{ROOT}___torch_mangle_{n}.C").methods["f"].graph) for n in range(2)
    ]
    return copied, texts[0], texts[1]


def test_constants_that_a_body_does_not_name_may_differ(monkeypatch):
    copied, a, b = both("torch.add(x, self.k)", {"unused": 1}, {"unused": 2}, monkeypatch)
    assert len(copied) == 1 and a.replace("mangle_0", "mangle_1") == b


@pytest.mark.parametrize(
    "body, first, second",
    [
        ("torch.add(x, self.k)", {"k": 1}, {"k": 2}),
        ("torch.add(x, self.k)", {"k": 1}, {"k": True}),
        ("torch.add(x, self.at)", {"at": "int"}, {"at": "Tensor", "x": "Tensor"}),
        ("torch.mul(x, 2)", {}, {"x": "Tensor"}),
    ],
)
def test_what_differs_is_compiled_for_itself(body, first, second, monkeypatch):
    copied, a, b = both(body, first, second, monkeypatch)
    assert not copied and a.replace("mangle_0", "mangle_1") != b


def test_classes_that_a_body_names_are_not_exchanged(monkeypatch):
    """`x is C` asks for the class that is written, whichever class asks."""
    other = "__torch__.m.___torch_mangle_0.C"
    copied, a, b = both(f"x if isinstance(self, {other}) else torch.neg(x)", {}, {}, monkeypatch)
    assert not copied and "aten::neg" not in a and "aten::neg" in b


def test_the_work_is_bounded(monkeypatch):
    copied, a, b = both("torch.add(x, self.k)", {}, {}, monkeypatch)
    assert len(copied) == 1
    monkeypatch.setattr(alike, "MOST_LOOKS", 2)
    copied, c, d = both("torch.add(x, self.k)", {}, {}, monkeypatch)
    assert not copied and (a, b) == (c, d)


def crowd(count: int, body: str = "torch.add(x, self.a0)") -> Importer:
    """Two classes of one name, each with `count` attributes and methods, which are all alike."""

    def text(n: int) -> str:
        head = (
            f"  def f{{}}(self: {ROOT}___torch_mangle_{n}.C, x: int) -> int:\n    return {body}\n"
        )
        attributes = "".join(f"  a{k} : int\n" for k in range(count))
        methods = "".join(head.format(k) for k in range(count))
        return f"class C(Module):\n  __parameters__ = []\n{attributes}{methods}"

    return imported(**{str(n): text(n) for n in range(2)})


def graphs_of(importer: Importer) -> int:
    """How much was compared to make all graphs of a crowd."""
    for n in range(2):
        for f in importer.find_type(f"{ROOT}___torch_mangle_{n}.C").methods.values():
            assert f.graph.nodes
    return alike.MOST_LOOKS - importer._bodies._looks


def test_copies_count_as_work_that_does_not_grow_with_the_class():
    few, many = graphs_of(crowd(20)), graphs_of(crowd(400))
    assert 0 < few < many < 30 * few


def test_a_crowd_of_copies_is_bounded(monkeypatch):
    copied = []
    copy = alike.copy
    monkeypatch.setattr(alike, "copy", lambda *args: copied.append(copy(*args)) or copied[-1])
    monkeypatch.setattr(alike, "MOST_LOOKS", 500)
    assert graphs_of(crowd(100)) >= 500
    assert 0 < len(copied) < 150


def test_names_that_are_no_words_may_be_used(monkeypatch):
    """`getattr(self, "a-b")` does not have the name of the attribute as a word."""
    importer = imported(
        **{
            str(n): SOURCE.format(
                n=n, k=1, unused=1, at="int", x="int", body="torch.add(x, self.k)"
            )
            for n in range(2)
        }
    )
    first, second = (importer.find_type(f"{ROOT}___torch_mangle_{n}.C") for n in range(2))
    for t, kind in ((first, T.INT), (second, T.TENSOR)):
        t.add_attribute("a-b", kind)
    copied = []
    copy = alike.copy
    monkeypatch.setattr(alike, "copy", lambda *args: copied.append(copy(*args)) or copied[-1])
    assert first.methods["f"].graph and second.methods["f"].graph and not copied


CALLED = """\
class D(Module):
  __parameters__ = []
  def forward(self: __torch__.m.___torch_mangle_{n}.D, x: int) -> {y}:
    return {body}
class C(Module):
  __parameters__ = []
  d : __torch__.m.___torch_mangle_{n}.D
  def f(self: __torch__.m.___torch_mangle_{n}.C, x: int) -> Any:
    return self.d(x)
"""


def test_what_a_call_means_without_a_name_counts():
    importer = imported(
        **{
            str(n): CALLED.format(n=n, y=y, body=body)
            for n, (y, body) in enumerate([("int", "x"), ("float", "float(x)")])
        }
    )
    for n, y in enumerate(("int", "float")):
        graph = importer.find_type(f"{ROOT}___torch_mangle_{n}.C").methods["f"].graph
        assert f": {y} = prim::CallMethod" in str(graph)
