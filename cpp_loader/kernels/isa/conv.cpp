// Convolution as a matrix product whose right operand is gathered panel by panel.
//
// weights [outputs][channels * taps] times patches [channels * taps][pixels]. A panel of patches
// (kPanel pixels) is copied from the input right before it is used, so the matrix of all patches
// never exists. Copying is fast because the input is first copied into a frame, with its padding as
// zeros and its columns sorted by their remainder modulo the stride: then the elements that a tap
// reads for neighbouring pixels of an output row are contiguous, whatever the stride and dilation.
#include "../conv.h"

#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "depthwise_planes.h"
#include "frame.h"
#include "inside.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kDepth = 256;      // products added between two updates of a result tile
constexpr int64_t kGroupPanels = 8;  // panels of one task
constexpr int64_t kSplitTiles = 2;
constexpr int64_t kPackedPanels = 16;  // for so many, packing the weights pays off

// Neighbouring pixels of a panel that lie in one output row.
struct Segment {
  int64_t from;  // offset in the frame
  int to, length;
};

template <class T>
struct Panel {
  Segment segments[kPanel<T>];
  int count = 0;
  int width;

  Panel(const ConvShape& s, const Frame& f, int64_t first) {
    width = static_cast<int>(min_of(kPanel<T>, s.out_pixels() - first));
    for (int at = 0; at < width;) {
      int64_t pixel = first + at, w = pixel % s.out[2], h = pixel / s.out[2];
      int length = static_cast<int>(min_of(width - at, s.out[2] - w));
      segments[count++] = {f.pixel(s, h / s.out[1], h % s.out[1], w), at, length};
      at += length;
    }
  }
};

// Copies rows [k0, k0 + depth) of a panel of patches. A copy may overrun its segment into the next
// one, which is copied later, and the end of the panel by one vector.
template <class T>
SL_NOINLINE void gather(const Panel<T>& panel, const T* frame, const int64_t* offsets, int64_t k0,
                        int64_t depth, T* out) {
  constexpr int W = kLanes<T>;
  for (int64_t k = 0; k < depth; ++k, out += kPanel<T>) {
    const T* base = frame + offsets[k0 + k];
    for (int i = 0; i < panel.count; ++i) {
      const Segment& s = panel.segments[i];
      const T* from = base + s.from;
      T* to = out + s.to;
      for (int j = 0; j < s.length; j += W) store(to + j, load(from + j));
    }
    for (int j = panel.width; j < kPanel<T>; ++j) out[j] = T(0);
  }
}

// The vectors of a result, each of which lies in one row: the last one of a row overlaps the one
// before it.
struct Places {
  int64_t width, lanes, in_row, count;
  Places(const ConvShape& s, int64_t lanes_)
      : width(s.out[2]),
        lanes(lanes_),
        in_row(ceil_div(width, lanes)),
        count(in_row * s.out[0] * s.out[1]) {}
  int64_t column(int64_t i) const { return min_of(i % in_row * lanes, width - lanes); }
  int64_t row(int64_t i) const { return i / in_row; }
};

// The smallest builds do without the tiles that read in place, which take 10 KB.
#ifdef SL_NO_OPTIMIZER
constexpr bool kHasPlaces = false;
#else
constexpr bool kHasPlaces = true;
#endif

// Whether vectors of patches are read where they lie in the frame. A vector that overlaps another
// one costs as much as `outputs` products, gathering one as much as kGatherCost. Where results are
// added to in several blocks of products, both must be in one panel, or the second would add to
// what the first has written.
template <class T>
bool reads_in_place(const ConvShape& s) {
  if (!kHasPlaces) return false;
  constexpr int64_t W = kLanes<T>, kGatherCost = 10;
  const int64_t width = s.out[2], vectors = ceil_div(width, W), twice = vectors * W - width;
  const bool in_blocks = s.channels * s.taps() > kDepth;
  if (twice > 0 && in_blocks && vectors % kTileVectors != 0) return false;
  return width >= W && twice * s.outputs <= kGatherCost * width;
}

template <class T>
struct Job {
  const Conv<T>& conv;
  const Frame& frame;
  const T* x;  // the framed input
  T* y;
  const int64_t* offsets;
  int64_t k, pixels, panels;
  bool in_place;
  const T* packed_w;  // null: weights are not packed
};

