"""What is timed: each function sets one candidate up and returns a callable of one unit of work."""

from __future__ import annotations

import importlib
import math
import os
import pathlib

import numpy as np

from .workloads import WORKLOADS, Workload

FILES = pathlib.Path(os.environ.get("SCRIPTLANG_BENCH_FILES", ".cache/benchmarks"))
CHUNK = 512
RATE = 16000
CONTEXT = 64


def find(name: str) -> Workload:
    return next(w for w in WORKLOADS if w.name == name)


# ---- training steps


def train_scriptlang(net: str, optimizer: str, threads: int, form: str = "program"):
    """A training step as a program, or as a loop of Python on eager tensors."""
    import scriptlang

    from .training import NETS, batches

    scriptlang.set_num_threads(threads)
    model, loss = NETS[net].of(scriptlang, is_large=True)
    made = getattr(scriptlang.optim, optimizer)(model.parameters(), lr=1e-3)
    x, y = map(scriptlang.from_numpy, batches(net, 1, is_large=True)[0])
    if form == "program":
        step = scriptlang.optim.training_step(model, loss, made)
        return lambda: step.step(x, y)
    return lambda: looped(model, loss, made, x, y)


def train_torch(net: str, optimizer: str, threads: int, form: str = "eager"):
    import torch

    from .training import NETS, batches

    torch.set_num_threads(threads)
    model, loss = NETS[net].of(torch, is_large=True)
    made = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    x, y = map(torch.from_numpy, batches(net, 1, is_large=True)[0])
    called = torch.compile(model) if form == "compiled" else model
    return lambda: looped(called, loss, made, x, y)


