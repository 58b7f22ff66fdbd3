"""Random operators, with PyTorch's CPU generator: the same seed gives the same values.

Each distribution converts the generator's words to numbers as PyTorch does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...tensors import Tensor
from .. import table
from ..shared.elementwise import DISPLAY, check_broadcast, check_writable, store
from ..shared.fresh import like
from ..shared.generator import DEFAULT_SEED, Generator, fused, manual_seed, of
from ..table import declare, describe, primitive

# filling tensors


def memory_order(x: Tensor) -> list[int]:
    """The dimensions of a tensor, by decreasing stride."""
    return sorted(range(len(x._size)), key=lambda d: -x._stride[d])


def fill(x: Tensor, values: np.ndarray) -> Tensor:
    """Write values into a tensor, in the order of its elements in memory; return the tensor."""
    check_writable(x)
    target = x._array.transpose(memory_order(x))
    with np.errstate(all="ignore"):
        target[...] = values.reshape(target.shape).astype(x.dtype.numpy)
    return x


def floating_only(dtype: DType, name: str) -> None:
    if dtype.kind != "f" or dtype.itemsize == 1:
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[dtype.name]}'")


def check_range(self, low, high) -> None:
    """Raise RuntimeError unless bounds of uniform numbers, and their difference, fit the type."""
    part = dtypes.part_of(self.dtype)
    floating_only(part, "check_uniform_bounds")
    most = float(dtypes.finfo(part).max)
    if not (abs(low) <= most and abs(high) <= most and high - low <= most):
        raise RuntimeError(f"uniform_: from={low} or to={high} is out of bounds for {part.name}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )


def uniform_(self, low, high, generator):
    check_range(self, low, high)
    if self.dtype.kind == "c":
        real = dtypes.float64 if self.dtype.itemsize == 16 else dtypes.float32
        parts = of(generator).uniform_of(2 * self.numel(), real) * (high - low) + low
        return fill(self, parts[::2] + 1j * parts[1::2])
    values = of(generator).uniform_of(self.numel(), self.dtype)
    low, high = values.dtype.type(low), values.dtype.type(high)
    values = fused(values, high - low, low)
    if dtypes.is_half(self.dtype):  # what rounds up to `high`, which is excluded, is `low`
        half = self.dtype.numpy
        start, end = (x.astype(half).astype(values.dtype) for x in (low, high))
        values[values.astype(half).astype(values.dtype) == end] = start
    return fill(self, values)


def check_deviation(std) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def normal_(self, mean, std, generator):
    check_deviation(std)
    if self.dtype.kind == "c":
        real = dtypes.float64 if self.dtype.itemsize == 16 else dtypes.float32
        parts = normal_values(self, 2 * self.numel(), real, generator)
        parts = parts * (math.sqrt(0.5) * std) + mean
        return fill(self, parts[::2] + 1j * parts[1::2])
    if not self.numel():
        return self
    floating_only(self.dtype, "normal_kernel_cpu")
    values = normal_values(self, self.numel(), self.dtype, generator)
    return fill(self, fused(values, values.dtype.type(std), values.dtype.type(mean)))


def normal_values(self, n: int, dtype: DType, generator) -> np.ndarray:
    """n normal numbers; they are drawn in another way if the tensor is not contiguous."""
    draw = of(generator)
    return draw.normal(n, dtype) if self.is_contiguous() else draw.normal_pairs(n)


def bernoulli_(self, p, generator):
    """Fill with ones with probability p, else zeros."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return fill(self, of(generator).uniform(self.numel()) < p)


