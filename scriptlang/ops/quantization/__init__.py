"""Quantized tensors and the operators on them."""