def train_jax(net: str, optimizer: str, threads: int):
    """A step that XLA has compiled.  It takes a thread for each processor that it may use."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    import scriptlang

    from .training import NETS
    from .training_jax import step_of

    model, _ = NETS[net].of(scriptlang, is_large=True)
    return step_of(net, optimizer, sum(p.numel() for p in model.parameters()))


def looped(model, loss, optimizer, x, y):
    """A step as loops in Python make it."""
    optimizer.zero_grad()
    value = loss(model(x), y)
    value.backward()
    optimizer.step()
    return value


# ---- workloads: an archive or .onnx and its inputs


def with_scriptlang(workload: str, threads: int, engine: str = "native", optimize: bool = False):
    import scriptlang

    scriptlang.set_num_threads(threads)
    w = find(workload)
    if w.torch:
        program = scriptlang.load(FILES / f"{workload}.pt", engine=engine)
    else:
        program = scriptlang.script(as_written(w))
    if optimize:
        program = scriptlang.optimize(program)
    inputs = [scriptlang.from_numpy(a) if isinstance(a, np.ndarray) else a for a in w.arguments()]
    return lambda: program(*inputs)


def as_written(w: Workload):
    """The Python program of a workload."""
    module, name = w.program.split(":")
    return getattr(importlib.import_module(f"benchmarks.{module}"), name)


def with_torch(workload: str, threads: int, form: str = "loaded"):
    """`form`: loaded, frozen, optimized (for inference), or compiled (by torch.compile)."""
    import torch

    from .prepare import build, tensors

    torch.set_num_threads(threads)
    w = find(workload)
    inputs = tensors(w)
    if form == "compiled":
        program = torch.compile(build(w))
    else:
        program = torch.jit.load(str(FILES / f"{workload}.pt"))
        if form != "loaded":
            program = (torch.jit.freeze if form == "frozen" else torch.jit.optimize_for_inference)(
                program.eval()
            )
    mode = torch.inference_mode if form == "compiled" else torch.no_grad
    with mode():
        for _ in range(4):  # its profiling executor compiles on call 2
            program(*inputs)

    def call():
        with mode():
            program(*inputs)

    return call


def forces_torch(workload: str, threads: int, form: str = "loaded"):
    """A program that asks for gradients itself, eager or loaded."""
    import torch

    from .prepare import build, tensors

    torch.set_num_threads(threads)
    w = find(workload)
    inputs = tensors(w)
    program = build(w) if form == "eager" else torch.jit.load(str(FILES / f"{workload}.pt"))
    for _ in range(4):
        program(*inputs)
    return lambda: program(*inputs)


def training_scriptlang(workload: str, threads: int, form: str = "ahead"):
    """A loss and its gradients, by one graph or recorded."""
    import scriptlang

    scriptlang.set_num_threads(threads)
    w = find(workload)
    program = scriptlang.load(FILES / f"{workload}.pt", engine="native")
    inputs = [scriptlang.from_numpy(a) for a in w.arguments()]
    if form == "ahead":
        both = scriptlang.value_and_grad(program)
        return lambda: both(*inputs)
    parameters = list(program.parameters())
    return lambda: scriptlang.autograd.grad(program(*inputs), parameters)


def training_torch(workload: str, threads: int, form: str = "loaded"):
    """A loss and its gradients: eager, loaded, or compiled (by torch.compile)."""
    import torch

    from .prepare import build, tensors

    torch.set_num_threads(threads)
    w = find(workload)
    inputs = tensors(w)
    program = build(w) if form != "loaded" else torch.jit.load(str(FILES / f"{workload}.pt"))
    parameters = list(program.parameters())
    called = torch.compile(program) if form == "compiled" else program
    for _ in range(4):
        torch.autograd.grad(called(*inputs), parameters)
    return lambda: torch.autograd.grad(called(*inputs), parameters)


def with_onnxruntime(workload: str, threads: int):
    session = onnx_session(f"{workload}.onnx", threads)
    feed = dict(zip((i.name for i in session.get_inputs()), find(workload).arguments()))
    return lambda: session.run(None, feed)


def with_openvino(workload: str, threads: int):
    """In float32: where a processor has bfloat16, it would round to that."""
    import openvino

    core = openvino.Core()
    wishes = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = core.compile_model(str(FILES / f"{workload}.onnx"), "CPU", wishes)
    request = request.create_infer_request()
    for i, array in enumerate(find(workload).arguments()):
        request.set_input_tensor(i, openvino.Tensor(array))
    return request.infer


def with_cpython(workload: str, threads: int):
    w = find(workload)
    program = as_written(w)
    return lambda: program(*w.inputs)


def with_numpy(workload: str, threads: int):
    w = find(workload)
    (x,) = w.arguments()
    program = NUMPY[w.numpy]
    return lambda: program(x)


def chain(x):
    return np.tanh(1.5 * x + 0.25) / (1 + np.exp(-x)) + np.exp(-(x * x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)


NUMPY = {"chain": chain, "softmax": softmax, "layer_norm": layer_norm}


def onnx_session(file: str, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(FILES / file), options, providers=["CPUExecutionProvider"]
    )


# ---- silero-vad: one 32 ms chunk of audio, the state kept between chunks


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32) / math.sqrt(100)


def silero_scriptlang(engine: str, threads: int):
    import scriptlang

    scriptlang.set_num_threads(threads)
    m = scriptlang.load(FILES / "silero_vad.jit", engine=engine)
    x = scriptlang.from_numpy(noise(1, CHUNK))
    return lambda: m(x, RATE)


def silero_torch(threads: int):
    import torch

    torch.set_num_threads(threads)
    m = torch.jit.load(str(FILES / "silero_vad.jit"))
    x = torch.from_numpy(noise(1, CHUNK))

    def call():
        with torch.no_grad():
            m(x, RATE)

    for _ in range(5):  # its profiling executor compiles on call 2
        call()
    return call


def silero_onnxruntime(threads: int):
    session = onnx_session("silero_vad.onnx", threads)
    x = np.concatenate([np.zeros((1, CONTEXT), np.float32), noise(1, CHUNK)], 1)
    feed = {"input": x, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(RATE, np.int64)}

    def call():
        _, feed["state"] = session.run(None, feed)

    return call
