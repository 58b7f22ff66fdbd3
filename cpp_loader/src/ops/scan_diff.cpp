// diff: repeated differences of neighbours.
#include "express.h"
#include "join.h"
#include "view.h"

namespace scriptlang {

using namespace express;

SL_OP(aten_diff) {
  Tensor t = args.tensor(0);
  int64_t n = args.integer(1), dim = wrap_dim(args.integer(2), t.dim());
  SL_CHECK(t.dim() >= 1, "diff expects input to be at least one-dimensional");
  SL_CHECK(n >= 0, "order must be non-negative but got ", n);
  if (n == 0) {
    out[0] = clone(t);
    return;
  }
  std::vector<Tensor> parts;
  if (args.opt_tensor(3).defined()) parts.push_back(args.tensor(3));
  parts.push_back(t);
  if (args.opt_tensor(4).defined()) parts.push_back(args.tensor(4));
  for (const Tensor& part : parts) {
    SL_CHECK(part.dim() == t.dim(),
             "diff expects prepend or append to be the same dimension as input");
  }
  if (parts.size() > 1) t = cat(parts, dim);
  for (int64_t i = 0; i < n && t.size(dim) > 0; ++i) {
    int64_t size = t.size(dim);
    Tensor next = view_slice(t, dim, 1, size), here = view_slice(t, dim, 0, size - 1);
    t = t.dtype() == ScalarType::Bool ? ne(next, here) : sub(next, here);
  }
  out[0] = t;
}

}  // namespace scriptlang
