// The gradient of a convolution's weight. It is one matrix product per tap: the input under the
// tap, with channels as rows, times the gradient of the result, with outputs as columns. The former
// is read in place from the framed input, so no matrix of patches is needed. With one channel, it
// is a sum over pixels for each tap.
#include "../conv.h"
#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "frame.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kFrameBytes = int64_t{1} << 17;  // of images that are processed together

// Repacks g [outputs][pixels] into panels [pixels][kPanel] of outputs, padded with zeros.
template <class T>
void lay_panels(const T* g, int64_t outputs, int64_t pixels, int64_t panel_stride, T* to) {
  constexpr int W = kLanes<T>, P = kPanel<T>;
  const int64_t panels = ceil_div(outputs, P);
  parallel_for(panels, 65536 / (pixels * P) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      T* panel = to + p * panel_stride;
      for (int64_t part = 0; part < P; part += W) {
        const int64_t first = p * P + part, count = max_of(0, min_of(W, outputs - first));
        const T* from = g + first * pixels;
        int64_t i = 0;
        for (; i + W <= pixels; i += W) {
          Vector<T> square[W];
          for (int r = 0; r < W; ++r) {
            square[r] = r < count ? load(from + r * pixels + i) : Vector<T>{};
          }
          transpose<T>(square);
          SL_UNROLL for (int r = 0; r < W; ++r) store(panel + (i + r) * P + part, square[r]);
        }
        for (; i < pixels; ++i)
          for (int r = 0; r < W; ++r) {
            panel[i * P + part + r] = r < count ? from[r * pixels + i] : T(0);
          }
      }
      worked(pixels * P);
    }
  });
}

// Several images, framed, with their gradients in panels, and the offsets of their rows of pixels.
template <class T>
struct Batch {
  const ConvShape& s;
  const Frame& frame;
  int64_t together, panel_stride;
  Scratch frames, panels, starts;

  Batch(const ConvShape& shape, const Frame& f, int64_t images)
      : s(shape),
        frame(f),
        together(images),
        panel_stride(images * s.out_pixels() * kPanel<T>),
        frames(sizeof(T) * size_t(images * s.channels * f.volume + 8 * kLanes<T>)),
        panels(sizeof(T) * size_t(ceil_div(s.outputs, kPanel<T>) * panel_stride)),
        starts(2 * sizeof(int64_t) * size_t(images * rows())) {
    int64_t *of_frame = starts.as<int64_t>(), *of_panel = of_frame + images * rows();
    for (int64_t i = 0; i < images; ++i)
      for (int64_t r = 0; r < rows(); ++r) {
        *of_frame++ = i * s.channels * f.volume + f.pixel(s, r / s.out[1], r % s.out[1], 0);
        *of_panel++ = (i * s.out_pixels() + r * s.out[2]) * kPanel<T>;
      }
  }

  int64_t rows() const { return s.out[0] * s.out[1]; }

  void fill(const ConvWeights<T>& c, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      frame_input(s, frame, c.x + (first + i) * c.x_image,
                  frames.as<T>() + i * s.channels * frame.volume);
      lay_panels(c.g + (first + i) * c.g_image, s.outputs, s.out_pixels(), panel_stride,
                 panels.as<T>() + i * s.out_pixels() * kPanel<T>);
    }
  }

  // sums [taps][channels][outputs] += the products of `count` images; overwritten if `first`.
  void add(int64_t count, bool first, T* sums) {
    RowTiles tiles(s.channels);
    const int64_t panels_count = ceil_div(s.outputs, kPanel<T>), each = count * s.out_pixels();
    const int64_t tasks = s.taps() * tiles.count * panels_count;
    const int64_t work = each * kTileRows * kPanel<T>;
    parallel_for(tasks, 200'000 / work + 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const int64_t tap = task / tiles.count % s.taps(), i = task % tiles.count;
        const int64_t panel = task / tiles.count / s.taps();
        const int64_t kw = tap % s.kernel[2], kh = tap / s.kernel[2] % s.kernel[1];
        const int64_t kd = tap / s.kernel[2] / s.kernel[1], column = panel * kPanel<T>;
        const int height = tiles.height(i);
        Tile<T> t{};
        t.k = s.out[2];
        t.a = frames.as<T>() + tiles.first(i) * frame.volume + frame.tap(s, kd, kh, kw);
        t.a_row = frame.volume;
        t.b = panels.as<T>() + panel * panel_stride;
        t.c = sums + (tap * s.channels + tiles.first(i)) * s.outputs + column;
        t.c_row = s.outputs;
        t.columns = static_cast<int>(min_of(kPanel<T>, s.outputs - column));
        t.start = first ? Start::kZero : Start::kResult;
        t.activation = Activation::kNone;
        t.taps = starts.as<int64_t>();
        t.b_taps = t.taps + together * rows();
        t.tap_count = count * rows();
        panel_tile<T, Operand::kTaps>(height, t.columns)(t);
        multiplied(height * each * kPanel<T>);
      }
    });
  }
};