// Computes the result's tiles [begin, end) for one panel and the products from k0 on.
template <class T>
void convolve_panel(const Job<T>& job, Tile<T>& t, int64_t begin, int64_t end, int64_t k0,
                    int64_t column) {
  const Conv<T>& c = job.conv;
  RowTiles(c.shape.outputs).each_height(begin, end, [&](int64_t row, int height, int64_t tiles) {
    t.bias = c.bias ? c.bias + row : nullptr;
    t.c = job.y + row * job.pixels + column;
    t.tiles = tiles;
    // The packed weights of a block of `depth` products lie together: see pack_weights.
    t.a = job.packed_w ? job.packed_w + k0 * c.shape.outputs + row * t.k : c.w + row * job.k + k0;
    if (!job.packed_w) TileSet<T, Operand::kDirect>::one.rows[height](t);
    else if (!job.in_place) TileSet<T, Operand::kPacked>::one.rows[height](t);
    else if constexpr (kHasPlaces) panel_tile<T, Operand::kPlaces>(height, t.columns)(t);
    multiplied(height * tiles * t.k * kPanel<T>);
  });
}

// Finds the vectors of a panel in the frame and in a plane of the result. Missing ones are the last
// one again.
template <class T>
void find_places(const Job<T>& job, const Places& places, int64_t panel, Tile<T>& t) {
  const ConvShape& s = job.conv.shape;
  const int64_t first = panel * kTileVectors, left = places.count - first;
  t.columns = static_cast<int>(min_of(left, kTileVectors)) * kLanes<T>;
  for (int64_t j = 0; j < kTileVectors; ++j) {
    const int64_t i = first + min_of(j, left - 1), row = places.row(i), w = places.column(i);
    t.b_places[j] = job.frame.pixel(s, row / s.out[1], row % s.out[1], w);
    t.c_places[j] = row * s.out[2] + w;
  }
}

// Computes tiles [begin, end) of the result for the panels [first, last).
template <class T>
void convolve_block(const Job<T>& job, int64_t begin, int64_t end, int64_t first, int64_t last) {
  const Conv<T>& c = job.conv;
  const int64_t depth = min_of(kDepth, job.k);
  const int64_t room = job.in_place ? 0 : (last - first) * depth * kPanel<T> + 2 * kLanes<T>;
  Scratch panel_space(sizeof(T) * uint64_t(room));
  T* gathered = panel_space.as<T>();
  // Where each output has pages of its own, the first panel waits for them: a tenth of a second for
  // a hundred megabytes.
  const bool own_pages = job.pixels * int64_t(sizeof(T)) >= (1 << 20);
  // Packed weights lie together: each panel meets all of them. Rows of others are far apart: each
  // tile of them meets all panels.
  const int64_t step = !job.packed_w ? 1 : own_pages ? 4 : end - begin;
  const Places places(c.shape, kLanes<T>);
  Tile<T> t;
  t.a_row = job.k;
  t.b_stride = 0;
  t.c_row = job.pixels;
  for (int64_t k0 = 0; k0 < job.k; k0 += depth) {
    t.k = min_of(depth, job.k - k0);
    t.start = k0 > 0 ? Start::kResult : c.bias ? Start::kRowBias : Start::kZero;
    t.activation = k0 + t.k == job.k ? c.activation : Activation::kNone;
    t.b_rows = job.offsets + k0;
    for (int64_t p = first; p < last && !job.in_place; ++p) {
      T* to = gathered + (p - first) * t.k * kPanel<T>;
      gather(Panel<T>(c.shape, job.frame, p * kPanel<T>), job.x, job.offsets, k0, t.k, to);
      worked(t.k * kPanel<T>);
    }
    for (int64_t tile = begin; tile < end; tile += step)
      for (int64_t p = first; p < last; ++p) {
        const int64_t column = job.in_place ? 0 : p * kPanel<T>;
        t.b = job.in_place ? job.x : gathered + (p - first) * t.k * kPanel<T>;
        t.columns = static_cast<int>(min_of(kPanel<T>, job.pixels - column));
        if (job.in_place) find_places(job, places, p, t);
        convolve_panel(job, t, tile, min_of(end, tile + step), k0, column);
        if (own_pages && k0 == 0 && p == first) worked_long();
      }
  }
}

