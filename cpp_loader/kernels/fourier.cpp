// Plans of Fourier transforms: factors of a length, twiddle factors, Bluestein's method.
#include "fourier.h"

#include <algorithm>
#include <cmath>

#include "as_size.h"
#include "kernel_set.h"
#include "stop.h"

namespace scriptlang::kernels {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int64_t kKeptPoints = 1 << 18;  // of all plans that a thread caches
constexpr size_t kKept = 8;               // maximal number of cached plans
constexpr int64_t kFewPoints = 256;       // a shorter single line is not split into parts

// exp(-2 pi i j / n), exact at multiples of a quarter turn.
std::complex<double> root_of_unity(int64_t j, int64_t n) {
  if (4 * j % n == 0) {
    constexpr double kRe[] = {1, 0, -1, 0}, kIm[] = {0, -1, 0, 1};
    return {kRe[4 * j / n % 4], kIm[4 * j / n % 4]};
  }
  double angle = -2 * kPi * double(j) / double(n);
  return {std::cos(angle), std::sin(angle)};
}

// exp(-2 pi i j / n) for any j. For a large n they are products from two short tables, accurate to
// about a rounding.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n), step_(n <= 4096 ? n : 1024) {
    for (int64_t j = 0; j < step_; ++j) fine_.push_back(root_of_unity(j, n));
    for (int64_t j = 0; j < n; j += step_) coarse_.push_back(root_of_unity(j, n));
  }
  std::complex<double> operator[](int64_t j) const {
    j %= n_;
    std::complex<double> a = coarse_[size_t(j / step_)], b = fine_[size_t(j % step_)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

 private:
  int64_t n_, step_;
  std::vector<std::complex<double>> fine_, coarse_;
};

// Writes the radices; returns the factor that remains, 1 if n was split completely.
int64_t split_off(int64_t n, int* radices, int* count) {
  *count = 0;
  for (int p : {4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31}) {
    for (; n % p == 0; n /= p) radices[(*count)++] = p;
  }
  return n;
}

// The least power of two that suffices for a cyclic convolution of n points.
int64_t convolution_length(int64_t n) {
  int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  return length;
}

}  // namespace

int64_t worked_points(int64_t n) {
  int radices[64], passes;
  return split_off(n, radices, &passes) == 1 ? n : convolution_length(n);
}

template <class T>
Fourier<T>::Fourier(int64_t n, bool whole) {
  plan_.n = n;
  if (split_off(n, plan_.radices, &plan_.passes) != 1) {
    plan_.passes = 0;
    make_convolution();
  } else {
    Roots roots(n);
    roots_.reserve(as_size(n));
    for (int64_t j = 0; j < n; ++j) {
      worked(8);
      roots_.emplace_back(roots[j]);
    }
    plan_.roots = reinterpret_cast<const T*>(roots_.data());
  }
  if (!whole) return;
  make_parts(kernels().fourier<T>().lanes);
  if (n % 2 != 0) return;
  Roots roots(n);
  turns_.reserve(as_size(n / 4 + 1));
  for (int64_t j = 0; j <= n / 4; ++j) {
    worked(8);
    turns_.emplace_back(roots[j]);
  }
  plan_.turns = reinterpret_cast<const T*>(turns_.data());
  Fourier& half = add(n / 2);
  half.make_parts(kernels().fourier<T>().lanes);
  plan_.half = &half.plan_;
}

template <class T>
Fourier<T>& Fourier<T>::add(int64_t n) {
  others_.emplace_back(new Fourier(n, false));
  return *others_.back();
}

// Bluestein's algorithm: j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution.
template <class T>
void Fourier<T>::make_convolution() {
  const int64_t n = plan_.n, length = convolution_length(n);
  Fourier& circle = add(length);
  circle.make_parts(kernels().fourier<T>().lanes);
  plan_.around = &circle.plan_;
  std::vector<std::complex<double>> around;
  around.reserve(as_size(length));
  for (int64_t j = 0; j < length; ++j) {
    worked(2);
    around.emplace_back();
  }
  chirp_.reserve(as_size(n));
  kernel_.reserve(as_size(length));
  Roots roots(2 * n);
  int64_t square = 0;  // j^2 modulo 2n: a small angle is exact
  for (int64_t j = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j) {
    worked(32);
    std::complex<double> chirp = roots[square];
    chirp_.emplace_back(chirp);
    around[size_t(j)] = std::conj(chirp) / double(length);
    if (j > 0) around[size_t(length - j)] = around[size_t(j)];
  }
  std::shared_ptr<const Fourier<double>> exact = Fourier<double>::of(length);
  FourierLines<double> f;
  f.plan = &exact->plan();
  f.lines = 1;
  f.x.count = f.y.count = 2 * length;
  f.x.at = f.y.at = reinterpret_cast<double*>(around.data());
  kernels().fourier<double>().complex_lines(f);
  for (const auto& z : around) {
    worked(8);
    kernel_.emplace_back(z);
  }
  plan_.chirp = reinterpret_cast<const T*>(chirp_.data());
  plan_.kernel = reinterpret_cast<const T*>(kernel_.data());
}

template <class T>
void Fourier<T>::make_parts(int lanes) {
  const int64_t n = plan_.n, m = n / lanes;
  if (n % lanes != 0 || n < kFewPoints || m % lanes != 0 || lanes < 2) return;
  plan_.part = &add(m).plan_;
  plan_.across = &add(lanes).plan_;
  Roots roots(n);
  twist_.reserve(as_size(2 * n));
  for (int64_t k = 0; k < m; ++k) {
    worked(8 * lanes);
    twist_.resize(as_size(2 * (k + 1) * lanes));
    for (int64_t b = 0; b < lanes; ++b) {
      std::complex<double> root = roots[k * b];
      twist_[size_t(2 * k * lanes + b)] = T(root.real());
      twist_[size_t((2 * k + 1) * lanes + b)] = T(root.imag());
    }
  }
  plan_.twist = twist_.data();
}

template <class T>
std::shared_ptr<const Fourier<T>> Fourier<T>::of(int64_t n) {
  using Kept = std::shared_ptr<const Fourier>;
  thread_local std::unique_ptr<std::vector<Kept>> held;  // small, as thread.h wants it
  if (!held) held = std::make_unique<std::vector<Kept>>();
  std::vector<Kept>& kept = *held;
  auto at = std::find_if(kept.begin(), kept.end(), [&](auto& f) { return f->plan_.n == n; });
  if (at != kept.end()) {
    std::rotate(kept.begin(), at, at + 1);  // most recently used first
    return kept.front();
  }
  Kept made(new Fourier(n, true));
  if (worked_points(n) > kKeptPoints) return made;
  kept.insert(kept.begin(), made);
  auto points = [&] {
    int64_t sum = 0;
    for (const Kept& f : kept) sum += worked_points(f->plan_.n);
    return sum;
  };
  while (kept.size() > kKept || points() > kKeptPoints) kept.pop_back();
  return made;
}

template class Fourier<float>;
template class Fourier<double>;

}  // namespace scriptlang::kernels
