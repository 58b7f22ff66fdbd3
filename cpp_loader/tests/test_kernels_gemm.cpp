// Matrix products of every instruction set against plain loops in double.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "../kernels/aligned.h"
#include "../kernels/kernel_set.h"
#include "../kernels/parallel.h"
#include "harness.h"
#include "values/guard.h"

using namespace scriptlang::kernels;

namespace {

// Rounding errors of k products of either sign grow like the root of k; measured: up to 20.
constexpr double kAllowed = 40;

template <class T>
std::vector<T> noise(std::mt19937& random, int64_t n) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> values(static_cast<size_t>(n) + 1);
  for (T& v : values) v = uniform(random);
  return values;
}

template <class T>
struct Aligned {
  T* data;
  explicit Aligned(int64_t n) {
    size_t lines = static_cast<size_t>(n) * sizeof(T) / 64 + 2;
    data = static_cast<T*>(scriptlang::take_aligned(64, lines * 64));
  }
  ~Aligned() { scriptlang::give_aligned(data); }
};

struct Way {
  bool a_columns, b_columns, packed;
  Start start;
  Activation activation;
  bool finished = false;
  enum { kNothing, kAnother, kItself } added = kNothing;  // kItself: the result
};

// Shows an element that is finished twice, or not at all.
template <class T>
void halve(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[i * to_row + j] = from[i * from_row + j] / 2;
  }
}

// The greatest difference, in units of the rounding error that k products may make.
template <class T>
double error_of(const GemmFunctions<T>& functions, int64_t m, int64_t n, int64_t k,
                const Way& way) {
  std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
  std::vector<T> a = noise<T>(random, m * k), b = noise<T>(random, k * n);
  std::vector<T> c = noise<T>(random, m * n), bias = noise<T>(random, std::max(m, n));
  Gemm<T> g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a.data();
  g.a_row = way.a_columns ? 1 : k;
  g.a_column = way.a_columns ? m : 1;
  g.b = b.data();
  g.b_row = way.b_columns ? 1 : n;
  g.b_column = way.b_columns ? k : 1;
  g.c = c.data();
  g.c_row = n;
  g.start = way.start;
  g.bias = bias.data();
  g.activation = way.activation;
  if (way.finished) g.finish = &halve<T>;
  std::vector<T> another = way.added == Way::kItself ? c : noise<T>(random, m * n);
  if (way.added != Way::kNothing) {
    g.added = way.added == Way::kItself ? c.data() : another.data();
    g.scale = T(-0.75);
  }
  std::vector<double> wanted;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = way.start == Start::kResult       ? c[size_t(i * n + j)]
                   : way.start == Start::kColumnBias ? bias[size_t(j)]
                   : way.start == Start::kRowBias    ? bias[size_t(i)]
                                                     : 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += double(a[size_t(i * g.a_row + p * g.a_column)]) *
               double(b[size_t(p * g.b_row + j * g.b_column)]);
      }
      if (g.added) sum = double(g.scale) * sum + another[size_t(i * n + j)];
      if (way.activation != Activation::kNone) sum = std::max(sum, 0.0);
      if (way.activation == Activation::kRelu6) sum = std::min(sum, 6.0);
      wanted.push_back(way.finished ? sum / 2 : sum);
    }
  }
  Aligned<T> packed(functions.packed_size(k, n));
  if (way.packed) {
    functions.pack(k, n, g.b, g.b_row, g.b_column, packed.data);
    g.packed_b = packed.data;
  }
  functions.multiply(g);
  double worst = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    double error = std::abs(double(c[i]) - wanted[i]);
    worst = std::max(worst, std::isnan(error) ? 1e30 : error);
  }
  return worst / (std::numeric_limits<T>::epsilon() * std::sqrt(double(k) + 1));
}

template <class T>
void check_all(const KernelSet& set) {
  const int64_t rows[] = {1, 2, 3, 6, 7, 14, 15, 29, 32, 97};
  const int64_t columns[] = {1, 7, 16, 31, 33, 64, 130, 259};
  const int64_t depths[] = {0, 1, 5, 16, 100, 777};
  int turn = 0;
  for (int64_t m : rows)
    for (int64_t n : columns)
      for (int64_t k : depths)
        for (int bits = 0; bits < 8; ++bits) {
          Way way{(bits & 1) != 0, (bits & 2) != 0,      (bits & 4) != 0,
                  Start(turn % 4), Activation(turn % 3), turn % 5 < 2};
          if (turn % 7 == 1) way.added = Way::kAnother;
          if (turn % 7 == 4) way.added = Way::kItself;
          ++turn;
          double error = error_of<T>(set.gemm<T>(), m, n, k, way);
          if (error > kAllowed) {
            test::fail(__FILE__, __LINE__,
                       scriptlang::concat(set.name, " ", m, "x", n, "x", k, " way ", bits,
                                          " start ", int(way.start), ": error ", error));
          }
        }
}

