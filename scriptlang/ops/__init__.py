"""The operator table (`table`), eager calls (`dispatch`, `functions`), operators by family."""
