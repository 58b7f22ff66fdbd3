"""The names of torch.utils that are not about data or devices."""

from . import checkpoint

__all__ = ["checkpoint"]
