// Resizing images of bytes as PyTorch does: weights are 15-bit integers, and rows are rounded to
// bytes before columns are summed.
#include <cmath>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/resize.h"
#include "op.h"
#include "scratch.h"
#include "upsample_taps.h"

namespace scriptlang {

namespace {

struct ByteTaps : PackedTaps<int32_t> {
  ByteTaps(const Taps& whole, int bits) : PackedTaps<int32_t>(whole), bits(bits) {}
  int bits;
};

// The weights as integers in units of 2^-bits, with as many bits as the largest one allows.
ByteTaps whole_taps(Taps taps) {
  double most = 0;
  for (size_t i = 0; i < taps.count.size(); ++i) {
    double* w = &taps.weights[i * size_t(taps.width)];
    const int64_t* place = &taps.places[i * size_t(taps.width)];
    for (int64_t k = taps.count[i] - 1; k > 0; --k) {  // merge taps clamped to the edge
      if (place[k] != place[k - 1]) continue;
      w[k - 1] += w[k];
      w[k] = 0;
    }
    for (int64_t k = 0; k < taps.count[i]; ++k) most = std::max(most, w[k]);
  }
  int bits = 0;
  while (bits < 22 && 0.5 + most * double(2 << bits) < double(1 << 15)) ++bits;
  for (double& w : taps.weights) { w = std::trunc(w * double(1 << bits) + std::copysign(0.5, w)); }
  return ByteTaps(taps, bits);
}

struct BytePlane {
  int64_t in_columns, out_columns;
  const ByteTaps &down, &across;
};

// Computes the output rows [first, last) of a plane. `space` is scratch memory.
void resize_band(const BytePlane& p, int64_t first, int64_t last, const uint8_t* x, uint8_t* y,
                 std::vector<uint8_t>& space) {
  const auto& f = *kernels::kernels().resize;
  auto [top, bottom] = p.down.inputs(first, last);
  space.resize(as_size((bottom - top) * p.out_columns));
  f.byte_rows(
      {bottom - top, p.in_columns, p.out_columns, x + top * p.in_columns, space.data(),
       p.across.width, p.across.place.data(), p.across.count.data(), p.across.weight.data()},
      p.across.bits);
  std::vector<const uint8_t*> taps(as_size(p.down.width));
  for (int64_t i = first; i < last; ++i) {
    const size_t at = size_t(i * p.down.width);
    const int32_t count = p.down.count[size_t(i)];
    for (int32_t k = 0; k < count; ++k) {
      taps[size_t(k)] = space.data() + (p.down.place[at + size_t(k)] - top) * p.out_columns;
    }
    f.combine_bytes(p.out_columns, count, taps.data(), &p.down.weight[at], p.down.bits,
                    y + i * p.out_columns);
  }
}

}  // namespace

Tensor resize_bytes(const Tensor& x, IntSpan shape, Taps down, Taps across) {
  const int64_t n = x.dim(), in_rows = x.size(n - 2), out_rows = shape[n - 2];
  Tensor y = Tensor::empty(shape, x.dtype());
  const ByteTaps tall = whole_taps(std::move(down)), wide = whole_taps(std::move(across));
  const BytePlane p{x.size(n - 1), shape[n - 1], tall, wide};
  const int64_t planes = y.numel() / (out_rows * p.out_columns);
  const int64_t rows = std::min<int64_t>(out_rows, 64), bands = (out_rows + rows - 1) / rows;
  for (int64_t band = 0; band < bands; ++band) {
    auto [top, bottom] = tall.inputs(band * rows, std::min((band + 1) * rows, out_rows));
    memory::ask(bottom - top, p.out_columns);
  }
  memory::ask(p.in_columns + p.out_columns, 64);
  const int64_t grain = 16384 / (rows * std::max(p.in_columns, p.out_columns)) + 1;
  kernels::parallel_for(planes * bands, grain, [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> space;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t plane = task / bands, first = task % bands * rows;
      resize_band(p, first, std::min(first + rows, out_rows),
                  static_cast<const uint8_t*>(x.raw()) + plane * in_rows * p.in_columns,
                  static_cast<uint8_t*>(y.raw()) + plane * out_rows * p.out_columns, space);
    }
  });
  return y;
}

}  // namespace scriptlang
