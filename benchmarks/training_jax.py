"""The nets of `training.py` for JAX: functions of a dict of parameters, a step compiled by XLA.

JAX has no layers of its own, so these are written out. `step_of` counts the parameters against
those of the original, so that both train the same net.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from .training import NETS, batches

Parameters = dict[str, Any]


class Maker:
    """Random parameters by name, as `nn.Linear` and its like draw them."""

    def __init__(self) -> None:
        self.rng, self.made = np.random.default_rng(0), {}

    def uniform(self, name: str, *shape: int, fan_in: int) -> None:
        bound = 1 / math.sqrt(fan_in)
        self.made[name] = jnp.asarray(self.rng.uniform(-bound, bound, shape), jnp.float32)

    def linear(self, name: str, inputs: int, outputs: int, bias: bool = True) -> None:
        self.uniform(f"{name}.weight", inputs, outputs, fan_in=inputs)
        if bias:
            self.uniform(f"{name}.bias", outputs, fan_in=inputs)

    def convolution(self, name: str, inputs: int, outputs: int, kernel: int) -> None:
        """In the layout that XLA's convolutions prefer on a CPU: height, width, in, out."""
        self.uniform(
            f"{name}.weight", kernel, kernel, inputs, outputs, fan_in=inputs * kernel * kernel
        )

    def norm(self, name: str, width: int) -> None:
        self.made[f"{name}.weight"] = jnp.ones(width)
        self.made[f"{name}.bias"] = jnp.zeros(width)


def linear(p: Parameters, name: str, x: Any) -> Any:
    y = x @ p[f"{name}.weight"]
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def normalized(p: Parameters, name: str, x: Any, axes: tuple[int, ...]) -> Any:
    """Over `axes`: the last one is a layer norm, all others a batch norm in training."""
    mean = x.mean(axes, keepdims=True)
    variance = ((x - mean) ** 2).mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p[f"{name}.weight"] + p[f"{name}.bias"]


def dropout(x: Any, key: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key, 0.9, x.shape), x / 0.9, 0)


def cross_entropy(scores: Any, target: Any) -> Any:
    return -jnp.take_along_axis(nn.log_softmax(scores), target[:, None], 1).mean()


def mlp(m: Maker, numbers: int, hidden: int) -> Callable[..., Any]:
    m.linear("first", numbers, hidden)
    m.linear("second", hidden, hidden)
    m.linear("third", hidden, 4)

    def loss(p: Parameters, x: Any, y: Any, key: Any) -> Any:
        x = dropout(nn.relu(linear(p, "first", x)), key)
        x = nn.gelu(linear(p, "second", x), approximate=False)
        return cross_entropy(linear(p, "third", x), y)

    return loss


def vae(m: Maker, numbers: int, hidden: int) -> Callable[..., Any]:
    m.linear("encoder", numbers, hidden)
    m.linear("mean", hidden, 4)
    m.linear("log_variance", hidden, 4)
    m.linear("decoder", 4, hidden)
    m.linear("out", hidden, numbers)

    def loss(p: Parameters, x: Any, y: Any, key: Any) -> Any:
        code = jnp.tanh(linear(p, "encoder", x))
        mean, log_variance = linear(p, "mean", code), linear(p, "log_variance", code)
        code = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape)
        made = linear(p, "out", jnp.tanh(linear(p, "decoder", code)))
        divergence = -0.5 * (1 + log_variance - mean**2 - jnp.exp(log_variance)).mean()
        return ((made - y) ** 2).mean() + 0.1 * divergence

    return loss


