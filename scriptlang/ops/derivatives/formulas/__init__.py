"""Functions of the scripted language that the rules of the family with the file's name call."""
