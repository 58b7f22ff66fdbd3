"""The distances of nn.functional: cosine similarity, pairwise distance, pdist."""

from __future__ import annotations

from ...ops.calling import functions as torch

cosine_similarity, pairwise_distance, pdist = (
    torch.cosine_similarity,
    torch.pairwise_distance,
    torch.pdist,
)
