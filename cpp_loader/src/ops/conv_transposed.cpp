// Transposed convolutions, which are the derivatives of convolutions by their input, in three ways:
// - of stride 1: a convolution with the kernel turned round;
// - of other strides: a convolution for each phase (phases.h), of the input in a frame of zeros;
// - dilated ones, and those of few outputs, which would leave most of a tile of products empty: one
//   product, whose columns are added to the pixels that they belong to.
#include <algorithm>
#include <vector>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "../../kernels/scratch.h"
#include "conv.h"
#include "phases.h"

namespace scriptlang::convolutions {

using kernels::Conv;
using kernels::ConvShape;

namespace {

#ifndef SL_NO_OPTIMIZER

// Calls f(from, to) for the kernels of weights [groups][channels][outputs], which go to [groups]
// [outputs][channels]. Some outputs at a time, so that neither side leaves the cache.
template <class F>
void for_kernels(int64_t groups, int64_t channels, int64_t outputs, F f) {
  constexpr int64_t kTogether = 16;
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t first = 0; first < outputs; first += kTogether) {
      const int64_t last = std::min(outputs, first + kTogether);
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t o = first; o < last; ++o) {
          f((g * channels + c) * outputs + o, (g * outputs + o) * channels + c);
        }
    }
}

// Rearranges weights [groups * channels][outputs][taps] to [groups * outputs][channels][taps], with
// each kernel turned round.
template <class T>
Tensor turned(const Tensor& w, int64_t groups) {
  const int64_t channels = w.size(0) / groups, outputs = w.size(1);
  Sizes sizes(w.sizes().begin(), w.sizes().end());
  sizes[0] = outputs * groups;
  sizes[1] = channels;
  Tensor made = Tensor::empty(sizes, w.dtype());
  const int64_t taps = w.numel() / (w.size(0) * w.size(1));
  for_kernels(groups, channels, outputs, [&](int64_t from, int64_t to) {
    const T* kernel = w.data<T>() + from * taps;
    T* at = made.data<T>() + to * taps;
    for (int64_t t = 0; t < taps; ++t) at[t] = kernel[taps - 1 - t];
    kernels::worked(taps);
  });
  return made;
}

// Whether the convolution with the turned kernel has the same padding on both sides.
bool turns(const Tensor& w, const Settings& s) {
  for (size_t i = 0; i < s.stride.size(); ++i) {
    const int64_t reach = s.dilation[i] * (w.size(int64_t(i) + 2) - 1);
    if (s.stride[i] != 1 || s.output_padding[i] != 0 || s.padding[i] > reach) return false;
  }
  return true;
}

template <class T>
void convolve_turned(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                     Settings s) {
  s.transposed = false;
  for (size_t i = 0; i < s.stride.size(); ++i) {
    s.padding[i] = s.dilation[i] * (w.size(int64_t(i) + 2) - 1) - s.padding[i];
  }
  convolve_into(y, x, turned<T>(w, s.groups), bias, s);
}

// Whether phases are few, and the outputs enough for a product each, or channels so few that rows
// are summed instead.
bool has_phases(const Tensor& w, const Settings& s) {
  constexpr int64_t kFewOutputs = 4, kManyPhases = 64;
  int64_t phases = 1;
  for (int64_t stride : s.stride) {
    if (stride > kManyPhases || (phases *= stride) > kManyPhases) return false;
  }
  for (int64_t d : s.dilation) {
    if (d != 1) return false;
  }
  const bool is_depthwise = w.size(0) == s.groups;
  return is_depthwise || w.size(1) >= kFewOutputs;
}

template <class T>
class Phases {
 public:
  Phases(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias, const Settings& s)
      : y_(y),
        x_(x),
        w_(w),
        bias_(bias),
        groups_(s.groups),
        channels_(w.size(0) / s.groups),
        outputs_(w.size(1)),
        weights_(sizeof(T) * uint64_t(w.numel())) {
    const int64_t n = w.dim() - 2;
    for (int64_t d = 3 - n; d < 3; ++d) {
      const int64_t i = d - 3 + n;
      axes_[d] = {x.size(i + 2), y.size(i + 2), w.size(i + 2), s.stride[size_t(i)],
                  s.padding[size_t(i)]};
    }
    find_parts();
    find_frame();
  }

