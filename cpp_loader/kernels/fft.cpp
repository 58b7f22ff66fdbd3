#include "fft.h"

#include <algorithm>
#include <cmath>

namespace scriptlang::kernels {

namespace {

constexpr int64_t kLargestFactor = 31;
constexpr double kPi = 3.14159265358979323846;

int64_t smallest_factor(int64_t n) {
  for (int64_t p : {4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31}) {
    if (n % p == 0) return p;
  }
  return n;
}

// exp(-2 pi i j / n), exact at the quarters of the circle.
std::complex<double> root_of_unity(int64_t j, int64_t n) {
  if (4 * j % n == 0) {
    constexpr double kRe[] = {1, 0, -1, 0}, kIm[] = {0, -1, 0, 1};
    return {kRe[4 * j / n % 4], kIm[4 * j / n % 4]};
  }
  double angle = -2 * kPi * double(j) / double(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

Fourier::Fourier(int64_t n) : n_(n) {
  roots_.reserve(size_t(n));
  for (int64_t j = 0; j < n; ++j) roots_.push_back(root_of_unity(j, n));
}

void Fourier::run(Complex* data, bool inverse) const {
  if (n_ <= 1) return;
  if (inverse) {
    for (int64_t i = 0; i < n_; ++i) data[i] = std::conj(data[i]);
  }
  std::vector<Complex> in(data, data + n_), space(static_cast<size_t>(n_));
  transform(n_, 1, in.data(), data, space.data());
  if (inverse) {
    for (int64_t i = 0; i < n_; ++i) data[i] = std::conj(data[i]);
  }
}

// out[k] for the n points in[0], in[stride], ...; n * stride == n_.
void Fourier::transform(int64_t n, int64_t stride, const Complex* in, Complex* out,
                        Complex* space) const {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  int64_t p = smallest_factor(n);
  if (p > kLargestFactor) return convolve(n, stride, in, out);
  int64_t m = n / p;
  for (int64_t r = 0; r < p; ++r) {
    transform(m, stride * p, in + r * stride, space + r * m, out + r * m);
  }
  Complex part[kLargestFactor];
  for (int64_t k = 0; k < m; ++k) {
    for (int64_t r = 0; r < p; ++r) part[r] = space[r * m + k] * roots_[size_t(r * k * stride)];
    for (int64_t q = 0; q < p; ++q) {
      Complex sum = part[0];
      for (int64_t r = 1; r < p; ++r) sum += part[r] * roots_[size_t(r * q % p * m * stride)];
      out[k + q * m] = sum;
    }
  }
}

// Bluestein: j k = (j^2 + k^2 - (k - j)^2) / 2 turns the transform into a convolution.
void Fourier::convolve(int64_t n, int64_t stride, const Complex* in, Complex* out) const {
  int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  std::vector<Complex> chirp(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j) {
    // j^2 modulo 2n keeps the angle small, hence exact.
    int64_t square = static_cast<int64_t>(static_cast<__int128>(j) * j % (2 * n));
    chirp[size_t(j)] = root_of_unity(square, 2 * n);
  }
  std::vector<Complex> a(static_cast<size_t>(length)), b(static_cast<size_t>(length));
  for (int64_t j = 0; j < n; ++j) {
    a[size_t(j)] = in[j * stride] * chirp[size_t(j)];
    b[size_t(j)] = std::conj(chirp[size_t(j)]);
    if (j > 0) b[size_t(length - j)] = b[size_t(j)];
  }
  Fourier power_of_two(length);
  power_of_two.run(a.data(), false);
  power_of_two.run(b.data(), false);
  for (int64_t i = 0; i < length; ++i) a[size_t(i)] *= b[size_t(i)];
  power_of_two.run(a.data(), true);
  for (int64_t k = 0; k < n; ++k) {
    out[k] = a[size_t(k)] * chirp[size_t(k)] / double(length);
  }
}

}  // namespace scriptlang::kernels
