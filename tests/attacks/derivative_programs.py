"""Programs of strangers that ask for gradients; `HOSTILE`: name -> (body, how it ends).

    python -m tests.attacks.derivative_programs ENGINE

runs them in turn within `LIMITS`; a line of JSON for each: [name, how it ended, seconds, bytes].
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time

from scriptlang import Limits
from scriptlang.jit import CompilationUnit
from scriptlang.ops.families import create as tensors

LIMITS = Limits(memory=1 << 28, seconds=5)
LEAF = "x = x.detach().requires_grad_(True)\n"
ANY = "torch.jit.annotate(List[Any], {})\n"
GIVEN = "torch.jit.annotate(List[Optional[Tensor]], {})"


def grad(of: str, more: str = "") -> str:
    return f"g = torch.autograd.grad([{of}], [x]{more})[0]\nassert g is not None\n"


def loop(times: int, *lines: str) -> str:
    return f"for i in range({times}):\n    " + "\n    ".join(lines) + "\n"


HOSTILE = {
    # Long graphs
    "a chain, walked": ("y = x\n" + loop(100000, "y = y * 1.0001") + grad("y.sum()"), ""),
    "a chain, dropped": ("y = x\n" + loop(100000, "y = y.sin()") + "return y.sum()", ""),
    "a chain of steps of two edges": (
        "y = x\n" + loop(30000, "y = y + y * 0.5", "y = y * 0.5") + grad("y.sum()"),
        "",
    ),
    "a chain through lists": (
        "y = x\n" + loop(10000, "y = torch.stack([y, y]).sum(0) * 0.5") + grad("y.sum()"),
        "",
    ),
    "a chain of writes": ("y = x * 1\n" + loop(3000, "y[0].mul_(1.001)") + grad("y.sum()"), ""),
    "a chain of views": ("y = x * 1\n" + loop(30000, "y = y.view(4)") + grad("y.sum()"), ""),
    "views that are made anew": (
        "y = x * 1\nv = y[1:]\nz = v.sum()\n"
        + loop(1000, "y.mul_(1.001)", "z = v.sum()")
        + grad("z"),
        "",
    ),
    "a wide graph": ("z = x.sum()\n" + loop(20000, "z = z + x[0]") + grad("z"), ""),
    # Graphs without end
    "steps without end": ("y = x\nwhile True:\n    y = y * 1.0\nreturn y\n", "LimitError"),
    "steps without tensors": (
        "y = x.sum()\n" + loop(3000000, "y = y + y") + "return y",
        "LimitError",
    ),
    "large things kept": (
        "y = torch.ones([1000000]).requires_grad_(True)\n" + loop(1000, "y = y * y") + "return y",
        "LimitError",
    ),
    "kept in a list": (
        "a: List[Tensor] = []\n" + loop(3000000, "a.append(x * 2)") + "return len(a)",
        "LimitError",
    ),
    "gradients of gradients without end": (
        "y = (x.sin() * x).sum()\nwhile True:\n    "
        "g = torch.autograd.grad([y], [x], create_graph=True)[0]\n    assert g is not None\n    "
        "y = (g * g).sum()\n",
        "LimitError",
    ),
    "going backward without end": (
        "y = (x * x).sum()\nwhile True:\n    y.backward(retain_graph=True)\n",
        "LimitError",
    ),
    "a gradient far larger than its tensor": (
        "y = x.expand([1 << 36, 4])[0]\n" + grad("y.sum()"),
        "Error",
    ),
    "a gradient of many views": (
        "y = x.sum()\nfor i in range(64):\n    y = y + x.expand([1 << 24, 4])[i].sum()\n"
        + grad("y"),
        "LimitError",
    ),
    # Containers
    "results that share": (
        f"a = {ANY.format('[x * 2]')}"
        + loop(100, f"a = {ANY.format('[a, a]')}")
        + grad("x.sum()")
        + "return a",
        "",
    ),
    "results that are deep": (
        f"a = {ANY.format('[x * 2]')}"
        + loop(50000, f"a = {ANY.format('[a]')}")
        + grad("x.sum()")
        + "return a",
        "Error",
    ),
    "results that contain themselves": (
        f"a = {ANY.format('[x * 2]')}a.append(a)\n" + grad("x.sum()") + "return a",
        "",
    ),
    "a dict that shares": (
        "d = torch.jit.annotate(Dict[str, Any], {'a': x * 2})\n"
        + loop(100, "d = torch.jit.annotate(Dict[str, Any], {'a': d, 'b': d})")
        + grad("x.sum()")
        + "return d",
        "",
    ),
    # Misuse
    "the same graph again": (
        "y = (x * x).sum()\n" + grad("y") + "y.backward()\n",
        "RuntimeError: Trying to backward",
    ),
    "nothing was kept": ("y = (x + 1).sum()\n" + grad("y") + "y.backward()\nreturn x.grad", ""),
    "gradient of another size": (
        grad("x * 2", f", {GIVEN.format('[torch.ones([7])]')}"),
        "RuntimeError",
    ),
    "gradient of no size": (
        grad("x * 2", f", {GIVEN.format('[torch.ones([0])]')}"),
        "RuntimeError",
    ),
    "gradient of integers": (
        grad("x * 2", f", {GIVEN.format('[torch.ones([4], dtype=torch.int64)]')}"),
        "",
    ),
    "complex gradient": (
        grad("x * 2", f", {GIVEN.format('[torch.ones([4], dtype=torch.complex64)]')}"),
        "RuntimeError: For complex",
    ),
    "too few gradients": (
        grad("x * 2, x * 3", f", {GIVEN.format('[torch.ones([4])]')}"),
        "RuntimeError: got 2 tensors and 1 gradients",
    ),
    "too many gradients": (
        grad("x.sum()", f", {GIVEN.format('[torch.ones([]), torch.ones([])]')}"),
        "RuntimeError: got 1 tensors and 2 gradients",
    ),
    "gradient of many for None": (
        grad("x * 2", f", {GIVEN.format('[None]')}"),
        "RuntimeError: grad can be implicitly",
    ),
    "no inputs": (
        "y = torch.autograd.grad([x.sum()], torch.jit.annotate(List[Tensor], []))\n",
        "RuntimeError: grad requires non-empty",
    ),
    "no outputs": (
        "y = torch.autograd.grad(torch.jit.annotate(List[Tensor], []), [x])\n",
        "RuntimeError",
    ),
    "of what requires none": (grad("torch.ones([])"), "RuntimeError: element 0"),
    "of what was not used": (
        "y = x * 2\nz = torch.autograd.grad([x.sum()], [y])\n",
        "RuntimeError",
    ),
    "integers that require": (
        "y = torch.ones([2], dtype=torch.int64).requires_grad_(True)\nreturn y",
        "RuntimeError",
    ),
    "a leaf in place": ("x.mul_(2)\n", "RuntimeError: a leaf Variable"),
    "a view of a leaf in place": ("x[0].mul_(2)\n", "RuntimeError: a view of a leaf"),
    "what is kept, written": (
        "y = x * 1\nz = y * y\ny.mul_(2)\n" + grad("z.sum()"),
        "RuntimeError: one of the variables",
    ),
    "a product through its own result": (
        "y = x.exp()\ny.add_(1)\n" + grad("y.sum()"),
        "RuntimeError: one of the variables",
    ),
    # Memory that changes under a graph
    "what is kept, shrunk": (
        "t = torch.ones([4])\ny = x * t\nt.resize_([0])\n" + grad("y.sum()"),
        "RuntimeError",
    ),
    "what is kept, elsewhere": (
        "t = torch.ones([4])\ny = x * t\nt.set_(torch.ones([1]))\nz = y.sum()\nz.backward()\n",
        None,
    ),
    "a base that shrinks": (
        "b = torch.zeros([1000, 4])\nv = b[999]\nv.copy_(x)\nb.detach().resize_([1])\n"
        + grad("v.sum()"),
        None,
    ),
    "a base that is elsewhere": (
        "b = torch.zeros([1000, 4])\nv = b[999]\nb.set_(torch.zeros([2]))\nv.copy_(x)\n"
        + grad("v.sum()"),
        "RuntimeError",
    ),
    "a base that goes elsewhere": (
        "b = torch.zeros([1000, 4])\nv = b[999]\nv.copy_(x)\nb.set_(torch.zeros([2]))\nb.mul_(2)\n"
        + grad("v.sum()"),
        "Error",
    ),
    "a leaf of another size": (
        "y = x * x\nx.set_data(torch.ones([1]))\ny.sum().backward()\n",
        None,
    ),
    "views that overlap": (
        "y = x * 1\nz = torch.as_strided(y, [2, 2], [1, 1], 0) * 3\n" + grad("z.sum() + y.sum()"),
        "",
    ),
    "writes to views that overlap": (
        "y = x * 1\nz = torch.as_strided(y, [4, 4], [0, 1], 0)\nz[1].mul_(2)\n" + grad("y.sum()"),
        None,
    ),
    "a view that leaves its tensor": (
        "y = (x * 1)[1:2]\nz = torch.as_strided(y, [4], [1], 0)\nz.mul_(2)\n" + grad("z.sum()"),
        "",
    ),
    "empty views with long strides": (
        "y = torch.empty_strided([0, 1 << 30], [1 << 50, 1 << 24]) + x[:1]\n" + grad("y.sum()"),
        None,
    ),
    # Others
    "retained again and again": (
        "y = x * 2\n" + loop(1000, "y.retain_grad()", "y.mul_(1.001)") + "y.sum().backward()\n",
        "",
    ),
    "gradients that have gradients": (
        "y = x\n"
        + loop(
            300,
            "(y * 2).sum().backward()",
            "z = y.grad",
            "assert z is not None",
            "y = z.detach().requires_grad_(True)",
        ),
        "",
    ),
    "tasks": (
        "a = [torch.jit.fork(h, x) for i in range(50)]\nb = [torch.jit.wait(t) for t in a]\n",
        "",
    ),
    "a function that calls itself through": ("return h(h(h(x).detach()).detach())\n", ""),
}
"""How it ends: what the error says; "" for a result, None for either."""

HELPER = """
def h(x: Tensor) -> Tensor:
    x = x.detach().requires_grad_(True)
    y = torch.autograd.grad([(x * x * x).sum()], [x])[0]
    assert y is not None
    return y
"""


def source(name: str, engine: str) -> str:
    body = LEAF + HOSTILE[name][0]
    if engine == "python":  # which is slower
        body = re.sub(r"range\((\d+)0000\)", r"range(\g<1>000)", body)
    if "return" not in body:
        body += "return 1\n"
    return HELPER + "\ndef f(x: Tensor):\n    " + body.rstrip("\n").replace("\n", "\n    ") + "\n"


def outcome(name: str, engine: str) -> str:
    """What the error says; "" for a result."""
    f = CompilationUnit(source(name, engine)).f
    try:
        type(f)(f._function, engine, None, LIMITS)(tensors.filled([4], 1.5, tensors.chosen(6)))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip()[:200]}"
    return ""


def main() -> None:
    for name in HOSTILE:
        start = time.monotonic()
        print(json.dumps([name]), flush=True)
        told = outcome(name, sys.argv[1])
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        print(json.dumps([name, told, time.monotonic() - start, used]), flush=True)


if __name__ == "__main__":
    main()
