"""`autograd.Function`: operators whose forward and backward passes are written in Python."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .nodes import FREED, Node
from .recorder import activate
from .saved import Saved
from .state import alias, count_write, edge_of, needs, node_of, set_node, version_of
from .tangents import (
    OFF,
    Level,
    follows,
    hidden,
    keep,
    refuse_batches,
    suited,
    tangent_of,
    top_level,
    write,
)
from .views import FUNCTION, LEAF, SEVERAL, check_write, note_view, rebase


class Context(Node):
    """`ctx`: the node of a call, which also holds what forward saves for backward.

    needs_input_grad: for each argument, whether it is a tensor that requires a gradient.
    constant, dirty_places: which results have no gradient, and which are written arguments.
    """

    # No __slots__: users set attributes of their own.

    def __init__(self, function: type[Function], needs: tuple[bool, ...]) -> None:
        super().__init__([])
        self.function = function
        self.needs_input_grad = needs
        self.saved: list[Saved | None] | None = []
        self.saved_inputs: tuple[Any, ...] = ()
        self.saved_forward: tuple[Any, ...] = ()
        self.is_forward = False
        self.shapes: list[tuple[Any, ...] | None] = []
        self.dirty: tuple[Any, ...] = ()
        self.not_differentiable: tuple[Any, ...] = ()
        self.materializes = True
        self._materialize_non_diff_grads = True
        self.constant: set[int] = set()
        self.dirty_places: set[int] = set()
        self.is_tensor: list[bool] = []
        self.fits: list[tuple[Any, ...]] = []

    def name(self) -> str:
        return type(self).__name__

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for backward, which reads them as `saved_tensors`."""
        self.saved_inputs = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for jvp, which reads them as `saved_tensors`."""
        self.saved_forward = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Declare which inputs forward has modified in place."""
        self.dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Declare which results have no gradient."""
        self.not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros, rather than None, for results without a gradient."""
        self.materializes = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        if self.is_forward:
            return self.saved_forward
        if self.saved is None:
            raise RuntimeError(FREED)
        return tuple(None if s is None else s.read(self) for s in self.saved)

    @property
    def _raw_saved_tensors(self) -> tuple[Saved | None, ...]:
        if self.saved is None:
            raise RuntimeError(FREED)
        return tuple(self.saved)

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, 2)
        return self.saved_tensors

    def release(self) -> None:
        if self.saved:
            self.saved = None

    def apply(self, grads: list[Tensor | None], wanted: list[bool]) -> Sequence[Tensor | None]:
        constant = self.constant
        if self.materializes:
            grads = [
                functions.zeros(list(shape[0]), dtype=shape[1])
                if g is None and shape and (self._materialize_non_diff_grads or k not in constant)
                else g
                for k, (g, shape) in enumerate(zip(grads, self.shapes))
            ]
        function = self.function
        run = function.backward
        if run is not Function.backward and function.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
                "should only implement one of them."
            )
        if run is Function.backward:
            run = function.vjp
        made = run(self, *grads)
        parts = made if isinstance(made, tuple) else (made,)
        count = len(self.is_tensor)
        if len(parts) > count and all(p is None for p in parts[count:]):
            parts = parts[:count]
        if len(parts) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{count}, got {len(parts)})"
            )
        result: list[Any] = []
        for k, (part, is_tensor) in enumerate(zip(parts, self.is_tensor)):
            if is_tensor:
                result.append(self.checked(part, k, len(result)))
            elif part is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{k + 1}, but the corresponding forward input was not a Variable"
                )
        return result

    def checked(self, grad: Any, argument: int, place: int) -> Tensor | None:
        """The gradient of an argument, reduced to its shape and cast to its type.

        place: the index of its edge.  Raises RuntimeError if that is impossible.
        """
        if grad is None or self.edges[place] is None:
            return None
        if not isinstance(grad, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
        size, dtype = self.fits[place]
        if grad._size != size:
            if not expands(size, grad._size):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {argument} - "
                    f"got {list(grad._size)} but expected shape compatible with {list(size)}"
                )
            grad = functions.sum_to_size(grad, list(size))
        if grad.dtype is not dtype:
            if grad.dtype.kind == "c" and dtype.kind != "c":
                raise RuntimeError(
                    "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                    "grad_is_complex) to be true, but got false.  (Could this error message be "
                    "improved?  If so, please report an enhancement request to PyTorch.)"
                )
            grad = functions.to(grad, dtype)
        return grad


