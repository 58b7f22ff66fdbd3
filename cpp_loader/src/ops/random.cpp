// Random numbers: fills tensors from PyTorch's generator, with various distributions.
#include "random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "../../kernels/kernel_set.h"
#include "../../kernels/normal.h"
#include "express.h"
#include "forms.h"
#include "layout.h"
#include "options.h"
#include "random_parts.h"

namespace scriptlang {

using namespace express;
using namespace drawing;

Tensor drawing::as_it_lies(const Tensor& t) {
  if (t.is_contiguous() || t.dim() < 2) return t;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < t.dim(); ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return t.stride(a) > t.stride(b); });
  return view_permute(t, order);
}

namespace {

constexpr double kTwoPi = 6.283185307179586;

// Fills a tensor of any type with f(Draw) -> double, called for the elements in order.
template <class F>
void fill_each(const Tensor& given, Generator& generator, F f) {
  check_writable(given);
  Tensor t = as_it_lies(given);
  if (t.dtype() == ScalarType::Float32 && t.is_contiguous()) {
    Lock lock(generator.mutex);
    Draw draw(generator);
    float* to = t.data<float>();
    for (int64_t i = 0; i < t.numel(); ++i) {
      kernels::worked(64);
      to[i] = float(f(draw));
    }
    return;
  }
  Tensor values = Tensor::empty(t.sizes(), ScalarType::Float64);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    double* to = values.data<double>();
    for (int64_t i = 0; i < values.numel(); ++i) {
      kernels::worked(64);
      to[i] = f(draw);
    }
  }
  copy_into(t, values);
}

// Fills a tensor of any type with f(uniform number) -> double, called for the elements in order.
template <class F>
void fill_from_uniform(const Tensor& given, Generator& generator, F f) {
  constexpr int64_t kBlock = 256;
  check_writable(given);
  Tensor t = as_it_lies(given);
  bool direct = t.dtype() == ScalarType::Float32 && t.is_contiguous();
  Tensor values = direct ? t : Tensor::empty(t.sizes(), ScalarType::Float64);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    double u[kBlock];
    for (int64_t done = 0; done < t.numel(); done += kBlock) {
      int64_t n = std::min(kBlock, t.numel() - done);
      draw.uniform(n, u);
      if (direct) {
        float* to = values.data<float>() + done;
        std::transform(u, u + n, to, [&](double x) { return float(f(x)); });
      } else {
        std::transform(u, u + n, values.data<double>() + done, f);
      }
    }
  }
  if (!direct) copy_into(t, values);
}

// low + x * range, rounded once; often just x.
template <class T>
T scaled(T x, T range, T low) {
  return range == T(1) && low == T(0) ? x : std::fma(x, range, low);
}

template <class T>
void fill_uniform_row(T* data, int64_t n, T range, T low, Draw draw) {
  draw.uniform(n, data);
  if (range == T(1) && low == T(0)) return;
  for (int64_t i = 0; i < n; ++i) data[i] = scaled(data[i], range, low);
}

// Turns blocks of sixteen uniform numbers into normal ones by the Box-Muller transform, which pairs
// each of the first eight with one of the last eight.
void normal_blocks(float* data, int64_t blocks, float mean, float std) {
  kernels::kernels().normal->blocks_f32(blocks, mean, std, data);
}

void normal_blocks(double* data, int64_t blocks, double mean, double std) {
  using kernels::Unary;
  constexpr int64_t kMost = 32;
  auto map = [](Unary op, const double* from, double* to, int64_t n) {
    const void* in[1] = {from};
    const int64_t step[1] = {1};
    kernels::loops(op)[ScalarType::Float64](n, to, in, step, nullptr);
  };
  while (blocks > 0) {
    double radius[8 * kMost], theta[8 * kMost], along[8 * kMost], across[8 * kMost];
    int64_t count = std::min(blocks, kMost), n = 8 * count;
    for (int64_t i = 0; i < n; ++i) {
      const double* u = data + i / 8 * 16 + i % 8;
      radius[i] = 1 - u[0];
      theta[i] = kTwoPi * u[8];
    }
    map(Unary::k_log, radius, radius, n);
    for (int64_t i = 0; i < n; ++i) radius[i] *= -2;
    map(Unary::k_sqrt, radius, radius, n);
    map(Unary::k_cos, theta, along, n);
    map(Unary::k_sin, theta, across, n);
    for (int64_t i = 0; i < n; ++i) {
      double* to = data + i / 8 * 16 + i % 8;
      to[0] = scaled(radius[i] * along[i], std, mean);
      to[8] = scaled(radius[i] * across[i], std, mean);
    }
    data += 16 * count;
    blocks -= count;
  }
}