def bernoulli_of(self, p, generator):
    """Fill with ones with the probabilities p, an element for each position, else zeros."""
    order = memory_order(self)
    chances = np.broadcast_to(p._array, self._size).transpose(order).reshape(-1)
    if not ((chances >= 0) & (chances <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    values = of(generator).uniform_of(self.numel(), p.dtype)
    return fill(self, values < chances)


def exponential_(self, rate, generator):
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    floating_only(self.dtype, "exponential_cpu")
    return fill(self, -np.log1p(-of(generator).uniform(self.numel())) / rate)


def cauchy_(self, median, sigma, generator):
    floating_only(self.dtype, "cauchy")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    u = of(generator).uniform(self.numel())
    return fill(self, median + sigma * np.tan(math.pi * (u - 0.5)))


def log_normal_(self, mean, std, generator):
    floating_only(self.dtype, "log_normal")
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    values = of(generator).normal_pairs(self.numel())
    return fill(self, np.exp(values * std + mean))


def geometric_(self, p, generator):
    if self.dtype.kind == "b":
        raise NotImplementedError("\"geometric_cpu\" not implemented for 'Bool'")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    u = of(generator).uniform(self.numel())
    return fill(self, np.ceil(np.log(u) / math.log1p(-p)))


DIGITS = {"float32": 24, "float64": 53, "float16": 11, "bfloat16": 8, "bool": 1}


def whole_range(dtype: DType) -> int:
    """One more than the largest integer such that the type represents it and all below exactly."""
    bits = DIGITS.get(dtype.name, dtype.itemsize * 8 - (dtype.kind == "i"))
    return 2**bits + (dtype.kind == "f")


def check_bounds(dtype: DType, low: int, high: int) -> None:
    """Raise if a type has no random integers, or cannot represent the bounds."""
    if dtype.kind == "c" or dtype in dtypes.BAREBONES:
        raise NotImplementedError(
            f"\"random_kernel_cpu\" not implemented for '{DISPLAY[dtype.name]}'"
        )
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    least, most = (
        (0, 1)
        if dtype.kind == "b"
        else (-65504, 65504)
        if dtype is dtypes.float16
        else (-1 << 63, 1 << 63)
    )
    if dtype.kind in "iu":
        info = np.iinfo(dtype.numpy)
        least, most = info.min, info.max
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not least <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}")


def inner_bounds(dtype: DType, low: int, high: int) -> tuple[int, int]:
    """The bounds of integers in [low, high) that stay in the range in a float type.

    If rounding moves the first or last integer out of the range, its bound moves one step inwards.
    """
    if dtype.kind != "f":
        return low, high

    def rounded(n: int) -> int:
        with np.errstate(over="ignore"):
            value = float(np.array(float(n)).astype(dtype.numpy))
        return int(value) if math.isfinite(value) else n

    def step(n: int) -> int:
        return max(1, 1 << max(0, abs(n).bit_length() - DIGITS[dtype.name]))

    first, last = rounded(low + 1), rounded(high - 1)
    return (
        first + step(low + 1) if first < low else low,
        last - step(high - 1) if last >= high else high,
    )


def random_range(self, low, high, generator):
    """Integers in [low, high); high = None is the end of the type's range."""
    high = whole_range(self.dtype) if high is None else high
    low, high = inner_bounds(self.dtype, low, high)
    check_bounds(self.dtype, low, high)
    return fill(self, of(generator).below(self.numel(), high - low) + low)


def random_any(self, generator):
    """Integers in the nonnegative range of the type."""
    check_bounds(self.dtype, 0, 1)
    wide, draw = self.dtype.name in ("int64", "float64"), of(generator)
    words = draw.double_words(self.numel()) if wide else draw.words(self.numel())
    return fill(self, (words % np.uint64(whole_range(self.dtype))).astype(np.int64))


GENERATOR = "Generator? generator=None"
FILLS: Sequence[tuple[str, str, str, Any]] = (
    ("uniform", "", "float from=0., float to=1.", uniform_),
    ("normal", "", "float mean=0., float std=1.", normal_),
    ("bernoulli", ".float", "float p=0.5", bernoulli_),
    ("bernoulli", ".Tensor", "Tensor p", bernoulli_of),
    ("exponential", "", "float lambd=1.", exponential_),
    ("cauchy", "", "float median=0., float sigma=1.", cauchy_),
    ("log_normal", "", "float mean=1., float std=2.", log_normal_),
    ("geometric", "", "float p", geometric_),
    ("random", ".from", "int from, int? to", random_range),
    (
        "random",
        ".to",
        "int to",
        lambda self, high, generator: random_range(self, 0, high, generator),
    ),
    ("random", "", "", random_any),
)
"""In-place distributions: name, overload, arguments, kernel."""

PURE_OVERLOADS = {("bernoulli", ".float"): ".p", ("normal", ""): None}
"""Overload names of the forms that return a new tensor, if they differ from the in-place forms'."""

for _name, _overload, _arguments, _kernel in FILLS:
    _comma = ", " if _arguments else ""
    declare(
        f"aten::{_name}_{_overload}(Tensor(a!) self{_comma}{_arguments}, *, {GENERATOR}) -> "
        "Tensor(a!)",
        _kernel,
        "primitive",
    )
    _pure = PURE_OVERLOADS.get((_name, _overload), _overload)
    if _pure is not None:
        declare(
            f"aten::{_name}{_pure}(Tensor self{_comma}{_arguments.replace('=0.5', '')}, *, "
            f"{GENERATOR}) -> Tensor",
            lambda self, *args, f=_kernel, order=int(_name != "bernoulli"): f(
                like(self, 0, self.dtype, order), *args
            ),
            "primitive",
        )
declare(
    f"aten::normal_functional(Tensor self, float mean=0., float std=1., *, {GENERATOR}) -> Tensor",
    lambda self, *args: normal_(like(self, 0, self.dtype, 1), *args),
    "primitive",
)


# new tensors


def new(size: Sequence[int], dtype: int | None, default: DType | None = None) -> Tensor:
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {list(size)}"
        )
    chosen = (default or dtypes.get_default_dtype()) if dtype is None else dtypes.by_code(dtype)
    return Tensor._wrap(np.empty(tuple(size), chosen.numpy))


