// The inputs, and their weights, that each output of a resize is computed from, along one
// dimension.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../values/tensor.h"
#include "pieces.h"

namespace scriptlang {

// For vectors that may be long, in pieces: fill_zeros appends zeros up to n elements, and `append`
// appends the numbers of another vector.
template <class T>
void fill_zeros(int64_t n, std::vector<T>* to) {
  to->reserve(as_size(n));
  in_pieces(n, [&](int64_t, int64_t end) { to->resize(as_size(end)); });
}
template <class T, class U>
void append(const std::vector<T>& from, std::vector<U>* to) {
  to->reserve(from.size());
  in_pieces(int64_t(from.size()), [&](int64_t begin, int64_t end) {
    to->insert(to->end(), from.begin() + begin, from.begin() + end);
  });
}

// Output i reads count[i] inputs. Their indices start at places[i * width] and their weights at
// weights[i * width]. Taps outside the input have been clamped to its edge.
struct Taps {
  int64_t width = 1;
  std::vector<int64_t> places;  // [out][width]
  std::vector<double> weights;  // [out][width]
  std::vector<int64_t> count;   // [out]

  void make(int64_t out) {
    fill_zeros(out * width, &places);
    fill_zeros(out * width, &weights);
    fill_zeros(out, &count);
  }
};

// Taps in the types that the kernels read.
template <class W>
struct PackedTaps {
  explicit PackedTaps(const Taps& taps) : width(taps.width) {
    append(taps.places, &place);
    append(taps.count, &count);
    append(taps.weights, &weight);
  }

  // The range of inputs that outputs [first, last) read.
  std::pair<int64_t, int64_t> inputs(int64_t first, int64_t last) const {
    int32_t least = INT32_MAX, most = 0;
    for (int64_t i = first; i < last; ++i) {
      for (int32_t k = 0; k < count[size_t(i)]; ++k) {
        least = std::min(least, place[size_t(i * width + k)]);
        most = std::max(most, place[size_t(i * width + k)]);
      }
    }
    return {std::min(least, most), int64_t(most) + 1};
  }

  int64_t width;
  std::vector<int32_t> place, count;
  std::vector<W> weight;
};

// Resizes the last two dimensions of a contiguous tensor of bytes; see upsample_bytes.cpp.
Tensor resize_bytes(const Tensor& x, IntSpan shape, Taps down, Taps across);

}  // namespace scriptlang