def expands(size: Sequence[int], to: Sequence[int]) -> bool:
    """Whether a size broadcasts to another."""
    if len(size) > len(to):
        return False
    pairs = zip(reversed(size), reversed(to))
    return all(a in (1, b) for a, b in pairs)


class Function:
    """A differentiable operator written in Python: subclass it, and call `apply`.

        class Square(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 2 * x * grad

        y = Square.apply(x)

    If `setup_context(ctx, inputs, output)` is defined, forward takes no ctx.  backward returns a
    gradient, or None, for each argument of forward.  `jvp(ctx, *tangents)`, for forward mode, gets
    a tangent for each argument, None for what is no tensor, and returns one for each result.
    """

    generate_vmap_rule = False

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """PyTorch's way to map a Function over a batch; here `func.vmap` calls it per example."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and make its results outputs of a new node if a gradient is required."""
        if mode.transforms and cls.setup_context is Function.setup_context:
            raise RuntimeError(
                "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, "
                "jacrev, ...), it must override the setup_context staticmethod. For more details, "
                "please see https://pytorch.org/docs/main/notes/extending.func.html"
            )
        return applied(cls, args, kwargs)[0]

    @classmethod
    def run(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Context]:
        """Run forward without tangents; return its results and the node of the call."""
        tensors = [a for a in args if isinstance(a, Tensor)]
        if cls.setup_context is not Function.setup_context:
            args, kwargs = with_defaults(cls.forward, args, kwargs)
        for name in kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument {name!r}")
        ctx = node_class(cls)(cls, tuple(isinstance(a, Tensor) and needs(a) for a in args))
        records = mode.enabled and any(ctx.needs_input_grad)
        if records:
            activate()
        edges = [edge_of(t) if records else None for t in tensors]
        was = mode.turn(False)
        quiet, mode.is_quiet = mode.is_quiet, False
        below, mode.below = mode.below, OFF
        try:
            if cls.setup_context is Function.setup_context:
                output = cls.forward(ctx, *args)
            else:
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
                check_returned(ctx, tensors, output)
        finally:
            mode.turn(was)
            mode.is_quiet, mode.below = quiet, below
        return finish(ctx, args, tensors, edges, output, records), ctx

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )


def node_class(cls: type[Function]) -> type[Context]:
    """The type of the nodes of a Function, whose name is theirs."""
    kept, word = ("_generated_cls", "Generated") if mode.transforms else ("_backward_cls", "")
    found = cls.__dict__.get(kept)
    if found is None:
        found = type(f"{cls.__name__}{word}Backward", (Context,), {})
        setattr(cls, kept, found)
    return found


def with_defaults(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All arguments of a call in order, with the defaults of those that are not given, and those
    that have a name alone."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def check_returned(ctx: Context, tensors: list[Any], output: Any) -> None:
    """Raise RuntimeError if an argument is a result, too, and is saved.

    The caller gets a view in its place, which setup_context has not seen.
    """
    saved = {id(t) for t in (*ctx.saved_inputs, *ctx.saved_forward) if t is not None}
    dirty = set(map(id, ctx.dirty))
    inputs = set(map(id, tensors))
    for part in output if isinstance(output, tuple) else (output,):
        if id(part) in inputs and id(part) in saved and id(part) not in dirty:
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This "
                "is not supported if you override setup_context. You should return and save a view "
                "of the input instead, e.g. with x.view_as(x) or setup ctx inside the forward "
                "function itself."
            )


