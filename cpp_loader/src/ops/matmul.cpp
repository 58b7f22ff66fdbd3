// Matrix products: matmul, mm, bmm, addmm and their relatives.
#include <algorithm>
#include <complex>

#include "../../kernels/half_product.h"
#include "../../kernels/integer_product.h"
#include "values/pooled.h"
#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "linalg.h"
#include "pointwise.h"
#include "recording.h"
#include "row_kernels.h"
#include "view.h"

namespace scriptlang {

using kernels::Binary;
using kernels::Gemm;
using kernels::Start;

namespace {

std::string shape2(const Tensor& t) { return concat(t.size(0), "x", t.size(1)); }

void check_same_type(const Tensor& a, const Tensor& b) {
  SL_CHECK(a.dtype() == b.dtype(),
           "expected m1 and m2 to have the same dtype, but got: ", dtype_name(a.dtype()),
           " != ", dtype_name(b.dtype()));
}

// A plain product that adds in the order of k.
template <class T>
void multiply_plainly(const Gemm<T>& g) {
  for (int64_t m = 0; m < g.m; ++m) {
    T* c = g.c + m * g.c_row;
    for (int64_t n = 0; n < g.n; ++n) c[n] = T();
    for (int64_t k = 0; k < g.k; ++k) {
      T x = g.a[m * g.a_row + k * g.a_column];
      const T* b = g.b + k * g.b_row;
      for (int64_t n = 0; n < g.n; ++n) c[n] += x * b[n * g.b_column];
    }
  }
}

// Products of int32 and int64, computed unsigned so that they wrap.
template <class T>
void multiply_integers(const Gemm<T>& g) {
  using U = std::make_unsigned_t<T>;
  const auto& functions = *kernels::kernels().integers;
  const U *a = reinterpret_cast<const U*>(g.a), *b = reinterpret_cast<const U*>(g.b);
  U* c = reinterpret_cast<U*>(g.c);
  int64_t grain = std::max<int64_t>(4, 65536 / std::max<int64_t>(1, g.n * g.k));
  if (g.n == 1 && g.a_column == 1 && g.b_row == 1) {
    kernels::parallel_for(g.m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t m = begin; m < end; ++m) {
        c[m * g.c_row] = functions.dot(g.k, a + m * g.a_row, b);
      }
    });
    return;
  }
  kernels::Scratch space(g.b_column == 1 ? 0 : uint64_t(g.k * g.n) * sizeof(U));
  int64_t b_row = g.b_row;
  if (g.b_column != 1) {
    U* rows = space.as<U>();
    for (int64_t k = 0; k < g.k; ++k) {
      for (int64_t n = 0; n < g.n; ++n) rows[k * g.n + n] = b[k * g.b_row + n * g.b_column];
    }
    b = rows;
    b_row = g.n;
  }
  kernels::parallel_for(g.m, grain, [&](int64_t begin, int64_t end) {
    functions.multiply(kernels::IntegerProduct<U>{end - begin, g.n, g.k, a + begin * g.a_row,
                                                  g.a_row, g.a_column, b, b_row,
                                                  c + begin * g.c_row, g.c_row});
  });
}

// Splits real and imaginary parts into separate matrices, for four real products.
template <class R>
void multiply_complex(const Gemm<std::complex<R>>& g) {
  constexpr int64_t kSmall = 512;
  if (g.m * g.n * g.k <= kSmall) return multiply_plainly(g);
  const int64_t of_a = g.m * g.k, of_b = g.k * g.n, of_c = g.m * g.n;
  kernels::Scratch space(uint64_t(of_a + of_b + of_c) * 2 * sizeof(R));
  R *a = space.as<R>(), *b = a + 2 * of_a, *c = b + 2 * of_b;
  auto part = [](const std::complex<R>* from, int64_t rows, int64_t columns, int64_t row,
                 int64_t column, R* real, R* imag) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        std::complex<R> x = from[i * row + j * column];
        *real++ = x.real();
        *imag++ = x.imag();
      }
    }
  };
  part(g.a, g.m, g.k, g.a_row, g.a_column, a, a + of_a);
  part(g.b, g.k, g.n, g.b_row, g.b_column, b, b + of_b);
  auto product = [&](const R* left, const R* right, R* to, Start start) {
    Gemm<R> p;
    p.m = g.m;
    p.n = p.b_row = p.c_row = g.n;
    p.k = p.a_row = g.k;
    p.a = left;
    p.b = right;
    p.c = to;
    p.start = start;
    kernels::kernels().gemm<R>().multiply(p);
  };
  R *real = c, *imag = c + of_c;
  product(a, b + of_b, imag, Start::kZero);
  product(a + of_a, b, imag, Start::kResult);
  for (int64_t i = 0; i < of_a; ++i) a[of_a + i] = -a[of_a + i];
  product(a, b, real, Start::kZero);
  product(a + of_a, b + of_b, real, Start::kResult);
  for (int64_t m = 0; m < g.m; ++m) {
    for (int64_t n = 0; n < g.n; ++n) g.c[m * g.c_row + n] = {*real++, *imag++};
  }
}

