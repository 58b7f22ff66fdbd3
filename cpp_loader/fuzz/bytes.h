// The bytes of a fuzzing input as what they decide: numbers, odd ones more often, and texts.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define WANT(condition)                                                    \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                        \
    }                                                                      \
  } while (0)

namespace fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool more() const { return at_ < end_; }
  uint8_t byte() { return at_ < end_ ? *at_++ : 0; }
  size_t below(size_t n) { return n ? byte() % n : 0; }
  int64_t word() {
    static const int64_t kOdd[] = {0,       1,         -1,        2,         3,
                                   7,       64,        65,        INT64_MAX, INT64_MIN,
                                   1 << 30, 1LL << 31, 1LL << 32, 1LL << 62, INT64_MAX / 2,
                                   -2,      1LL << 61, 4096,      INT32_MAX, INT32_MIN};
    uint8_t b = byte();
    if (b < 160) return kOdd[b % 20];
    if (b < 230) return b % 8;
    uint64_t all = 0;
    for (int k = 0; k < 8; ++k) all = all << 8 | byte();
    return int64_t(all);
  }
  double real() {
    int64_t bits = word();
    double v;
    std::memcpy(&v, &bits, 8);
    return byte() % 2 ? v : double(bits);
  }
  std::string text() {
    std::string s(below(40), '\0');
    bool plain = byte() % 4 != 0;
    for (char& c : s) c = plain ? char('a' + below(26)) : char(byte());
    return s;
  }

 private:
  const uint8_t *at_, *end_;
};

}  // namespace fuzz
