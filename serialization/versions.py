"""Versions of the archive format (the record `version`), as PyTorch counts them."""

OLDEST, NEWEST = 1, 10
"""The formats that can be read.  In the newest, operators mean what they mean today; what those of
the formats before meant is in upgraders."""
