"""A run of a function or module becomes a graph."""