def applied(
    cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Context]:
    """Run forward, and give the results the tangents that jvp returns; return them and the node."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    level = top_level(tensors) if mode.levels else None
    if level is None:
        return cls.run(args, kwargs)
    refuse_batches(tensors)
    known = [tangent_of(a, level) if isinstance(a, Tensor) else None for a in args]
    versions = {id(t): version_of(t) for t in known if t is not None}
    with hidden(level):
        output, ctx = applied(cls, args, kwargs)  # with the tangents of outer levels
        given = [
            functions.zeros_like(a) if t is None and ctx.materializes and is_floating(a) else t
            for a, t in zip(args, known)
        ]
        ctx.is_forward = True
        try:
            made = cls.jvp(ctx, *given)
        finally:
            ctx.is_forward = False
        results = output if isinstance(output, tuple) else (output,)
        parts = made if isinstance(made, tuple) else (made,)
        if len(parts) != len(results):
            raise RuntimeError(
                "Function's jvp returned an invalid number of forward gradients (expected "
                f"{len(results)} but got {len(parts)})"
            )
        others = [t for t in given if t is not None]
        for k, (r, part) in enumerate(zip(results, parts)):
            if part is None:
                continue
            if not is_floating(r) or k in ctx.constant:
                raise RuntimeError(CONSTANT.format(k))
            tangent = checked_tangent(r, part, k)
            check_shared(r, part, tensors, others, level, k in ctx.dirty_places)
            if any(r is t for t in tensors):
                if versions.get(id(part)) == version_of(part):
                    raise RuntimeError(NOT_IN_PLACE)
                if tangent is not part or all(part is not t for t in others):
                    write(r, level, tangent, others)
            else:
                hold(r, level, tangent, tensors, others)
    return output, ctx


CONSTANT = (
    "Function's jvp returned a gradient at position {}, but  the corresponding forward output is "
    "not a differentiable Tensor.You should return None at that position instead."
)


NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the "
    "forward is modifying an input inplace, then the jvp function must modify the corresponding "
    "gradient inplace."
)


def hold(
    result: Tensor, level: Level, tangent: Tensor, tensors: list[Any], others: list[Tensor]
) -> None:
    """Give a result its tangent: a copy, if that shares memory which the result does not share."""
    is_theirs = any(tangent._storage is t._storage for t in others)
    if is_theirs and not any(is_same_memory(t, result) for t in tensors):
        tangent = functions.clone(tangent)
    source = None if result._autograd is None else result._autograd.source
    of_source = None if source is None else tangent_of(source, level)
    is_view = of_source is not None and tangent._storage is of_source._storage
    keep(result, level, tangent, of_source if is_view else None)


def check_shared(
    result: Tensor, part: Tensor, tensors: list[Any], given: list[Any], level: Level, is_dirty: bool
) -> None:
    """Raise RuntimeError if a result shares memory with an argument, and its tangent does not share
    that of the argument's in the same way."""
    if not any(is_same_memory(t, result) for t in tensors):
        return
    is_theirs = any(is_same_memory(t, part) for t in given)
    if is_dirty:
        if not is_theirs:
            raise RuntimeError(NOT_IN_PLACE)
    elif any(part is t for t in given) or not part._is_view():
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is "
            "not returning a view."
        )
    elif not is_theirs:
        is_view = any(follows(t, level) for t in tensors if is_same_memory(t, result))
        what = "same base as the given grad input" if is_view else "given grad input"
        raise RuntimeError(
            f"A custom Function is returning a view but the jvp is not returning a view of the "
            f"{what}."
        )


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.kind in "fc"


def checked_tangent(result: Tensor, part: Any, k: int) -> Tensor:
    """What jvp returned for a result.  Raises RuntimeError if it is no tangent of it."""
    if not isinstance(part, Tensor):
        raise RuntimeError(
            f"expected Variable or None (got {type(part).__name__}) for grad output {k}."
        )
    return suited(result, part)


