#include "column_sums.h"

#include <algorithm>
#include <vector>

#include "row_functions.h"

namespace scriptlang {

bool try_products(const Tensor& self, const Dims& dims, const Tensor& to) {
  Columns c;
  ScalarType type = self.dtype();
  bool known = type == ScalarType::Float32 || type == ScalarType::Float64 ||
               type == ScalarType::Int64;
  if (!known || type != to.dtype() || !c.find(self, dims)) return false;
  for_row_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto& lines = kernels::kernels().lines->of(zero);
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      T* target = to.data<T>() + result;
      std::fill_n(target, width, T(1));
      lines.multiply_columns(c.n, width, self.data<T>() + at, c.inner, target);
    });
  });
  return true;
}

bool try_sums(const Tensor& self, const Dims& dims, const Tensor& to, kernels::Convert convert) {
  Columns c;
  ScalarType type = to.dtype();
  bool known = type == ScalarType::Float32 || type == ScalarType::Float64 ||
               type == ScalarType::Int64;
  if (!known || !c.find(self, dims)) return false;
  for_row_type(type, [&](auto zero) {
    using T = decltype(zero);
    const auto& lines = kernels::kernels().lines->of(zero);
    const int64_t size = self.itemsize(), rows = convert ? 16 : 64;
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      T* target = to.data<T>() + result;
      std::fill_n(target, width, T(0));
      std::vector<T> converted(size_t(convert ? rows * width : 0));
      for (int64_t first = 0; first < c.n; first += 64) {
        T part[Columns::kBand] = {};
        for (int64_t row = first; row < std::min(c.n, first + 64); row += rows) {
          int64_t count = std::min({rows, c.n - row, first + 64 - row}), step = c.inner;
          const char* from = static_cast<const char*>(self.raw()) + (at + row * step) * size;
          if (convert) {
            for (int64_t i = 0; i < count; ++i) {
              convert(width, converted.data() + i * width, sizeof(T), from + i * step * size, size);
            }
            from = reinterpret_cast<const char*>(converted.data());
            step = width;
          }
          lines.add_columns(count, width, reinterpret_cast<const T*>(from), step, part);
        }
        lines.add_columns(1, width, part, 0, target);
      }
    });
  });
  return true;
}

}  // namespace scriptlang
