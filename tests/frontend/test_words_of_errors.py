"""Errors of the compiler hold the words that PyTorch uses for the same program."""

from __future__ import annotations

import pytest

import scriptlang

PROGRAMS = {
    "undefined value hello": "def f(x):\n    return x + hello",
    "Unknown type name 'Nope'": "def f(x: Nope):\n    return x",
    "Variable 'x' previously had type int but is now being assigned to a value of type float": (
        "def f(n: int):\n    x = 1\n    if n > 0:\n        x = 1.0\n    return x"
    ),
    "Variable 'y' is annotated with type List[Optional[int]] but is being assigned to a value of "
    "type List[int]": "def f(x: List[int]):\n    y: List[Optional[int]] = x\n    return y",
    "is set to type int in the true branch and type str in the false branch": (
        "def f(n: int):\n    if n > 0:\n        y = 1\n    else:\n        y = 'a'\n    return y"
    ),
    "if-expression's true branch has type int but false branch has type str": (
        "def f(n: int):\n    return 1 if n > 0 else 'a'"
    ),
    "Return value was annotated as having type int but is actually of type str": (
        "def f(x: str) -> int:\n    return x"
    ),
    "does not return along all paths": "def f(n: int) -> int:\n    if n > 0:\n        return 1",
    "but this return statement returns a value of type str": (
        "def f(n: int):\n    if n > 0:\n        return n\n    return 'a'"
    ),
    "Arguments for call are not valid": "def f(s: str):\n    return s - 2",
    "The following variants are available": "def f(s: str):\n    return s - 2",
    "Expected a value of type 'List[Tensor]' for argument 'tensors' but instead found type "
    "'List[int]'": "def f(x: List[int]):\n    return torch.cat(x)",
    "Expected at most 1 arguments but found 2 positional arguments": (
        "def g(x: int):\n    return x\ndef f():\n    return g(1, 2)"
    ),
    "Argument x not provided": "def g(x: int):\n    return x\ndef f():\n    return g()",
    "Keyword argument z unknown": "def g(x: int):\n    return x\ndef f():\n    return g(1, z=2)",
    "Keyword argument x specified twice": (
        "def g(x: int):\n    return x\ndef f():\n    return g(1, x=2)"
    ),
    "Could not match type str to t": "def f(x: List[int]):\n    x.append('a')",
    "'int' object has no attribute or method 'foo'": "def f(x: int):\n    return x.foo",
    "'int' object is not iterable": "def f(n: int):\n    for i in n:\n        pass",
    "'int' object is not subscriptable": "def f(n: int):\n    return n[0]",
    "cannot call a value of type 'int'": "def f(n: int):\n    return n(1)",
    "Could not cast value of type Tuple[int, int] to bool": (
        "def f(t: Tuple[int, int]):\n    if t:\n        return 1\n    return 2"
    ),
    "range expected at most 3 arguments, got 4": (
        "def f():\n    for i in range(1, 2, 3, 4):\n        pass"
    ),
    "all inputs of range must be ints, found float in argument 0": (
        "def f():\n    for i in range(1.5):\n        pass"
    ),
    "too many values to unpack: need 2 but found 3": "def f():\n    a, b = 1, 2, 3\n    return a",
    "need 3 values to unpack but found only 2": "def f():\n    a, b, c = 1, 2\n    return a",
    "Tuple index out of range. Tuple is length 2 and index is 2": (
        "def f(t: Tuple[int, str]):\n    return t[2]"
    ),
    "with a non-integer literal because we cannot resolve the output type": (
        "def f(t: Tuple[int, str], i: int):\n    return t[i]"
    ),
    "does not support subscripted assignment": "def f(t: Tuple[int, int]):\n    t[0] = 1",
    "does not support augmented assignment": "def f(t: Tuple[int, int]):\n    t[0] += 1",
    "indexing tensor with unsupported index type 'str'": "def f(x, s: str):\n    return x[s]",
    "Dict keys must contain only a single type. Expected: str but found int instead": (
        "def f():\n    return {'a': 1, 2: 3}"
    ),
    "Expected type hint for result of tolist()": "def f(x):\n    return x.tolist()",
    "exceptions must derive from BaseException": "def f():\n    raise 3",
    "must return an object": "def f(n: int):\n    with n as m:\n        pass",
    "deletion at a single index": "def f(x: List[int]):\n    del x[1:3]",
    "print doesn't accept any keyword arguments": "def f(n: int):\n    print(n, sep='a')",
    "do not support break or continue inside the body of these loops": (
        "def f(t: Tuple[int, str]):\n    for x in t:\n        break"
    ),
    "Tried to set an attribute: y on a non-class": "def f(n: int):\n    n.y = 1",
}
"""Words -> a program in whose error they stand."""


@pytest.mark.parametrize("words", PROGRAMS)
def test_they_are_in_the_error(words):
    with pytest.raises(scriptlang.CompileError) as e:
        scriptlang.jit.CompilationUnit(PROGRAMS[words] + "\n").f
    assert words in str(e.value)


@pytest.mark.oracle
@pytest.mark.parametrize("words", PROGRAMS)
def test_pytorch_says_them(words):
    torch = pytest.importorskip("torch")
    with pytest.raises(RuntimeError) as e:
        torch.jit.CompilationUnit(PROGRAMS[words] + "\n")
    assert words in str(e.value)


@pytest.mark.parametrize("name, words", [("List", "a contained type"), ("Dict", "contained types")])
def test_a_type_without_its_parts(name, words):
    with pytest.raises(scriptlang.CompileError, match=f"Attempted to use {name} without {words}"):
        scriptlang.jit.CompilationUnit(f"def f(x: {name}):\n    return x\n").f


def test_every_error_is_a_runtime_error():
    for cls in (scriptlang.CompileError, scriptlang.ArchiveError, scriptlang.RunError):
        assert issubclass(cls, RuntimeError)


def innermost(x: int) -> int:
    return x


def inner(x):
    return innermost("a")


def outer(x):
    return inner(x)


def test_the_chain_of_calls():
    with pytest.raises(scriptlang.CompileError) as e:
        scriptlang.script(outer)
    assert "'inner' is being compiled since it was called from 'outer' at " in str(e.value)