  void run() {
    const int64_t work = outputs_ * y_pixels() * channels_;
    const int64_t images = x_.size(0), threads = kernels::thread_count();
    const auto run = [&](int64_t begin, int64_t end) {
      // Weights are packed once for all images whose frames have so many bytes together.
      constexpr int64_t kTogether = 1 << 20;
      const int64_t bytes = int64_t(sizeof(T)) * groups_ * channels_ * frame_pixels();
      const int64_t most = std::max<int64_t>(1, kTogether / std::max<int64_t>(1, bytes));
      for (int64_t i = begin; i < end; i += most) run_images(i, std::min(most, end - i));
    };
    // The kernels share the work of few images among threads.
    if (threads == 1 || images < 2 * threads) run(0, images);
    else kernels::parallel_for(images, 200'000 / std::max<int64_t>(1, work) + 1, run);
  }

 private:
  int64_t y_pixels() const { return axes_[0].out * axes_[1].out * axes_[2].out; }
  int64_t frame_pixels() const { return frame_[0] * frame_[1] * frame_[2]; }

  // One phase in all dimensions.
  struct Part {
    Phase axes[3];
    const T* weights;
    bool is_empty() const { return axes[0].count == 0 || axes[1].count == 0 || axes[2].count == 0; }
    int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  };

  void find_parts() {
    T* to = weights_.as<T>();
    for (int64_t i = 0; i < axes_[0].stride; ++i)
      for (int64_t j = 0; j < axes_[1].stride; ++j)
        for (int64_t k = 0; k < axes_[2].stride; ++k) {
          parts_.push_back({{Phase(axes_[0], i), Phase(axes_[1], j), Phase(axes_[2], k)}, to});
          to = gather_taps(parts_.back(), i, j, k, to);
        }
    for (const Part& part : parts_) {
      if (part.is_empty()) continue;
      const int64_t pixels = part.axes[0].count * part.axes[1].count * part.axes[2].count;
      part_pixels_ = std::max(part_pixels_, pixels);
    }
  }

  // The taps of a phase for an ordinary convolution: [groups * outputs][channels][taps], flipped.
  // Returns where the next phase's go.
  T* gather_taps(const Part& part, int64_t i, int64_t j, int64_t k, T* to) const {
    const int64_t plane = axes_[1].kernel * axes_[2].kernel, all = axes_[0].kernel * plane;
    const int64_t taps = part.taps();
    for_kernels(groups_, channels_, outputs_, [&](int64_t from_at, int64_t to_at) {
      const T* from = w_.data<T>() + from_at * all;
      T* at = to + to_at * taps;
      for (int64_t d = part.axes[0].taps; d-- > 0;)
        for (int64_t h = part.axes[1].taps; h-- > 0;)
          for (int64_t v = part.axes[2].taps; v-- > 0;) {
            *at++ = from[(i + d * axes_[0].stride) * plane +
                         (j + h * axes_[1].stride) * axes_[2].kernel + k + v * axes_[2].stride];
          }
      kernels::worked(taps);
    });
    return to + groups_ * outputs_ * channels_ * taps;
  }

  // How many zeros before and after the input the phases read.
  void find_frame() {
    for (int d = 0; d < 3; ++d) {
      int64_t after = 0;
      for (const Part& part : parts_) {
        const Phase& p = part.axes[d];
        if (part.is_empty() || part.taps() == 0) continue;
        before_[d] = std::max(before_[d], -p.from);
        after = std::max(after, p.from + p.count - 1 + p.taps - axes_[d].in);
      }
      frame_[d] = before_[d] + axes_[d].in + after;
    }
    constexpr int64_t kLimit = int64_t{1} << 40;
    int64_t size = groups_ * channels_;
    for (int64_t extent : frame_) {
      SL_CHECK(!__builtin_mul_overflow(size, extent, &size) && size < kLimit,
               "the convolution's sizes are too large: input ", to_string(x_.sizes()), ", weight ",
               to_string(w_.sizes()));
    }
  }

  void run_images(int64_t first, int64_t images) const {
    const int64_t channels = groups_ * channels_, outputs = groups_ * outputs_;
    // A phase reads the frame from its first tap on, so its rows end beyond the frame's.
    const int64_t framed = images * channels * frame_pixels(), made = images * outputs;
    kernels::Scratch space(sizeof(T) * uint64_t(framed + frame_pixels() + 256));
    const int64_t in = axes_[0].in * axes_[1].in * axes_[2].in;
    for (int64_t i = 0; i < images * channels; ++i) {
      frame(x_.data<T>() + (first * channels + i) * in, space.as<T>() + i * frame_pixels());
    }
    const int64_t across = axes_[2].stride;
    kernels::Scratch results(sizeof(T) * uint64_t(across * made * part_pixels_));
    T* y = y_.data<T>() + first * outputs * y_pixels();
    for (size_t i = 0; i < parts_.size(); i += size_t(across)) {
      for (size_t k = i; k < i + size_t(across); ++k) {
        T* to = results.as<T>() + parts_[k].axes[2].first * made * part_pixels_;
        convolve(parts_[k], images, space.as<T>(), to);
      }
      weave(&parts_[i], made, results.as<T>(), y);
    }
  }

  // Copies one channel between zeros.
  void frame(const T* from, T* to) const {
    const int64_t width = axes_[2].in;
    std::fill_n(to, frame_pixels(), T(0));
    to += (before_[0] * frame_[1] + before_[1]) * frame_[2] + before_[2];
    const int64_t row = frame_[2] * int64_t(sizeof(T)), bytes = width * int64_t(sizeof(T));
    for (int64_t d = 0; d < axes_[0].in; ++d, to += frame_[1] * frame_[2]) {
      if (bytes <= kernels::kShortRow) {
        kernels::kernels().copies->short_rows(axes_[1].in, bytes, reinterpret_cast<char*>(to), row,
                                              reinterpret_cast<const char*>(from), bytes);
      } else {
        for (int64_t h = 0; h < axes_[1].in; ++h) {
          std::copy_n(from + h * width, width, to + h * frame_[2]);
        }
      }
      from += axes_[1].in * width;
    }
    kernels::worked(frame_pixels());
  }

  // Convolves one phase of several images: to [images][groups * outputs][pixels of the phase].
  void convolve(const Part& part, int64_t images, const T* framed, T* to) const {
    if (part.is_empty()) return;
    Conv<T> c;
    const Phase* axes = part.axes;
    for (int d = 0; d < 3; ++d) {
      c.shape.in[d] = frame_[d];
      c.shape.out[d] = axes[d].count;
      c.shape.kernel[d] = axes[d].taps;
    }
    const int64_t pixels = c.shape.out_pixels(), outputs = groups_ * outputs_;
    if (part.taps() == 0) {
      for (int64_t i = 0; i < images * outputs; ++i) {
        std::fill_n(to + i * pixels, pixels, bias() ? bias()[i % outputs] : T(0));
        kernels::worked(pixels);
      }
      return;
    }
    c.shape.channels = channels_;
    c.shape.outputs = outputs_;
    c.groups = groups_;
    c.images = images;
    c.x_image = groups_ * channels_ * frame_pixels();
    c.y_image = outputs * pixels;
    c.x = framed +
          ((before_[0] + axes[0].from) * frame_[1] + before_[1] + axes[1].from) * frame_[2] +
          before_[2] + axes[2].from;
    c.w = part.weights;
    c.bias = bias();
    c.y = to;
    kernels::kernels().conv<T>().convolve(c);
  }

  // Puts the phases of rows together, for `planes` planes of the result. The results of a phase of
  // width lie in the order of their first columns.
  void weave(const Part* parts, int64_t planes, const T* results, T* y) const {
    const Axis &deep = axes_[0], &down = axes_[1], &across = axes_[2];
    const Phase &d = parts->axes[0], &h = parts->axes[1];
    const int64_t step = planes * part_pixels_, s = across.stride, whole = across.out / s;
    const int64_t left = across.out - whole * s;
    // Rows of phases are as far from each other as the next ones are.
    const bool is_even = s == 2 || left == 0;
    const auto join = kernels::kernels().copies->transpose[kernels::copy_functions_of(sizeof(T))];
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t i = 0; i < d.count; ++i)
        for (int64_t j = 0; j < h.count; ++j) {
          kernels::worked(across.out);
          T* to = y + plane * y_pixels() +
                  ((d.first + i * deep.stride) * down.out + h.first + j * down.stride) * across.out;
          const int64_t row = (plane * d.count + i) * h.count + j;
          const auto line = [&](int64_t k) {
            return results + k * step + row * (whole + (k < left));
          };
          if (is_even) {
            const int64_t apart = s == 1 ? 0 : line(1) - line(0);
            join(whole, s, reinterpret_cast<char*>(to), s * int64_t(sizeof(T)),
                 reinterpret_cast<const char*>(line(0)), apart * int64_t(sizeof(T)));
            if (left) to[across.out - 1] = line(0)[whole];
            continue;
          }
          for (int64_t k = 0; k < s; ++k) {
            const T* from = line(k);
            for (int64_t v = 0; v < whole + (k < left); ++v) to[k + v * s] = from[v];
          }
        }
  }

