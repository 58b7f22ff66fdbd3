// Depthwise convolution with channels last.
//
// A row of results is computed in pieces: a few pixels whose taps all lie inside the row, for one
// vector of channels after the other. Neighbouring vectors are neighbours in memory, too, and what
// a piece reads is small enough to stay in the first-level cache for the next row of taps. The
// first and last pixels of a row, which lack some taps, are computed one by one.
#include "../last_conv.h"

#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "inside.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int W = kLanes<float>;
constexpr int kTogether = 7;            // pixels of a piece
constexpr int kBorderVectors = 4;       // of a pixel at the border, computed together
constexpr int64_t kLowRows = 3;         // per thread: with fewer, too many rows are read twice
constexpr int64_t kSmallWork = 50'000;  // multiply-adds that are not worth a thread
constexpr int64_t kLongWork = 1 << 20;  // of a row: it is checked for a stop between its pixels

// Neighbouring results of one row, and the taps that each of them sums up.
struct Piece {
  const float* x;              // under the first tap of the first pixel
  int64_t pixel, row, column;  // strides of x: between pixels, rows of taps, and taps in a row
  int64_t rows, columns;       // of taps
  const float* weights;        // of the first tap
  int64_t tap, tap_row;        // strides of the weights
  const float* bias;           // may be null
  const float* added;          // may be null
  float* y;
  int64_t y_pixel;  // stride between results, also of `added`
  Activation activation;
};

// A copy, which no store of a result may change, lets the places of pixels be found once for all
// channels. x86 has too few registers to keep them.
#if defined(__aarch64__)
typedef const Piece LocalPiece;
#else
typedef const Piece& LocalPiece;
#endif

// Computes `Together` pixels for the channels [c, c + channels), at most one vector. Columns and
// Step are the columns of taps and the stride of pixels in columns, or 0 for run-time values.
template <int Columns, int Step, int Together>
SL_INLINE void piece_vector(const Piece& p, int64_t c, int channels, Bounds<float> bounds) {
  Vector<float> sum[Together];
  const Vector<float> bias = p.bias ? load_first(p.bias + c, channels) : Vector<float>{};
  SL_UNROLL for (int i = 0; i < Together; ++i) sum[i] = bias;
  const float *x = p.x + c, *weights = p.weights + c;
  const int64_t pixel = Step ? Step * p.column : p.pixel;
  auto add_tap = [&](const float* from, const float* w) SL_ALWAYS {
    const Vector<float> weight = load(w);
    SL_UNROLL for (int i = 0; i < Together; ++i) {
      sum[i] += weight * load_first(from + i * pixel, channels);
    }
  };
  for (int64_t row = 0; row < p.rows; ++row, x += p.row, weights += p.tap_row) {
    if constexpr (Columns != 0) {
      SL_UNROLL for (int i = 0; i < Columns; ++i) add_tap(x + i * p.column, weights + i * p.tap);
    } else {
      for (int64_t i = 0; i < p.columns; ++i) add_tap(x + i * p.column, weights + i * p.tap);
    }
  }
  const int64_t step = p.y_pixel;
  if (p.added) {
    const float* added = p.added + c;
    SL_UNROLL for (int i = 0; i < Together; ++i) sum[i] += load_first(added + i * step, channels);
  }
  float* y = p.y + c;
  SL_UNROLL for (int i = 0; i < Together; ++i) {
    store_first(y + i * step, bounds.apply(sum[i]), channels);
  }
}

// Computes `Together` pixels that have all columns of taps.
template <int Columns, int Step, int Together>
SL_NOINLINE void inner_piece(const Piece& piece, int64_t channels) {
  LocalPiece p = piece;
  const Bounds<float> bounds(p.activation);
  int64_t c = 0;
  for (; c + W <= channels; c += W) piece_vector<Columns, Step, Together>(p, c, W, bounds);
  if (c < channels) {
    piece_vector<Columns, Step, Together>(p, c, static_cast<int>(channels - c), bounds);
  }
}

