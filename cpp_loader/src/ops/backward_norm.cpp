// Derivatives of normalisations: of batches, layers and groups.
#include "../../kernels/backward.h"

#include <cmath>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "layout.h"
#include "op.h"
#include "pointwise.h"
#include "row_kernels.h"
#include "values/exact.h"
#include "values/pooled.h"

namespace scriptlang {

namespace {

template <class T>
const kernels::BackwardFunctions<T>& functions() {
  return kernels::kernels().backward<T>();
}

int64_t grain_for(int64_t row) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, row)); }

// The arguments of a backward operator, in the type it computes in.
struct Given {
  Tensor g, x, weight;  // weight: undefined where there is none
  ScalarType dtype, of_weight, computed;
  bool wanted[3];

  Given(const char* name, const Tensor& grad, const Tensor& input, const Tensor& scale, List& mask)
      : dtype(input.dtype()), computed(computed_type(input.dtype(), name)) {
    SL_CHECK(grad.sizes() == input.sizes() && grad.dtype() == dtype, name, ": a gradient of size ",
             to_string(grad.sizes()), " and type ", dtype_name(grad.dtype()),
             " does not fit an input of size ", to_string(input.sizes()), " and type ",
             dtype_name(dtype));
    SL_CHECK(mask.size() == 3, "output_mask must be three bools");
    for (size_t i = 0; i < 3; ++i) wanted[i] = mask.get(i).as_bool();
    g = contiguous_as(grad, computed);
    x = contiguous_as(input, computed);
    if (scale.defined()) weight = contiguous_as(scale, computed);
    of_weight = scale.defined() ? scale.dtype() : dtype;
  }
  template <class T>
  const T* gamma() const {
    return weight.defined() ? weight.data<T>() : nullptr;
  }
};

// The gradients: the input's in its type and memory format, the others in the type of the weight.
struct Made {
  Tensor of_x, of_weight, of_bias;

  void give(const Given& given, const Tensor& input, Value* out) {
    const Tensor none = Tensor::empty({0}, given.dtype);
    out[0] = given.wanted[0] ? in_format_of(to_dtype(of_x, given.dtype), input) : none;
    out[1] = given.wanted[1] ? to_dtype(of_weight, given.of_weight) : none;
    out[2] = given.wanted[2] ? to_dtype(of_bias, given.of_weight) : none;
  }
};

Tensor statistic(const char* name, const Tensor& t, int64_t count, ScalarType computed) {
  SL_CHECK(t.numel() == count, name, ": statistics of size ", to_string(t.sizes()),
           " do not fit, expected ", count, " elements");
  return contiguous_as(t, computed);
}

// ---- batches: channels, each of which has `images` rows of `pixels` elements

struct Channels {
  int64_t images, channels, pixels;

  Channels(int64_t n, int64_t c, int64_t each) : images(n), channels(c), pixels(each) {}
  explicit Channels(const Tensor& x) : images(x.size(0)), channels(x.size(1)), pixels(0) {
    if (images * channels > 0) pixels = x.numel() / (images * channels);
  }
  int64_t count() const { return images * pixels; }
  int64_t row(int64_t image, int64_t channel) const {
    return (image * channels + channel) * pixels;
  }
  // Channels of few pixels are processed by columns: an image is a row of channels * pixels
  // elements.
  bool go_by_columns() const { return pixels < 16 && channels * pixels <= 16384 && images > 1; }
};

// The mean and the inverse of the standard deviation of each channel.
template <class T>
void find_statistics(const Channels& c, const T* x, double eps, T* mean, T* invstd) {
  const auto of_one = [&](int64_t k) {
    double total = 0, squares = 0;
    for (int64_t i = 0; i < c.images; ++i) total += Rows<T>::sum(c.pixels, x + c.row(i, k));
    mean[k] = T(total / double(c.count()));
    for (int64_t i = 0; i < c.images; ++i) {
      squares += Rows<T>::sum_squares(c.pixels, x + c.row(i, k), mean[k]);
    }
    invstd[k] = T(1 / std::sqrt(squares / double(c.count()) + eps));
  };
  kernels::parallel_for(c.channels, grain_for(c.count()), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) of_one(k);
  });
}

// Sums of g and of g * (x - mean) over each channel.
template <class T>
void channel_sums(const Channels& c, const T* g, const T* x, const T* mean, double* totals,
                  double* products) {
  kernels::parallel_for(c.channels, grain_for(c.count()), [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      totals[k] = products[k] = 0;
      for (int64_t i = 0; i < c.images; ++i) {
        T sums[2];
        const int64_t at = c.row(i, k);
        functions<T>().sums(c.pixels, g + at, nullptr, x + at, mean[k], sums);
        totals[k] += double(sums[0]);
        products[k] += double(sums[1]);
      }
    }
  });
}

