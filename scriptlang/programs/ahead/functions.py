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
    """A function that returns a program's result together with its gradients.

    program: a function of the language (compiled or not), or a module. Its result, or the first
    element if it is a tuple, has to be a tensor with one element; that is differentiated.
    wrt: what to differentiate with respect to: the index or name of an argument (a tensor, or a
    list of tensors), the name of a parameter or buffer, or a sequence of these. The default is the
    first argument of a function, or all parameters of a module that require a gradient at the
    time of the call.
    A call returns (result, gradients): one gradient for a single `wrt`, a tuple for a sequence, and
    a dict by name for a module with the default. A gradient is None if the result does not depend
    on the tensor. Neither part has a history.

    The first call with given sizes and dtypes of tensors, values of arguments that are not floats,
    and attributes that are not tensors makes and optimises one graph of the program and its
    derivatives for them; later calls reuse it. If control flow depends on elements, or memory is
    written in ways that the graph cannot express, the tape is used instead; `why` returns the
    reason.
    """
    return ValueAndGrad(compiled(program, engine), wrt, engine)


@alone
def aot_backward(program: Any, wrt: Wrt = None, *, engine: str = "auto") -> AotBackward:
    """A program whose calls are recorded as one step, with derivatives made ahead of time.

    It is called like the program, and the results take part in the backward pass like any others.
    program, wrt: as for `value_and_grad`, except that any results are allowed, and that the default
    is all arguments and parameters that require a gradient at the time of the call. What a call
    keeps for the backward pass is chosen to need the fewest bytes; the rest is recomputed. Second
    derivatives run the program again and record it.
    """
    return AotBackward(compiled(program, engine), wrt, engine)


def compiled(program: Any, engine: str) -> Any:
    """The program as a ScriptFunction or a ScriptModule."""
    if isinstance(program, (ScriptFunction, ScriptModule)):
        return program
    return script(program, engine=engine)
