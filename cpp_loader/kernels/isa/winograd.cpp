// Winograd's F(2x2, 3x3): a 3 x 3 convolution of stride 1, channels last.
//
// Tiles of 4 x 4 pixels that overlap by two are transformed (B), multiplied by transformed weights
// as sixteen independent matrix products over the channels, and transformed back (A) to 2 x 2
// results. All coefficients are 0, 1, -1 or 1/2, so little accuracy is lost. An infinity makes the
// other pixels of its tiles NaN. See Lavin and Gray, Fast Algorithms for Convolutional Neural
// Networks, 2015.
#include "../last_conv.h"

#include "../parallel.h"
#include "../scratch.h"
#include "entry.h"
#include "micro.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int W = kLanes<float>;
constexpr int kWide = kPanel<float>;
constexpr int kTile = 2, kSpan = 4, kPoints = kSpan * kSpan;
constexpr int64_t kManyPixels = 36, kFewWeights = 64 << 10;
constexpr int64_t kInputBytes = 320 << 10;  // of transformed tiles: stays in the second-level cache

struct Tiles {
  int64_t wide, count;
  explicit Tiles(const ConvShape& s)
      : wide(ceil_div(s.out[2], kTile)), count(wide * ceil_div(s.out[1], kTile)) {}
};

// The number of tiles in a block: more for large weights, which every block reads.
int64_t block_tiles(const ConvShape& s) {
  int64_t fits = kInputBytes / (kPoints * s.channels * 4) / kTileRows * kTileRows;
  int64_t weights = kPoints * s.channels * s.outputs * 4;
  int64_t least = weights > (4 << 20) ? 4 : weights > (1 << 20) ? 2 : 1;
  return max_of(fits, least * kTileRows);
}

SL_INLINE void transform_input(const Vector<float>* d, Vector<float>* o) {
  o[0] = d[0] - d[2];
  o[1] = d[1] + d[2];
  o[2] = d[2] - d[1];
  o[3] = d[1] - d[3];
}
SL_INLINE void transform_result(const Vector<float>* x, Vector<float>* o) {
  o[0] = x[0] + x[1] + x[2];
  o[1] = x[1] - x[2] - x[3];
}
void transform_weight(const float* g, int64_t step, float* o) {
  o[0] = g[0];
  o[1] = (g[0] + g[step] + g[2 * step]) / 2;
  o[2] = (g[0] - g[step] + g[2 * step]) / 2;
  o[3] = g[2 * step];
}

// Transforms tile `tile` of the input, all channels; point p is stored at out + p * step.
SL_NOINLINE void input_tile(const LastConv& c, const Tiles& tiles, int64_t tile, float* out,
                            int64_t step) {
  const ConvShape& s = c.shape;
  int64_t h = tile / tiles.wide * kTile - s.padding[1];
  int64_t w = tile % tiles.wide * kTile - s.padding[2];
  const float* from = c.x + h * c.x_row + w * c.x_column;
  bool row[kSpan], column[kSpan];
  for (int i = 0; i < kSpan; ++i) {
    row[i] = h + i >= 0 && h + i < s.in[1];
    column[i] = w + i >= 0 && w + i < s.in[2];
  }
  for (int64_t channel = 0; channel < s.channels; channel += W) {
    Vector<float> half[kSpan][kSpan];
    SL_UNROLL for (int x = 0; x < kSpan; ++x) {
      Vector<float> d[kSpan], o[kSpan];
      SL_UNROLL for (int y = 0; y < kSpan; ++y) {
        d[y] = row[y] && column[x] ? load(from + y * c.x_row + x * c.x_column + channel)
                                   : Vector<float>{};
      }
      transform_input(d, o);
      SL_UNROLL for (int y = 0; y < kSpan; ++y) half[y][x] = o[y];
    }
    SL_UNROLL for (int y = 0; y < kSpan; ++y) {
      Vector<float> o[kSpan];
      transform_input(half[y], o);
      SL_UNROLL for (int x = 0; x < kSpan; ++x) store(out + (y * kSpan + x) * step + channel, o[x]);
    }
  }
}

// Transforms a tile back for `outputs` outputs from `output` on; its point p is at in + p * step.
SL_NOINLINE void result_tile(const LastConv& c, const Tiles& tiles, int64_t tile, int64_t output,
                             int64_t outputs, const float* in, int64_t step) {
  const ConvShape& s = c.shape;
  int64_t h = tile / tiles.wide * kTile, w = tile % tiles.wide * kTile;
  int64_t high = min_of(kTile, s.out[1] - h), wide = min_of(kTile, s.out[2] - w);
  for (int64_t j = 0; j < outputs; j += W) {
    int left = static_cast<int>(min_of(W, outputs - j));
    Vector<float> half[kTile][kSpan];
    SL_UNROLL for (int x = 0; x < kSpan; ++x) {
      Vector<float> d[kSpan], o[kTile];
      SL_UNROLL for (int y = 0; y < kSpan; ++y) d[y] = load(in + (y * kSpan + x) * step + j);
      transform_result(d, o);
      SL_UNROLL for (int y = 0; y < kTile; ++y) half[y][x] = o[y];
    }
    Vector<float> bias = c.bias ? load_first(c.bias + output + j, left) : Vector<float>{};
    SL_UNROLL for (int y = 0; y < kTile; ++y) {
      if (y >= high) break;
      Vector<float> o[kTile];
      transform_result(half[y], o);
      SL_UNROLL for (int x = 0; x < kTile; ++x) {
        if (x >= wide) break;
        int64_t at = ((h + y) * s.out[2] + w + x) * s.outputs + output + j;
        Vector<float> sum = o[x] + bias;
        if (c.added) sum += load_first(c.added + at, left);
        store_first(c.y + at, activate<float>(sum, c.activation), left);
      }
    }
  }
  for (int64_t y = 0; c.finish && y < high; ++y) {
    float* to = c.y + ((h + y) * s.out[2] + w) * s.outputs + output;
    c.finish(to, s.outputs, to, s.outputs, wide, outputs);
  }
}