// Fills n >= 16 normal numbers. The last n % 16 come from a last block of sixteen that is drawn
// again. `whole_only`: no numbers are drawn for that rest before, as PyTorch does for half types.
template <class T>
void fill_normal_blocks(T* data, int64_t n, T mean, T std, Draw draw, bool whole_only) {
  // Numbers are transformed while they are in the L1 cache; those of the rest are drawn and
  // discarded.
  constexpr int64_t kPiece = 1024;
  for (int64_t done = 0; done < n - n % 16; done += kPiece) {
    int64_t count = std::min(kPiece, n - n % 16 - done);
    draw.uniform(count, data + done);
    if (done + count == n - n % 16 && !whole_only) draw.uniform(n % 16, data + done + count);
    normal_blocks(data + done, count / 16, mean, std);
  }
  if (n % 16 != 0) {
    data += n - 16;
    draw.uniform(16, data);
    normal_blocks(data, 1, mean, std);
  }
}

// Draws blocks of random words and converts them to numbers at `to`.
template <class T, class Convert>
void draw_uniform(int64_t n, T* to, Generator& generator, Convert convert) {
  constexpr int64_t kBlock = 512, kWords = sizeof(T) / sizeof(uint32_t);
  uint32_t words[kBlock * kWords];
  for (; n > 0; n -= kBlock, to += kBlock) {
    int64_t count = std::min(n, kBlock);
    generator.engine.draw(count * kWords, words);
    convert(count, words, to);
    kernels::worked(16 * count);
  }
}

}  // namespace

void Draw::uniform(int64_t n, float* to) {
  draw_uniform(n, to, generator_, kernels::kernels().twister->uniform_f32);
}
void Draw::uniform(int64_t n, double* to) {
  draw_uniform(n, to, generator_, kernels::kernels().twister->uniform_f64);
}

double Draw::normal(double mean, double std) {
  if (generator_.has_next_double) {
    generator_.has_next_double = false;
    return generator_.next_double * std + mean;
  }
  double u1 = uniform(), u2 = uniform();
  double radius = std::sqrt(-2.0 * std::log1p(-u2)), theta = kTwoPi * u1;
  generator_.next_double = radius * std::sin(theta);
  generator_.has_next_double = true;
  return radius * std::cos(theta) * std + mean;
}

namespace {

// Fills a complex tensor: fill() gets the real and imaginary parts as one row of real numbers,
// which are then copied back.
template <class Fill>
void fill_parts(const Tensor& given, Fill fill) {
  Tensor t = as_it_lies(given);
  Tensor whole = Tensor::empty(t.sizes(), t.dtype());
  fill(Tensor::on_storage(whole.storage(), to_real(t.dtype()), {2 * t.numel()}, {1}, 0));
  copy_into(t, whole);
}

// A number that rounding to the half type takes to the (exclusive) end becomes the start instead.
template <class Half>
void stay_below(const Tensor& values, double from, double to) {
  const float start = float(Half(float(from))), end = float(Half(float(to)));
  float* data = values.data<float>();
  for (int64_t i = 0; i < values.numel(); ++i) {
    if (float(Half(data[i])) == end) data[i] = start;
  }
}

}  // namespace

// Types narrower than float are drawn and computed as float.
void fill_uniform(const Tensor& given, double from, double to, Generator& generator) {
  ScalarType type = given.dtype();
  if (is_complex(type)) {
    return fill_parts(given,
                      [&](const Tensor& parts) { fill_uniform(parts, from, to, generator); });
  }
  if (!is_floating(type))
    raise(ErrorKind::NotImplementedError, "\"check_uniform_bounds\" not implemented for '",
          dtype_display_name(type), "'");
  double most = type == ScalarType::Float64   ? std::numeric_limits<double>::max()
                : type == ScalarType::Float16 ? 65504
                                              : std::numeric_limits<float>::max();
  SL_CHECK(std::abs(from) <= most && std::abs(to) <= most && to - from <= most,
           "uniform_: from=", from, " or to=", to, " is out of bounds for ", dtype_name(type));
  SL_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from,
           " > to=", to);
  check_writable(given);
  Tensor t = as_it_lies(given);
  bool wide = type == ScalarType::Float64;
  ScalarType drawn = wide ? ScalarType::Float64 : ScalarType::Float32;
  bool direct = type == drawn && t.is_contiguous();
  Tensor values = direct ? t : Tensor::empty(t.sizes(), drawn);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    float low = float(from);
    if (wide) fill_uniform_row(values.data<double>(), t.numel(), to - from, from, draw);
    else fill_uniform_row(values.data<float>(), t.numel(), float(to) - low, low, draw);
  }
  if (type == ScalarType::Float16) stay_below<float16>(values, from, to);
  if (type == ScalarType::BFloat16) stay_below<bfloat16>(values, from, to);
  if (!direct) copy_into(t, values);
}

