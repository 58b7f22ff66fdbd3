"""Programs with constructs that PyTorch refuses: match, generators, `:=`, *args and **kwargs.

RUNS lists (function, tuples of arguments).  The expected results are those of CPython.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, List, Optional, Tuple


class Color(Enum):
    RED = 1
    GREEN = 2


def match_int(x: int) -> str:
    match x:
        case 1:
            return "one"
        case 2 | 3:
            return "few"
        case -1:
            return "neg"
        case n if n > 100:
            return "big"
        case _:
            return "many"


def match_str(s: str) -> int:
    r = 0
    match s:
        case "a":
            r = 1
        case "b" | "c":
            r = 2
    return r


def match_enum(c: Color) -> str:
    match c:
        case Color.RED:
            return "r"
        case Color.GREEN:
            return "g"
    return "?"


def match_capture(x: int) -> int:
    match x + 1:
        case 5:
            return 0
        case other:
            return other * 2


def match_as(x: int) -> int:
    match x:
        case 1 | 2 as n:
            return n * 10
        case _:
            return 0


def match_loop(xs: List[int]) -> int:
    t = 0
    for x in xs:
        match x:
            case 0:
                continue
            case 9:
                break
            case 5:
                t += 100
            case _:
                t += x
    return t


def match_opt(x: Optional[int]) -> int:
    match x:
        case None:
            return -1
        case 3:
            return 3
        case _:
            return 0


def match_bool(x: bool) -> int:
    match x:
        case True:
            return 1
        case _:
            return 0


def match_assign(x: int) -> str:
    match x:
        case 0:
            s = "z"
        case _:
            s = "nz"
    return s


def match_nested(x: int, s: str) -> int:
    match x:
        case 0:
            match s:
                case "a":
                    return 1
                case _:
                    return 2
        case _:
            return 3


def match_capvar(x: int) -> int:
    n = 5
    match x:
        case 1:
            pass
        case n:
            pass
    return n


def match_guard_binds(x: int, flag: bool) -> int:
    n = 0
    match x:
        case 1 as n if flag:
            return n + 100
        case 2 as n if flag:
            n += 5
        case 3:
            return n - 100
    return n


def match_rebinds(x: int, flag: bool) -> int:
    match x:
        case 1 as n if flag:
            n += 10
        case 2 as n if flag:
            n += 20
        case n:
            pass
    return n


def match_or_binds(x: int, flag: bool) -> int:
    n = -1
    match x:
        case (1 as n) | (2 as n):
            return n + 100
        case (3 as n) | n if flag:
            return n + 200
    return n


def match_two_names(x: int, flag: bool) -> int:
    match x:
        case (1 | 2 as n) as m if flag:
            return n + m + 100
        case n if n > 3:
            return n * 7
    return 10


def match_guard_assigns(x: int, flag: bool) -> int:
    match x:
        case _ if (x := x + 1) > 3:
            return x
        case 1 if flag:
            return 1000 + x
        case 2:
            return 2000 + x
    return 10


def match_guard_refines(x: int, flag: bool) -> int:
    y: Optional[int] = x if flag else None
    match y:
        case None:
            return -1
        case 2 as z if z > 0:
            return z
        case y if y is not None and y > 2:
            return y + 1
    return -3


def match_int_is_no_bool(x: int, flag: bool) -> int:
    match x:
        case True:
            return 1
        case False:
            return 2
    match flag:
        case 1:
            return 3
    return 4


def generator_any(x: List[int]):
    return any(i > 2 for i in x), all(i > 0 for i in x)


def generator_sum(x: List[int]):
    return sum(i * i for i in x), sum(i for i in range(4))


def generator_min(x: List[int]):
    return min(i - 1 for i in x), max(abs(i) for i in x)


def generator_join(x: List[int]):
    return ",".join(str(i) for i in x)


def generator_list(x: List[int]):
    return list(i + 1 for i in x)


def generator_tuple():
    return tuple(i * 2 for i in (1, 2, 3))


def generator_of_closure(xs: List[int], b: bool):
    def kept(ys: List[int]) -> List[int]:
        if b:
            raise ValueError("x")
        elif len(ys) > 2:
            z = 3
        else:
            return ys
        return [z]

    return {a: a for a in kept(xs)}


def generator_sorted(x: List[int]):
    return sorted(-i for i in x)


def generator_if(x: List[int]):
    return sum(i for i in x if i % 2 == 0)


def generator_float(x: List[float]):
    return sum(i * 2 for i in x), min(i for i in x)


def generator_two(x: List[int]):
    return sum(i * j for i in x for j in x)


def generator_enum(x: List[int]):
    return sum(i * v for i, v in enumerate(x))


def generator_dict(d: Dict[str, int]):
    return sum(v for k, v in d.items()), ",".join(k for k in d)


def walrus_if(x: List[int]):
    if (n := len(x)) > 1:
        return n
    return -n


def walrus_while(x: List[int]):
    r: List[int] = []
    while (n := len(x)) > 0:
        r.append(x.pop() + n)
    return r


def walrus_comp(x: List[int]):
    return [y for i in x if (y := i * 2) > 2]


def walrus_nested(a: int):
    return (b := a + 1) * b


def walrus_elif(a: int):
    if (b := a - 1) == 0:
        return 0
    elif (c := b * 2) > 5:
        return c
    else:
        return b + c


def walrus_call(a: int):
    return max(b := a + 1, b * 2)


def walrus_and(a: int):
    if a > 0 and (b := a * 2) > 4:
        return b
    return 0


def walrus_loop(x: List[int]):
    last = 0
    for i in x:
        if (last := i) > 2:
            break
    return last


def _va(x: int, *args: int) -> int:
    s = x
    for a in args:
        s += a
    return s


def variadic_args():
    return _va(1), _va(1, 2), _va(1, 2, 3)


def _va2(*args: int) -> int:
    return len(args) + sum(args) if len(args) > 0 else 0


def variadic_args2():
    return _va2(1, 2), _va2(5)


def _va3(*args):
    return args[0] + args[1]


def variadic_unann():
    return _va3(1, 2)


def _kw(x: int, **kwargs: int) -> int:
    return x + kwargs["a"] * 10


def variadic_kw():
    return _kw(1, a=2), _kw(1, a=3, b=4)


def _kwdef(x: int, *, scale: int = 2, off: int) -> int:
    return x * scale + off


def variadic_kwonly():
    return _kwdef(1, off=3), _kwdef(1, scale=5, off=1)


def _fw(*args, **kwargs):
    return _kwdef(*args, **kwargs)


def variadic_forward():
    return _fw(1, off=2), _fw(2, off=1, scale=7)


def _kwl(**kw: int) -> int:
    t = 0
    for k, v in kw.items():
        t += v * len(k)
    return t


def variadic_kwitems():
    return _kwl(a=1, bb=2), _kwl()


def _kwin(**kw: int) -> int:
    if "a" in kw:
        return kw["a"]
    return -1


def variadic_kwin():
    return _kwin(a=5), _kwin(b=5)


def _kwget(**kw: int) -> int:
    return kw.get("a", 7)


def variadic_kwget():
    return _kwget(a=5), _kwget(b=5)


def _kwdict(d: Dict[str, int], **kwargs: int):
    return dict(**kwargs), dict(d, z=3, **kwargs)


def variadic_dict():
    return _kwdict({"y": 0, "a": 0}, a=1, b=2)


def _vstar(*a: int):
    return a


def variadic_star(t: Tuple[int, int]):
    return _vstar(*t, 3)


def variadic_mixed():
    def inner(a: int, *rest: int) -> int:
        return a + len(rest)

    return inner(1, 2, 3)


def walrus_and2(a: int):
    b = 0
    if a > 0 and (b := a * 2) > 4:
        return b
    return b


def walrus_or(a: int):
    b = 7
    if a > 10 or (b := a * 2) > 4:
        return b
    return -b


def walrus_tern(a: int):
    b = 1
    c = (b := 5) if a > 2 else 3
    return b, c


def walrus_whileand(x: List[int]):
    t = 0
    while len(x) > 0 and (v := x.pop()) != 0:
        t += v
    return t


def walrus_chain(a: int):
    if 0 < (b := a - 1) < 5:
        return b
    return -1


class Odd(Exception):
    def __init__(self, text: str, code: int = 0):
        self.code = code


def raises_with_keyword(x: int):
    raise Odd(f"text: {x}", code=x)


def raises_with_name(x: int):
    raise ImportError("text", name="module")


class Above:
    def __init__(self, x: int):
        self.x = x

    @staticmethod
    def twice(x: int) -> int:
        return 2 * x

    @property
    def more(self) -> int:
        return self.x + 1


class Below(Above):
    def __init__(self, x: int):
        super().__init__(x)

    @property
    def more(self) -> int:
        return super().more * 10

    def get(self) -> int:
        return super().twice(self.x) + super(Below, self).more


def super_of_members(x: int):
    return Below(x).get(), Below(x).more


RUNS = [
    (super_of_members, [(3,)]),
    (match_int, [(1,), (3,), (-1,), (500,), (50,)]),
    (match_str, [("a",), ("c",), ("z",)]),
    (match_capture, [(4,), (7,)]),
    (match_as, [(1,), (2,), (3,)]),
    (match_loop, [([1, 0, 5, 2, 9, 7],)]),
    (match_opt, [(None,), (3,), (4,)]),
    (match_bool, [(True,), (False,)]),
    (match_assign, [(0,), (1,)]),
    (match_nested, [(0, "a"), (0, "b"), (1, "a")]),
    (match_capvar, [(1,), (8,)]),
    *(
        (f, [(x, flag) for x in range(5) for flag in (True, False)])
        for f in (
            match_guard_binds,
            match_rebinds,
            match_or_binds,
            match_two_names,
            match_guard_assigns,
            match_guard_refines,
            match_int_is_no_bool,
        )
    ),
    *(
        (f, [([1, 2, 3],)])
        for f in (
            generator_any,
            generator_sum,
            generator_min,
            generator_join,
            generator_list,
            generator_sorted,
            generator_if,
            generator_two,
            generator_enum,
            walrus_if,
            walrus_while,
            walrus_comp,
            walrus_loop,
        )
    ),
    (generator_float, [([1.5, 0.5],)]),
    (generator_of_closure, [([1, 2, 3, 4], False), ([1, 2], False)]),
    (generator_dict, [({"a": 1, "b": 2},)]),
    (generator_tuple, [()]),
    (walrus_nested, [(3,)]),
    (walrus_elif, [(1,), (2,), (9,)]),
    (walrus_call, [(3,)]),
    (walrus_whileand, [([1, 0, 2, 3],)]),
    *(
        (f, [(3,), (1,), (-1,), (20,)])
        for f in (walrus_and, walrus_and2, walrus_or, walrus_tern, walrus_chain)
    ),
    *(
        (f, [()])
        for f in (
            variadic_args,
            variadic_args2,
            variadic_unann,
            variadic_kw,
            variadic_kwonly,
            variadic_forward,
            variadic_kwitems,
            variadic_kwin,
            variadic_kwget,
            variadic_dict,
            variadic_mixed,
        )
    ),
    (variadic_star, [((1, 2),)]),
]
