// Padding: constant, reflected, replicated and circular.
#include <algorithm>

#include "scratch.h"
#include "index.h"
#include "layout.h"
#include "pointwise.h"
#include "values/exact.h"
#include "view.h"

namespace scriptlang {

namespace {

// What a negative padding leaves of a dimension.
Tensor cut(const Tensor& t, int64_t d, int64_t pad, bool at_start) {
  if (pad >= 0) return t;
  const int64_t left = t.size(d) + pad;
  SL_CHECK(left >= 0, "narrow(): length must be non-negative.");
  return view_narrow(t, d, at_start ? t.size(d) - left : 0, left);
}

// The number of elements that a negative padding removes from a dimension.
int64_t cut_of(int64_t pad, int64_t size) { return pad < 0 ? -std::max(pad, -size) : 0; }

// `pad` holds (before, after) for the last dimension, then the one before it, and so on.
Tensor constant_pad(const Tensor& self, IntSpan pad, const Scalar& value) {
  SL_CHECK(pad.size % 2 == 0, "Length of pad must be even but instead it equals ", pad.size);
  int64_t n = pad.size / 2;
  SL_CHECK(n <= self.dim(),
           "Length of pad should be no more than twice the number of dimensions "
           "of the input. Pad length is ",
           pad.size, " while the input has ", self.dim(), " dimensions.");
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  Tensor from = self;
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = self.dim() - 1 - i, before = pad[2 * i], after = pad[2 * i + 1], size;
    SL_CHECK(!__builtin_add_overflow(self.size(d), before, &size) &&
                 !__builtin_add_overflow(size, after, &size) && size >= 0,
             "The input size ", self.size(d), ", plus negative padding ", before, " and ", after,
             " resulted in a negative output size, which is invalid. Check dimension ", d,
             " of your input.");
    sizes[size_t(d)] = size;
    from = cut(from, d, before, true);
    from = cut(from, d, after, false);
  }
  bool only_cut = std::all_of(pad.begin(), pad.end(), [](int64_t p) { return p <= 0; });
  if (only_cut) {
    Tensor copy = Tensor::empty_like(from, from.dtype());
    copy_into(copy, from);
    return copy;
  }
  Tensor out = empty_in_format(sizes, self.dtype(), suggested_format(self));
  fill(out, value);
  Tensor to = out;
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = self.dim() - 1 - i;
    to = view_slice(to, d, std::max<int64_t>(0, pad[2 * i]),
                    to.size(d) - std::max<int64_t>(0, pad[2 * i + 1]));
  }
  if (to.numel() > 0) copy_into(to, from);
  return out;
}

enum class Edge { kReflect, kReplicate, kCircular };

// The source index of element i of the padded dimension.
int64_t source_of(Edge edge, int64_t i, int64_t size) {
  switch (edge) {
    case Edge::kReflect:
      if (i < 0) i = -i;
      return i >= size ? 2 * (size - 1) - i : i;
    case Edge::kReplicate: return std::clamp<int64_t>(i, 0, size - 1);
    default: return (i % size + size) % size;  // size after negative padding
  }
}

// Selects the elements of dimension d at indices `from`. From position `to` on, the indices are
// consecutive; if these are most of the elements, they are copied as one slice.
Tensor selected(const Tensor& self, int64_t d, const Working<int64_t>& from, int64_t to,
                int64_t format) {
  int64_t total = int64_t(from.size()), run = 1;
  while (to + run < total && from[size_t(to + run)] == from[size_t(to + run - 1)] + 1) ++run;
  constexpr int64_t kFew = 32;
  if (total - run > kFew) {
    Tensor places = Tensor::empty({total}, ScalarType::Int64);
    std::copy(from.begin(), from.end(), places.data<int64_t>());
    return in_format(index_select(self, d, places), format);
  }
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  sizes[size_t(d)] = total;
  Tensor out = empty_in_format(sizes, self.dtype(), format);
  auto copy = [&](int64_t at, int64_t count) {
    int64_t begin = from[size_t(at)];
    copy_into(view_slice(out, d, at, at + count), view_slice(self, d, begin, begin + count));
  };
  copy(to, run);
  for (int64_t j = 0; j < total; ++j) {
    if (j < to || j >= to + run) copy(j, 1);
  }
  return out;
}

