// Operators that return views.
#include "view.h"

#include <algorithm>
#include <limits>

#include "diagonal.h"
#include "pointwise.h"

namespace scriptlang {

namespace {

// A copy of a tensor's geometry, to be changed for a view.
struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t)
      : sizes(t.sizes().begin(), t.sizes().end()),
        strides(t.strides().begin(), t.strides().end()),
        offset(t.storage_offset()) {}
  Tensor of(const Tensor& t) const { return t.as_strided(sizes, strides, offset); }
};

Tensor move_dims(const Tensor& t, IntSpan from, IntSpan to) {
  SL_CHECK(from.size == to.size, "movedim: Invalid source or destination dims: source (",
           to_string(from), " dims) should contain the same number of dims as destination (",
           to_string(to), " dims)");
  const size_t places = size_t(std::max<int64_t>(t.dim(), 1));  // zero-dim: dim 0 may be named
  std::vector<int64_t> order(places, -1);
  std::vector<bool> moved(places, false);
  for (int64_t i = 0; i < from.size; ++i) {
    int64_t source = wrap_dim(from[i], t.dim()), target = wrap_dim(to[i], t.dim());
    SL_CHECK(!moved[size_t(source)], "movedim: repeated dim in `source` (", to_string(from), ")");
    SL_CHECK(order[size_t(target)] < 0, "movedim: repeated dim in `destination` (", to_string(to),
             ")");
    moved[size_t(source)] = true;
    order[size_t(target)] = source;
  }
  if (t.dim() == 0) return alias_of(t);
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (moved[size_t(next)]) ++next;
    place = next++;
  }
  return view_permute(t, order);
}

Tensor unfold(const Tensor& t, int64_t dim, int64_t size, int64_t step) {
  dim = wrap_dim(dim, t.dim());
  int64_t length = t.dim() == 0 ? 1 : t.size(dim);
  SL_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  SL_CHECK(size <= length, "maximum size for tensor at dimension ", dim, " is ", length,
           " but size is ", size);
  SL_CHECK(step > 0, "step is ", step, " but must be > 0");
  check_dims(t.dim() + 1);
  Geometry g(t);
  g.sizes.push_back(size);
  g.strides.push_back(t.dim() == 0 ? 1 : t.stride(dim));
  if (t.dim() > 0) {
    g.sizes[size_t(dim)] = (length - size) / step + 1;
    if (__builtin_mul_overflow(g.strides[size_t(dim)], step, &g.strides[size_t(dim)])) {
      g.strides[size_t(dim)] = 0;  // only one window fits
    }
  }
  return g.of(t);
}

Tensor as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  SL_CHECK(sizes.size == strides.size, "mismatch in length of strides and shape");
  for (int64_t s : strides) {
    SL_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ",
             to_string(strides));
  }
  return t.as_strided(sizes, strides, offset);
}

Tensor unflatten(const Tensor& t, int64_t dim, IntSpan sizes) {
  dim = wrap_dim(dim, t.dim());
  SL_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  SL_CHECK(t.dim() > 0, "unflatten: the tensor has no dimension to split");
  std::vector<int64_t> parts = infer_sizes(sizes, t.size(dim));
  std::vector<int64_t> all(t.sizes().begin(), t.sizes().begin() + dim);
  all.insert(all.end(), parts.begin(), parts.end());
  all.insert(all.end(), t.sizes().begin() + dim + 1, t.sizes().end());
  return view_as_shape(t, all);
}

Tensor reversed(const Tensor& t) {
  std::vector<int64_t> order;
  for (int64_t i = t.dim() - 1; i >= 0; --i) order.push_back(i);
  return view_permute(t, order);
}

// A view of a complex tensor as pairs of floats; real_as_complex is the inverse.
Tensor complex_as_real(const Tensor& t) {
  SL_CHECK(is_complex(t.dtype()), "view_as_real is only supported for complex tensors");
  check_dims(t.dim() + 1);
  Geometry g(t);
  for (int64_t& stride : g.strides) stride *= 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  return Tensor::on_storage(t.storage(), to_real(t.dtype()), g.sizes, g.strides, g.offset * 2);
}

