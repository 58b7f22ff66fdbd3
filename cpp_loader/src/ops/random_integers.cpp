// Random integers and permutations.
#include <algorithm>
#include <cmath>
#include <limits>

#include "express.h"
#include "layout.h"
#include "random_parts.h"

namespace scriptlang {

using namespace express;
using namespace drawing;

namespace {

// Fills an int64 tensor with low + (32 random bits modulo range).
void fill_remainders(const Tensor& t, uint32_t range, int64_t low, Draw draw) {
  constexpr int64_t kBlock = 512;
  uint32_t words[kBlock];
  int64_t* to = t.data<int64_t>();
  for (int64_t done = 0; done < t.numel(); done += kBlock) {
    int64_t n = std::min(kBlock, t.numel() - done);
    draw.bits32(n, words);
    kernels::worked(4 * n);
    for (int64_t i = 0; i < n; ++i) to[done + i] = low + int64_t(words[i] % range);
  }
}

void check_random(const Tensor& t) {
  bool bare = t.dtype() == ScalarType::UInt16 || t.dtype() == ScalarType::UInt32 ||
              t.dtype() == ScalarType::UInt64;
  if (is_complex(t.dtype()) || bare) {
    raise(ErrorKind::NotImplementedError, "\"random_kernel_cpu\" not implemented for '",
          dtype_display_name(t.dtype()), "'");
  }
  check_writable(t);
}

// Raises where a type cannot hold the bound.
void check_in_range(ScalarType type, int64_t bound, const char* what) {
  bool fits = true;
  if (type == ScalarType::Bool) fits = bound == 0 || bound == 1;
  else if (type == ScalarType::Float16) fits = std::abs(double(bound)) <= 65504;
  else if (!is_floating(type) && itemsize(type) < 8) {
    bool negative =
        type == ScalarType::Int8 || type == ScalarType::Int16 || type == ScalarType::Int32;
    int64_t half = int64_t{1} << (8 * itemsize(type) - 1);
    fits = negative ? bound >= -half && bound < half : bound >= 0 && bound < 2 * half;
  }
  SL_CHECK(fits, what, " is out of bounds for ", dtype_name(type));
}

// Integers in [low, low + range); a range of 0 means all of 64 bits. As in PyTorch, ranges from
// 2^28 on draw 64 bits.
Tensor integers_from(const Tensor& given, int64_t low, uint64_t range, Generator& generator) {
  Tensor t = as_it_lies(given);
  Tensor values = Tensor::empty(t.sizes(), ScalarType::Int64);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    if (range == 0 || range >= uint64_t{1} << 28) {
      int64_t* to = values.data<int64_t>();
      for (int64_t i = 0; i < values.numel(); ++i) {
        kernels::worked(8);
        uint64_t bits = draw.bits64();
        to[i] = int64_t(uint64_t(low) + (range == 0 ? bits : bits % range));
      }
    } else {
      fill_remainders(values, uint32_t(range), low, draw);
    }
  }
  copy_into(t, values);
  return given;
}

// The number of bits of a float type's significand.
int digits_of(ScalarType type) {
  switch (type) {
    case ScalarType::Float64: return 53;
    case ScalarType::Float16: return 11;
    case ScalarType::BFloat16: return 8;
    default: return 24;
  }
}

// Rounds an integer of up to 64 bits to the nearest number of a float type.
double rounded_to(ScalarType type, double n) {
  if (n == 0) return n;
  double step = std::ldexp(1.0, std::ilogb(n) - digits_of(type) + 1);
  return step <= 1 ? n : std::nearbyint(n / step) * step;
}

// Narrows [low, high) for a float type: where rounding takes the first or last integer out of the
// range, the bound moves inwards by one step of the type.
void bring_inside(ScalarType type, int64_t* low, int64_t* high) {
  auto step = [&](int64_t n) {
    return std::ldexp(1.0, std::max(0, std::ilogb(double(n)) - digits_of(type) + 1));
  };
  const double limit = 0x1p63;
  if (*low < std::numeric_limits<int64_t>::max()) {
    double first = rounded_to(type, double(*low + 1));
    if (first < double(*low)) *low = int64_t(first + step(*low + 1));
  }
  if (*high > std::numeric_limits<int64_t>::min()) {
    double last = rounded_to(type, double(*high - 1));
    if (last >= limit || last >= double(*high)) *high = int64_t(last - step(*high - 1));
  }
}

// Random integers in [low, high).
Tensor integers(const Tensor& given, int64_t low, int64_t high, Generator& generator) {
  check_random(given);
  if (is_floating(given.dtype())) bring_inside(given.dtype(), &low, &high);
  SL_CHECK(low < high, "random_ expects 'from' to be less than 'to', but got from=", low,
           " >= to=", high);
  check_in_range(given.dtype(), low, "from");
  check_in_range(given.dtype(), high - 1, "to - 1");
  return integers_from(given, low, uint64_t(high) - uint64_t(low), generator);
}

Tensor permutation(int64_t n, ScalarType dtype, Generator& generator) {
  SL_CHECK(n >= 0, "n must be non-negative, got", n);
  Tensor t = Tensor::empty({n}, ScalarType::Int64);
  int64_t* to = t.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) to[i] = i;
  Lock lock(generator.mutex);
  Draw draw(generator);
  for (int64_t i = 0; i + 1 < n; ++i) {
    kernels::worked(16);
    uint32_t bits = draw.bits32();
    int64_t rest = n - i;  // a division of 32 bits takes half the time
    int64_t j = rest >> 32 ? int64_t(bits) : int64_t(bits % uint32_t(rest));
    std::swap(to[i], to[i + j]);
  }
  return to_dtype(t, dtype);
}