  const T* bias() const { return bias_.defined() ? bias_.data<T>() : nullptr; }

  const Tensor &y_, &x_, &w_, &bias_;
  const int64_t groups_, channels_, outputs_;
  Axis axes_[3] = {{1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}, {1, 1, 1, 1, 0}};
  const kernels::Scratch weights_;
  std::vector<Part> parts_;  // by depth, height and width, width first
  int64_t before_[3] = {}, frame_[3] = {}, part_pixels_ = 0;
};

#endif

// Calls f(image, group) for all of them, in parallel when there are enough.
template <class F>
void for_each_group(int64_t images, int64_t groups, int64_t work, F f) {
  const int64_t count = images * groups;
  const auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / groups, i % groups);
  };
  if (count < 2 * kernels::thread_count()) run(0, count);
  else kernels::parallel_for(count, 200'000 / std::max<int64_t>(1, work) + 1, run);
}

// Adds the columns of a patch matrix [outputs * taps][pixels] to the pixels they belong to.
template <class T>
void scatter_patches(const ConvShape& s, const T* columns, const T* bias, T* y) {
  int64_t taps = s.taps(), pixels = s.out_pixels();
  int64_t grain = 65536 / std::max<int64_t>(1, taps * pixels) + 1;
  kernels::parallel_for(s.channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      T* plane = y + o * s.in_pixels();
      std::fill_n(plane, s.in_pixels(), bias ? bias[o] : T(0));
      for (int64_t tap = 0; tap < taps; ++tap) {
        kernels::worked(pixels);
        const T* from = columns + (o * taps + tap) * pixels;
        int64_t kw = tap % s.kernel[2], kh = tap / s.kernel[2] % s.kernel[1];
        int64_t kd = tap / s.kernel[2] / s.kernel[1];
        for (int64_t row = 0; row < s.out[0] * s.out[1]; ++row, from += s.out[2]) {
          int64_t d = row / s.out[1] * s.stride[0] - s.padding[0] + kd * s.dilation[0];
          int64_t h = row % s.out[1] * s.stride[1] - s.padding[1] + kh * s.dilation[1];
          if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) continue;
          T* line = plane + (d * s.in[1] + h) * s.in[2];
          int64_t w = kw * s.dilation[2] - s.padding[2];
          for (int64_t i = 0; i < s.out[2]; ++i, w += s.stride[2]) {
            if (w >= 0 && w < s.in[2]) line[w] += from[i];
          }
        }
      }
    }
  });
}

