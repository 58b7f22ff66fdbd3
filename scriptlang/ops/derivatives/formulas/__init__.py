"""Functions of the scripted language that the rules of one family call; a file has its family's
name."""
