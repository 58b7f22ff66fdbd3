"""Programs of the language without tensors, with arguments to run them on.

RUNS lists (function, tuples of arguments).  The expected results are those of CPython.
"""

from __future__ import annotations

import math
from typing import Dict, List, NamedTuple, Optional, Tuple


def early_return(x: int) -> int:
    if x > 3:
        return x * 2
    return x - 1


def nested_return(x: int, y: int) -> int:
    if x > 0:
        if y > 0:
            return 1
        z = 5
    else:
        z = 7
        if y > 3:
            return z
    return z + x


def returns_in_all_branches(x: int) -> str:
    if x == 0:
        return "zero"
    elif x == 1:
        return "one"
    else:
        return "many"


def loop_with_all_exits(n: int, stop: Optional[int]) -> int:
    if n < 0:
        return -1
    total = 0
    if stop is None:
        stop = 1000
    for i in range(n):
        if i > 8:
            break
        if i % 2 == 1:
            continue
        total += i
        if total == stop:
            return total * 100
    return total


def while_with_continue(n: int) -> Tuple[int, int]:
    i = 0
    odd = 0
    while i < n:
        i += 1
        if i % 2 == 0:
            continue
        odd += i
        if odd > 50:
            break
    return i, odd


def endless(n: int) -> int:
    k = 1
    while True:
        k *= 2
        if k > n:
            return k


def return_from_nested_loops(n: int) -> Tuple[int, int]:
    for i in range(n):
        for j in range(i):
            if i * j == 12:
                return i, j
            if j > 5:
                break
        if i == 20:
            break
    return -1, -1


def break_in_else(n: int) -> int:
    s = 0
    for i in range(n):
        if i < 4:
            s += 1
        else:
            if s > 2:
                s += 100
                break
            s += 10
        s += 1000
    return s


def return_in_while(n: int) -> int:
    while n > 0:
        n -= 1
        if n == 7:
            return 77
        if n == 9:
            n = 3
    return n


def range_forms(a: int, b: int, c: int) -> List[int]:
    out: List[int] = []
    for i in range(b):
        out.append(i)
    for i in range(a, b):
        out.append(i)
    for i in range(a, b, c):
        out.append(i)
    for i in range(b, a, -c):
        out.append(i)
    return out


def short_circuit(x: Optional[int], y: int) -> bool:
    return x is not None and x > y or y == 100


def chained(a: int, b: int, c: int) -> Tuple[bool, bool]:
    return a < b < c, a <= b == c


def optional_refined(x: Optional[int]) -> int:
    if x is None:
        return 0
    return x + 1


def optional_assigned(x: Optional[int], flag: bool) -> int:
    if x is None:
        x = 10
    elif flag:
        x = x * 2
    return x


def optional_and(x: Optional[int], y: Optional[int]) -> int:
    if x is not None and y is not None:
        return x * y
    if x is None or y is None:
        return -1
    return 0


def optional_asserted(x: Optional[int]) -> int:
    assert x is not None
    return x + 1


def optional_true(x: Optional[int]) -> int:
    if x:
        return x + 1
    return -5


def ternary(x: int, y: Optional[str]) -> str:
    s = "none" if y is None else y
    return s + ("a" if x > 0 else "b" if x == 0 else "c")


def arithmetic(a: int, b: int) -> Tuple[int, int, float, int, int, int, int, int]:
    return a // b, a % b, a / b, -a, a & b, a | b, a ^ b, (a << 2) >> 1


def floats(a: float, b: float) -> Tuple[float, float, float, float, bool]:
    return a // b, a % b, a**b, abs(a - b), a != b


def mixed(a: int, b: float) -> Tuple[float, float, float, bool, float]:
    return a + b, a * b, a - b, a < b, max(float(a), b)


def math_functions(x: float) -> Tuple[float, float, float, float, int]:
    return math.sqrt(x), math.exp(-x), math.pi * x, math.atan2(x, 2.0), math.ceil(x)


def conversions(x: float, s: str) -> Tuple[int, float, bool, str, int, float]:
    return int(x), float(3), bool(x), str(7), int(s), float(s)


def strings(s: str) -> Tuple[str, str, int, bool, List[str], str, str, bool]:
    return (
        s.upper(),
        s[1:3],
        len(s),
        s.startswith("a"),
        s.split(","),
        s.replace("a", "b"),
        s[0],
        "b" in s,
    )


def string_loop(s: str) -> str:
    out = ""
    for c in s:
        if c == "x":
            continue
        out = c + out
    return out


