"""Helpers that kernels share: result types, memory layouts, random numbers, scalar math."""
