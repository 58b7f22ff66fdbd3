// Comparisons of whole tensors: whether they are equal, or close.
#include <algorithm>

#include "express.h"
#include "view.h"

namespace scriptlang {

using namespace express;

namespace {

bool equal_elements(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  auto all_equal = [](const Tensor& x, const Tensor& y) {
    Tensor same = contiguous_as(eq(x, y), ScalarType::Bool);
    const bool* flags = same.data<bool>();
    return std::all_of(flags, flags + same.numel(), [](bool f) { return f; });
  };
  // Compared in pieces, so that tensors that differ soon return.
  constexpr int64_t kPiece = 4096;
  if (a.numel() <= kPiece || !a.is_contiguous() || !b.is_contiguous()) return all_equal(a, b);
  Tensor x = reshape(a, {a.numel()}), y = reshape(b, {b.numel()});
  for (int64_t at = 0, n = kPiece; at < x.numel(); at += n, n *= 4) {
    n = std::min(n, x.numel() - at);
    if (!all_equal(view_narrow(x, 0, at, n), view_narrow(y, 0, at, n))) return false;
  }
  return true;
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  SL_CHECK(a.dtype() == b.dtype(), dtype_display_name(a.dtype()), " did not match ",
           dtype_display_name(b.dtype()));
  SL_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  SL_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = eq(a, b);
  if (is_integral(a.dtype(), true) && rtol == 0 && atol == 0) return close;
  bool floats = is_floating(a.dtype()) || is_complex(a.dtype());
  if (equal_nan && floats) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  ScalarType wide = floats ? a.dtype() : ScalarType::Float32;
  Tensor x = to_dtype(a, wide), y = to_dtype(b, wide);
  Tensor allowed = add(abs(mul(y, Scalar(rtol))), Scalar(atol));
  Tensor error = abs(sub(x, y));
  return logical_or(close, logical_and(isfinite(error), le(error, allowed)));
}

}  // namespace

SL_OP(aten_equal) { out[0] = equal_elements(args.tensor(0), args.tensor(1)); }
SL_OP(aten_isclose) {
  out[0] = isclose(args.tensor(0), args.tensor(1), args.number(2), args.number(3), args.boolean(4));
}
SL_OP(aten_allclose) {
  Tensor close =
      isclose(args.tensor(0), args.tensor(1), args.number(2), args.number(3), args.boolean(4));
  close = contiguous_as(close, ScalarType::Bool);
  const bool* flags = close.data<bool>();
  out[0] = std::all_of(flags, flags + close.numel(), [](bool f) { return f; });
}
SL_OP(aten_isreal) {
  const Tensor& self = args.tensor(0);
  if (!is_complex(self.dtype())) {
    Tensor all = Tensor::empty_like(self, ScalarType::Bool);
    fill(all, Scalar(true));
    out[0] = all;
    return;
  }
  out[0] = eq(self, conj(self));
}

}  // namespace scriptlang
