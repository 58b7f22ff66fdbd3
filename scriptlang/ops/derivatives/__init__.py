"""Derivatives of operators: rules in text files, and the functions that they call.

rules/      the gradient expressions of each operator's inputs, one file a family
rules.py    reads them
helpers.py  functions of the scripted language that rules of any family call
formulas/   functions that rules of one family call, in a file with the family's name
"""
