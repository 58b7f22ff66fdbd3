"""The process of one engine: forks a child for each batch, which may crash.

    python -m tests.attacks.random_calls.worker ENGINE [path of another _native]

Reads pickled jobs (overload, seed, numbers) or {number: text of a call}; for each call a pickled
(number, outcome), and at the end ("end", status), go to the standard output.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import resource
import signal
import sys
import traceback

if __name__ == "__main__" and len(sys.argv) > 2:
    from tests.native_build import use

    use(sys.argv[2])  # before anything imports the engine

from . import engines, generate, values

SECONDS = 8.0
"""CPU time that one call may take."""
FAULTY = 77
"""Exit status of a child that fails by a fault of this package."""
ADDRESS_SPACE = 8 << 30
OVER = engines.MEMORY + (256 << 20)
"""Growth of memory, in bytes, that is too much for a call within MEMORY."""


def send(out: int, value) -> None:
    data = pickle.dumps(value, protocol=4)
    data = len(data).to_bytes(8, "little") + data
    while data:
        data = data[os.write(out, data) :]


def serve(engine, jobs, out: int) -> None:
    while True:
        try:
            job = pickle.load(jobs)
        except EOFError:
            return
        child = os.fork()
        if child == 0:
            try:
                run_batch(engine, job, out)
            except BaseException:
                traceback.print_exc()
                os._exit(FAULTY)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        send(out, ("end", status))


def run_batch(engine, job, out: int) -> None:
    if isinstance(job, dict):
        calls = ((n, values.read(text)) for n, text in job.items())
    else:
        overload, seed, numbers = job
        calls = ((n, generate.call_of(overload, seed, n)) for n in numbers)
    end_at = os.environ.get("RANDOM_CALLS_END_AT")  # of a test
    timed = SECONDS * (6 if "ASAN_OPTIONS" in os.environ else 1)
    for number, call in calls:
        if str(number) == end_at:
            os.abort()
        before = peak()
        signal.setitimer(signal.ITIMER_PROF, timed)
        signal.setitimer(signal.ITIMER_REAL, 40 * timed)
        outcome = engine.run(call)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        grown = peak() - before
        if engine.name == "native" and grown > OVER and "ASAN_OPTIONS" not in os.environ:
            outcome = "memory", "", f"{grown >> 20} MB"
        send(out, (number, outcome))


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    name = sys.argv[1]
    out = os.dup(1)
    os.dup2(2, 1)  # what operators print
    engine = engines.make(name)
    generate.table.load_families()
    from . import samples

    samples.by_name()
    if "ASAN_OPTIONS" not in os.environ:
        faulthandler.enable()
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    gc.collect()
    gc.freeze()  # so that no collection in a child copies the pages that it shares
    serve(engine, sys.stdin.buffer, out)


if __name__ == "__main__":
    main()
