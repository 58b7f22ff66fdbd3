"""Reads and writes archives, and files of weights: zip, pickle, printed code and bytecode."""

if __name__ == "serialization":
    raise ImportError(
        "import scriptlang.serialization, not serialization: "
        "a second copy of every class would arise"
    )
