"""Products of matrices and vectors, attention, embedding."""

from __future__ import annotations

from typing import Any

from ..shape_facts import Shape, TensorFacts, Unknown
from ..sizes import Size
from . import Call, Several, broadcast, rule


def product_shape(c: Call, a: Shape, b: Shape) -> Shape:
    """The shape of matmul's result: operands may be vectors, and batch dimensions broadcast."""
    if not a or not b:
        raise Unknown
    rows = () if len(a) == 1 else a[-2:-1]
    columns = () if len(b) == 1 else b[-1:]
    return (*broadcast(c, a[:-2], b[:-2]), *rows, *columns)


@rule("matmul linalg_matmul", dtype="any")
def matmul(c: Call) -> Any:
    return product_shape(c, c.shape(0), c.shape(1))


@rule("mm", dtype="any")
def mm(c: Call) -> Any:
    return size_at(c, "self", 0), size_at(c, "mat2", 1)


@rule("bmm", dtype="any")
def bmm(c: Call) -> Any:
    return size_at(c, "self", 0), size_at(c, "self", 1), size_at(c, "mat2", 2)


@rule("mv", dtype="any")
def mv(c: Call) -> Any:
    return (size_at(c, "self", 0),)


@rule("dot vdot", dtype="any")
def dot(c: Call) -> Any:
    return ()


def size_at(c: Call, key: str, d: int) -> Size:
    """A size of a tensor; a new symbol if it is unknown."""
    shape = c[key].shape
    return c.fresh() if shape is None or len(shape) <= d else shape[d]


@rule("linear", dtype="any")
def linear(c: Call) -> Any:
    w, x = c.shape("weight"), c["input"]
    if x.shape is None and len(w) == 2:
        return TensorFacts(None, None, x.rank)
    x = c.shape("input")
    return (*x[:-1], w[0]) if len(w) == 2 else x[:-1]


@rule("addmm", dtype="any")
def addmm(c: Call) -> Any:
    return size_at(c, "mat1", 0), size_at(c, "mat2", 1)


@rule("addmv", dtype="any")
def addmv(c: Call) -> Any:
    return (size_at(c, "mat", 0),)


@rule("baddbmm", dtype="any")
def baddbmm(c: Call) -> Any:
    return size_at(c, "batch1", 0), size_at(c, "batch1", 1), size_at(c, "batch2", 2)


@rule("addbmm", dtype="any")
def addbmm(c: Call) -> Any:
    return size_at(c, "batch1", 1), size_at(c, "batch2", 2)


@rule("addr outer ger", dtype="kernel", ranks=2)
def outer(c: Call) -> Any:
    names = ("vec1", "vec2") if c.has("vec1") else (0, 1)
    return c.shape(names[0])[0], c.shape(names[1])[0]


@rule("einsum", dtype=None)
def einsum(c: Call) -> Any:
    """Equations of letters only; a size comes from the operands that have the letter."""
    if not c.has("tensors"):
        raise Unknown  # the sublist form
    text, tensors = c.known("equation").replace(" ", ""), c["tensors"]
    if "..." in text or not isinstance(tensors, tuple):
        raise Unknown
    given, _, wanted = text.partition("->")
    terms = given.split(",")
    if "->" not in text:
        letters = sorted(set(given) - {","})
        wanted = "".join(x for x in letters if given.count(x) == 1)
    sizes: dict[str, list[Any]] = {}
    for term, fact in zip(terms, tensors, strict=True):
        if not isinstance(fact, TensorFacts) or fact.shape is None or len(term) != len(fact.shape):
            raise Unknown
        for letter, size in zip(term, fact.shape):
            sizes.setdefault(letter, []).append(size)
    shape = tuple(broadcast(c, *[(s,) for s in sizes[x]])[0] for x in wanted)
    types = {fact.dtype for fact in tensors}
    return TensorFacts(shape, types.pop() if len(types) == 1 else None, len(shape))


@rule("scaled_dot_product_attention", ranks="first")
def attention(c: Call) -> Any:
    q, v = c.shape("query"), c.shape("value")
    return (
        (*broadcast(c, q[:-2], v[:-2], c.shape("key")[:-2]), q[-2], v[-1])
        if q[:-2] != v[:-2] and c["enable_gqa"] is False
        else (*q[:-1], v[-1])
    )


@rule("_scaled_dot_product_flash_attention_for_cpu", dtype="kernel")
def flash_attention(c: Call) -> Any:
    q = c.shape("query")
    return Several((q, q[:-1]))


@rule("_scaled_dot_product_flash_attention_for_cpu_backward", dtype=("first", "first", "first"))
def flash_attention_backward(c: Call) -> Any:
    return Several((c.shape("query"), c.shape("key"), c.shape("value")))


@rule("embedding")
def embedding(c: Call) -> Any:
    return (*c.shape("indices"), *c.shape("weight")[1:])


@rule("cosine_similarity", dtype="kernel")
def cosine_similarity(c: Call) -> Any:
    shape = broadcast(c, c.shape("x1"), c.shape("x2"))
    d = c.dim("dim", len(shape))
    return shape[:d] + shape[d + 1 :]


@rule("cross linalg_cross")
def cross(c: Call) -> Any:
    return broadcast(c, c.shape(0), c.shape(1))


@rule("cdist")
def cdist(c: Call) -> Any:
    a, b = c.shape("x1"), c.shape("x2")
    return (*broadcast(c, a[:-2], b[:-2]), a[-2], b[-2])
