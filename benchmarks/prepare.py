"""Makes the files that the benchmarks read.  Run it where torch (and onnx, onnxscript) are installed.

silero-vad's archive and its .onnx come out of the wheel that `pip download silero-vad==6.2.3` gets;
ResNet-18 is built here with random weights and saved scripted, traced and as .onnx.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import zipfile

from .candidates import FILES


def silero() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                        "silero-vad==6.2.3"], check=True)
        wheel = next(pathlib.Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as z:
            for name in ("silero_vad.jit", "silero_vad.onnx"):
                (FILES / name).write_bytes(z.read(f"silero_vad/data/{name}"))


def resnet18() -> None:
    import torch

    from .models import ResNet18

    torch.manual_seed(0)
    model = ResNet18().eval()
    x = torch.randn(1, 3, 224, 224)
    torch.jit.script(model).save(str(FILES / "resnet18.pt"))
    torch.jit.trace(model, x).save(str(FILES / "resnet18.trace.pt"))
    try:
        torch.onnx.export(model, (x,), str(FILES / "resnet18.onnx"), dynamo=True)
    except Exception as e:
        print(f"resnet18.onnx was not made: {e}", file=sys.stderr)


if __name__ == "__main__":
    FILES.mkdir(parents=True, exist_ok=True)
    silero()
    resnet18()
    print(*sorted(p.name for p in FILES.iterdir()))
