// Convolution with channels last, as a matrix product without a matrix of patches.
//
// The rows of the input are first framed: copied with zeros for the padding beside them. A result
// pixel is then a row of A that begins at its first tap, the next pixel's row begins `stride`
// pixels further, and the products of one row of taps are contiguous in both operands. Taps that
// lie outside the input for all pixels of a tile are skipped, so dilated convolutions of small
// images do not multiply their padding. One tap without padding needs no frame: it is a plain
// matrix product.
#include "../last_conv.h"

#include "../caches.h"
#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "inside.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int W = kLanes<float>;
constexpr int kWide = kPanel<float>;
constexpr int64_t kBlockBytes = 192 << 10;   // of the frame: stays in the second-level cache
constexpr int64_t kGatheredBytes = 2 << 20;  // of gathered patches
constexpr int64_t kSmallWork = 200'000;      // multiply-adds that are not worth a thread

int64_t all_channels(const ConvShape& s, int64_t groups) { return s.channels * groups; }

int64_t work_of(const ConvShape& s, int64_t groups) {
  return s.out_pixels() * s.outputs * groups * s.channels * s.taps();
}

// Whether a row of the kernel is one contiguous run of products. Then none of its columns can be
// skipped.
bool joins_columns(const ConvShape& s, int64_t groups, int64_t pixel) {
  return groups == 1 && s.dilation[2] == 1 && pixel == s.channels;
}

// The geometry of the frame: rows of the input with `left` pixels of zeros before them and some
// after them. If taps are skipped, there are only as many as the pixels of one tile can reach.
struct LastFrame {
  int64_t height, left, width, pixel, row;
  bool joined;
  LastFrame(const ConvShape& s, int64_t groups) {
    pixel = all_channels(s, groups);
    // Pixels at multiples of 2 KB would compete for the same lines of the first-level cache.
    if (pixel % 512 == 0) pixel += W;
    joined = joins_columns(s, groups, pixel);
    height = s.in[1];
    int64_t reach = (s.out[2] - 1) * s.stride[2] + (s.kernel[2] - 1) * s.dilation[2] + 1;
    int64_t most = joined ? reach : (RowTiles(s.out[2]).height(0) - 1) * s.stride[2];
    left = min_of(s.padding[2], most);
    int64_t last = max_of(0, reach - s.padding[2]);  // end of the columns in use
    width = left + (last > s.in[2] ? s.in[2] + min_of(last - s.in[2], most) : last);
    row = width * pixel;
  }
};

void copy_pixel(const float* from, int64_t step, int64_t n, float* to) {
  if (step == 1) {
    __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  }
}

// Vector k of three that hold a[0], b[0], c[0], a[1], ...
template <int K, int... I>
SL_INLINE Vector<float> interleaved(Vector<float> a, Vector<float> b, Vector<float> c,
                                    std::integer_sequence<int, I...>) {
  const Vector<float> two =
      __builtin_shufflevector(a, b, ((K * W + I) % 3 == 1 ? W : 0) + (K * W + I) / 3 ...);
  return __builtin_shufflevector(two, c, ((K * W + I) % 3 == 2 ? W + (K * W + I) / 3 : I)...);
}

// Copies n pixels of three planes side by side.
SL_NOINLINE void interleave_three(int64_t n, const float* a, int64_t plane, float* to) {
  constexpr auto kAll = std::make_integer_sequence<int, W>{};
  const float *b = a + plane, *c = b + plane;
  int64_t i = 0;
  for (; i + W <= n; i += W, to += 3 * W) {
    const Vector<float> x = load(a + i), y = load(b + i), z = load(c + i);
    store(to, interleaved<0>(x, y, z, kAll));
    store(to + W, interleaved<1>(x, y, z, kAll));
    store(to + 2 * W, interleaved<2>(x, y, z, kAll));
  }
  for (; i < n; ++i, to += 3) {
    to[0] = a[i];
    to[1] = b[i];
    to[2] = c[i];
  }
}

// Copies `columns` elements of each of n planes, so that those of one column lie side by side.
SL_NOINLINE void turn_columns(int64_t n, int64_t columns, const float* from, int64_t plane,
                              float* to, int64_t pixel) {
  auto one_by_one = [&](int64_t i, int64_t end, int64_t first) {
    for (; i < end; ++i)
      for (int64_t w = first; w < columns; ++w) to[w * pixel + i] = from[i * plane + w];
  };
  const int64_t whole = n / W * W, whole_columns = columns / W * W;
  for (int64_t i = 0; i < whole; i += W)
    for (int64_t w = 0; w < whole_columns; w += W) {
      Vector<float> square[W];
      SL_UNROLL for (int r = 0; r < W; ++r) square[r] = load(from + (i + r) * plane + w);
      transpose<float>(square);
      SL_UNROLL for (int r = 0; r < W; ++r) store(to + (w + r) * pixel + i, square[r]);
    }
  one_by_one(0, whole, whole_columns);
  one_by_one(whole, n, 0);
}

