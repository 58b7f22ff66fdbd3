// Copies of a tensor with the elements of a view replaced.
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

void op_aten_select_int(Context&, Args, Value*);
void op_aten_slice_Tensor(Context&, Args, Value*);

SL_OP(aten_select_backward) {
  Tensor whole = full(args.ints(1), args.tensor(0).dtype(), Scalar(int64_t{0}));
  Value given[3] = {whole, args[2], args[3]}, part;
  op_aten_select_int(ctx, Args(given, 3), &part);
  copy_into(part.as_tensor(), view_expand(args.tensor(0), part.as_tensor().sizes()));
  out[0] = whole;
}
SL_OP(aten_slice_backward) {
  Tensor whole = full(args.ints(1), args.tensor(0).dtype(), Scalar(int64_t{0}));
  Value given[5] = {whole, args[2], args[3], args[4], args[5]}, part;
  op_aten_slice_Tensor(ctx, Args(given, 5), &part);
  copy_into(part.as_tensor(), view_expand(args.tensor(0), part.as_tensor().sizes()));
  out[0] = whole;
}
SL_OP(aten_as_strided_scatter) {
  const Tensor &self = args.tensor(0), &src = args.tensor(1);
  // A copy with the same strides as self, including gaps.
  int64_t reach = 1;
  for (int64_t d = 0; d < self.dim(); ++d) reach += (self.size(d) - 1) * self.stride(d);
  bool overlaps = false;
  for (int64_t d = 0; d < self.dim(); ++d) {
    overlaps = overlaps || (self.stride(d) == 0 && self.size(d) > 1);
  }
  Tensor copy;
  if (self.numel() == 0 || overlaps) {
    copy = Tensor::empty(self.sizes(), self.dtype());
  } else {
    copy = Tensor::zeros({reach}, self.dtype()).as_strided(self.sizes(), self.strides(), 0);
  }
  copy_into(copy, self);
  Tensor view = Tensor::checked_view(copy.storage(), copy.dtype(), args.ints(2), args.ints(3),
                                     args.integer(4, copy.storage_offset()));
  SL_CHECK(view.sizes() == src.sizes(),
           "expected src to have a size equal to the slice of self. "
           "src size = ",
           to_string(src.sizes()), ", slice size = ", to_string(view.sizes()));
  copy_into(view, src);
  out[0] = copy;
}

}  // namespace scriptlang
