// The parser of operator schemas.
#include "schema.h"

#include <cstdlib>

#include "list.h"
#include "plain_text.h"

namespace scriptlang {

namespace {

// Names that stand for integers as defaults: reductions, dtypes, layouts, memory formats.
struct NamedDefault {
  const char* name;
  int64_t value;
};
constexpr NamedDefault kNamedDefaults[] = {
    {"Mean", 1}, {"Sum", 2},   {"contiguous_format", 0}, {"preserve_format", 1},
    {"long", 4}, {"float", 6}, {"strided", 0},
};

class SchemaParser {
 public:
  SchemaParser(std::string_view text, const ClassResolver& classes)
      : text_(text), classes_(classes) {}

  Schema parse() {
    Schema schema;
    parse_name(&schema);
    expect('(');
    bool keyword_only = false;
    if (!accept(')')) {
      do {
        if (accept('*')) {
          keyword_only = true;
        } else if (accept_text("...")) {
          schema.variadic_arguments = true;
        } else {
          schema.arguments.push_back(parse_argument(keyword_only));
        }
      } while (accept(','));
      expect(')');
    }
    if (!accept_text("->")) fail("'->'");
    parse_returns(&schema);
    skip_space();
    if (position_ != text_.size()) fail("the end");
    return schema;
  }

 private:
  [[noreturn]] void fail(const char* wanted) {
    raise(ErrorKind::ArchiveError, "the schema '", std::string(text_), "' should have ", wanted,
          " at column ", position_ + 1);
  }
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space() {
    while (peek() == ' ') ++position_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  bool accept_text(std::string_view wanted) {
    skip_space();
    if (text_.substr(position_, wanted.size()) != wanted) return false;
    position_ += wanted.size();
    return true;
  }
  void expect(char c) {
    char wanted[] = "' '";
    wanted[1] = c;
    if (!accept(c)) fail(wanted);
  }
  std::string word() {
    skip_space();
    size_t begin = position_;
    while (is_ascii_word(peek()) || peek() == '_') ++position_;
    return std::string(text_.substr(begin, position_ - begin));
  }

  void parse_name(Schema* schema) {
    size_t open = text_.find('(');
    if (open == std::string_view::npos) fail("'('");
    std::string_view full = text_.substr(0, open);
    size_t scope = full.find("::");
    size_t dot = full.find('.', scope == std::string_view::npos ? 0 : scope);
    schema->name = full.substr(0, dot);
    if (dot != std::string_view::npos) schema->overload = full.substr(dot + 1);
    position_ = open;
  }

  Argument parse_argument(bool keyword_only) {
    Argument argument;
    std::string alias;
    int64_t fixed_size = 0;
    argument.type = parse_type_at(text_, &position_, classes_, &alias, &fixed_size);
    argument.name = word();
    argument.keyword_only = keyword_only;
    argument.is_out = keyword_only && alias.find('!') != std::string::npos;
    argument.fixed_size = fixed_size;
    if (accept('=')) {
      argument.has_default = true;
      argument.default_value = parse_default(*argument.type, fixed_size);
    }
    return argument;
  }

  void parse_returns(Schema* schema) {
    if (accept_text("...")) {
      schema->variadic_returns = true;
      return;
    }
    if (!accept('(')) {
      schema->returns.push_back(parse_argument(false));
      return;
    }
    if (accept(')')) return;
    do {
      if (accept_text("...")) {
        schema->variadic_returns = true;
      } else {
        schema->returns.push_back(parse_argument(false));
      }
    } while (accept(','));
    expect(')');
  }

  Value parse_default(const Type& type, int64_t fixed_size) {
    skip_space();
    const Type* inner = &type;
    while (inner->kind == TypeKind::Optional) inner = inner->elements[0].get();
    if (accept_text("None")) return Value();
    if (inner->kind == TypeKind::List) return parse_list_default(*inner->elements[0], fixed_size);
    return parse_scalar_default(*inner);
  }

  Value parse_list_default(const Type& element, int64_t fixed_size) {
    std::vector<Value> items;
    if (!accept('[')) {  // "int[2] stride=1": one value for all elements
      Value one = parse_scalar_default(element);
      items.assign(size_t(fixed_size > 0 ? fixed_size : 1), one);
      return List::make(std::move(items));
    }
    if (!accept(']')) {
      do { items.push_back(parse_scalar_default(element)); } while (accept(','));
      expect(']');
    }
    return List::make(std::move(items));
  }

  Value parse_scalar_default(const Type& type) {
    skip_space();
    if (peek() == '"' || peek() == '\'') return parse_string();
    if (accept_text("True")) return Value(true);
    if (accept_text("False")) return Value(false);
    if (is_ascii_letter(peek()) && !accept_text("inf")) return named_default();
    return parse_number(type);
  }

  Value parse_string() {
    char quote = text_[position_++];
    std::string value;
    while (peek() != quote) {
      if (peek() == '\0') fail("a closing quote");
      char c = text_[position_++];
      if (c == '\\' && peek() != '\0') c = escaped(text_[position_++]);
      value += c;
    }
    ++position_;
    return Value(value);
  }

  static char escaped(char c) {
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'r': return '\r';
      default: return c;
    }
  }

  Value named_default() {
    size_t start = position_;
    std::string name = word();
    if (name == "cpu") return Value(Device());
    for (const NamedDefault& d : kNamedDefaults) {
      if (name == d.name) return Value(d.value);
    }
    position_ = start;
    fail("a default value");
  }

  Value parse_number(const Type& type) {
    size_t begin = position_;
    while (is_ascii_word(peek()) || peek() == '.' || peek() == '-' || peek() == '+') {
      ++position_;
    }
    std::string digits(text_.substr(begin, position_ - begin));
    char* end = nullptr;
    bool integral = digits.find_first_of(".eEn") == std::string::npos;
    Value value;
    if (integral && type.kind != TypeKind::Float) {
      value = Value(int64_t(strtoll(digits.c_str(), &end, 10)));
    } else {
      value = Value(read_number(digits.c_str(), &end));
    }
    if (digits.empty() || *end != '\0') {
      position_ = begin;
      fail("a number");
    }
    return value;
  }

  std::string_view text_;
  size_t position_ = 0;
  const ClassResolver& classes_;
};

}  // namespace

Schema parse_schema(std::string_view text, const ClassResolver& classes) {
  return SchemaParser(text, classes).parse();
}

}  // namespace scriptlang
