"""What the names of Python, torch and math mean in a program."""
