"""Sequences of different lengths in one batch: padded, or packed step by step."""
