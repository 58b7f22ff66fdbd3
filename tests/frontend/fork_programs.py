"""Programs with fork and wait; RUNS lists (function, its result for `arange(3.)`)."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import scriptlang as torch
from scriptlang import Tensor
from scriptlang.jit import Future


def add(x, y: int):
    return x + y


def pair(x, y: int = 3) -> Tuple[Tensor, int]:
    return x * y, y


def fails(x):
    if bool(x.sum() > 0):
        raise ValueError("positive")
    return x


def add_one(x):
    x.add_(1)
    return x


class Scaler:
    def __init__(self, a: int):
        self.a = a

    def go(self, x: Tensor) -> Tensor:
        return x * self.a

    @staticmethod
    def lift(x: Tensor) -> Tensor:
        return x + 7


def a_function(x):
    f = torch.jit.fork(add, x, 2)
    return torch.jit.wait(f)


def keywords_and_defaults(x):
    f, g = torch.jit._fork(pair, x), torch.jit._fork(pair, x, y=5)
    return torch.jit._wait(f)[0] + torch.jit._wait(g)[1]


def a_list(x):
    futures: List[Future[Tensor]] = []
    for i in range(4):
        futures.append(torch.jit.fork(add, x, i))
    total = x - x
    for f in futures:
        total = total + torch.jit.wait(f)
    return total


def a_dict(x):
    d: Dict[str, Future[Tensor]] = {"a": torch.jit.fork(add, x, 1)}
    d["b"] = torch.jit.fork(add, x, 2)
    return d["a"].wait() * torch.jit.wait(d["b"])


def both(x):
    f, g = torch.jit.fork(add, x, 1), torch.jit.fork(add, x, 2)
    return torch.jit.wait(f) + torch.jit.wait(g)


def nested(x):
    f, g = torch.jit.fork(both, x), torch.jit.fork(both, x * 2)
    return torch.jit.wait(f) - torch.jit.wait(g)


def never_waited_for(x):
    f = torch.jit.fork(fails, x)
    return x


def perhaps(x):
    f: Optional[Future[Tensor]] = None
    if x.size(0) > 1:
        f = torch.jit.fork(add, x, 5)
    if f is not None:
        return torch.jit.wait(f)
    return x


def a_method(x):
    f = torch.jit.fork(Scaler(3).go, x)
    return torch.jit.wait(f)


def a_static_method(x):
    return torch.jit.wait(torch.jit.fork(Scaler.lift, x))


def waits(f: Future[Tensor]) -> Tensor:
    return torch.jit.wait(f)


def starts(x) -> Future[Tensor]:
    return torch.jit.fork(add, x, 9)


def given_to_a_function(x):
    return waits(torch.jit.fork(add, x, 9)) + torch.jit.wait(starts(x))


def a_future_in_a_fork(x):
    f = torch.jit.fork(add, x, 2)
    return torch.jit.wait(torch.jit.fork(waits, f))


def an_operator(x):
    return torch.jit.wait(torch.jit.fork(torch.add, x, 2, alpha=3))


def in_place(x):
    y = x.clone()
    torch.jit.wait(torch.jit.fork(add_one, y))
    return y


def in_a_loop(x):
    f = torch.jit.fork(add, x, 2)
    while bool(torch.jit.wait(f).sum() < 50):
        f = torch.jit.fork(add, torch.jit.wait(f), 2)
    return torch.jit.wait(f)


def waited_for_twice(x):
    f = torch.jit.fork(add, x, 1)
    return torch.jit.wait(f) + torch.jit.wait(f)


def awaited(x):
    a = torch.jit._awaitable(add, x, 2)
    n = torch.jit._awaitable_nowait(x)
    first = torch.jit._awaitable_wait(a)
    return first + torch.jit._awaitable_wait(a) + torch.jit._awaitable_wait(n)


RUNS = [
    (a_function, [2.0, 3.0, 4.0]),
    (keywords_and_defaults, [5.0, 8.0, 11.0]),
    (a_list, [6.0, 10.0, 14.0]),
    (a_dict, [2.0, 6.0, 12.0]),
    (nested, [0.0, -2.0, -4.0]),
    (never_waited_for, [0.0, 1.0, 2.0]),
    (perhaps, [5.0, 6.0, 7.0]),
    (a_method, [0.0, 3.0, 6.0]),
    (a_static_method, [7.0, 8.0, 9.0]),
    (given_to_a_function, [18.0, 20.0, 22.0]),
    (a_future_in_a_fork, [2.0, 3.0, 4.0]),
    (an_operator, [6.0, 7.0, 8.0]),
    (in_place, [1.0, 2.0, 3.0]),
    (in_a_loop, [16.0, 17.0, 18.0]),
    (waited_for_twice, [2.0, 4.0, 6.0]),
    (awaited, [4.0, 7.0, 10.0]),
]


class Held:
    def __init__(self, a: Tensor):
        self.a = a

    def twice(self) -> Tensor:
        return self.a * 2


def make_held(x) -> Held:
    print("made")
    return Held(x)


def attributes_of_an_awaitable(x):
    held = torch.jit._awaitable(make_held, x + 1)
    print("first")
    return held.a + held.twice()


def gives_an_awaitable(x):
    return torch.jit._awaitable(add, x, 2)
