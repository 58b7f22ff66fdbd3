// Gradients of samples at the positions of a grid.
//
// A sample is a sum over the pixels at the corners of its cell, each times a weight for each
// dimension. The corners of some positions are found once for all channels.
#include <algorithm>
#include <cmath>

#include "../../kernels/grid.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "row_kernels.h"

namespace scriptlang {

using kernels::Interpolation;
using kernels::Outside;

namespace {

struct Settings {
  int64_t n;  // dimensions of the image
  Interpolation interpolation;
  Outside outside;
  bool align_corners;
  int64_t size[3];  // of the image, by depth, height and width

  // From [-1, 1] to pixels, and how far a step goes.
  template <class T>
  T place(T coordinate, int64_t pixels) const {
    if (align_corners) return (coordinate + 1) * scale<T>(pixels);
    return ((coordinate + 1) * T(pixels) - 1) * T(0.5);
  }
  template <class T>
  T scale(int64_t pixels) const {
    return T(0.5) * T(align_corners ? pixels - 1 : pixels);
  }
};

// std::floor is a call on processors whose instructions are not known.
template <class T>
T floor_of(T x) {
  if (!(std::abs(x) < T(1e9))) return std::floor(x);
  const T whole = T(int64_t(x));
  return whole > x ? whole - 1 : whole;
}

// A coordinate that is moved into the image, as the padding says, and its slope.
template <class T>
struct Moved {
  T at, slope = 1;

  Moved(const Settings& s, T place, int64_t size) : at(place) {
    const T last = T(size - 1);
    if (s.outside == Outside::kZeros) return;
    if (s.outside == Outside::kReflection) reflect(s, size);
    if (at > 0 && at < last) return;
    slope = 0;
    if (at >= last) at = last;
    else if (at <= 0) at = 0;  // a NaN stays: it is nowhere
  }

 private:
  void reflect(const Settings& s, int64_t size) {
    const T low = s.align_corners ? T(0) : T(-0.5);
    const T span = s.align_corners ? T(size - 1) : T(size);
    if (span == 0) {
      at = 0;
      return;
    }
    const T off = std::abs(at - low), turns = floor_of(off / span), rest = off - turns * span;
    const bool is_even = std::fmod(turns, T(2)) == 0;
    slope = (at >= low) == is_even ? T(1) : T(-1);
    at = (is_even ? rest : span - rest) + low;
  }
};

// What a sample reads along one dimension: places inside of the image, weights, and the slopes of
// the weights by the coordinate of the grid.
template <class T>
struct GridTaps {
  int count = 0;
  int64_t place[4];
  T weight[4], slope[4];

  GridTaps(const Settings& s, T coordinate, int64_t size) {
    const T scale = s.scale<T>(size), place = s.place(coordinate, size);
    if (s.interpolation == Interpolation::kBicubic) {
      add_cubic(s, place, scale, size);
      return;
    }
    const Moved<T> moved(s, place, size);
    if (s.interpolation == Interpolation::kNearest) {
      add(std::nearbyint(moved.at), T(1), T(0), size);
      return;
    }
    const T low = floor_of(moved.at), slope = moved.slope * scale;
    add(low, low + 1 - moved.at, -slope, size);
    add(low + 1, moved.at - low, slope, size);
  }

