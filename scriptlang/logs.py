"""Logs of the compiler on stderr: SCRIPTLANG_LOG=rules,passes,engines in the environment.

rules: each rewrite rule that applies, and where; also those whose pattern fits but whose condition
does not. passes: each pass that changes a graph. engines: which engine a function runs on, and what
the native one lacks. `all` selects all of them. Without the variable, the only cost is to look at
`topics`.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "SCRIPTLANG_LOG"
TOPICS = ("rules", "passes", "engines")


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
