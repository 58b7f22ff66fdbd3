"""Random bytecode that keeps its stack in order but nothing else, for comparing engines.

It does what no compiler writes: registers are read after they were moved from, loops pop their own
counts, values change their type from one way to the other.  The verifier refuses part of it.
"""

from __future__ import annotations

import random

REGISTERS = 5
INTS = ("0", "1", "2", "3", "7", "-5", "9223372036854775807")
ON_INTS = (
    ("aten::add.int/2", 2),
    ("aten::mul.int/2", 2),
    ("aten::sub.int/2", 2),
    ("aten::remainder.int/2", 2),
    ("aten::__derive_index/3", 3),
    ("aten::neg.int/1", 1),
)
MIXED = ("True", "2.5", "None", "'s'")
ON_ALL = (
    *ON_INTS,
    ("aten::append.t/2", 2),
    ("aten::__getitem__.t/2", 2),
    ("aten::len.t/1", 1),
    ("aten::_set_item.t/3", 3),
    ("aten::str/1", 1),
    ("aten::Float.int/1", 1),
    ("aten::__is__/2", 2),
    ("aten::add.t/2", 2),
)


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.code: list[str] = []
        ints_only = self.random.random() < 0.7
        self.constants = INTS if ints_only else INTS + MIXED
        self.operators = ON_INTS if ints_only else ON_ALL
        self.lists = not ints_only

    def text(self) -> str:
        for k in range(1, REGISTERS + 1):
            self.code += [f"LOADC {self.random.choice(INTS)}", f"STORE {k}"]
        self.drain(self.block(2, 15, 0), 0)
        for k in range(1, REGISTERS + 1):
            self.code.append(f"LOAD {k}")
        return "\n".join(
            ["f(int x, int y) -> Any", *self.code, f"TUPLE_CONSTRUCT {REGISTERS}", "RET"]
        )

    def register(self) -> int:
        return self.random.randint(1, REGISTERS)

    def push(self) -> None:
        kind = self.random.random()
        if kind < 0.6:
            self.code.append(f"{'LOAD' if kind < 0.5 else 'MOVE'} {self.register()}")
        elif self.lists and kind < 0.7:
            self.code.append("LIST_CONSTRUCT List[int] 0")
        else:
            self.code.append(f"LOADC {self.random.choice(self.constants)}")

    def condition(self) -> None:
        if self.random.random() < 0.4:
            self.code.append("LOADC True")
        else:
            self.code += [
                f"LOAD {self.register()}",
                f"LOADC {self.random.randint(0, 4)}",
                "OP aten::lt.int/2",
            ]

    def drain(self, depth: int, wanted: int) -> None:
        for _ in range(depth - wanted):
            self.code.append(self.random.choice(["DROP", f"STORE {self.register()}"]))
        for _ in range(wanted - depth):
            self.push()

    def block(self, depth: int, most: int, nesting: int) -> int:
        """Write instructions; returns the depth of the stack after them."""
        for _ in range(self.random.randint(1, most)):
            kind = self.random.random()
            if kind < 0.3 or depth == 0:
                self.push()
                depth += 1
            elif kind < 0.45:
                self.code.append(f"STORE {self.register()}")
                depth -= 1
            elif kind < 0.5 and depth > 1:
                self.code.append(f"STOREN {self.random.randint(1, REGISTERS - 1)} 2")
                depth -= 2
            elif kind < 0.55:
                self.code.append(f"DROPR {self.register()}")
            elif kind < 0.8 or nesting > 2:
                name, count = self.random.choice(self.operators)
                if depth >= count:
                    self.code.append(f"OP {name}")
                    depth += 1 - count
            elif kind < 0.88:
                depth = self.branch(depth, nesting)
            else:
                depth = self.loop(depth, nesting)
        return depth

    def branch(self, depth: int, nesting: int) -> int:
        self.condition()
        test = len(self.code)
        self.code.append("JF")
        after = self.block(depth, 4, nesting + 1)
        jump = len(self.code)
        self.code.append("JMP")
        self.code[test] += f" {len(self.code) - test}"
        self.drain(self.block(depth, 4, nesting + 1), after)
        self.code[jump] += f" {len(self.code) - jump}"
        return after

    def loop(self, depth: int, nesting: int) -> int:
        carried = self.random.randint(0, 3)
        self.code += ["LOADC 0", f"LOADC {self.random.choice(['2', '4', INTS[-1]])}"]
        self.condition()
        self.drain(0, carried)
        start = len(self.code)
        self.code.append("LOOP")
        inside = depth + 3 + carried
        if carried and self.random.random() < 0.7:
            self.code.append(f"STOREN {self.random.randint(1, REGISTERS - carried)} {carried + 1}")
            inside = depth + 2
        self.drain(self.block(inside, 6, nesting + 1), depth + 2)
        self.condition()
        self.drain(0, carried)
        self.code.append(f"JMP {start - len(self.code)}")
        self.code[start] += f" {len(self.code) - start} {carried + 2}"
        return depth + carried
