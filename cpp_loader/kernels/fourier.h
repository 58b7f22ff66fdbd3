// Discrete Fourier transforms of any length: what is prepared for a length, and what is asked of a
// kernel. The work is done by isa/fourier.cpp.
#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

namespace scriptlang::kernels {

// What a transform of n points needs, as the kernels see it. Complex numbers are pairs.
template <class T>
struct FourierPlan {
  int64_t n = 0;
  // The radices of the passes, whose product is n; none when n has a factor beyond kLargestRadix.
  // Then the transform is a convolution (Bluestein): with `chirp`, exp(-pi i j^2 / n), around
  // `around`'s points, with what `kernel` is transformed.
  int radices[64] = {};
  int passes = 0;
  const T* roots = nullptr;  // exp(-2 pi i j / n), all n of them; null for a convolution
  const FourierPlan* around = nullptr;
  const T *chirp = nullptr, *kernel = nullptr;
  // One line alone, of n = lanes * m points: its `lanes` interleaved parts go side by side (plan
  // `part`, of m), are turned by `twist` [m][2][lanes], and are combined (plan `across`).
  const FourierPlan *part = nullptr, *across = nullptr;
  const T* twist = nullptr;
  // Real numbers, n of them and n even: plan of n / 2 points, and exp(-2 pi i j / n) to n / 4.
  const FourierPlan* half = nullptr;
  const T* turns = nullptr;
};

constexpr int kLargestRadix = 31;

// Lines of numbers. Number i of a line lies at (i / 2) * pair + (i % 2) * number: complex numbers
// are two after the other, and of real ones `pair` is two steps.
template <class T>
struct FourierSide {
  T* at = nullptr;
  int64_t line = 0, pair = 2, number = 1, count = 0;  // count: numbers that exist; 0 behind them
};

template <class T>
struct FourierLines {
  const FourierPlan<T>* plan = nullptr;
  int64_t lines = 0;
  FourierSide<const T> x;
  FourierSide<T> y;
  bool inverse = false;  // with the conjugate exponents
  T scale = 1;           // of the result
};

template <class T>
struct FourierFunctions {
  int lanes;                                        // lines that go side by side
  void (*complex_lines)(const FourierLines<T>& f);  // n pairs to n pairs
  void (*from_real)(const FourierLines<T>& f);      // n numbers to n / 2 + 1 pairs
  void (*to_real)(const FourierLines<T>& f);        // n / 2 + 1 pairs to n numbers
};

// The points that a transform of n works on: more than n when it is a convolution.
int64_t worked_points(int64_t n);

// Owns a plan and those it refers to.
template <class T>
class Fourier {
 public:
  // The plan for n points, of real numbers too. The thread keeps those of short lines.
  static std::shared_ptr<const Fourier> of(int64_t n);

  const FourierPlan<T>& plan() const { return plan_; }

 private:
  explicit Fourier(int64_t n, bool whole);
  void make_convolution();
  void make_parts(int lanes);
  Fourier& add(int64_t n);  // of another length, kept beside this one

  FourierPlan<T> plan_;
  std::vector<std::complex<T>> roots_, chirp_, kernel_, turns_;
  std::vector<T> twist_;
  std::vector<std::unique_ptr<Fourier>> others_;
};

}  // namespace scriptlang::kernels
