"""Operators that would take more than some seconds each, natively, of inputs that cost little."""

LONG: dict[str, str] = {
    # Pointwise: much for each element.
    "zeta": "torch.special_zeta(x[0].expand(1 << 26) * 1.5, 2.0)",
    "polygamma": "torch.polygamma(3, x[0].expand(1 << 26) + 1.5)",
    "igamma": "torch.igamma(x[0].expand(1 << 26) * 50, torch.rand([1]) * 50)",
    "lgamma of doubles": "torch.lgamma((x[0].double() * 50).expand(1 << 28))",
    "erfinv": "torch.erfinv((x[0].double() * 0.3).expand(1 << 28))",
    "pow": "torch.pow(x[0].double().expand(1 << 28), 1.37)",
    "chebyshev": "torch.special_chebyshev_polynomial_t(x[0].expand(1 << 18) / 3, 1 << 20)",
    "hermite": "torch.special_hermite_polynomial_h(x[0].expand(1 << 18) / 3, 1 << 20)",
    "laguerre": "torch.special_laguerre_polynomial_l(x[0].expand(1 << 18) / 3, 1 << 20)",
    "legendre": "torch.special_legendre_polynomial_p(x[0].expand(1 << 18) / 3, 1 << 20)",
    "bessel": "torch.special_bessel_j0(x[0].double().expand(1 << 26) * 99)",
    "gcd": "torch.gcd(torch.arange(1 << 26), torch.tensor([7540113804746346429]))",
    # One row, and zeros.
    "zeros": "torch.zeros([1 << 32], dtype=torch.uint8)",
    "cumsum of a row": "torch.cumsum(torch.ones([1 << 27]), 0).cumsum(0).cumsum(0).cumsum(0)",
    "sum of a row": "torch.sum(x[0].int().expand(1 << 29))",
    # Orders.
    "isin": "torch.isin(torch.rand([1 << 25]), torch.rand([1 << 25]))",
    "median": "torch.median(torch.rand([1 << 24]))",
    "mode": "torch.mode(torch.rand([1 << 24]))[0]",
    "kthvalue": "torch.kthvalue(torch.rand([1 << 24]), 1 << 23)[0]",
    "quantile": "torch.quantile(torch.rand([4000, 4000]), 0.3, 1)",
    # Products.
    "matmul": "torch.ones([7000, 7000]) @ torch.ones([7000, 7000])",
    "matmul of doubles": "torch.ones([5000, 5000]).double() @ torch.ones([5000, 5000]).double()",
    "matmul of few rows": "torch.ones([4, 60000]) @ torch.ones([60000, 1]).expand(60000, 60000)",
    "matmul of ints": "torch.arange(9000000).view(3000, 3000) @ "
    "torch.arange(9000000).view(3000, 3000)",
    "matmul of halves": "torch.ones([5000, 5000]).half() @ torch.ones([5000, 5000]).half()",
    "matmul of bfloat16": "torch.ones([5000, 5000]).bfloat16() @ "
    "torch.ones([5000, 5000]).bfloat16()",
    "matmul of complex": "torch.ones([4000, 4000], dtype=torch.complex64) @ "
    "torch.ones([4000, 4000], dtype=torch.complex64)",
    "matmul of bytes": "torch.ones([4000, 4000]).to(torch.uint8) @ "
    "torch.ones([4000, 4000]).to(torch.uint8)",
    "linear": "torch.linear(torch.ones([7000, 7000]), torch.ones([7000, 7000]))",
    "bmm": "torch.bmm(torch.ones([100, 1500, 1500]), torch.ones([100, 1500, 1500]))",
    "addmm": "torch.addmm(x[0], torch.ones([7000, 7000]), torch.ones([7000, 7000]))",
    "einsum": "torch.einsum('ij,jk->ik', [torch.ones([7000, 7000]), torch.ones([7000, 7000])])",
    "matrix_power": "torch.matrix_power(torch.ones([2000, 2000]), (1 << 60) - 1)",
    "multi_dot": "torch.linalg_multi_dot([torch.ones([6000, 6000]), torch.ones([6000, 6000]), "
    "torch.ones([6000, 6000])])",
    "attention": "torch.scaled_dot_product_attention(torch.ones([1, 8, 12000, 64]), "
    "torch.ones([1, 8, 12000, 64]), torch.ones([1, 8, 12000, 64]))",
    "cdist 1": "torch.cdist(torch.rand([8000, 3000]), torch.rand([8000, 3000]), 1.0)",
    "cdist 2": "torch.cdist(torch.rand([8000, 6000]), torch.rand([8000, 6000]))",
    "cdist 3": "torch.cdist(torch.rand([8000, 3000]), torch.rand([8000, 3000]), 3.0)",
    "pdist": "torch.pdist(torch.rand([9000, 3000]), 3.0)",
    "bilinear": "torch.bilinear(torch.ones([2000, 200]), torch.ones([2000, 200]), "
    "torch.ones([300, 200, 200]))",
    "cov": "torch.cov(torch.ones([7000, 7000]))",
    # Linear algebra.
    "svd": "torch.svd(torch.randn([3000, 3000]))[1]",
    "svd of many": "torch.svd(torch.randn([100000, 8, 8]))[1]",
    "svd of complex": "torch.linalg_svd(torch.randn([2000, 2000], dtype=torch.complex64))[1]",
    "svdvals": "torch.linalg_svdvals(torch.randn([3000, 3000]))",
    "eigh": "torch.linalg_eigh(torch.ones([3000, 3000]) + torch.randn([3000, 3000]))[0]",
    "eigvalsh": "torch.linalg_eigvalsh(torch.randn([4000, 4000]))",
    "eig": "torch.linalg_eig(torch.randn([1500, 1500]))[0]",
    "eigvals": "torch.linalg_eigvals(torch.randn([1500, 1500]))",
    "qr": "torch.linalg_qr(torch.randn([5000, 5000]))[0]",
    "geqrf": "torch.geqrf(torch.randn([5000, 5000]))[0]",
    "householder_product": "torch.linalg_householder_product(torch.rand([5000, 5000]), "
    "torch.rand([5000]))",
    "ormqr": "torch.ormqr(torch.rand([5000, 5000]), torch.rand([5000]), torch.rand([5000, 5000]))",
    "det": "torch.det(torch.randn([8000, 8000]))",
    "inverse": "torch.inverse(torch.randn([7000, 7000]))",
    "cholesky": "torch.linalg_cholesky(torch.eye(5000) * 2)",
    "cholesky_inverse": "torch.cholesky_inverse(torch.eye(7000) * 2)",
    "cholesky_solve": "torch.cholesky_solve(torch.ones([6000, 6000]), torch.eye(6000))",
    "lu": "torch.linalg_lu(torch.randn([8000, 8000]))[1]",
    "lu_solve": "torch.linalg_lu_solve(torch.eye(6000), torch.ones([6000], dtype=torch.int32), "
    "torch.ones([6000, 6000]))",
    "ldl": "torch.linalg_ldl_factor(torch.randn([6000, 6000]))[0]",
    "solve": "torch.linalg_solve(torch.randn([7000, 7000]), torch.ones([7000, 7000]))",
    "solve_triangular": "torch.linalg_solve_triangular(torch.eye(7000), torch.ones([7000, 7000]), "
    "upper=True)",
    "lstsq": "torch.linalg_lstsq(torch.randn([4000, 4000]), torch.ones([4000, 4000]))[0]",
    "pinv": "torch.linalg_pinv(torch.randn([2500, 2500]))",
    "matrix_exp": "torch.matrix_exp(torch.randn([2500, 2500]))",
    "matrix_rank": "torch.linalg_matrix_rank(torch.randn([3000, 3000]))",
    "cond": "torch.linalg_cond(torch.randn([3000, 3000]))",
    # Convolutions.
    "conv1d": "torch.conv1d(torch.ones([1, 500, 20000]), torch.ones([500, 500, 99]))",
    "conv2d": "torch.conv2d(torch.ones([1, 60, 500, 500]), torch.ones([60, 60, 101, 101]))",
    "conv2d of 3": "torch.conv2d(torch.ones([1, 256, 700, 700]), torch.ones([256, 256, 3, 3]))",
    "conv2d of 1": "torch.conv2d(torch.ones([1, 1000, 300, 300]), torch.ones([3000, 1000, 1, 1]))",
    "conv2d with strides": "torch.conv2d(torch.ones([1, 60, 900, 900]), torch.ones([60, 60, 70, "
    "70]), None, [2, 2])",
    "conv2d dilated": "torch.conv2d(torch.ones([1, 60, 900, 900]), torch.ones([60, 60, 50, 50]), "
    "None, [1, 1], [0, 0], [3, 3])",
    "conv2d of doubles": "torch.conv2d(torch.ones([1, 60, 500, 500]).double(), "
    "torch.ones([60, 60, 80, 80]).double())",
    "conv2d of halves": "torch.conv2d(torch.ones([1, 60, 300, 300]).half(), "
    "torch.ones([60, 60, 80, 80]).half())",
    "conv2d of ints": "torch.conv2d(torch.ones([1, 60, 300, 300]).int(), "
    "torch.ones([60, 60, 50, 50]).int())",
    "conv2d depthwise": "torch.conv2d(torch.ones([1, 60, 900, 900]), torch.ones([60, 1, 201, 201])"
    ", None, [1, 1], [0, 0], [1, 1], 60)",
    "conv2d of groups": "torch.conv2d(torch.ones([1, 60, 900, 900]), torch.ones([60, 2, 201, 201])"
    ", None, [1, 1], [0, 0], [1, 1], 30)",
    "conv1d of one channel": "torch.conv1d(torch.ones([1, 1, 3000000]), torch.ones([1, 1, 99999]))",
    "conv1d depthwise": "torch.conv1d(torch.ones([1, 2, 3000000]), torch.ones([2, 1, 99999]), "
    "None, [1], [0], [1], 2)",
    "conv2d of a row, channels last": "torch.conv2d(torch.ones([1, 4, 1, 900000]).contiguous("
    "memory_format=torch.channels_last), torch.ones([4, 4, 1, 99999]))",
    "conv2d depthwise of a row, channels last": "torch.conv2d(torch.ones([1, 4, 1, 900000])."
    "contiguous(memory_format=torch.channels_last), torch.ones([4, 1, 1, 99999]), None, [1, 1], "
    "[0, 0], [1, 1], 4)",
    "conv2d channels last": "torch.conv2d(torch.ones([1, 60, 500, 500]).contiguous(memory_format="
    "torch.channels_last), torch.ones([60, 60, 101, 101]))",
    "conv3d": "torch.conv3d(torch.ones([1, 20, 60, 60, 60]), torch.ones([20, 20, 30, 30, 30]))",
    "conv_transpose1d": "torch.conv_transpose1d(torch.ones([1, 500, 20000]), "
    "torch.ones([500, 500, 99]))",
    "conv_transpose2d": "torch.conv_transpose2d(torch.ones([1, 60, 150, 150]), "
    "torch.ones([60, 60, 101, 101]))",
    "conv_transpose3d": "torch.conv_transpose3d(torch.ones([1, 20, 30, 30, 30]), "
    "torch.ones([20, 20, 15, 15, 15]))",
    "deform_conv2d": "torch.ops.torchvision.deform_conv2d(torch.ones([1, 60, 300, 300]), "
    "torch.ones([60, 60, 31, 31]), torch.zeros([1, 1922, 1, 1]).expand(1, 1922, "
    "270, 270), torch.ones([1, 961, 1, 1]).expand(1, 961, 270, 270), "
    "torch.zeros([60]), 1, 1, 0, 0, 1, 1, 1, 1, True)",
    # Windows and images.
    "max_pool2d": "torch.max_pool2d(torch.ones([1, 1, 3000, 3000]), [999, 999], [1, 1])",
    "max_pool2d with indices": "torch.max_pool2d_with_indices(torch.ones([1, 1, 3000, 3000]), "
    "[999, 999], [1, 1])[1]",
    "max_pool1d": "torch.max_pool1d(torch.ones([1, 1, 3000000]), [99999], [1])",
    "max_pool3d": "torch.max_pool3d(torch.ones([1, 1, 200, 200, 200]), [99, 99, 99], [1, 1, 1])",
    "avg_pool1d": "torch.avg_pool1d(torch.ones([1, 1, 3000000]), [99999], [1])",
    "avg_pool2d": "torch.avg_pool2d(torch.ones([1, 1, 3000, 3000]), [999, 999], [1, 1])",
    "avg_pool2d channels last": "torch.avg_pool2d(torch.ones([1, 8, 900, 900]).contiguous("
    "memory_format=torch.channels_last), [399, 399], [1, 1])",
    "max_pool2d channels last": "torch.max_pool2d(torch.ones([1, 8, 900, 900]).contiguous("
    "memory_format=torch.channels_last), [399, 399], [1, 1])",
    "avg_pool3d": "torch.avg_pool3d(torch.ones([1, 1, 200, 200, 200]), [99, 99, 99], [1, 1, 1])",
    "adaptive_avg_pool2d": "torch.adaptive_avg_pool2d(x.view(1, 1, 1, 4).expand(1, 60000, 1000, 4)"
    ".reshape(1, 60000, 1000, 4), [999, 1000])",
    "fractional_max_pool2d": "torch.fractional_max_pool2d(torch.ones([1, 1, 3000, 3000]), "
    "[999, 999], [2000, 2000], torch.rand([1, 1, 2]))[0]",
    "lp_pool2d": "torch.avg_pool2d(torch.pow(torch.ones([1, 1, 3000, 3000]), 2.5), [999, 999], "
    "[1, 1])",
    "bicubic": "torch.upsample_bicubic2d(torch.ones([1, 1, 99, 99]), [12000, 12000], False)",
    "bicubic antialiased": "torch._upsample_bicubic2d_aa(torch.ones([1, 1, 1, 1]).expand(1, 1, "
    "60000, 60000), [9000, 2], False)",
    "trilinear upsampling": "torch.upsample_trilinear3d(torch.ones([1, 1, 9, 9, 9]), "
    "[600, 600, 600], False)",
    "grid_sample": "torch.grid_sampler(torch.ones([1, 64, 99, 99]), "
    "torch.zeros([1, 1, 1, 2]).expand(1, 3000, 3000, 2), 2, 0, False)",
    "nms": "torch.ops.torchvision.nms(torch.rand([300000, 4]).cumsum(1), torch.rand([300000]), "
    "1.5)",
    "roi_align": "torch.ops.torchvision.roi_align(torch.ones([1, 64, 200, 200]), "
    "torch.tensor([[0.0, 0.0, 0.0, 199.0, 199.0]]), 1.0, 50, 50, 2000, False)",
    "renorm": "torch.renorm(torch.ones([2, 1 << 27]), 1.5, 0, 1.0)",
    # Rows.
    "softmax": "torch.softmax(torch.ones([1 << 26], dtype=torch.float64), 0)",
    "layer_norm": "torch.native_layer_norm(torch.ones([4, 1 << 25], dtype=torch.float64), "
    "[1 << 25], None, None, 1e-5)[1]",
    "cumsum": "torch.cumsum(torch.ones([1 << 28], dtype=torch.float64), 0)",
    "cumprod": "torch.cumprod(torch.ones([1 << 28], dtype=torch.float64), 0)",
    "cummax": "torch.cummax(torch.ones([1 << 27]), 0)[0]",
    "logcumsumexp": "torch.logcumsumexp(torch.ones([1 << 27]), 0)",
    "sort": "torch.sort(torch.rand([1 << 24]))[0]",
    "sort of ints": "torch.sort(torch.randint(0, 1 << 60, [1 << 23]), stable=True)[0]",
    "sort of rows": "torch.sort(torch.rand([1 << 16, 1 << 10]), 0)[0]",
    "argsort of doubles": "torch.argsort(torch.rand([1 << 24], dtype=torch.float64))",
    "topk": "torch.topk(torch.rand([1 << 24]), 1 << 23)[0]",
    "unique": "torch._unique2(torch.rand([1 << 23]), True, True, True)[0]",
    "unique_dim": "torch.unique_dim(torch.ones([1 << 20, 30]).cumsum(0), 0)[0]",
    "searchsorted": "torch.searchsorted(torch.arange(1 << 24), torch.randint(0, 1 << 24, "
    "[1 << 26]))",
    # Transforms.
    "fft": "torch.fft_fft(torch.ones([1 << 26]))",
    "fft of a prime": "torch.fft_fft(torch.ones([16777213]))",
    "fft of lines": "torch.fft_fft2(torch.ones([8000, 8000]))",
    "rfft": "torch.fft_rfft(torch.ones([1 << 27]))",
    "irfft": "torch.fft_irfft(torch.ones([1 << 24, 4], dtype=torch.complex64))",
    "stft": "torch.stft(torch.ones([1 << 18]), 16384, 8, return_complex=True, center=False)",
    # Recurrences.
    "lstm": "torch.lstm(x.view(4, 1, 1).expand(4, 1, 1).repeat(1 << 18, 1, 64), [torch.zeros([1, 1"
    ", 64]), torch.zeros([1, 1, 64])], [torch.ones([256, 64]), torch.ones([256, 64])], "
    "False, 1, 0.0, False, False, False)[1]",
    "gru": "torch.gru(x.view(4, 1, 1).repeat(1 << 18, 1, 64), torch.zeros([1, 1, 64]), "
    "[torch.ones([192, 64]), torch.ones([192, 64])], False, 1, 0.0, False, False, False)[1]",
    "rnn_tanh": "torch.rnn_tanh(x.view(4, 1, 1).repeat(1 << 18, 1, 96), torch.zeros([1, 1, 96]), "
    "[torch.ones([96, 96]), torch.ones([96, 96])], False, 1, 0.0, False, False, "
    "False)[1]",
    "ctc_loss": "torch.ctc_loss(torch.zeros([20000, 1, 8]), torch.ones([1, 9000], "
    "dtype=torch.int64), torch.tensor([20000]), torch.tensor([9000]))",
    # Random numbers.
    "randn": "torch.randn([1 << 28], dtype=torch.float64)",
    "rand": "torch.rand([1 << 28], dtype=torch.float64)",
    "randint": "torch.randint(0, 1 << 60, [1 << 28])",
    "randperm": "torch.randperm(1 << 25)",
    "bernoulli": "torch.bernoulli(torch.rand([1]).expand(1 << 29))",
    "multinomial": "torch.multinomial(torch.ones([16000000]), 2000000, True)",
    "multinomial without replacement": "torch.multinomial(torch.rand([1 << 24]), 1 << 23)",
    "dropout": "torch.dropout(torch.ones([1 << 29]), 0.5, True)",
    "exponential": "torch.ones([1 << 27], dtype=torch.float64).exponential_()",
    "normal": "torch.ones([1 << 28]).normal_()",
    "cauchy": "torch.ones([1 << 27], dtype=torch.float64).cauchy_()",
    "rrelu": "torch.rrelu(-torch.ones([1 << 28]), 0.1, 0.3, True)",
    # Counting.
    "combinations": "torch.combinations(torch.arange(70), 6)",
    "diff": "torch.diff(torch.ones([200000]), 199999)",
    "trapezoid": "torch.trapezoid(x[0].expand(1 << 30))",
    # The language.
    "find": "'a'.ljust(1 << 24, 'a').find('a'.ljust(1 << 23, 'a') + 'ba')",
    "rfind": "'a'.ljust(1 << 24, 'a').rfind('a'.ljust(1 << 23, 'a') + 'b')",
    "count": "'a'.ljust(1 << 24, 'a').count('a'.ljust(1 << 23, 'a') + 'ba')",
    "replace": "len('a'.ljust(1 << 24, 'a').replace('a'.ljust(1 << 23, 'a') + 'ba', ''))",
}
