"""Derivatives of operators: rules told in text, read by operator, and what they call.

rules/      what each input of an operator gets, one file a family
rules.py    reads them
helpers.py  functions of the scripted language that rules of any family call
formulas/   those of one family, in a file named as it
"""
