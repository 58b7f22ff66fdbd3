"""vmap: maps a function of one example over a batch.

The function is called once, for all examples at once (`ops/batching`). Where what it does differs
between examples, since it branches on values or reads them, it is called once for each, and the
results are stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NoReturn

from .ops.batching.batches import batch_of
from .ops.batching.level import BatchLevel, first_of, whole
from .ops.calling import functions
from .ops.derivatives.tangents import NotMapped, tangent_of
from .tensor_types import get_rng_state, set_rng_state
from .tensors import Tensor
from .transform_checks import transforming
from .trees import flat, is_container, keys, like, mapped, spec

RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over a dimension of its arguments, like torch.vmap.

    in_dims: the batch dimension of each positional argument, in the structure of the arguments
    (tuples, lists, dicts), or one int for all; None: all examples get the whole argument.
    out_dims: the position of the batch dimension in the results; None: return the last call's
    result.
    randomness: examples draw "different" random numbers, the "same" ones, or none ("error").
    chunk_size: how many examples one call of the function is for; None: all. So many are in memory.

    Raises ValueError if the arguments do not fit `in_dims` or each other.
    """
    check_randomness(randomness)
    check_out_dims(out_dims, getattr(func, "__name__", repr(func)))
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        dims = dims_of(args, in_dims, name)
        mapped = [(t, d) for t, d in pairs(args, dims) if d is not None]
        sizes = [t.size(d) for t, d in mapped]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if len(set(sizes)) > 1:
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got "
                f"sizes {sizes} for the mapped dimension"
            )
        batch = Batch(func, args, kwargs, dims, out_dims, randomness, name)
        return batch.result(sizes[0], chunk_size)

    return run


class Batch:
    """One call of a mapped function."""

    def __init__(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        dims: list[Any],
        out_dims: Any,
        randomness: str,
        name: str,
    ) -> None:
        self.func, self.args, self.kwargs, self.dims = func, args, kwargs, dims
        self.out_dims, self.name = out_dims, name
        self.random = Randomness(randomness)

    def result(self, size: int, chunk: int | None) -> Any:
        if size < 2:
            return self.one_by_one(size)
        try:
            if chunk is None or chunk >= size:
                return self.at_once(0, size)
            starts = range(0, size, chunk)
            made = [self.at_once(k, min(chunk, size - k)) for k in starts]
        except NotMapped:
            set_rng_state(self.random.start)
            return self.one_by_one(size)
        return joined(made, places(made[0], self.out_dims, self.name))

    def at_once(self, start: int, size: int) -> Any:
        """The result for some of the examples.  Raises NotMapped if it needs a call for each."""
        with transforming(), batch_of(size) as level:
            given = [entering(a, d, start, size, level) for a, d in zip(self.args, self.dims)]
            with self.random.call(is_for_many=True):
                made = self.func(*given, **self.kwargs)
            return leaving(made, places(made, self.out_dims, self.name), level, self.name)

    def one_by_one(self, size: int) -> Any:
        results = []
        for i in range(max(size, 1)):  # an empty batch runs on zeros, to find the shape
            given = [picked(a, d, i if size else None) for a, d in zip(self.args, self.dims)]
            with transforming(), self.random.call():
                results.append(self.func(*given, **self.kwargs))
        return stacked(results, places(results[0], self.out_dims, self.name), size, self.name)


def entering(value: Any, dim: Any, start: int, size: int, level: BatchLevel) -> Any:
    """What stands for an argument of so many examples in a call for all of them."""
    if is_container(value):
        return like(value, lambda key: entering(value[key], dim[key], start, size, level))
    if dim is None:
        return value
    if size != value.size(dim):
        value = value.narrow(dim, start, size)
    return first_of(value.movedim(dim, 0) if dim % value.dim() else value, level)


def leaving(value: Any, dim: Any, level: BatchLevel, name: str) -> Any:
    """The results for all examples, which lie along dimension `dim`."""
    if is_container(value):
        return like(value, lambda key: leaving(value[key], dim[key], level, name))
    if not isinstance(value, Tensor):
        if dim is None:
            return value
        refuse_result(value, name)
    if dim is None:
        found = tangent_of(value, level)
        return value if found is None else found.select(0, level.size - 1)
    made = whole(value, level)
    return made.movedim(0, dim) if dim else made


def joined(chunks: list[Any], dim: Any) -> Any:
    """The results of calls for parts of the examples."""
    first = chunks[0]
    if is_container(first):
        return like(first, lambda key: joined([c[key] for c in chunks], dim[key]))
    return chunks[-1] if dim is None else functions.cat(chunks, dim)


