// Depthwise convolution with channels last, for one vector of channels after the other.
//
// The input rows that a result row needs are kept in a ring buffer, for one vector of channels and
// with the padding as zeros. It stays in the first-level cache and holds neighbouring pixels
// contiguously, so every input element is read from memory once.
#include "../last_conv.h"

#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int W = kLanes<float>;
constexpr int kTogether = 7;
constexpr int64_t kLowRows = 3;            // per thread: with fewer, too many rows are read twice
constexpr int64_t kBandBytes = 512 << 10;  // of the input; read once per vector of channels
constexpr int64_t kSmallWork = 50'000;     // multiply-adds that are not worth a thread

// A row of results for one vector of channels, which may be partial.
struct ResultRow {
  const float* ring;
  int64_t slots, slot;  // number of rows in the ring; elements per row
  int64_t first_slot;   // slot with the row of the first tap
  int64_t kernel[2], dilation[2], step;
  const float* weights;
  int64_t tap;         // stride between the weights of two taps
  const float* bias;   // may be null
  const float* added;  // may be null
  float* y;
  int64_t pixel;  // stride between results, also of `added`
  Activation activation;
  int channels;
};

// Computes `count` * `Together` results, beginning at `first`. Kernel and Step are 0 for run-time
// values.
template <int Kernel, int Step, int Together>
SL_NOINLINE void row_piece(const ResultRow& r, int64_t first, int64_t count) {
  const int64_t rows = Kernel ? Kernel : r.kernel[0], dilation = Kernel ? 1 : r.dilation[0];
  const int64_t step = (Step ? Step : r.step) * W;
  const Vector<float> bias = r.bias ? load_first(r.bias, r.channels) : Vector<float>{};
  for (; count > 0; --count, first += Together) {
    Vector<float> sum[Together];
    SL_UNROLL for (int i = 0; i < Together; ++i) sum[i] = bias;
    const float* weights = r.weights;
    auto add_tap = [&](const float* from) SL_ALWAYS {
      Vector<float> weight = load(weights);
      SL_UNROLL for (int i = 0; i < Together; ++i) sum[i] += weight * load(from + i * step);
      weights += r.tap;
    };
    for (int64_t row = 0, slot = r.first_slot; row < rows; ++row) {
      const float* from = r.ring + slot * r.slot + first * step;
      if constexpr (Kernel != 0) {
        SL_UNROLL for (int i = 0; i < Kernel; ++i) add_tap(from + i * W);
      } else {
        for (int64_t i = 0; i < r.kernel[1]; ++i) add_tap(from + i * r.dilation[1] * W);
      }
      slot += dilation;
      if (slot >= r.slots) slot -= r.slots;
    }
    SL_UNROLL for (int i = 0; i < Together; ++i) {
      int64_t at = (first + i) * r.pixel;
      if (r.added) sum[i] += load_first(r.added + at, r.channels);
      store_first(r.y + at, activate<float>(sum[i], r.activation), r.channels);
    }
  }
}

using RowPiece = void (*)(const ResultRow& r, int64_t first, int64_t count);

template <int Kernel, int Step>
struct RowPieces {
  RowPiece together[kTogether + 1];
  template <int... I>
  constexpr explicit RowPieces(std::integer_sequence<int, I...>)
      : together{nullptr, &row_piece<Kernel, Step, I + 1>...} {}
  constexpr RowPieces() : RowPieces(std::make_integer_sequence<int, kTogether>{}) {}
};
template <int Kernel, int Step>
constexpr RowPieces<Kernel, Step> kRowPieces{};

const RowPiece* row_pieces(const ConvShape& s) {
  const int64_t kernel = s.kernel[2], step = s.stride[2];
  bool plain = s.kernel[1] == kernel && s.dilation[1] == 1 && s.dilation[2] == 1;
  if (plain && kernel == 3 && step == 1) return kRowPieces<3, 1>.together;
  if (plain && kernel == 3 && step == 2) return kRowPieces<3, 2>.together;
  if (plain && kernel == 5 && step == 1) return kRowPieces<5, 1>.together;
  if (plain && kernel == 5 && step == 2) return kRowPieces<5, 2>.together;
  return kRowPieces<0, 0>.together;
}

// The ring of input rows: row h is in slot (h + padding) modulo the number of slots.
class Ring {
 public:
  explicit Ring(const LastConv& c)
      : c_(c),
        slots_((c.shape.kernel[1] - 1) * c.shape.dilation[1] + 1),
        width_((c.shape.out[2] - 1) * c.shape.stride[2] +
               (c.shape.kernel[2] - 1) * c.shape.dilation[2] + 1),
        space_(sizeof(float) * static_cast<size_t>(slots_ * width_ * W)) {
    __builtin_memset(data(), 0, sizeof(float) * static_cast<size_t>(slots_ * width_ * W));
  }
  float* data() const { return space_.as<float>(); }
  int64_t slots() const { return slots_; }
  int64_t slot() const { return width_ * W; }
  int64_t slot_of(int64_t h) const { return (h + c_.shape.padding[1]) % slots_; }