// The transposed weights times x, scattered.
template <class T>
void scatter_product(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                     const Settings& s) {
  const ConvShape whole = shape_of(s, y.sizes().data + 2, x.sizes().data + 2, w);
  const int64_t channels = w.size(0) / s.groups, outputs = w.size(1);
  const int64_t taps = whole.taps(), pixels = whole.out_pixels();
  int64_t rows;
  SL_CHECK(!__builtin_mul_overflow(outputs * taps, pixels, &rows), "the convolution is too large");
  // The matrix to scatter may be a thousand times as large as the result, so it is made for a few
  // outputs at a time.
  constexpr int64_t kMost = 1 << 24;
  const int64_t some = std::clamp<int64_t>(kMost / std::max<int64_t>(1, taps * pixels), 1, outputs);
  for_each_group(x.size(0), s.groups, rows * channels, [&](int64_t image, int64_t group) {
    kernels::Scratch space(sizeof(T) * uint64_t(some * taps * pixels));
    for (int64_t first = 0; first < outputs; first += some) {
      ConvShape shape = whole;
      shape.channels = std::min(some, outputs - first);
      kernels::Gemm<T> g;
      g.m = shape.channels * taps;
      g.n = pixels;
      g.k = channels;
      g.a = w.data<T>() + (group * channels * outputs + first) * taps;
      g.a_row = 1;
      g.a_column = outputs * taps;
      g.b = x.data<T>() + (image * s.groups + group) * channels * pixels;
      g.b_row = pixels;
      g.c = space.as<T>();
      g.c_row = pixels;
      kernels::kernels().gemm<T>().multiply(g);
      const T* b = bias.defined() ? bias.data<T>() + group * outputs + first : nullptr;
      T* to = y.data<T>() + ((image * s.groups + group) * outputs + first) * shape.in_pixels();
      scatter_patches(shape, space.as<T>(), b, to);
    }
  });
}

}  // namespace

template <class T>
void transposed(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                const Settings& s) {
#ifndef SL_NO_OPTIMIZER  // the smallest builds have one way
  if (turns(w, s)) return convolve_turned<T>(y, x, w, bias, s);
  if (has_phases(w, s)) return Phases<T>(y, x, w, bias, s).run();
#endif
  scatter_product<T>(y, x, w, bias, s);
}

template void transposed<float>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                const Settings&);
template void transposed<double>(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 const Settings&);

}  // namespace scriptlang::convolutions