def finish(
    ctx: Context,
    args: tuple[Any, ...],
    tensors: list[Any],
    edges: list[Any],
    output: Any,
    records: bool,
) -> Any:
    """Connect the results of forward to the node of the call."""
    parts = output if isinstance(output, tuple) else (output,)
    ctx.is_tensor = [isinstance(a, Tensor) for a in args]
    ctx.edges = edges
    ctx.fits = [(t._size, t.dtype) for t in tensors]
    ctx.results = len(parts)
    inputs = set(map(id, tensors))
    dirty = set(map(id, ctx.dirty))
    if not dirty <= set(map(id, parts)):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. "
            "The inputs that are modified inplace must all be outputs of the Function."
        )
    for t in ctx.dirty:
        if id(t) not in inputs:
            warnings.warn(
                "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an "
                "input, there is no need to pass it to mark_dirty().",
                UserWarning,
                4,
            )
            dirty.discard(id(t))
        count_write(t)
    constant = set(map(id, ctx.not_differentiable))
    ctx.constant = {k for k, part in enumerate(parts) if id(part) in constant}
    ctx.dirty_places = {k for k, part in enumerate(parts) if id(part) in dirty}
    if not records:
        note_function_views(parts, tensors)
        keep_saved(ctx, parts, records)
        seen = tuple(passed(part, inputs, dirty) for part in parts)
        return seen if isinstance(output, tuple) else seen[0]
    made = []
    followed = {k for k, part in enumerate(parts) if is_floating(part) and k not in ctx.constant}
    for k, part in enumerate(parts):
        if k in followed:
            kind = FUNCTION if len(followed) == 1 else SEVERAL
            part = connected(part, ctx, k, kind, id(part) in inputs, id(part) in dirty)
            ctx.shapes.append((part._size, part.dtype))
        else:
            ctx.shapes.append((part._size, part.dtype) if isinstance(part, Tensor) else None)
            part = passed(part, inputs, dirty)
        made.append(part)
    keep_saved(ctx, tuple(zip(parts, made)), records)
    ctx.dirty = ctx.not_differentiable = ()
    return tuple(made) if isinstance(output, tuple) else made[0]


def passed(part: Any, inputs: set[int], dirty: set[int]) -> Any:
    """A result without a node: an argument that is returned as it is becomes a view, so that the
    caller does not get the same tensor twice."""
    if id(part) not in inputs or id(part) in dirty:
        return part
    made = alias(part)
    if needs(part):
        return made
    note_view(made, part, FUNCTION)
    return made


def note_function_views(parts: tuple[Any, ...], tensors: list[Any]) -> None:
    """Mark results that are views of arguments: they must not be written with a gradient."""
    for part in parts:
        state = part._autograd if isinstance(part, Tensor) else None
        if state is not None and state.base is not None:
            if any(state.base is t or part is not t and is_same_memory(t, part) for t in tensors):
                state.made = FUNCTION


def is_same_memory(a: Tensor, b: Tensor) -> bool:
    return a._storage is b._storage


def connected(
    part: Tensor, ctx: Context, k: int, made: str, is_input: bool, is_dirty: bool
) -> Tensor:
    """The result of forward as a result of the node; made: how it was made, if it is a view."""
    if is_dirty:
        if ctx.results > 1 and part._autograd is not None and part._autograd.base is not None:
            raise RuntimeError(SEVERAL_WITH_VIEW)
        if part._requires_grad and node_of(part) is None:
            raise RuntimeError(LEAF.replace("is being", "has been"))
        check_write(part, True)
        rebase(part, ctx, k)
        return part
    if is_input:
        source, part = part, alias(part)
        note_view(part, source, made)
    elif part._autograd is not None and part._autograd.base is not None:
        part._autograd.made = made
    set_node(part, ctx, k)
    return part


SEVERAL_WITH_VIEW = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
    "should either make sure the input is not a view (using .clone() for example) or make your "
    "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
    "inplace that returns a single Tensor and a second one that does the other operations). You "
    "can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)


def keep_saved(ctx: Context, parts: tuple[Any, ...], records: bool) -> None:
    """Save the tensors of save_for_backward; results are saved without their node."""
    saved: list[Any] = []
    for t in ctx.saved_inputs:
        if t is None:
            saved.append(None)
            continue
        if not isinstance(t, Tensor):
            raise TypeError(
                "save_for_backward can only save variables, but argument "
                f"{len(saved)} is of type {type(t).__name__}"
            )
        result = next((k for k, p in enumerate(parts) if records and p[0] is t), None)
        if result is not None and isinstance(parts[result][1], Tensor):
            saved.append(Saved(parts[result][1], result))
        else:
            saved.append(Saved(t))
    ctx.saved, ctx.saved_inputs = saved, ()