// Fills a row of the frame with columns [first, last) of the input.
SL_NOINLINE void frame_columns(const LastConv& c, const LastFrame& f, const float* from,
                               int64_t first, int64_t last, float* to) {
  int64_t n = all_channels(c.shape, c.groups);
  if (c.x_channel == 1 && c.x_column == n && f.pixel == n) {
    copy_pixel(from + first * n, 1, (last - first) * n, to);
    return;
  }
  if (c.x_column == 1 && n == 3 && f.pixel == 3) {
    return interleave_three(last - first, from + first, c.x_channel, to);
  }
  if (c.x_column == 1) return turn_columns(n, last - first, from + first, c.x_channel, to, f.pixel);
  for (int64_t w = first; w < last; ++w, to += f.pixel) {
    copy_pixel(from + w * c.x_column, c.x_channel, n, to);
  }
}

void frame_rows(const LastConv& c, const LastFrame& f, float* to) {
  const ConvShape& s = c.shape;
  int64_t grain = max_of(1, 65536 / max_of(1, f.row));
  parallel_for(f.height, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* row = to + i * f.row;
      int64_t last = min_of(f.width, f.left + s.in[2]);
      __builtin_memset(row, 0, static_cast<size_t>(f.left * f.pixel) * sizeof(float));
      frame_columns(c, f, c.x + i * c.x_row, 0, last - f.left, row + f.left * f.pixel);
      __builtin_memset(row + last * f.pixel, 0,
                       static_cast<size_t>((f.width - last) * f.pixel) * sizeof(float));
    }
  });
}

// The runs of contiguous products that the pixels of a tile sum up: their offsets in the frame and
// in a packed panel.
struct Taps {
  int64_t count = 0, length, columns;
  int64_t *offsets, *weights;

  // `space` has room for two numbers per tap.
  Taps(const ConvShape& s, const LastFrame& f, int64_t* space)
      : length(f.joined ? s.channels * s.kernel[2] : s.channels),
        columns(f.joined ? 1 : s.kernel[2]),
        offsets(space),
        weights(space + s.taps()) {}

  // Finds the taps that lie inside the input for any of the pixels [first, first + n) of a row.
  void find(const ConvShape& s, const LastFrame& f, int64_t out_row, int64_t first, int64_t n) {
    count = 0;
    int64_t h = out_row * s.stride[1] - s.padding[1];
    int64_t left = first * s.stride[2] - s.padding[2], right = left + (n - 1) * s.stride[2];
    for (int64_t i = 0; i < s.kernel[1]; ++i, h += s.dilation[1]) {
      if (h < 0 || h >= s.in[1]) continue;
      for (int64_t j = 0; j < columns; ++j) {
        int64_t step = j * s.dilation[2];
        if (!f.joined && (right + step < 0 || left + step >= s.in[2])) continue;
        offsets[count] = h * f.row + (f.left + left + step) * f.pixel;
        weights[count++] = (i * columns + j) * length * kWide;
      }
    }
  }
};

