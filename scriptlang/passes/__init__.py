"""The passes over graphs, one per file; pipeline.py says in which order they run."""
