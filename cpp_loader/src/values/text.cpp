// The text of values as str(), print and '{}' give it in TorchScript.
//
// Tensors are printed in the form of PyTorch's C++ streams, floats with 17 digits, strings
// without quotes.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "dict.h"
#include "list.h"
#include "ops/scratch.h"
#include "plain_text.h"
#include "type.h"

namespace scriptlang {

namespace {

double element_as_double(const Tensor& t, int64_t at) {
  switch (t.dtype()) {
    case ScalarType::UInt8: return t.data<uint8_t>()[at];
    case ScalarType::Int8: return t.data<int8_t>()[at];
    case ScalarType::Int16: return t.data<int16_t>()[at];
    case ScalarType::Int32: return t.data<int32_t>()[at];
    case ScalarType::Int64: return double(t.data<int64_t>()[at]);
    case ScalarType::Float16: return t.data<float16>()[at];
    case ScalarType::BFloat16: return t.data<bfloat16>()[at];
    case ScalarType::Float32: return t.data<float>()[at];
    case ScalarType::Float64: return t.data<double>()[at];
    case ScalarType::Bool: return t.data<uint8_t>()[at] != 0;
    case ScalarType::UInt16: return t.data<uint16_t>()[at];
    case ScalarType::UInt32: return t.data<uint32_t>()[at];
    case ScalarType::UInt64: return double(t.data<uint64_t>()[at]);
    case ScalarType::Complex64: return t.data<std::complex<float>>()[at].real();
    case ScalarType::Complex128: return t.data<std::complex<double>>()[at].real();
    default: return 0;
  }
}

// All elements in row-major order.
std::vector<double> elements_as_double(const Tensor& t) {
  std::vector<double> out;
  out.reserve(as_size(t.numel()));
  std::vector<int64_t> index(as_size(t.dim()), 0);
  int64_t at = 0;
  for (int64_t n = t.numel(); n > 0; --n) {
    out.push_back(element_as_double(t, at));
    for (int64_t d = t.dim() - 1; d >= 0; --d) {
      at += t.stride(d);
      if (++index[size_t(d)] < t.size(d)) break;
      at -= t.stride(d) * t.size(d);
      index[size_t(d)] = 0;
    }
  }
  return out;
}

// How the numbers of one matrix are printed: a common scale, width and style.
struct NumberFormat {
  double scale = 1;
  int width = 0;
  enum { General, Scientific, Fixed } style = General;

  std::string text(double value) const {
    char buffer[400];
    const char* format = style == General ? "%*.6g" : style == Scientific ? "%*.4e" : "%*.4f";
    return std::string(buffer, print_number(buffer, sizeof buffer, format, width, value));
  }
};

NumberFormat choose_format(const double* values, int64_t n) {
  NumberFormat format;
  if (n == 0) return format;
  bool whole = true, any = false;
  double low = 1, high = 1;
  for (int64_t i = 0; i < n; ++i) {
    double v = values[i];
    if (!std::isfinite(v)) continue;
    whole = whole && v == std::ceil(v);
    double magnitude = std::fabs(v);
    low = any ? std::min(low, magnitude) : magnitude;
    high = any ? std::max(high, magnitude) : magnitude;
    any = true;
  }
  if (any) {
    low = low != 0 ? std::floor(std::log10(low)) + 1 : 1;
    high = high != 0 ? std::floor(std::log10(high)) + 1 : 1;
  }
  if (whole) {
    format.width = high > 9 ? 11 : int(high) + 1;
    format.style = high > 9 ? NumberFormat::Scientific : NumberFormat::General;
  } else if (high - low > 4) {
    format.width = std::fabs(high) > 99 || std::fabs(low) > 99 ? 12 : 11;
    format.style = NumberFormat::Scientific;
  } else {
    format.style = NumberFormat::Fixed;
    if (high > 5 || high < 0) {
      format.width = 7;
      format.scale = std::pow(10, high - 1);
    } else {
      format.width = high == 0 ? 7 : int(high) + 6;
    }
  }
  return format;
}

// The shortest text that reads back as the same number, without a point after whole numbers.
std::string shortest(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  char buffer[400];
  const bool plain = value == 0 || (std::fabs(value) >= 1e-4 && std::fabs(value) < 1e16);
#if defined(__cpp_lib_to_chars)
  auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, format).ptr);
#else  // A C++ library that converts integers only: more and more digits, until they suffice.
  // Powers of two may get one digit too many.
  size_t size = 0;
  int decimals = 0;
  for (; decimals <= 16; ++decimals) {
    const std::string format = "%*." + std::to_string(decimals) + "e";
    size = print_number(buffer, sizeof buffer, format.c_str(), 0, value);
    if (read_number(buffer, nullptr) == value) break;
  }
  if (!plain) return std::string(buffer, size);
  decimals -= std::atoi(std::strrchr(buffer, 'e') + 1);
  const std::string format = "%*." + std::to_string(std::max(decimals, 0)) + "f";
  return std::string(buffer, print_number(buffer, sizeof buffer, format.c_str(), 0, value));
#endif
}

