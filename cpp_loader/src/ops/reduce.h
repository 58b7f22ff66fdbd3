// Reductions. The dimensions to reduce are moved last, so that kernels see contiguous rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "../../kernels/ahead.h"
#include "../../kernels/kept_types.h"
#include "../../kernels/parallel.h"
#include "recording.h"
#include "values/dims.h"
#include "view.h"

namespace scriptlang {

struct Reduction {
  Tensor rows;  // contiguous, [outer][n]
  int64_t outer = 1, n = 1;
  Dims sizes;  // of the result

  // A new tensor for the result, whose `outer` elements are filled in order.
  Tensor result(ScalarType dtype) const { return Tensor::empty(sizes, dtype); }
};

// The dimensions to reduce: wrapped and sorted. An empty list or None means all; raises where one
// is repeated.
Dims reduced_dims(const Value& dims, int64_t ndim);
inline Dims all_dims(const Tensor& t) { return reduced_dims(Value(), t.dim()); }
Reduction reduction(const Tensor& self, const Dims& dims, bool keepdim, ScalarType computed);

// Records the reduction of a symbolic tensor by a row function, which may be null (see
// Recording::add_rows).
Tensor record_reduction(const Tensor& self, const Dims& dims, bool keepdim, ScalarType computed,
                        ScalarType result, const RowFunction* function, std::vector<double> params,
                        Whole whole);

// Runs a reducing row function on every row and writes the results to `to`. Rows of another type
// are converted to that of `to` row by row, by `convert` if it is given.
void reduce_rows(const Reduction& r, const Tensor& to, const RowFunction& function,
                 const double* params = nullptr, kernels::Convert convert = nullptr);

// Calls f(row, n) -> R for every row and stores the results in `to`.
template <class T, class R, class F>
void for_rows(const Reduction& r, const Tensor& to, F f) {
  const T* from = r.rows.data<T>();
  R* out = to.data<R>();
  int64_t n = r.n;
  const kernels::Ahead ahead(r.outer, n * int64_t(sizeof(T)));
  kernels::parallel_for(r.outer, 32768 / std::max<int64_t>(1, n) + 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            ahead.fetch(from + i * n);
                            out[i] = f(from + i * n, n);
                          }
                        });
}

// A reduction that reads the data in place, without bringing the reduced dimensions last: of a
// contiguous tensor, over adjacent dimensions that enough elements follow. Each of the `outer`
// blocks is a matrix of n rows and `inner` columns, and the columns are reduced.
struct Columns {
  int64_t outer = 1, n = 1, inner = 1;

  static constexpr int64_t kLeast = 4, kBand = 512;

  // Sets the sizes; returns false where such a reduction is not possible.
  bool find(const Tensor& self, const Dims& dims);
  // Calls f(at, to, width) for every band of up to kBand columns, in parallel. `at` is the index of
  // the band's first element in the data, `to` its index in the result.
  template <class F>
  void for_bands(F f) const {
    int64_t bands = (inner + kBand - 1) / kBand;
    kernels::parallel_for(outer * bands, 32768 / std::max<int64_t>(1, n * kBand) + 1,
                          [&](int64_t begin, int64_t end) {
                            for (int64_t task = begin; task < end; ++task) {
                              int64_t o = task / bands, first = task % bands * kBand;
                              f(o * n * inner + first, o * inner + first,
                                std::min(kBand, inner - first));
                            }
                          });
  }
};

// Whether dimensions follow the reduced ones.
inline bool has_more_behind(const Tensor& self, const Dims& dims) {
  return !dims.empty() && dims.back() + 1 < self.dim();
}

// Whether sorted dimensions are adjacent. last_run: the last adjacent ones; before_last_run: the
// rest.
inline bool is_run(const Dims& dims) {
  return dims.empty() || dims.back() - dims.front() + 1 == int64_t(dims.size());
}
Dims last_run(const Dims& dims);
Dims before_last_run(const Dims& dims);

// For tensors whose elements are dense in memory but not in the order of the dimensions, such as
// transposed matrices: a contiguous view with the dimensions in memory order; *dims becomes the
// reduced dimensions of that view. Undefined where that would change the order of the dimensions
// that stay, or where there is nothing to reorder.
Tensor in_memory_order(const Tensor& self, Dims* dims);

// The sizes of the result of a reduction.
Dims reduced_sizes(const Tensor& self, const Dims& dims, bool keepdim);

// The type that elements are compared in: float32 for 16-bit floats, all of which it holds exactly.
constexpr ScalarType comparable(ScalarType t) {
  return t == ScalarType::Float16 || t == ScalarType::BFloat16 ? ScalarType::Float32 : t;
}
// As comparable(), for operators that also take uint16, uint32 and uint64 (see `ordered` for the
// last).
constexpr ScalarType sortable(ScalarType t) {
  return t == ScalarType::UInt16                              ? ScalarType::Int32
         : t == ScalarType::UInt32 || t == ScalarType::UInt64 ? ScalarType::Int64
                                                              : comparable(t);
}

// Flips the highest bit of uint64 elements, in place, so that comparing them as int64 gives their
// order. Elements of other types stay as they are.
inline Tensor ordered(const Tensor& computed, ScalarType from) {
  if (from != ScalarType::UInt64) return computed;
  int64_t* x = computed.data<int64_t>();
  for (int64_t i = 0; i < computed.numel(); ++i) x[i] ^= std::numeric_limits<int64_t>::min();
  return computed;
}

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  else return (void)x, false;
}

// Calls f(T()) with the C++ type of a dtype.
template <class F>
void for_type(ScalarType dtype, const char* name, F&& f) {
  switch (dtype) {
#define SL_CASE(type, element)                                             \
  case ScalarType::type:                                                   \
    if constexpr (kernels::is_kept(ScalarType::type)) return f(element()); \
    else kernels::type_left_out(dtype);
    SL_CASE(UInt8, uint8_t)
    SL_CASE(Int8, int8_t)
    SL_CASE(Int16, int16_t)
    SL_CASE(Int32, int32_t)
    SL_CASE(Int64, int64_t)
    SL_CASE(Float32, float)
    SL_CASE(Float64, double)
    SL_CASE(Bool, bool)
#undef SL_CASE
    default:
      raise(ErrorKind::NotImplementedError, '"', name, "\" not implemented for '",
            dtype_display_name(dtype), "'");
  }
}

// As for_type, for complex types too.
template <class F>
void for_type_or_complex(ScalarType dtype, const char* name, F&& f) {
  if (is_complex(dtype)) kernels::check_kept(dtype);
  if (kernels::is_kept(ScalarType::Complex64) && dtype == ScalarType::Complex64) {
    f(std::complex<float>());
  } else if (kernels::is_kept(ScalarType::Complex128) && dtype == ScalarType::Complex128) {
    f(std::complex<double>());
  } else {
    for_type(dtype, name, f);
  }
}

}  // namespace scriptlang
