// Texts that are part of the library. They are decompressed when first needed, and kept.
#include "packed.h"

#include <zlib.h>

#include "values/error.h"

namespace scriptlang::source {

namespace {

struct Packed {
  size_t size;
  const unsigned char* bytes;
  size_t count;
};

template <size_t kCount>
constexpr Packed packed(size_t size, const unsigned char (&bytes)[kCount]) {
  return {size, bytes, kCount};
}

#define PACKED(size, ...)        \
  constexpr size_t kSize = size; \
  constexpr unsigned char kBytes[] = {__VA_ARGS__};
namespace overloads {
#include "overloads.inc"
}
namespace bodies {
#include "bodies.inc"
}
namespace derivatives {
#include "derivatives.inc"
}
#if defined(SL_SELECTED)
namespace left_out {
#include "left_out.inc"
}
#endif
#undef PACKED

std::string_view inflated(const Packed& packed) {
  char* text = new char[packed.size + 1];  // as long as the process lives
  z_stream stream = {};
  stream.next_in = const_cast<unsigned char*>(packed.bytes);
  stream.avail_in = unsigned(packed.count);
  stream.next_out = reinterpret_cast<unsigned char*>(text);
  stream.avail_out = unsigned(packed.size);
  const bool whole = inflateInit2(&stream, -MAX_WBITS) == Z_OK &&
                     inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  if (!whole) raise(ErrorKind::MemoryError, "a text of the library cannot be inflated");
  return {text, packed.size};
}

}  // namespace

std::string_view overloads_text() {
  static const std::string_view text = inflated(packed(overloads::kSize, overloads::kBytes));
  return text;
}

std::string_view bodies_text() {
  static const std::string_view text = inflated(packed(bodies::kSize, bodies::kBytes));
  return text;
}

std::string_view derivatives_text() {
  static const std::string_view text = inflated(packed(derivatives::kSize, derivatives::kBytes));
  return text;
}

#if defined(SL_SELECTED)
std::string_view left_out_text() {
  static const std::string_view text = inflated(packed(left_out::kSize, left_out::kBytes));
  return text;
}
#endif

}  // namespace scriptlang::source
