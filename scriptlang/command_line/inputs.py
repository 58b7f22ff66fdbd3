"""Inputs of programs from the command line: files, literals, and random ones of a shape.

--input x.npy      .npy, .npz (a tensor each), .json, .png .jpg .ppm (1, 3, H, W in 0..1), .wav
--random 1,3,224,224      or int64[1,128], uint8[3,8,8], x=1,16: by name
--arg 16000               a Python literal, or name=literal
"""

from __future__ import annotations

import argparse
import ast
import json
import pathlib
import re
import wave
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from .. import dtypes
from .. import types as T
from ..tensors import Tensor, from_numpy
from .main import InputError, UsageError

MOST = 1 << 30
"""The most elements of a random input, and the most pixels of an image."""


def add_inputs(command: argparse.ArgumentParser) -> None:
    """Add the options for the inputs of a method."""
    group = command.add_argument_group("inputs, passed in the order given")
    group.add_argument(
        "--input",
        dest="values",
        action=Given,
        kind="input",
        metavar="FILE",
        help=".npy, .json, .png, .jpg, .ppm and .wav are one value; .npz one for each array; "
        "repeatable",
    )
    group.add_argument(
        "--arg",
        dest="values",
        action=Given,
        kind="arg",
        metavar="[NAME=]VALUE",
        help="a Python literal (16000, 0.5, True, None, 'text', [1, 2]); repeatable",
    )
    group.add_argument(
        "--random",
        dest="values",
        action=Given,
        kind="random",
        metavar="[NAME=]SHAPE",
        help="a tensor of that shape, of normal values or of small ints: 1,3,224,224 or "
        "int64[1,128]; repeatable",
    )
    group.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of random inputs, and of random numbers in the program (0)",
    )
    command.set_defaults(values=[])


class Given(argparse.Action):
    """Collects the inputs in one list, in the order in which they were given."""

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kind = kind

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        value: Any,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), (self.kind, value)])


def arguments(options: argparse.Namespace, schema: Any) -> tuple[list[Any], dict[str, Any]]:
    """The positional and named arguments for a method with this schema."""
    from ..ops.calling.eager import manual_seed

    manual_seed(options.seed)
    generator = np.random.default_rng(options.seed)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    types = [a.type for a in inputs_of(schema)]
    for kind, text in options.values:
        if kind == "input":
            args += values_of(text)
            continue
        name, equals, rest = text.partition("=")
        named = bool(equals) and schema.index(name) is not None
        if equals and not named and kind == "random":
            raise UsageError(f"there is no input {name!r}; there is {names_of(schema)}")
        text = rest if named else text
        value = literal(text) if kind == "arg" else random_tensor(text, generator)
        if named:
            kwargs[name] = value
        else:
            args.append(value)
    args = [fitting(value, t) for value, t in zip(args, types)] + args[len(types) :]
    for name, value in kwargs.items():
        kwargs[name] = fitting(value, schema.arguments[schema.index(name)].type)
    check_number(args, kwargs, schema)
    return args, kwargs


def inputs_of(schema: Any) -> list[Any]:
    return list(schema.inputs)


def names_of(schema: Any) -> str:
    return ", ".join(a.name for a in inputs_of(schema)) or "none"


def check_number(args: list[Any], kwargs: dict[str, Any], schema: Any) -> None:
    """Raise UsageError if inputs are missing, or more are given than the method takes."""
    inputs = inputs_of(schema)
    if len(args) > len(inputs):
        raise UsageError(
            f"{len(args)} inputs are given, but {schema.name} takes {len(inputs)}: "
            f"{names_of(schema)}"
        )
    missing = [a for a in inputs[len(args) :] if a.name not in kwargs and not a.has_default]
    if missing:
        first = missing[0]
        what = ", ".join(f"{a.name} ({a.type})" for a in missing)
        way = f"--random {first.name}=SHAPE or --input FILE"
        if T.without_none(first.type) != T.TENSOR:
            way = f"--arg {first.name}=VALUE or --input FILE.json"
        raise UsageError(f"an input is missing: {what}\n  help: give it by {way}")