def formats(a: int, s: str) -> str:
    return f"{a} is {s}" + "{} and {}".format(a, s) + "%d%s" % (a, s) + "-".join([s, s])


def lists(x: List[int]) -> Tuple[int, int, List[int], List[int], List[int], bool, int]:
    y = [1, 2, 3]
    y.append(x[0])
    y.extend(x)
    y[0] = 42
    y[-1] += 7
    z = y + x
    z.reverse()
    del y[1]
    return len(y), y.pop(), y, z[1:-1], x[::2], 42 in y, y.index(42)


def list_methods(x: List[int]) -> Tuple[List[int], List[int], int, int, int]:
    y = x.copy()
    y.sort()
    y.insert(0, 9)
    y.remove(y[1])
    x.clear()
    return y, x, y.count(9), min(y), sum(y)


def comprehensions(n: int, words: List[str]) -> Tuple[List[int], List[int], Dict[str, int]]:
    return (
        [i * i for i in range(n)],
        [i + j for i in range(n) for j in range(i) if i != j + 1],
        {w: len(w) for w in words},
    )


def dicts(d: Dict[str, int]) -> Tuple[int, bool, int, List[str], int]:
    d["new"] = 5
    d["new"] += 1
    total = 0
    for k in d:
        total += d[k] + len(k)
    for k, v in d.items():
        total += v
    e = {"a": 1, "b": 2}
    e.update(d)
    del e["a"]
    return total, "new" in d, len(e), list(d.keys()), d.get("missing", 9)


def iteration(x: List[int], y: List[str]) -> List[str]:
    out: List[str] = []
    for i, v in enumerate(x):
        out.append(str(i) + str(v))
    for a, b in zip(x, y):
        out.append(str(a) + b)
    for i, (a, b) in enumerate(zip(x, y), 5):
        out.append(str(i) + str(a) + b)
    for v in reversed(x):
        out.append(str(v))
    return out


def unrolled(t: Tuple[int, str, float]) -> str:
    out = ""
    for v in t:
        out += str(v)
    return out


def unpacking(t: Tuple[int, Tuple[str, float]], x: List[int]) -> str:
    a, (b, c) = t
    p, q = x
    first, *rest = (1, 2, 3)
    return str(a) + b + str(c) + str(p - q) + str(rest[1])


def swap(a: int, b: int) -> Tuple[int, int]:
    for _ in range(3):
        a, b = b, a + b
    return a, b


def builtins_of_lists(x: List[int], f: List[float]) -> Tuple[int, float, bool, bool, List[int]]:
    return (max(x), min(f), any([v > 2 for v in x]), all([v > 2 for v in x]), sorted(x))


def raises(x: int) -> int:
    if x < 0:
        raise ValueError(f"negative: {x}")
    elif x == 0:
        raise RuntimeError("zero")
    return x


def asserts(x: int) -> int:
    assert x > 0, "must be positive"
    return x


class Point(NamedTuple):
    x: int
    y: float = 2.5


def named_tuples(n: int) -> Tuple[int, float, float]:
    p = Point(n)
    q = Point(y=1.0, x=n)
    return p.x, p.y + q.y, q[1]


def helper(x: int, scale: int = 3, *, shift: int = 0) -> int:
    return x * scale + shift


def calls(x: int) -> int:
    return helper(x) + helper(x, 2) + helper(scale=4, x=x, shift=1)


def factorial(n: int) -> int:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def inner_function(x: int) -> int:
    def twice(v: int) -> int:
        return v + v

    return twice(twice(x))


def walrus(x: List[int]) -> int:
    if (n := len(x)) > 2:
        return n
    return -n


def deleted(x: int) -> int:
    y = x + 1
    del y
    y = 5
    return y


def bool_logic(a: bool, b: bool, x: int) -> Tuple[bool, bool, bool, int]:
    return a and not b, a or b, not (a == b), int(a) + x


def variables_in_branches(x: int) -> int:
    if x > 2:
        y = 1
        w = 3
    else:
        y = 2
        w = 4
    if x > 10:
        y = y + w
    return y * 10 + w


def nested_loops_carry(n: int) -> int:
    a, b = 0, 1
    for i in range(n):
        for j in range(i):
            a += j
            if a > 40:
                b += 1
                continue
            b += a
        a, b = b % 17, a
    return a * 1000 + b


def loop_variable_outlives(n: int) -> Tuple[int, int]:
    i = -1
    x = 0
    for i in range(n):
        x += i
    return i, x


def walrus_in_while(x: List[int]) -> int:
    total = 0
    while (n := len(x)) > 1:
        total += n
        x.pop()
    return total + n


