"""Anomaly detection: nodes know where they were made, and gradients that are NaN raise."""

from __future__ import annotations

import sys
import traceback
import warnings
from typing import Any

from ...tensors import Tensor
from ..calling import functions
from ..calling.current import mode
from .nodes import Node
from .state import later

MADE, PARENT = "traceback_", "parent_"
"""Entries of `Node.metadata`, as in PyTorch: where the node was made, and by which other one."""

DEPTH = 24
"""How many callers are kept."""


def warn_of_use() -> None:
    warnings.warn(
        "Anomaly Detection has been enabled. This mode will increase the runtime and should only "
        "be enabled for debugging.",
        UserWarning,
        3,
    )


def note(node: Node) -> None:
    """Keep where the program stands as the place where a node was made.

    A node that is made while another one runs, for a second derivative, knows that one.
    """
    node.metadata[MADE] = traceback.format_stack(limit=DEPTH)[:-1]
    walk = mode.walk
    if walk is not None and walk.current is not None:
        node.metadata[PARENT] = walk.current


later.note = note


def say(text: str) -> None:
    """Warn; where warnings are errors, which would hide the error that is told of, print it."""
    try:
        warnings.warn(text, UserWarning, 3)
    except UserWarning:
        print(text, file=sys.stderr)


def tell(node: Node) -> None:
    """Warn with the places where a node that fails was made, and those that made it."""
    known = node.metadata
    if MADE not in known:
        say(
            f"Error detected in {node.name()}. No forward pass information available. Enable "
            "detect anomaly during forward pass for more information."
        )
    else:
        say(
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n"
            + "".join(known[MADE])
        )
    parent: Any = known.get(PARENT)
    while parent is not None:
        if MADE not in parent.metadata:
            say(
                "\n\nPrevious calculation was induced by "
                f"{parent.name()}. No forward pass information available. Enable detect anomaly "
                "during forward pass for more information."
            )
            return
        say(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call "
            "that induced the previous calculation:\n" + "".join(parent.metadata[MADE])
        )
        parent = parent.metadata.get(PARENT)


def check(node: Node, made: Any) -> None:
    """Raise RuntimeError if one of the gradients that a node gives is NaN."""
    for k, grad in enumerate(made):
        if isinstance(grad, Tensor) and bool(functions.any(functions.isnan(grad.detach()))):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {k}th output.")
