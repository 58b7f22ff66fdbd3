// Numbers of elements and bytes as the machine counts them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

namespace scriptlang {

// n as the size of a block or container. Programs choose numbers that addresses of 32 bits do not
// reach: throws std::bad_alloc then, where a conversion would leave the low bits.
inline std::size_t as_size(std::int64_t n) {
  if constexpr (sizeof(std::size_t) < sizeof n) {
    if (n < 0 || n > PTRDIFF_MAX) throw std::bad_alloc();
  }
  return static_cast<std::size_t>(n);
}

}  // namespace scriptlang