template <class F>
void for_sets(F f) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i) f(*usable_kernels(i));
}

}  // namespace

TEST(products_of_float32) {
  for_sets([](const KernelSet& set) { check_all<float>(set); });
}
TEST(products_of_float64) {
  for_sets([](const KernelSet& set) { check_all<double>(set); });
}

TEST(products_shared_by_threads) {
  set_thread_count(3);
  for_sets([](const KernelSet& set) {
    for (int bits = 0; bits < 8; ++bits) {
      Way way{(bits & 1) != 0,    (bits & 2) != 0,   (bits & 4) != 0,
              Start::kColumnBias, Activation::kNone, true};
      CHECK(error_of<float>(set.gemm<float>(), 150, 333, 401, way) < kAllowed);
      CHECK(error_of<float>(set.gemm<float>(), 3, 1500, 300, way) < kAllowed);
      CHECK(error_of<float>(set.gemm<float>(), 1500, 3, 300, way) < kAllowed);
    }
  });
  set_thread_count(1);
}

// Where the operands are exchanged, and more than one pass over the depth is made.
TEST(products_of_few_rows_with_transposed_weights) {
  for (int threads : {1, 2}) {
    set_thread_count(threads);
    for_sets([](const KernelSet& set) {
      for (int64_t m : {15, 16, 32, 47, 64}) {
        for (Start start : {Start::kZero, Start::kColumnBias, Start::kRowBias}) {
          const Way way{false, true, false, start, Activation::kRelu};
          CHECK(error_of<float>(set.gemm<float>(), m, 210, 2100, way) < kAllowed);
          CHECK(error_of<double>(set.gemm<double>(), m, 133, 300, way) < kAllowed);
        }
      }
    });
  }
  set_thread_count(1);
}

// Columns of A that overlap, as those of expanded tensors do: the rows are packed as vectors, but
// nothing behind the last element is read.
TEST(columns_of_a_may_overlap) {
  namespace guard = scriptlang::memory::guard;
  constexpr int64_t m = 32, n = 64, k = 20;
  std::vector<float> b(size_t(k * n), 1.0f), c(size_t(m * n));
  for (int64_t apart : {0, 1, 3, 7, 8, 15, 16, 32, 40}) {
    const size_t count = size_t(m + (k - 1) * apart), bytes = count * sizeof(float);
    float* a = static_cast<float*>(guard::take(bytes, sizeof(float)));
    if (!a) return;  // this system has no such blocks
    for (size_t i = 0; i < count; ++i) a[i] = float(i);
    Gemm<float> g;
    g.m = m;
    g.n = g.b_row = g.c_row = n;
    g.k = k;
    g.a = a;
    g.a_row = 1;
    g.a_column = apart;
    g.b = b.data();
    g.c = c.data();
    for_sets([&](const KernelSet& set) {
      set.gemm_f32->multiply(g);
      for (int64_t i = 0; i < m; ++i) {
        CHECK_EQ(c[size_t(i * n)], float(i * k + apart * (k * (k - 1) / 2)));
      }
    });
    guard::give(a, bytes);
  }
}

TEST(a_nan_reaches_the_result_through_relu) {
  for_sets([](const KernelSet& set) {
    std::vector<float> a(40, 1.0f), b(40 * 33, 1.0f), c(33, 0.0f);
    a[3] = std::nanf("");
    Gemm<float> g;
    g.m = 1;
    g.n = 33;
    g.k = 40;
    g.a = a.data();
    g.a_row = 40;
    g.b = b.data();
    g.b_row = 33;
    g.c = c.data();
    g.c_row = 33;
    g.activation = Activation::kRelu;
    set.gemm_f32->multiply(g);
    for (float v : c) CHECK(std::isnan(v));
  });
}

int main(int count, char** arguments) { return test::main(count, arguments); }