std::string scale_text(double scale) { return shortest(scale) + " *\n"; }

// Prints the rows of a matrix, in groups of columns that fit into 80 characters.
void print_matrix(std::string* out, const double* values, int64_t rows, int64_t columns,
                  int indent) {
  NumberFormat format = choose_format(values, rows * columns);
  std::string margin(as_size(indent), ' ');
  int64_t per_line = std::max<int64_t>((80 - indent) / (format.width + 1), 1);
  for (int64_t first = 0; first < columns; first += per_line) {
    int64_t last = std::min(first + per_line, columns) - 1;
    if (per_line < columns) {
      if (first != 0) *out += '\n';
      *out += concat("Columns ", first + 1, " to ", last + 1);
      *out += margin;
    }
    if (format.scale != 1) *out += scale_text(format.scale) + margin;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t c = first; c <= last; ++c) {
        *out += format.text(values[row * columns + c] / format.scale);
        *out += c == last ? '\n' : ' ';
      }
      if (row != rows - 1) *out += format.scale != 1 ? margin + " " : margin;
    }
  }
}

void print_slices(std::string* out, const Tensor& t, const std::vector<double>& values) {
  int64_t rows = t.size(t.dim() - 2), columns = t.size(t.dim() - 1);
  int64_t leading = t.dim() - 2, slices = 1;
  std::vector<int64_t> counter(as_size(leading), 0);
  for (int64_t d = 0; d < leading; ++d) slices *= t.size(d);
  for (int64_t s = 0; s < slices; ++s) {
    if (s) *out += '\n';
    *out += '(';
    // The first dimension varies fastest.
    int64_t slice = 0;
    for (int64_t d = 0; d < leading; ++d) {
      slice = slice * t.size(d) + counter[size_t(d)];
      *out += std::to_string(counter[size_t(d)] + 1) + ',';
    }
    *out += ".,.) = \n";
    print_matrix(out, values.data() + slice * rows * columns, rows, columns, 1);
    for (int64_t d = 0; d < leading; ++d) {
      if (++counter[size_t(d)] < t.size(d)) break;
      counter[size_t(d)] = 0;
    }
  }
}

std::string tensor_text(const Tensor& t) {
  memory::ask(t.numel(), 24);  // 8 bytes for a number, and its text
  std::string out;
  std::vector<double> values = elements_as_double(t);
  if (t.dim() == 0) {
    out = shortest(values[0]) + "\n";
  } else if (t.dim() == 1 && t.numel() > 0) {
    NumberFormat format = choose_format(values.data(), t.numel());
    if (format.scale != 1) out += scale_text(format.scale);
    for (double v : values) out += format.text(v / format.scale) + "\n";
  } else if (t.dim() == 2 && t.numel() > 0) {
    print_matrix(&out, values.data(), t.size(0), t.size(1), 0);
  } else if (t.numel() > 0) {
    print_slices(&out, t, values);
  }
  out += concat("[ CPU", dtype_display_name(t.dtype()), "Type{");
  for (int64_t d = 0; d < t.dim(); ++d) out += (d ? "," : "") + std::to_string(t.size(d));
  return out + "} ]";
}

std::string complex_text(std::complex<double> c) {
  std::string imaginary = float_text(c.imag());
  const char* sign = imaginary[0] == '-' ? "" : "+";
  return float_text(c.real()) + sign + imaginary + "j";
}

// The chain of containers around the current value, innermost first. A list inside itself is
// printed as "[...]".
struct Inside {
  const void* container = nullptr;
  const Inside* outer = nullptr;
  int depth = 0;

  bool holds(const void* wanted) const {
    for (const Inside* at = this; at; at = at->outer) {
      if (at->container == wanted) return true;
    }
    return false;
  }
};

void append_text(std::string* out, const Value& v, const Inside& inside);

