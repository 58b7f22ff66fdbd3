"""Modules that differentiate inside, as their authors write them for torch.jit."""
