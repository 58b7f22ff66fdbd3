"""Calls of operators from Python: overloads chosen, options read, methods of tensors."""
