// vander: matrices whose columns are powers of a vector.
#include <algorithm>

#include "express.h"
#include "join.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor vander(const Tensor& x, const Value& count, bool increasing) {
  SL_CHECK(x.dim() == 1, "x must be a one-dimensional tensor.");
  int64_t n = count.is_none() ? x.size(0) : count.as_int();
  SL_CHECK(n >= 0 && n <= 1 << 24, "N must be non-negative and not huge, got ", n);
  std::vector<Tensor> columns;
  Tensor power = full(x.sizes(), is_integral(x.dtype(), true) ? ScalarType::Int64 : x.dtype(),
                      Scalar(int64_t{1}));
  for (int64_t i = 0; i < n; ++i) {
    columns.push_back(power);
    power = mul(power, x);
  }
  if (!increasing) std::reverse(columns.begin(), columns.end());
  return columns.empty() ? Tensor::empty({x.size(0), 0}, power.dtype()) : stack(columns, 1);
}

}  // namespace

SL_OP(aten_vander) { out[0] = vander(args.tensor(0), args[1], args.boolean(2)); }

}  // namespace scriptlang