// For few pixels: every result is a dot product of contiguous weights and a contiguous patch.
template <class T>
void convolve_few(const Conv<T>& c) {
  const ConvShape& s = c.shape;
  int64_t k = s.channels * s.taps(), pixels = s.out_pixels();
  Scratch space(sizeof(T) * uint64_t(k * pixels));
  T* to = space.as<T>();
  const int64_t height = s.in[1], width = s.in[2], step = s.dilation[2], columns = s.kernel[2];
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    worked(k);
    int64_t w0 = pixel % s.out[2] * s.stride[2] - s.padding[2];
    int64_t h0 = pixel / s.out[2] % s.out[1] * s.stride[1] - s.padding[1];
    int64_t d0 = pixel / s.out[2] / s.out[1] * s.stride[0] - s.padding[0];
    // Taps [first, last) of a row lie inside the input.
    int64_t first = min_of(columns, w0 < 0 ? ceil_div(-w0, step) : 0);
    int64_t last = max_of(first, min_of(columns, width > w0 ? ceil_div(width - w0, step) : 0));
    for (int64_t channel = 0; channel < s.channels; ++channel) {
      const T* x = c.x + channel * s.in_pixels() + w0;
      for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
        int64_t d = d0 + kd * s.dilation[0];
        for (int64_t kh = 0; kh < s.kernel[1]; ++kh, to += columns) {
          int64_t h = h0 + kh * s.dilation[1];
          bool inside = d >= 0 && d < s.in[0] && h >= 0 && h < height;
          const T* row = x + (d * height + h) * width;
          int64_t begin = inside ? first : columns, end = inside ? last : columns, i = 0;
          for (; i < begin; ++i) to[i] = T(0);
          for (; i < end; ++i) to[i] = row[i * step];
          for (; i < columns; ++i) to[i] = T(0);
        }
      }
    }
  }
  Gemm<T> g;
  g.m = pixels;
  g.n = s.outputs;
  g.k = k;
  g.a = space.as<T>();
  g.a_row = k;
  g.b = c.w;
  g.b_row = 1;
  g.b_column = k;
  g.c = c.y;
  g.c_row = 1;
  g.start = c.bias ? Start::kColumnBias : Start::kZero;
  g.bias = c.bias;
  g.activation = c.activation;
  dot_products(g, pixels);
}

// For one tap without padding: a plain matrix product. Where a part of the pixels is in use, that
// part is copied together first.
template <class T>
void convolve_1x1(const Conv<T>& c) {
  const ConvShape& s = c.shape;
  bool dense = s.in[0] == s.out[0] && s.in[1] == s.out[1] && s.in[2] == s.out[2];
  int64_t pixels = s.out_pixels();
  Scratch space(dense ? 0 : sizeof(T) * uint64_t(s.channels * pixels));
  const T* x = c.x;
  if (!dense) {
    T* to = space.as<T>();
    x = to;
    parallel_for(s.channels, 16384 / pixels + 1, [&](int64_t begin, int64_t end) {
      for (int64_t channel = begin; channel < end; ++channel)
        for (int64_t row = 0; row < s.out[0] * s.out[1]; ++row) {
          int64_t d = row / s.out[1] * s.stride[0], h = row % s.out[1] * s.stride[1];
          const T* from = c.x + ((channel * s.in[0] + d) * s.in[1] + h) * s.in[2];
          T* line = to + channel * pixels + row * s.out[2];
          for (int64_t i = 0; i < s.out[2]; ++i) line[i] = from[i * s.stride[2]];
        }
    });
  }
  Gemm<T> g;
  g.m = c.shape.outputs;
  g.n = c.shape.out_pixels();
  g.k = c.shape.channels;
  g.a = c.w;
  g.a_row = g.k;
  g.b = x;
  g.b_row = g.n;
  g.c = c.y;
  g.c_row = g.n;
  g.start = c.bias ? Start::kRowBias : Start::kZero;
  g.bias = c.bias;
  g.activation = c.activation;
  matrix_product(g);
}

// Copies the input pixels under a tap, channel by channel.
template <class T>
void tap_pixels(const ConvShape& s, const int64_t* tap, const InsideRange* box, const T* x, T* to) {
  int64_t at[3];
  for (int d = 0; d < 3; ++d) {
    at[d] = box[d].first * s.stride[d] + tap[d] * s.dilation[d] - s.padding[d];
  }
  for (int64_t channel = 0; channel < s.channels; ++channel, x += s.in_pixels())
    for (int64_t d = 0; d < box[0].count(); ++d)
      for (int64_t h = 0; h < box[1].count(); ++h, to += box[2].count()) {
        int64_t row = (at[0] + d * s.stride[0]) * s.in[1] + at[1] + h * s.stride[1];
        const T* from = x + row * s.in[2] + at[2];
        for (int64_t w = 0; w < box[2].count(); ++w) to[w] = from[w * s.stride[2]];
      }
}