template <class T>
void multiply(const Gemm<T>& g) {
  if constexpr (std::is_floating_point_v<T>) {
    return kernels::kernels().gemm<T>().multiply(g);
  } else {
    if constexpr (std::is_integral_v<T>) multiply_integers(g);
    else multiply_complex<typename T::value_type>(g);
    if (g.start != Start::kColumnBias) return;
    for (int64_t m = 0; m < g.m; ++m) {
      T* row = g.c + m * g.c_row;
      for (int64_t n = 0; n < g.n; ++n) {
        if constexpr (std::is_integral_v<T>) row[n] = T(uint64_t(row[n]) + uint64_t(g.bias[n]));
        else row[n] += g.bias[n];
      }
    }
  }
}

// Calls f(i) for each product. Few large ones run one after the other, each using all threads.
template <class F>
void for_each_product(int64_t batch, int64_t work, F f) {
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  };
  if (batch < kernels::thread_count()) run(0, batch);
  else kernels::parallel_for(batch, 400'000 / std::max<int64_t>(1, work) + 1, run);
}

// c = a b for every matrix of a batch; the last two dimensions are those of the matrices.
template <class T>
void multiply_all(const Tensor& c, const Tensor& a, const Tensor& b, const T* bias) {
  int64_t d = c.dim() - 2, batch = d ? c.size(0) : 1;
  Gemm<T> g;
  g.m = c.size(d);
  g.n = c.size(d + 1);
  g.k = a.size(d + 1);
  g.a = a.data<T>();
  g.a_row = a.stride(d);
  g.a_column = a.stride(d + 1);
  g.b = b.data<T>();
  g.b_row = b.stride(d);
  g.b_column = b.stride(d + 1);
  g.c = c.data<T>();
  g.c_row = g.n;
  g.bias = bias;
  g.start = bias ? Start::kColumnBias : Start::kZero;
  if (batch == 1) return multiply(g);
  int64_t a_step = a.stride(0), b_step = b.stride(0), c_step = g.m * g.n;
  for_each_product(batch, g.m * g.n * g.k, [&](int64_t i) {
    Gemm<T> part = g;
    part.a += i * a_step;
    part.b += i * b_step;
    part.c += i * c_step;
    multiply(part);
  });
}

Tensor half_product(const Tensor& a, const Tensor& b, const Tensor& bias, IntSpan sizes) {
  Tensor c = Tensor::empty(sizes, a.dtype());
  if (c.numel() == 0) return c;
  Tensor row = bias.defined() ? contiguous_as(bias, a.dtype()) : bias;
  int64_t d = c.dim() - 2, batch = d ? c.size(0) : 1;
  kernels::HalfProduct p;
  p.m = c.size(d);
  p.n = c.size(d + 1);
  p.k = a.size(d + 1);
  p.a_row = a.stride(d);
  p.a_column = a.stride(d + 1);
  p.b_row = b.stride(d);
  p.b_column = b.stride(d + 1);
  p.bias = row.defined() ? static_cast<const uint16_t*>(row.raw()) : nullptr;
  p.bfloat = a.dtype() == ScalarType::BFloat16;
  for_each_product(batch, p.m * p.n * p.k, [&](int64_t i) {
    kernels::HalfProduct part = p;
    part.a = static_cast<const uint16_t*>(a.raw()) + (d ? i * a.stride(0) : 0);
    part.b = static_cast<const uint16_t*>(b.raw()) + (d ? i * b.stride(0) : 0);
    part.c = static_cast<uint16_t*>(c.raw()) + i * p.m * p.n;
    kernels::kernels().half_product->multiply(part);
  });
  return c;
}