void fill_normal(const Tensor& t, double mean, double std, Generator& generator) {
  SL_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  if (is_complex(t.dtype())) {
    // Each part has half the variance, and the same mean.
    const double part = std * std::sqrt(0.5);
    return fill_parts(t, [&](const Tensor& parts) {
      if (t.is_contiguous()) fill_normal(parts, mean, part, generator);
      else fill_each(parts, generator, [&](Draw& draw) { return draw.normal(mean, part); });
    });
  }
  if (t.numel() == 0) return;
  if (!is_floating(t.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"normal_kernel_cpu\" not implemented for '",
          dtype_display_name(t.dtype()), "'");
  }
  check_writable(t);
  if (t.numel() < 16 || !t.is_contiguous()) {
    return fill_each(t, generator, [&](Draw& draw) { return draw.normal(mean, std); });
  }
  bool wide = t.dtype() == ScalarType::Float64;
  bool half = t.itemsize() == 2;
  ScalarType drawn = wide ? ScalarType::Float64 : ScalarType::Float32;
  bool direct = t.dtype() == drawn && t.is_contiguous();
  Tensor values = direct ? t : Tensor::empty(t.sizes(), drawn);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    if (wide) fill_normal_blocks(values.data<double>(), t.numel(), mean, std, draw, half);
    else fill_normal_blocks(values.data<float>(), t.numel(), float(mean), float(std), draw, half);
  }
  if (!direct) copy_into(t, values);
}