// Computes one pixel, several vectors at a time: a sum waits for the one before.
SL_NOINLINE void border_pixel(const Piece& p, int64_t channels) {
  const Bounds<float> bounds(p.activation);
  int64_t c = 0;
  for (; c + kBorderVectors * W <= channels; c += kBorderVectors * W) {
    Vector<float> sum[kBorderVectors];
    SL_UNROLL for (int v = 0; v < kBorderVectors; ++v) {
      sum[v] = p.bias ? load(p.bias + c + v * W) : Vector<float>{};
    }
    for (int64_t row = 0; row < p.rows; ++row) {
      const float *x = p.x + c + row * p.row, *weights = p.weights + c + row * p.tap_row;
      for (int64_t i = 0; i < p.columns; ++i, x += p.column, weights += p.tap) {
        SL_UNROLL for (int v = 0; v < kBorderVectors; ++v) {
          sum[v] += load(weights + v * W) * load(x + v * W);
        }
      }
    }
    SL_UNROLL for (int v = 0; v < kBorderVectors; ++v) {
      if (p.added) sum[v] += load(p.added + c + v * W);
      store(p.y + c + v * W, bounds.apply(sum[v]));
    }
  }
  for (; c < channels; c += W) {
    piece_vector<0, 0, 1>(p, c, static_cast<int>(min_of(W, channels - c)), bounds);
  }
}

using InnerPiece = void (*)(const Piece& p, int64_t channels);

template <int Columns, int Step>
struct InnerPieces {
  InnerPiece together[kTogether + 1];
  template <int... I>
  constexpr explicit InnerPieces(std::integer_sequence<int, I...>)
      : together{nullptr, &inner_piece<Columns, Step, I + 1>...} {}
  constexpr InnerPieces() : InnerPieces(std::make_integer_sequence<int, kTogether>{}) {}
};
template <int Columns, int Step>
constexpr InnerPieces<Columns, Step> kInnerPieces{};

const InnerPiece* inner_pieces(const ConvShape& s) {
  const int64_t columns = s.kernel[2], step = s.stride[2];
  if (s.dilation[2] == 1 && columns == 3 && step == 1) return kInnerPieces<3, 1>.together;
  if (s.dilation[2] == 1 && columns == 3 && step == 2) return kInnerPieces<3, 2>.together;
  if (s.dilation[2] == 1 && columns == 5 && step == 1) return kInnerPieces<5, 1>.together;
  if (s.dilation[2] == 1 && columns == 5 && step == 2) return kInnerPieces<5, 2>.together;
  return kInnerPieces<0, 0>.together;
}

// The taps of result `at` in dimension d that lie inside the input.
struct InsideTaps {
  int64_t first, last, from;  // from: the input position under the first of them
  InsideTaps(const ConvShape& s, int d, int64_t at) {
    const int64_t start = at * s.stride[d] - s.padding[d], step = s.dilation[d];
    first = start < 0 ? min_of(s.kernel[d], ceil_div(-start, step)) : 0;
    last = start < s.in[d] ? min_of(s.kernel[d], ceil_div(s.in[d] - start, step)) : 0;
    last = max_of(first, last);
    from = start + first * step;
  }
  int64_t count() const { return last - first; }
};

// Computes rows of the result for the channels [first, last); `first` is a multiple of W.
class Rows {
 public:
  Rows(const LastConv& c, int64_t first, int64_t last)
      : c_(c),
        first_(first),
        channels_(last - first),
        pieces_(inner_pieces(c.shape)),
        // Pixels with all columns of taps: those for which the first and the last are inside.
        left_(InsideRange(c.shape, 2, 0).first),
        right_(max_of(left_, InsideRange(c.shape, 2, c.shape.kernel[2] - 1).last)) {
    const ConvShape& s = c.shape;
    p_.pixel = s.stride[2] * c.x_column;
    p_.row = s.dilation[1] * c.x_row;
    p_.column = s.dilation[2] * c.x_column;
    p_.tap = ceil_div(c.groups, W) * W;
    p_.tap_row = s.kernel[2] * p_.tap;
    p_.bias = c.bias ? c.bias + first : nullptr;
    p_.y_pixel = c.groups;
    p_.activation = c.activation;
  }

