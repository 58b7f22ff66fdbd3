"""The process that holds one candidate; the protocol is one JSON object a line (see harness)."""

from __future__ import annotations

import json
import sys
import time
import traceback


def main() -> None:
    factory, options = sys.argv[1], json.loads(sys.argv[2])
    out = sys.stdout
    sys.stdout = sys.stderr
    try:
        from benchmarks import candidates

        call = getattr(candidates, factory)(**options)
        call()
        reply = {"ready": True}
    except Exception as e:
        traceback.print_exc()
        reply = {"ready": False, "error": f"{type(e).__name__}: {str(e).strip()[:120]}"}
    print(json.dumps(reply), file=out, flush=True)
    if not reply["ready"]:
        return
    for line in sys.stdin:
        batch = json.loads(line)
        per_call = timed(call, batch["seconds"], CLOCKS[batch["clock"]])
        print(json.dumps({"per_call": per_call}), file=out, flush=True)


CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
"""What the seconds of a call are."""


def timed(call, seconds: float, clock=time.perf_counter) -> float:
    """Seconds a call by `clock`, over as many calls as last `seconds` (at least one).

    What comes before is not counted: other processes had the caches, and memory that lay idle comes
    back page by page.
    """
    begin = time.perf_counter()
    call()
    while time.perf_counter() - begin < seconds / 4:
        call()
    n, begin, start = 0, time.perf_counter(), clock()
    while True:
        call()
        n += 1
        if time.perf_counter() - begin >= seconds:
            return (clock() - start) / n


if __name__ == "__main__":
    main()
