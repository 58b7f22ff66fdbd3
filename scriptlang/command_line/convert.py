"""scriptlang convert: writes the weights of an archive as .npz or .safetensors."""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import numpy as np

from .main import InputError, UsageError, limits_of
from .output import Output


def add(command: argparse.ArgumentParser) -> None:
    command.add_argument("archive", help="an archive, or a file of weights that torch.save wrote")
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE.npz|FILE.safetensors",
        help="the file to write",
    )


def run(options: argparse.Namespace, out: Output) -> int:
    ending = pathlib.Path(options.output).suffix.lower()
    if ending not in (".npz", ".safetensors"):
        raise UsageError(f"weights are written as .npz or .safetensors, not {ending or 'such'!r}")
    with out.working(f"converting {options.archive}"):
        weights = weights_of(options.archive, options)
        arrays = {name: array_of(name, t, ending) for name, t in weights.items()}
        write = write_npz if ending == ".npz" else write_safetensors
        write(options.output, arrays)
    facts = {n: {"dtype": str(a.dtype), "shape": list(a.shape)} for n, a in arrays.items()}
    if out.json:
        out.data({"output": options.output, "weights": facts})
    else:
        out.text(f"{options.output}: {len(arrays)} weights")
    return 0


def weights_of(path: str, options: Any) -> dict[str, Any]:
    """The tensors of a module's state, or of a file without a program, by name."""
    from ..api import load, load_state_dict
    from ..errors import ArchiveError
    from ..tensors import Tensor

    state: Any
    try:
        state = load(path, limits=limits_of(options)).state_dict()
    except ArchiveError as e:
        try:
            state = load_state_dict(path)
        except ArchiveError:
            raise e from None
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    found = {str(k): v for k, v in dict(state).items() if isinstance(v, Tensor)}
    if not found:
        raise InputError(f"{path} holds no weights by name")
    return found


def array_of(name: str, tensor: Any, ending: str) -> np.ndarray[Any, Any]:
    tensor = tensor.detach()
    if getattr(tensor, "is_quantized", False):
        raise InputError(f"{name} is quantized, which {ending} files have not")
    array = np.ascontiguousarray(tensor.numpy())
    if ending == ".npz" and array.dtype.kind == "V":
        return array.astype(np.float32)  # bfloat16 and float8, which numpy alone cannot read
    return array


def write_npz(path: str, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    with open(path, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def write_safetensors(path: str, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    except ImportError:
        raise InputError(
            "writing .safetensors needs the package safetensors (pip install safetensors); "
            ".npz needs nothing"
        ) from None
    try:
        save_file(arrays, path)
    except SafetensorError as e:
        raise InputError(f"{path}: {e}") from None
