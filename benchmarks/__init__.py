"""Measurements of scriptlang against its peers.  `python -m benchmarks --help`."""
