"""Archives: zip, pickle, code printer and importer, bytecode records."""

if __name__ == "serialization":
    raise ImportError(
        "import scriptlang.serialization, not serialization: "
        "a second copy of every class would arise"
    )
