// Samples of images at the positions of a grid.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

enum class Interpolation : int { kBilinear, kNearest, kBicubic };
enum class Outside : int { kZeros, kBorder, kReflection };
// The type to which each arithmetic step is rounded: PyTorch computes in the element type.
enum class Steps : int { kExact, kBfloat16, kFloat16 };

struct GridSample {
  Interpolation interpolation = Interpolation::kBilinear;
  Outside outside = Outside::kZeros;
  bool align_corners = false;
  Steps steps = Steps::kExact;
  int64_t height = 0, width = 0;  // of a plane; float32: fewer than 2^31 elements
};

// to[c * to_step + i] = plane c at (x, y) = (grid[2 * i], grid[2 * i + 1]); planes are contiguous.
template <class T>
using SampleGrid = void (*)(const GridSample& s, int64_t pixels, const T* grid, int64_t channels,
                            const T* planes, T* to, int64_t to_step);

struct GridFunctions {
  SampleGrid<float> f32;
  SampleGrid<double> f64;  // exact steps only

  SampleGrid<float> of(float) const { return f32; }
  SampleGrid<double> of(double) const { return f64; }
};

}  // namespace scriptlang::kernels