void fill_bernoulli(const Tensor& t, double p, Generator& generator) {
  SL_CHECK(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
  fill_from_uniform(t, generator, [p](double u) { return double(u < p); });
}

namespace {

Tensor uniform(const Tensor& t, Generator& generator) {
  fill_uniform(t, 0, 1, generator);
  return t;
}
Tensor normal(const Tensor& t, Generator& generator) {
  fill_normal(t, 0, 1, generator);
  return t;
}

// Draws in the type of the probabilities as PyTorch does: numbers of 53 bits for double, of 24 bits
// for narrower types.
template <class T>
void draw_each(const Tensor& p, T* out, Draw draw) {
  constexpr int64_t kBlock = 256;
  T u[kBlock];
  const T* probability = p.data<T>();
  for (int64_t done = 0; done < p.numel(); done += kBlock) {
    int64_t n = std::min(kBlock, p.numel() - done);
    draw.uniform(n, u);
    bool valid = true;
    for (int64_t i = 0; i < n; ++i) {
      T each = probability[done + i];
      valid &= each >= T(0) && each <= T(1);
      out[done + i] = T(u[i] < each);
    }
    SL_CHECK(valid, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  }
}

Tensor bernoulli_each(const Tensor& p, ScalarType dtype, Generator& generator) {
  bool wide = p.dtype() == ScalarType::Float64;
  ScalarType drawn = wide ? ScalarType::Float64 : ScalarType::Float32;
  Tensor probabilities = contiguous_as(p, drawn);
  Tensor out = Tensor::empty(p.sizes(), drawn);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    if (wide) draw_each(probabilities, out.data<double>(), draw);
    else draw_each(probabilities, out.data<float>(), draw);
  }
  return to_dtype(out, dtype);
}

void check_floats(const Tensor& t, const char* name) {
  if (!is_floating(t.dtype())) {
    raise(ErrorKind::NotImplementedError, '"', name, "\" not implemented for '",
          dtype_display_name(t.dtype()), "'");
  }
}

void check_deviations(const Tensor& std) {
  SL_CHECK(!is_complex(std.dtype()), "normal expects standard deviation to be non-complex");
  Tensor values = to_dtype(to_contiguous(std), ScalarType::Float64);
  const double* x = values.data<double>();
  SL_CHECK(std::all_of(x, x + values.numel(), [](double v) { return v >= 0; }),
           "normal expects all elements of std >= 0.0");
}

// The out= variants of normal: values are drawn in the type of the last argument, which takes their
// shape. With a number as deviation, PyTorch broadcasts the means with that argument's own shape.
Tensor normal_out(Args args, Context& ctx) {
  const Tensor& to = args.tensor(3);
  Generator& generator = args.generator(2, ctx);
  const bool spreads = args[1].is_tensor(), moves = args[0].is_tensor();
  if (spreads) check_deviations(args.tensor(1));
  IntSpan sizes = spreads ? args.tensor(1).sizes() : to.sizes();
  std::vector<int64_t> shape = broadcast_shapes(moves ? args.tensor(0).sizes() : sizes, sizes);
  Tensor t = to.sizes() == shape ? to : Tensor::empty(shape, to.dtype());
  fill_normal(t, 0, spreads ? 1 : args.number(1), generator);
  if (spreads) forms::change(t, mul(t, args.tensor(1)));
  forms::change(t, moves ? add(t, args.tensor(0)) : add(t, Scalar(args.number(0))));
  forms::store(to, t);
  return to;
}

Tensor cauchy(const Tensor& t, double median, double sigma, Generator& generator) {
  check_floats(t, "cauchy");
  SL_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  fill_from_uniform(t, generator,
                    [&](double u) { return median + sigma * std::tan(kTwoPi / 2 * (u - 0.5)); });
  return t;
}

Tensor log_normal(const Tensor& t, double mean, double std, Generator& generator) {
  check_floats(t, "log_normal");
  SL_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  fill_each(t, generator, [&](Draw& draw) { return std::exp(draw.normal(mean, std)); });
  return t;
}

Tensor geometric(const Tensor& t, double p, Generator& generator) {
  if (t.dtype() == ScalarType::Bool)
    raise(ErrorKind::NotImplementedError, "\"geometric_cpu\" not implemented for 'Bool'");
  SL_CHECK(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
  double scale = std::log1p(-p);
  fill_from_uniform(t, generator, [&](double u) {
    double number = std::ceil(std::log(u) / scale);
    // A draw of 0 gives infinity, which integers cannot hold.
    return std::isfinite(number) || is_floating(t.dtype()) ? number : 1e18;
  });
  return t;
}

}  // namespace

SL_OP(aten_rand) {
  out[0] =
      uniform(Tensor::empty(args.ints(0), options(args, 1, ScalarType::Float32)), *ctx.generator);
}
SL_OP(aten_rand_generator) {
  out[0] = uniform(Tensor::empty(args.ints(0), options(args, 2, ScalarType::Float32)),
                   args.generator(1, ctx));
}
SL_OP(aten_rand_like) { out[0] = uniform(like(args, 1), *ctx.generator); }
SL_OP(aten_rand_like_generator) { out[0] = uniform(like(args, 2), args.generator(1, ctx)); }
SL_OP(aten_randn) {
  out[0] =
      normal(Tensor::empty(args.ints(0), options(args, 1, ScalarType::Float32)), *ctx.generator);
}
SL_OP(aten_randn_generator) {
  out[0] = normal(Tensor::empty(args.ints(0), options(args, 2, ScalarType::Float32)),
                  args.generator(1, ctx));
}
SL_OP(aten_randn_like) { out[0] = normal(like(args, 1), *ctx.generator); }
SL_OP(aten_randn_like_generator) { out[0] = normal(like(args, 2), args.generator(1, ctx)); }
SL_OP(aten_uniform_) {
  fill_uniform(args.tensor(0), args.number(1), args.number(2), args.generator(3, ctx));
  out[0] = args.tensor(0);
}
SL_OP(aten_normal_) {
  fill_normal(args.tensor(0), args.number(1), args.number(2), args.generator(3, ctx));
  out[0] = args.tensor(0);
}
SL_OP(aten_normal_Tensor_Tensor) {
  std::vector<int64_t> shape = broadcast_shapes(args.tensor(0).sizes(), args.tensor(1).sizes());
  Tensor t = Tensor::empty(shape, args.tensor(0).dtype());
  check_deviations(args.tensor(1));
  fill_normal(t, 0, 1, args.generator(2, ctx));
  out[0] = to_dtype(add(mul(t, args.tensor(1)), args.tensor(0)), t.dtype());
}
SL_OP(aten_normal_Tensor_float) {
  Tensor t = Tensor::empty(args.tensor(0).sizes(), args.tensor(0).dtype());
  fill_normal(t, 0, args.number(1), args.generator(2, ctx));
  out[0] = add(t, args.tensor(0));
}
SL_OP(aten_normal_float_Tensor) {
  Tensor t = Tensor::empty(args.tensor(1).sizes(), args.tensor(1).dtype());
  check_deviations(args.tensor(1));
  fill_normal(t, 0, 1, args.generator(2, ctx));
  out[0] = to_dtype(add(mul(t, args.tensor(1)), Scalar(args.number(0))), t.dtype());
}
SL_OP(aten_normal_Tensor_Tensor_out) { out[0] = normal_out(args, ctx); }
SL_OP(aten_normal_Tensor_float_out) { out[0] = normal_out(args, ctx); }
SL_OP(aten_normal_float_Tensor_out) { out[0] = normal_out(args, ctx); }
SL_OP(aten_normal_float_float) {
  Tensor t = Tensor::empty(args.ints(2), options(args, 4, ScalarType::Float32));
  fill_normal(t, args.number(0), args.number(1), args.generator(3, ctx));
  out[0] = t;
}
SL_OP(aten_exponential_) {
  double lambda = args.number(1);
  SL_CHECK(lambda > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambda);
  SL_CHECK(is_floating(args.tensor(0).dtype()),
           "Exponential distribution is a continuous "
           "probability distribution. dtype must be a floating point but you specified ",
           dtype_display_name(args.tensor(0).dtype()));
  fill_from_uniform(args.tensor(0), args.generator(2, ctx),
                    [&](double u) { return -1.0 / lambda * std::log1p(-u); });
  out[0] = args.tensor(0);
}
SL_OP(aten_bernoulli) {
  if (!is_floating(args.tensor(0).dtype())) {
    raise(ErrorKind::NotImplementedError, "\"bernoulli_tensor_cpu_p_\" not implemented for '",
          dtype_display_name(args.tensor(0).dtype()), "'");
  }
  out[0] = bernoulli_each(args.tensor(0), args.tensor(0).dtype(), args.generator(1, ctx));
}
SL_OP(aten_bernoulli_p) {
  Tensor t = Tensor::empty(args.tensor(0).sizes(), args.tensor(0).dtype());
  fill_bernoulli(t, args.number(1), args.generator(2, ctx));
  out[0] = t;
}
SL_OP(aten_bernoulli__float) {
  fill_bernoulli(args.tensor(0), args.number(1), args.generator(2, ctx));
  out[0] = args.tensor(0);
}
SL_OP(aten_bernoulli__Tensor) {
  const Tensor& self = args.tensor(0);
  // The probabilities in the order in which the elements lie in memory.
  Tensor places = as_it_lies(Tensor::on_storage(self.storage(), self.dtype(), self.sizes(),
                                                self.strides(), self.storage_offset()));
  Tensor p = Tensor::empty_like(self, args.tensor(1).dtype());
  copy_into(p, view_expand(args.tensor(1), self.sizes()));
  copy_into(places, bernoulli_each(as_it_lies(p), self.dtype(), args.generator(2, ctx)));
  out[0] = self;
}

SL_OP(aten_cauchy_) {
  out[0] = cauchy(args.tensor(0), args.number(1), args.number(2), args.generator(3, ctx));
}
SL_OP(aten_log_normal_) {
  out[0] = log_normal(args.tensor(0), args.number(1), args.number(2), args.generator(3, ctx));
}
SL_OP(aten_geometric_) {
  out[0] = geometric(args.tensor(0), args.number(1), args.generator(2, ctx));
}

SL_FILLED(aten_uniform, aten_uniform_)
SL_FILLED(aten_bernoulli_Tensor, aten_bernoulli__Tensor)
SL_FILLED(aten_exponential, aten_exponential_)
SL_FILLED(aten_cauchy, aten_cauchy_)
SL_FILLED(aten_log_normal, aten_log_normal_)
SL_FILLED(aten_geometric, aten_geometric_)
SL_FILLED(aten_normal_functional, aten_normal_)

// Generators: the default one, and generator objects.
SL_OP(aten_manual_seed) {
  std::lock_guard<std::mutex> lock(ctx.generator->mutex);
  ctx.generator->manual_seed(uint64_t(args.integer(0)));
}
SL_OP(aten_manual_seed_generator) {
  Generator& generator = args[0].as_generator();
  Lock lock(generator.mutex);
  generator.manual_seed(uint64_t(args.integer(1)));
  out[0] = args[0];
}
SL_OP(aten_seed) {
  Generator& generator = args[0].as_generator();
  Lock lock(generator.mutex);
  std::random_device entropy;
  uint64_t high = entropy();
  generator.manual_seed((high << 32 | entropy()) & 0x1fffffffffffff);
  out[0] = int64_t(generator.seed);
}
SL_OP(aten_initial_seed) {
  Generator& generator = args[0].as_generator();
  Lock lock(generator.mutex);
  out[0] = int64_t(generator.seed);
}
SL_OP(aten_Generator) {
  args.want_cpu(0);
  out[0] = Value(args.none(1) ? Generator::make() : Generator::make(uint64_t(args.integer(1))));
}

}  // namespace scriptlang
