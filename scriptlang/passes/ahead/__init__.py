"""Programs with their derivatives as one straight graph (docs/architecture/derivatives.md)."""
