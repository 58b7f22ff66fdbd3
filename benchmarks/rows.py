"""The table of measurements: which candidates run each workload, and the whole processes."""

from __future__ import annotations

from .harness import Candidate, Row
from .training import NETS
from .workloads import WORKLOADS, Workload

TORCH = "torch"
"""Candidates of this interpreter run where torch and onnxruntime are installed."""


def candidates(w: Workload) -> tuple[Candidate, ...]:
    """The reference first: what scriptlang's user would run."""

    def one(name: str, factory: str, python: str = "scriptlang", **options) -> Candidate:
        return Candidate(name, factory, {"workload": w.name, **options}, python)

    if w.group == "forces":
        return (
            one("scriptlang, optimized", "with_scriptlang", optimize=True),
            one("scriptlang, as loaded", "with_scriptlang"),
            one("torch.jit", "forces_torch", TORCH),
            one("torch, eager", "forces_torch", TORCH, form="eager"),
        )
    if w.group == "gradients":
        return (
            one("scriptlang, ahead of time", "training_scriptlang"),
            one("scriptlang, recorded", "training_scriptlang", form="recorded"),
            one("torch, eager", "training_torch", TORCH, form="eager"),
            one("torch.jit", "training_torch", TORCH),
            one("torch.compile", "training_torch", TORCH, form="compiled"),
        )
    made = [one("scriptlang", "with_scriptlang")]
    if w.group in ("networks", "products", "layers"):
        made = [
            one("scriptlang, optimized", "with_scriptlang", optimize=True),
            one("scriptlang, as loaded", "with_scriptlang"),
        ]
    if w.torch:
        made.append(one("torch.jit", "with_torch", TORCH))
    if w.group == "networks":
        made += [
            one("torch.jit, frozen", "with_torch", TORCH, form="frozen"),
            one("torch.jit, optimized for inference", "with_torch", TORCH, form="optimized"),
        ]
    if w.compile:
        made.append(one("torch.compile", "with_torch", TORCH, form="compiled"))
    if w.onnx:
        made.append(one("onnxruntime", "with_onnxruntime", TORCH))
    if w.onnx and w.group in ("networks", "layers"):
        made.append(one("OpenVINO", "with_openvino", TORCH))
    if w.numpy:
        made.append(one("numpy", "with_numpy"))
    if w.cpython:
        made.append(one("CPython", "with_cpython"))
    return tuple(made)


SILERO = Row(
    "silero",
    "silero-vad, a chunk of 32 ms",
    (
        Candidate("scriptlang", "silero_scriptlang", {"engine": "native"}),
        Candidate("scriptlang, python engine", "silero_scriptlang", {"engine": "python"}),
        Candidate("torch.jit", "silero_torch", {}, TORCH),
        Candidate("onnxruntime", "silero_onnxruntime", {}, TORCH),
    ),
)


def trained(net: str, optimizer: str) -> Row:
    """A training step of a net."""
    options = {"net": net, "optimizer": optimizer}
    made = [
        Candidate("scriptlang, program", "train_scriptlang", options),
        Candidate("scriptlang, loop", "train_scriptlang", {**options, "form": "loop"}),
        Candidate("torch, eager", "train_torch", options, TORCH),
        Candidate("JAX", "train_jax", options, TORCH),
    ]
    if net in ("mlp", "vae"):  # it compiles the others for minutes
        made.append(
            Candidate("torch.compile", "train_torch", {**options, "form": "compiled"}, TORCH)
        )
    title = f"a training step with {optimizer}: {NETS[net].title}"
    return Row(f"train_{net}_{optimizer.lower()}", title, tuple(made), (1,))


TRAINING = tuple(trained(net, optimizer) for net in NETS for optimizer in ("SGD", "Adam"))

ROWS = (
    SILERO,
    *TRAINING,
    *(Row(w.name, w.title, candidates(w), w.threads, w.operations) for w in WORKLOADS),
)

FRESH = (
    (
        "import",
        "import in a fresh process",
        {
            "scriptlang": "import scriptlang; scriptlang.load",
            "numpy": "import numpy",
            "torch.jit": "import torch",
            "onnxruntime": "import onnxruntime",
        },
    ),
    (
        "first_result",
        "from process start to the first result of silero-vad",
        {
            "scriptlang": "import scriptlang; "
            "m = scriptlang.load('{files}/silero_vad.jit'); "
            "m(scriptlang.zeros(1, 512), 16000)",
            "scriptlang, numpy": "import scriptlang, numpy; "
            "m = scriptlang.load('{files}/silero_vad.jit'); "
            "m(numpy.zeros((1, 512), 'float32'), 16000)",
            "scriptlang, compiled": "import scriptlang, numpy; "
            "m = scriptlang.load('{files}/silero_vad.compiled.pt'); "
            "m(numpy.zeros((1, 512), 'float32'), 16000)",
            "torch.jit": "import torch; m = torch.jit.load('{files}/silero_vad.jit'); "
            "m(torch.zeros(1, 512), 16000)",
            "onnxruntime": "import onnxruntime, numpy; m = onnxruntime.InferenceSession("
            "'{files}/silero_vad.onnx', providers=['CPUExecutionProvider']); "
            "m.run(None, dict(input=numpy.zeros((1, 576), 'float32'), state="
            "numpy.zeros((2, 1, 128), 'float32'), sr=numpy.array(16000)))",
        },
    ),
    (
        "first_result_small",
        "from process start to the first result of an MLP",
        {
            "scriptlang": "import scriptlang; m = scriptlang.load('{files}/mlp.pt'); "
            "m(scriptlang.zeros(1, 8))",
            "scriptlang, numpy": "import scriptlang, numpy; "
            "m = scriptlang.load('{files}/mlp.pt'); "
            "m(numpy.zeros((1, 8), 'float32'))",
            "scriptlang, compiled": "import scriptlang, numpy; "
            "m = scriptlang.load('{files}/mlp.compiled.pt'); "
            "m(numpy.zeros((1, 8), 'float32'))",
            "torch.jit": "import torch; m = torch.jit.load('{files}/mlp.pt'); m(torch.zeros(1, 8))",
            "onnxruntime": "import onnxruntime, numpy; m = onnxruntime.InferenceSession("
            "'{files}/mlp.onnx', providers=['CPUExecutionProvider']); "
            "m.run(None, {{m.get_inputs()[0].name: numpy.zeros((1, 8), 'float32')}})",
        },
    ),
    (
        "load_bert",
        "from process start to BERT-base loaded (435 MB)",
        {
            "scriptlang": "import scriptlang; scriptlang.load('{files}/bert.pt')",
            "torch.jit": "import torch; torch.jit.load('{files}/bert.pt')",
            "onnxruntime": "import onnxruntime; onnxruntime.InferenceSession("
            "'{files}/bert.onnx', providers=['CPUExecutionProvider'])",
        },
    ),
)
"""(name, title, label -> program): whole fresh processes, seconds and peak memory."""