int64_t largest_random(ScalarType t) {
  switch (t) {
    case ScalarType::UInt8: return 256;
    case ScalarType::Int8: return 128;
    case ScalarType::Int16: return 32768;
    case ScalarType::Int32: return int64_t{1} << 31;
    case ScalarType::Bool: return 2;
    case ScalarType::Float32: return (int64_t{1} << 24) + 1;
    case ScalarType::Float64: return (int64_t{1} << 53) + 1;
    case ScalarType::Float16: return (int64_t{1} << 11) + 1;
    case ScalarType::BFloat16: return (int64_t{1} << 8) + 1;
    default: return std::numeric_limits<int64_t>::max();
  }
}

// Random integers over the non-negative range of the type; only wide types draw 64 bits.
Tensor any_integers(const Tensor& given, Generator& generator) {
  check_random(given);
  Tensor t = as_it_lies(given);
  bool wide = t.dtype() == ScalarType::Int64 || t.dtype() == ScalarType::Float64;
  uint64_t range =
      t.dtype() == ScalarType::Int64 ? uint64_t{1} << 63 : uint64_t(largest_random(t.dtype()));
  Tensor values = Tensor::empty(t.sizes(), ScalarType::Int64);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    if (!wide && range >> 32 == 0) {
      fill_remainders(values, uint32_t(range), 0, draw);
    } else {
      for (int64_t i = 0; i < values.numel(); ++i) {
        kernels::worked(8);
        values.data<int64_t>()[i] = int64_t((wide ? draw.bits64() : draw.bits32()) % range);
      }
    }
  }
  copy_into(t, values);
  return given;
}

}  // namespace

// The schema's default is int64, but a dtype of None means the default float type.
SL_OP(aten_randint) {
  out[0] = integers(Tensor::empty(args.ints(1), options(args, 2, ScalarType::Float32)), 0,
                    args.integer(0), *ctx.generator);
}
SL_OP(aten_randint_low) {
  out[0] = integers(Tensor::empty(args.ints(2), options(args, 3, ScalarType::Float32)),
                    args.integer(0), args.integer(1), *ctx.generator);
}
SL_OP(aten_randint_generator) {
  out[0] = integers(Tensor::empty(args.ints(1), options(args, 3, ScalarType::Float32)), 0,
                    args.integer(0), args.generator(2, ctx));
}
SL_OP(aten_randint_low_generator) {
  out[0] = integers(Tensor::empty(args.ints(2), options(args, 4, ScalarType::Float32)),
                    args.integer(0), args.integer(1), args.generator(3, ctx));
}
SL_OP(aten_randint_like) { out[0] = integers(like(args, 2), 0, args.integer(1), *ctx.generator); }
SL_OP(aten_randint_like_low_dtype) {
  out[0] = integers(like(args, 3), args.integer(1), args.integer(2), *ctx.generator);
}
SL_OP(aten_randperm) {
  out[0] = permutation(args.integer(0), options(args, 1, ScalarType::Int64), *ctx.generator);
}
SL_OP(aten_randperm_generator) {
  out[0] =
      permutation(args.integer(0), options(args, 2, ScalarType::Int64), args.generator(1, ctx));
}
SL_OP(aten_random_) { out[0] = any_integers(args.tensor(0), args.generator(1, ctx)); }
SL_OP(aten_random__to) {
  out[0] = integers(args.tensor(0), 0, args.integer(1), args.generator(2, ctx));
}
SL_OP(aten_random__from) {
  const Tensor& self = args.tensor(0);
  Generator& generator = args.generator(3, ctx);
  if (args.none(2) && self.dtype() == ScalarType::Int64) {
    check_random(self);
    uint64_t range = (uint64_t{1} << 63) - uint64_t(args.integer(1));
    out[0] = integers_from(self, args.integer(1), range, generator);
    return;
  }
  out[0] =
      integers(self, args.integer(1), args.integer(2, largest_random(self.dtype())), generator);
}

SL_FILLED(aten_random, aten_random_)
SL_FILLED(aten_random_from, aten_random__from)
SL_FILLED(aten_random_to, aten_random__to)

}  // namespace scriptlang