def new_like(x: Tensor, dtype: int | None, memory_format: int | None) -> Tensor:
    return like(x, 0, x.dtype if dtype is None else dtypes.by_code(dtype), memory_format)


def made(size, dtype: int | None, rest) -> Tensor:
    """A new tensor of a size, or of another tensor's size and layout.

    rest: the arguments after the type, of which the last is the memory format for a tensor.
    """
    return new_like(size, dtype, rest[-1]) if isinstance(size, Tensor) else new(size, dtype)


def rand(size, generator, dtype, *rest):
    return uniform_(made(size, dtype, rest), 0.0, 1.0, generator)


def randn(size, generator, dtype, *rest):
    return normal_(made(size, dtype, rest), 0.0, 1.0, generator)


def randint(low, high, size, generator, dtype, *rest):
    return random_range(made(size, dtype, rest), low, high, generator)


@primitive(
    "aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    random=True,
)
def randperm(n, dtype, layout, device, pin_memory):
    return permutation(n, None, dtype)


def permutation(n, generator, dtype, *rest):
    """A permutation of the integers below n, shuffled from the front."""
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    order = np.arange(n)
    for i, word in enumerate(of(generator).words(max(n - 1, 0)).tolist()):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return fill(new([n], dtype, dtypes.int64), order)


OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
INTEGRAL = OPTIONS.replace("dtype=None", "dtype=4")
LIKE = f"{OPTIONS}, MemoryFormat? memory_format=None"
ANY = "Generator? generator, "

for _name, _kernel in (("rand", rand), ("randn", randn)):
    declare(
        f"aten::{_name}(SymInt[] size, *, {OPTIONS}) -> Tensor",
        lambda size, *rest, f=_kernel: f(size, None, *rest),
        "primitive",
    )
    declare(
        f"aten::{_name}.generator(SymInt[] size, *, {ANY}{OPTIONS}) -> Tensor", _kernel, "primitive"
    )
    declare(
        f"aten::{_name}_like(Tensor self, *, {LIKE}) -> Tensor",
        lambda self, dtype, *rest, f=_kernel: f(self, None, dtype, *rest),
        "primitive",
    )
    declare(
        f"aten::{_name}_like.generator(Tensor self, *, {ANY}{LIKE}) -> Tensor",
        lambda self, generator, dtype, *rest, f=_kernel: f(self, generator, dtype, *rest),
        "primitive",
    )
