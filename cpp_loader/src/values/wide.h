// Unsigned 128-bit integers as two halves: compilers for 32-bit machines have no __int128.
#pragma once

#include <cstdint>

namespace scriptlang {

struct Wide {
  uint64_t low, high;

  static Wide product(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    return of(static_cast<unsigned __int128>(a) * b);
#else
    constexpr uint64_t kLow = 0xffffffff;
    const uint64_t corner = (a & kLow) * (b & kLow);
    const uint64_t left = (a >> 32) * (b & kLow) + (corner >> 32);
    const uint64_t right = (a & kLow) * (b >> 32) + (left & kLow);
    return {right << 32 | (corner & kLow), (a >> 32) * (b >> 32) + (left >> 32) + (right >> 32)};
#endif
  }
  // Shifts by fewer than 128 bits.
  Wide operator<<(unsigned bits) const {
#if defined(__SIZEOF_INT128__)
    return of((static_cast<unsigned __int128>(high) << 64 | low) << bits);
#else
    if (bits == 0) return *this;
    if (bits >= 64) return {0, low << (bits - 64)};
    return {low << bits, high << bits | low >> (64 - bits)};
#endif
  }

 private:
#if defined(__SIZEOF_INT128__)
  static Wide of(unsigned __int128 both) {
    return {static_cast<uint64_t>(both), static_cast<uint64_t>(both >> 64)};
  }
#endif
};

}  // namespace scriptlang
