"""The table of measurements."""

from __future__ import annotations

from .harness import Candidate, Row

TORCH = "torch"

ROWS = (
    Row("silero", "silero-vad, seconds a 32 ms chunk", (
        Candidate("scriptlang native", "silero_scriptlang", {"engine": "native"}),
        Candidate("scriptlang python", "silero_scriptlang", {"engine": "python"}),
        Candidate("torch.jit", "silero_torch", {}, TORCH),
        Candidate("onnxruntime", "silero_onnxruntime", {}, TORCH))),
    Row("resnet18", "ResNet-18, seconds a 224x224 image", (
        Candidate("scriptlang native, optimised", "resnet_scriptlang",
                  {"engine": "native", "optimize": True}),
        Candidate("scriptlang native", "resnet_scriptlang", {"engine": "native"}),
        Candidate("scriptlang python", "resnet_scriptlang", {"engine": "python"}),
        Candidate("torch.jit frozen", "resnet_torch", {}, TORCH),
        Candidate("torch.jit optimize_for_inference", "resnet_torch", {"optimize": True}, TORCH),
        Candidate("onnxruntime", "resnet_onnxruntime", {}, TORCH))),
)

FRESH = (
    ("import", "import in a fresh process", {
        "numpy": "import numpy",
        "scriptlang": "import scriptlang; scriptlang.load",
        "torch": "import torch",
        "onnxruntime": "import onnxruntime"}),
    ("load silero", "fresh process to loaded archive", {
        "scriptlang": "import scriptlang; scriptlang.load('{files}/silero_vad.jit')",
        "torch": "import torch; torch.jit.load('{files}/silero_vad.jit')",
        "onnxruntime": "import onnxruntime; onnxruntime.InferenceSession("
                       "'{files}/silero_vad.onnx', providers=['CPUExecutionProvider'])"}),
)
"""(name, title, label -> program): whole fresh processes, less a process that does nothing."""
