// Splitting tensors into parts, which are views.
#include <algorithm>

#include "express.h"
#include "scratch.h"
#include "view.h"

namespace scriptlang {

namespace {

int64_t size_at(const Tensor& t, int64_t dim) {
  if (t.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  }
  return t.size(dim);
}

constexpr int64_t kMostParts = 1 << 24;

// Raises where there are too many parts, or their headers would exceed the program's memory limit.
void check_parts(const char* name, const char* what, int64_t count) {
  SL_CHECK(count <= kMostParts, name, ": ", count, " ", what, " are too many");
  memory::ask(count, 192);
}

std::vector<Tensor> split_sizes(const Tensor& t, IntSpan lengths, int64_t dim) {
  SL_CHECK(t.dim() > 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, t.dim());
  int64_t total = 0;
  bool fits = true;
  for (int64_t length : lengths) {
    SL_CHECK(length >= 0,
             "split_with_sizes expects split_sizes have only non-negative entries, "
             "but got split_sizes=",
             to_string(lengths));
    fits = fits && !__builtin_add_overflow(total, length, &total);
  }
  SL_CHECK(fits && total == t.size(dim), "split_with_sizes expects split_sizes to sum exactly to ",
           t.size(dim), " (input tensor's size at dimension ", dim,
           "), but got split_sizes=", to_string(lengths));
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t length : lengths) {
    parts.push_back(view_slice(t, dim, start, start + length));
    start += length;
  }
  return parts;
}

std::vector<Tensor> split_every(const Tensor& t, int64_t length, int64_t dim) {
  SL_CHECK(t.dim() > 0, "split expects at least a 1-dimensional tensor");
  dim = wrap_dim(dim, t.dim());
  SL_CHECK(length >= 0, "split expects split_size be non-negative, but got split_size=", length);
  int64_t size = t.size(dim);
  SL_CHECK(length > 0 || size == 0,
           "split_size can only be 0 if dimension size is 0, but got dimension size of ", size);
  int64_t count = length == 0 ? 1 : std::max<int64_t>((size - 1) / length + 1, 1);
  if (size == 0) count = 1;
  check_parts("split", "parts", count);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < count; ++i) {
    int64_t start = i * length;
    int64_t end = size - start < length ? size : start + length;
    parts.push_back(view_slice(t, dim, start, end));
  }
  return parts;
}

std::vector<Tensor> cut_at(const Tensor& t, IntSpan indices, int64_t dim) {
  SL_CHECK(t.dim() > 0,
           "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  dim = wrap_dim(dim, t.dim());
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t end : indices) {
    parts.push_back(view_slice(t, dim, start, end));
    start = end;
  }
  parts.push_back(view_slice(t, dim, start, t.size(dim)));
  return parts;
}

std::vector<Tensor> tensor_split(const Tensor& t, int64_t sections, int64_t dim) {
  SL_CHECK(t.dim() > 0,
           "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
  SL_CHECK(sections > 0, "number of sections must be larger than 0, got ", sections);
  check_parts("tensor_split", "sections", sections);
  dim = wrap_dim(dim, t.dim());
  int64_t size = t.size(dim), start = 0;
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < sections; ++i) {
    int64_t length = size / sections + (i < size % sections);
    parts.push_back(view_slice(t, dim, start, start + length));
    start += length;
  }
  return parts;
}

}  // namespace

SL_OP(aten_split_Tensor) {
  out[0] = tensor_list(split_every(args.tensor(0), args.integer(1), args.integer(2)));
}
SL_OP(aten_split_sizes) {
  out[0] = tensor_list(split_sizes(args.tensor(0), args.ints(1), args.integer(2)));
}
SL_OP(aten_split) { op_aten_split_sizes(ctx, args, out); }
SL_OP(aten_split_with_sizes) { op_aten_split_sizes(ctx, args, out); }
SL_OP(aten_chunk) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(t.dim() > 0, "chunk expects at least a 1-dimensional tensor");
  int64_t chunks = args.integer(1), dim = wrap_dim(args.integer(2), t.dim());
  SL_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0, got: ", chunks);
  int64_t size = t.size(dim);
  int64_t length = size / chunks + (size % chunks != 0);
  if (length == 0) {
    check_parts("chunk", "chunks", chunks);
    std::vector<int64_t> zeros(as_size(chunks), 0);
    out[0] = tensor_list(split_sizes(t, zeros, dim));
  } else {
    out[0] = tensor_list(split_every(t, length, dim));
  }
}
SL_OP(aten_tensor_split_sections) {
  out[0] = tensor_list(tensor_split(args.tensor(0), args.integer(1), args.integer(2)));
}
SL_OP(aten_tensor_split_indices) {
  out[0] = tensor_list(cut_at(args.tensor(0), args.ints(1), args.integer(2)));
}
SL_OP(aten_unbind_int) {
  const Tensor& t = args.tensor(0);
  int64_t dim = wrap_dim(args.integer(1), t.dim());
  std::vector<Tensor> parts;
  int64_t count = size_at(t, dim);
  check_parts("unbind", "parts", count);
  parts.reserve(as_size(count));
  for (int64_t i = 0; i < count; ++i) parts.push_back(view_select(t, dim, i));
  out[0] = tensor_list(std::move(parts));
}