declare(
    f"aten::randperm.generator(SymInt n, *, {ANY}{INTEGRAL}) -> Tensor", permutation, "primitive"
)
declare(
    f"aten::randint(SymInt high, SymInt[] size, *, {INTEGRAL}) -> Tensor",
    lambda high, size, dtype, *rest: randint(0, high, size, None, dtype),
    "primitive",
)
declare(
    f"aten::randint.generator(SymInt high, SymInt[] size, *, {ANY}{INTEGRAL}) -> Tensor",
    lambda high, size, generator, dtype, *rest: randint(0, high, size, generator, dtype),
    "primitive",
)
declare(
    f"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, {INTEGRAL}) -> Tensor",
    lambda low, high, size, dtype, *rest: randint(low, high, size, None, dtype),
    "primitive",
)
declare(
    f"aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, {ANY}{INTEGRAL}) "
    "-> Tensor",
    lambda low, high, size, generator, dtype, *rest: randint(low, high, size, generator, dtype),
    "primitive",
)
declare(
    f"aten::randint_like(Tensor self, SymInt high, *, {LIKE}) -> Tensor",
    lambda self, high, dtype, *rest: randint(0, high, self, None, dtype, *rest),
    "primitive",
)
declare(
    f"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, {LIKE}) -> Tensor",
    lambda self, low, high, dtype, *rest: randint(low, high, self, None, dtype, *rest),
    "primitive",
)


# from tensors of parameters


@primitive(
    f"aten::bernoulli(Tensor self, *, {GENERATOR}) -> Tensor", out="converts", shape="like_first"
)
def bernoulli(self, generator):
    floating_only(self.dtype, "bernoulli_tensor_cpu_self_")
    return bernoulli_of(new(self._size, self.dtype.code), self, generator)


