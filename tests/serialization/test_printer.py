"""The code that is printed: names of the program, inlined temporaries, one line a statement."""

import textwrap
from typing import Optional

from scriptlang.serialization.archive import read_archive
from scriptlang.serialization.code_writer import print_class
from scriptlang.serialization.printer import print_function

import scriptlang
import scriptlang as torch
from scriptlang import nn
from tests.serialization.archives import DATA


def printed(function) -> str:
    return print_function(scriptlang.script(function)._function)


def text(code: str) -> str:
    return textwrap.dedent(code).lstrip("\n")


def scale(x: "list[float]", factor: float = 0.5) -> float:
    total = 0.0
    for value in x:
        if value > 0:
            total += value * factor
    return total


def test_a_loop_and_a_branch():
    assert printed(scale) == text("""
        def scale(x: List[float],
            factor: float=0.5) -> float:
          _0 = torch.len(x)
          total = 0.0
          for _1 in range(_0):
            value = x[_1]
            if torch.gt(value, 0):
              total0 = torch.add(total, torch.mul(value, factor))
            else:
              total0 = total
            total = total0
          return total
        """)


def pair(x: int) -> "tuple[int, str]":
    return x + 1, f'{x} "quoted"\n'


def test_literals():
    assert printed(pair) == text(r"""
        def pair(x: int) -> Tuple[int, str]:
          return (torch.add(x, 1), torch.format("{} \"quoted\"\n", x))
        """)


def missing(x: int) -> int:
    return x if x > 0 else torch.jit._unwrap_optional(torch.jit.annotate(Optional[int], None))


def test_a_none_that_is_unwrapped_has_its_type():
    assert "torch._unwrap_optional(annotate(Optional[int], None))" in printed(missing)


class Lacking(nn.Module):
    bias: Optional[int]

    def __init__(self):
        super().__init__()
        self.bias = None

    def forward(self, x: int) -> int:
        return torch.jit._unwrap_optional(self.bias) if x > 2 else x


def test_a_none_that_freezing_has_put_there_has_its_type():
    frozen = scriptlang.freeze(scriptlang.script(Lacking().eval()))
    assert "torch._unwrap_optional(annotate(Optional[int], None))" in frozen.code


def effects(x: "list[int]") -> int:
    first = x.pop()
    x.append(3)
    return first + len(x)


def test_effects_keep_their_order():
    lines = printed(effects).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        "first = torch.pop(x)",
        "_0 = torch.append(x, 3)",
        "return torch.add(first, torch.len(x))",
    ]


def test_a_class():
    root = read_archive(DATA / "serialization" / "language.pt").root
    code = print_class(root.get("inner").type)
    assert code.startswith("class Inner(Module):\n  __parameters__ = []\n")
    assert '  __forward_hooks__ = ["after"]\n' in code
    assert "  def forward(self: __torch__.Inner,\n      x: Tensor) -> Tensor:\n" in code


def test_names_that_python_keeps_are_not_used():
    archive = read_archive(DATA / "serialization" / "attributes.pt")
    for t in archive.importer.types.values():
        for method in getattr(t, "methods", {}).values():
            if hasattr(method, "graph"):
                compile(print_function(method), "code", "exec")