constexpr int64_t kRows = 64;  // partial column sums of this many rows are added in double

template <class T>
void column_sums(const Channels& c, const T* g, const T* x, const T* mean, double* totals,
                 double* products) {
  const int64_t width = c.channels * c.pixels;
  Pooled<T> space(as_size(3 * width), T(0));
  T *center = space.data(), *total = center + width, *product = total + width;
  for (int64_t j = 0; j < width; ++j) center[j] = mean[j / c.pixels];
  std::fill_n(totals, c.channels, 0.0);
  std::fill_n(products, c.channels, 0.0);
  for (int64_t row = 0; row < c.images; row += kRows) {
    const int64_t rows = std::min(kRows, c.images - row), at = row * width;
    std::fill_n(total, 2 * width, T(0));
    functions<T>().add_columns(rows, width, g + at, x + at, center, total, product);
    kernels::worked(rows * width);
    for (int64_t j = 0; j < width; ++j) {
      totals[j / c.pixels] += double(total[j]);
      products[j / c.pixels] += double(product[j]);
    }
  }
}

// y = a * g + b * x + c, with factors for each channel.
template <class T>
void combine(const Channels& c, const T* g, const T* x, const T* factors, T* y) {
  const T *a = factors, *b = a + c.channels, *rest = b + c.channels;
  if (!c.go_by_columns()) {
    const int64_t rows = c.images * c.channels;
    kernels::parallel_for(rows, grain_for(c.pixels), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t k = r % c.channels, at = r * c.pixels;
        functions<T>().combine(c.pixels, g + at, nullptr, x + at, a[k], b[k], rest[k], y + at);
      }
    });
    return;
  }
  const int64_t width = c.channels * c.pixels;
  Pooled<T> wide(as_size(3 * width), T(0));
  for (int64_t j = 0; j < 3 * width; ++j) wide.data()[j] = factors[j / c.pixels];
  const T* w = wide.data();
  kernels::parallel_for(c.images, grain_for(width), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * width;
    functions<T>().combine_columns(end - begin, width, g + at, x + at, w, w + width, w + 2 * width,
                                   y + at);
  });
}

// training: the statistics are those of the batch itself.
template <class T>
void batch_back(const Given& given, const Channels& c, const Tensor& mean, const Tensor& invstd,
                bool training, Made* made) {
  const T *g = given.g.data<T>(), *x = given.x.data<T>(), *gamma = given.gamma<T>();
  const T *center = mean.data<T>(), *inverse = invstd.data<T>();
  const size_t n = size_t(c.channels);
  Pooled<double> totals(n, 0.0), products(n, 0.0);
  if (training || given.wanted[1] || given.wanted[2]) {
    if (c.go_by_columns()) column_sums(c, g, x, center, totals.data(), products.data());
    else channel_sums(c, g, x, center, totals.data(), products.data());
  }
  for (size_t k = 0; k < n && given.wanted[1]; ++k) {
    made->of_weight.data<T>()[k] = T(products[k] * double(inverse[k]));
  }
  for (size_t k = 0; k < n && given.wanted[2]; ++k) made->of_bias.data<T>()[k] = T(totals[k]);
  if (!given.wanted[0]) return;
  Pooled<T> factors(3 * n, T(0));
  for (size_t k = 0; k < n; ++k) {
    const double r = double(inverse[k]), a = r * (gamma ? double(gamma[k]) : 1.0);
    const double count = double(c.count());
    const double b = training ? -a * r * r * products[k] / count : 0;
    factors[k] = T(a);
    factors[n + k] = T(b);
    factors[2 * n + k] = training ? T(-a * totals[k] / count - b * double(center[k])) : T(0);
  }
  combine(c, g, x, factors.data(), made->of_x.data<T>());
}

// ---- layers: rows of n elements, with a weight for each element

