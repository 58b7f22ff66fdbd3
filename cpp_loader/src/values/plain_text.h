// Characters, numbers and names as programs and archives spell them, independent of the process's
// locale.
//
// The C library's functions obey setlocale: with "de_DE" they write and expect "0,5".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scriptlang {

constexpr bool is_ascii_digit(int c) { return c >= '0' && c <= '9'; }
constexpr bool is_ascii_lower(int c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_ascii_upper(int c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_ascii_letter(int c) { return is_ascii_lower(c) || is_ascii_upper(c); }
constexpr bool is_ascii_word(int c) { return is_ascii_letter(c) || is_ascii_digit(c); }
constexpr bool is_ascii_print(int c) { return c >= ' ' && c <= '~'; }
constexpr int ascii_upper(int c) { return is_ascii_lower(c) ? c - 32 : c; }
constexpr int ascii_lower(int c) { return is_ascii_upper(c) ? c + 32 : c; }

// Like snprintf of one number. The format has a width argument ("%*.6g"; pass 0 for none). Returns
// the number of characters; `room` must suffice for them.
size_t print_number(char* to, size_t room, const char* format, int width, double number);

std::string fixed_text(double number);  // six decimals, like std::to_string

// Like strtod, with "." as the decimal point.
double read_number(const char* text, char** end);

// Whether the text is UTF-8, in the shortest form, without surrogates.
bool is_utf8(std::string_view text);

// The part of a name after its last dot: "M" of "__torch__.M".
inline std::string unqualified(const std::string& name) { return name.substr(name.rfind('.') + 1); }

}  // namespace scriptlang