template <class T>
void add_box(const ConvShape& s, const InsideRange* box, const T* from, T* y) {
  for (int64_t o = 0; o < s.outputs; ++o, y += s.out_pixels())
    for (int64_t d = box[0].first; d < box[0].last; ++d)
      for (int64_t h = box[1].first; h < box[1].last; ++h, from += box[2].count()) {
        T* to = y + (d * s.out[1] + h) * s.out[2] + box[2].first;
        for (int64_t w = 0; w < box[2].count(); ++w) to[w] += from[w];
      }
}

// A tap, and the range of outputs for which it lies inside the input.
struct MetTap {
  int64_t index, at[3];
  InsideRange box[3];
  MetTap(const ConvShape& s, int64_t t)
      : index(t),
        at{t / s.kernel[2] / s.kernel[1], t / s.kernel[2] % s.kernel[1], t % s.kernel[2]},
        box{{s, 0, at[0]}, {s, 1, at[1]}, {s, 2, at[2]}} {}
  int64_t pixels() const { return box[0].count() * box[1].count() * box[2].count(); }
};

// Computes one product per tap with the input pixels under it and adds that to the outputs. This
// skips products with padding.
template <class T>
void convolve_by_taps(const Conv<T>& c) {
  const ConvShape& s = c.shape;
  int64_t pixels = s.out_pixels(), matrix = s.outputs * s.channels, taps = s.taps(), met = 0;
  Scratch list(uint64_t(taps) * sizeof(int64_t));
  int64_t* indices = list.as<int64_t>();
  for (int64_t t = 0; t < taps; ++t) {
    if (MetTap(s, t).pixels() > 0) indices[met++] = t;
  }
  Scratch space(sizeof(T) * uint64_t(met * matrix + (s.channels + s.outputs) * pixels));
  T *weights = space.as<T>(), *x = weights + met * matrix, *y = x + s.channels * pixels;
  for (int64_t i = 0; i < matrix; ++i)
    for (int64_t j = 0; j < met; ++j) weights[j * matrix + i] = c.w[i * taps + indices[j]];
  for (int64_t i = 0; i < s.outputs * pixels; ++i) c.y[i] = c.bias ? c.bias[i / pixels] : T(0);
  for (int64_t j = 0; j < met; ++j) {
    MetTap tap(s, indices[j]);
    tap_pixels(s, tap.at, tap.box, c.x, x);
    Gemm<T> g;
    g.m = s.outputs;
    g.n = tap.pixels();
    g.k = s.channels;
    g.a = weights + j * matrix;
    g.a_row = g.k;
    g.b = x;
    g.b_row = g.n;
    g.c = y;
    g.c_row = g.n;
    matrix_product(g);
    add_box(s, tap.box, y, c.y);
    worked((s.channels + s.outputs) * tap.pixels());
  }
  for (int64_t i = 0; i < s.outputs * pixels && c.activation != Activation::kNone; ++i) {
    c.y[i] = activate<T>(splat(c.y[i]), c.activation)[0];
  }
}

// Whether skipping the padding saves more products than copying the weights costs; copying a weight
// takes as long as kCopyCost products.
bool mostly_padding(const ConvShape& s) {
  constexpr double kCopyCost = 40;
  if (s.channels == 1) return false;  // must be quick: called for each of many channels
  double share = useful_share(s), met = 1;
  if (share >= kMostlyInside) return false;
  for (int64_t t = 0; t < s.taps(); ++t) met += MetTap(s, t).pixels() > 0;
  return (1 - share) * static_cast<double>(s.taps() * s.out_pixels()) > kCopyCost * met;
}

// Packs the weights into row tiles, one block of kDepth products after the other.
template <class T>
void pack_weights(const T* w, int64_t outputs, int64_t k, T* to) {
  int64_t blocks = ceil_div(k, kDepth);
  for (int64_t b = 0; b < blocks; ++b) {
    int64_t k0 = b * kDepth;
    pack_rows<T>(outputs, min_of(kDepth, k - k0), w + k0, k, 1, to + k0 * outputs);
  }
}

