// Sums of columns: reductions over the first dimensions, with the elements read in place.
#include "column_sums.h"

#include <algorithm>
#include <vector>

#include "row_functions.h"

namespace scriptlang {

namespace {

constexpr int64_t kPart = 64;       // rows of a partial sum
constexpr int64_t kConverted = 16;  // rows that are converted at a time

bool is_known(ScalarType type) {
  return type == ScalarType::Float32 || type == ScalarType::Float64 || type == ScalarType::Int64;
}

// Calls fold(rows, width, x, stride) for the rows of a band, whose first element is at index `at`,
// in pieces of at most kPart rows; rows of another type are converted to T. start() is called
// before every kPart rows.
template <class T, class Start, class Fold>
void fold_band(const Columns& c, const Tensor& self, kernels::Convert convert, int64_t at,
               int64_t width, Start start, Fold fold) {
  const int64_t size = self.itemsize(), rows = convert ? kConverted : kPart;
  std::vector<T> converted(as_size(convert ? rows * width : 0));
  const char* data = static_cast<const char*>(self.raw());
  for (int64_t row = 0; row < c.n; row += rows) {
    if (row % kPart == 0) start();
    int64_t count = std::min(rows, c.n - row), step = c.inner;
    const char* from = data + (at + row * step) * size;
    if (convert) {
      for (int64_t i = 0; i < count; ++i) {
        convert(width, converted.data() + i * width, sizeof(T), from + i * step * size, size);
      }
      from = reinterpret_cast<const char*>(converted.data());
      step = width;
    }
    fold(count, width, reinterpret_cast<const T*>(from), step);
  }
}

// The kernel that adds rows of float16 or bfloat16, where the processor widens them on the fly;
// else null.
auto adder_of_halves(ScalarType from, ScalarType to) {
  const auto& lines = *kernels::kernels().lines;
  decltype(lines.add_float16) found = nullptr;
  if (to != ScalarType::Float32) return found;
  if constexpr (kernels::is_kept(ScalarType::Float16)) {
    if (from == ScalarType::Float16) found = lines.add_float16;
  }
  if constexpr (kernels::is_kept(ScalarType::BFloat16)) {
    if (from == ScalarType::BFloat16) found = lines.add_bfloat16;
  }
  return found;
}

}  // namespace

bool try_products(const Tensor& self, const Dims& dims, const Tensor& to) {
  Columns c;
  if (!is_known(to.dtype()) || !c.find(self, dims)) return false;
  kernels::Convert convert =
      self.dtype() == to.dtype() ? nullptr : kernels::converter(to.dtype(), self.dtype());
  for_row_type(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto multiply_columns = kernels::kernels().lines->of(zero).multiply_columns;
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      T* target = to.data<T>() + result;
      std::fill_n(target, width, T(1));
      fold_band<T>(
          c, self, convert, at, width, [] {},
          [&](int64_t rows, int64_t n, const T* x, int64_t step) {
            multiply_columns(rows, n, x, step, target);
          });
    });
  });
  return true;
}

bool try_sums(const Tensor& self, const Dims& dims, const Tensor& to, bool numbers) {
  Columns c;
  if (!is_known(to.dtype()) || !c.find(self, dims)) return false;
  auto halves = numbers ? nullptr : adder_of_halves(self.dtype(), to.dtype());
  kernels::Convert convert =
      self.dtype() == to.dtype() ? nullptr : kernels::converter(to.dtype(), self.dtype());
  for_row_type(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& lines = kernels::kernels().lines->of(zero);
    const auto add_columns = lines.add_columns;
    const auto add = numbers ? lines.add_numbers : add_columns;
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      T* target = to.data<T>() + result;
      std::fill_n(target, width, T(0));
      T part[Columns::kBand];
      if constexpr (std::is_same_v<T, float>) {
        for (int64_t row = 0; halves && row < c.n; row += kPart) {
          std::fill_n(part, width, T(0));
          halves(std::min(kPart, c.n - row), width,
                 static_cast<const uint16_t*>(self.raw()) + at + row * c.inner, c.inner, part);
          add_columns(1, width, part, 0, target);
        }
        if (halves) return;
      }
      std::fill_n(part, width, T(0));
      fold_band<T>(
          c, self, convert, at, width,
          [&] {
            add_columns(1, width, part, 0, target);
            std::fill_n(part, width, T(0));
          },
          [&](int64_t rows, int64_t n, const T* x, int64_t step) { add(rows, n, x, step, part); });
      add_columns(1, width, part, 0, target);
    });
  });
  return true;
}

}  // namespace scriptlang
