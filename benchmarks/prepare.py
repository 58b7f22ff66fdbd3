"""Makes the files that benchmarks read.  Run it where torch (and onnx, onnxscript) are installed.

Every workload is built with random weights, scripted (its archive) and exported (its .onnx);
silero-vad's archive and .onnx come out of the wheel that `pip download silero-vad==6.2.3` gets.
`python -m benchmarks.prepare [workload ... silero compiled]`
"""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

from .candidates import FILES
from .workloads import WORKLOADS, Workload


def silero() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "-d",
                folder,
                "silero-vad==6.2.3",
            ],
            check=True,
        )
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as z:
            for name in ("silero_vad.jit", "silero_vad.onnx"):
                (FILES / name).write_bytes(z.read(f"silero_vad/data/{name}"))


def compiled() -> None:
    """The archives of the whole processes, as `scriptlang compile` writes them."""
    from scriptlang import compile_archive

    for source in ("silero_vad.jit", "mlp.pt"):
        compile_archive(FILES / source, FILES / f"{source.partition('.')[0]}.compiled.pt")


def build(w: Workload):
    """The module or function of a workload, for PyTorch."""
    import torch

    module, name = w.program.split(":")
    program = getattr(importlib.import_module(f"benchmarks.{module}"), name)
    if w.group == "loops":
        return program
    torch.manual_seed(0)
    return program(**w.options).eval()


def tensors(w: Workload) -> list:
    """The inputs as PyTorch takes them."""
    import numpy as np
    import torch

    return [torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in w.arguments()]


def make(w: Workload) -> None:
    import torch

    program = build(w)
    torch.jit.script(program).save(str(FILES / f"{w.name}.pt"))
    if w.onnx:
        try:
            torch.onnx.export(
                program,
                tuple(tensors(w)),
                str(FILES / f"{w.name}.onnx"),
                dynamo=True,
                verbose=False,
            )
        except Exception as e:
            print(f"{w.name}.onnx was not made: {str(e)[:200]}", file=sys.stderr)


def main(names: list[str]) -> None:
    FILES.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for w in WORKLOADS:
        if w.torch and (not names or w.name in names):
            make(w)
            print(w.name, flush=True)
    if not names or "silero" in names:
        silero()
    if not names or "compiled" in names:
        compiled()


if __name__ == "__main__":
    main(sys.argv[1:])