template <class T>
void layer_back(const Given& given, int64_t n, const T* mean, const T* rstd, Made* made) {
  const T *g = given.g.data<T>(), *x = given.x.data<T>(), *gamma = given.gamma<T>();
  const int64_t rows = n ? given.x.numel() / n : 0;
  if (given.wanted[0]) {
    T* y = made->of_x.data<T>();
    kernels::parallel_for(rows, grain_for(n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        T sums[2];
        const int64_t at = r * n;
        functions<T>().sums(n, g + at, gamma, x + at, mean[r], sums);
        const double scale = double(rstd[r]), count = double(n);
        const double b = -scale * scale * scale * double(sums[1]) / count;
        const double c = -scale * double(sums[0]) / count - b * double(mean[r]);
        functions<T>().combine(n, g + at, gamma, x + at, rstd[r], T(b), T(c), y + at);
      }
    });
  }
  if (!given.wanted[1] && !given.wanted[2]) return;
  // Parts of the rows are summed separately, and the parts in order, so that sums do not depend on
  // the number of threads.
  const int64_t part = std::max(kRows, (rows + 15) / 16), parts = (rows + part - 1) / part;
  Pooled<double> all(as_size(parts * 2 * n), 0.0);
  kernels::parallel_for(parts, grain_for(part * n), [&](int64_t begin, int64_t end) {
    Pooled<T> space(as_size(2 * n), T(0));
    for (int64_t p = begin; p < end; ++p) {
      double* to = all.data() + p * 2 * n;
      for (int64_t first = p * part; first < std::min(rows, (p + 1) * part); first += kRows) {
        std::fill(space.begin(), space.end(), T(0));
        const int64_t last = std::min({rows, (p + 1) * part, first + kRows});
        for (int64_t r = first; r < last; ++r) {
          functions<T>().add_row(n, g + r * n, x + r * n, mean[r], rstd[r], space.data(),
                                 space.data() + n);
        }
        kernels::worked((last - first) * n);
        for (int64_t j = 0; j < 2 * n; ++j) to[j] += double(space[size_t(j)]);
      }
    }
  });
  for (int64_t j = 0; j < n; ++j) {
    double total = 0, product = 0;
    for (int64_t p = 0; p < parts; ++p) {
      total += all[size_t(p * 2 * n + j)];
      product += all[size_t((p * 2 + 1) * n + j)];
    }
    if (given.wanted[1]) made->of_weight.data<T>()[j] = T(product);
    if (given.wanted[2]) made->of_bias.data<T>()[j] = T(total);
  }
}

// ---- groups: rows of `together` channels of `pixels` elements, with a weight for each channel

template <class T>
void group_back(const Given& given, const Channels& c, int64_t groups, const T* mean, const T* rstd,
                Made* made) {
  const T *g = given.g.data<T>(), *x = given.x.data<T>(), *gamma = given.gamma<T>();
  const int64_t together = c.channels / groups, rows = c.images * groups;
  Pooled<double> sums(as_size(2 * c.images * c.channels), 0.0);  // of each channel of each image
  T* y = given.wanted[0] ? made->of_x.data<T>() : nullptr;
  const auto of_group = [&](int64_t r) {
    double total = 0, product = 0;
    const double scale = double(rstd[r]), count = double(together * c.pixels);
    for (int64_t k = 0; k < together; ++k) {
      T both[2];
      const int64_t plane = r * together + k, at = plane * c.pixels;
      functions<T>().sums(c.pixels, g + at, nullptr, x + at, mean[r], both);
      const double w = gamma ? double(gamma[plane % c.channels]) : 1.0;
      total += w * double(both[0]);
      product += w * double(both[1]);
      sums[size_t(2 * plane)] = double(both[0]);
      sums[size_t(2 * plane + 1)] = double(both[1]) * scale;
    }
    const double b = -scale * scale * scale * product / count;
    const double rest = -scale * total / count - b * double(mean[r]);
    for (int64_t k = 0; k < together && y; ++k) {
      const int64_t plane = r * together + k, at = plane * c.pixels;
      const double a = scale * (gamma ? double(gamma[plane % c.channels]) : 1.0);
      functions<T>().combine(c.pixels, g + at, nullptr, x + at, T(a), T(b), T(rest), y + at);
    }
  };
  kernels::parallel_for(rows, grain_for(together * c.pixels), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) of_group(r);
  });
  for (int64_t k = 0; k < c.channels; ++k) {
    double total = 0, product = 0;
    for (int64_t i = 0; i < c.images; ++i) {
      total += sums[size_t(2 * (i * c.channels + k))];
      product += sums[size_t(2 * (i * c.channels + k) + 1)];
    }
    if (given.wanted[1]) made->of_weight.data<T>()[k] = T(product);
    if (given.wanted[2]) made->of_bias.data<T>()[k] = T(total);
  }
}

Made room_for(const Given& given, IntSpan weight) {
  Made made;
  if (given.wanted[0]) made.of_x = Tensor::empty(given.x.sizes(), given.computed);
  if (given.wanted[1]) made.of_weight = Tensor::zeros(weight, given.computed);
  if (given.wanted[2]) made.of_bias = Tensor::zeros(weight, given.computed);
  return made;
}

// Inverse standard deviations from variances.
template <class T>
void invert(int64_t n, const T* variance, double eps, T* to) {
  for (int64_t k = 0; k < n; ++k) to[k] = T(1 / std::sqrt(double(variance[k]) + eps));
}

}  // namespace

