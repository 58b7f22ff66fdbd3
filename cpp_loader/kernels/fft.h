// Discrete Fourier transforms of any length, in double precision.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace scriptlang::kernels {

// A transform of n points, prepared once. Factors up to 31 are split off; what is left is done as
// a convolution of a power of two (Bluestein).
class Fourier {
 public:
  explicit Fourier(int64_t n);
  // data[k] = sum over j of data[j] * exp(-2 pi i j k / n); with `inverse` the conjugate
  // exponent. Nothing is scaled.
  void run(std::complex<double>* data, bool inverse) const;

 private:
  using Complex = std::complex<double>;
  void transform(int64_t n, int64_t stride, const Complex* in, Complex* out,
                 Complex* space) const;
  void convolve(int64_t n, int64_t stride, const Complex* in, Complex* out) const;

  int64_t n_;
  std::vector<Complex> roots_;  // exp(-2 pi i j / n)
};

}  // namespace scriptlang::kernels