Tensor real_as_complex(const Tensor& t) {
  const ScalarType whole = complex_of(t.dtype());
  SL_CHECK(t.dtype() == ScalarType::Float32 || t.dtype() == ScalarType::Float64,
           "view_as_complex is only supported for half, float and double tensors, but got a tensor "
           "of scalar type: ",
           dtype_display_name(t.dtype()));
  SL_CHECK(t.dim() > 0, "Input tensor must have one or more dimensions");
  SL_CHECK(t.size(t.dim() - 1) == 2, "Tensor must have a last dimension of size 2");
  SL_CHECK(t.stride(t.dim() - 1) == 1, "Tensor must have a last dimension with stride 1");
  Geometry g(t);
  g.sizes.pop_back();
  g.strides.pop_back();
  bool even = g.offset % 2 == 0;
  for (size_t d = 0; d < g.strides.size(); ++d) {
    even = even && (g.sizes[d] == 1 || g.strides[d] % 2 == 0);
    g.strides[d] /= 2;
  }
  SL_CHECK(even, "Tensor must have a storage_offset and strides divisible by 2");
  return Tensor::on_storage(t.storage(), whole, g.sizes, g.strides, g.offset / 2);
}

Tensor part_of_complex(const Tensor& t, int64_t part) {
  return view_select(complex_as_real(t), t.dim(), part);
}

}  // namespace

// The body of an operator that returns a view of its first argument. The view reuses the tensor's
// header where it has no other owner.
#define SL_VIEW(...)                                                      \
  {                                                                       \
    auto view = [&](auto&& t) { return __VA_ARGS__; };                    \
    const Tensor& first = args.tensor(0);                                 \
    bool alone = first.impl()->refs.load(std::memory_order_acquire) == 1; \
    out[0] = alone ? view(args[0].take_tensor()) : view(first);           \
  }
#define SL_FIRST std::forward<decltype(t)>(t)

