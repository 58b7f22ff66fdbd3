"""Functions that call themselves: compiled where they are decorated, kept, and said when saved."""

import io
import warnings

import pytest

import scriptlang


@scriptlang.script
def factorial(n: int) -> int:
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def is_even(n: int) -> bool:
    return True if n == 0 else is_odd(n - 1)


def is_odd(n: int) -> bool:
    return False if n == 0 else is_even(n - 1)


def plain(n: int) -> int:
    return n + 1


def saved(function) -> bytes:
    file = io.BytesIO()
    scriptlang.save(function, file)
    return file.getvalue()


def test_a_decorated_function_knows_itself():
    assert factorial(5) == 120


def test_saving_says_what_pytorch_refuses():
    with pytest.warns(UserWarning, match="factorial calls itself.*PyTorch"):
        archive = saved(factorial)
    assert scriptlang.load(archive)(6) == 720


def test_by_way_of_another_function():
    with pytest.warns(UserWarning, match="is_even|is_odd"):
        archive = saved(scriptlang.script(is_even))
    assert scriptlang.load(archive)(7) is False


def test_other_functions_are_saved_in_silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saved(scriptlang.script(plain))
