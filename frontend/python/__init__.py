"""Turns Python's functions, classes and objects into functions, types and values of programs."""
