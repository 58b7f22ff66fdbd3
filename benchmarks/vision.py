"""Image networks with their published shapes, written here so that PyTorch alone can build them.

Weights are random: the time of a network does not depend on them.
"""

from __future__ import annotations

import torch
from torch import nn


def conv(
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    act: type[nn.Module] | None = nn.ReLU,
) -> nn.Sequential:
    """Convolution without bias, batch normalisation, activation."""
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([] if act is None else [act(inplace=True)]))


class Block(nn.Module):
    """Two 3x3 convolutions with a residual connection; 1x1 convolution where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = (
            nn.Identity()
            if stride == 1 and inputs == outputs
            else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        )

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + self.shortcut(x))


class ResNet18(nn.Module):
    """The 18-layer residual network; `width` 64 is the published one."""

    def __init__(self, classes: int = 1000, width: int = 64):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        sizes = [width, width * 2, width * 4, width * 8]
        blocks, inputs = [], width
        for i, size in enumerate(sizes):
            for stride in (1 if i == 0 else 2, 1):
                blocks.append(Block(inputs, size, stride))
                inputs = size
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.pool(self.blocks(self.stem(x)))
        return self.head(torch.flatten(x, 1))


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions with a residual connection; four times as wide at the end."""

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        self.layers = nn.Sequential(
            conv(inputs, width, 1),
            conv(width, width, 3, stride),
            conv(width, 4 * width, 1, act=None),
        )
        self.shortcut = (
            nn.Identity()
            if stride == 1 and inputs == 4 * width
            else conv(inputs, 4 * width, 1, stride, act=None)
        )
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.layers(x) + self.shortcut(x))


def resnet50() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for width, depth in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for i in range(depth):
            layers.append(Bottleneck(inputs, width, 2 if i == 0 and width > 64 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class SqueezeExcite(nn.Module):
    """Channels weighted by a small network of their means."""

    def __init__(self, channels: int, inner: int, act: type[nn.Module], gate: type[nn.Module]):
        super().__init__()
        self.layers = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, inner, 1),
            act(),
            nn.Conv2d(inner, channels, 1),
            gate(),
        )

    def forward(self, x):
        return x * self.layers(x)


class Inverted(nn.Module):
    """Expand by 1x1, depthwise, perhaps squeeze and excite, project by 1x1; residual if it fits."""

    def __init__(
        self,
        inputs: int,
        inner: int,
        outputs: int,
        kernel: int,
        stride: int,
        act: type[nn.Module],
        squeeze: nn.Module | None = None,
    ):
        super().__init__()
        layers = [conv(inputs, inner, 1, act=act)] if inner != inputs else []
        layers.append(conv(inner, inner, kernel, stride, inner, act))
        if squeeze is not None:
            layers.append(squeeze)
        self.layers = nn.Sequential(*layers, conv(inner, outputs, 1, act=None))
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.residual else y


def mobilenet_v2() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 32, 3, 2, act=nn.ReLU6)]
    inputs = 32
    for expand, outputs, depth, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(depth):
            layers.append(
                Inverted(inputs, inputs * expand, outputs, 3, stride if i == 0 else 1, nn.ReLU6)
            )
            inputs = outputs
    return nn.Sequential(
        *layers,
        conv(320, 1280, 1, act=nn.ReLU6),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(1280, 1000),
    )


V3_LARGE = (  # kernel, inner, outputs, squeeze and excite, hard swish, stride
    (3, 16, 16, 0, 0, 1),
    (3, 64, 24, 0, 0, 2),
    (3, 72, 24, 0, 0, 1),
    (5, 72, 40, 1, 0, 2),
    (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1),
    (3, 240, 80, 0, 1, 2),
    (3, 200, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1),
    (3, 672, 112, 1, 1, 1),
    (5, 672, 160, 1, 1, 2),
    (5, 960, 160, 1, 1, 1),
    (5, 960, 160, 1, 1, 1),
)


