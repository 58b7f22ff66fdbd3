"""Random programs for the passes: views, in-place writes, lists, tuples, branches, loops.

`random_graph(seed)` is the text of a graph over two tensors and an int that runs without error for
tensors of shape (3, 3); everything that can be seen of memory is part of what it returns.
"""

from __future__ import annotations

import random

HEAD = """graph(%a : Tensor, %b : Tensor, %n : int, %given : Tensor[]):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %true : bool = prim::Constant[value=1]()
  %false : bool = prim::Constant[value=0]()
"""


class Writer:
    """Writes one program, keeping track of the values in scope by type."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.count = 0
        self.lines: list[str] = []
        self.scope = {
            "Tensor": ["a", "b"],
            "int": ["n", "zero", "one", "two"],
            "bool": ["true", "false"],
            "Tensor[]": ["given"],
            "(Tensor, Tensor)": [],
            "int[]": [],
        }

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def pick(self, type: str) -> str:
        """A value of a type; recent ones more often, so that chains arise."""
        known = self.scope[type]
        return "%" + self.random.choice(known[-4:] if self.random.random() < 0.7 else known)

    def emit(self, indent: str, type: str | None, text: str) -> None:
        if type is None:
            self.lines.append(f"{indent} = {text}")
            return
        name = self.name()
        self.lines.append(f"{indent}%{name} : {type} = {text}")
        self.scope[type].append(name)

    def statement(self, indent: str, depth: int) -> None:
        t, i, ts, c = (self.pick(k) for k in ("Tensor", "int", "Tensor[]", "bool"))
        u = self.pick("Tensor")
        choices = [
            ("Tensor", f"aten::relu({t})"),
            ("Tensor", f"aten::neg({t})"),
            ("Tensor", f"aten::add({t}, {u}, %one)"),
            ("Tensor", f"aten::mul({t}, {u})"),
            ("Tensor", f"aten::t({t})"),
            ("Tensor", f"aten::transpose({t}, %zero, %one)"),
            ("Tensor", f"aten::detach({t})"),
            ("Tensor", f"aten::relu_({t})"),
            ("Tensor", f"aten::add_({t}, {u}, %one)"),
            ("Tensor", f"aten::neg_({t})"),
            ("Tensor", f"aten::mul_({t}, %two)"),
            ("Tensor", f"aten::contiguous({t}, %zero)"),
            ("Tensor", f"aten::clone({t}, %none)"),
            ("int", f"aten::add({i}, %one)"),
            ("int", f"aten::mul({i}, %two)"),
            ("int", f"aten::sub({i}, {self.pick('int')})"),
            ("int", f"aten::size({t}, %zero)"),
            ("bool", f"aten::lt({i}, {self.pick('int')})"),
            ("bool", f"aten::__not__({c})"),
            ("Tensor[]", f"prim::ListConstruct({t}, {u})"),
            ("Tensor[]", f"aten::append({ts}, {t})"),
            ("Tensor", f"aten::__getitem__({ts}, %zero)"),
            ("Tensor[]", f"aten::_set_item({ts}, %zero, {t})"),
            ("int", f"aten::len({ts})"),
            ("int[]", f"aten::size({t})"),
            ("(Tensor, Tensor)", f"prim::TupleConstruct({t}, {u})"),
        ]
        if self.scope["(Tensor, Tensor)"]:
            choices.append(("Tensor", f"prim::TupleIndex({self.pick('(Tensor, Tensor)')}, %one)"))
        if self.scope["int[]"]:
            choices.append(("int", f"aten::__getitem__({self.pick('int[]')}, %zero)"))
        roll = self.random.random()
        if roll < 0.08 and depth < 2:
            self.branch(indent, depth, c)
        elif roll < 0.14 and depth < 2:
            self.loop(indent, depth, t, u)
        else:
            type, text = self.random.choice(choices)
            if "add_" in text:  # of what shares no memory with it, or it may raise
                text = f"aten::add_({t}, %{self.apart(indent, u)}, %one)"
            self.emit(indent, type, text)

    def apart(self, indent: str, u: str) -> str:
        name = self.name()
        self.lines.append(f"{indent}%{name} : Tensor = aten::neg({u})")
        return name

    def block(
        self, indent: str, depth: int, inside: dict[str, list[str]] | None = None
    ) -> tuple[str, str]:
        """Statements of a nested block; returns a tensor and an int of its scope."""
        outer = {k: list(v) for k, v in self.scope.items()}
        for k, v in (inside or {}).items():
            self.scope[k] += v
        for _ in range(self.random.randint(1, 4)):
            self.statement(indent + "    ", depth + 1)
        found = self.pick("Tensor"), self.pick("int")
        self.scope = outer
        return found

    def branch(self, indent: str, depth: int, condition: str) -> None:
        x, i = self.name(), self.name()
        self.lines.append(f"{indent}%{x} : Tensor, %{i} : int = prim::If({condition})")
        for k in range(2):
            self.lines.append(f"{indent}  block{k}():")
            t, n = self.block(indent, depth)
            self.lines.append(f"{indent}    -> ({t}, {n})")
        self.scope["Tensor"].append(x)
        self.scope["int"].append(i)

    def loop(self, indent: str, depth: int, t: str, u: str) -> None:
        p, q, i, s, r = (self.name() for _ in range(5))
        count = self.random.choice(["%one", "%two", "%n", "%zero"])
        self.lines.append(
            f"{indent}%{p} : Tensor, %{q} : Tensor = prim::Loop({count}, %true, {t}, {u})"
        )
        self.lines.append(f"{indent}  block0(%{i} : int, %{s} : Tensor, %{r} : Tensor):")
        x, _ = self.block(indent, depth, {"int": [i], "Tensor": [s, r]})
        swapped = self.random.choice([f"%{r}, {x}", f"{x}, %{r}", f"%{s}, {x}", f"%{s}, %{r}"])
        self.lines.append(f"{indent}    -> (%true, {swapped})")
        self.scope["Tensor"] += [p, q]

    def result(self) -> str:
        """Return some values, among them every kind of memory."""
        values = [
            self.pick("Tensor"),
            self.pick("Tensor"),
            "%a",
            self.pick("Tensor[]"),
            "%given",
            self.pick("int"),
            self.pick("bool"),
        ]
        types = ["Tensor", "Tensor", "Tensor", "Tensor[]", "Tensor[]", "int", "bool"]
        self.lines.append(
            f"  %out : ({', '.join(types)}) = prim::TupleConstruct({', '.join(values)})"
        )
        return "  return (%out)\n"


def random_graph(seed: int, length: int = 24) -> str:
    writer = Writer(seed)
    writer.lines.append("  %none : NoneType = prim::Constant()")
    for _ in range(length):
        writer.statement("  ", 0)
    end = writer.result()
    return HEAD + "\n".join(writer.lines) + "\n" + end
