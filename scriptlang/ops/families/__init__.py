"""Operators and their numpy kernels, one file a family; `table.FAMILIES` lists them."""
