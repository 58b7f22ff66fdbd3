// Embeddings with quantized rows, and operators on the objects that hold weights of recurrent
// layers.
#include <algorithm>

#include "values/type.h"
#include "ops/pointwise.h"
#include "packed.h"
#include "ops/view.h"

namespace scriptlang {

void op_aten_embedding_bag(Context&, Args, Value*);

namespace {

Tensor rows_of(const Value& params) {
  const Tuple::Items& state = state_of(params, kEmbeddingParams);
  bool has_rows = state.size() >= 2 && state[1].is_list() && !state[1].as_list().empty();
  Value rows = has_rows ? state[1].as_list().get(0) : Value();
  SL_CHECK(rows.is_tensor(), "a packed embedding is malformed");
  return rows.as_tensor();
}

// The rows of an embedding at `indices`, dequantized. Each row has its own scale and zero point.
Tensor looked_up(const Tensor& weight, const Tensor& indices) {
  SL_CHECK(is_quantized(weight.dtype()) && weight.dim() == 2,
           "an embedding's weight is not "
           "quantized, or is no matrix");
  const Quantizer& q = quantizer_of(weight, "an embedding");
  Tensor at = contiguous_as(indices, ScalarType::Int64), codes = codes_of(weight);
  int64_t n = at.numel(), width = weight.size(1);
  std::vector<int64_t> sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(width);
  if (q.is_per_tensor() || q.axis != 0) {
    Tensor numbers = to_contiguous(numbers_of(weight)), y = Tensor::empty(sizes, numbers.dtype());
    for (int64_t i = 0; i < n; ++i) {
      int64_t row = at.data<int64_t>()[i];
      SL_CHECK(row >= 0 && row < weight.size(0), "an index is outside of the embedding");
      std::copy_n(numbers.data<float>() + row * width, width, y.data<float>() + i * width);
    }
    return y;
  }
  Tensor kept = Tensor::empty({n, width}, codes.dtype()),
         scales = Tensor::empty({n}, q.scales.dtype()),
         zeros = Tensor::empty({n}, q.zero_points.dtype());
  for (int64_t i = 0; i < n; ++i) {
    int64_t row = at.data<int64_t>()[i];
    SL_CHECK(row >= 0 && row < weight.size(0), "an index is outside of the embedding");
    copy_into(view_select(kept, 0, i), view_select(codes, 0, row));
    copy_into(view_select(scales, 0, i), view_select(q.scales, 0, row));
    copy_into(view_select(zeros, 0, i), view_select(q.zero_points, 0, row));
  }
  Ref<Quantizer> rows(Quantizer::per_channel(scales, zeros, 0));
  return view_as_shape(numbers_of(with_quantizer(kept, rows.get())), sizes);
}

void embedding(Args args, Value* out) {
  SL_CHECK(!args.boolean(2), "an index is outside of the embedding, or its rows are pruned");
  out[0] = looked_up(rows_of(args[0]), args.tensor(1));
}

// Only the rows that are used are dequantized; the indices then count through them.
void embedding_bag(Context& ctx, Args args, Value* out) {
  SL_CHECK(!args.boolean(5) && args.none(7), "embeddings with pruned rows are not supported");
  Tensor indices = args.tensor(1), offsets = args.opt_tensor(2), weights = args.opt_tensor(6);
  bool include_last = args.boolean(8);
  if (indices.dim() == 2) {
    int64_t n = indices.size(0), length = indices.size(1);
    offsets = Tensor::empty({n}, ScalarType::Int64);
    for (int64_t i = 0; i < n; ++i) offsets.data<int64_t>()[i] = i * length;
    indices = reshape(indices, {n * length});
    include_last = false;
    if (weights.defined()) weights = reshape(weights, {n * length});
  }
  SL_CHECK(offsets.defined(), "embedding_bag takes offsets with indices of one dimension");
  Tensor table = looked_up(rows_of(args[0]), indices);
  Tensor order = Tensor::empty({indices.numel()}, indices.dtype());
  Tensor count = Tensor::empty({indices.numel()}, ScalarType::Int64);
  for (int64_t i = 0; i < count.numel(); ++i) count.data<int64_t>()[i] = i;
  copy_into(order, count);
  Value given[8] = {table,
                    order,
                    offsets,
                    Value(false),
                    args[4],
                    Value(false),
                    weights.defined() ? Value(weights) : Value(),
                    Value(include_last)};
  Value made[4];
  op_aten_embedding_bag(ctx, Args(given, 8), made);
  out[0] = made[0];
}

}  // namespace

SL_OP(quantized_embedding_bag_prepack) {
  const Tensor& weight = args.tensor(0);
  SL_CHECK(is_quantized(weight.dtype()), "embedding_bag_prepack takes a quantized weight");
  std::vector<Value> bits{Value(int64_t(weight.dtype() == ScalarType::QUInt8 ? 8 : 4))};
  out[0] = packed_object(kEmbeddingParams, {Value(int64_t{1}), tensor_list({weight}), List::make(),
                                            List::make(std::move(bits))});
}
SL_OP(quantized_embedding_bag_unpack) {
  Tensor weight = rows_of(args[0]);
  out[0] = weight;
}
SL_OP(quantized_embedding_byte) { embedding(args, out); }
SL_OP(quantized_embedding_4bit) { embedding(args, out); }
SL_OP(quantized_embedding_bag_byte) { embedding_bag(ctx, args, out); }
SL_OP(quantized_embedding_bag_4bit) { embedding_bag(ctx, args, out); }

SL_OP(quantized_make_quantized_cell_params_dynamic) {
  std::vector<Value> flags{Value(int64_t(args.boolean(4)))}, weights{args[0], args[1]};
  out[0] =
      packed_object(kCellParams, {Value(std::string("quantized_dynamic")),
                                  tensor_list({args.tensor(2), args.tensor(3)}), List::make(),
                                  List::make(std::move(flags)), List::make(std::move(weights))});
}
SL_OP(quantized_make_quantized_cell_params_fp16) {
  std::vector<Value> weights{args[0], args[1]};
  out[0] = packed_object(kCellParams, {Value(std::string("quantized_fp16")), tensor_list({}),
                                       List::make(), List::make(), List::make(std::move(weights))});
}

}  // namespace scriptlang
