"""`python -m tests.ops.record [family ...]` records PyTorch's results of the samples (needs torch).

`python -m tests.ops.record errors` writes other_errors.txt: the errors of both engines that are not
those recorded.  Read the difference: a new line is an error that PyTorch words otherwise.
"""

from __future__ import annotations

import importlib
import pathlib
import sys

from tests.ops import harness


def other_errors() -> list[str]:
    """The lines of other_errors.txt, as the engines are now."""
    from tests.ops import test_native

    rows = set()
    for family in sorted(p.stem for p in harness.RECORDED.glob("*.npz")):
        samples = getattr(importlib.import_module(f"tests.ops.test_{family}"), "SAMPLES", ())
        for sample, (_, want) in zip(samples, harness.read(family) if samples else ()):
            if not isinstance(want, harness.RecordedError):
                continue
            found = {"python": harness.run(sample)}
            is_native, error = test_native.run(sample)
            if is_native:
                found["native"] = error
            rows |= {
                (engine, family, harness.one_line(sample), harness.error_line(error))
                for engine, error in found.items()
                if harness.error_line(error) != want.line
            }
    return ["\t".join(row) for row in sorted(rows)]


def main(families: list[str]) -> None:
    if families == ["errors"]:
        lines = other_errors()
        harness.OTHER_ERRORS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{len(lines)} errors that are not PyTorch's")
        return
    here = pathlib.Path(__file__).parent
    for family in families or sorted(p.stem[5:] for p in here.glob("test_*.py")):
        module = importlib.import_module(f"tests.ops.test_{family}")
        samples = getattr(module, "SAMPLES", None)
        if hasattr(module, "record"):  # a family that has results of its own
            module.record()
        elif samples is not None:
            harness.write(family, samples)
            print(f"{family}: {len(samples)} samples")


if __name__ == "__main__":
    main(sys.argv[1:])
