"""Derivatives made ahead of time, for users: `value_and_grad`, `aot_backward` and their reports."""
