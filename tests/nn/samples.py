"""Layers and functions with inputs, as texts that mean the same with torch and with scriptlang.

`record` keeps what PyTorch gives for them; the tests compare with that, eagerly and compiled, and
where PyTorch is installed with PyTorch itself.
"""

from __future__ import annotations

MODULES: dict[str, tuple[str, ...]] = {
    "activation": (
        "nn.ReLU() | n(2, 3)",
        "nn.ReLU6() | n(2, 3) * 8",
        "nn.ELU(0.5) | n(2, 3)",
        "nn.CELU(0.7) | n(2, 3)",
        "nn.SELU() | n(2, 3)",
        "nn.GELU() | n(2, 3)",
        "nn.GELU('tanh') | n(2, 3)",
        "nn.GLU(0) | n(2, 3)",
        "nn.Hardshrink() | n(2, 3)",
        "nn.Hardsigmoid() | n(2, 3)",
        "nn.Hardswish() | n(2, 3)",
        "nn.Hardtanh(-0.5, 0.6) | n(2, 3)",
        "nn.LeakyReLU(0.2) | n(2, 3)",
        "nn.LogSigmoid() | n(2, 3)",
        "nn.LogSoftmax(1) | n(2, 3)",
        "nn.Mish() | n(2, 3)",
        "nn.PReLU(3) | n(2, 3)",
        "nn.RReLU() | n(2, 3)",
        "nn.SiLU() | n(2, 3)",
        "nn.Sigmoid() | n(2, 3)",
        "nn.Softmax(-1) | n(2, 3)",
        "nn.Softmax2d() | n(2, 3, 2, 2)",
        "nn.Softmin(1) | n(2, 3)",
        "nn.Softplus(2.0) | n(2, 3)",
        "nn.Softshrink(0.3) | n(2, 3)",
        "nn.Softsign() | n(2, 3)",
        "nn.Tanh() | n(2, 3)",
        "nn.Tanhshrink() | n(2, 3)",
        "nn.Threshold(0.1, 20.0) | n(2, 3)",
    ),
    "linear": (
        "nn.Linear(3, 4) | n(2, 3)",
        "nn.Linear(3, 4, bias=False) | n(3)",
        "nn.Bilinear(2, 3, 4) | n(5, 2), n(5, 3)",
        "nn.Identity(1, 2) | n(2)",
    ),
    "conv": (
        "nn.Conv1d(2, 4, 3, stride=2) | n(1, 2, 9)",
        "nn.Conv1d(2, 4, 2, padding='same', dilation=2) | n(2, 7)",
        "nn.Conv2d(4, 4, (3, 2), padding=1, groups=2) | n(2, 4, 5, 5)",
        "nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode='reflect') | n(1, 1, 5, 5)",
        "nn.Conv2d(1, 2, 3, padding='same', padding_mode='circular') | n(1, 1, 5, 5)",
        "nn.Conv3d(1, 2, 2) | n(1, 1, 3, 3, 3)",
        "nn.ConvTranspose1d(2, 4, 3, stride=2) | n(1, 2, 4)",
        "nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1) | n(1, 2, 3, 3)",
        "nn.ConvTranspose2d(2, 2, 3, stride=2) | n(1, 2, 3, 3), [8, 7]",
        "nn.ConvTranspose3d(1, 2, 2, bias=False) | n(1, 1, 2, 2, 2)",
    ),
    "norm": (
        "nn.BatchNorm1d(3) | n(4, 3)",
        "nn.BatchNorm2d(3, momentum=None) | n(2, 3, 2, 2)",
        "nn.BatchNorm3d(2, affine=False) | n(2, 2, 2, 2, 2)",
        "nn.BatchNorm1d(3, track_running_stats=False) | n(4, 3, 2)",
        "nn.InstanceNorm1d(3) | n(2, 3, 4)",
        "nn.InstanceNorm2d(3, affine=True) | n(3, 4, 4)",
        "nn.InstanceNorm3d(2, track_running_stats=True) | n(1, 2, 2, 2, 2)",
        "nn.GroupNorm(2, 4) | n(2, 4, 3)",
        "nn.LayerNorm([2, 3]) | n(4, 2, 3)",
        "nn.RMSNorm(3) | n(4, 3)",
        "nn.LocalResponseNorm(3) | n(2, 5, 4)",
        "nn.CrossMapLRN2d(3) | n(1, 5, 2, 2)",
    ),
    "pool": (
        "nn.MaxPool1d(2) | n(1, 2, 6)",
        "nn.MaxPool2d(2, return_indices=True) | n(1, 1, 4, 4)",
        "nn.MaxPool2d(3, 2, 1, ceil_mode=True) | n(1, 1, 6, 6)",
        "nn.MaxPool3d(2) | n(1, 1, 4, 4, 4)",
        "nn.MaxUnpool1d(2) | *F.max_pool1d(n(1, 2, 6), 2, return_indices=True)",
        "nn.MaxUnpool2d(2) | *F.max_pool2d(n(1, 1, 4, 4), 2, return_indices=True)",
        "nn.MaxUnpool3d(2) | *F.max_pool3d(n(1, 1, 4, 4, 4), 2, return_indices=True)",
        "nn.AvgPool1d(3, stride=2) | n(1, 2, 7)",
        "nn.AvgPool2d(2, padding=1, count_include_pad=False) | n(1, 1, 4, 4)",
        "nn.AvgPool3d((2, 1, 2)) | n(1, 1, 4, 4, 4)",
        "nn.FractionalMaxPool2d(2, output_size=3) | n(1, 2, 7, 7)",
        "nn.FractionalMaxPool3d(2, output_ratio=0.5) | n(1, 1, 6, 6, 6)",
        "nn.LPPool1d(2, 3) | n(1, 2, 7).abs()",
        "nn.LPPool2d(1.5, 2, stride=1) | n(1, 1, 4, 4).abs()",
        "nn.LPPool3d(2, 2) | n(1, 1, 4, 4, 4).abs()",
        "nn.AdaptiveMaxPool1d(3) | n(1, 2, 7)",
        "nn.AdaptiveMaxPool2d((3, None), return_indices=True) | n(1, 1, 5, 5)",
        "nn.AdaptiveMaxPool3d(2) | n(1, 1, 4, 4, 4)",
        "nn.AdaptiveAvgPool1d(3) | n(1, 2, 7)",
        "nn.AdaptiveAvgPool2d((None, 2)) | n(1, 1, 5, 5)",
        "nn.AdaptiveAvgPool3d(2) | n(1, 1, 4, 4, 4)",
    ),
    "dropout": (
        "nn.Dropout(0.4) | n(4, 4)",
        "nn.Dropout1d() | n(3, 4, 2)",
        "nn.Dropout2d() | n(3, 4, 2, 2)",
        "nn.Dropout3d() | n(3, 4, 2, 2, 1)",
        "nn.AlphaDropout() | n(4, 4)",
        "nn.FeatureAlphaDropout() | n(3, 4, 2)",
    ),
    "padding": (
        "nn.CircularPad1d(2) | n(1, 2, 4)",
        "nn.CircularPad2d((1, 2, 0, 1)) | n(1, 1, 3, 3)",
        "nn.CircularPad3d(1) | n(1, 1, 2, 2, 2)",
        "nn.ConstantPad1d((1, 2), 3.5) | n(2, 3)",
        "nn.ConstantPad2d(1, 2.0) | n(1, 2, 2)",
        "nn.ConstantPad3d(1, 0.5) | n(1, 2, 2, 2)",
        "nn.ReflectionPad1d(2) | n(1, 4)",
        "nn.ReflectionPad2d(1) | n(1, 3, 3)",
        "nn.ReflectionPad3d(1) | n(1, 1, 3, 3, 3)",
        "nn.ReplicationPad1d(2) | n(1, 4)",
        "nn.ReplicationPad2d(1) | n(1, 3, 3)",
        "nn.ReplicationPad3d(1) | n(1, 1, 2, 2, 2)",
        "nn.ZeroPad1d(1) | n(2, 3)",
        "nn.ZeroPad2d((1, 0, 2, 0)) | n(1, 2, 2)",
        "nn.ZeroPad3d(1) | n(1, 1, 2, 2, 2)",
    ),
    "shape": (
        "nn.Flatten() | n(2, 3, 4)",
        "nn.Unflatten(1, (2, 3)) | n(2, 6)",
        "nn.Fold((4, 5), (2, 2)) | n(1, 4, 12)",
        "nn.Unfold(2, stride=2) | n(1, 2, 4, 4)",
        "nn.PixelShuffle(2) | n(1, 4, 2, 2)",
        "nn.PixelUnshuffle(2) | n(1, 1, 4, 4)",
        "nn.ChannelShuffle(2) | n(1, 4, 2, 2)",
        "nn.Upsample(scale_factor=2) | n(1, 1, 2, 2)",
        "nn.Upsample((5,), mode='linear', align_corners=True) | n(1, 1, 3)",
        "nn.Upsample(size=5, mode='bicubic') | n(1, 1, 3, 3)",
        "nn.UpsamplingNearest2d(scale_factor=3) | n(1, 1, 2, 2)",
        "nn.UpsamplingBilinear2d((4, 5)) | n(1, 1, 2, 2)",
    ),
    "recurrent": (
        "nn.RNN(3, 4) | n(5, 2, 3)",
        "nn.RNN(3, 4, 2, 'relu', batch_first=True) | n(2, 5, 3)",
        "nn.GRU(3, 4, bidirectional=True) | n(5, 2, 3), n(2, 2, 4)",
        "nn.GRU(3, 4, bias=False) | n(5, 3)",
        "nn.LSTM(3, 4, 2, dropout=0.5) | n(5, 2, 3)",
        "nn.LSTM(3, 4, proj_size=2, bidirectional=True) | n(5, 2, 3)",
        "nn.LSTM(3, 4) | n(5, 3), (n(1, 4), n(1, 4))",
        "nn.RNNCell(3, 4) | n(2, 3)",
        "nn.RNNCell(3, 4, nonlinearity='relu') | n(3), n(4)",
        "nn.GRUCell(3, 4) | n(2, 3), n(2, 4)",
        "nn.LSTMCell(3, 4) | n(2, 3)",
    ),
    "packed": (
        "nn.GRU(3, 4) | pack(n(5, 3, 3), torch.tensor([5, 2, 1]))",
        "nn.LSTM(3, 4, bidirectional=True) | pack(n(5, 3, 3), torch.tensor([1, 4, 2]),"
        " False, False)",
    ),
    "attention": (
        "nn.MultiheadAttention(4, 2) | n(3, 2, 4), n(5, 2, 4), n(5, 2, 4)",
        "nn.MultiheadAttention(4, 2, bias=False, batch_first=True, kdim=3, vdim=2)"
        " | n(2, 3, 4), n(2, 5, 3), n(2, 5, 2)",
        "nn.MultiheadAttention(4, 1, add_bias_kv=True, add_zero_attn=True)"
        " | n(3, 4), n(3, 4), n(3, 4)",
        "nn.TransformerEncoderLayer(4, 2, 6) | n(3, 2, 4)",
        "nn.TransformerDecoderLayer(4, 2, 6, activation='gelu', norm_first=True)"
        " | n(3, 2, 4), n(5, 2, 4)",
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6, 0.0), 2, nn.LayerNorm(4))"
        " | n(3, 2, 4), nn.Transformer.generate_square_subsequent_mask(3)",
        "nn.Transformer(4, 2, 1, 1, 6, batch_first=True) | n(2, 3, 4), n(2, 5, 4)",
    ),
    "embedding": (
        "nn.Embedding(5, 3, padding_idx=-2) | torch.tensor([[0, 3], [4, 1]])",
        "nn.Embedding(9, 5) | torch.tensor([0, 3])",
        "nn.Embedding(5, 3, max_norm=1.0) | torch.tensor([0, 3])",
        "nn.EmbeddingBag(5, 3, mode='sum') | torch.tensor([0, 3, 4]), torch.tensor([0, 2])",
        "nn.EmbeddingBag(5, 3, mode='max') | torch.tensor([[0, 3], [4, 1]])",
    ),
    "loss": (
        "nn.L1Loss() | n(2, 3), n(2, 3)",
        "nn.MSELoss(reduction='sum') | n(2, 3), n(2, 3)",
        "nn.SmoothL1Loss(beta=0.3) | n(2, 3), n(2, 3)",
        "nn.HuberLoss('none') | n(2, 3), n(2, 3)",
        "nn.NLLLoss() | n(2, 3).log_softmax(1), torch.tensor([0, 2])",
        "nn.CrossEntropyLoss(label_smoothing=0.1) | n(2, 3), torch.tensor([0, 2])",
        "nn.PoissonNLLLoss(full=True) | n(2, 3), n(2, 3).abs()",
        "nn.GaussianNLLLoss() | n(2, 3), n(2, 3), n(2, 1).abs()",
        "nn.KLDivLoss(reduction='batchmean') | n(2, 3).log_softmax(1), n(2, 3).softmax(1)",
        "nn.BCELoss() | n(2, 3).sigmoid(), n(2, 3).sigmoid()",
        "nn.BCEWithLogitsLoss(pos_weight=torch.tensor([1., 2., 3.])) | n(2, 3), n(2, 3).sigmoid()",
        "nn.CTCLoss() | n(4, 2, 3).log_softmax(2), torch.tensor([[1, 2], [2, 1]]),"
        " torch.tensor([4, 3]), torch.tensor([2, 1])",
        "nn.MarginRankingLoss(0.2) | n(3), n(3), n(3).sign()",
        "nn.HingeEmbeddingLoss() | n(3), n(3).sign()",
        "nn.CosineEmbeddingLoss(0.1) | n(2, 3), n(2, 3), torch.tensor([1, -1])",
        "nn.MultiLabelMarginLoss() | n(2, 3), torch.tensor([[0, 2, -1], [1, -1, 0]])",
        "nn.SoftMarginLoss() | n(2, 3), n(2, 3).sign()",
        "nn.MultiLabelSoftMarginLoss() | n(2, 3), n(2, 3).sigmoid()",
        "nn.MultiMarginLoss(p=2) | n(2, 3), torch.tensor([0, 2])",
        "nn.TripletMarginLoss(swap=True) | n(2, 3), n(2, 3), n(2, 3)",
        "nn.LinearCrossEntropyLoss(3, 4, bias=True) | n(2, 3), torch.tensor([0, 3])",
        "nn.AdaptiveLogSoftmaxWithLoss(4, 8, [2, 5], 2.0) | n(3, 4), torch.tensor([0, 3, 7])",
    ),
    "distance": (
        "nn.PairwiseDistance(keepdim=True) | n(2, 3), n(2, 3)",
        "nn.CosineSimilarity() | n(2, 3), n(2, 3)",
    ),
    "containers": (
        "nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) | n(2, 3)",
        "nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 1))"
        " | n(2, 1, 4, 4)",
    ),
}
"""Family -> `module | inputs`; n draws normal numbers, pack is pack_padded_sequence."""