// Computes the result of one image.
template <class T>
void convolve_panels(const Job<T>& job) {
  const ConvShape& s = job.conv.shape;
  int64_t groups = ceil_div(job.panels, kGroupPanels);
  const int64_t threads = thread_count(), tiles = RowTiles(s.outputs).count;
  const bool big = s.outputs * job.k * job.pixels > 200'000;
  int64_t splits = 1;
  if (big && threads > 1) {
    groups = min_of(job.panels, max_of(groups, 2 * threads));
    if (groups < 2 * threads) {
      splits = max_of(1, min_of(ceil_div(2 * threads, groups), tiles / kSplitTiles));
    }
  }
  const int64_t tasks = groups * splits;
  parallel_for(tasks, big ? 1 : tasks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t group = task / splits, split = task % splits;
      convolve_block(job, tiles * split / splits, tiles * (split + 1) / splits,
                     job.panels * group / groups, job.panels * (group + 1) / groups);
    }
  });
}

// Calls f(one) for each image.
template <class T, class F>
void for_images(const Conv<T>& c, F f) {
  Conv<T> one = c;
  one.images = 1;
  for (int64_t image = 0; image < c.images; ++image) {
    f(one);
    one.x += c.x_image;
    one.y += c.y_image;
  }
}

// One group of all images. The weights are packed once.
template <class T>
void convolve_group(const Conv<T>& c) {
  const ConvShape& s = c.shape;
  int64_t pixels = s.out_pixels(), taps = s.taps(), k = s.channels * taps;
  bool padded = s.padding[0] || s.padding[1] || s.padding[2];
  if (taps == 1 && !padded) return for_images(c, &convolve_1x1<T>);
  if (pixels <= kFewPixels) return for_images(c, &convolve_few<T>);
  if (padded && mostly_padding(s)) return for_images(c, &convolve_by_taps<T>);
  Frame f(s);
  Scratch offset_space(sizeof(int64_t) * uint64_t(k));
  int64_t* offsets = offset_space.as<int64_t>();
  find_taps(s, f, offsets);
  const bool sums = sums_rows(s);
  const bool packs = !sums && ceil_div(pixels, kPanel<T>) * c.images >= kPackedPanels;
  const bool in_place = packs && reads_in_place<T>(s);
  const int64_t panels =
      in_place ? ceil_div(Places(s, kLanes<T>).count, kTileVectors) : ceil_div(pixels, kPanel<T>);
  const bool is_frame = in_place && !padded && s.stride[2] == 1;  // the input itself
  // Copies read up to two vectors beyond the end.
  Scratch space(is_frame ? 0 : sizeof(T) * uint64_t(s.channels * f.volume + 8 * kLanes<T>));
  Scratch packed(packs ? sizeof(T) * uint64_t(s.outputs * k + 2 * kLanes<T>) : 0);
  if (packs) pack_weights(c.w, s.outputs, k, packed.as<T>());
  for_images(c, [&](const Conv<T>& one) {
    if (!is_frame) frame_input(s, f, one.x, space.as<T>());
    if (sums) return convolve_depthwise(one, f, space.as<T>(), offsets);
    convolve_panels(Job<T>{one, f, is_frame ? one.x : space.as<T>(), one.y, offsets, k, pixels,
                           panels, in_place, packs ? packed.as<T>() : nullptr});
  });
}

template <class T>
void convolve(const Conv<T>& c) {
  const ConvShape& s = c.shape;
  if (s.out_pixels() == 0 || s.outputs == 0) return;
  if (c.groups > 1 && sums_rows(s)) return for_images(c, &convolve_channels<T>);
  Conv<T> one = c;
  one.groups = 1;
  for (int64_t group = 0; group < c.groups; ++group) {
    convolve_group(one);
    one.x += s.channels * s.in_pixels();
    one.w += s.outputs * s.channels * s.taps();
    one.bias = one.bias ? one.bias + s.outputs : nullptr;
    one.y += s.outputs * s.out_pixels();
  }
}

}  // namespace

const ConvFunctions<float> conv_f32{&convolve<float>, &weight_gradient};
const ConvFunctions<double> conv_f64{&convolve<double>, &weight_gradient};

}  // namespace scriptlang::kernels::SL_ISA
