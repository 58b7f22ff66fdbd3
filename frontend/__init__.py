"""Python source or a traced run -> Graph."""

if __name__ == "frontend":
    raise ImportError("import scriptlang.frontend, not frontend: a second copy of every class would arise")