namespace {

// Replaces parts by copies, which do not share memory with the whole.
void as_separate(Value* out) {
  List& list = out->as_list();
  for (size_t k = 0; k < list.size(); ++k) {
    list.set(k, express::clone_as_it_lies(list.get(k).as_tensor()));
  }
}

}  // namespace

SL_OP(aten_unsafe_chunk) {
  op_aten_chunk(ctx, args, out);
  as_separate(out);
}
SL_OP(aten_unsafe_split_Tensor) {
  op_aten_split_Tensor(ctx, args, out);
  as_separate(out);
}
SL_OP(aten_unsafe_split_with_sizes) {
  op_aten_split_sizes(ctx, args, out);
  as_separate(out);
}

namespace {

std::vector<Tensor> split_named(Args args, const char* name, int64_t least, int64_t dim) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() >= least, "torch.", name, " requires a tensor with at least ", least,
           " dimension, but got a tensor with ", self.dim(), " dimensions!");
  std::vector<Tensor> parts;
  int64_t size = self.size(dim);
  if (args[1].is_int()) {
    int64_t sections = args.integer(1);
    SL_CHECK(sections > 0 && size % sections == 0 && sections <= 1 << 24, "torch.", name,
             " attempted to split along dimension ", dim, ", but the size of the dimension ", size,
             " is not divisible by the split_size ", sections, "!");
    for (int64_t i = 0; i < sections; ++i) {
      parts.push_back(view_narrow(self, dim, i * (size / sections), size / sections));
    }
    return parts;
  }
  int64_t start = 0;
  for (int64_t end : args.ints(1)) {
    parts.push_back(view_slice(self, dim, start, end));
    start = end;
  }
  parts.push_back(view_slice(self, dim, start, size));
  return parts;
}

}  // namespace

SL_OP(aten_hsplit_int) {
  bool vector = args.tensor(0).dim() == 1;
  out[0] = tensor_list(split_named(args, "hsplit", 1, vector ? 0 : 1));
}
SL_OP(aten_hsplit_array) { op_aten_hsplit_int(ctx, args, out); }
SL_OP(aten_vsplit_int) { out[0] = tensor_list(split_named(args, "vsplit", 2, 0)); }
SL_OP(aten_vsplit_array) { out[0] = tensor_list(split_named(args, "vsplit", 2, 0)); }
SL_OP(aten_dsplit_int) { out[0] = tensor_list(split_named(args, "dsplit", 3, 2)); }
SL_OP(aten_dsplit_array) { out[0] = tensor_list(split_named(args, "dsplit", 3, 2)); }
SL_OP(aten_tensor_split_tensor_indices_or_sections) {
  const Tensor& at = args.tensor(1);
  SL_CHECK(at.dtype() == ScalarType::Int64,
           "tensor_split expected tensor_indices_or_sections to "
           "have dtype of long, but got ",
           dtype_display_name(at.dtype()));
  SL_CHECK(at.dim() <= 1,
           "tensor_split expected tensor_indices_or_sections to be a zero-"
           "dimensional or one-dimensional tensor, but got a tensor with ",
           at.dim(), " dims");
  Tensor places = to_contiguous(at);
  if (at.dim() == 0) {
    args[1] = *places.data<int64_t>();
    op_aten_tensor_split_sections(ctx, args, out);
  } else {
    args[1] = int_list({places.data<int64_t>(), places.numel()});
    op_aten_tensor_split_indices(ctx, args, out);
  }
}

}  // namespace scriptlang
