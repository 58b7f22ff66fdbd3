// Copies of a tensor in which the elements of a view are others.
#include <limits>

#include "diagonal.h"
#include "express.h"
#include "view.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor scattered(const Tensor& self, const Tensor& view_of_copy, const Tensor& copy,
                 const Tensor& src) {
  SL_CHECK(view_of_copy.sizes() == src.sizes(),
           "expected src to have a size equal to the slice of "
           "self. src size = ",
           to_string(src.sizes()), ", slice size = ", to_string(view_of_copy.sizes()),
           ", self size = ", to_string(self.sizes()));
  copy_into(view_of_copy, src);
  return copy;
}

}  // namespace

SL_OP(aten_select_scatter) {
  Tensor copy = clone_as_it_lies(args.tensor(0));
  out[0] = scattered(args.tensor(0), view_select(copy, args.integer(2), args.integer(3)), copy,
                     args.tensor(1));
}
SL_OP(aten_slice_scatter) {
  Tensor copy = clone_as_it_lies(args.tensor(0));
  Tensor view = view_slice(copy, args.integer(2), args.integer(3, 0),
                           args.integer(4, std::numeric_limits<int64_t>::max()), args.integer(5));
  out[0] = scattered(args.tensor(0), view, copy, args.tensor(1));
}
SL_OP(aten_diagonal_scatter) {
  Tensor copy = clone_as_it_lies(args.tensor(0));
  Tensor view = diagonal_view(copy, args.integer(2), args.integer(3), args.integer(4));
  out[0] = scattered(args.tensor(0), view, copy, args.tensor(1));
}
SL_OP(aten_lift) { out[0] = args.tensor(0); }
SL_OP(aten_lift_fresh_copy) { out[0] = clone(args.tensor(0)); }

}  // namespace scriptlang
