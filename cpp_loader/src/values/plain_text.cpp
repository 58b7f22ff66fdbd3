// Numbers as text with a decimal point. The C library computes the digits; only the decimal point
// of the process's locale is exchanged.
#include "plain_text.h"

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace scriptlang {

namespace {

// The decimal point of the process's locale: one or several bytes.
const char* point_here() {
  const char* point = std::localeconv()->decimal_point;
  return point[0] == '\0' ? "." : point;
}

bool is_plain(const char* point) { return point[0] == '.' && point[1] == '\0'; }

}  // namespace

size_t print_number(char* to, size_t room, const char* format, int width, double number) {
  int written = snprintf(to, room, format, width, number);
  const char* point = point_here();
  if (is_plain(point)) return size_t(written);
  char* found = std::strstr(to, point);
  if (found == nullptr) return size_t(written);
  const size_t extra = std::strlen(point) - 1;
  *found = '.';
  std::memmove(found + 1, found + 1 + extra, std::strlen(found + 1 + extra) + 1);
  return size_t(written) - extra;
}

std::string fixed_text(double number) {
  char digits[400];
  return std::string(digits, print_number(digits, sizeof digits, "%*.6f", 0, number));
}

double read_number(const char* text, char** end) {
  const char* point = point_here();
  if (is_plain(point)) return std::strtod(text, end);
  // Spells the number as the locale does. The locale's own decimal point is not one here, so the
  // text is cut there.
  std::string here(text);
  const size_t foreign = here.find(point), plain = here.find('.');
  if (foreign < plain) here.resize(foreign);
  else if (plain != std::string::npos) here.replace(plain, 1, point);
  char* stop = nullptr;
  double number = std::strtod(here.c_str(), &stop);
  size_t read = size_t(stop - here.c_str());
  if (plain != std::string::npos && foreign >= plain && read > plain) {
    read -= std::strlen(point) - 1;
  }
  *end = const_cast<char*>(text) + read;
  return number;
}

bool is_utf8(std::string_view text) {
  for (size_t k = 0; k < text.size();) {
    unsigned char c = static_cast<unsigned char>(text[k++]);
    if (c < 0x80) continue;
    size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    if (c < 0xc2 || c > 0xf4 || text.size() - k < more) return false;
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    for (; more > 0; --more, ++k, low = 0x80, high = 0xbf) {
      unsigned char next = static_cast<unsigned char>(text[k]);
      if (next < low || next > high) return false;
    }
  }
  return true;
}

}  // namespace scriptlang
