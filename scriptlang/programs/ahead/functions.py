"""Derivatives made ahead of time: one graph of a program and its gradients.

both = scriptlang.value_and_grad(model)
loss, grads = both(x, y)              # {"weight": ..., "bias": ...}
"""

from __future__ import annotations

from typing import Any

from ...api import script
from ...building import alone
from ..module import ScriptFunction, ScriptModule
from .aot_backward import AotBackward
from .straight import ValueAndGrad, Wrt


@alone
def value_and_grad(program: Any, wrt: Wrt = None, *, engine: str = "auto") -> ValueAndGrad:
    """A function that gives what a program gives, with the gradients of that.

    program: a function of the language (compiled or not), or a module.  It gives one number, or a
    tuple of which the first is one, and is differentiated.
    wrt: by what: the place or name of an argument (a tensor, or a list of some), the name of a
    parameter or buffer, or several of these.  By default the first argument of a function, and all
    parameters of a module that require a gradient.
    The result is (value, gradients): one gradient for one `wrt`, a tuple for several, and a dict by
    name for a module by default; None for what the value does not depend on.  Neither keeps a
    history.

    Sizes and types of the arguments, numbers that are not floats, and attributes that are no
    tensors are settled when a call first comes with them: then one graph of the program and its
    derivatives is made and optimised, and kept for such calls.  Where control flow depends on
    elements, or memory is written in ways that it cannot follow, the tape is used; `why` says so.
    """
    return ValueAndGrad(compiled(program, engine), wrt, engine)


@alone
def aot_backward(program: Any, wrt: Wrt = None, *, engine: str = "auto") -> AotBackward:
    """A program whose calls are recorded as one step, with derivatives made ahead of time.

    It is called as the program is, and its results go backward as others do.  program, wrt: as
    `value_and_grad` has them, but that any results are taken, and by default all arguments and
    parameters that require a gradient when a call comes.  What a call keeps for going backward is
    chosen for the fewest bytes; the rest is computed again.  Second derivatives of such a step run
    the program again and record it.
    """
    return AotBackward(compiled(program, engine), wrt, engine)


def compiled(program: Any, engine: str) -> Any:
    """A ScriptFunction or a ScriptModule."""
    if isinstance(program, (ScriptFunction, ScriptModule)):
        return program
    return script(program, engine=engine)
