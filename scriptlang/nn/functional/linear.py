"""Linear maps, convolutions and what moves channels: operators of the table under these names."""

from __future__ import annotations

from ...ops.calling import functions as torch

linear, bilinear = torch.linear, torch.bilinear
conv1d, conv2d, conv3d, conv_tbc = torch.conv1d, torch.conv2d, torch.conv3d, torch.conv_tbc
conv_transpose1d, conv_transpose2d = torch.conv_transpose1d, torch.conv_transpose2d
conv_transpose3d = torch.conv_transpose3d
pixel_shuffle, pixel_unshuffle = torch.pixel_shuffle, torch.pixel_unshuffle
channel_shuffle = native_channel_shuffle = torch.channel_shuffle
