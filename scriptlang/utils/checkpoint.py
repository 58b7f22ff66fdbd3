"""The names of torch.utils.checkpoint: backward computes a part of the forward pass again.

    y = checkpoint(block, x, use_reentrant=False)

runs `block(x)` without keeping what its derivatives need. When backward first needs something of
it, the block runs again and keeps all of it.

What the nodes of the block save is replaced by numbers (`saved_tensors_hooks`): the block saves the
same tensors in the same order when it runs again. The inputs are saved like those of an operator.
So checkpoints nest: those of an inner one are computed again by the outer one.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from ..autograd.graph import saved_tensors_hooks
from ..grad_mode import enable_grad
from ..ops.calling.current import mode
from ..ops.derivatives.saved import Saved
from ..tensor_types import get_rng_state, set_rng_state
from ..tensors import Tensor
from .reentrant import CheckpointFunction

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]

ASKS = (
    "the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, "
    "but if you need to preserve the current default behavior, you can pass use_reentrant=True."
)


class CheckpointError(RuntimeError):
    """A block that runs again saves other tensors than the first time."""


class Settings:
    """early_stop: whether a block that runs again ends with the last tensor that is needed of it;
    None: as each call says."""

    early_stop: bool | None = None


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context in which calls of `checkpoint` stop early, or do not, whatever they say."""
    before, Settings.early_stop = Settings.early_stop, enable
    try:
        yield
    finally:
        Settings.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context without effect: errors say what differs without it, too."""
    yield


def noop_context_fn() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    return nullcontext(), nullcontext()


class Holder:
    """What a node keeps in place of a tensor that it saves; `tensors`: by backward pass."""

    def __init__(self) -> None:
        self.tensors: weakref.WeakKeyDictionary[Any, Tensor] = weakref.WeakKeyDictionary()


class Enough(Exception):
    """Ends a block that runs again, when all that is needed of it was saved."""


class Pass:
    """Stands for a time outside of any backward pass, in which something saved is asked for."""


class Frame:
    """One call of a block: how it runs again, and what its nodes keep in place of tensors.

    metadata: what is told of each tensor. is_complete: whether the call is over. done: the backward
    passes for which the block has run again.
    """

    def __init__(
        self, function: Callable[..., Any], args: Sequence[Any], early_stop: bool, checks: bool
    ) -> None:
        self.function, self.early_stop, self.checks = function, early_stop, checks
        self.is_complete = False
        self.holders: list[weakref.ref[Holder]] = []
        self.metadata: list[tuple[Any, ...]] = []
        self.done: weakref.WeakSet[Any] = weakref.WeakSet()
        self.args = [Saved(a) if isinstance(a, Tensor) else a for a in args]

    def pack(self, tensor: Tensor) -> Holder:
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.metadata.append(described(tensor))
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        walk = mode.walk if mode.walk is not None else Pass()
        if walk not in self.done:
            self.again(walk)
            if mode.walk is not None:
                self.done.add(walk)
        found = holder.tensors.pop(walk, None)
        if found is None:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
                "so only once. Otherwise please open an issue with details on your use case."
            )
        return found

    def again(self, walk: Any) -> None:
        """Run the block again, and give the tensors that it saves to the holders."""
        found: list[tuple[Any, ...]] = []

        def pack(tensor: Tensor) -> Any:
            at = len(found)
            found.append(described(tensor))
            if at >= len(self.holders):
                if self.is_complete:
                    raise CheckpointError(MORE)
                return tensor.detach()  # backward runs inside of the block, which is not over yet
            holder = self.holders[at]()
            if holder is not None:
                holder.tensors[walk] = tensor.detach() if tensor.requires_grad else tensor
            if self.early_stop and len(found) == len(self.holders):
                raise Enough(self)
            return tensor.detach()

        args = [a.read(None) if isinstance(a, Saved) else a for a in self.args]
        try:
            with saved_tensors_hooks(pack, lambda kept: kept), enable_grad():
                self.function(*args)
        except Enough as end:
            if end.args[0] is not self:
                raise
        self.compare(found)

    def compare(self, found: list[tuple[Any, ...]]) -> None:
        """Raise CheckpointError if the block saved other tensors than the first time."""
        if not self.is_complete:
            found = found[: len(self.holders)]
        if len(found) != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\nNumber of tensors saved during forward: "
                f"{len(self.holders)}\nNumber of tensors saved during recomputation: {len(found)}."
            )
        other = [k for k, (a, b) in enumerate(zip(self.metadata, found)) if a != b]
        if other and self.checks:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                "different metadata than during the forward pass.\n"
                + "".join(
                    f"tensor at position {k}:\nsaved metadata: {told(self.metadata[k])}\n"
                    f"recomputed metadata: {told(found[k])}\n"
                    for k in other
                )
            )


MORE = (
    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the "
    "original forward pass."
)


def described(tensor: Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.dtype


def told(metadata: tuple[Any, ...]) -> dict[str, Any]:
    return {"shape": metadata[0], "dtype": metadata[1], "device": "cpu"}


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call `function(*args, **kwargs)`, and compute it again when backward needs it.

    use_reentrant: True runs it again as a backward pass inside the other, which takes no keyword
    arguments, no `autograd.grad` and no nested results; False is recommended. context_fn: gives two
    contexts, for the call and for the repetition. determinism_check: "none" does not compare the
    shapes and types of the tensors. early_stop: whether the repetition ends once all is there.
    preserve_rng_state: whether the repetition draws the same random numbers. debug: no effect.
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint: " + ASKS, UserWarning, 2)
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "determinism_check should be one of ['default', 'none'], but got " + determinism_check
        )
    first, second = context_fn()
    state = get_rng_state() if preserve_rng_state else None

    def again(*given: Any) -> None:
        now = get_rng_state()
        try:
            if state is not None:
                set_rng_state(state)
            with second:
                function(*given, **kwargs)
        finally:
            set_rng_state(now)

    if not mode.enabled:
        with first:
            return function(*args, **kwargs)
    stops = early_stop if Settings.early_stop is None else Settings.early_stop
    frame = Frame(again, args, stops, determinism_check == "default")
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        result = function(*args, **kwargs)
    frame.is_complete = True
    return result


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
) -> Any:
    """Call modules one after another, in so many parts of which all but the last are checkpoints.

    functions: a Sequential, or a list of modules or functions.
    """
    if use_reentrant is None:
        warnings.warn("torch.utils.checkpoint.checkpoint_sequential: " + ASKS, UserWarning, 2)
        use_reentrant = True
    parts = list(functions)

    def runner(chosen: list[Any]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for part in chosen:
                value = part(value)
            return value

        return run

    size = len(parts) // segments
    start = 0
    for start in range(0, size * (segments - 1), size):
        input = checkpoint(
            runner(parts[start : start + size]),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
        )
    return runner(parts[size * (segments - 1) :])(input)
