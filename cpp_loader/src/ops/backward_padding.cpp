// Derivatives of padding that repeats elements: each element gets the sum of its copies' gradients.
#include <algorithm>

#include "../../kernels/parallel.h"
#include "layout.h"
#include "pointwise.h"
#include "reduce.h"
#include "scratch.h"
#include "values/exact.h"

namespace scriptlang {

namespace {

// For one dimension: the source index of each padded element, and the range [begin, end) of them
// that are the unpadded elements.
struct Folded {
  int64_t size = 1, total = 1, begin = 0, end = 1;
  Working<int64_t> from;

  void find(bool reflect, int64_t before) {
    from.resize(as_size(total));
    for (int64_t i = 0; i < total; ++i) {
      int64_t at = i - before;
      if (reflect) {
        at = at < 0 ? -at : at;
        at = at >= size ? 2 * (size - 1) - at : at;
      }
      from[size_t(i)] = std::clamp<int64_t>(at, 0, size - 1);
    }
    begin = std::clamp<int64_t>(before, 0, total);
    end = std::clamp<int64_t>(Exact(size) + before, begin, total);
  }
};

// The padded size of a dimension; checks the arguments as the padding itself does.
int64_t padded_size(const Tensor& self, int64_t d, bool reflect, int64_t before, int64_t after) {
  int64_t size = self.size(d);
  SL_CHECK(size > 0, "Expected a non-empty dimension ", d, " to pad, got ",
           to_string(self.sizes()));
  SL_CHECK(!reflect || (before < size && after < size),
           "Argument #4: Padding size should be less than the corresponding input dimension, but "
           "got: padding (",
           before, ", ", after, ") at dimension ", d, " of input ", to_string(self.sizes()));
  int64_t total = Exact(size) + before + after;
  SL_CHECK(total > 0, "input (W: ", size, ") is too small for the padding (", before, ", ", after,
           ")");
  return total;
}

template <class T>
void fold_plane(const Folded* f, const T* g, T* y) {
  const Folded& w = f[2];
  for (int64_t d = 0; d < f[0].total; ++d)
    for (int64_t h = 0; h < f[1].total; ++h, g += w.total) {
      T* row = y + (f[0].from[size_t(d)] * f[1].size + f[1].from[size_t(h)]) * w.size;
      for (int64_t j = 0; j < w.begin; ++j) row[w.from[size_t(j)]] += g[j];
      if (w.begin < w.end) {
        T* run = row + w.from[size_t(w.begin)];
        for (int64_t j = w.begin; j < w.end; ++j) run[j - w.begin] += g[j];
      }
      for (int64_t j = w.end; j < w.total; ++j) row[w.from[size_t(j)]] += g[j];
      kernels::worked(w.total);
    }
}

Tensor pad_back(const char* name, Args args, int64_t n, bool reflect) {
  const Tensor &grad = args.tensor(0), &self = args.tensor(1);
  Ints pad = args.ints(2);
  SL_CHECK(pad.size() == 2 * n, "padding size is expected to be ", 2 * n,
           ", but got: ", pad.size());
  SL_CHECK(self.dim() == n + 1 || self.dim() == n + 2, name, "(): Expected ", n + 1, "D or ", n + 2,
           "D input tensor, but got: ", to_string(self.sizes()));
  SL_CHECK(grad.dtype() == self.dtype(), name, "(): expected a gradient of type ",
           dtype_name(self.dtype()), ", but got ", dtype_name(grad.dtype()));
  if (!is_floating(self.dtype()) && !is_complex(self.dtype())) {
    raise(ErrorKind::NotImplementedError, '"', name, "\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  Folded f[3];
  std::vector<int64_t> expected(self.sizes().begin(), self.sizes().end());
  for (int64_t i = 0; i < n; ++i) {
    int64_t d = self.dim() - 1 - i;
    f[2 - i].size = self.size(d);
    f[2 - i].total = padded_size(self, d, reflect, pad[2 * i], pad[2 * i + 1]);
    expected[size_t(d)] = f[2 - i].total;
  }
  SL_CHECK(grad.sizes() == IntSpan(expected), name, "(): a gradient of size ",
           to_string(grad.sizes()), " does not fit padding of size ", to_string(IntSpan(expected)));
  for (int64_t i = 0; i < 3; ++i) f[2 - i].find(reflect, i < n ? pad[2 * i] : 0);
  ScalarType computed = comparable(self.dtype());
  Tensor g = contiguous_as(grad, computed), y = Tensor::zeros(self.sizes(), computed);
  int64_t planes = 1, in = 1, padded = 1;
  for (int64_t d = 0; d + n < self.dim(); ++d) planes *= self.size(d);
  for (const Folded& one : f) in *= one.size, padded *= one.total;
  for_type_or_complex(computed, name, [&](auto zero) {
    using T = decltype(zero);
    kernels::parallel_for(planes, 32768 / padded + 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        fold_plane(f, g.data<T>() + p * padded, y.data<T>() + p * in);
      }
    });
  });
  y = to_dtype(y, self.dtype());
  return self.dim() == n + 2 && n > 1 ? in_format_of(y, self) : y;
}

}  // namespace

SL_OP(aten_reflection_pad1d_backward) {
  out[0] = pad_back("reflection_pad1d_backward", args, 1, true);
}
SL_OP(aten_reflection_pad2d_backward) {
  out[0] = pad_back("reflection_pad2d_backward", args, 2, true);
}
SL_OP(aten_reflection_pad3d_backward) {
  out[0] = pad_back("reflection_pad3d_backward", args, 3, true);
}
SL_OP(aten_replication_pad1d_backward) {
  out[0] = pad_back("replication_pad1d_backward", args, 1, false);
}
SL_OP(aten_replication_pad2d_backward) {
  out[0] = pad_back("replication_pad2d_backward", args, 2, false);
}
SL_OP(aten_replication_pad3d_backward) {
  out[0] = pad_back("replication_pad3d_backward", args, 3, false);
}

}  // namespace scriptlang