template <class Items>
void append_items(std::string* out, const Items& items, const Inside& inside) {
  bool first = true;
  for (const Value& item : items) {
    memory::ask_to_grow(*out, 0);
    if (!first) *out += ", ";
    first = false;
    append_text(out, item, inside);
  }
}

void append_dict(std::string* out, const Dict& dict, const Inside& inside) {
  *out += '{';
  const Dict::Entry* entry;
  bool first = true;
  for (size_t cursor = 0; dict.next(&cursor, &entry); first = false) {
    memory::ask_to_grow(*out, 0);
    if (!first) *out += ", ";
    append_text(out, entry->key, inside);
    *out += ": ";
    append_text(out, entry->value, inside);
  }
  *out += '}';
}

void append_text(std::string* out, const Value& v, const Inside& outer) {
  if (outer.depth > kMaxNesting) {
    raise(ErrorKind::RuntimeError, "a value is nested too deeply to print");
  }
  switch (v.tag()) {
    case Tag::None: *out += "None"; break;
    case Tag::Bool: *out += v.as_bool() ? "True" : "False"; break;
    case Tag::Int: *out += std::to_string(v.as_int()); break;
    case Tag::Double: *out += float_text(v.as_double()); break;
    case Tag::Device: *out += to_string(v.as_device()); break;
    case Tag::Complex: *out += complex_text(v.as_complex()); break;
    case Tag::Text:
    case Tag::String:
      memory::ask_to_grow(*out, v.as_string().size());
      *out += v.as_string();
      break;
    case Tag::Tensor: *out += tensor_text(v.as_tensor()); break;
    case Tag::List: {
      const List& list = v.as_list();
      if (outer.holds(&list)) {
        *out += "[...]";
        break;
      }
      *out += '[';
      append_items(out, list, Inside{&list, &outer, outer.depth + 1});
      *out += ']';
      break;
    }
    case Tag::Tuple: {
      const Tuple& tuple = v.as_tuple();  // can contain itself only through a list or dict
      *out += '(';
      append_items(out, tuple.items, Inside{&tuple, &outer, outer.depth + 1});
      *out += tuple.items.size() == 1 ? ",)" : ")";
      break;
    }
    case Tag::Dict: {
      const Dict& dict = v.as_dict();
      if (outer.holds(&dict)) *out += "{...}";
      else append_dict(out, dict, Inside{&dict, &outer, outer.depth + 1});
      break;
    }
    case Tag::Object: *out += concat("<", v.as_object().type->name, " object>"); break;
    case Tag::Enum:
      *out +=
          concat("Enum<", unqualified(v.as_enum().type->name), ".", v.as_enum().known_name(), ">");
      break;
    case Tag::Generator: *out += "Generator"; break;
    case Tag::Future: *out += "Future"; break;
  }
}

}  // namespace

size_t write_float(char* to, double v) {
  if (std::fabs(v) < 9223372036854775808.0 && double(int64_t(v)) == v) {
    char* end = std::to_chars(to, to + kFloatText, int64_t(v)).ptr;
    *end++ = '.';
    return size_t(end - to);
  }
  // A number with few binary places has as many decimal places, so its digits are computed exactly.
  double scaled = std::fabs(v) * 1024;
  if (scaled < 1e9 && double(int64_t(scaled)) == scaled) {
    int64_t number = int64_t(scaled), rest = number & 1023;
    int places = 10 - __builtin_ctzll(uint64_t(rest));
    rest >>= 10 - places;
    for (int k = 0; k < places; ++k) rest *= 5;
    char* at = to;
    *at = '-';
    at += v < 0;
    at = std::to_chars(at, to + kFloatText, number >> 10).ptr;
    *at++ = '.';
    for (int k = places; k-- > 0; rest /= 10) at[k] = char('0' + rest % 10);
    return size_t(at + places - to);
  }
  if (std::isnan(v)) return size_t(snprintf(to, kFloatText, "nan"));  // without a sign
#if defined(__cpp_lib_to_chars)
  return size_t(std::to_chars(to, to + kFloatText, v, std::chars_format::general, 17).ptr - to);
#else
  return print_number(to, kFloatText, "%*.17g", 0, v);
#endif
}

std::string float_text(double v) {
  char room[kFloatText];
  return std::string(room, write_float(room, v));
}

std::string to_text(const Value& v) {
  std::string out;
  append_text(&out, v, Inside());
  return out;
}

}  // namespace scriptlang
