"""Calls of operators for all examples of a batch at once, for vmap and Jacobians."""