// clang-format off
SL_OP(aten_select_int) SL_VIEW(view_select(SL_FIRST, args.integer(1), args.integer(2)))
SL_OP(aten_slice_Tensor) SL_VIEW(
    view_slice(SL_FIRST, args.integer(1), args.integer(2, 0),
               args.integer(3, std::numeric_limits<int64_t>::max()), args.integer(4)))
    // clang-format on
    SL_OP(aten_narrow) {
  out[0] = view_narrow(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
// clang-format off
SL_OP(aten_transpose_int) SL_VIEW(view_transpose(SL_FIRST, args.integer(1), args.integer(2)))
    // clang-format on
    SL_OP(aten_transpose_) {
  become(args.tensor(0), view_transpose(args.tensor(0), args.integer(1), args.integer(2)));
  out[0] = args.tensor(0);
}
SL_OP(aten_swapaxes) { op_aten_transpose_int(ctx, args, out); }
SL_OP(aten_swapdims) { op_aten_transpose_int(ctx, args, out); }
SL_OP(aten_t) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(t.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", t.dim(), "D");
  out[0] = t.dim() < 2 ? alias_of(t) : view_transpose(t, 0, 1);
}
SL_OP(aten_t_) {
  op_aten_t(ctx, args, out);
  become(args.tensor(0), out[0].as_tensor());
  out[0] = args.tensor(0);
}
SL_OP(aten_numpy_T) { out[0] = reversed(args.tensor(0)); }
SL_OP(aten_numpy_T_a) { out[0] = reversed(args.tensor(0)); }
SL_OP(aten_mT) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(t.dim() != 1,
           "tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.");
  out[0] = t.dim() == 0 ? alias_of(t) : view_transpose(t, -2, -1);
}
SL_OP(aten_mT_a) { op_aten_mT(ctx, args, out); }
// clang-format off
SL_OP(aten_permute) SL_VIEW(view_permute(SL_FIRST, args.ints(1)))
    // clang-format on
    SL_OP(aten_movedim_intlist) {
  out[0] = move_dims(args.tensor(0), args.ints(1), args.ints(2));
}
SL_OP(aten_movedim_int) {
  out[0] = move_dims(args.tensor(0), {args.integer(1)}, {args.integer(2)});
}
SL_OP(aten_moveaxis_intlist) { op_aten_movedim_intlist(ctx, args, out); }
SL_OP(aten_moveaxis_int) { op_aten_movedim_int(ctx, args, out); }
// clang-format off
SL_OP(aten_unsqueeze) SL_VIEW(view_unsqueeze(SL_FIRST, args.integer(1)))
    // clang-format on
    SL_OP(aten_unsqueeze_) {
  become(args.tensor(0), view_unsqueeze(args.tensor(0), args.integer(1)));
  out[0] = args.tensor(0);
}
// clang-format off
SL_OP(aten_squeeze) SL_VIEW(view_squeeze(SL_FIRST))
SL_OP(aten_squeeze_dim) SL_VIEW(view_squeeze(SL_FIRST, {args.integer(1)}))
    // clang-format on
    SL_OP(aten_squeeze_dims) {
  out[0] = view_squeeze(args.tensor(0), args.ints(1));
}
SL_OP(aten_squeeze_) {
  become(args.tensor(0), view_squeeze(args.tensor(0)));
  out[0] = args.tensor(0);
}
SL_OP(aten_squeeze__dim) {
  become(args.tensor(0), view_squeeze(args.tensor(0), {args.integer(1)}));
  out[0] = args.tensor(0);
}
SL_OP(aten_squeeze__dims) {
  become(args.tensor(0), view_squeeze(args.tensor(0), args.ints(1)));
  out[0] = args.tensor(0);
}
// clang-format off
SL_OP(aten_expand) SL_VIEW(view_expand(SL_FIRST, args.ints(1)))
    // clang-format on
    SL_OP(aten_expand_as) {
  out[0] = view_expand(args.tensor(0), args.tensor(1).sizes());
}
SL_OP(aten_broadcast_to) { out[0] = view_expand(args.tensor(0), args.ints(1)); }
// clang-format off
SL_OP(aten_view) SL_VIEW(view_as_shape(SL_FIRST, args.ints(1)))
    // clang-format on
    SL_OP(aten__unsafe_view) {
  out[0] = view_as_shape(args.tensor(0), args.ints(1));
}
SL_OP(aten_view_as) { out[0] = view_as_shape(args.tensor(0), args.tensor(1).sizes()); }
// clang-format off
SL_OP(aten_reshape) SL_VIEW(reshape(SL_FIRST, args.ints(1)))
    // clang-format on
    SL_OP(aten_reshape_as) {
  out[0] = reshape(args.tensor(0), args.tensor(1).sizes());
}
SL_OP(aten_flatten_using_ints) {
  out[0] = flatten(args.tensor(0), args.integer(1), args.integer(2));
}
SL_OP(aten_ravel) { out[0] = reshape(to_contiguous(args.tensor(0)), {-1}); }
SL_OP(aten_unflatten_int) { out[0] = unflatten(args.tensor(0), args.integer(1), args.ints(2)); }
SL_OP(aten_alias) { out[0] = alias_of(args.tensor(0)); }
SL_OP(aten_detach) { out[0] = alias_of(args.tensor(0)); }
SL_OP(aten_diagonal) {
  out[0] = diagonal_view(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_unfold) {
  out[0] = unfold(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_as_strided) {
  const Tensor& t = args.tensor(0);
  out[0] = as_strided(t, args.ints(1), args.ints(2), args.integer(3, t.storage_offset()));
}
SL_OP(aten_view_as_real) { out[0] = complex_as_real(args.tensor(0)); }
SL_OP(aten_view_as_complex) { out[0] = real_as_complex(args.tensor(0)); }
SL_OP(aten_real) {
  const Tensor& t = args.tensor(0);
  out[0] = is_complex(t.dtype()) ? part_of_complex(t, 0) : t;
}
SL_OP(aten_imag) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(is_complex(t.dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  out[0] = part_of_complex(t, 1);
}

}  // namespace scriptlang