def raises_in_loop(x: List[Optional[int]]) -> int:
    total = 0
    for v in x:
        if v is None:
            continue
        if v < 0:
            raise ValueError("negative")
        total += v
    return total


def optional_loop(n: int) -> Optional[int]:
    best: Optional[int] = None
    for i in range(n):
        if best is None or i % 7 > best:
            best = i % 7
    return best


def tuple_operators(a: Tuple[int, str], b: Tuple[int, str]) -> Tuple[bool, bool, bool, int]:
    return a == b, a != b, 3 in (1, 2, 3), len(a + b)


def flag_that_starts_true(n: int) -> int:
    k = 1
    go = True
    while go:
        k *= 2
        if k > n:
            go = False
    if go:
        k = -1
    return k


def two_breaks_in_else(n: int) -> int:
    s = 0
    for i in range(n):
        if i < 4:
            s += 1
        else:
            if i == 6:
                break
            if s > 9000:
                s += 100
                break
            s += 10
        s += 1000
    return s


def endless_after_return(n: int) -> int:
    k = 1
    if k > n:
        return -k
    while True:
        k *= 2
        if k > n:
            return k


RUNS = [
    (endless_after_return, [(0,), (1000,)]),
    (two_breaks_in_else, [(3,), (5,), (9,), (99,)]),
    (flag_that_starts_true, [(0,), (9,)]),
    (loop_variable_outlives, [(0,), (4,)]),
    (walrus_in_while, [([1, 2, 3],), ([],)]),
    (raises_in_loop, [([1, None, 3],)]),
    (optional_loop, [(0,), (5,), (20,)]),
    (tuple_operators, [((1, "a"), (1, "a")), ((1, "a"), (2, "a"))]),
    (early_return, [(1,), (9,)]),
    (nested_return, [(1, 1), (1, 0), (0, 5), (0, 1)]),
    (returns_in_all_branches, [(0,), (1,), (2,)]),
    (loop_with_all_exits, [(-1, None), (5, None), (100, None), (100, 6), (3, 2)]),
    (while_with_continue, [(0,), (5,), (100,)]),
    (endless, [(0,), (1000,)]),
    (return_from_nested_loops, [(3,), (5,), (30,)]),
    (break_in_else, [(3,), (4,), (9,)]),
    (return_in_while, [(3,), (8,), (12,)]),
    (range_forms, [(1, 8, 3), (5, 2, 1), (-3, 4, 2)]),
    (short_circuit, [(None, 1), (3, 1), (1, 3), (None, 100)]),
    (chained, [(1, 2, 3), (3, 2, 2), (1, 2, 2)]),
    (optional_refined, [(None,), (4,)]),
    (optional_assigned, [(None, True), (4, True), (4, False)]),
    (optional_and, [(None, 1), (2, None), (3, 4)]),
    (optional_asserted, [(4,)]),
    (optional_true, [(None,), (0,), (4,)]),
    (ternary, [(1, None), (0, "x"), (-1, "y")]),
    (arithmetic, [(7, 2), (-7, 2), (7, -3)]),
    (floats, [(7.5, 2.0), (-7.5, 2.0), (0.5, 3.0)]),
    (mixed, [(3, 2.5), (1, 7.0)]),
    (math_functions, [(2.25,), (0.1,)]),
    (conversions, [(2.75, "12"), (-0.5, "3")]),
    (strings, [("a,bc,d",), ("xyz",)]),
    (string_loop, [("axbxc",), ("",)]),
    (formats, [(3, "q")]),
    (lists, [([5, 6, 7],), ([1],)]),
    (list_methods, [([5, 3, 4],)]),
    (comprehensions, [(4, ["a", "bcd"]), (0, [])]),
    (dicts, [({"k": 3, "long": 4},)]),
    (iteration, [([1, 2, 3], ["a", "b"]), ([], [])]),
    (unrolled, [((1, "b", 2.5),)]),
    (unpacking, [((1, ("s", 0.5)), [9, 4])]),
    (swap, [(1, 2)]),
    (builtins_of_lists, [([3, 1, 2], [0.5, -1.0])]),
    (raises, [(3,)]),
    (asserts, [(2,)]),
    (named_tuples, [(4,)]),
    (calls, [(2,)]),
    (factorial, [(6,)]),
    (inner_function, [(3,)]),
    (walrus, [([1, 2, 3],), ([1],)]),
    (deleted, [(1,)]),
    (bool_logic, [(True, False, 1), (False, False, 2), (True, True, 0)]),
    (variables_in_branches, [(1,), (3,), (11,)]),
    (nested_loops_carry, [(0,), (3,), (9,)]),
]
