"""Random programs on numbers, strings, lists, dicts and tuples, for comparing engines.

Every loop ends: a `while` counts a variable of its own down.  Errors are welcome: a division by
zero or an index out of range is an outcome that engines must agree about.
"""

from __future__ import annotations

import random

TYPES = (
    "int",
    "float",
    "bool",
    "str",
    "List[int]",
    "List[float]",
    "Dict[int, int]",
    "Optional[int]",
    "List[Tuple[int, str]]",
    "Dict[str, int]",
    "List[List[int]]",
)
LETTERS = "ifbslmdoper"
START = {
    "int": "{n}",
    "float": "{n}.5",
    "bool": "True",
    "str": "'a{n}'",
    "List[int]": "[{n}, 1, 2]",
    "List[float]": "[0.5, {n}.0]",
    "Dict[int, int]": "{{1: {n}, 2: 3}}",
    "Optional[int]": "None",
    "List[Tuple[int, str]]": "[({n}, 'b'), (7, 'c{n}')]",
    "Dict[str, int]": "{{'b': {n}}}",
    "List[List[int]]": "[[{n}, 2, 3], [4, 5, 6]]",
}
INTS = (
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} // {b}",
    "{a} % {b}",
    "min({a}, {b})",
    "max({a}, {b})",
    "-{a}",
    "abs({a})",
    "{a} & {b}",
    "{a} | {b}",
    "{a} ^ {b}",
    "{a} >> 3",
    "int({f})",
    "int({q})",
    "len({l})",
    "{l}[{a}]",
    "{l}[{a} % 3]",
    "len({s})",
    "len({d})",
    "{d}[{a}]",
    "helper({a}, {f})",
    "{a} if {q} else {b}",
    "int(math.floor({f}))",
    "{p}[{a} % len({p})][0]",
    "{e}.get({s}, {a})",
    "{e}[{s}]",
    "{r}[{a} % 2][{b} % 3]",
    "ord({s}[0])",
    "{s}.count('a')",
    "down({a})",
    "down(down({a}) + {b})",
)
FLOATS = (
    "{f} + {g}",
    "{f} - {g}",
    "{f} * {g}",
    "{f} / {g}",
    "{f} + {a}",
    "{a} * {f}",
    "{a} / {b}",
    "{f} // {g}",
    "{f} % {g}",
    "-{f}",
    "abs({f})",
    "float({a})",
    "min({f}, {g})",
    "max({f}, {g})",
    "math.sqrt(abs({f}))",
    "math.sin({f})",
    "{m}[{a}]",
    "float({q})",
    "{f} if {q} else {g}",
    "math.exp(-abs({f}))",
)
BOOLS = (
    "{a} < {b}",
    "{a} <= {b}",
    "{a} == {b}",
    "{a} != {b}",
    "{f} < {g}",
    "{f} >= {g}",
    "{a} > {f}",
    "{q} and {a} > 0",
    "{q} or {f} > 0.0",
    "not {q}",
    "{a} in {d}",
    "{q} == {q}",
    "{s} == 'a1'",
    "{a} in {l}",
    "{o} is None",
    "bool({a})",
    "{s} < {t}",
    "{s} >= {t}",
    "{s} in {e}",
    "{s}[0] <= 'b'",
    "{s} == {t}",
)
CHANGES = (
    "{l}.append({a})",
    "{m}.append({f})",
    "{l}[{a} % len({l})] = {b}",
    "{d}[{a}] = {b}",
    "{l} = {k}",
    "{l} = {l} + {k}",
    "{o} = {a}",
    "{o} = None",
    "{s} += str({a})",
    "{l}.pop()",
    "{s} = {s}[1:]",
    "{d}[{a}] += 1",
    "{l}.extend({k})",
    "{l}[{a}] += {b}",
    "{p}.append(({a}, {s}))",
    "i0, s1 = {p}[{a} % len({p})]",
    "{r}[{a} % 2][{b} % 3] = {a}",
    "{e}[{s}] = {e}.get({s}, 0) + 1",
    "{s} = ({s} + {t})[:9]",
    "i1, i0 = two({a}, {b})",
    "{s} = '-'.join({s}.split('a'))[:20]",
    "{p}[{a} % len({p})] = ({b}, {t})",
    "f0, l1 = {f}, {l}",
    "{r}[{a}][{b}] += 1",
    "{r}[{a} % 2] = [{a}, {b}, 1]",
)


