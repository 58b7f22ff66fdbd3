"""What an expression may stand for while it is being compiled, and the builder."""