def by_place(args: list[Any], kwargs: dict[str, Any], schema: Any) -> list[Any]:
    """All inputs in order, with defaults where later ones are given by name."""
    named, placed = dict(kwargs), list(args)
    for a in inputs_of(schema)[len(args) :]:
        if not named:
            break
        if a.kwarg_only:
            raise UsageError(f"engines are compared on inputs by place, and {a.name} has none")
        placed.append(named.pop(a.name, a.default))
    if named:
        raise UsageError(f"an input is given twice: {', '.join(named)}")
    return placed


@contextmanager
def told(schema: Any, args: list[Any], kwargs: dict[str, Any]) -> Iterator[None]:
    """Errors that the program raises inside tell the sizes of its inputs."""
    try:
        yield
    except Exception as e:
        named = {**dict(zip((a.name for a in inputs_of(schema)), args)), **kwargs}
        text = ", ".join(f"{name}: {brief(value)}" for name, value in named.items())
        with suppress(AttributeError):
            e.given = text  # type: ignore[attr-defined]
        raise


def brief(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype.name}{list(value.shape)}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"


def fitting(value: Any, t: T.Type) -> Any:
    """Adapt a tensor to an argument that is a list of tensors: split a batch (4 or more
    dimensions), or return a list of the one tensor."""
    if isinstance(value, Tensor) and T.without_none(t) == T.ListType(T.TENSOR):
        return list(value.unbind(0)) if value.dim() >= 4 else [value]
    return value