Tensor product(const Tensor& a, const Tensor& b, const Tensor& bias, IntSpan sizes) {
  ScalarType dtype = a.dtype();
  kernels::check_kept(dtype);
  if constexpr (kernels::is_kept(ScalarType::Float16) || kernels::is_kept(ScalarType::BFloat16)) {
    if (is_half(dtype)) return half_product(a, b, bias, sizes);
  }
  if (dtype == ScalarType::Int8 || dtype == ScalarType::UInt8 || dtype == ScalarType::Int16) {
    // Wrapping in 32 bits leaves the same low bits.
    Tensor wide = product(to_dtype(a, ScalarType::Int32), to_dtype(b, ScalarType::Int32),
                          bias.defined() ? to_dtype(bias, ScalarType::Int32) : bias, sizes);
    return to_dtype(wide, dtype);
  }
  Tensor c = Tensor::empty(sizes, dtype);
  if (c.numel() == 0) return c;
  Tensor row = bias.defined() ? contiguous_as(bias, dtype) : bias;
  switch (dtype) {
#define X(name, type)                                                          \
  case ScalarType::name:                                                       \
    if constexpr (kernels::is_kept(ScalarType::name)) {                        \
      multiply_all<type>(c, a, b, row.defined() ? row.data<type>() : nullptr); \
      return c;                                                                \
    }                                                                          \
    break;
    X(Float32, float)
    X(Float64, double)
    X(Int64, int64_t)
    X(Int32, int32_t)
    X(Complex64, std::complex<float>)
    X(Complex128, std::complex<double>)
#undef X
    default:
      raise(ErrorKind::NotImplementedError, "\"addmm_impl_cpu_\" not implemented for '",
            dtype_display_name(dtype), "'");
  }
  kernels::type_left_out(dtype);
}

Tensor matrix_vector(const Tensor& m, const Tensor& v) {
  SL_CHECK(m.dim() == 2 && v.dim() == 1, "vector + matrix @ vector expected, got ", m.dim(), ", ",
           v.dim());
  SL_CHECK(m.size(1) == v.size(0), "size mismatch, got input (", m.size(0), "), mat (", shape2(m),
           "), vec (", v.size(0), ")");
  return view_squeeze(matrix_product(m, view_unsqueeze(v, 1)), {1});
}

Tensor dot(const Tensor& a, const Tensor& b) {
  SL_CHECK(a.dim() == 1 && b.dim() == 1, "1D tensors expected, but got ", a.dim(), "D and ",
           b.dim(), "D tensors");
  SL_CHECK(a.dtype() == b.dtype(), "dot : expected both vectors to have same dtype, but found ",
           dtype_display_name(a.dtype()), " and ", dtype_display_name(b.dtype()));
  SL_CHECK(a.size(0) == b.size(0), "inconsistent tensor size, expected tensor ",
           to_string(a.sizes()), " and src ", to_string(b.sizes()),
           " to have the same number of elements, but got ", a.size(0), " and ", b.size(0),
           " elements respectively");
  return view_as_shape(matrix_product(view_unsqueeze(a, 0), view_unsqueeze(b, 1)), IntSpan());
}

bool is_one(const Scalar& s) { return s.is_integral() ? s.i == 1 : s.d == 1 && s.imag == 0; }
bool is_zero(const Scalar& s) { return !s.to_bool(); }

