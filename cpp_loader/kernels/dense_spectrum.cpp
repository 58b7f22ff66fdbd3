// Eigenvalues of any square matrix: reduction to Hessenberg form, then the shifted QR iteration.
#include <algorithm>
#include <cmath>
#include <vector>

#include "dense.h"
#include "space.h"

namespace scriptlang::kernels::dense {

namespace {

constexpr int kMostSteps = 60;  // of the QR iteration, per eigenvalue
constexpr double kEpsilon = 2.220446049250313e-16;

// Reduces a to Hessenberg form (zero below the first subdiagonal) by a unitary similarity, by which
// z is multiplied.
void reduce_to_hessenberg(Complex* a, int64_t n, Complex* z) {
  std::vector<Complex> v(as_size(n), 0.0);
  for (int64_t k = 0; k + 2 < n; ++k) {
    worked(6 * n * (n - k));
    double norm = 0;
    for (int64_t i = k + 1; i < n; ++i) norm = std::hypot(norm, std::abs(a[i * n + k]));
    Complex head = a[(k + 1) * n + k];
    if (norm == 0 || norm == std::abs(head)) continue;
    Complex beta = head == 0.0 ? Complex(-norm) : -head / std::abs(head) * norm;
    double size = 0;
    for (int64_t i = k + 1; i < n; ++i) {
      v[size_t(i)] = a[i * n + k] - (i == k + 1 ? beta : 0.0);
      size += std::norm(v[size_t(i)]);
    }
    auto reflect = [&](Complex* at, int64_t step, int64_t from, bool left) {
      Complex dot = 0;
      for (int64_t i = from; i < n; ++i) {
        dot += (left ? std::conj(v[size_t(i)]) : v[size_t(i)]) * at[i * step];
      }
      dot *= 2 / size;
      for (int64_t i = from; i < n; ++i) {
        at[i * step] -= dot * (left ? v[size_t(i)] : std::conj(v[size_t(i)]));
      }
    };
    for (int64_t j = k; j < n; ++j) reflect(a + j, n, k + 1, true);
    for (int64_t i = 0; i < n; ++i) reflect(a + i * n, 1, k + 1, false);
    for (int64_t i = 0; i < n; ++i) reflect(z + i * n, 1, k + 1, false);
  }
}

// The eigenvalue of the 2 x 2 block that ends at row `last` that is nearer to the block's last
// element.
Complex wilkinson_shift(const Complex* h, int64_t n, int64_t last) {
  Complex a = h[(last - 1) * n + last - 1], b = h[(last - 1) * n + last];
  Complex c = h[last * n + last - 1], d = h[last * n + last];
  Complex half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  Complex sum = std::real(std::conj(half) * root) >= 0 ? half + root : half - root;
  return sum == 0.0 ? d : d - b * c / sum;
}

// One QR step on rows [first, last] of the Hessenberg matrix h; z is multiplied by the rotations.
void qr_step(Complex* h, int64_t n, int64_t first, int64_t last, Complex shift, Complex* z) {
  std::vector<double> cosines;
  std::vector<Complex> sines;
  for (int64_t k = first; k <= last; ++k) h[k * n + k] -= shift;
  for (int64_t k = first; k < last; ++k) {
    worked(4 * (n - k));
    Complex a = h[k * n + k], b = h[(k + 1) * n + k];
    double size = std::hypot(std::abs(a), std::abs(b)), c = 1;
    Complex s = 0;
    if (size > 0) {
      c = std::abs(a) / size;
      s = a == 0.0 ? std::conj(b) / size : a / std::abs(a) * std::conj(b) / size;
    }
    for (int64_t j = k; j < n; ++j) {
      Complex l = h[k * n + j], r = h[(k + 1) * n + j];
      h[k * n + j] = c * l + s * r;
      h[(k + 1) * n + j] = -std::conj(s) * l + c * r;
    }
    h[(k + 1) * n + k] = 0;
    cosines.push_back(c);
    sines.push_back(s);
  }
  auto turn = [&](Complex* row, int64_t k) {
    double c = cosines[size_t(k - first)];
    Complex s = sines[size_t(k - first)], l = row[k], r = row[k + 1];
    row[k] = c * l + std::conj(s) * r;
    row[k + 1] = -s * l + c * r;
  };
  for (int64_t k = first; k < last; ++k) {
    worked(8 * (n + k));
    for (int64_t i = 0; i <= k + 1; ++i) turn(h + i * n, k);
    for (int64_t i = 0; i < n; ++i) turn(z + i * n, k);
  }
  for (int64_t k = first; k <= last; ++k) h[k * n + k] += shift;
}

// Computes the Schur form: h becomes upper triangular. Returns false if it does not converge.
bool iterate_qr(Complex* h, int64_t n, Complex* z) {
  int steps = 0;
  for (int64_t last = n - 1; last > 0;) {
    worked(n);
    int64_t first = last;
    for (; first > 0; --first) {
      Complex& below = h[first * n + first - 1];
      double near = size_of(h[first * n + first]) + size_of(h[(first - 1) * n + first - 1]);
      if (size_of(below) <= kEpsilon * near || size_of(below) < 1e-300) {
        below = 0;
        break;
      }
    }
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) return false;
    Complex shift = wilkinson_shift(h, n, last);
    if (steps % 10 == 0) shift = h[last * n + last] + std::abs(h[last * n + last - 1]);
    qr_step(h, n, first, last, shift, z);
  }
  return true;
}

// Computes the eigenvectors of the triangular t by substitution and transforms them by z. They have
// length one, and their largest element is real.
void back_substitute(const Complex* t, int64_t n, const Complex* z, Complex* vectors) {
  double norm = 0;
  for (int64_t i = 0; i < n * n; ++i) norm = std::max(norm, size_of(t[i]));
  double least = std::max(kEpsilon * norm, 1e-300);
  std::vector<Complex> x(as_size(n), 0.0);
  for (int64_t k = 0; k < n; ++k) {
    x[size_t(k)] = 1;
    for (int64_t i = k - 1; i >= 0; --i) {
      worked(2 * (k - i));
      Complex sum = 0;
      for (int64_t j = i + 1; j <= k; ++j) sum += t[i * n + j] * x[size_t(j)];
      Complex gap = t[k * n + k] - t[i * n + i];
      x[size_t(i)] = sum / (std::abs(gap) < least ? Complex(least) : gap);
    }
    double size = 0;
    Complex largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      worked(2 * k);
      Complex sum = 0;
      for (int64_t j = 0; j <= k; ++j) sum += z[i * n + j] * x[size_t(j)];
      vectors[i * n + k] = sum;
      size = std::hypot(size, std::abs(sum));
      if (std::abs(sum) > std::abs(largest)) largest = sum;
    }
    Complex scale = largest == 0.0 ? Complex(1) : std::conj(largest) / std::abs(largest) / size;
    for (int64_t i = 0; i < n; ++i) vectors[i * n + k] *= scale;
  }
}

}  // namespace

bool eigen_general(Complex* a, int64_t n, Complex* values, Complex* vectors) {
  Space<Complex> z(as_size(n * n), 0.0);
  for (int64_t i = 0; i < n; ++i) z[size_t(i * n + i)] = 1;
  reduce_to_hessenberg(a, n, z.data());
  if (!iterate_qr(a, n, z.data())) return false;
  for (int64_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  if (vectors) back_substitute(a, n, z.data(), vectors);
  return true;
}

}  // namespace scriptlang::kernels::dense
