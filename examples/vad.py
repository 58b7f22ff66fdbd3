"""Prints the speech segments of a WAV file: the same lines as cpp_loader/examples/vad.

    python examples/vad.py silero_vad.jit speech16k.wav

The network gives a probability for each chunk of 512 samples. A segment starts at the first chunk
that reaches 0.5 and ends at the first later chunk below 0.35; samples after the last whole chunk
are left out.
"""

import sys
import wave

import numpy as np

import scriptlang

RATE, CHUNK, START, END = 16000, 512, 0.5, 0.35


def main(model: str, speech: str) -> None:
    network = scriptlang.load(model)
    with wave.open(speech) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16) / np.float32(32768)
    network.reset_states()
    start, chunks = None, len(samples) // CHUNK
    for c in range(chunks):
        p = network(samples[None, c * CHUNK : (c + 1) * CHUNK], RATE).item()
        if start is None and p >= START:
            start = c
        elif start is not None and p < END:
            print(f"{start * CHUNK / RATE:.3f} {c * CHUNK / RATE:.3f}")
            start = None
    if start is not None:
        print(f"{start * CHUNK / RATE:.3f} {chunks * CHUNK / RATE:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
