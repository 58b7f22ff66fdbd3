// Discrete Fourier transforms of any length: the plans for a length, and the arguments of the
// kernels. isa/fourier.cpp does the work.
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace scriptlang::kernels {

// The plan of a transform of n points, as the kernels see it. Complex numbers are pairs.
template <class T>
struct FourierPlan {
  int64_t n = 0;
  // The radices of the passes, whose product is n. There are none if n has a prime factor above
  // kLargestRadix. Then the transform is a cyclic convolution (Bluestein's algorithm) with the
  // number of points of `around`: `chirp` is exp(-pi i j^2 / n), and `kernel` is the transformed
  // convolution kernel.
  int radices[64] = {};
  int passes = 0;
  const T* roots = nullptr;  // exp(-2 pi i j / n) for all j < n; null for a convolution
  const FourierPlan* around = nullptr;
  const T *chirp = nullptr, *kernel = nullptr;
  // For a single line of n = lanes * m points: its `lanes` interleaved parts are transformed side
  // by side (plan `part`, of m points), multiplied by `twist` [m][2][lanes], and combined (plan
  // `across`).
  const FourierPlan *part = nullptr, *across = nullptr;
  const T* twist = nullptr;
  // For n real numbers, n even: the plan of n / 2 points, and exp(-2 pi i j / n) for j <= n / 4.
  const FourierPlan* half = nullptr;
  const T* turns = nullptr;
};

constexpr int kLargestRadix = 31;

// The lines on one side of a transform. Number i of a line lies at (i / 2) * pair + (i % 2) *
// number: the two parts of a complex number are adjacent, and for real numbers `pair` is two steps.
template <class T>
struct FourierSide {
  T* at = nullptr;
  int64_t line = 0, pair = 2, number = 1, count = 0;  // numbers beyond `count` are taken as 0
};

template <class T>
struct FourierLines {
  const FourierPlan<T>* plan = nullptr;
  int64_t lines = 0;
  FourierSide<const T> x;
  FourierSide<T> y;
  bool inverse = false;  // conjugates the exponents
  T scale = 1;           // factor of the result
};

template <class T>
struct FourierFunctions {
  int lanes;                                        // number of lines processed side by side
  void (*complex_lines)(const FourierLines<T>& f);  // n pairs to n pairs
  void (*from_real)(const FourierLines<T>& f);      // n numbers to n / 2 + 1 pairs
  void (*to_real)(const FourierLines<T>& f);        // n / 2 + 1 pairs to n numbers
};

// The number of points that a transform of n points works on: more than n if it is a convolution.
int64_t worked_points(int64_t n);

// Owns a plan and the plans that it refers to.
template <class T>
class Fourier {
 public:
  // Returns the plan for n points, including that for real numbers. Each thread caches short plans.
  static std::shared_ptr<const Fourier> of(int64_t n);

  const FourierPlan<T>& plan() const { return plan_; }

 private:
  explicit Fourier(int64_t n, bool whole);
  void make_convolution();
  void make_parts(int lanes);
  Fourier& add(int64_t n);  // a plan of another length, owned by this one

  FourierPlan<T> plan_;
  std::vector<std::complex<T>> roots_, chirp_, kernel_, turns_;
  std::vector<T> twist_;
  std::vector<std::unique_ptr<Fourier>> others_;
};

}  // namespace scriptlang::kernels
