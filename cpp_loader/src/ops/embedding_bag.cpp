// Bags of embeddings: sums, means or maxima (modes 0, 1, 2) of rows of a table.
#include <algorithm>

#include "express.h"
#include "index.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

void embedding_bag(Args args, Value* out, int64_t padding) {
  const Tensor& weight = args.tensor(0);
  Tensor indices = args.tensor(1), offsets = args.tensor(2);
  int64_t mode = args.integer(4);
  const Tensor& scales = args.opt_tensor(6);
  SL_CHECK(weight.dim() == 2, "embedding_bag: weight has to be a 2D Tensor, but got ", weight.dim(),
           "D");
  SL_CHECK(indices.dim() == 1 && offsets.dim() == 1,
           "embedding_bag: input and offsets have to be 1D Tensors");
  const ScalarType type = promote(indices.dtype(), offsets.dtype());  // of the other results
  check_row_indices("embedding_bag", 1, type);
  SL_CHECK(mode >= 0 && mode <= 2, "embedding_bag: unknown mode ", mode);
  SL_CHECK(!scales.defined() || (mode == 0 && scales.sizes() == indices.sizes()),
           "embedding_bag: per_sample_weights need mode='sum' and the shape of the input");
  bool last = args.boolean(7);
  indices = contiguous_as(indices, ScalarType::Int64);
  offsets = contiguous_as(offsets, ScalarType::Int64);
  int64_t count = indices.numel(), bags = offsets.numel() - last, width = weight.size(1);
  SL_CHECK(bags >= 0, "embedding_bag: include_last_offset needs at least one offset");
  const int64_t *at = indices.data<int64_t>(), *start = offsets.data<int64_t>();
  int64_t rows = weight.size(0);
  if (padding < 0 && padding != -1) padding += rows;
  ScalarType computed = computed_type(weight.dtype(), "embedding_bag");
  Tensor w = contiguous_as(weight, computed), y = Tensor::zeros({bags, width}, computed);
  Tensor s = scales.defined() ? contiguous_as(scales, computed) : Tensor();
  // Indices behind the last offset belong to the last bag; -1 if there is no bag.
  Tensor bag_of = Tensor::empty({count}, ScalarType::Int64);
  std::fill_n(bag_of.data<int64_t>(), count, bags - 1);
  Tensor sizes = Tensor::zeros({bags}, ScalarType::Int64);
  Tensor places = Tensor::zeros({mode == 2 ? bags : 0, mode == 2 ? width : 0}, ScalarType::Int64);
  Tensor scaled = s.defined() ? Tensor::empty({width}, computed) : Tensor();
  const kernels::Loop add = kernels::loops(kernels::Binary::k_add)[computed];
  const kernels::Loop multiply = kernels::loops(kernels::Binary::k_mul)[computed];
  constexpr int64_t kBoth[] = {1, 1}, kBySame[] = {1, 0};
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < bags; ++b) {
      int64_t first = start[b], end = b + 1 < offsets.numel() ? start[b + 1] : count;
      SL_CHECK(first >= 0 && first <= end && end <= count && (b > 0 || first == 0),
               "embedding_bag: offsets have to be increasing, start at 0 and not pass the length "
               "of the input, ",
               count);
      T* to = y.data<T>() + b * width;
      int64_t used = 0;
      for (int64_t i = first; i < end; ++i) {
        bag_of.data<int64_t>()[i] = b;
        if (at[i] < 0 || at[i] >= rows) {
          raise(ErrorKind::IndexError, "embedding_bag: index out of range in self: ", at[i]);
        }
        if (at[i] == padding) continue;
        const T* from = w.data<T>() + at[i] * width;
        if (mode != 2) {
          const void* operands[] = {to, from};
          if (scaled.defined()) {
            const T* scale = s.data<T>() + i;
            const void* product[] = {from, scale};
            multiply(width, scaled.raw(), product, kBySame, nullptr);
            operands[1] = scaled.raw();
          }
          add(width, to, operands, kBoth, nullptr);
        } else {
          int64_t* place = places.data<int64_t>() + b * width;
          for (int64_t j = 0; j < width; ++j) {
            if (used > 0 && !(from[j] > to[j])) continue;
            to[j] = from[j];
            place[j] = at[i];
          }
        }
        ++used;
      }
      if (mode != 0) sizes.data<int64_t>()[b] = used;
      if (mode == 1 && used > 0) {
        for (int64_t j = 0; j < width; ++j) to[j] /= T(used);
      }
    }
  });
  out[0] = to_dtype(y, weight.dtype());
  // PyTorch's fast path does not return the bag of each index, and does not count for sums.
  const bool fast =
      mode == 0 && padding < 0 && weight.stride(1) == 1 && weight.dtype() != ScalarType::Float64;
  out[1] = to_dtype(fast ? Tensor::empty({0}, type) : bag_of, type);
  out[2] = to_dtype(sizes, type);
  out[3] = express::clone(to_dtype(mode == 2 ? places : sizes, type));
}

}  // namespace

SL_OP(aten_embedding_bag) { embedding_bag(args, out, -1); }
SL_OP(aten_embedding_bag_padding_idx) {
  // Here -1 is the last row; None means no padding.
  int64_t rows = args.tensor(0).dim() ? args.tensor(0).size(0) : 0, padding = args.integer(8, -1);
  SL_CHECK(args.none(8) || (padding >= -rows && padding < rows),
           "padding_idx must be within the number of embeddings, -", rows, " through ", rows - 1,
           ", but got ", padding);
  if (!args.none(8) && padding < 0) padding += rows;
  embedding_bag(args, out, padding);
}
SL_OP(aten__embedding_bag) { embedding_bag(args, out, args.integer(8)); }

}  // namespace scriptlang
