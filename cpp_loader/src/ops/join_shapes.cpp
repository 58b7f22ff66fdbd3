// Bringing tensors to shapes that fit together.
#include "express.h"
#include "join.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor sum_to_size(const Tensor& self, IntSpan size) {
  int64_t lead = self.dim() - size.size;
  SL_CHECK(lead >= 0, "size {", to_string(size), "} is not expandable to size {",
           to_string(self.sizes()), "}.");
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < self.dim(); ++d) {
    int64_t wanted = d < lead ? 1 : size[d - lead];
    SL_CHECK(d < lead || wanted == self.size(d) || wanted == 1, "size {", to_string(size),
             "} is not expandable to size {", to_string(self.sizes()), "}.");
    if (d < lead || (wanted == 1 && self.size(d) != 1)) dims.push_back(d);
  }
  if (size.empty()) return sum_over(self, reduced_dims(Value(), self.dim()));
  if (dims.empty()) return alias_of(self);
  return reshape(sum_over(self, dims, true), size);
}

void each(const Value& list, Value* out, OpFn f, Context& ctx) {
  std::vector<Tensor> made;
  for (const Value& v : list.as_list()) {
    Value given = v, result;
    f(ctx, Args(&given, 1), &result);
    made.push_back(result.as_tensor());
  }
  *out = tensor_list(std::move(made));
}

}  // namespace

void op_aten_atleast_1d(Context&, Args, Value*);
void op_aten_atleast_2d(Context&, Args, Value*);
void op_aten_atleast_3d(Context&, Args, Value*);

SL_OP(aten_broadcast_tensors) {
  std::vector<Tensor> tensors = args.tensors(0);
  std::vector<int64_t> shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sizes());
  for (Tensor& t : tensors) t = view_expand(t, shape);
  out[0] = tensor_list(std::move(tensors));
}
SL_OP(aten_sum_to_size) { out[0] = sum_to_size(args.tensor(0), args.ints(1)); }
SL_OP(aten_column_stack) {
  std::vector<Tensor> tensors = args.tensors(0);
  for (Tensor& t : tensors) {
    if (t.dim() <= 1) t = reshape(t, {t.numel(), 1});
  }
  out[0] = cat(tensors, 1);
}
SL_OP(aten_atleast_1d_Sequence) { each(args[0], out, op_aten_atleast_1d, ctx); }
SL_OP(aten_atleast_2d_Sequence) { each(args[0], out, op_aten_atleast_2d, ctx); }
SL_OP(aten_atleast_3d_Sequence) { each(args[0], out, op_aten_atleast_3d, ctx); }

}  // namespace scriptlang
