#!/usr/bin/env python3
"""Writes the small models and inputs of the examples, each into the folder of its example.

  python cpp_loader/examples/make_models.py

The image network is trained here, in a minute; the others have the weights that they need.
"""

from __future__ import annotations

import pathlib
import struct
import zipfile

import numpy as np

import scriptlang
import scriptlang as torch
from scriptlang import Tensor, nn
from scriptlang.nn import functional as F

HERE = pathlib.Path(__file__).parent


def save(module: nn.Module, path: str, **extra: str) -> None:
    """The module as torch.jit.save writes one, without bytecode."""
    whole = HERE / f"{path}.whole"
    scriptlang.script(module.eval()).save(str(whole), _extra_files=extra)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(HERE / path, "w") as new:
        for record in old.infolist():
            name = record.filename.partition("/")[2]
            if name != "bytecode.pkl" and not name.startswith("scriptlang/"):
                if not name.endswith(".debug_pkl"):
                    new.writestr(record, old.read(record))
    whole.unlink()
    print(path, (HERE / path).stat().st_size, "bytes")


# classify_image: which shape an image shows

SHAPES = ("circle", "square", "cross")


class Shapes(nn.Module):
    """Takes images of any size as bytes, rows of red, green and blue."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 5, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, 16, 5, stride=2),
            nn.ReLU(),
            nn.AdaptiveMaxPool2d(1),
            nn.Flatten(),
            nn.Linear(16, len(SHAPES)),
        )

    def forward(self, pixels: Tensor) -> Tensor:
        x = pixels.permute(2, 0, 1).unsqueeze(0).to(torch.float32) / 255.0
        x = F.interpolate(x, size=[32, 32], mode="bilinear", align_corners=False)
        return torch.softmax(self.layers(x - x.mean()), 1)[0]


def drawn(kind: int, height: int, width: int, random: np.random.Generator) -> np.ndarray:
    """An image of one shape, somewhere, in some colour on another one, with some noise."""
    y, x = np.mgrid[:height, :width] / min(height, width)
    r = random.uniform(0.22, 0.4)
    cy = random.uniform(r, height / min(height, width) - r)
    cx = random.uniform(r, width / min(height, width) - r)
    dy, dx = abs(y - cy), abs(x - cx)
    arms = np.minimum(dx, dy) < r / 3
    inside = [dx**2 + dy**2 < r**2, np.maximum(dx, dy) < 0.85 * r, arms & (np.maximum(dx, dy) < r)]
    dark, light = random.uniform(0, 90, 3), random.uniform(150, 255, 3)
    image = np.where(inside[kind][..., None], light, dark) + random.normal(0, 8, (height, width, 3))
    return image.clip(0, 255).astype(np.uint8)


def train_shapes(random: np.random.Generator) -> Shapes:
    scriptlang.manual_seed(1)
    model = Shapes()
    optimizer = scriptlang.optim.Adam(model.layers.parameters(), lr=4e-3)
    for turn in range(500):
        labels = [int(k) for k in random.integers(0, 3, 32)]
        images = np.stack([drawn(k, 32, 32, random) for k in labels])
        x = torch.from_numpy(images).permute(0, 3, 1, 2).to(torch.float32) / 255.0
        x = x - x.mean([1, 2, 3], keepdim=True)
        loss = F.cross_entropy(model.layers(x), torch.tensor(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if turn % 100 == 99:
            print(f"shapes: loss {loss.item():.3f}")
    return model


def make_shapes() -> None:
    random = np.random.default_rng(3)
    model = train_shapes(random)
    save(model, "classify_image/shapes.pt", **{"labels.txt": "\n".join(SHAPES)})
    for kind, name in enumerate(SHAPES):
        image = drawn(kind, 40, 56, random)
        header = f"P6\n# a {name}\n56 40\n255\n".encode()
        (HERE / "classify_image" / f"{name}.ppm").write_bytes(header + image.tobytes())


# stream_vad: when somebody speaks

RATE, CHUNK = 8000, 256


class Speech(nn.Module):
    """The probability that somebody speaks: from the energy of bands, against that of the noise,
    which it follows.  Keeps a state from chunk to chunk."""

    def __init__(self):
        super().__init__()
        t = torch.arange(CHUNK).to(torch.float32)
        frequencies = torch.arange(3, 43, 4).to(torch.float32) * (torch.pi / CHUNK * 2)
        window = 0.5 - 0.5 * torch.cos(t * (2 * torch.pi / CHUNK))
        angles = frequencies.unsqueeze(1) * t
        self.register_buffer("cosines", torch.cos(angles) * window)
        self.register_buffer("sines", torch.sin(angles) * window)
        self.register_buffer("noise", torch.zeros([]))
        self.register_buffer("level", torch.zeros([]))
        self.register_buffer("chunks", torch.zeros([]))

    @scriptlang.jit.export
    def reset(self) -> None:
        self.noise.zero_()
        self.level.zero_()
        self.chunks.zero_()

    def forward(self, samples: Tensor) -> Tensor:
        energy = (self.cosines @ samples) ** 2 + (self.sines @ samples) ** 2
        loud = torch.log(energy.mean() + 1e-9)
        self.noise.copy_(torch.where(self.chunks < 8, loud, torch.minimum(loud, self.noise + 0.01)))
        self.chunks.add_(1)
        self.level.mul_(0.5).add_(0.5 * (loud - self.noise))
        return torch.sigmoid(2.0 * (self.level - 2.5))


def make_speech() -> None:
    save(Speech(), "stream_vad/speech.pt")
    random = np.random.default_rng(5)
    t = np.arange(3 * RATE) / RATE
    voice = sum(np.sin(2 * np.pi * 140 * k * t) / k for k in range(1, 12))
    voice *= 0.6 + 0.4 * np.sin(2 * np.pi * 4 * t)
    speaks = ((t > 0.7) & (t < 1.4)) | ((t > 2.0) & (t < 2.6))
    sound = 0.004 * random.normal(size=t.size) + 0.15 * voice * speaks
    samples = (sound.clip(-1, 1) * 32767).astype("<i2").tobytes()
    header = b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt "
    header += struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    header += b"data" + struct.pack("<I", len(samples))
    (HERE / "stream_vad" / "speech.wav").write_bytes(header + samples)


# text_model: what a text is about

TOPICS = {
    "weather": "rain snow wind sun cloud storm warm cold umbrella forecast",
    "food": "bread soup cook oven salt sugar eat dinner taste butter",
    "music": "song guitar piano band sing concert drum melody loud album",
}


class Topics(nn.Module):
    """Counts the words that it knows.  Words have topics; texts may name others of their own."""

    known: dict[str, str]

    def __init__(self):
        super().__init__()
        self.known = {word: topic for topic, words in TOPICS.items() for word in words.split()}

    @scriptlang.jit.export
    def words(self, text: str) -> list[str]:
        found: list[str] = []
        for word in text.lower().split():
            found.append(word.strip(".,;:!?\"'()"))
        return found

    @scriptlang.jit.export
    def learn(self, words: dict[str, str]) -> int:
        for word, topic in words.items():
            self.known[word] = topic
        return len(self.known)

    def forward(self, text: str, weights: dict[str, float] | None = None) -> dict[str, float]:
        scores: dict[str, float] = {}
        for word in self.words(text):
            if word in self.known:
                topic = self.known[word]
                weight = 1.0
                if weights is not None and topic in weights:
                    weight = weights[topic]
                scores[topic] = scores.get(topic, 0.0) + weight
        return scores


# plain_c and embedded: a small network


class Curve(nn.Module):
    """sin, as a sum of steps that are smooth."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(1, 24)
        self.out = nn.Linear(24, 1)
        x = np.linspace(-np.pi, np.pi, 400)
        centres = np.linspace(-3.4, 3.4, 24)
        steps = np.c_[np.tanh(1.2 * (x[:, None] - centres)), np.ones(400)]
        weights = np.linalg.lstsq(steps, np.sin(x), rcond=1e-6)[0]
        values = (np.full((24, 1), 1.2), -1.2 * centres, weights[None, :-1], weights[-1:])
        for parameter, value in zip(self.parameters(), values):
            parameter.data.copy_(torch.from_numpy(value.astype("float32")))

    def forward(self, x: Tensor) -> Tensor:
        return self.out(torch.tanh(self.hidden(x.unsqueeze(-1)))).squeeze(-1)


# custom_operator: a filter that PyTorch has not


class Smoothed(nn.Module):
    def forward(self, x: Tensor, width: int) -> Tensor:
        return scriptlang.ops.filters.median(x, width) + 0.0


def make_smoothed() -> None:
    scriptlang.library.define("filters::median", "(Tensor x, int width=3) -> Tensor")
    save(Smoothed(), "custom_operator/smoothed.pt")


def main() -> None:
    make_shapes()
    make_speech()
    save(Topics(), "text_model/topics.pt")
    save(Curve(), "plain_c/curve.pt")
    make_smoothed()


if __name__ == "__main__":
    main()
