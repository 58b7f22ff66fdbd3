// Helpers of linear algebra: checks, batches and copies of matrices.
#include "matrices.h"

namespace scriptlang::matrices {

using namespace express;

void check_matrices(const Tensor& a, const char* name) {
  SL_CHECK(a.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  SL_CHECK(is_floating(a.dtype()) || is_complex(a.dtype()), name,
           ": Expected a floating point or "
           "complex tensor as input. Got ",
           dtype_display_name(a.dtype()));
  SL_CHECK(a.itemsize() >= 4 && a.dtype() != ScalarType::Complex32, name,
           ": Low precision dtypes not supported. Got ", dtype_display_name(a.dtype()));
}

void check_square(const Tensor& a, const char* name) {
  SL_CHECK(a.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  SL_CHECK(a.size(a.dim() - 1) == a.size(a.dim() - 2), name,
           ": A must be batches of square matrices, but they are ", a.size(a.dim() - 2), " by ",
           a.size(a.dim() - 1), " matrices");
  check_matrices(a, name);
}

void check_same_type(const Tensor& a, const Tensor& b, const char* name) {
  SL_CHECK(a.dtype() == b.dtype(), name,
           ": Expected A and B to have the same dtype, but found A "
           "of type ",
           dtype_display_name(a.dtype()), " and B of type ", dtype_display_name(b.dtype()),
           " instead");
}

std::vector<int64_t> batch_sizes(const Tensor& a, std::vector<int64_t> tail) {
  std::vector<int64_t> sizes(a.sizes().begin(), a.sizes().end() - 2);
  sizes.insert(sizes.end(), tail.begin(), tail.end());
  return sizes;
}

Tensor columns_first(const Tensor& t) {
  Tensor turned = view_transpose(t, -2, -1);
  if (turned.is_contiguous()) return t;
  Tensor copy = Tensor::empty(turned.sizes(), t.dtype());
  copy_into(copy, turned);
  return view_transpose(copy, -2, -1);
}

void spread_batches(Tensor* a, Tensor* b) {
  std::vector<int64_t> batch =
      broadcast_shapes({a->sizes().data, a->dim() - 2}, {b->sizes().data, b->dim() - 2});
  for (Tensor* t : {a, b}) {
    std::vector<int64_t> sizes = batch;
    sizes.insert(sizes.end(), t->sizes().end() - 2, t->sizes().end());
    *t = view_expand(*t, sizes);
  }
}

Tensor adjoint(const Tensor& a) {
  Tensor turned = view_transpose(a, -2, -1);
  return is_complex(a.dtype()) ? conj(turned) : turned;
}

Tensor identity_like(const Tensor& a) {
  int64_t n = a.size(a.dim() - 1);
  Tensor eye = Tensor::zeros({n, n}, a.dtype());
  fill(eye.as_strided({n}, {n + 1}, 0), Scalar(1.0));
  return view_expand(eye, a.sizes());
}

Tensor triangle(const Tensor& a, bool upper) {
  Tensor copy = clone(to_contiguous(a));
  int64_t rows = a.size(a.dim() - 2), columns = a.size(a.dim() - 1);
  const int64_t each = rows * columns;
  Tensor flat = reshape(copy, {each ? copy.numel() / each : 0, rows, columns});
  for (int64_t i = 0; flat.numel() > 0 && i < rows; ++i) {
    Tensor row = view_select(flat, 1, i);
    Tensor zeros = upper ? view_slice(row, 1, 0, std::min(i, columns))
                         : view_slice(row, 1, std::min(i + 1, columns), columns);
    fill(zeros, Scalar(int64_t{0}));
  }
  return copy;
}

bool is_vector(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 ||
         (b.dim() == a.dim() - 1 && b.sizes() == IntSpan(a.sizes().data, a.dim() - 1));
}

}  // namespace scriptlang::matrices
