"""The body of a function becomes a graph: its statements and expressions."""
