"""Overload resolution, and implicit conversions of arguments."""