  void convolve(int64_t row) {
    const ConvShape& s = c_.shape;
    const InsideTaps taps(s, 1, row);
    p_.rows = taps.count();
    x_ = c_.x + taps.from * c_.x_row + (first_ - c_.first);
    weights_ = c_.packed + taps.first * p_.tap_row + first_;
    const int64_t at = row * s.out[2] * c_.groups + first_;
    y_ = c_.y + at;
    added_ = c_.added ? c_.added + at : nullptr;
    const int64_t pixel = channels_ * s.kernel[1] * s.kernel[2];
    const bool is_long = s.out[2] * pixel > kLongWork;
    auto computed = [&](int64_t pixels) {
      if (is_long) multiplied(pixels * pixel);
    };
    for (int64_t i = 0; i < left_; ++i, computed(1)) border(i);
    const int64_t inner = right_ - left_, count = ceil_div(inner, kTogether);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t from = left_ + inner * i / count, to = left_ + inner * (i + 1) / count;
      begin(from, InsideTaps(s, 2, from));
      pieces_[to - from](p_, channels_);
      computed(to - from);
    }
    for (int64_t i = right_; i < s.out[2]; ++i, computed(1)) border(i);
    multiplied(s.out[2] * pixel);
    if (c_.finish == nullptr) return;
    if (channels_ == c_.groups) c_.finish(y_, 0, y_, 0, 1, s.out[2] * channels_);
    else c_.finish(y_, c_.groups, y_, c_.groups, s.out[2], channels_);
  }

 private:
  void begin(int64_t pixel, const InsideTaps& taps) {
    p_.x = x_ + taps.from * c_.x_column;
    p_.weights = weights_ + taps.first * p_.tap;
    p_.columns = taps.count();
    p_.y = y_ + pixel * c_.groups;
    p_.added = added_ ? added_ + pixel * c_.groups : nullptr;
  }
  void border(int64_t pixel) {
    begin(pixel, InsideTaps(c_.shape, 2, pixel));
    border_pixel(p_, channels_);
  }

  const LastConv& c_;
  int64_t first_, channels_;
  const InnerPiece* pieces_;
  int64_t left_, right_;
  const float *x_ = nullptr, *weights_ = nullptr, *added_ = nullptr;
  float* y_ = nullptr;
  Piece p_{};
};

}  // namespace

int64_t packed_depthwise_size(const ConvShape& s, int64_t groups) {
  return ceil_div(groups, W) * W * s.taps();
}

// Packs weights as [tap][channel], padded to whole vectors.
void pack_depthwise(const ConvShape& s, int64_t groups, const float* w, float* to) {
  int64_t taps = s.taps(), row = ceil_div(groups, W) * W;
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t i = 0; i < row; ++i) to[tap * row + i] = i < groups ? w[i * taps + tap] : 0.0f;
}

void convolve_depthwise(const LastConv& c) {
  const ConvShape& s = c.shape;
  if (c.x_channel != 1) return with_dense_input(c, &convolve_depthwise);
  const int64_t last = c.last ? c.last : c.groups;
  const int64_t vectors = ceil_div(last - c.first, W), threads = thread_count();
  int64_t bands = 1, splits = 1;
  bool big = threads > 1 && s.out_pixels() * (last - c.first) * s.taps() > kSmallWork;
  // Splitting by rows lets each thread reuse its own results; low images are split by channels.
  if (big && s.out[1] >= kLowRows * threads) bands = 2 * threads;
  else if (big) splits = min_of(vectors, 2 * threads);
  const int64_t tasks = bands * splits;
  parallel_for(tasks, big ? 1 : tasks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t band = task / splits, split = task % splits;
      Rows rows(c, c.first + vectors * split / splits * W,
                min_of(last, c.first + vectors * (split + 1) / splits * W));
      for (int64_t row = s.out[1] * band / bands; row < s.out[1] * (band + 1) / bands; ++row) {
        rows.convolve(row);
      }
    }
  });
}

}  // namespace scriptlang::kernels::SL_ISA