template <class T>
void gradient(const ConvWeights<T>& c) {
  const ConvShape& s = c.shape;
  const Frame f(s);
  const int64_t matrix = s.channels * s.outputs, taps = s.taps();
  const int64_t bytes = static_cast<int64_t>(sizeof(T)) * s.channels * f.volume;
  const int64_t together = max_of(1, min_of(c.images, kFrameBytes / bytes));
  Batch<T> batch(s, f, together);
  Scratch space(sizeof(T) * uint64_t(taps * matrix));
  T* sums = space.as<T>();
  for (int64_t first = 0; first < c.images; first += together) {
    const int64_t count = min_of(together, c.images - first);
    batch.fill(c, first, count);
    batch.add(count, first == 0, sums);
  }
  constexpr int64_t kTogether = 16;  // outputs whose rows of weights are written side by side
  for (int64_t o = 0; o < s.outputs; o += kTogether) {
    const int64_t count = min_of(kTogether, s.outputs - o), row = s.channels * taps;
    for (int64_t channel = 0; channel < s.channels; ++channel)
      for (int64_t tap = 0; tap < taps; ++tap) {
        const T* from = sums + tap * matrix + channel * s.outputs + o;
        T* to = c.dw + (o * s.channels + channel) * taps + tap;
        for (int64_t i = 0; i < count; ++i) to[i * row] = from[i];
      }
  }
  worked(taps * matrix);
}

// Adds the products of a row of the gradient with what lies under each of N taps.
template <class T, int N>
SL_INLINE void add_row(int64_t n, const T* g, const T* x, const int64_t* taps,
                       Vector<T> (&sum)[N]) {
  constexpr int W = kLanes<T>;
  int64_t i = 0;
  for (; i + W <= n; i += W) {
    const Vector<T> here = load(g + i);
    SL_UNROLL for (int t = 0; t < N; ++t) sum[t] += here * load(x + taps[t] + i);
  }
  if (i == n) return;
  const int left = static_cast<int>(n - i);  // what lies beyond may be infinite
  const Vector<T> here = load_first(g + i, left);
  SL_UNROLL for (int t = 0; t < N; ++t) sum[t] += here * load_first(x + taps[t] + i, left);
}

// Adds the products of a plane of the gradient with the framed input under N taps to N sums.
template <class T, int N>
SL_NOINLINE void add_plane(const ConvShape& s, const Frame& f, const T* g, const T* x,
                           const int64_t* taps, Vector<T>* sums) {
  Vector<T> sum[N];
  SL_UNROLL for (int t = 0; t < N; ++t) sum[t] = sums[t];
  for (int64_t d = 0; d < s.out[0]; ++d)
    for (int64_t h = 0; h < s.out[1]; ++h, g += s.out[2]) {
      add_row<T, N>(s.out[2], g, x + f.pixel(s, d, h, 0), taps, sum);
    }
  SL_UNROLL for (int t = 0; t < N; ++t) sums[t] = sum[t];
  multiplied(s.out_pixels() * N);
}

template <class T>
void gradient_of_one_channel(const ConvWeights<T>& c) {
  constexpr int kTogether = 9;
  using Add =
      void (*)(const ConvShape&, const Frame&, const T*, const T*, const int64_t*, Vector<T>*);
  constexpr Add kAdd[kTogether + 1] = {
      nullptr,          &add_plane<T, 1>, &add_plane<T, 2>, &add_plane<T, 3>, &add_plane<T, 4>,
      &add_plane<T, 5>, &add_plane<T, 6>, &add_plane<T, 7>, &add_plane<T, 8>, &add_plane<T, 9>};
  const ConvShape& s = c.shape;
  const Frame f(s);
  const int64_t taps = s.taps();
  Scratch frame_space(sizeof(T) * uint64_t(f.volume + 8 * kLanes<T>));
  Scratch tap_space(sizeof(int64_t) * uint64_t(taps));
  Scratch sum_space(sizeof(Vector<T>) * uint64_t(s.outputs * taps));
  int64_t* offsets = tap_space.as<int64_t>();
  for (int64_t i = 0; i < taps; ++i) {
    const int64_t w = i % s.kernel[2], h = i / s.kernel[2] % s.kernel[1];
    offsets[i] = f.tap(s, i / s.kernel[2] / s.kernel[1], h, w);
  }
  Vector<T>* sums = sum_space.as<Vector<T>>();
  for (int64_t i = 0; i < s.outputs * taps; ++i) sums[i] = Vector<T>{};
  for (int64_t image = 0; image < c.images; ++image) {
    frame_channel(s, f, c.x + image * c.x_image, frame_space.as<T>(), image > 0);
    for (int64_t o = 0; o < s.outputs; ++o) {
      const T* g = c.g + image * c.g_image + o * s.out_pixels();
      for (int64_t first = 0; first < taps; first += kTogether) {
        kAdd[min_of(kTogether, taps - first)](s, f, g, frame_space.as<T>(), offsets + first,
                                              sums + o * taps + first);
      }
    }
  }
  for (int64_t i = 0; i < s.outputs * taps; ++i) c.dw[i] = sum_lanes<T>(sums[i]);
}

template <class T>
void gradient_of(const ConvWeights<T>& c) {
  if (c.shape.channels == 1) gradient_of_one_channel(c);
  else gradient(c);
}

}  // namespace

void weight_gradient(const ConvWeights<float>& c) { gradient_of(c); }
void weight_gradient(const ConvWeights<double>& c) { gradient_of(c); }

}  // namespace scriptlang::kernels::SL_ISA