// beta * self + alpha * product. If beta is zero, self's values (even NaN) are ignored.
Tensor add_product(const Tensor& self, Tensor product, const Scalar& self_factor,
                   const Scalar& product_factor) {
  Scalar beta = factor_for(self_factor, self.dtype());
  Scalar alpha = factor_for(product_factor, product.dtype());
  if (!is_one(alpha)) {
    product = binary_result(product, alpha, Binary::k_mul, "mul", Rule::kSame);
  }
  if (is_zero(beta)) return product;
  Tensor scaled =
      is_one(beta) ? self : binary_result(self, beta, Binary::k_mul, "mul", Rule::kSame);
  Tensor target = product;
  broadcast_shapes(self.sizes(), product.sizes());
  return binary_result(scaled, product, Binary::k_add, "add", Rule::kSame, nullptr, target);
}

Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
             const Scalar& alpha) {
  SL_CHECK(a.dim() == 2 && b.dim() == 2, "mat1 and mat2 must be matrices, got ", a.dim(), "-D and ",
           b.dim(), "-D tensors");
  check_same_type(a, b);
  SL_CHECK(self.dtype() == a.dtype(), "self and mat2 must have the same dtype, but got ",
           dtype_display_name(self.dtype()), " and ", dtype_display_name(b.dtype()));
  SL_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", shape2(a),
           " and ", shape2(b), ")");
  bool row = self.dim() == 1 && self.size(0) == b.size(1);
  if (row && is_one(beta) && is_one(alpha)) return matrix_product(a, b, self);
  view_expand(self, {a.size(0), b.size(1)});  // raises when self does not broadcast
  if (is_half(self.dtype())) {                // rounded once
    auto wide = [](const Tensor& t) { return to_dtype(t, ScalarType::Float32); };
    factor_for(beta, self.dtype());
    factor_for(alpha, self.dtype());
    return to_dtype(add_product(wide(self), matrix_product(wide(a), wide(b)), beta, alpha),
                    self.dtype());
  }
  return add_product(self, matrix_product(a, b), beta, alpha);
}

// Adds alpha a b to the matrix `self` where it lies, as the update of a weight does. Returns false
// where that is not possible, or not known to be right.
bool addmm_where_it_lies(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                         const Scalar& alpha) {
  if (kernels::kSmallGemm) return false;
  const ScalarType type = self.dtype();
  const bool fits = (type == ScalarType::Float32 || type == ScalarType::Float64) &&
                    a.dtype() == type && b.dtype() == type && self.dim() == 2 && a.dim() == 2 &&
                    b.dim() == 2 && self.size(0) == a.size(0) && self.size(1) == b.size(1) &&
                    a.size(1) == b.size(0) && a.size(1) <= kernels::kOnePassDepth;
  if (!fits || !is_one(beta) || is_symbolic(self) || is_symbolic(a) || is_symbolic(b) ||
      self.stride(1) != 1 || self.stride(0) < self.size(1) || self.storage() == a.storage() ||
      self.storage() == b.storage()) {
    return false;
  }
  check_writable(self);
  const Scalar scale = factor_for(alpha, type);
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    Gemm<T> g;
    g.m = self.size(0);
    g.n = self.size(1);
    g.k = a.size(1);
    g.a = a.data<T>();
    g.a_row = a.stride(0);
    g.a_column = a.stride(1);
    g.b = b.data<T>();
    g.b_row = b.stride(0);
    g.b_column = b.stride(1);
    g.c = self.data<T>();
    g.added = g.c;
    g.c_row = self.stride(0);
    if constexpr (!kernels::kSmallGemm) g.scale = T(scale.to_double());
    multiply(g);
  });
  return true;
}

Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
               const Scalar& alpha) {
  Tensor product = batched_product(a, b);
  view_expand(self, product.sizes());
  return add_product(self, product, beta, alpha);
}

Sizes leading(const Tensor& t, int64_t dropped) {
  return Sizes(t.sizes().begin(), t.sizes().end() - dropped);
}