// Computes tiles [begin, end) of the image for panels [first, last) of the outputs.
void winograd_block(const LastConv& c, const Tiles& tiles, int64_t begin, int64_t end,
                    int64_t first, int64_t last) {
  const ConvShape& s = c.shape;
  const int64_t n = end - begin, row = s.channels + W, point = n * row;  // + W: see LastFrame
  Scratch in_space(sizeof(float) * uint64_t(kPoints * point));
  Scratch out_space(sizeof(float) * uint64_t(kPoints * n * 2 * kWide));
  float *in = in_space.as<float>(), *out = out_space.as<float>();
  for (int64_t i = 0; i < n; ++i) input_tile(c, tiles, begin + i, in + i * row, point);
  RowTiles rows(n);
  const bool narrow = rows.height(0) <= kPairRows;
  Tile<float> t;
  t.k = s.channels;
  t.a_row = row;
  t.b_stride = kPoints * s.channels * kWide;
  t.start = Start::kZero;
  t.activation = Activation::kNone;
  t.bias = nullptr;
  for (int64_t p = first; p < last;) {
    int width = narrow && last - p >= 2 ? 2 : 1;
    t.c_row = width * kWide;
    t.columns = static_cast<int>(min_of(t.c_row, ceil_div(s.outputs - p * kWide, W) * W));
    for (int64_t f = 0; f < kPoints; ++f) {
      t.b = c.packed + p * t.b_stride + f * s.channels * kWide;
      const bool ends = p + width >= last && f + 1 == kPoints;
      t.b_ahead_step = ceil_div(kWide, rows.count);
      for (int64_t i = 0; i < rows.count; ++i) {
        t.a = in + f * point + rows.first(i) * row;
        t.c = out + (f * n + rows.first(i)) * t.c_row;
        t.b_ahead = ends ? nullptr : t.b + s.channels * kWide + i * t.b_ahead_step * t.k;
        (width == 2 ? TileSet<float, Operand::kDirect>::pair.rows[rows.height(i)]
                    : panel_tile<float, Operand::kDirect>(rows.height(i), t.columns))(t);
      }
    }
    int64_t output = p * kWide, outputs = min_of(width * kWide, s.outputs - output);
    for (int64_t i = 0; i < n; ++i) {
      result_tile(c, tiles, begin + i, output, outputs, out + i * t.c_row, n * t.c_row);
    }
    multiplied(kPoints * n * t.c_row * s.channels);
    p += width;
  }
}

}  // namespace

bool winograd_pays(const ConvShape& s, int64_t groups) {
  for (int d = 1; d < 3; ++d) {
    if (s.kernel[d] != 3 || s.stride[d] != 1 || s.dilation[d] != 1) return false;
  }
  // Transformed weights are 16/9 times as large: with few pixels, reading them costs what they
  // save.
  bool many = s.out_pixels() >= kManyPixels || s.channels * s.outputs <= kFewWeights;
  return many && groups == 1 && s.channels % W == 0 && s.channels >= 2 * W && s.outputs >= W;
}

// Packs transformed weights as [panel][point][channel][kWide].
void pack_winograd(const ConvShape& s, const float* w, float* to) {
  int64_t panels = ceil_div(s.outputs, kWide);
  parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p)
      for (int64_t channel = 0; channel < s.channels; ++channel)
        for (int64_t j = 0; j < kWide; ++j) {
          float half[kSpan][3] = {}, points[kSpan] = {};
          bool exists = p * kWide + j < s.outputs;
          const float* g = w + ((p * kWide + j) * s.channels + channel) * 9;
          for (int64_t i = 0; exists && i < 3; ++i) {
            transform_weight(g + i, 3, points);
            for (int y = 0; y < kSpan; ++y) half[y][i] = points[y];
          }
          for (int y = 0; y < kSpan; ++y) {
            transform_weight(half[y], 1, points);
            for (int x = 0; x < kSpan; ++x) {
              to[((p * kPoints + y * kSpan + x) * s.channels + channel) * kWide + j] = points[x];
            }
          }
        }
  });
}

void convolve_winograd(const LastConv& c) {
  const ConvShape& s = c.shape;
  if (c.x_channel != 1) return with_dense_input(c, &convolve_winograd);
  Tiles tiles(s);
  int64_t panels = ceil_div(s.outputs, kWide), threads = thread_count(), splits = 1;
  int64_t blocks = ceil_div(tiles.count, block_tiles(s));
  bool big = tiles.count * s.channels * s.outputs > 20'000 && threads > 1;
  if (big && blocks < 2 * threads) {
    if (tiles.count >= 40 * threads || panels < 2) blocks = max_of(blocks, 2 * threads);
    else splits = min_of(panels, 2 * threads);
  }
  blocks = min_of(blocks, tiles.count);
  int64_t tasks = blocks * splits;
  parallel_for(tasks, big ? 1 : tasks, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t block = task / splits, split = task % splits;
      winograd_block(c, tiles, tiles.count * block / blocks, tiles.count * (block + 1) / blocks,
                     panels * split / splits, panels * (split + 1) / splits);
    }
  });
}

}  // namespace scriptlang::kernels::SL_ISA
