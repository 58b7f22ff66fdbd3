"""Logs of the compiler on stderr: SCRIPTLANG_LOG=rules,passes,engines,misses in the environment.

rules: each rewrite rule that applies, and where; also those whose pattern fits but whose condition
does not. passes: each pass that changes a graph. engines: which engine a function runs on, and what
the native one lacks. misses: each rule and each fusion whose first operator is there but that does
not apply, and the first condition that does not hold; a line is said once for a graph. `all`
selects all of them. Without the variable, the only cost is to look at `topics`.
"""

from __future__ import annotations

import os
import sys
from typing import Any
from weakref import WeakKeyDictionary

VARIABLE = "SCRIPTLANG_LOG"
TOPICS = ("rules", "passes", "engines", "misses")


def topics_of(text: str) -> frozenset[str]:
    """The topics in a value of the variable; unknown words are ignored."""
    words = {word.strip() for word in text.split(",")}
    return frozenset(TOPICS if words & {"all", "1"} else words & set(TOPICS))


topics = topics_of(os.environ.get(VARIABLE, ""))
"""The topics that are logged; empty if there are none."""


def say(topic: str, text: str) -> None:
    """Log one line, if the topic is selected."""
    if topic in topics:
        print(f"scriptlang {topic}: {text}", file=sys.stderr)


_missed: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
"""What was said of a graph, which passes look at again and again."""


def place_of(node: Any) -> str:
    """A node's kind and its place in the source, with that of the call that led there."""
    place = node.span.place if node.span else "unknown"
    call = node.callers[0][1] if node.callers else None
    return f"{node.kind} ({place}{f', called at {call.place}' if call else ''})"


def missed(node: Any, name: str, why: str | None) -> bool:
    """Whether there is a reason `why` the rule or fusion `name` does not apply at a node.

    The reason is logged.
    """
    if why is not None and "misses" in topics:
        line = f"{name} does not apply at {place_of(node)}: {why}"
        said = _missed.setdefault(node.graph, set())
        if line not in said:
            said.add(line)
            say("misses", line)
    return why is not None
