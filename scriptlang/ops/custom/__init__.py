"""Operators that users define: `scriptlang.library` has the names that they use.

annotations.py  schemas from the annotations of functions
operators.py    what is known of one operator: its implementations, what they may give
gradients.py    how calls are recorded for derivatives
"""