Tensor edge_pad(const Tensor& self, IntSpan pad, Edge edge) {
  SL_CHECK(pad.size % 2 == 0, "Padding length must be divisible by 2");
  int64_t n = pad.size / 2;
  bool fits = self.dim() == n + 1 || self.dim() == n + 2;
  SL_CHECK(n <= self.dim() && fits,
           "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: got an "
           "input of ",
           self.dim(), " dimensions and a padding of ", pad.size, " values");
  int64_t format = edge == Edge::kCircular ? int64_t(kContiguous) : suggested_format(self);
  Tensor result = self;
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = self.dim() - 1 - i, before = pad[2 * i], after = pad[2 * i + 1];
    int64_t size = self.size(d), total;
    SL_CHECK(size > 0, "Expected a non-empty dimension ", d, " to pad, got ",
             to_string(self.sizes()));
    SL_CHECK(edge != Edge::kReflect || (before < size && after < size),
             "Argument #4: Padding size should be less than the corresponding input dimension, but "
             "got: padding (",
             before, ", ", after, ") at dimension ", d, " of input ", to_string(self.sizes()));
    SL_CHECK(edge != Edge::kCircular || (before <= size && after <= size),
             "Padding value causes wrapping around more than once.");
    SL_CHECK(!__builtin_add_overflow(size, before, &total) &&
                 !__builtin_add_overflow(total, after, &total) && total > 0,
             "input (W: ", size, ") is too small for the padding (", before, ", ", after, ")");
    if (before == 0 && after == 0) continue;
    int64_t first = 0, shift = before;
    if (edge == Edge::kCircular) {
      first = cut_of(before, size);
      shift = std::max<int64_t>(before, 0);
      size -= first + cut_of(after, size);
      SL_CHECK(size > 0, "Negative padding value is resulting in an empty dimension");
    }
    Working<int64_t> from(as_size(total), 0);
    for (int64_t j = 0; j < total; ++j) {
      from[size_t(j)] = first + source_of(edge, Exact(j) - shift, size);
    }
    result = selected(result, d, from, std::clamp<int64_t>(shift, 0, total - 1), format);
  }
  if (!result.is(self)) return result;
  Tensor copy = empty_in_format(self.sizes(), self.dtype(), format);
  copy_into(copy, self);
  return copy;
}

void check_bool(const Tensor& self, const char* name, int64_t n) {
  if (self.dtype() != ScalarType::Bool) return;
  raise(ErrorKind::NotImplementedError, '"', name, "_pad", n, "d\" not implemented for 'Bool'");
}

Tensor pad_by_mode(const Tensor& self, IntSpan pad, std::string_view mode, const Value& value) {
  if (mode == "constant") return constant_pad(self, pad, value.is_none() ? 0.0 : value.as_double());
  SL_CHECK(value.is_none() || value.as_double() == 0.0, "Padding mode \"", mode,
           "\" doesn't take in value argument");
  if (mode == "reflect" || mode == "replicate") {
    SL_CHECK(pad.size % 2 == 0, "Padding length must be divisible by 2");
    const int64_t n = pad.size / 2;
    if (n < 1 || n > 3 || (self.dim() != n + 1 && self.dim() != n + 2)) {
      raise(ErrorKind::NotImplementedError, "Padding size ", pad.size, " is not supported for ",
            self.dim(), "D input tensor.");
    }
    const bool reflects = mode == "reflect";
    check_bool(self, reflects ? "reflection" : "replication", n);
    return edge_pad(self, pad, reflects ? Edge::kReflect : Edge::kReplicate);
  }
  if (mode == "circular") return edge_pad(self, pad, Edge::kCircular);
  raise(ErrorKind::NotImplementedError, "Unrecognised padding mode ", mode);
}

Tensor fixed_pad(Args args, int64_t n, Edge edge) {
  Ints pad = args.ints(1);
  SL_CHECK(pad.size() == 2 * n, "padding size is expected to be ", 2 * n,
           ", but got: ", pad.size());
  check_bool(args.tensor(0), edge == Edge::kReflect ? "reflection" : "replication", n);
  return edge_pad(args.tensor(0), pad, edge);
}

}  // namespace

SL_OP(aten_pad) { out[0] = pad_by_mode(args.tensor(0), args.ints(1), args.string(2), args[3]); }
SL_OP(aten_constant_pad_nd) { out[0] = constant_pad(args.tensor(0), args.ints(1), args.scalar(2)); }
SL_OP(aten_reflection_pad1d) { out[0] = fixed_pad(args, 1, Edge::kReflect); }
SL_OP(aten_reflection_pad2d) { out[0] = fixed_pad(args, 2, Edge::kReflect); }
SL_OP(aten_reflection_pad3d) { out[0] = fixed_pad(args, 3, Edge::kReflect); }
SL_OP(aten_replication_pad1d) { out[0] = fixed_pad(args, 1, Edge::kReplicate); }
SL_OP(aten_replication_pad2d) { out[0] = fixed_pad(args, 2, Edge::kReplicate); }
SL_OP(aten_replication_pad3d) { out[0] = fixed_pad(args, 3, Edge::kReplicate); }
SL_OP(aten__pad_circular) { out[0] = edge_pad(args.tensor(0), args.ints(1), Edge::kCircular); }

}  // namespace scriptlang
