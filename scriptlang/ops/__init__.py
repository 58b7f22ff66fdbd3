"""The operator table (`table`), eager calls (`dispatch`, `functions`), and the operators by family."""
