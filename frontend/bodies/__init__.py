"""Compiles the body of a function, its statements and expressions, to a graph."""
