"""Compiles graphs to bytecode, verifies and runs it, and chooses the engine that runs it."""

if __name__ == "interpreter":
    raise ImportError(
        "import scriptlang.interpreter, not interpreter: a second copy of every class would arise"
    )