def check_deviations(std) -> None:
    if not isinstance(std, Tensor):
        check_deviation(std)
    elif std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    elif not (std._array >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")


def normal_of(mean, std, generator):
    """Normal numbers with a mean and a standard deviation for each element."""
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    check_deviations(std)
    size = check_broadcast(*given)
    result = normal_(new(size, given[0].dtype.code), 0.0, 1.0, generator)
    center, spread = (x._array if isinstance(x, Tensor) else x for x in (mean, std))
    return store(result, Tensor._wrap((result._array * spread + center).astype(result.dtype.numpy)))


def normal_out(mean, std, generator, out):
    """`normal_of` with out=, drawn in the output's type.

    For a single standard deviation, PyTorch broadcasts the means with the output's shape.
    """
    check_deviations(std)
    one = not isinstance(std, Tensor)
    size = check_broadcast(*(x for x in (mean, out if one else std) if isinstance(x, Tensor)))
    result = out if out._size == size else new(size, out.dtype.code)
    normal_(result, 0.0, std if one else 1.0, generator)
    if not one:
        in_place("mul", result, std)
    in_place("add", result, mean)
    return store(out, result, resize=True)


def in_place(name: str, self: Tensor, other) -> None:
    """Call an in-place operator, such as `self.add_(other)`."""
    overload = "Tensor" if isinstance(other, Tensor) else "Scalar"
    rest = (1,) if name == "add" else ()
    table.find(f"aten::{name}_", overload).kernel(self, other, *rest)


for _overload, _mean, _std in (
    ("Tensor_float", "Tensor mean", "float std=1."),
    ("float_Tensor", "float mean", "Tensor std"),
    ("Tensor_Tensor", "Tensor mean", "Tensor std"),
):
    declare(
        f"aten::normal.{_overload}({_mean}, {_std}, *, {GENERATOR}) -> Tensor",
        normal_of,
        "primitive",
    )
    declare(
        f"aten::normal.{_overload}_out({_mean}, {_std}, *, {GENERATOR}, Tensor(a!) out)"
        " -> Tensor(a!)",
        normal_out,
        "primitive",
    )
declare(
    f"aten::normal.float_float(float mean, float std, SymInt[] size, *, {GENERATOR}, "
    f"{OPTIONS}) -> "
    "Tensor",
    lambda mean, std, size, generator, dtype, *rest: normal_(
        new(size, dtype), mean, std, generator
    ),
    "primitive",
)


@primitive(
    "aten::poisson(Tensor self, Generator? generator=None) -> Tensor",
    shape="like_first",
    keeps_type="floating",
)
def poisson(self, generator):
    """How many events happen, where the expected number stands at each place of self."""
    floating_only(self.dtype, "poisson_cpu")
    rates = self._array.astype(np.float64).reshape(-1)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    draw = of(generator)
    with np.errstate(all="ignore"):
        counts = [count_of(rate, draw) for rate in rates]
    return fill(new(self._size, self.dtype.code), np.array(counts, np.int64))


def count_of(rate: np.float64, draw: Generator) -> int:
    """A number of events of a Poisson distribution, as PyTorch draws it: small rates by a product
    of uniform numbers, others by Hoermann's transformed rejection (1993)."""
    if rate == 0:
        return 0
    if rate < 10:
        count, product, end = 0, draw.uniform(1)[0], np.exp(-rate)
        while product > end:
            count, product = count + 1, product * draw.uniform(1)[0]
        return count
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    scale, most = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = draw.uniform(1)[0] - 0.5, draw.uniform(1)[0]
        inner = 0.5 - abs(u)
        k = np.floor((2 * a / inner + b) * u + rate + 0.43)
        if inner >= 0.07 and v <= most:
            break
        if k < 0 or (inner < 0.013 and v > inner):
            continue
        bound = -rate + k * np.log(rate) - log_factorial(k)
        if np.log(v) + np.log(scale) - np.log(a / (inner * inner) + b) <= bound:
            break
    return int(k) if abs(k) < 2**63 else -(2**63)


STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def log_factorial(k: np.float64) -> np.float64 | float:
    """log k!, in the steps of the C library: of large numbers the error decides what is drawn."""
    x = k + 1
    if x < 8:
        return math.lgamma(x)
    if x >= 2**58:
        return x * (np.log(x) - 1)
    rest = 0.0
    for term in reversed(STIRLING):
        rest = term + rest / (x * x)
    return (x - 0.5) * (np.log(x) - 1) + (math.log(2 * math.pi) / 2 - 0.5 + rest / x)


@primitive(
    "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, "
    f"{GENERATOR})"
    " -> Tensor"
)
def multinomial(self, num_samples, replacement, generator):
    """Indices drawn by weight, from a vector or from each row of a matrix."""
    check_weights(self, num_samples, replacement)
    weights = np.atleast_2d(self._array.astype(dtypes.working_type(self.dtype), copy=False))
    if not replacement or num_samples == 1:
        wide = dtypes.float32 if dtypes.is_half(self.dtype) else self.dtype
        noise = exponential_(like(self, 0.0, wide), 1.0, generator)
        with np.errstate(all="ignore"):
            score = weights / np.atleast_2d(noise._array)
        result = np.argsort(-score, axis=1, kind="stable")[:, :num_samples]
    else:
        total = weights.cumsum(1, dtype=np.float64)
        draws = of(generator).uniform(len(weights) * num_samples).reshape(len(weights), num_samples)
        result = np.stack(
            [np.searchsorted(row / row[-1], u, side="left") for row, u in zip(total, draws)]
        )
    return Tensor._wrap((result if self.dim() == 2 else result[0]).astype(np.int64))


def check_weights(x: Tensor, count: int, replacement: bool) -> None:
    if x.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if x.dtype.kind != "f":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{DISPLAY[x.dtype.name]}"
        )
    if count <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and count > x._size[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    array = x._array
    if not (np.isfinite(array) & (array >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (array.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


# generators as values

declare("aten::manual_seed(int seed) -> ()", lambda seed: manual_seed(seed) and None, "primitive")
declare(
    "aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)",
    lambda self, seed: self.manual_seed(seed),
    "primitive",
)
declare("aten::seed(Generator(a!) self) -> int", lambda self: self.seed(), "primitive")
declare("aten::initial_seed(Generator self) -> int", lambda self: self.first_seed, "primitive")
declare(
    "aten::Generator(*, Device? device=None, int? seed=None) -> Generator",
    lambda device, seed: Generator(DEFAULT_SEED if seed is None else seed),
    "primitive",
)


describe("Generator. manual_seed. manual_seed.generator seed.", effect="ordered")
describe(
    """bernoulli.Tensor normal.Tensor_Tensor normal.Tensor_float normal.float_Tensor""",
    out="converts",
)
describe(
    """rand. rand_like. rand_like.out randint. randint.low randint_like. randint_like.Tensor
         randint_like.Tensor_out randint_like.low_dtype randint_like.low_dtype_out randint_like.out
         randn. randn_like. randn_like.out""",
    random=True,
)
describe("bernoulli.Tensor bernoulli.p", shape="like_first")
