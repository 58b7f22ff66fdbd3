"""Tracing: records a run of a function or module as a graph."""