void check_grouped(const Tensor& a, const Tensor& b, const Tensor& ends, const Args& args) {
  auto check_type = [](const char* name, const Tensor& t) {
    ScalarType type = t.dtype();
    SL_CHECK(
        type == ScalarType::Float32 || type == ScalarType::BFloat16 || type == ScalarType::Float16,
        "Expected ", name, " to be Float32, BFloat16 or Float16 matrix, got ",
        dtype_display_name(type));
  };
  check_type("mat_a", a);
  check_type("mat_b", b);
  SL_CHECK(a.dim() == 2 || a.dim() == 3, "mat_a has to be 2 or 3d");
  SL_CHECK(b.dim() == 2 || b.dim() == 3, "mat_b has to be 2 or 3d");
  SL_CHECK(a.size(a.dim() - 1) == b.size(b.dim() - 2),
           "contraction dimension of mat_a and mat_b must match");
  SL_CHECK(ends.defined() != (a.dim() == 3 && b.dim() == 3),
           "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d");
  SL_CHECK(!ends.defined() || ends.dim() == 1, "offs has to be 1D");
  SL_CHECK(!ends.defined() || ends.dtype() == ScalarType::Int32, "Offsets have to be int32");
  SL_CHECK(!args.opt_tensor(3).defined(), "Bias not supported yet");
  SL_CHECK(args.none(4) || args.dtype(4) == a.dtype(),
           "Grouped gemm output dtype must match `mat_a` dtype");
  check_same_type(a, b);
  int64_t groups = ends.defined() ? ends.numel() : b.size(0);
  SL_CHECK((a.dim() == 2 || a.size(0) == groups) && (b.dim() == 2 || b.size(0) == groups),
           ends.defined() ? "matrix batch sizes have to match" : "batched dimension has to match");
}

// A product for each group. A 3-d operand has a matrix for each group; a 2-d one is split at the
// offsets, where the groups end. What is behind the last offset becomes zero.
Tensor grouped(Args args) {
  const Tensor &a = args.tensor(0), &b = args.tensor(1), &offsets = args.opt_tensor(2);
  check_grouped(a, b, offsets, args);
  if (!offsets.defined()) return batched_product(a, b);
  Tensor ends = contiguous_as(offsets, ScalarType::Int32);
  bool both = a.dim() == 2 && b.dim() == 2;
  Sizes sizes{a.size(a.dim() - 2), b.size(b.dim() - 1)};
  int64_t length = both ? a.size(1) : a.dim() == 2 ? a.size(0) : b.size(1);
  if (both) sizes.insert(sizes.begin(), ends.numel());
  Tensor y = Tensor::zeros(sizes, a.dtype());
  int64_t start = 0;
  for (int64_t i = 0; i < ends.numel(); ++i) {
    int64_t end = ends.data<int32_t>()[i];
    SL_CHECK(end >= start && end <= length, "_grouped_mm: offset ", end, " is not between ", start,
             " and ", length);
    auto cut = [&](const Tensor& t, int64_t dim) {
      return view_narrow(t, dim, start, end - start);
    };
    if (end > start && both) {
      copy_into(view_select(y, 0, i), matrix_product(cut(a, 1), cut(b, 0)));
    } else if (end > start && a.dim() == 2) {
      copy_into(cut(y, 0), matrix_product(cut(a, 0), view_select(b, 0, i)));
    } else if (end > start) {
      copy_into(cut(y, 1), matrix_product(view_select(a, 0, i), cut(b, 1)));
    }
    start = end;
  }
  return y;
}

}  // namespace

Tensor matrix_product(const Tensor& a, const Tensor& b, const Tensor& bias) {
  SL_CHECK(a.dim() == 2 && b.dim() == 2, "self must be a matrix");
  check_same_type(a, b);
  SL_CHECK(a.size(1) == b.size(0), "mat1 and mat2 shapes cannot be multiplied (", shape2(a),
           " and ", shape2(b), ")");
  return product(a, b, bias, {a.size(0), b.size(1)});
}

