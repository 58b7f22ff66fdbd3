// Batches of matrices for linear algebra, shared by its operators.
//
// Kernels compute in float64 or complex128 on row-major matrices; results are rounded once, at the
// end.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../kernels/dense.h"
#include "../../kernels/parallel.h"
#include "express.h"

namespace scriptlang::matrices {

namespace dense = kernels::dense;

// Raise PyTorch's errors unless the tensor is a batch of (square) matrices of float, double or
// complex numbers. `name` is the operator's: "linalg.inv".
void check_matrices(const Tensor& a, const char* name);
void check_square(const Tensor& a, const char* name);
void check_same_type(const Tensor& a, const Tensor& b, const char* name);

// Calls f(T()) with the kernels' element type: double or dense::Complex.
template <class F>
void for_number_type(ScalarType t, F&& f) {
  if (is_complex(t)) f(dense::Complex());
  else f(double());
}

template <class T>
constexpr ScalarType working_type() {
  return std::is_same_v<T, double> ? ScalarType::Float64 : ScalarType::Complex128;
}

// Calls f(i) for each matrix of a batch, in parallel where they are large enough; `work` is the
// number of operations for each.
template <class F>
void for_each_matrix(int64_t count, int64_t work, F f) {
  kernels::parallel_for(count, 100'000 / std::max<int64_t>(1, work) + 1,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) f(i);
                        });
}

template <class T>
bool all_finite(const T* x, int64_t n) {
  return std::all_of(x, x + n, [](T one) { return std::isfinite(dense::size_of(one)); });
}

// The sizes of a's batch dimensions, followed by `tail`.
std::vector<int64_t> batch_sizes(const Tensor& a, std::vector<int64_t> tail = {});

// A batch of row-major matrices in the kernels' type: a copy of a tensor, or zeros.
template <class T>
class Batch {
 public:
  explicit Batch(const Tensor& a) : t_(contiguous_as(a, working_type<T>())) {
    if (t_.storage() == a.storage()) t_ = express::clone(t_);
    measure();
  }
  // Zero matrices of rows x columns, one for each matrix of `like`.
  Batch(const Tensor& like, int64_t rows, int64_t columns)
      : t_(Tensor::zeros(batch_sizes(like, {rows, columns}), working_type<T>())) {
    measure();
  }
  int64_t count() const { return count_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  T* at(int64_t i) const { return t_.data<T>() + i * rows_ * columns_; }
  const Tensor& tensor() const { return t_; }
  // Rounded to a type and stored in column-major order, as LAPACK leaves its results.
  Tensor finished(ScalarType type) const;

 private:
  void measure() {
    count_ = 1;
    for (int64_t d = 0; d + 2 < t_.dim(); ++d) count_ *= t_.size(d);
    rows_ = t_.size(t_.dim() - 2);
    columns_ = t_.size(t_.dim() - 1);
  }
  Tensor t_;
  int64_t count_, rows_, columns_;
};

Tensor columns_first(const Tensor& t);  // the same matrices in column-major order

template <class T>
Tensor Batch<T>::finished(ScalarType type) const {
  return columns_first(to_dtype(t_, type));
}

// Expands both tensors to the batch that they broadcast to.
void spread_batches(Tensor* a, Tensor* b);
Tensor adjoint(const Tensor& a);  // a view, or a conjugated copy
Tensor identity_like(const Tensor& a);
Tensor triangle(const Tensor& a, bool upper);  // a copy without the other triangle
// Whether the right-hand side b of a system is a batch of vectors rather than matrices, by numpy's
// former rule.
bool is_vector(const Tensor& a, const Tensor& b);

// ---- shared by operators in several files

// Solves A X = B, or X A = B if `left` is false. Where `info` is null, singular matrices raise.
Tensor solve(const Tensor& a, const Tensor& b, bool left, const char* name, Tensor* info);
Tensor inverse(const Tensor& a, Tensor* info);
struct Singular {
  Tensor u, s, vh;
};
Singular svd(const Tensor& a, bool full_matrices, const char* name);
Tensor singular_values_of(const Tensor& a, const char* name);

}  // namespace scriptlang::matrices
