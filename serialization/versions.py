"""Versions of the archive format (the record `version`), as PyTorch counts them."""

OLDEST, NEWEST = 1, 10
"""The versions that can be read.  In the newest, operators mean what they mean today; upgraders.py
has the former meanings in older ones."""