FUNCTIONS: tuple[str, ...] = (
    "F.normalize(n(3, 4), p=1.0)",
    "F.interpolate(n(1, 1, 4), scale_factor=1.5, mode='area')",
    "F.interpolate(n(1, 1, 4, 4), size=(3, 6), mode='bilinear', antialias=True)",
    "F.interpolate(n(1, 1, 4, 4), scale_factor=(1.5, 0.5), recompute_scale_factor=True)",
    "F.interpolate(n(1, 1, 2, 3, 2), size=[3, 2, 4], mode='trilinear', align_corners=True)",
    "F.grid_sample(n(1, 2, 3, 3), n(1, 2, 2, 2), mode='bicubic', padding_mode='reflection',"
    " align_corners=False)",
    "F.affine_grid(n(1, 2, 3), [1, 1, 2, 3], align_corners=True)",
    "F.one_hot(torch.tensor([0, 2]), 4)",
    "F.gumbel_softmax(n(2, 3), hard=True)",
    "F.pad(n(1, 2, 3), (1, 1), mode='replicate')",
    "F.mse_loss(n(3), n(3), weight=n(3).abs())",
    "F.scaled_dot_product_attention(n(1, 2, 3, 4), n(1, 2, 5, 4), n(1, 2, 5, 4), dropout_p=0.3)",
    "F.linear_cross_entropy(n(2, 3), n(4, 3), torch.tensor([0, 3]))",
    "F.triplet_margin_with_distance_loss(n(2, 3), n(2, 3), n(2, 3), swap=True)",
    "F.rrelu(n(2, 3), training=True)",
    "F.bilinear(n(2, 3), n(2, 4), n(5, 3, 4))",
    "F.l1_loss(n(2), n(2), size_average=False)",
    "F.cosine_similarity(n(2, 3), n(2, 3))",
    "F.multi_margin_loss(n(2, 3), torch.tensor([1, 0]), weight=n(3).abs())",
    "init.trunc_normal_(torch.empty(3, 4), 0.1, 0.5)",
    "init.trunc_normal_(torch.empty(9), 0., 1., 2., 3.)",
    "init.orthogonal_(torch.empty(3, 2))",
    "init.dirac_(torch.empty(4, 2, 3), 2)",
    "init.sparse_(torch.empty(4, 3), 0.5)",
    "init.eye_(torch.empty(2, 3))",
    "init.kaiming_normal_(torch.empty(2, 3), mode='fan_out', nonlinearity='relu')",
    "init.xavier_uniform_(torch.empty(2, 3, 2), init.calculate_gain('tanh'))",
    "utils.rnn.pad_sequence([n(2, 1), n(3, 1)], batch_first=True, padding_side='left')",
    "utils.rnn.pad_packed_sequence(utils.rnn.pack_sequence([n(1, 2), n(3, 2)], False),"
    " total_length=4)",
    "utils.parameters_to_vector(nn.Linear(2, 3).parameters())",
)
"""Functions of nn.functional, nn.init and nn.utils."""


def names(torch) -> dict:
    """What the texts may use, of torch or of scriptlang as torch."""
    nn = torch.nn
    return {
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "init": nn.init,
        "utils": nn.utils,
        "n": torch.randn,
        "pack": nn.utils.rnn.pack_padded_sequence,
    }


def module_of(text: str, torch):
    """The module of a sample, with the weights of seed 0."""
    torch.manual_seed(0)
    return eval(text.partition(" | ")[0], names(torch))


def inputs_of(text: str, torch) -> tuple:
    torch.manual_seed(1)
    return eval(f"({text.partition(' | ')[2]},)", names(torch))


def value_of(text: str, torch):
    torch.manual_seed(0)
    return eval(text, names(torch))


def arrays(value) -> list:
    """Every tensor in a result as a numpy array, in order."""
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in arrays(v)]
    return [] if value is None else [value.detach().numpy().copy()]
