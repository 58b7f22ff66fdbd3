"""Compiles programs with their derivatives to one straight graph, without branches or loops where
possible (docs/architecture/derivatives.md)."""
