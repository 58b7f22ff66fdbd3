"""Helpers that kernels share: result types, memory layouts, random numbers, functions of
numbers."""
