"""What is measured: each workload is a program, its inputs, and the peers that can run it.

Nothing here needs PyTorch: `prepare` builds the programs with it, the candidates read the files.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Workload:
    """`program` is `module:callable` in this package; what the callable gives is scripted.

    `inputs` has one entry an argument: a shape for normal float32 numbers, ("tokens", words,
    shape) for indices, or a number as it is.  Where PyTorch cannot script the program (torch is
    False) scriptlang scripts it itself.
    """

    name: str
    title: str
    program: str
    inputs: tuple
    options: dict = field(default_factory=dict)
    onnx: bool = True
    compile: bool = False
    numpy: str | None = None
    cpython: bool = False
    torch: bool = True
    threads: tuple[int, ...] = (1, 2)
    group: str = "networks"
    operations: int = 0
    """Multiplications and additions of a call, where they are what takes the time."""

    def arguments(self) -> list:
        """The inputs: numpy arrays and numbers, the same in every process."""
        rng = np.random.default_rng(0)
        return [
            rng.integers(0, spec[1], spec[2])
            if isinstance(spec, tuple) and spec[:1] == ("tokens",)
            else rng.standard_normal(spec).astype(np.float32)
            if isinstance(spec, tuple)
            else spec
            for spec in self.inputs
        ]


IMAGE = ((1, 3, 224, 224),)


def network(name: str, title: str, program: str, inputs: tuple = IMAGE, **rest) -> Workload:
    return Workload(name, title, program, inputs, **rest)


NETWORKS = (
    network("resnet18", "ResNet-18, 224x224", "vision:ResNet18", compile=True),
    network("resnet50", "ResNet-50, 224x224", "vision:resnet50"),
    network("mobilenet_v2", "MobileNetV2, 224x224", "vision:mobilenet_v2"),
    network("mobilenet_v3", "MobileNetV3-large, 224x224", "vision:mobilenet_v3"),
    network("efficientnet_b0", "EfficientNet-B0, 224x224", "vision:efficientnet_b0"),
    network("convnext_tiny", "ConvNeXt-tiny, 224x224", "vision:convnext_tiny"),
    network("vit_tiny", "ViT-tiny, 224x224", "sequence:ViT", compile=True),
    network(
        "bert",
        "BERT-base, 128 tokens",
        "sequence:Bert",
        (("tokens", 30522, (1, 128)),),
        compile=True,
    ),
    network(
        "gpt2_prompt",
        "GPT-2 small, prompt of 128 tokens",
        "sequence:Gpt2",
        (("tokens", 50257, (1, 128)), (12, 2, 1, 12, 0, 64)),
        onnx=False,
    ),
    network(
        "gpt2_step",
        "GPT-2 small, one token after 128",
        "sequence:Gpt2",
        (("tokens", 50257, (1, 1)), (12, 2, 1, 12, 128, 64)),
        onnx=False,
    ),
    network("lstm", "LSTM, 2 x 256 units, 100 steps", "sequence:lstm", ((1, 100, 128),)),
    network("gru", "GRU, 2 x 256 units, 100 steps", "sequence:gru", ((1, 100, 128),)),
    network("generator", "DCGAN's generator, 64x64", "vision:generator", ((1, 100, 1, 1),)),
    network("detector", "A detector with loops, 224x224", "vision:Detector", onnx=False),
    network("mlp", "MLP of 8 to 64 units", "operators:mlp", ((1, 8),), threads=(1,)),
)


def linear(m: int, k: int, n: int) -> Workload:
    return Workload(
        f"linear_{m}_{k}_{n}",
        f"Linear, {m} x {k} by {k} x {n}",
        "operators:linear",
        ((m, k),),
        {"inputs": k, "outputs": n},
        group="products",
        operations=2 * m * k * n,
    )


PRODUCTS = (
    linear(64, 64, 64),
    linear(8, 512, 512),
    linear(256, 256, 256),
    linear(128, 768, 768),
    linear(128, 768, 3072),
    linear(1024, 1024, 1024),
)

SIZES = (("1k", (1, 1000)), ("100k", (100, 1000)), ("10M", (10_000, 1000)))


def pointwise(name: str, title: str, program: str, numpy: str | None) -> list[Workload]:
    return [
        Workload(
            f"{name}_{size}",
            f"{title}, {size} elements",
            f"operators:{program}",
            (shape,),
            numpy=numpy,
            compile=True,
            group="elements",
            threads=(1,) if size == "1k" else (1, 2),
        )
        for size, shape in SIZES
    ]


ELEMENTS = (
    *pointwise("chain", "tanh(1.5x+.25) sigmoid(x) + exp(-x^2)", "Chain", "chain"),
    *pointwise("gelu", "gelu", "Gelu", None),
    *pointwise("softmax", "softmax of rows", "Softmax", "softmax"),
    *pointwise("layer_norm", "layer norm of rows", "LayerNorm", "layer_norm"),
    *pointwise("exp", "exp", "Exp", None),
    *pointwise("tanh", "tanh", "Tanh", None),
    *pointwise("amax", "greatest of rows", "Maximum", None),
    *pointwise("rms_norm", "RMS norm of rows, by hand", "RmsNorm", None),
    *pointwise("scores", "softmax(x / 8 + mask) of rows", "ScaledSoftmax", None),
    *pointwise("loss", "mean squared error", "SquaredError", None),
    *pointwise("columns", "sums and extremes of columns", "Columns", None),
    *pointwise("places", "places of the greatest of rows", "Places", None),
    *pointwise("codes", "numbers to codes", "Codes", None),
    *pointwise("between", "comparisons and a choice", "Between", None),
    *pointwise("power", "|x| to the power of 2.2", "Power", None),
    *(
        Workload(
            name,
            f"{title}, 64 channels of 56x56",
            f"operators:{name}",
            ((1, 64, 56, 56),),
            compile=True,
            group="elements",
        )
        for name, title in (("group_norm", "Group norm"), ("batch_norm", "Batch norm"))
    ),
    Workload(
        "tiny",
        "Ten operators on 8 numbers, from Python",
        "operators:TinyOperators",
        ((1, 8), (1, 8)),
        compile=True,
        threads=(1,),
        group="elements",
    ),
    Workload(
        "tiny_loop",
        "The ten operators 100 times inside a program",
        "operators:TinyLoop",
        ((1, 8), (1, 8)),
        onnx=False,
        threads=(1,),
        group="elements",
    ),
)


def layer(name: str, title: str, program: str, *inputs: tuple, operations: int = 0, **options):
    return Workload(
        name, title, f"layers:{program}", inputs, options, group="layers", operations=operations
    )


def convolution(
    size: int, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> Workload:
    kind = "Depthwise convolution" if groups == inputs == outputs else "Convolution"
    grouped = f" in {groups} groups" if 1 < groups < inputs else ""
    options = {"stride": stride, "groups": groups}
    return layer(
        f"conv_{size}_{inputs}_{outputs}_k{kernel}s{stride}g{groups}",
        f"{kind} {kernel}x{kernel}, stride {stride}{grouped}, {inputs} to {outputs} channels of "
        f"{size}x{size}, relu",
        "convolution",
        ((1, inputs, size, size)),
        operations=2 * (-(-size // stride)) ** 2 * outputs * inputs // groups * kernel**2,
        **{"inputs": inputs, "outputs": outputs, "kernel": kernel},
        **options,
    )


def product(name: str, x: tuple, y: tuple) -> Workload:
    shapes = " by ".join("x".join(map(str, shape)) for shape in (x, y))
    work = 2 * int(np.prod(x)) * y[-1]
    return layer(name, f"Product of {shapes}", "Product", x, y, operations=work)


def attention(name: str, title: str, program: str, queries: int, keys: int, **options) -> Workload:
    """Twelve heads of 64."""
    q, k = (1, 12, queries, 64), (1, 12, keys, 64)
    work = 2 * 2 * 12 * queries * keys * 64 // (2 if options else 1)
    return layer(name, title, program, q, k, k, operations=work, **options)


def recurrent(cell: str, batch: int) -> Workload:
    gates = {"lstm": 4, "gru": 3}[cell]
    return layer(
        f"{cell}_layer_b{batch}",
        f"{cell.upper()} of 256 units, 64 steps, batch of {batch}",
        "Recurrent",
        (batch, 64, 256),
        operations=2 * batch * 64 * gates * 256 * 512,
        **{"cell": cell, "inputs": 256, "units": 256},
    )


def shaped(name: str, title: str, program: str, *inputs: tuple, **options) -> Workload:
    """A layer whose time goes into memory or into functions, not into multiply-adds."""
    return layer(name, title, program, *inputs, **options)


def linear_layer(m: int, k: int, n: int, program: str = "linear") -> Workload:
    after = ", gelu" if program == "linear_gelu" else ""
    return Workload(
        f"{program}_layer_{m}_{k}_{n}",
        f"Linear, {m} x {k} by {k} x {n}{after}",
        f"layers:{program}" if after else f"operators:{program}",
        ((m, k),),
        {"inputs": k, "outputs": n},
        group="layers",
        operations=2 * m * k * n,
    )


PICTURE, TOKENS = (1, 64, 112, 112), ("tokens", 30522, (1, 128))
LAYERS = (
    *(
        linear_layer(*sizes)
        for sizes in (
            (1, 768, 3072),
            (8, 768, 3072),
            (32, 768, 3072),
            (1, 4096, 4096),
            (128, 3072, 768),
            (49, 2048, 512),
        )
    ),
    linear_layer(128, 768, 3072, "linear_gelu"),
    *(product(f"matmul_{n}", (n, n), (n, n)) for n in (16, 64, 128, 256, 512, 1024)),
    product("bmm_12_128_64_128", (12, 128, 64), (12, 64, 128)),
    convolution(224, 3, 64, 7, 2),
    convolution(224, 3, 32, 3, 2),
    convolution(56, 64, 64, 3),
    convolution(28, 128, 128, 3),
    convolution(14, 256, 256, 3),
    convolution(7, 512, 512, 3),
    convolution(28, 128, 256, 3, 2),
    convolution(56, 64, 256, 1),
    convolution(14, 1024, 256, 1),
    convolution(14, 96, 576, 1),
    convolution(28, 128, 128, 3, groups=32),
    convolution(112, 32, 32, 3, groups=32),
    convolution(56, 144, 144, 3, groups=144),
    convolution(14, 576, 576, 3, groups=576),
    convolution(14, 672, 672, 5, groups=672),
    convolution(28, 192, 192, 3, 2, groups=192),
    layer(
        "conv_bn_relu_56_64",
        "Convolution 3x3, batch norm, relu, 64 channels of 56x56",
        "normalized_convolution",
        (1, 64, 56, 56),
        operations=2 * 56 * 56 * 64 * 64 * 9,
        **{"inputs": 64, "outputs": 64, "kernel": 3},
    ),
    layer(
        "conv1d_512_k3",
        "Convolution of 512 channels of 1600, width 3",
        "sequence_convolution",
        (1, 512, 1600),
        operations=2 * 1600 * 512 * 512 * 3,
        **{"inputs": 512, "outputs": 512, "kernel": 3},
    ),
    layer(
        "conv_transpose_28_64",
        "Transposed convolution 4x4, stride 2, 64 channels of 28x28",
        "transposed_convolution",
        (1, 64, 28, 28),
        operations=2 * 28 * 28 * 64 * 64 * 16,
        **{"inputs": 64, "outputs": 64, "kernel": 4, "stride": 2},
    ),
    shaped(
        "maximum_pool", "Maximum of 3x3, stride 2, 64 channels of 112x112", "maximum_pool", PICTURE
    ),
    shaped("average_pool", "Mean of 2048 channels of 7x7", "average_pool", (1, 2048, 7, 7)),
    shaped("upsample", "Bilinear, 64 channels of 28x28 to 56x56", "Upsample", (1, 64, 28, 28)),
    *(
        shaped(f"{name}_layer", f"{name}, 100,000 elements", name.capitalize(), (100, 1000))
        for name in ("sigmoid", "silu", "erf", "relu")
    ),
    shaped("swiglu", "silu(x) y, 128 x 2048", "Swiglu", (128, 2048), (128, 2048)),
    *(
        Workload(name, title, f"operators:{program}", (shape,), group="layers")
        for name, title, program, shape in (
            ("softmax_1_1000", "softmax, 1 x 1000", "Softmax", (1, 1000)),
            ("softmax_128_768", "softmax, 128 x 768", "Softmax", (128, 768)),
            ("softmax_1536_128", "softmax, 1536 x 128", "Softmax", (1536, 128)),
            ("softmax_4096_128", "softmax, 4096 x 128", "Softmax", (4096, 128)),
            ("layer_norm_1_768", "layer norm, 1 x 768", "LayerNorm", (1, 768)),
            ("layer_norm_128_768", "layer norm, 128 x 768", "LayerNorm", (128, 768)),
            ("layer_norm_4096_128", "layer norm, 4096 x 128", "LayerNorm", (4096, 128)),
            ("rms_norm_128_2048", "RMS norm, 128 x 2048", "RmsNorm", (128, 2048)),
        )
    ),
    shaped("log_softmax", "log_softmax, 128 x 30522", "LogSoftmax", (128, 30522)),
    shaped("mean", "Mean of a million", "Mean", (1000, 1000)),
    shaped("mean_last", "Means of rows, 1024 x 1024", "Mean", (1024, 1024), dim=1),
    shaped("mean_first", "Means of columns, 1024 x 1024", "Mean", (1024, 1024), dim=0),
    shaped("cumsum", "Running sums of rows, 1024 x 1024", "Running", (1024, 1024)),
    shaped(
        "concatenate", "Four times 64 channels of 56x56, joined", "Concatenate", (1, 64, 56, 56)
    ),
    shaped("heads", "Heads of 128 rows, copied", "Heads", (1, 128, 12, 64)),
    shaped("gather", "gather, 1024 x 1024", "Gather", (1024, 1024), ("tokens", 1024, (1024, 1024))),
    shaped("best_ten", "The ten greatest of 50,257", "Best", (1, 50257)),
    shaped("rows", "128 rows of a table of 30,522 x 768", "Rows", TOKENS, rows=30522, width=768),
    attention("attention", "Attention, 12 heads, 128 x 128", "Attention", 128, 128),
    attention(
        "attention_causal", "Causal attention, 512 x 512", "Attention", 512, 512, causal=True
    ),
    attention("attention_step", "Attention, one query, 512 keys", "Attention", 1, 512),
    attention(
        "attention_written", "Attention as written out, 128 x 128", "WrittenAttention", 128, 128
    ),
    *(recurrent(cell, batch) for cell in ("lstm", "gru") for batch in (1, 16)),
    layer(
        "encoder",
        "A layer of BERT-base, 128 tokens",
        "Encoder",
        (1, 128, 768),
        operations=2 * 128 * 768 * 768 * 12 + 2 * 2 * 12 * 128 * 128 * 64,
    ),
)
"""What networks are made of, each alone: the list of goals for processors without AVX-512."""


def loop(
    name: str, title: str, *inputs: int, torch: bool = True, module: str = "loops"
) -> Workload:
    return Workload(
        name,
        title,
        f"{module}:{name}",
        inputs,
        onnx=False,
        cpython=True,
        threads=(1,),
        group="loops",
        torch=torch,
    )


def postprocessing(name: str, title: str, *inputs: int, torch: bool = True) -> Workload:
    return loop(name, title, *inputs, torch=torch, module="postprocessing")


def script(name: str, title: str, *inputs: int, torch: bool = True) -> Workload:
    return loop(name, title, *inputs, torch=torch, module="scripts")


LOOPS = (
    loop("remainders", "Sum of i*i % 7, 100,000 steps", 100_000),
    loop("logistic", "The logistic map, 100,000 steps", 100_000),
    loop("sieve", "Primes below 50,000 in a list", 50_000),
    loop("mandelbrot", "Mandelbrot, 40x40, 50 steps", 40),
    loop("text", "A string of 5,000 pieces", 5_000),
    loop("counting", "Counting 20,000 keys in a dict", 20_000),
    loop("words", "Counting 14,000 words in a dict", 1_000),
    loop("prefixes", "The prefix function of a word, 8,600 characters", 5_000),
    loop("matrices", "Product of lists of lists, 40x40", 40),
    loop("bubble_sort", "Bubble sort of 300 numbers", 300),
    loop("neighbours", "for, zip and enumerate over 20,000 numbers", 20_000),
    loop("instance", "An instance of a class that counts to 50,000", 50_000),
    loop("fib", "Fibonacci by recursion, 22", 22, torch=False),
    postprocessing("greedy_tokens", "Greedy CTC decoding, 400 frames", 400),
    postprocessing("beam_search", "Beam search of width 4, 30 steps", 30),
    postprocessing("suppression", "Non-maximum suppression of 200 boxes", 200),
    postprocessing("tokenizer", "Longest match of 1,000 pieces in a dict", 500),
    postprocessing("edit_distance", "Edit distance of words of 120 characters", 120),
    postprocessing("prefix_sums", "Sums of squares of an 80x80 grid", 80),
    postprocessing("shortest_paths", "A priority queue of tuples, 600 nodes", 600),
    postprocessing("matrix_chain", "The best order of 40 products", 40),
    postprocessing("run_lengths", "Run-length coding of 3,500 characters", 1000),
    postprocessing("bigrams", "Counting 5,000 pairs of letters", 5_000),
    postprocessing("spans", "Tuples as values of a dict, 10,000 keys", 10_000),
    postprocessing("characters", "Classes of 2,340 characters", 60),
    postprocessing("hanoi", "The tower of Hanoi by recursion, 11", 11, 1, 2, 3, torch=False),
    script("pair_merges", "Byte pairs merged by rank, 20 lines", 20),
    script("word_pieces", "WordPiece of 500 words", 500),
    script("lines", "strip, find, split, join, replace on 500 lines", 500),
    script("formats", "f-strings and format, 1,000 times", 1_000),
    script("fields", "400 lines of numbers and names, written and parsed", 400),
    script("cipher", "A cipher, character by character, 50 lines", 50),
    script("sorting", "Sorts of 500 ints, strings and tuples", 500),
    script("prefix_search", "CTC prefix search, tuples in a dict of strings, 40 frames", 40),
    script("breadth_first", "Breadth first search of 1,000 nodes", 1_000),
    script("groups", "Lists of 3,000 ints in a dict", 3_000),
    script("stack_machine", "A class with a list, 200 runs of a small language", 200, torch=False),
    script("median", "Quick sort by recursion, 1,500 numbers", 1_500, torch=False),
)


def forces(name: str, title: str, program: str, *inputs: tuple) -> Workload:
    return Workload(
        name, title, f"derivatives:{program}", inputs, onnx=False, threads=(1,), group="forces"
    )


def training(name: str, title: str, sizes: tuple[int, ...], batch: int, **options) -> Workload:
    return Workload(
        name,
        title,
        "derivatives:Classifier",
        ((batch, sizes[0]), ("tokens", sizes[-1], (batch,))),
        {"sizes": sizes, **options},
        onnx=False,
        threads=(1,),
        group="gradients",
    )


DERIVATIVES = (
    forces("radial_forces", "Forces of a radial network, 20 atoms", "Radial", (20, 3)),
    forces(
        "message_forces",
        "Forces of message passing, 20 atoms, 200 edges",
        "Messages",
        (20, 3),
        ("tokens", 10, (20,)),
        ("tokens", 20, (200,)),
        ("tokens", 20, (200,)),
    ),
    forces("ensemble_forces", "Forces of an ensemble, 20 atoms", "Ensemble", (20, 3)),
    forces("tensor_forces", "Forces of tensor products, 20 atoms", "Tensorial", (20, 3)),
    training("mlp_tiny_step", "Loss and gradients, MLP of 8 to 16 units", (8, 16, 4), 4),
    training("mlp_small_step", "Loss and gradients, MLP of 64 to 128 units", (64, 128, 10), 32),
    training("mlp_step", "Loss and gradients, MLP of 784 to 512 units", (784, 512, 256, 10), 64),
    training(
        "mlp_gelu_step",
        "Loss and gradients, MLP of 784 to 512 units, gelu",
        (784, 512, 256, 10),
        64,
        smooth=True,
    ),
)
"""Programs with their derivatives: no mode that switches them off is on."""

WORKLOADS = (*NETWORKS, *PRODUCTS, *LAYERS, *ELEMENTS, *LOOPS, *DERIVATIVES)
