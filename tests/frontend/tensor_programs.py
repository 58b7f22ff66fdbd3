"""Programs on tensors, with descriptions of their arguments.

RUNS lists (function, tuples of arguments).  An argument ("t", shape) is a float tensor, ("i",
shape) an int64 tensor of 0, 1, 2, ..., and ("b", shape) a bool tensor.  The tests run the programs
with scriptlang or PyTorch as the module `torch`.
"""

from __future__ import annotations

from typing import List, Optional, Tuple

import scriptlang as torch

Tensor = torch.Tensor


def scalars_and_tensors(x: Tensor, n: int, k: float) -> Tensor:
    return 1 - x + 2 * x / n + k * (3 > x).float() - n / (x + 5) + (x >= n).long() - (1.5 < x).int()


def in_place(x: Tensor, y: Tensor) -> Tensor:
    z = x.clone()
    z += 1
    z -= y
    z *= 2
    z /= 3
    z[0] += 1
    z[1, 1:] *= 3
    w = z
    w.add_(1)
    return z


def index_forms(x: Tensor, i: int) -> List[Tensor]:
    return [
        x[0],
        x[i],
        x[-1],
        x[0, 1],
        x[:, 1],
        x[1:],
        x[:, ::2],
        x[..., 0],
        x[None],
        x[:, None, 1],
        x[..., None],
        x[0, ..., 1:],
        x[i:, :i],
        x[..., 1, None, :2],
        x[None, ..., None],
    ]


def index_tensors(x: Tensor, j: Tensor) -> List[Tensor]:
    return [
        x[j],
        x[:, j],
        x[x > 0],
        x[j, j],
        x[[0, 1]],
        x[1, j],
        x[j, None],
        x[j, 1:],
        x[:, x[0] > -9],
    ]


def index_assignment(x: Tensor, j: Tensor, v: float) -> Tensor:
    x = x.clone()
    x[0] = 3
    x[1, 1:] = x[0, :-1]
    x[x > 2.5] = v
    x[j] = 0.5
    x[:, 0] = -1
    x[..., -1] += 2
    x[j] *= 2
    x[x < 0] += 0.25
    return x


def shape_arithmetic(x: Tensor) -> Tuple[int, int, int, List[int], int]:
    b, c = x.shape
    return x.size(0), x.shape[1] * b, x.numel() + c, x.size(), x.dim() + x.ndim


def reshaping(x: Tensor) -> List[Tensor]:
    return [
        x.view(-1),
        x.reshape(x.size(1), -1),
        x.t(),
        x.permute(1, 0),
        x.unsqueeze(0),
        x.flatten(),
        x.transpose(0, 1),
        torch.cat([x, x], 1),
        torch.stack((x, x)),
        x.expand(2, -1, -1),
        x.T,
    ]


