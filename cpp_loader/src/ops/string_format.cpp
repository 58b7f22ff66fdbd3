// Values as text: str, format, and the operator %.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "language.h"
#include "op.h"
#include "scratch.h"
#include "values/plain_text.h"

namespace scriptlang {

namespace {

// A cast to int with the result on x86 where C++ does not define it, as in PyTorch.
int32_t as_32_bits(double v) {
  return std::fabs(v) < 2147483648.0 ? int32_t(v) : std::numeric_limits<int32_t>::min();
}

// One '%' conversion. Widths and precisions do not exist in TorchScript.
void percent_item(std::string* out, char key, const Value& v) {
  auto want_number = [&] {
    if (v.is_int() || v.is_double() || v.is_bool()) return;
    raise(ErrorKind::RuntimeError, "%", key, " requires a number for formatting, but got ",
          tag_name(v.tag()));
  };
  switch (key) {
    case 'd':
    case 'i':
      want_number();
      *out += v.is_double() ? std::to_string(as_32_bits(v.as_double()))
                            : std::to_string(Scalar::of(v).i);
      return;
    case 'e':
    case 'E':
    case 'f':
    case 'F': {
      want_number();
      char spec[] = {'%', '*', key, '\0'}, buffer[512];
      double number = float(Scalar::of(v).to_double());  // single precision, as in PyTorch
      *out += std::string(buffer, print_number(buffer, sizeof buffer, spec, 0, number));
      return;
    }
    case 'c':
      if (v.is_int()) {
        *out += char(v.as_int());
      } else if (v.is_string() && v.as_string().size() == 1) {
        *out += v.as_string();
      } else {
        raise(ErrorKind::RuntimeError, "%c requires an int or char for formatting, but got ",
              tag_name(v.tag()));
      }
      return;
    case 's': *out += to_text(v); return;
    default:
      raise(ErrorKind::RuntimeError, "The specifier %", key,
            " is not supported in TorchScript format strings");
  }
}

Value percent_format(std::string_view text, const Value& arguments) {
  const Value* items = &arguments;
  size_t count = 1, used = 0;
  if (arguments.is_tuple()) {
    items = arguments.as_tuple().items.data();
    count = arguments.as_tuple().items.size();
  }
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (++at == text.size()) raise(ErrorKind::RuntimeError, "Incomplete format specifier");
    if (text[at] == '%') {
      out += '%';
      continue;
    }
    if (used >= count) raise(ErrorKind::RuntimeError, "Too few arguments for format string");
    if (items[used].is_string()) memory::ask_to_grow(out, items[used].as_string().size());
    percent_item(&out, text[at], items[used++]);
  }
  if (used != count) raise(ErrorKind::RuntimeError, "Too many arguments for format string");
  return Value(out);
}

}  // namespace

SL_OP(aten_format) { out[0] = language::format(args.data(), args.size()); }
SL_OP(aten_percentFormat) {
  if (args.size() != 2) raise(ErrorKind::RuntimeError, "percentFormat takes a text and a value");
  out[0] = percent_format(args.string(0), args[1]);
}
SL_OP(aten_str) { out[0] = language::text_of(args[0]); }

}  // namespace scriptlang