RESULT = "(i0, i1, f0, f1, b0, b1, s0, s1, l0, l1, m0, m1, d0, d1, p0, p1, e0, e1, r0, r1)"
RESULT_TYPE = (
    "Tuple[int, int, float, float, bool, bool, str, str, List[int], List[int], "
    "List[float], List[float], Dict[int, int], Dict[int, int], "
    "List[Tuple[int, str]], List[Tuple[int, str]], Dict[str, int], Dict[str, int], "
    "List[List[int]], List[List[int]]]"
)


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counters = 0

    def name(self, type_: str) -> str:
        return f"{LETTERS[TYPES.index(type_)]}{self.random.randrange(2)}"

    def fill(self, pattern: str) -> str:
        atoms = {
            key: self.atom(t)
            for key, t in (
                ("a", "int"),
                ("b", "int"),
                ("f", "float"),
                ("g", "float"),
                ("q", "bool"),
            )
        }
        names = {
            key: self.name(t)
            for key, t in (
                ("l", "List[int]"),
                ("k", "List[int]"),
                ("m", "List[float]"),
                ("d", "Dict[int, int]"),
                ("s", "str"),
                ("t", "str"),
                ("o", "Optional[int]"),
                ("p", "List[Tuple[int, str]]"),
                ("e", "Dict[str, int]"),
                ("r", "List[List[int]]"),
            )
        }
        return pattern.format(**atoms, **names)

    def atom(self, type_: str) -> str:
        if self.random.random() < 0.7:
            return self.name(type_)
        n = self.random.randrange(-3, 8)
        text = {"int": f"({n})", "float": f"({n}.25)", "bool": str(n > 2)}[type_]
        return text

    def write(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        kind = self.random.random()
        if depth > 3 or kind < 0.55:
            self.assignment(depth)
        elif kind < 0.7:
            self.write(depth, f"if {self.fill(self.random.choice(BOOLS))}:")
            self.block(depth + 1, in_loop)
            if self.random.random() < 0.5:
                self.write(depth, "else:")
                self.block(depth + 1, in_loop)
        elif kind < 0.82:
            self.for_loop(depth)
        elif kind < 0.92:
            self.while_loop(depth)
        elif in_loop:
            self.write(depth, f"if {self.fill(self.random.choice(BOOLS))}:")
            self.write(depth + 1, self.random.choice(("break", "continue", f"return {RESULT}")))
        else:
            self.write(depth, f"if {self.fill(self.random.choice(BOOLS))}:")
            self.write(depth + 1, f"return {RESULT}")

    def assignment(self, depth: int) -> None:
        kind = self.random.randrange(5)
        if kind < 3:
            type_, forms = (("int", INTS), ("float", FLOATS), ("bool", BOOLS))[kind]
            self.write(depth, f"{self.name(type_)} = {self.fill(self.random.choice(forms))}")
        elif kind == 3:
            self.write(depth, self.fill(self.random.choice(CHANGES)))
        else:
            self.write(
                depth, "i0, i1 = i1, i0" if self.random.random() < 0.5 else "f0, f1 = f1, f0 + f1"
            )

    def for_loop(self, depth: int) -> None:
        self.counters += 1
        over = self.random.choice(
            ("range(4)", "range(1, 9, 3)", "range(5, 0, -2)", "[3, 1]", "range(i0 % 5)")
        )
        self.write(depth, f"for c{self.counters} in {over}:")
        self.write(depth + 1, f"i1 = i1 + c{self.counters}")
        self.block(depth + 1, True)

    def while_loop(self, depth: int) -> None:
        self.counters += 1
        count, test = f"w{self.counters}", self.fill(self.random.choice(BOOLS))
        self.write(depth, f"{count} = 5")
        self.write(depth, f"while {count} > 0 and ({test} or {count} > 3):")
        self.write(depth + 1, f"{count} -= 1")
        self.block(depth + 1, True)


def program(seed: int) -> str:
    """The text of functions `helper` and `f(x: int, y: float)`, which returns all variables."""
    writer = Writer(seed)
    lines = [
        "def helper(a: int, b: float) -> int:",
        "    if b > 2.0:",
        "        return a % 5 + 1",
        "    return a // 2",
        "",
        "def two(a: int, b: int) -> Tuple[int, int]:",
        "    return (a % 3, b) if a < b else (b, a)",
        "",
        "def down(a: int) -> int:",
        "    if a <= 0 or a > 9:",
        "        return a % 7",
        "    return down(a - 1) + a",
        "",
        f"def f(x: int, y: float) -> {RESULT_TYPE}:",
    ]
    for type_ in TYPES:
        for k in range(2):
            letter = LETTERS[TYPES.index(type_)]
            start = START[type_].format(n=k + 1)
            if type_ in ("int", "float") and k == 0:
                start = "x" if type_ == "int" else "y"
            lines.append(f"    {letter}{k}: {type_} = {start}")
    writer.block(1, False)
    writer.block(1, False)
    writer.block(1, False)
    return "\n".join([*lines, *writer.lines, f"    return {RESULT}", ""])
