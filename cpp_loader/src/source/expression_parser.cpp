// Parses expressions, from the conditional expression `a if c else b` down to atoms.
#include "expression_parser.h"

namespace scriptlang::source {

struct Operator {
  std::string_view text;
  int level;  // binds stronger when greater
  Sign sign;
};
namespace {

constexpr Operator kOperators[] = {
    {"|", 1, Sign::Or},           {"^", 2, Sign::Xor},         {"&", 3, Sign::And},
    {"<<", 4, Sign::ShiftLeft},   {">>", 4, Sign::ShiftRight}, {"+", 5, Sign::Add},
    {"-", 5, Sign::Subtract},     {"*", 6, Sign::Multiply},    {"/", 6, Sign::Divide},
    {"//", 6, Sign::FloorDivide}, {"%", 6, Sign::Modulo},      {"@", 6, Sign::MatrixMultiply},
};
constexpr Operator kComparisons[] = {
    {"==", 0, Sign::Equal},     {"!=", 0, Sign::NotEqual}, {"<", 0, Sign::Less},
    {"<=", 0, Sign::LessEqual}, {">", 0, Sign::Greater},   {">=", 0, Sign::GreaterEqual},
};

}  // namespace

Node* ExpressionParser::tuple(const Token& start, Row items) {
  Node* made = node(NodeKind::Tuple, start);
  made->items = items;
  return made;
}

bool ExpressionParser::ends_list() const {
  return token_.kind == TokenKind::NewLine || token_.kind == TokenKind::End ||
         (token_.kind == TokenKind::Sign &&
          (token_.text == ")" || token_.text == "]" || token_.text == "}" || token_.text == "=" ||
           token_.text == ":" || token_.text == ";"));
}

Node* ExpressionParser::expression_list() {
  const Token start = token_;
  Node* first = expression();
  if (!token_.is(",")) return first;
  Growing found(this);
  found.push(first);
  while (accept(",")) {
    if (ends_list()) break;
    found.push(expression());
  }
  return tuple(start, found.row());
}

Node* ExpressionParser::expression() {
  Level level(this);
  const Token start = token_;  // may be a bracket around the first part
  Node* value = disjunction();
  if (!accept("if")) return value;
  Node* made = node(NodeKind::Choice, start);
  made->b = value;
  made->a = disjunction();
  expect("else");
  made->c = expression();
  return made;
}

Node* ExpressionParser::joined(NodeKind kind, const Token& start, Node* a, Node* b) {
  Node* made = node(kind, start);
  made->a = a;
  made->b = b;
  return made;
}

Node* ExpressionParser::disjunction() {
  const Token start = token_;
  Node* left = conjunction();
  if (!token_.is("or")) return left;
  Level level(this);
  take();
  return joined(NodeKind::Or, start, left, disjunction());
}

Node* ExpressionParser::conjunction() {
  const Token start = token_;
  Node* left = negation();
  if (!token_.is("and")) return left;
  Level level(this);
  take();
  return joined(NodeKind::And, start, left, conjunction());
}

Node* ExpressionParser::negation() {
  if (!token_.is("not")) return comparison();
  Level level(this);
  Node* made = node(NodeKind::Not, take());
  made->a = negation();
  return made;
}

Sign ExpressionParser::comparison_sign() {
  if (token_.kind == TokenKind::Word) {
    if (!token_.keyword) return Sign::None;
    if (accept("is")) return accept("not") ? Sign::IsNot : Sign::Is;
    if (accept("in")) return Sign::In;
    if (accept("not")) {
      expect("in");
      return Sign::NotIn;
    }
    return Sign::None;
  }
  for (const Operator& known : kComparisons) {
    if (accept(known.text)) return known.sign;
  }
  return Sign::None;
}

Node* ExpressionParser::comparison() {
  const Token start = token_;
  Node* left = binary(1);
  const Sign sign = comparison_sign();
  if (sign == Sign::None) return left;
  Node* made = joined(NodeKind::Compare, start, left, binary(1));
  made->sign = sign;
  if (comparison_sign() != Sign::None) {
    refuse(file_.name, made->line,
           "a chain of comparisons is not part of the language of archives");
  }
  return made;
}

const Operator* ExpressionParser::binary_operator() const {
  if (token_.kind != TokenKind::Sign) return nullptr;
  for (const Operator& known : kOperators) {
    if (token_.text == known.text) return &known;
  }
  return nullptr;
}

Node* ExpressionParser::binary(int least) {
  const Token start = token_;
  Node* left = unary();
  for (;;) {
    const Operator* found = binary_operator();
    if (!found || found->level < least) return left;
    Level level(this);
    take();
    left = joined(NodeKind::Binary, start, left, binary(found->level + 1));
    left->sign = found->sign;
  }
}

Node* ExpressionParser::unary() {
  Sign sign = token_.is("-") ? Sign::Negate : token_.is("~") ? Sign::Invert : Sign::None;
  if (sign == Sign::None) return power();
  Level level(this);
  const Token start = take();
  Node* inner = unary();
  if (sign == Sign::Negate) {
    if (inner->kind == NodeKind::Int) {
      // -2^63 is in range, though 2^63 is not: see atom(). A second minus gives 2^63 again.
      const bool is_least = inner->integer == INT64_MIN && inner->sign == Sign::None;
      inner->integer = int64_t(-uint64_t(inner->integer));
      inner->sign = is_least ? Sign::Invert : Sign::None;
      return inner;
    }
    if (inner->kind == NodeKind::Float || inner->kind == NodeKind::Imaginary) {
      inner->real = -inner->real;
      return inner;
    }
  }
  Node* made = node(NodeKind::Unary, start);
  made->sign = sign;
  made->a = inner;
  return made;
}

Node* ExpressionParser::power() {
  const Token start = token_;
  Node* base = postfix(start, atom());
  if (!token_.is("**")) return base;
  Level level(this);
  take();
  Node* made = joined(NodeKind::Binary, start, base, unary());
  made->sign = Sign::Power;
  return made;
}

Node* ExpressionParser::postfix(const Token& start, Node* value) {
  int count = 0;
  for (;;) {
    if (token_.kind != TokenKind::Sign) return value;
    if (accept(".")) {
      Node* made = node(NodeKind::Attribute, start);
      made->a = value;
      made->text = token_.kind == TokenKind::Word ? take().text : name();
      value = made;
    } else if (token_.is("(")) {
      value = call(start, value);
    } else if (token_.is("[")) {
      value = subscript(start, value);
    } else {
      return value;
    }
    if (++count > kMostNested) fail("code is nested over ", kMostNested, " deep");
  }
}

Node* ExpressionParser::call(const Token& begin, Node* function) {
  Level level(this);
  Node* made = node(NodeKind::Call, begin);
  made->a = function;
  take();
  Growing arguments(this);
  size_t by_position = 0;  // the others are keywords
  while (!accept(")")) {
    Node* argument = expression();
    if (token_.is("=") && argument->kind == NodeKind::Name) {
      take();
      Node* keyword = node(NodeKind::Keyword, argument);
      keyword->text = argument->text;
      keyword->a = expression();
      arguments.push(keyword);
    } else {
      if (arguments.size() > by_position++) {
        fail("an argument by position stands behind one by name");
      }
      arguments.push(argument);
    }
    if (!token_.is(")")) expect(",");
  }
  made->items = arguments.row(0, by_position);
  made->more = arguments.row(by_position, arguments.size());
  return made;
}

Node* ExpressionParser::slice_part() {
  return token_.is(":") || token_.is("]") || token_.is(",") ? nullptr : expression();
}

Node* ExpressionParser::index() {
  const Token start = token_;
  Node* first = slice_part();
  if (!token_.is(":")) {
    if (!first) fail("an index is missing");
    return first;
  }
  Node* made = node(NodeKind::Slice, start);
  take();
  made->a = first;
  made->b = slice_part();
  if (accept(":")) made->c = slice_part();
  return made;
}

Node* ExpressionParser::subscript(const Token& begin, Node* owner) {
  Level level(this);
  Node* made = node(NodeKind::Subscript, begin);
  made->a = owner;
  take();
  const Token start = token_;
  Growing found(this);
  found.push(index());
  bool is_tuple = false;
  while (accept(",")) {
    is_tuple = true;
    if (token_.is("]")) break;
    found.push(index());
  }
  expect("]");
  made->b = is_tuple ? tuple(start, found.row()) : found[0];
  return made;
}

Node* ExpressionParser::atom() {
  const Token start = token_;
  switch (token_.kind) {
    case TokenKind::Word: return word();
    case TokenKind::Int: {
      Node* made = node(NodeKind::Int, take());
      made->integer = start.integer;
      // 2^63 does not fit, but -2^63 does. So 2^63 is marked by a sign, which a minus before it
      // removes (see unary()). A number that still has the mark is refused where it is used.
      if (start.integer == INT64_MIN) made->sign = Sign::Invert;
      return made;
    }
    case TokenKind::Float:
    case TokenKind::Imaginary: {
      bool real = token_.kind == TokenKind::Float;
      Node* made = node(real ? NodeKind::Float : NodeKind::Imaginary, take());
      made->real = start.real;
      return made;
    }
    case TokenKind::String: return string();
    case TokenKind::Sign: break;
    default: fail("an expression is missing");
  }
  if (accept("(")) return parenthesised(start);
  if (accept("[")) {
    Node* made = node(NodeKind::List, start);
    made->items = items("]");
    return made;
  }
  if (accept("{")) return dict(start);
  if (accept("...")) return node(NodeKind::Ellipsis, start);
  fail("'", shown(), "' begins no expression");
}

Node* ExpressionParser::word() {
  const std::string_view text = token_.text;
  if (token_.keyword) fail("'", text, "' begins no expression");
  const Token at = take();
  if (text == "None") return node(NodeKind::None, at);
  if (text == "True") return node(NodeKind::True, at);
  if (text == "False") return node(NodeKind::False, at);
  Node* made = node(NodeKind::Name, at);
  made->text = text;
  return made;
}

Node* ExpressionParser::string() {
  Node* made = node(NodeKind::String, token_);
  made->text = take().text;
  while (token_.kind == TokenKind::String) {
    made->text = arena_.copy(std::string(made->text).append(take().text));
  }
  return made;
}

Row ExpressionParser::items(std::string_view close) {
  Level level(this);
  Growing found(this);
  while (!accept(close)) {
    found.push(expression());
    if (token_.is("for")) fail("a comprehension is not part of the language of archives");
    if (!token_.is(close)) expect(",");
  }
  return found.row();
}

Node* ExpressionParser::parenthesised(const Token& start) {
  if (accept(")")) return tuple(start, Row());
  Node* first = expression();
  if (!token_.is(",")) {
    expect(")");
    return first;
  }
  Growing found(this);
  found.push(first);
  while (accept(",")) {
    if (token_.is(")")) break;
    found.push(expression());
  }
  expect(")");
  return tuple(start, found.row());
}

Node* ExpressionParser::dict(const Token& start) {
  Level level(this);
  Node* made = node(NodeKind::Dict, start);
  Growing found(this);
  while (!accept("}")) {
    found.push(expression());
    expect(":");
    found.push(expression());
    if (!token_.is("}")) expect(",");
  }
  made->items = found.row();
  return made;
}

}  // namespace scriptlang::source
