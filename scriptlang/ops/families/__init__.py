"""Operators and their numpy kernels, one file per family; `table.FAMILIES` lists them."""