 private:
  void add(T at, T w, T s, int64_t size) {
    if (!(at >= 0 && at < T(size))) return;  // a NaN is nowhere
    const int64_t whole = int64_t(at);
    if (whole >= size) return;  // T(size) may be rounded up
    place[count] = whole;
    weight[count] = w;
    slope[count++] = s;
  }
  void add_cubic(const Settings& s, T at, T scale, int64_t size) {
    constexpr T a = T(-0.75);
    const T low = floor_of(at), t = at - low, far = t + 1, near = 1 - t, end = 2 - t;
    const T w[4] = {((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
                    ((a + 2) * t - (a + 3)) * t * t + 1,
                    ((a + 2) * near - (a + 3)) * near * near + 1,
                    ((a * end - 5 * a) * end + 8 * a) * end - 4 * a};
    const T d[4] = {(3 * a * far - 10 * a) * far + 8 * a, (3 * (a + 2) * t - 2 * (a + 3)) * t,
                    -(3 * (a + 2) * near - 2 * (a + 3)) * near,
                    -((3 * a * end - 10 * a) * end + 8 * a)};
    for (int k = 0; k < 4; ++k) {
      add(Moved<T>(s, low + T(k - 1), size).at, w[k], d[k] * scale, size);
    }
  }
};

// The corners of one position: pixels of a plane, their weights, and the slopes of these by each
// coordinate of the grid (x, y, z).
template <class T>
struct Corners {
  static constexpr int kMost = 16;
  int count = 0;
  int64_t at[kMost];
  T weight[kMost], slope[3][kMost];

  void find(const Settings& s, const T* position) {
    if (s.n == 2 && s.interpolation == Interpolation::kBilinear && find_cell(s, position)) return;
    const GridTaps<T> x(s, position[0], s.size[2]), y(s, position[1], s.size[1]);
    count = 0;
    if (s.n == 2) {
      for (int j = 0; j < y.count; ++j) {
        for (int i = 0; i < x.count; ++i) {
          at[count] = y.place[j] * s.size[2] + x.place[i];
          weight[count] = x.weight[i] * y.weight[j];
          slope[0][count] = x.slope[i] * y.weight[j];
          slope[1][count++] = x.weight[i] * y.slope[j];
        }
      }
      return;
    }
    const GridTaps<T> z(s, position[2], s.size[0]);
    for (int k = 0; k < z.count; ++k)
      for (int j = 0; j < y.count; ++j)
        for (int i = 0; i < x.count; ++i) {
          at[count] = (z.place[k] * s.size[1] + y.place[j]) * s.size[2] + x.place[i];
          weight[count] = x.weight[i] * y.weight[j] * z.weight[k];
          slope[0][count] = x.slope[i] * y.weight[j] * z.weight[k];
          slope[1][count] = x.weight[i] * y.slope[j] * z.weight[k];
          slope[2][count++] = x.weight[i] * y.weight[j] * z.slope[k];
        }
  }

 private:
  // The usual case: four pixels of a plane. Returns false where some of them lie outside.
  bool find_cell(const Settings& s, const T* position) {
    const int64_t width = s.size[2], height = s.size[1];
    const Moved<T> x(s, s.place(position[0], width), width);
    const Moved<T> y(s, s.place(position[1], height), height);
    const T left = floor_of(x.at), top = floor_of(y.at);
    constexpr T kExact = T(1 << 24);  // beyond it T(width) may be rounded
    const bool is_inside = left >= 0 && left < T(width - 1) && top >= 0 && top < T(height - 1);
    if (!is_inside || left >= kExact || top >= kExact) return false;
    const T right = x.at - left, low = y.at - top;
    const T by_x = x.slope * s.scale<T>(width), by_y = y.slope * s.scale<T>(height);
    const T along_x[2] = {1 - right, right}, along_y[2] = {1 - low, low};
    for (int k = 0; k < 4; ++k) {
      const int i = k % 2, j = k / 2;
      at[k] = (int64_t(top) + j) * width + int64_t(left) + i;
      weight[k] = along_x[i] * along_y[j];
      slope[0][k] = (i ? by_x : -by_x) * along_y[j];
      slope[1][k] = along_x[i] * (j ? by_y : -by_y);
    }
    count = 4;
    return true;
  }
};

// The tensors of a gradient; of_x or of_grid is null where it is not wanted.
template <class T>
struct Planes {
  Settings s;
  int64_t channels, pixels, positions;  // pixels of a plane, positions of an image
  const T *grad, *x, *grid;
  T *of_x, *of_grid;

  // Computes for the positions [first, last) and the channels [from, to) of an image. What channels
  // give to the grid is added.
  void run(int64_t image, int64_t first, int64_t last, int64_t from, int64_t to, bool adds_x,
           bool adds_grid) const {
    constexpr int64_t kTogether = 32;
    Corners<T> corners[kTogether];
    for (int64_t p = first; p < last; p += kTogether) {
      const int64_t count = std::min(kTogether, last - p);
      bool are_whole = s.n == 2;  // cells of four pixels
      for (int64_t i = 0; i < count; ++i) {
        corners[i].find(s, grid + (image * positions + p + i) * s.n);
        are_whole = are_whole && corners[i].count == 4;
      }
      T totals[kTogether][3] = {};
      for (int64_t c = image * channels + from; c < image * channels + to; ++c) {
        kernels::worked(count * Corners<T>::kMost);
        const T* g = grad + c * positions + p;
        if (are_whole) add<2, 4>(count, corners, g, c, adds_x, adds_grid, totals);
        else if (s.n == 2) add<2, 0>(count, corners, g, c, adds_x, adds_grid, totals);
        else add<3, 0>(count, corners, g, c, adds_x, adds_grid, totals);
      }
      if (!adds_grid) continue;
      T* y = of_grid + (image * positions + p) * s.n;
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t d = 0; d < s.n; ++d) y[i * s.n + d] = totals[i][d];
      }
    }
  }

  // Adds what one channel gives to some positions, which have `Count` corners, or 0 for any number.
  template <int N, int Count>
  void add(int64_t count, const Corners<T>* corners, const T* g, int64_t channel, bool adds_x,
           bool adds_grid, T (*totals)[3]) const {
    T* __restrict to = adds_x ? of_x + channel * pixels : nullptr;
    const T* plane = x + channel * pixels;
    for (int64_t i = 0; i < count; ++i) {
      const Corners<T>& at = corners[i];
      const int n = Count ? Count : at.count;
      const T grad_here = g[i];
      if (adds_grid) {
        T sums[N] = {};
        for (int k = 0; k < n; ++k) {
          const T pixel = plane[at.at[k]];
          for (int d = 0; d < N; ++d) sums[d] += pixel * at.slope[d][k];
        }
        for (int d = 0; d < N; ++d) totals[i][d] += grad_here * sums[d];
      }
      if (adds_x) {
        for (int k = 0; k < n; ++k) to[at.at[k]] += grad_here * at.weight[k];
      }
    }
  }

