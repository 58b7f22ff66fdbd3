// New tensors with given strides, and indices of triangles.
#include <algorithm>
#include <numeric>

#include "express.h"
#include "options.h"
#include "scratch.h"
#include "strided.h"
#include "view.h"
#include "values/exact.h"
#include "values/raw_view.h"

namespace scriptlang {

using namespace express;

namespace {

// The indices of a triangle of a rows x columns matrix, as [2][count].
Tensor triangle_indices(Args args, bool lower) {
  int64_t rows = args.integer(0), columns = args.integer(1), offset = args.integer(2);
  SL_CHECK(rows >= 0 && columns >= 0, "row and col must be non-negative, got ", rows, ", ",
           columns);
  if (rows == 0 || columns == 0) rows = columns = 0;
  constexpr int64_t kLimit = int64_t{1} << 40;
  // Rows or columns outside of the triangle may be any number, so they are cut off first.
  int64_t reach, &bounded = lower ? columns : rows;
  const bool beyond = lower ? __builtin_add_overflow(rows, offset, &reach)
                            : __builtin_sub_overflow(columns, offset, &reach);
  if (!beyond) bounded = std::clamp<int64_t>(reach, 0, bounded);
  if (bounded == 0) rows = columns = 0;
  SL_CHECK(rows < kLimit && columns < kLimit, "a matrix of ", rows, " x ", columns,
           " has too many indices");
  offset = std::clamp(offset, -rows - 1, columns + 1);
  want_strided_on_cpu(args, 4);
  auto edge = [&](int64_t r) { return std::clamp<int64_t>(r + offset + lower, 0, columns); };
  // Rows [top, bottom) are partly in the triangle; those above and below are wholly in or wholly
  // out.
  int64_t top = std::clamp<int64_t>(-offset - lower, 0, rows);
  int64_t bottom = std::clamp<int64_t>(columns - offset - lower, top, rows);
  int64_t parts = 0, wholes = 0, count = 0;  // elements of such rows
  bool many = false;
  if (bottom > top) {
    const int64_t left = edge(top) + edge(bottom - 1);
    many = __builtin_mul_overflow(lower ? left : 2 * columns - left, bottom - top, &parts);
  }
  many = many || __builtin_mul_overflow(lower ? rows - bottom : top, columns, &wholes) ||
         __builtin_add_overflow(parts / 2, wholes, &count) || count >= kLimit;
  SL_CHECK(!many, "a matrix of ", rows, " x ", columns, " has too many indices");
  ScalarType type = args.dtype(3, ScalarType::Int64);
  if (type != ScalarType::Int64 && type != ScalarType::Int32) {
    raise(ErrorKind::NotImplementedError, lower ? "\"tril" : "\"triu",
          "_indices\" not implemented for '", dtype_display_name(type), "'");
  }
  Tensor out = Tensor::empty({2, count}, ScalarType::Int64);
  int64_t *row = out.data<int64_t>(), *column = row + count;
  for (int64_t r = lower ? top : 0; r < (lower ? rows : bottom) && count > 0; ++r) {
    const int64_t first = lower ? 0 : edge(r), length = (lower ? edge(r) : columns) - first;
    row = std::fill_n(row, length, r);
    std::iota(column, column + length, first);
    column += length;
  }
  return to_dtype(out, type);
}

// A dense tensor whose dimensions are in the order of `layout` in memory.
Tensor empty_permuted(IntSpan sizes, IntSpan layout, ScalarType type) {
  bool fits = sizes.size == layout.size;
  bool seen[kMaxDims] = {};
  for (int64_t d : layout) {
    fits = fits && d >= 0 && d < sizes.size && d < kMaxDims && !seen[d];
    if (fits) seen[d] = true;
  }
  SL_CHECK(fits,
           "Number of dimensions in size does not match the length of the physical_layout; "
           "i.e. len(size) = ",
           sizes.size, " is not equal to len(physical_layout) = ", layout.size);
  Tensor t = Tensor::empty(sizes, type);
  std::vector<int64_t> strides(as_size(sizes.size), 1);
  int64_t next = 1;
  for (int64_t i = layout.size - 1; i >= 0; --i) {
    strides[size_t(layout[i])] = next;
    next = outer_stride(next, sizes[layout[i]]);
  }
  lay(t, strides);
  return t;
}

}  // namespace

SL_OP(aten_tril_indices) { out[0] = triangle_indices(args, true); }
SL_OP(aten_triu_indices) { out[0] = triangle_indices(args, false); }
SL_OP(aten_empty_strided) {
  Ints sizes = args.ints(0), strides = args.ints(1);
  want_strided_on_cpu(args, 3);
  SL_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
           ") must match dimensionality of strides (", strides.size(), ")");
  int64_t extent = 1;
  for (int64_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    SL_CHECK(strides[i] >= 0 && sizes[i] >= 0,
             "empty_strided: sizes and strides must not be negative");
    SL_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                 !__builtin_add_overflow(extent, std::max<int64_t>(reach, 0), &extent),
             "empty_strided: sizes and strides are too large");
  }
  Tensor t =
      Tensor::empty({checked_numel(sizes) == 0 ? 0 : extent}, args.dtype(2, ScalarType::Float32));
  out[0] = unwritten(t).as_strided(sizes, strides, 0);
}
SL_OP(aten_new_empty_strided) {
  Value dtype = args.none(3) ? Value(int64_t(args.tensor(0).dtype())) : args[3];
  Value values[6] = {args[1], args[2], dtype, args[4], args[5], args[6]};
  op_aten_empty_strided(ctx, Args(values, 6), out);
}
SL_OP(aten_empty_permuted) {
  want_strided_on_cpu(args, 3);
  out[0] =
      unwritten(empty_permuted(args.ints(0), args.ints(1), args.dtype(2, ScalarType::Float32)));
}

}  // namespace scriptlang
