// The derivative of embedding: gradients of rows, summed by the index of the row.
#include <algorithm>

#include "../../kernels/loops.h"
#include "index.h"
#include "pointwise.h"

namespace scriptlang {

namespace {

// Adds a factor times a row to another row, in the precision of the element type.
class AddRow {
 public:
  AddRow(ScalarType type, int64_t width)
      : type_(type),
        computed_(is_half(type) ? ScalarType::Float32 : type),
        width_(width),
        loop_(kernels::loops(kernels::Binary::k_add_scaled)[computed_]) {
    kernels::check_kept(computed_);
    if (!loop_ || is_barebones(type)) {
      raise(ErrorKind::NotImplementedError, "\"add_stub\" not implemented for '",
            dtype_display_name(type), "'");
    }
    if (!is_half(type)) return;
    wide_ = Tensor::empty({2, width}, computed_);
    widen_ = kernels::converter(computed_, type);
    narrow_ = kernels::converter(type, computed_);
  }

  void operator()(char* to, const char* row, double factor) const {
    // 0 for integers that share a row; a bool is either true or false.
    const int64_t exact = type_ == ScalarType::Bool ? 1 : int64_t(factor);
    double params[kernels::kParams] = {factor};
    std::memcpy(&params[1], &exact, sizeof exact);
    if (!is_half(type_)) return add(to, row, params);
    const int64_t item = itemsize(type_), wide = itemsize(computed_);
    char *sum = static_cast<char*>(wide_.raw()), *more = sum + width_ * wide;
    widen_(width_, sum, wide, to, item);
    widen_(width_, more, wide, row, item);
    add(sum, more, params);
    narrow_(width_, to, item, sum, wide);
  }

 private:
  void add(char* to, const char* row, const double* params) const {
    constexpr int64_t kBoth[] = {1, 1};
    const void* operands[] = {to, row};
    loop_(width_, to, operands, kBoth, params);
  }

  ScalarType type_, computed_;
  int64_t width_;
  kernels::Loop loop_;
  Tensor wide_;
  kernels::Convert widen_ = nullptr, narrow_ = nullptr;
};

}  // namespace

SL_OP(aten_embedding_dense_backward) {
  const Tensor &grad = args.tensor(0), &indices = args.tensor(1);
  const int64_t rows = args.integer(2), padding = args.integer(3);
  const bool by_use = args.boolean(4);
  check_row_indices("embedding_backward", 2, indices.dtype());
  if (grad.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as -1 but tensor has no dimensions");
  }
  SL_CHECK(rows >= 0, "zeros: Dimension size must be non-negative.");
  const int64_t n = indices.numel(), width = grad.size(grad.dim() - 1);
  SL_CHECK(n * width == grad.numel(), "shape '[", n, ", ", width,
           "]' is invalid for input of size ", grad.numel());
  const Tensor places = contiguous_as(indices, ScalarType::Int64), given = to_contiguous(grad);
  const int64_t* at = places.data<int64_t>();
  auto is_row = [&](int64_t i) { return at[i] != padding && at[i] >= 0 && at[i] < rows; };
  Tensor sums = Tensor::zeros({rows, width}, grad.dtype());
  out[0] = sums;
  if (sums.numel() == 0 || n == 0) return;
  Tensor uses = Tensor::zeros({by_use ? rows : 0}, ScalarType::Int64);
  int64_t* used = uses.data<int64_t>();
  for (int64_t i = 0; by_use && i < n; ++i) {
    if (is_row(i)) ++used[at[i]];
  }
  const AddRow add(grad.dtype(), width);
  const int64_t bytes = width * grad.itemsize();
  char* to = static_cast<char*>(sums.raw());
  const char* from = static_cast<const char*>(given.raw());
  for (int64_t i = 0; i < n; ++i) {
    kernels::worked_at(i);
    if (!is_row(i)) continue;
    add(to + at[i] * bytes, from + i * bytes, by_use ? 1 / double(used[at[i]]) : 1);
  }
}

}  // namespace scriptlang