class Randomness:
    """What calls for the examples of a batch do to random numbers: a value of RANDOMNESS."""

    def __init__(self, kind: str) -> None:
        self.kind, self.start = kind, get_rng_state()

    @contextmanager
    def call(self, is_for_many: bool = False) -> Iterator[None]:
        """A context for one call, of one example or of all.  Raises RuntimeError if it draws
        numbers that it must not, NotMapped if each example needs others."""
        if self.kind == "same":
            set_rng_state(self.start)
        yield
        if self.kind == "different":
            if is_for_many and not functions.equal(self.start, get_rng_state()):
                raise NotMapped
            return
        if self.kind == "error" and not functions.equal(self.start, get_rng_state()):
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use "
                "the 'same' or 'different' randomness flags on vmap or perform the randomness "
                "operation out of vmap"
            )


def check_out_dims(out_dims: Any, name: str) -> None:
    for dim in flat(out_dims):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(
                f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
                "python collection of ints representing where in the outputs the vmapped dimension "
                "should appear."
            )


def check_randomness(randomness: str) -> None:
    if randomness not in RANDOMNESS:
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. "
            f"Got {randomness}"
        )


def dims_of(args: tuple[Any, ...], in_dims: Any, name: str) -> list[Any]:
    """The batch dimensions of the tensors in each argument, in its structure."""
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
            "trying to vmap over a function with no inputs. The latter is unsupported."
        )
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    given = spread(args, in_dims)
    if given is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {spec(in_dims)} but inputs has structure {spec(args)}."
        )
    for value, dim in pairs(args, given):
        check_dim(value, dim, where)
    return list(given)


def spread(value: Any, dims: Any) -> Any:
    """`dims` in the structure of a value, of which it may be the outer part; None if it is not.

    One dim for a container is that of all its leaves.
    """
    if not is_container(dims):
        return mapped(value, lambda leaf: dims) if is_container(value) else (dims,)
    if type(dims) is not type(value) or keys(dims) != keys(value):
        return None
    made = {}
    for key in keys(value):
        below = spread(value[key], dims[key])
        if below is None:
            return None
        made[key] = below if is_container(value[key]) else below[0]
    return like(value, lambda key: made[key])


def check_dim(value: Any, dim: Any, where: str) -> None:
    """Raise ValueError if a leaf has no such dimension."""
    if dim is None:
        return
    if not isinstance(dim, int):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(value, Tensor):
        raise ValueError(
            f"{where}: Got in_dim={dim} for an input but the input is of type {type(value)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -value.dim() <= dim < value.dim():
        raise ValueError(
            f"{where}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {value.dim()} so expected in_dim to satisfy -{value.dim()} <= in_dim "
            f"< {value.dim()}."
        )


def pairs(value: Any, dim: Any) -> list[tuple[Any, Any]]:
    """The (leaf, batch dimension) pairs of all leaves of a value."""
    if is_container(value):
        return [pair for key in keys(value) for pair in pairs(value[key], dim[key])]
    return [(value, dim)]


def picked(value: Any, dim: Any, i: int | None) -> Any:
    """Example i of a mapped value; zeros of an example's shape if i is None."""
    if is_container(value):
        return like(value, lambda key: picked(value[key], dim[key], i))
    if dim is None:
        return value
    if i is None:
        shape = list(value.shape)
        del shape[dim]
        return functions.zeros(shape, dtype=value.dtype)
    return value.select(dim, i)


def places(result: Any, out_dims: Any, name: str) -> Any:
    """`out_dims` in the structure of a result."""
    if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return out_dims[0]  # as in PyTorch
    made = spread((result,), (out_dims,))
    if made is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with "
            f"the structure of `outputs`. out_dims has structure {spec(out_dims)} but outputs has "
            f"structure {spec(result)}."
        )
    return made[0]


def stacked(results: list[Any], dim: Any, size: int, name: str) -> Any:
    """The results of the calls, stacked in dimension `dim`."""
    first = results[0]
    if is_container(first):
        return like(first, lambda key: stacked([r[key] for r in results], dim[key], size, name))
    if dim is None:
        return results[-1]
    if not isinstance(first, Tensor):
        refuse_result(first, name)
    made = functions.stack(results, dim)
    return made if size else made.narrow(dim, 0, 0)


def refuse_result(value: Any, name: str) -> NoReturn:
    raise ValueError(
        f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(value)}. Did you "
        "mean to set out_dims= to None for output?"
    )
