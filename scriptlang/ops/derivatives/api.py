"""`backward` and `grad` of torch.autograd: they check arguments, then run the backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import calls, engine, mode
from .edges import GradientEdge, shape_at
from .hooks import retain_grad
from .state import edge_of, needs, required
from .tangents import plain
from .walk import Walk

UNUSED = (
    "The differentiated Tensor at index {} appears to not have been used in the graph. Set "
    "allow_unused=True if this is the desired behavior."
)

ASK = (
    "Calls of a loaded or compiled module are recorded from when its parameters were asked for: "
    "call list(module.parameters()) before."
)
"""A note of an error, if a program was called: PyTorch records its calls from the start."""

CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)

told: list[bool] = []
"""[True] once CYCLE was said."""

Tensors = Tensor | Sequence[Tensor]
Given = Tensor | Sequence[Tensor | None] | None


def backward(
    tensors: Tensors,
    grad_tensors: Given = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Given = None,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of the sum of tensors to `grad` of the leaves, or of `inputs`.

    grad_tensors: the gradients of the tensors themselves; those of single numbers are 1.
    retain_graph: whether the graph can be used again; the default is create_graph.
    create_graph: whether to record the backward pass itself.  Raises RuntimeError for tensors that
    require no gradient.
    """
    if mode.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use "
            "functorch.grad or functorch.vjp instead or call backward() outside of functorch "
            "transforms."
        )
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, 2
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    outputs = listed(tensors)
    wanted = None if inputs is None else listed(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    given = [None] * len(outputs) if grad_tensors is None else listed(grad_tensors)
    grads = gradients_given(outputs, given, is_batched=False)
    if create_graph and not told:
        told.append(True)
        warnings.warn(CYCLE, UserWarning, 2)
    run(outputs, grads, wanted, retain_graph, create_graph, accumulates=True)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Given = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of outputs, each times its grad_output, with respect to the inputs.

    allow_unused: return None for inputs that no output depends on, instead of raising RuntimeError.
    materialize_grads: return zeros for them.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To "
            "accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            2,
        )
    of, wanted = listed(outputs), listed(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    given = [None] * len(of) if grad_outputs is None else listed(grad_outputs)
    if is_grads_batched:
        made = batched(of, wanted, given, retain_graph, create_graph)
    else:
        grads = gradients_given(of, given, is_batched=False)
        made = run(of, grads, wanted, retain_graph, create_graph, accumulates=False)
    if not allow_unused:
        for k, g in enumerate(made):
            if g is None:
                raise RuntimeError(UNUSED.format(k))
    if materialize_grads:
        made = [zeros(x, create_graph) if g is None else g for x, g in zip(wanted, made)]
    return tuple(made)


def zeros(x: Tensor, creates_graph: bool) -> Tensor:
    """The gradient of what nothing depends on; with a graph it can be differentiated again."""
    if isinstance(x, GradientEdge):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    made = functions.zeros_like(x.detach())
    return required(made) if creates_graph and made.dtype.kind in "fc" else made


def batched(of: Any, wanted: Any, given: Any, retain_graph: Any, create_graph: Any) -> list[Any]:
    """Gradients for each entry of the grad_outputs along their first dimension, stacked."""
    first = next((g for g in given if g is not None), None)
    if first is None:
        raise RuntimeError("is_grads_batched=True takes grad_outputs")
    gradients_given(of, given, is_batched=True)
    rows = []
    count = first._size[0]
    for k in range(count):
        keep = retain_graph if k == count - 1 else True
        grads = [None if g is None else g[k] for g in given]
        rows.append(run(of, grads, wanted, keep, create_graph, accumulates=False))
    return [
        None
        if all(row[i] is None for row in rows)
        else functions.stack([functions.zeros_like(x) if r[i] is None else r[i] for r in rows])
        for i, x in enumerate(wanted)
    ]


def listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, (Tensor, GradientEdge)) else list(value)


def gradients_given(
    outputs: Sequence[Tensor], given: Sequence[Any], is_batched: bool
) -> list[Tensor | None]:
    """The initial gradient of each output.  Raises if the given ones do not fit."""
    if len(outputs) > len(given):  # as in PyTorch, more are left out
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    made: list[Tensor | None] = []
    for k, (output, grad) in enumerate(zip(outputs, given)):
        is_edge = isinstance(output, GradientEdge)
        like = shape_at(output) if is_edge else output
        if isinstance(grad, Tensor):
            if like is not None:
                check_given(like, grad, k, is_batched)
            made.append(grad)
        elif grad is not None:
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(grad).__name__}"
            )
        elif like is None:
            raise RuntimeError(
                "an edge that get_gradient_edge did not make knows no shape: pass its gradient"
            )
        elif not is_edge and not needs(output):
            made.append(None)
        elif like.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        elif like.dtype.kind != "f":
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"torch.{like.dtype.name}"
            )
        else:
            made.append(one_like(like))
    return made


def without_history(k: int) -> RuntimeError:
    """The error for an output that nothing can be differentiated by."""
    error = RuntimeError(
        f"element {k} of tensors does not require grad and does not have a grad_fn"
    )
    if calls.last is not None and hasattr(error, "add_note"):  # Python 3.11
        error.add_note(ASK)
    return error


def one_like(output: Tensor) -> Tensor:
    """The gradient 1 of a tensor with one element."""
    if calls.tracer is None and not engine:  # without numpy's way of a call, which is long
        from ..shared.fresh import like

        return like(output, 1, output.dtype)
    return functions.ones_like(output.detach(), memory_format=1)


def check_given(output: Tensor, grad: Tensor, k: int, is_batched: bool) -> None:
    size = grad.shape[1:] if is_batched else grad.shape
    if tuple(size) != tuple(output._size):
        if is_batched:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{k}] has a shape of {grad.shape} and output[{k}] has a shape of "
                f"{output.shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{k}] has a shape of {grad.shape} and output[{k}] has "
            f"a shape of {output.shape}."
        )
    if (output.dtype.kind == "c") != (grad.dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same "
            f"dtype. Mismatch in dtype: grad_output[{k}] has a dtype of torch.{grad.dtype.name} "
            f"and output[{k}] has a dtype of torch.{output.dtype.name}."
        )


def run(
    outputs: Sequence[Tensor],
    grads: Sequence[Tensor | None],
    inputs: Sequence[Tensor] | None,
    retain_graph: bool | None,
    create_graph: bool,
    accumulates: bool,
) -> list[Tensor | None]:
    """Run a backward pass; return the gradients of `inputs`, [] if they are accumulated."""
    roots = []
    for k, (output, grad) in enumerate(zip(outputs, grads)):
        edge = edge_of(output)
        if edge is None:
            raise without_history(k)
        if isinstance(output, Tensor) and grad is not None and grad.dtype is not output.dtype:
            grads = [*grads[:k], functions.to(grad, output.dtype), *grads[k + 1 :]]
        roots.append(edge)
    if accumulates:
        for x in inputs or ():
            if isinstance(x, Tensor):
                retain_grad(x)  # as in PyTorch, it does so from now on
    edges = None
    if inputs is not None:
        edges = []
        for x in inputs:
            edge = edge_of(x)
            if edge is None:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            edges.append(edge)
    keeps = create_graph if retain_graph is None else bool(retain_graph)
    walk = Walk(roots, grads, edges, keeps, create_graph, accumulates)
    walk.run()
    if inputs is None:
        return []
    found = [walk.captured.get(edge) for edge in edges]
    if accumulates:
        return []
    return found if create_graph else [None if g is None else plain(g) for g in found]
