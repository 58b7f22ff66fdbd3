"""Modules of Python in programs: their types, attributes, containers and hooks."""