def literal(text: str) -> Any:
    """A Python literal; any other text is a string, unless it begins as a literal does."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        if text[:1] in ("[", "(", "{", "'", '"'):
            raise UsageError(
                f"--arg takes a Python literal, which {text!r} is not; a text that begins like "
                f"this stands in quotes twice: --arg \"'...'\""
            ) from None
        return text


SHAPE = re.compile(r"(?:([a-z]\w*)?\[([\d,\s]*)\]|([\d,\s]+))")


def random_tensor(text: str, generator: np.random.Generator) -> Tensor:
    match = SHAPE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--random takes a shape, 1,3,224,224 or int64[1,128], not {text!r}")
    dtype = dtypes.BY_NAME.get(match[1] or "float32")
    if dtype is None:
        raise UsageError(f"--random: there is no element type {match[1]!r}")
    sizes = match[2] if match[2] is not None else match[3]
    shape = [int(s) for s in sizes.replace(" ", "").split(",") if s]
    count = 1
    for size in shape:
        count *= size
    if count > MOST:
        raise UsageError(f"--random {text}: {count} elements are more than {MOST}")
    if dtype.kind in "iub":
        high = 2 if dtype.kind == "b" else 100
        made = from_numpy(generator.integers(0, high, shape, np.int64))
    else:
        made = from_numpy(generator.standard_normal(shape, np.float32))
    return made.to(dtype)


def values_of(path: str) -> list[Any]:
    """The contents of a file as arguments. Raises InputError for a file that cannot be used."""
    ending = pathlib.Path(path).suffix.lower()
    if ending in (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"):
        return [image_of(path)]
    if ending in (".ppm", ".pgm"):
        return [portable_image_of(path)]
    if ending == ".wav":
        return [sound_of(path)]
    if ending == ".json":
        return [json_of(path)]
    return [tensor_of(path, a) for a in arrays_of(path)]


def tensor_of(path: str, array: np.ndarray[Any, Any]) -> Any:
    try:
        return from_numpy(np.ascontiguousarray(array))
    except (TypeError, ValueError) as e:
        raise InputError(f"{path} holds {array.dtype}, which no tensor does ({e})") from None


def arrays_of(path: str) -> list[np.ndarray[Any, Any]]:
    """The arrays in a .npy or .npz file. Raises InputError for other files."""
    try:
        data: Any = np.load(path, allow_pickle=False)
        return [data[k] for k in data.files] if hasattr(data, "files") else [data]
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError, SyntaxError) as e:
        raise InputError(
            f"{path} is no .npy or .npz file of numbers ({e}): write one with numpy.save"
        ) from None


def json_of(path: str) -> Any:
    """The value of a JSON file, in which rectangular lists of numbers become tensors."""
    with open(path, "rb") as file:
        text = file.read()
    try:
        return from_json(json.loads(text))
    except (ValueError, RecursionError) as e:
        raise InputError(f"{path} is no JSON: {e}") from None


def from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: from_json(v) for k, v in value.items()}
    if not isinstance(value, list):
        return value
    try:
        array = np.array(value)
    except (ValueError, OverflowError):
        return [from_json(v) for v in value]
    if array.dtype.kind == "f":
        return from_numpy(array.astype(np.float32))
    if array.dtype.kind in "ib":
        return from_numpy(array)
    return [from_json(v) for v in value]


def as_batch(pixels: np.ndarray[Any, Any]) -> Tensor:
    """(H, W, 3) bytes as (1, 3, H, W) floats in [0, 1]."""
    planes = np.moveaxis(pixels.astype(np.float32) / 255, -1, 0)
    return from_numpy(np.ascontiguousarray(planes[None]))


def image_of(path: str) -> Tensor:
    try:
        from PIL import Image
    except ImportError:
        raise InputError(
            f"{path}: reading such images needs the package Pillow (pip install Pillow); "
            ".ppm and .npy files need nothing"
        ) from None
    try:
        with Image.open(path) as image:
            return as_batch(np.asarray(image.convert("RGB")))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as e:
        if isinstance(e, FileNotFoundError):
            raise
        raise InputError(f"{path} is no image that Pillow reads: {e}") from None


def portable_image_of(path: str) -> Tensor:
    """Read a binary .ppm or .pgm file with one byte per channel.
    Raises InputError for other files."""
    with open(path, "rb") as file:
        data = file.read()
    head = re.match(rb"P([56])(?:\s+(?:#[^\n]*\n)*)(\d+)\s+(\d+)\s+(\d+)\s", data)
    if head is None or head[4] != b"255":
        raise InputError(f"{path} is no binary .ppm or .pgm image of 255 values (P5 or P6)")
    channels = 3 if head[1] == b"6" else 1
    width, height = int(head[2]), int(head[3])
    body = data[head.end() :]
    if width * height * channels > MOST or len(body) < width * height * channels:
        raise InputError(f"{path} is cut short: it says {width} x {height} pixels")
    pixels = np.frombuffer(body, np.uint8, width * height * channels)
    return as_batch(np.broadcast_to(pixels.reshape(height, width, channels), (height, width, 3)))


def sound_of(path: str) -> Tensor:
    """Read a .wav file as (1, samples) floats in [-1, 1]; channels are averaged."""
    try:
        with wave.open(path, "rb") as file:
            width, channels = file.getsampwidth(), file.getnchannels()
            data = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as e:
        raise InputError(f"{path} is no .wav file of plain samples: {e}") from None
    types: dict[int, tuple[Any, float]] = {
        1: (np.uint8, 128.0),
        2: (np.dtype("<i2"), 32768.0),
        4: (np.dtype("<i4"), 2.0**31),
    }
    if width not in types or not channels:
        raise InputError(f"{path}: samples of {8 * width} bits; 8, 16 and 32 can be read")
    dtype, scale = types[width]
    whole = len(data) // (width * channels) * width * channels
    samples = np.frombuffer(data[:whole], dtype).astype(np.float32)
    samples = (samples - 128 if width == 1 else samples) / np.float32(scale)
    return from_numpy(np.ascontiguousarray(samples.reshape(-1, channels).mean(1)[None]))