// Computes rows [top, bottom) of the result, panels [first, last) of one group.
void direct_block(const LastConv& c, const LastFrame& f, const float* framed, int64_t group,
                  int64_t top, int64_t bottom, int64_t first, int64_t last) {
  const ConvShape& s = c.shape;
  Scratch tap_space(2 * sizeof(int64_t) * uint64_t(s.taps()));
  Taps taps(s, f, tap_space.as<int64_t>());
  const int64_t depth = s.channels * s.taps(), panels = ceil_div(s.outputs, kWide);
  const int64_t y_pixel = c.y_column ? c.y_column : s.outputs * c.groups;
  const int64_t y_row = c.y_row ? c.y_row : s.out[2] * y_pixel;
  Tile<float> t;
  t.k = taps.length;
  t.a = framed + group * s.channels;
  t.taps = taps.offsets;
  t.b_taps = taps.weights;
  t.a_row = s.stride[2] * f.pixel;
  t.b_stride = depth * kWide;
  t.c_row = y_pixel;
  t.start = c.bias ? Start::kColumnBias : Start::kZero;
  t.activation = c.activation;
  t.finish = c.finish;
  RowTiles tiles(s.out[2]);
  const int tallest = tiles.height(0);
  for (int64_t p = first; p < last;) {
    int width = tallest <= kQuadRows && last - p >= 4   ? 4
                : tallest <= kPairRows && last - p >= 2 ? 2
                                                        : 1;
    int64_t column = p * kWide, output = group * s.outputs + column;
    t.b = c.packed + (group * panels + p) * t.b_stride;
    t.bias = c.bias ? c.bias + output : nullptr;
    t.columns = static_cast<int>(min_of(width * kWide, s.outputs - column));
    t.b_ahead_step = ceil_div(width * kWide, tiles.count * (bottom - top));
    const float* next = p + width < last ? t.b + width * t.b_stride : nullptr;
    for (int64_t row = top; row < bottom; ++row) {
      // Tiles that skip no columns of taps sum up the same ones, shifted.
      auto multiply = [&](int64_t from, int height, int64_t count) {
        const int64_t at = row * y_row + from * y_pixel + output;
        taps.find(s, f, row, from, height);
        t.tap_count = taps.count;
        t.tiles = count;
        t.c = c.y + at;
        t.added = c.added ? c.added + at : nullptr;
        t.b_ahead = next;
        if (next) next += count * t.b_ahead_step * t.k * t.tap_count;
        (width == 4   ? TileSet<float, Operand::kTaps>::quad.rows[height]
         : width == 2 ? TileSet<float, Operand::kTaps>::pair.rows[height]
                      : panel_tile<float, Operand::kTaps>(height, t.columns))(t);
        multiplied(count * height * width * kWide * t.k * t.tap_count);
      };
      if (f.joined) {
        tiles.each_height(multiply);
      } else {
        for (int64_t i = 0; i < tiles.count; ++i) multiply(tiles.first(i), tiles.height(i), 1);
      }
    }
    p += width;
  }
}

bool is_product(const ConvShape& s, int64_t groups) {
  return s.taps() == 1 && groups == 1 && s.padding[1] == 0 && s.padding[2] == 0;
}

// Whether to gather patches. Rows of few pixels do not fill a tile, and each would read all
// weights. Then the taps of all pixels are copied side by side, which is cheap if there are many
// outputs.
bool gathers(const LastConv& c) {
  const ConvShape& s = c.shape;
  return c.groups == 1 && s.out[1] > 1 && s.out[2] <= kTileRows / 2 && s.outputs >= 2 * kWide &&
         !c.y_column && s.channels >= W && useful_share(s) > kMostlyInside &&
         s.out_pixels() * s.channels * s.taps() <= kGatheredBytes / int64_t(sizeof(float));
}

void multiply_pixels(const LastConv& c, const float* pixels, int64_t depth) {
  const ConvShape& s = c.shape;
  Gemm<float> g;
  g.a = pixels;
  g.m = s.out_pixels();
  g.n = s.outputs;
  g.k = depth;
  g.a_row = depth;
  g.packed_b = c.packed;
  g.c = c.y;
  g.c_row = s.outputs;
  g.start = c.bias ? Start::kColumnBias : Start::kZero;
  g.bias = c.bias;
  g.added = c.added;
  g.activation = c.activation;
  g.finish = c.finish;
  matrix_product(g);
}

void convolve_gathered(const LastConv& c, const LastFrame& f, const float* framed) {
  const ConvShape& s = c.shape;
  const int64_t depth = s.channels * s.taps();
  Scratch space(sizeof(float) * uint64_t(s.out_pixels() * depth));
  Scratch tap_space(2 * sizeof(int64_t) * uint64_t(s.taps()));
  Taps taps(s, f, tap_space.as<int64_t>());
  float* to = space.as<float>();
  for (int64_t h = 0; h < s.out[1]; ++h)
    for (int64_t w = 0; w < s.out[2]; ++w, to += depth) {
      taps.find(s, f, h, w, 1);
      worked(depth);
      if (taps.count < s.kernel[1] * taps.columns) {
        __builtin_memset(to, 0, static_cast<size_t>(depth) * sizeof(float));
      }
      for (int64_t i = 0; i < taps.count; ++i) {
        copy_pixel(framed + taps.offsets[i], 1, taps.length, to + taps.weights[i] / kWide);
      }
    }
  multiply_pixels(c, space.as<float>(), depth);
}

