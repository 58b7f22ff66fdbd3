// The order in which Fourier transforms process dimensions, and the strides of their results.
#include "fft_order.h"

#include <algorithm>
#include <numeric>

#include "layout.h"
#include "values/exact.h"
#include "view.h"

namespace scriptlang {

namespace {

void by_stride(const int64_t* strides, Order::iterator begin, Order::iterator end) {
  std::stable_sort(begin, end, [&](int64_t a, int64_t b) { return strides[a] > strides[b]; });
}

Order after(const int64_t* strides, int64_t n, const Order& axes) {
  Order order;
  for (int64_t d = 0; d < n; ++d) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) order.push_back(d);
  }
  by_stride(strides, order.begin(), order.end());
  order.insert(order.end(), axes.begin(), axes.end());
  return order;
}

void dense_strides(IntSpan sizes, const Order& order, int64_t* strides) {
  int64_t next = 1;
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = next;
    next = outer_stride(next, sizes[order[k]]);  // the sizes are not checked yet
  }
}

}  // namespace

Order order_for(const Tensor& self, const FourierPlan& plan, Spectrum kind) {
  const int64_t n = self.dim();
  if (plan.dims.size() == 1 && plan.dims[0] == n - 1 && self.is_contiguous()) {
    Order order(size_t(n), 0);
    std::iota(order.begin(), order.end(), int64_t{0});
    return order;
  }
  bool real_first = kind == Spectrum::kHalf || kind == Spectrum::kHalfByLast;
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  Tensor cut = self;
  bool padded = false;
  for (size_t i = 0; i < plan.dims.size(); ++i) {
    int64_t d = plan.dims[i], points = plan.sizes[i];
    if (kind == Spectrum::kToReal && i + 1 == plan.dims.size()) points = points / 2 + 1;
    padded = padded || points > sizes[size_t(d)];
    cut = view_slice(cut, d, 0, std::min(points, sizes[size_t(d)]));
    sizes[size_t(d)] = points;
  }
  bool converted = !is_complex(self.dtype()) && !(real_first && is_floating(self.dtype()));
  int64_t strides[kMaxDims];
  if (padded) format_strides(sizes, suggested_format(cut), strides);
  else if (converted) self.like_strides(strides);
  else std::copy_n(self.strides().data, n, strides);
  Order axes = plan.dims;
  if (kind == Spectrum::kWhole) {
    by_stride(strides, axes.begin(), axes.end());
    return after(strides, n, axes);
  }
  if (kind == Spectrum::kHalf) {
    by_stride(strides, axes.begin(), axes.end() - 1);
    return after(strides, n, axes);
  }
  Order last{axes.back()};
  axes.pop_back();
  const bool last_first = kind == Spectrum::kHalfByLast;
  if (axes.empty()) return after(strides, n, last);
  if (!last_first) by_stride(strides, axes.begin(), axes.end());
  dense_strides(sizes, after(strides, n, last_first ? last : axes), strides);
  if (last_first) by_stride(strides, axes.begin(), axes.end());
  return after(strides, n, last_first ? axes : last);
}

}  // namespace scriptlang
