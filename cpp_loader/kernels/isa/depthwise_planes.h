// Convolutions of one input channel with few outputs, in planes: depthwise ones above all.
//
// A result row is a sum of shifted input rows. The input is framed first (frame.h). Where the
// window is one of the usual ones, a piece of several rows is computed for one column of taps after
// the other: a vector that is loaded once is multiplied by the weights of all taps of that column,
// for the rows of the result that each of them belongs to. Loads are what limits the others.
#pragma once
#include "../conv.h"
#include "../scratch.h"
#include "frame.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kFewPixels = 8;          // for up to this many, dot products waste less
constexpr int64_t kFewOutputs = 4;         // of one channel: sums of rows are faster than products
constexpr int64_t kStretchWork = 1 << 20;  // multiply-adds of depthwise rows at a time
constexpr int64_t kSmallFrame = 4096;      // bytes: two of them stay in the first-level cache

// What all rows of the result of one input channel have in common.
template <class T>
struct OneChannel {
  const T* w;
  const int64_t* offsets;  // offsets of the taps in the frame
  int64_t taps, columns;   // columns: taps in a row
  Vector<T> bias;
  Activation activation;
  int64_t frame_row;   // stride of the rows of the frame
  int64_t row, y_row;  // strides of result rows: in the frame, and in the result
};

// Stores what exists of a vector of results. It may reach into the next row, which is written
// later, but not beyond `end`.
template <class T>
SL_INLINE void store_piece(T* y, const T* end, Vector<T> v) {
  const int64_t left = end - y;
  if (left >= kLanes<T>) store(y, v);
  else store_lanes(y, v, first_lanes<T>(static_cast<int>(max_of(0, left))));
}

// Computes a vector in each of `Rows` rows for `Kernel` rows of taps; `Step` is the stride between
// rows.
template <class T, int Kernel, int Step, int Rows>
SL_NOINLINE void tap_columns(const OneChannel<T>& c, const T* from, T* y, const T* end) {
  Vector<T> sum[Rows];
  SL_UNROLL for (int r = 0; r < Rows; ++r) sum[r] = c.bias;
  const int64_t row = c.frame_row;
  for (int64_t column = 0; column < c.columns; ++column) {
    const T *at = from + c.offsets[column], *w = c.w + column;
    Vector<T> weight[Kernel];
    SL_UNROLL for (int k = 0; k < Kernel; ++k) weight[k] = splat(w[k * c.columns]);
    SL_UNROLL for (int i = 0; i < (Rows - 1) * Step + Kernel; ++i, at += row) {
      const Vector<T> x = in_register(load(at));
      SL_UNROLL for (int k = 0; k < Kernel; ++k) {
        const int r = (i - k) / Step;
        if (i >= k && r * Step == i - k && r < Rows) sum[r] += weight[k] * x;
      }
    }
  }
  const Bounds<T> bounds(c.activation);
  SL_UNROLL for (int r = 0; r < Rows; ++r) store_piece(y + r * c.y_row, end, bounds.apply(sum[r]));
}

template <class T>
using ColumnsFunction = void (*)(const OneChannel<T>&, const T* from, T* y, const T* end);

constexpr int64_t kPieceRows = 7;  // divides the heights of most networks' images

// The function for a window; null where it is not one of the usual ones.
template <class T>
ColumnsFunction<T> row_pieces(const ConvShape& s) {
  if constexpr (sizeof(T) == sizeof(float)) {
    const int64_t kernel = s.kernel[1], step = s.stride[1];
    if (s.kernel[0] != 1 || s.dilation[1] != 1 || s.out[1] < kPieceRows) return nullptr;
    if (kernel == 3 && step == 1) return &tap_columns<T, 3, 1, kPieceRows>;
    if (kernel == 3 && step == 2) return &tap_columns<T, 3, 2, kPieceRows>;
    if (kernel == 5 && step == 1) return &tap_columns<T, 5, 1, kPieceRows>;
    if (kernel == 5 && step == 2) return &tap_columns<T, 5, 2, kPieceRows>;
  }
  return nullptr;
}

// Computes one plane of the result in pieces. The last ones of a row and of a column are computed
// where they end with it, so that they are whole, too.
template <class T>
void convolve_pieces(const OneChannel<T>& c, ColumnsFunction<T> piece, int64_t rows, int64_t width,
                     const T* from, T* y, const T* end) {
  constexpr int W = kLanes<T>;
  const bool long_rows = width * c.taps > kStretchWork;
  for (int64_t first = 0; first < rows; first += kPieceRows) {
    const int64_t row = min_of(first, rows - kPieceRows);
    for (int64_t column = 0; column < width; column += W) {
      const int64_t at = max_of(0, min_of(column, width - W));
      piece(c, from + row * c.row + at, y + row * c.y_row + at, end);
      if (long_rows) multiplied(kPieceRows * W * c.taps);
    }
    if (!long_rows) multiplied(kPieceRows * width * c.taps);
  }
}

// Computes `Together` vectors in each of `Rows` rows as sums of shifted input rows. A vector may
// reach into the next row, which is written later, but not beyond `end`.
template <class T, int Rows, int Together>
SL_INLINE void depthwise_piece(const OneChannel<T>& c, const T* from, T* y, const T* end) {
  constexpr int W = kLanes<T>;
  Vector<T> sum[Rows][Together];
  SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Together; ++j) sum[r][j] =
      c.bias;
  for (int64_t tap = 0; tap < c.taps; ++tap) {
    const T* at = from + c.offsets[tap];
    const Vector<T> weight = splat(c.w[tap]);
    SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int j = 0; j < Together; ++j)
        sum[r][j] += weight * load(at + r * c.row + j * W);
  }
  SL_UNROLL for (int r = 0; r < Rows; ++r, y += c.y_row)
      SL_UNROLL for (int j = 0; j < Together; ++j) {
    store_piece(y + j * W, end, activate<T>(sum[r][j], c.activation));
  }
}