void convolve_direct(const LastConv& c) {
  const ConvShape& s = c.shape;
  LastFrame f(s, c.groups);
  Scratch space(sizeof(float) * uint64_t(f.height * f.row + 2 * W));
  frame_rows(c, f, space.as<float>());
  if (gathers(c)) return convolve_gathered(c, f, space.as<float>());
  int64_t panels = ceil_div(s.outputs, kWide), threads = thread_count();
  int64_t bytes = s.stride[1] * f.row * static_cast<int64_t>(sizeof(float));
  int64_t blocks =
              ceil_div(s.out[1], max_of(1, second_cache_block(kBlockBytes) / max_of(1, bytes))),
          splits = 1;
  bool big = work_of(s, c.groups) > kSmallWork && threads > 1;
  if (big && blocks * c.groups < 2 * threads) {
    // Many rows are split by rows, few by panels, so that each packed panel is read once.
    if (s.out[1] >= 28 || panels < 2) blocks = min_of(s.out[1], 4 * threads);
    else splits = min_of(panels, 2 * threads);
  }
  int64_t tasks = c.groups * blocks * splits;
  parallel_for(tasks, big ? 1 : tasks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t split = task % splits, block = task / splits % blocks;
      direct_block(c, f, space.as<float>(), task / splits / blocks, s.out[1] * block / blocks,
                   s.out[1] * (block + 1) / blocks, panels * split / splits,
                   panels * (split + 1) / splits);
    }
  });
}

// For one tap: a plain matrix product. The pixels in use are copied together first unless they are
// contiguous.
void convolve_product(const LastConv& c) {
  const ConvShape& s = c.shape;
  bool dense = s.stride[1] == 1 && s.stride[2] == 1 && c.x_channel == 1 &&
               c.x_column == s.channels && c.x_row == s.channels * s.in[2];
  Scratch space(dense ? 0 : sizeof(float) * uint64_t(s.channels * s.out_pixels()));
  const float* pixels = c.x;
  if (!dense) {
    float* to = space.as<float>();
    for (int64_t h = 0; h < s.out[1]; ++h)
      for (int64_t w = 0; w < s.out[2]; ++w, to += s.channels) {
        copy_pixel(c.x + h * s.stride[1] * c.x_row + w * s.stride[2] * c.x_column, c.x_channel,
                   s.channels, to);
      }
    pixels = space.as<float>();
  }
  multiply_pixels(c, pixels, s.channels);
}

ConvWay choose(const ConvShape& s, int64_t groups) {
  if (s.channels == 1 && s.outputs == 1 && groups > 1) return ConvWay::kDepthwise;
  return winograd_pays(s, groups) ? ConvWay::kWinograd : ConvWay::kDirect;
}

int64_t packed_size(const ConvShape& s, int64_t groups, ConvWay way) {
  if (way == ConvWay::kDepthwise) return packed_depthwise_size(s, groups);
  int64_t taps = way == ConvWay::kWinograd ? 16 : s.taps();
  return groups * ceil_div(s.outputs, kWide) * kWide * s.channels * taps;
}

// Packs weights as [group][panel][tap][channel][kWide].
void pack_direct(const ConvShape& s, int64_t groups, const float* w, float* to) {
  int64_t taps = s.taps(), panels = ceil_div(s.outputs, kWide);
  parallel_for(groups * panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      float* out = to + i * taps * s.channels * kWide;
      int64_t output = i % panels * kWide;
      const float* from = w + (i / panels * s.outputs + output) * s.channels * taps;
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t channel = 0; channel < s.channels; ++channel)
          for (int64_t j = 0; j < kWide; ++j) {
            *out++ = output + j < s.outputs ? from[(j * s.channels + channel) * taps + tap] : 0.0f;
          }
    }
  });
}

void pack_conv(const ConvShape& s, int64_t groups, ConvWay way, const float* w, float* packed) {
  if (way == ConvWay::kDepthwise) pack_depthwise(s, groups, w, packed);
  else if (way == ConvWay::kWinograd) pack_winograd(s, w, packed);
  else pack_direct(s, groups, w, packed);
}

void convolve(const LastConv& c) {
  if (c.shape.out_pixels() == 0 || c.shape.outputs == 0) return;
  if (c.way == ConvWay::kDepthwise) convolve_depthwise(c);
  else if (c.way == ConvWay::kWinograd) convolve_winograd(c);
  else if (is_product(c.shape, c.groups) && !c.y_column) convolve_product(c);
  else convolve_direct(c);
}

}  // namespace

void with_dense_input(const LastConv& c, void (*convolve)(const LastConv&)) {
  const ConvShape& s = c.shape;
  int64_t n = all_channels(s, c.groups);
  Scratch space(sizeof(float) * uint64_t(s.in_pixels() * n));
  LastConv dense = c;
  dense.x = space.as<float>();
  dense.x_channel = 1;
  dense.x_column = n;
  dense.x_row = n * s.in[2];
  for (int64_t i = 0; i < s.in_pixels(); ++i) {
    copy_pixel(c.x + i / s.in[2] * c.x_row + i % s.in[2] * c.x_column, c.x_channel, n,
               space.as<float>() + i * n);
  }
  convolve(dense);
}

const LastConvFunctions last_conv{kWide, &choose, &packed_size, &pack_conv, &convolve};

}  // namespace scriptlang::kernels::SL_ISA
