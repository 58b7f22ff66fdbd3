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
        per_call = timed(call, json.loads(line)["seconds"])
        print(json.dumps({"per_call": per_call}), file=out, flush=True)


def timed(call, seconds: float) -> float:
    """Seconds a call, over as many calls as fit into `seconds` (at least one).

    What comes before is not counted: other processes had the caches, and memory that lay idle comes
    back page by page.
    """
    clock = time.perf_counter
    start = clock()
    call()
    while clock() - start < seconds / 4:
        call()
    n, start = 0, clock()
    while True:
        call()
        n += 1
        elapsed = clock() - start
        if elapsed >= seconds:
            return elapsed / n


if __name__ == "__main__":
    main()
