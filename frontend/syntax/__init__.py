"""What the syntax of a program says by itself: names, lines, decorators, annotations."""