def mobilenet_v3() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 16, 3, 2, act=nn.Hardswish)]
    inputs = 16
    for kernel, inner, outputs, squeeze, swish, stride in V3_LARGE:
        block = (
            SqueezeExcite(inner, (inner // 4 + 7) // 8 * 8, nn.ReLU, nn.Hardsigmoid)
            if squeeze
            else None
        )
        layers.append(
            Inverted(
                inputs, inner, outputs, kernel, stride, nn.Hardswish if swish else nn.ReLU, block
            )
        )
        inputs = outputs
    return nn.Sequential(
        *layers,
        conv(160, 960, 1, act=nn.Hardswish),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(960, 1280),
        nn.Hardswish(),
        nn.Dropout(0.2),
        nn.Linear(1280, 1000),
    )


def efficientnet_b0() -> nn.Module:
    layers: list[nn.Module] = [conv(3, 32, 3, 2, act=nn.SiLU)]
    inputs = 32
    for expand, outputs, depth, stride, kernel in (
        (1, 16, 1, 1, 3),
        (6, 24, 2, 2, 3),
        (6, 40, 2, 2, 5),
        (6, 80, 3, 2, 3),
        (6, 112, 3, 1, 5),
        (6, 192, 4, 2, 5),
        (6, 320, 1, 1, 3),
    ):
        for i in range(depth):
            inner = inputs * expand
            layers.append(
                Inverted(
                    inputs,
                    inner,
                    outputs,
                    kernel,
                    stride if i == 0 else 1,
                    nn.SiLU,
                    SqueezeExcite(inner, max(1, inputs // 4), nn.SiLU, nn.Sigmoid),
                )
            )
            inputs = outputs
    return nn.Sequential(
        *layers,
        conv(320, 1280, 1, act=nn.SiLU),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(1280, 1000),
    )


class ChannelsFirstNorm(nn.LayerNorm):
    """Layer normalisation over the channels of an image."""

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        x = nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    """7x7 depthwise, layer normalisation, two linear layers, a learned scale, a residual."""

    def __init__(self, width: int):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width, 1e-6)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gelu = nn.GELU()
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.outer(self.gelu(self.inner(y)))
        return x + y.permute(0, 3, 1, 2)


def convnext_tiny() -> nn.Module:
    layers: list[nn.Module] = [nn.Conv2d(3, 96, 4, 4), ChannelsFirstNorm(96, 1e-6)]
    widths = (96, 192, 384, 768)
    for i, (width, depth) in enumerate(zip(widths, (3, 3, 9, 3))):
        if i:
            layers += [
                ChannelsFirstNorm(widths[i - 1], 1e-6),
                nn.Conv2d(widths[i - 1], width, 2, 2),
            ]
        layers += [ConvNeXtBlock(width) for _ in range(depth)]
    return nn.Sequential(
        *layers,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.LayerNorm(768, 1e-6),
        nn.Linear(768, 1000),
    )


def generator() -> nn.Module:
    """DCGAN's: transposed convolutions from 100 numbers to a 64x64 image."""
    layers: list[nn.Module] = []
    widths = (100, 512, 256, 128, 64)
    for i, (a, b) in enumerate(zip(widths, widths[1:])):
        layers += [
            nn.ConvTranspose2d(a, b, 4, 1 if i == 0 else 2, 0 if i == 0 else 1, bias=False),
            nn.BatchNorm2d(b),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


class Detector(nn.Module):
    """A small one-shot detector: its boxes are decoded, thresholded and suppressed in loops."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, 32, 3, 2), conv(32, 64, 3, 2), conv(64, 96, 3, 2), conv(96, 128, 3, 2)
        )
        self.boxes, self.scores = nn.Conv2d(128, 4, 3, padding=1), nn.Conv2d(128, 1, 3, padding=1)

    def forward(self, x):
        y = self.body(x)
        boxes = self.boxes(y).flatten(2).transpose(1, 2)[0]
        scores = self.scores(y).flatten().sigmoid()
        best = torch.argsort(scores, descending=True)[:40]
        corners = torch.cat(
            [boxes[best, :2] - boxes[best, 2:].exp(), boxes[best, :2] + boxes[best, 2:].exp()], 1
        )
        keep: list[int] = []
        for i in range(corners.size(0)):
            good = True
            for j in keep:
                low = torch.max(corners[i, :2], corners[j, :2])
                high = torch.min(corners[i, 2:], corners[j, 2:])
                shared = float((high - low).clamp(min=0).prod())
                if shared > 0.5 * float((corners[i, 2:] - corners[i, :2]).prod()):
                    good = False
                    break
            if good:
                keep.append(i)
        chosen = torch.tensor(keep)
        return corners[chosen], scores[best][chosen]