SL_OP(aten_native_batch_norm_backward) {
  const char* name = "native_batch_norm_backward";
  const Tensor &input = args.tensor(1), &weight = args.opt_tensor(2);
  const bool training = args.boolean(7);
  const double eps = args.number(8);
  SL_CHECK(input.dim() >= 2, name, ": expected an input of at least 2 dimensions, but got ",
           to_string(input.sizes()));
  const Given given(name, args.tensor(0), input, weight, args.list(9));
  const Channels c(input);
  SL_CHECK(!weight.defined() || weight.numel() == c.channels, name, ": a weight of size ",
           to_string(weight.defined() ? weight.sizes() : IntSpan()), " does not fit ", c.channels,
           " channels");
  Made made = room_for(given, {c.channels});
  if (input.numel() == 0) return made.give(given, input, out);
  const Tensor& known_mean = args.opt_tensor(training ? 5 : 3);
  const Tensor& known_spread = args.opt_tensor(training ? 6 : 4);
  Tensor mean, invstd;
  for_float_type(given.computed, [&](auto zero) {
    using T = decltype(zero);
    if (known_mean.defined() && known_spread.defined()) {
      mean = statistic(name, known_mean, c.channels, given.computed);
      invstd = statistic(name, known_spread, c.channels, given.computed);
      if (!training) {
        const Tensor variance = invstd;
        invstd = Tensor::empty({c.channels}, given.computed);
        invert(c.channels, variance.data<T>(), eps, invstd.data<T>());
      }
    } else {
      SL_CHECK(training, name, ": running_mean and running_var must be given");
      mean = Tensor::empty({c.channels}, given.computed);
      invstd = Tensor::empty({c.channels}, given.computed);
      find_statistics(c, given.x.data<T>(), eps, mean.data<T>(), invstd.data<T>());
    }
    batch_back<T>(given, c, mean, invstd, training, &made);
  });
  made.give(given, input, out);
}

SL_OP(aten_native_layer_norm_backward) {
  const char* name = "native_layer_norm_backward";
  const Tensor &input = args.tensor(1), &weight = args.opt_tensor(5);
  const Ints shape = args.ints(2);
  const int64_t axis = input.dim() - int64_t(shape.size());
  bool fits = axis >= 0 && !shape.empty();
  for (int64_t i = axis; fits && i < input.dim(); ++i) fits = input.size(i) == shape[i - axis];
  SL_CHECK(fits, name, ": normalized_shape=", to_string(shape), " does not fit an input of size ",
           to_string(input.sizes()));
  const Given given(name, args.tensor(0), input, weight, args.list(7));
  SL_CHECK(!weight.defined() || weight.sizes() == IntSpan(shape), name, ": a weight of size ",
           to_string(weight.defined() ? weight.sizes() : IntSpan()),
           " does not fit normalized_shape=", to_string(shape));
  int64_t n = 1;
  for (int64_t v : shape) n = Exact(n) * v;
  const int64_t rows = n ? input.numel() / n : 0;
  Made made = room_for(given, shape);
  if (input.numel() == 0) return made.give(given, input, out);
  const Tensor mean = statistic(name, args.tensor(3), rows, given.computed);
  const Tensor rstd = statistic(name, args.tensor(4), rows, given.computed);
  for_float_type(given.computed, [&](auto zero) {
    using T = decltype(zero);
    layer_back<T>(given, n, mean.data<T>(), rstd.data<T>(), &made);
  });
  made.give(given, input, out);
}

SL_OP(aten_native_group_norm_backward) {
  const char* name = "native_group_norm_backward";
  const Tensor &input = args.tensor(1), &weight = args.opt_tensor(4);
  const int64_t groups = args.integer(8);
  const Given given(name, args.tensor(0), input, weight, args.list(9));
  const Channels c(args.integer(5), args.integer(6), args.integer(7));
  int64_t all = 0;
  SL_CHECK(c.images >= 0 && c.channels >= 0 && c.pixels >= 0 &&
               !__builtin_mul_overflow(c.images, c.channels, &all) &&
               !__builtin_mul_overflow(all, c.pixels, &all) && all == input.numel(),
           name, ": N, C and HxW do not fit an input of size ", to_string(input.sizes()));
  SL_CHECK(groups > 0 && c.channels % groups == 0, name, ": ", c.channels,
           " channels are not divisible by ", groups, " groups");
  SL_CHECK(!weight.defined() || weight.numel() == c.channels, name, ": a weight of size ",
           to_string(weight.defined() ? weight.sizes() : IntSpan()), " does not fit ", c.channels,
           " channels");
  Made made = room_for(given, {c.channels});
  if (input.numel() == 0) return made.give(given, input, out);
  const Tensor mean = statistic(name, args.tensor(2), c.images * groups, given.computed);
  const Tensor rstd = statistic(name, args.tensor(3), c.images * groups, given.computed);
  for_float_type(given.computed, [&](auto zero) {
    using T = decltype(zero);
    group_back<T>(given, c, groups, mean.data<T>(), rstd.data<T>(), &made);
  });
  made.give(given, input, out);
}

}  // namespace scriptlang
