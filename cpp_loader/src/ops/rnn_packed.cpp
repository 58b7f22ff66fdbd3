// Packed sequences (the elements of each time step side by side): packing and unpacking.
#include <algorithm>

#include "express.h"
#include "join.h"
#include "layout.h"
#include "view.h"

namespace scriptlang {

SL_OP(aten__pack_padded_sequence) {
  const Tensor& given = args.tensor(0);
  bool batch_first = args.boolean(2);
  SL_CHECK(given.dim() >= 2, "pack_padded_sequence: expected an input of at least 2 dimensions");
  Tensor input = batch_first ? view_transpose(given, 0, 1) : given;
  Tensor lengths = contiguous_as(args.tensor(1), ScalarType::Int64);
  const int64_t* length = lengths.data<int64_t>();
  int64_t batch = lengths.numel();
  SL_CHECK(input.numel() > 0, "Cannot pack empty tensors.");
  SL_CHECK(input.size(1) == batch, "Expected `len(lengths)` to be equal to batch_size, but got ",
           batch, " (batch_size=", input.size(1), ")");
  SL_CHECK(length[batch - 1] > 0,
           "Length of all samples has to be greater than 0, but found an "
           "element in 'lengths' that is <= 0");
  for (int64_t i = 0; i + 1 < batch; ++i) {
    SL_CHECK(length[i] >= length[i + 1],
             "`lengths` array must be sorted in decreasing order when "
             "`enforce_sorted` is True. You can pass `enforce_sorted=False` to "
             "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
             "need ONNX exportability.");
  }
  SL_CHECK(length[0] <= input.size(0), "Expected the longest sequence (", length[0],
           ") to fit the input of ", input.size(0), " steps");
  Tensor sizes = Tensor::empty({length[0]}, ScalarType::Int64);
  std::vector<Tensor> parts;
  int64_t alive = batch;
  for (int64_t t = 0; t < length[0]; ++t) {
    while (alive > 0 && length[alive - 1] <= t) --alive;
    sizes.data<int64_t>()[t] = alive;
    parts.push_back(view_slice(view_select(input, 0, t), 0, 0, alive));
  }
  out[0] = cat(parts, 0);
  out[1] = sizes;
}

SL_OP(aten__pad_packed_sequence) {
  const Tensor& data = args.tensor(0);
  Tensor sizes = contiguous_as(args.tensor(1), ScalarType::Int64);
  const int64_t* size = sizes.data<int64_t>();
  int64_t count = sizes.numel(), total = args.integer(4);
  SL_CHECK(sizes.dim() == 1 && count > 0 && data.dim() > 0,
           "pad_packed_sequence: there is nothing to pad");
  SL_CHECK(total <= 0 || total >= count,
           "Expected total_length to be at least the length of the "
           "longest sequence in input, but got total_length=",
           total,
           " and max sequence length "
           "being ",
           count);
  int64_t batch = size[0], start = 0;
  std::vector<int64_t> shape{std::max(total, count), batch};
  shape.insert(shape.end(), data.sizes().begin() + 1, data.sizes().end());
  Tensor padded = Tensor::empty(shape, data.dtype());
  fill(padded, args.scalar(3));
  Tensor lengths = Tensor::zeros({batch}, ScalarType::Int64);
  for (int64_t t = 0; t < count; ++t) {
    SL_CHECK(size[t] >= 0 && size[t] <= size[std::max(t - 1, int64_t{0})] &&
                 size[t] <= data.size(0) - start,
             "pad_packed_sequence: batch_sizes do not fit the data");
    copy_into(view_slice(view_select(padded, 0, t), 0, 0, size[t]),
              view_slice(data, 0, start, start + size[t]));
    for (int64_t b = 0; b < size[t]; ++b) lengths.data<int64_t>()[b] = t + 1;
    start += size[t];
  }
  out[0] = args.boolean(2) ? view_transpose(padded, 0, 1) : padded;
  out[1] = lengths;
}

}  // namespace scriptlang