def resnet(m: Maker, channels: tuple[int, ...], side: int) -> Callable[..., Any]:
    before = channels[0]
    m.convolution("stem", 3, before, 3)
    m.norm("stem.norm", before)
    blocks = []
    for after, stride in zip(channels, (1, 2, 2, 2)):
        for s, inputs in ((stride, before), (1, after)):
            name = f"block{len(blocks)}"
            m.convolution(f"{name}.1", inputs, after, 3)
            m.convolution(f"{name}.2", after, after, 3)
            m.norm(f"{name}.1.norm", after)
            m.norm(f"{name}.2.norm", after)
            if s != 1 or inputs != after:
                m.convolution(f"{name}.short", inputs, after, 1)
                m.norm(f"{name}.short.norm", after)
            blocks.append((name, s))
        before = after
    m.linear("fc", before, 4)

    def convolved(p: Parameters, name: str, x: Any, stride: int) -> Any:
        pads = [(p[f"{name}.weight"].shape[0] // 2,) * 2] * 2
        layout = ("NHWC", "HWIO", "NHWC")
        y = lax.conv_general_dilated(
            x, p[f"{name}.weight"], (stride, stride), pads, dimension_numbers=layout
        )
        return normalized(p, f"{name}.norm", y, (0, 1, 2))

    def loss(p: Parameters, x: Any, y: Any, key: Any) -> Any:
        x = nn.relu(convolved(p, "stem", x.transpose(0, 2, 3, 1), 1))
        for name, stride in blocks:
            z = nn.relu(convolved(p, f"{name}.1", x, stride))
            short = convolved(p, f"{name}.short", x, stride) if f"{name}.short.weight" in p else x
            x = nn.relu(convolved(p, f"{name}.2", z, 1) + short)
        return cross_entropy(linear(p, "fc", x.mean((1, 2))), y)

    return loss


def lstm(m: Maker, width: int, hidden: int, steps: int) -> Callable[..., Any]:
    m.uniform("embed", 20, width, fan_in=1)
    for k, inputs in enumerate((width, hidden)):
        m.linear(f"input{k}", inputs, 4 * hidden)
        m.linear(f"hidden{k}", hidden, 4 * hidden)
    m.linear("fc", hidden, 4)

    def layer(p: Parameters, k: int, x: Any) -> Any:
        def one(state: Any, gates: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(gates + linear(p, f"hidden{k}", h), 4, axis=-1)
            c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
            h = nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((x.shape[1], hidden))
        return lax.scan(one, (start, start), linear(p, f"input{k}", x))[1]

    def loss(p: Parameters, x: Any, y: Any, key: Any) -> Any:
        z = dropout(layer(p, 0, p["embed"][x.T]), key)
        return cross_entropy(linear(p, "fc", layer(p, 1, z)[-1]), y)

    return loss


def gpt(m: Maker, width: int, heads: int, layers: int, steps: int) -> Callable[..., Any]:
    m.uniform("tokens", 20, width, fan_in=1)
    m.uniform("places", steps, width, fan_in=1)
    for k in range(layers):
        for norm in ("ln1", "ln2"):
            m.norm(f"{k}.{norm}", width)
        m.linear(f"{k}.qkv", width, 3 * width)
        m.linear(f"{k}.out", width, width)
        m.linear(f"{k}.up", width, 4 * width)
        m.linear(f"{k}.down", 4 * width, width)
    m.norm("ln", width)

    def attention(p: Parameters, k: int, x: Any) -> Any:
        q, key, v = (
            part.reshape(*x.shape[:2], heads, width // heads)
            for part in jnp.split(linear(p, f"{k}.qkv", x), 3, axis=2)
        )
        y = nn.dot_product_attention(q, key, v, is_causal=True)
        return linear(p, f"{k}.out", y.reshape(x.shape))

    def loss(p: Parameters, x: Any, y: Any, key: Any) -> Any:
        z = p["tokens"][x] + p["places"][: x.shape[1]]
        for k in range(layers):
            z = z + attention(p, k, normalized(p, f"{k}.ln1", z, (-1,)))
            up = linear(p, f"{k}.up", normalized(p, f"{k}.ln2", z, (-1,)))
            down = linear(p, f"{k}.down", nn.gelu(up, approximate=False))
            z = z + dropout(down, jax.random.fold_in(key, k))
        scores = normalized(p, "ln", z, (-1,)) @ p["tokens"].T
        return cross_entropy(scores.reshape(-1, 20), y.reshape(-1))

    return loss


def sgd(p: Parameters, gradients: Parameters, state: Any) -> tuple[Parameters, Any]:
    return {k: v - 1e-3 * gradients[k] for k, v in p.items()}, state


def adam(p: Parameters, gradients: Parameters, state: Any) -> tuple[Parameters, Any]:
    count, first, second = state
    count += 1
    first = {k: 0.9 * first[k] + 0.1 * g for k, g in gradients.items()}
    second = {k: 0.999 * second[k] + 0.001 * g * g for k, g in gradients.items()}
    rate, scale = 1e-3 / (1 - 0.9**count), 1 - 0.999**count
    made = {k: v - rate * first[k] / (jnp.sqrt(second[k] / scale) + 1e-8) for k, v in p.items()}
    return made, (count, first, second)


MAKERS = {"mlp": mlp, "resnet": resnet, "lstm": lstm, "gpt": gpt, "vae": vae}


def step_of(net: str, optimizer: str, parameters: int) -> Callable[[], float]:
    """A callable of one step: parameters and state stay where they are between steps.

    parameters: how many numbers the net of `training.py` trains.
    """
    maker = Maker()
    loss = MAKERS[net](maker, **NETS[net].large)
    p = maker.made
    if (count := sum(v.size for v in p.values())) != parameters:
        raise ValueError(f"{net} has {count} parameters for JAX, and {parameters} as written")
    update = {"SGD": sgd, "Adam": adam}[optimizer]
    zeros = {k: jnp.zeros_like(v) for k, v in p.items()}
    state: Any = (jnp.float32(0), zeros, dict(zeros)) if optimizer == "Adam" else ()
    state = jax.tree.map(jnp.copy, state)

    def one(p: Parameters, state: Any, key: Any, x: Any, y: Any) -> Any:
        key, drawn = jax.random.split(key)
        value, gradients = jax.value_and_grad(loss)(p, x, y, drawn)
        return (*update(p, gradients, state), key, value)

    compiled = jax.jit(one, donate_argnums=(0, 1))
    x, y = (jnp.asarray(a) for a in batches(net, 1, is_large=True)[0])
    held = [p, state, jax.random.PRNGKey(0)]

    def step() -> float:
        *held[:], value = compiled(*held, x, y)
        return float(value)

    return step
