"""What is timed: each function sets one candidate up and returns a callable of one unit of work."""

from __future__ import annotations

import os
import pathlib

import numpy as np

FILES = pathlib.Path(os.environ.get("SCRIPTLANG_BENCH_FILES", ".cache/benchmarks"))
CHUNK = 512
RATE = 16000


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def silero_scriptlang(engine: str, threads: int):
    """One 32 ms chunk of audio through silero-vad."""
    import scriptlang

    scriptlang.set_num_threads(threads)
    m = scriptlang.load(FILES / "silero_vad.jit", engine=engine)
    x = scriptlang.from_numpy(noise(1, CHUNK) * 0.1)
    return lambda: m(x, RATE)


def silero_torch(threads: int):
    import torch

    torch.set_num_threads(threads)
    m = torch.jit.load(str(FILES / "silero_vad.jit"))
    x = torch.from_numpy(noise(1, CHUNK) * 0.1)
    with torch.no_grad():
        for _ in range(5):                           # its profiling executor compiles on call 2
            m(x, RATE)

    def call():
        with torch.no_grad():
            m(x, RATE)

    return call


def silero_onnxruntime(threads: int):
    session = onnx_session("silero_vad.onnx", threads)
    x, context = noise(1, CHUNK) * 0.1, 64
    feed = {"input": np.concatenate([np.zeros((1, context), np.float32), x], 1),
            "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(RATE, np.int64)}

    def call():
        out, state = session.run(None, feed)
        feed["state"] = state

    return call


def resnet_scriptlang(engine: str, threads: int, optimize: bool = False):
    """ResNet-18, one 224x224 image."""
    import scriptlang

    scriptlang.set_num_threads(threads)
    m = scriptlang.load(FILES / "resnet18.pt", engine=engine)
    if optimize:
        m = scriptlang.optimize(m)
    x = scriptlang.from_numpy(noise(1, 3, 224, 224))
    return lambda: m(x)


def resnet_torch(threads: int, optimize: bool = False):
    import torch

    torch.set_num_threads(threads)
    m = torch.jit.load(str(FILES / "resnet18.pt")).eval()
    m = torch.jit.optimize_for_inference(m) if optimize else torch.jit.freeze(m)
    x = torch.from_numpy(noise(1, 3, 224, 224))
    with torch.no_grad():
        for _ in range(3):
            m(x)

    def call():
        with torch.no_grad():
            m(x)

    return call


def resnet_onnxruntime(threads: int):
    session = onnx_session("resnet18.onnx", threads)
    name = session.get_inputs()[0].name
    feed = {name: noise(1, 3, 224, 224)}
    return lambda: session.run(None, feed)


def onnx_session(file: str, threads: int):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(FILES / file), options,
                                        providers=["CPUExecutionProvider"])