  // Threads get images. Of few images, they get channels for the gradient of the image, and
  // positions for that of the grid: then no two add to the same element.
  void run_all(int64_t images) const {
    const int64_t threads = kernels::thread_count(), work = positions * channels * 16;
    if (images >= threads || threads == 1) {
      kernels::parallel_for(images, 200'000 / (work + 1) + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          run(i, 0, positions, 0, channels, of_x != nullptr, of_grid != nullptr);
        }
      });
      return;
    }
    for (int64_t i = 0; i < images; ++i) {
      if (of_x) {
        const int64_t grain = 200'000 / (positions * 16 + 1) + 1;
        kernels::parallel_for(channels, grain, [&](int64_t begin, int64_t end) {
          run(i, 0, positions, begin, end, true, false);
        });
      }
      if (of_grid) {
        const int64_t grain = 200'000 / (channels * 16 + 1) + 1;
        kernels::parallel_for(positions, grain, [&](int64_t begin, int64_t end) {
          run(i, begin, end, 0, channels, false, true);
        });
      }
    }
  }
};

void check(Args args, int64_t n) {
  const Tensor &grad = args.tensor(0), &x = args.tensor(1), &grid = args.tensor(2);
  SL_CHECK(x.dim() == n + 2 && grid.dim() == n + 2 && grad.dim() == n + 2,
           "grid_sampler(): expected ", n + 2, "D gradient, input and grid, but got sizes ",
           to_string(grad.sizes()), ", ", to_string(x.sizes()), ", ", to_string(grid.sizes()));
  SL_CHECK(x.dtype() == grid.dtype() && grad.dtype() == x.dtype(),
           "grid_sampler(): expected gradient, input and grid of one type");
  SL_CHECK(grid.size(0) == x.size(0) && grid.size(n + 1) == n, "grid_sampler(): a grid of size ",
           to_string(grid.sizes()), " does not fit an input of size ", to_string(x.sizes()));
  bool fits = grad.size(0) == x.size(0) && grad.size(1) == x.size(1);
  for (int64_t d = 0; d < n; ++d) fits = fits && grad.size(d + 2) == grid.size(d + 1);
  SL_CHECK(fits, "a gradient of size ", to_string(grad.sizes()), " does not fit a grid of size ",
           to_string(grid.sizes()));
  const int64_t interpolation = args.integer(3), outside = args.integer(4);
  SL_CHECK(interpolation >= 0 && interpolation <= 2 && outside >= 0 && outside <= 2,
           "grid_sampler(): unknown interpolation or padding mode");
  SL_CHECK(n == 2 || interpolation != 2,
           "grid_sampler(): bicubic interpolation only supports 4D input");
  for (int64_t d = 0; d < n; ++d) {
    SL_CHECK(x.size(d + 2) > 0,
             "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
             "sizes ",
             to_string(x.sizes()));
  }
}

void gradients(Args args, int64_t n, Value* out) {
  List& mask = args.list(6);
  SL_CHECK(mask.size() == 2, "output_mask must be two bools");
  const bool wanted[2] = {mask.get(0).as_bool(), mask.get(1).as_bool()};
  check(args, n);
  const ScalarType type = args.tensor(1).dtype(), computed = computed_type(type, "grid_sampler");
  const Tensor grad = contiguous_as(args.tensor(0), computed);
  const Tensor x = contiguous_as(args.tensor(1), computed);
  const Tensor grid = contiguous_as(args.tensor(2), computed);
  Tensor made[2];
  for (int i = 0; i < 2; ++i) {
    const Tensor& like = i == 0 ? x : grid;
    made[i] = wanted[i] ? Tensor::zeros(like.sizes(), computed) : Tensor::empty({0}, computed);
  }
  if (grad.numel() > 0) {
    for_float_type(computed, [&](auto zero) {
      using T = decltype(zero);
      Planes<T> p;
      p.s = {
          n, Interpolation(args.integer(3)), Outside(args.integer(4)), args.boolean(5), {1, 1, 1}};
      for (int64_t d = 0; d < n; ++d) p.s.size[3 - n + d] = x.size(d + 2);
      p.channels = x.size(1);
      p.pixels = p.s.size[0] * p.s.size[1] * p.s.size[2];
      p.positions = grid.numel() / (x.size(0) * n);
      p.grad = grad.data<T>();
      p.x = x.data<T>();
      p.grid = grid.data<T>();
      p.of_x = wanted[0] ? made[0].data<T>() : nullptr;
      p.of_grid = wanted[1] ? made[1].data<T>() : nullptr;
      p.run_all(x.size(0));
    });
  }
  for (int i = 0; i < 2; ++i) out[i] = to_dtype(made[i], type);
}

}  // namespace

SL_OP(aten_grid_sampler_2d_backward) { gradients(args, 2, out); }
SL_OP(aten_grid_sampler_3d_backward) { gradients(args, 3, out); }

}  // namespace scriptlang
