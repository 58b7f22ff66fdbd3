"""Modules of layers (`torch.nn.Module`) in programs: types, attributes, containers and hooks."""
