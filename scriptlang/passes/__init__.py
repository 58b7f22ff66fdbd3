"""One pass per file; pipeline.py orders them."""
