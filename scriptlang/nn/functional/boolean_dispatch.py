"""Functions whose result type depends on a bool argument: it selects one of two functions."""

from __future__ import annotations

from typing import Any, Callable, Tuple


def boolean_dispatch(
    arg_name: str, arg_index: int, default: bool, if_true: Callable, if_false: Callable
) -> Callable:
    """A function that calls one of two functions, depending on its argument `arg_name`.

    arg_index: the position of that argument. The compiler reads the attribute `boolean_dispatch`,
    since programs choose when they are compiled.
    """

    def function(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    choice: Tuple[str, int, bool, Callable, Callable] = (
        arg_name,
        arg_index,
        default,
        if_true,
        if_false,
    )
    function.boolean_dispatch = choice
    function.__name__ = function.__qualname__ = if_false.__name__.lstrip("_")
    function.__doc__ = if_false.__doc__
    return function
