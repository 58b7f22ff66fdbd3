"""Calls of operators from Python: the choice of overloads, options, methods of tensors."""