// Computes the same columns of `rows` rows.
template <class T, int Together>
SL_NOINLINE void depthwise_columns(const OneChannel<T>& c, int64_t rows, const T* from, T* y,
                                   const T* end) {
  constexpr int kRows = Together == 1 ? 4 : 2;
  for (; rows >= kRows; rows -= kRows, from += kRows * c.row, y += kRows * c.y_row) {
    depthwise_piece<T, kRows, Together>(c, from, y, end);
  }
  for (; rows > 0; --rows, from += c.row, y += c.y_row) {
    depthwise_piece<T, 1, Together>(c, from, y, end);
  }
}

// For one input channel and few outputs: sums of shifted rows instead of a matrix product.
template <class T>
void convolve_depthwise(const Conv<T>& c, const Frame& f, const T* x, const int64_t* offsets) {
  constexpr int W = kLanes<T>;
  constexpr int kTogether = 2;
  constexpr void (*kColumns[])(const OneChannel<T>&, int64_t, const T*, T*, const T*) = {
      nullptr, &depthwise_columns<T, 1>, &depthwise_columns<T, kTogether>};
  const ConvShape& s = c.shape;
  const int64_t taps = s.taps(), rows = s.out[1], width = s.out[2];
  OneChannel<T> one;
  one.offsets = offsets;
  one.taps = taps;
  one.columns = s.kernel[2];
  one.frame_row = f.row;
  one.activation = c.activation;
  one.row = s.stride[1] * f.row;
  one.y_row = width;
  const ColumnsFunction<T> piece = row_pieces<T>(s);
  // Rows between two checks for a stop; in long rows there are checks, too.
  const int64_t stretch = max_of(12, kStretchWork / (width * taps));
  const bool long_rows = width * taps > kStretchWork;
  for (int64_t o = 0; o < s.outputs; ++o) {
    one.w = c.w + o * taps;
    one.bias = splat(c.bias ? c.bias[o] : T(0));
    const T* end = c.y + (o + 1) * s.out_pixels();
    if (piece != nullptr) {
      for (int64_t d = 0; d < s.out[0]; ++d) {
        convolve_pieces(one, piece, rows, width, x + f.pixel(s, d, 0, 0),
                        c.y + (o * s.out[0] + d) * rows * width, end);
      }
      continue;
    }
    for (int64_t d = 0; d < s.out[0]; ++d)
      for (int64_t first = 0; first < rows; first += stretch) {
        const int64_t count = min_of(stretch, rows - first);
        const T* from = x + f.pixel(s, d, first, 0);
        T* y = c.y + ((o * s.out[0] + d) * rows + first) * width;
        int64_t at = 0;
        for (; width - at > kTogether * W; at += kTogether * W) {
          kColumns[kTogether](one, count, from + at, y + at, end);
          if (long_rows) multiplied(count * kTogether * W * taps);
        }
        const int64_t left = ceil_div(width - at, W);
        at = max_of(0, width - left * W);  // overlap the last vectors rather than use a partial one
        kColumns[left](one, count, from + at, y + at, end);
        multiplied(count * width * taps);
      }
  }
}

// Whether the sums of convolve_depthwise are used.
bool sums_rows(const ConvShape& s) {
  const bool padded = s.padding[0] || s.padding[1] || s.padding[2];
  return s.channels == 1 && s.outputs <= kFewOutputs && (s.taps() > 1 || padded) &&
         s.out_pixels() > kFewPixels;
}

// Sets the offsets of all taps of all channels in a frame.
inline void find_taps(const ConvShape& s, const Frame& f, int64_t* offsets) {
  for (int64_t channel = 0, i = 0; channel < s.channels; ++channel)
    for (int64_t d = 0; d < s.kernel[0]; ++d)
      for (int64_t h = 0; h < s.kernel[1]; ++h)
        for (int64_t w = 0; w < s.kernel[2]; ++w, ++i)
          offsets[i] = channel * f.volume + f.tap(s, d, h, w);
}

// Groups of one channel each, one after the other. Small ones are framed while the channel before
// is computed: a load that needs several stores waits until they have reached the cache.
template <class T>
void convolve_channels(const Conv<T>& c) {
  const ConvShape& s = c.shape;
  const int64_t taps = s.taps();
  Frame f(s);
  const int64_t volume = f.volume + 8 * kLanes<T>;
  const bool ahead = volume * static_cast<int64_t>(sizeof(T)) <= kSmallFrame;
  Scratch space(sizeof(T) * uint64_t(ahead ? 2 * volume : volume));
  Scratch offset_space(sizeof(int64_t) * uint64_t(taps));
  find_taps(s, f, offset_space.as<int64_t>());
  T* const frames[2] = {space.as<T>(), space.as<T>() + (ahead ? volume : 0)};
  const auto frame = [&](int64_t group) {
    frame_channel(s, f, c.x + group * s.in_pixels(), frames[group & 1], group > int64_t{ahead});
  };
  Conv<T> one = c;
  if (ahead) frame(0);
  for (int64_t group = 0; group < c.groups; ++group) {
    if (!ahead) frame(group);
    else if (group + 1 < c.groups) frame(group + 1);
    convolve_depthwise(one, f, frames[group & 1], offset_space.as<int64_t>());
    one.w += s.outputs * taps;
    one.bias = one.bias ? one.bias + s.outputs : nullptr;
    one.y += s.outputs * s.out_pixels();
  }
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