def reductions(x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    values, indices = x.max(dim=1)
    m = x.max(1)
    return x.sum(), x.mean(0), x.sum([0, 1], keepdim=True), values + m.values, indices


def creation(x: Tensor, n: int) -> List[Tensor]:
    return [
        torch.zeros(2, n),
        torch.ones([n]),
        torch.full((2, 2), 3.5),
        torch.arange(n),
        torch.arange(1, 7, 2),
        torch.tensor([1, 2, n]),
        torch.tensor([[1.5], [2.0]]),
        torch.tensor(3),
        torch.zeros_like(x),
        x.new_zeros(2),
        torch.eye(n),
        torch.zeros(2, dtype=torch.int64),
        torch.empty(0),
        torch.linspace(0, 1, 3),
    ]


def conversions(x: Tensor) -> Tuple[float, int, bool, float, int]:
    return float(x[0, 0]), int(x[0, 1]), bool(x[0, 0] > 0), x.sum().item() + 0.0, int(x.sum())


def tensor_condition(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x * 2
    while x.mean() < 1:
        x = x + 1
    return x


def loop_over_tensor(x: Tensor) -> Tensor:
    total = torch.zeros(x.size(1))
    for row in x:
        total = total + row
    for i in range(x.size(0)):
        total = total * 2 + x[i]
    return total


def lists_of_tensors(x: Tensor) -> Tensor:
    parts: List[Tensor] = []
    for i in range(3):
        parts.append(x * i)
    a, b, c = parts
    a2, b2 = torch.chunk(x, 2)
    p, q = x.split(1)
    return torch.cat(parts) + torch.cat([a, b + c, a2, b2, p, q])[:6]


def dict_of_tensors(x: Tensor) -> Tensor:
    d = {"a": x, "b": x + 1}
    d["c"] = d["a"] * d["b"]
    out = torch.zeros_like(x)
    for k, v in d.items():
        if k != "b":
            out = out + v
    return out


def optional_tensor(x: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    if bias is not None:
        x = x + bias
    return x if bias is None else x * bias.sum()


def logic(x: Tensor, y: Tensor) -> List[Tensor]:
    return [
        (x > 0) & (y > 0),
        (x > 0) | (y > 0),
        ~(x > 0),
        x == y,
        x != 0,
        (x > 0) ^ (y > 0),
        -x,
        x**2,
        2**x,
        x // 2,
        x % 2,
        x @ y.t(),
    ]


def recurrent(x: Tensor, w: Tensor, h: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    if h is None:
        h = torch.zeros(x.size(0), w.size(0))
    outs: List[Tensor] = []
    for t in range(x.size(1)):
        h = torch.tanh(x[:, t].unsqueeze(1) * w.sum(1) + h @ w)
        outs.append(h)
    return torch.stack(outs, 1), h


def keyword_arguments(x: Tensor) -> List[Tensor]:
    return [
        torch.sum(x, dim=0, keepdim=True),
        x.softmax(dim=-1),
        torch.clamp(x, min=0.0),
        x.clamp(max=1),
        torch.add(x, x, alpha=2),
        x.to(torch.float64),
        x.to(dtype=torch.int32),
        torch.cat(tensors=[x, x], dim=0),
    ]


def device_and_dtype(x: Tensor) -> Tuple[Tensor, bool, int]:
    y = torch.zeros(2, dtype=x.dtype, device=x.device)
    return y.to(x.device), x.device == torch.device("cpu"), x.dtype


def augmented_attribute_of_tuple(x: Tensor) -> Tensor:
    pair = (x, x + 1)
    a, b = pair
    return pair[0] + pair[-1] + a * b


def strings_of_sizes(x: Tensor) -> str:
    return f"{x.size(0)}x{x.size(1)}" + "{}".format(x.dim())


def implicit_conversion(x: Tensor, n: Tensor) -> Tensor:
    return torch.zeros(int(n), 2) + torch.add(x[0, 0], 1.0, alpha=1) + torch.full([2], float(n))


def early_exit_with_tensors(x: Tensor, limit: float) -> Tensor:
    for i in range(10):
        x = x + i
        if float(x.max()) > limit:
            return x * 10
        if i == 5:
            break
    return x


RUNS = [
    (scalars_and_tensors, [(("t", (2, 3)), 2, 1.5)]),
    (in_place, [(("t", (2, 3)), ("t", (2, 3)))]),
    (index_forms, [(("t", (3, 4)), 1), (("t", (3, 4, 2)), 2)]),
    (index_tensors, [(("t", (3, 3)), ("i", (2,)))]),
    (index_assignment, [(("t", (3, 3)), ("i", (2,)), 0.75)]),
    (shape_arithmetic, [(("t", (2, 5)),)]),
    (reshaping, [(("t", (2, 3)),)]),
    (reductions, [(("t", (2, 3)),)]),
    (creation, [(("t", (2, 3)), 3)]),
    (conversions, [(("t", (2, 3)),)]),
    (tensor_condition, [(("t", (2, 2)),), (("i", (2, 2)),)]),
    (loop_over_tensor, [(("t", (3, 2)),)]),
    (lists_of_tensors, [(("t", (2, 3)),)]),
    (dict_of_tensors, [(("t", (2, 3)),)]),
    (optional_tensor, [(("t", (2, 3)), ("t", (3,))), (("t", (2, 3)), None), (("t", (2,)),)]),
    (logic, [(("t", (2, 3)), ("t", (2, 3)))]),
    (
        recurrent,
        [(("t", (2, 3)), ("t", (4, 4)), None), (("t", (2, 3)), ("t", (4, 4)), ("t", (2, 4)))],
    ),
    (keyword_arguments, [(("t", (2, 3)),)]),
    (device_and_dtype, [(("t", (2, 3)),)]),
    (augmented_attribute_of_tuple, [(("t", (2, 3)),)]),
    (strings_of_sizes, [(("t", (2, 3)),)]),
    (implicit_conversion, [(("t", (2, 2)), ("i", ()))]),
    (early_exit_with_tensors, [(("t", (2, 2)), 3.0), (("t", (2, 2)), 1e9)]),
]
