"""Python's functions, classes and objects, as functions, types and values of programs."""
