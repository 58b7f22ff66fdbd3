"""Sugared values, which are the meanings of expressions at compile time; scopes; the builder."""
