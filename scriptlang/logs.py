"""What the compiler does, told on stderr: SCRIPTLANG_LOG=rules,passes,engines in the environment.

rules: each rewrite rule that fires, and where; those whose pattern fits and whose condition does
not, too.  passes: each pass that changes a graph.  engines: which engine a function runs on, and
what the native one lacks.  `all` is all of them.  Without the variable a look at `topics` is all
that it costs.
"""

from __future__ import annotations

import os
import sys

VARIABLE = "SCRIPTLANG_LOG"
TOPICS = ("rules", "passes", "engines")


def topics_of(text: str) -> frozenset[str]:
    """The topics that a value of the variable names; others are ignored."""
    words = {word.strip() for word in text.split(",")}
    return frozenset(TOPICS if words & {"all", "1"} else words & set(TOPICS))


topics = topics_of(os.environ.get(VARIABLE, ""))
"""What is told of; empty: nothing."""


def say(topic: str, text: str) -> None:
    """Tell one line, if the topic is wanted."""
    if topic in topics:
        print(f"scriptlang {topic}: {text}", file=sys.stderr)
