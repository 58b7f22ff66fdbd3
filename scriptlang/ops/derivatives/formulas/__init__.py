"""Functions of the scripted language that the rules of one family call, in a file named as it."""
