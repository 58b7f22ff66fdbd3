"""Graph -> bytecode, the Python engine, and the binding to the native engine."""

if __name__ == "interpreter":
    raise ImportError(
        "import scriptlang.interpreter, not interpreter: a second copy of every class would arise"
    )