Tensor batched_product(const Tensor& a, const Tensor& b) {
  SL_CHECK(a.dim() == 3, "batch1 must be a 3D tensor");
  SL_CHECK(b.dim() == 3, "batch2 must be a 3D tensor");
  SL_CHECK(a.dtype() == b.dtype(), "expected scalar type ", dtype_display_name(a.dtype()),
           " but found ", dtype_display_name(b.dtype()));
  SL_CHECK(b.size(0) == a.size(0) && b.size(1) == a.size(2),
           "Expected size for first two dimensions of batch2 tensor to be: [", a.size(0), ", ",
           a.size(2), "] but got: [", b.size(0), ", ", b.size(1), "].");
  return product(a, b, Tensor(), {a.size(0), a.size(1), b.size(2)});
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  SL_CHECK(a.dim() > 0 && b.dim() > 0,
           "both arguments to matmul need to be at least 1D, but they are ", a.dim(), "D and ",
           b.dim(), "D");
  if (a.dim() == 1 && b.dim() == 1) return dot(a, b);
  if (a.dim() == 2 && b.dim() == 1) return matrix_vector(a, b);
  if (a.dim() == 1 && b.dim() == 2) {
    return view_squeeze(matrix_product(view_unsqueeze(a, 0), b), {0});
  }
  if (a.dim() == 2 && b.dim() == 2) return matrix_product(a, b);
  if (a.dim() >= 3 && b.dim() <= 2) {
    // The rows of all matrices of a make one matrix.
    Tensor matrix = b.dim() == 1 ? view_unsqueeze(b, 1) : b;
    int64_t k = a.size(a.dim() - 1);
    Sizes sizes = leading(a, 1);
    Tensor rows = reshape(a, {checked_numel(sizes), k});
    Tensor result = matrix_product(rows, matrix);
    if (b.dim() == 2) sizes.push_back(b.size(1));
    return view_as_shape(result, sizes);
  }
  Tensor left = a.dim() == 1 ? view_unsqueeze(a, 0) : a;
  Tensor right = b.dim() == 1 ? view_unsqueeze(b, 1) : b;
  std::vector<int64_t> batch =
      broadcast_shapes({left.sizes().data, left.dim() - 2}, {right.sizes().data, right.dim() - 2});
  int64_t count = checked_numel(batch);
  auto as_batch = [&](const Tensor& t) {
    int64_t rows = t.size(t.dim() - 2), columns = t.size(t.dim() - 1);
    std::vector<int64_t> sizes = batch;
    sizes.push_back(rows);
    sizes.push_back(columns);
    return reshape(view_expand(t, sizes), {count, rows, columns});
  };
  Tensor result = batched_product(as_batch(left), as_batch(right));
  std::vector<int64_t> sizes = batch;
  if (a.dim() > 1) sizes.push_back(left.size(left.dim() - 2));
  if (b.dim() > 1) sizes.push_back(right.size(right.dim() - 1));
  return view_as_shape(result, sizes);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  SL_CHECK(weight.dim() == 2 || weight.dim() == 1,
           "linear: weight must be a matrix or a vector, "
           "but has ",
           weight.dim(), " dimensions");
  SL_CHECK(input.dim() > 0, "both arguments to linear need to be at least 1D, but they are ",
           input.dim(), "D and ", weight.dim(), "D");
  if (weight.dim() == 1) {
    Tensor result = matmul(input, weight);
    return bias.defined() ? binary_result(result, bias, Binary::k_add, "add", Rule::kSame) : result;
  }
  if (bias.defined() && bias.dim() > 1) {
    Tensor result = linear(input, weight, Tensor());
    std::vector<int64_t> shape = broadcast_shapes(result.sizes(), bias.sizes());
    SL_CHECK(result.sizes() == IntSpan(shape), "linear: a bias of sizes ", to_string(bias.sizes()),
             " does not fit a result of sizes ", to_string(result.sizes()));
    return binary_result(result, bias, Binary::k_add, "add", Rule::kSame);
  }
  SL_CHECK(!bias.defined() || bias.numel() == weight.size(0) || bias.numel() == 1,
           "linear: expected a bias of ", weight.size(0), " elements, but got sizes ",
           to_string(bias.defined() ? bias.sizes() : IntSpan()));
  Tensor transposed = view_transpose(weight, 0, 1);
  int64_t k = input.size(input.dim() - 1);
  Sizes sizes = leading(input, 1);
  Tensor rows = input.dim() == 2 ? input : reshape(input, {checked_numel(sizes), k});
  Tensor row = bias;
  if (bias.defined() && (bias.dim() != 1 || bias.numel() != weight.size(0))) {
    row = view_expand(bias, {weight.size(0)});
  }
  Tensor result = matrix_product(rows, transposed, row);
  if (input.dim() == 2) return result;
  sizes.push_back(weight.size(0));
  return view_as_shape(result, sizes);
}