  // Copies row h of the channels [channel, channel + channels). Rows outside the input are zeros.
  void fill(int64_t h, int64_t channel, int channels) {
    const ConvShape& s = c_.shape;
    const int64_t first = min_of(s.padding[2], width_), last = min_of(width_, first + s.in[2]);
    float* to = data() + slot_of(h) * slot() + first * W;
    if (h < 0 || h >= s.in[1]) {
      __builtin_memset(to, 0, sizeof(float) * static_cast<size_t>((last - first) * W));
      return;
    }
    const float* from = c_.x + h * c_.x_row + channel;
    if (channels >= W) {
      for (int64_t i = first; i < last; ++i, to += W, from += c_.x_column) {
        prefetch(from + c_.x_row);  // the next row is needed soon
        store(to, load(from));
      }
    } else {
      for (int64_t i = first; i < last; ++i, to += W, from += c_.x_column) {
        store(to, load_first(from, channels));
      }
    }
  }

 private:
  const LastConv& c_;
  int64_t slots_, width_;
  Scratch space_;
};

// Computes rows [top, bottom) of the result for `channels` channels from `channel` on.
void convolve_vector(const LastConv& c, Ring& ring, int64_t top, int64_t bottom, int64_t channel,
                     int channels) {
  const ConvShape& s = c.shape;
  const RowPiece* pieces = row_pieces(s);
  const int64_t count = ceil_div(s.out[2], kTogether), base = s.out[2] / count,
                longer = s.out[2] % count;
  ResultRow r;
  r.ring = ring.data();
  r.slots = ring.slots();
  r.slot = ring.slot();
  for (int d = 0; d < 2; ++d) {
    r.kernel[d] = s.kernel[d + 1];
    r.dilation[d] = s.dilation[d + 1];
  }
  r.step = s.stride[2];
  r.weights = c.packed + channel;
  r.tap = ceil_div(c.groups, W) * W;
  r.bias = c.bias ? c.bias + channel : nullptr;
  r.pixel = c.groups;
  r.activation = c.activation;
  r.channels = channels;
  int64_t filled = top * s.stride[1] - s.padding[1];
  for (int64_t row = top; row < bottom; ++row) {
    const int64_t h = row * s.stride[1] - s.padding[1];
    filled = max_of(filled, h);
    for (; filled < h + ring.slots(); ++filled) ring.fill(filled, channel, channels);
    const int64_t at = row * s.out[2] * c.groups + channel;
    r.first_slot = ring.slot_of(h);
    r.added = c.added ? c.added + at : nullptr;
    r.y = c.y + at;
    if (longer) pieces[base + 1](r, 0, longer);
    pieces[base](r, longer * (base + 1), count - longer);
    multiplied(s.out[2] * W * s.kernel[1] * s.kernel[2]);
  }
}

// Computes rows [top, bottom) of the result for the channels [first, last).
void convolve_band(const LastConv& c, int64_t top, int64_t bottom, int64_t first, int64_t last) {
  Ring ring(c);
  for (int64_t channel = first; channel < last; channel += W) {
    int channels = static_cast<int>(min_of(W, last - channel));
    convolve_vector(c, ring, top, bottom, channel, channels);
  }
  if (!c.finish) return;
  const int64_t n = c.groups, pixels = (bottom - top) * c.shape.out[2];
  float* y = c.y + top * c.shape.out[2] * n + first;
  if (last - first == n) c.finish(y, 0, 1, pixels * n);
  else c.finish(y, n, pixels, last - first);
}

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
  const int64_t row_bytes = s.in[2] * s.stride[1] * c.groups * static_cast<int64_t>(sizeof(float));
  const int64_t vectors = ceil_div(c.groups, W), threads = thread_count();
  int64_t bands = ceil_div(s.out[1] * max_of(1, row_bytes), kBandBytes), splits = 1;
  bands = min_of(bands, s.out[1]);
  bool big = threads > 1 && s.out_pixels() * c.groups * s.taps() > kSmallWork;
  // Splitting by rows lets each thread reuse its own results; low images are split by channels.
  if (big && s.out[1] >= kLowRows * threads) bands = max_of(bands, 2 * threads);
  else if (big && bands < 2 * threads) splits = min_of(vectors, ceil_div(2 * threads, bands));
  const int64_t tasks = bands * splits;
  parallel_for(tasks, big ? 1 : tasks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t band = task / splits, split = task % splits;
      convolve_band(c, s.out[1] * band / bands, s.out[1] * (band + 1) / bands,
                    vectors * split / splits * W,
                    min_of(c.groups, vectors * (split + 1) / splits * W));
    }
  });
}

}  // namespace scriptlang::kernels::SL_ISA
