"""Operators that users define: `scriptlang.library` has the public names.

annotations.py  infers schemas from the annotations of functions
operators.py    one custom operator: its implementations and checks of its results
gradients.py    how calls are recorded for derivatives
"""