SL_OP(aten_mm) { out[0] = matrix_product(args.tensor(0), args.tensor(1)); }
SL_OP(aten_bmm) { out[0] = batched_product(args.tensor(0), args.tensor(1)); }
SL_OP(aten_matmul) { out[0] = matmul(args.tensor(0), args.tensor(1)); }
SL_OP(aten_mv) { out[0] = matrix_vector(args.tensor(0), args.tensor(1)); }
SL_OP(aten_dot) { out[0] = dot(args.tensor(0), args.tensor(1)); }
SL_OP(aten_vdot) {
  const Tensor& self = args.tensor(0);
  out[0] =
      dot(is_complex(self.dtype()) ? unary_result(self, kernels::Unary::k_conj, "conj", Rule::kSame)
                                   : self,
          args.tensor(1));
}
SL_OP(aten__grouped_mm) { out[0] = grouped(args); }
SL_OP(aten_linear) { out[0] = linear(args.tensor(0), args.tensor(1), args.opt_tensor(2)); }
SL_OP(aten_addmm) {
  out[0] = addmm(args.tensor(0), args.tensor(1), args.tensor(2), args.scalar(3), args.scalar(4));
}
SL_OP(aten_addmm_) {
  const Tensor &self = args.tensor(0), &a = args.tensor(1), &b = args.tensor(2);
  const Scalar &beta = args.scalar(3), &alpha = args.scalar(4);
  if (!addmm_where_it_lies(self, a, b, beta, alpha))
    copy_into(self, addmm(self, a, b, beta, alpha));
  out[0] = self;
}
SL_OP(aten_addmv) {
  for (int i : {3, 4}) check_fits(args.scalar(i), args.tensor(0).dtype());
  Tensor product = matrix_vector(args.tensor(1), args.tensor(2));
  view_expand(args.tensor(0), product.sizes());  // raises when self does not broadcast
  out[0] = add_product(args.tensor(0), product, args.scalar(3), args.scalar(4));
}
SL_OP(aten_baddbmm) {
  out[0] = baddbmm(args.tensor(0), args.tensor(1), args.tensor(2), args.scalar(3), args.scalar(4));
}
SL_OP(aten_baddbmm_) {
  copy_into(args.tensor(0), baddbmm(args.tensor(0), args.tensor(1), args.tensor(2), args.scalar(3),
                                    args.scalar(4)));
  out[0] = args.tensor(0);
}
SL_OP(aten_outer) {
  const Tensor& a = args.tensor(0);
  const Tensor& b = args.tensor(1);
  SL_CHECK(a.dim() == 1, "outer: Expected 1-D argument self, but got ", a.dim(), "-D");
  SL_CHECK(b.dim() == 1, "outer: Expected 1-D argument vec2, but got ", b.dim(), "-D");
  out[0] = binary_result(view_unsqueeze(a, 1), b, Binary::k_mul, "mul", Rule::kSame);
}
SL_OP(aten_ger) { op_aten_outer(ctx, args, out); }
SL_OP(aten_inner) {
  const Tensor& a = args.tensor(0);
  const Tensor& b = args.tensor(1);
  if (a.dim() == 0 || b.dim() == 0) {
    out[0] = binary_result(a, b, Binary::k_mul, "mul", Rule::kSame);
    return;
  }
  SL_CHECK(a.size(a.dim() - 1) == b.size(b.dim() - 1),
           "inner() the last dimension must match on both input tensors but got shapes ",
           to_string(a.sizes()), " and ", to_string(b.sizes()));
  int64_t k = a.size(a.dim() - 1);
  Sizes sizes = leading(a, 1), right = leading(b, 1);
  Tensor rows = reshape(a, {checked_numel(sizes), k});
  Tensor columns = reshape(b, {checked_numel(right), k});
  sizes.insert(sizes.end(), right.begin(), right.end());
  out[0] = view_as_shape(matrix_product(rows, view_transpose(columns, 0, 1)), sizes);
}

}  // namespace scriptlang
