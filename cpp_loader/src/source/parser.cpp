// The parser of an archive's code: recursive descent, binary operators by their precedence.
#include <utility>

#include "lexer.h"

namespace scriptlang::source {

std::string_view Arena::copy(std::string_view text) {
  char* to = static_cast<char*>(take(text.size() + 1));
  text.copy(to, text.size());
  return {to, text.size()};
}

void Arena::grow(size_t bytes) {
  constexpr size_t kBlock = 64 << 10;
  const size_t room = std::max(bytes, kBlock);
  std::unique_ptr<char[]> block(new char[room]);
  blocks_.push_back(std::move(block));
  next_ = blocks_.back().get();
  left_ = room;
}

bool dotted(const Node& node, std::string* text) {
  if (node.kind == NodeKind::Name) {
    *text = node.text;
    return true;
  }
  if (node.kind != NodeKind::Attribute || !dotted(*node.a, text)) return false;
  text->append(1, '.').append(node.text);
  return true;
}

namespace {

constexpr int kMostNested = 100;

struct Operator {
  std::string_view text;
  int level;  // binds stronger when greater
  Sign sign;
};
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
constexpr std::string_view kKeywords[] = {
    "if",    "else",   "elif",    "for",      "while",    "in",    "is",     "not",
    "and",   "or",     "def",     "class",    "return",   "pass",  "with",   "as",
    "raise", "assert", "break",   "continue", "lambda",   "del",   "import", "from",
    "try",   "except", "finally", "global",   "nonlocal", "yield", "async",  "await",
};

class Parser {
 public:
  Parser(SourceFile* file, Arena* arena, Budget* budget)
      : file_(*file), arena_(*arena), lexer_(*file, arena, budget) {
    token_ = lexer_.next();
  }

  Row file() {
    std::vector<Node*> found;
    while (token_.kind != TokenKind::End) {
      if (token_.kind == TokenKind::NewLine) {
        take();
      } else if (token_.is("import") || token_.is("from")) {
        while (token_.kind != TokenKind::NewLine) take();
      } else {
        statement(&found);
      }
    }
    return row(found);
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(file_.name, token_.line, parts...);
  }

  // One level of nesting, of blocks and expressions.
  struct Level {
    explicit Level(Parser* p) : parser(p) {
      if (++p->depth_ > kMostNested) p->fail("code is nested over ", kMostNested, " deep");
    }
    ~Level() { --parser->depth_; }
    Parser* parser;
  };

  Token take() { return std::exchange(token_, lexer_.next()); }
  bool accept(std::string_view text) {
    if (!token_.is(text)) return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail("'", text, "' should stand where '", shown(), "' does");
  }
  std::string_view shown() const {
    return token_.kind == TokenKind::NewLine || token_.kind == TokenKind::End
               ? std::string_view("the end of the line")
               : token_.text.substr(0, 60);
  }
  static bool is_keyword(std::string_view word) {
    for (std::string_view k : kKeywords) {
      if (k == word) return true;
    }
    return false;
  }
  std::string_view name() {
    if (token_.kind != TokenKind::Word || is_keyword(token_.text)) {
      fail("a name should stand where '", shown(), "' does");
    }
    return take().text;
  }

  Node* node(NodeKind kind, const Token& at) {
    Node* made = arena_.make<Node>();
    made->kind = kind;
    made->line = at.line;
    made->at = at.at;
    return made;
  }
  Node* node(NodeKind kind, const Node* like) {
    Node* made = arena_.make<Node>();
    made->kind = kind;
    made->line = like->line;
    made->at = like->at;
    return made;
  }
  Row row(const std::vector<Node*>& nodes) {
    Row made;
    made.count = uint32_t(nodes.size());
    made.first = static_cast<Node**>(arena_.take(nodes.size() * sizeof(Node*)));
    std::copy(nodes.begin(), nodes.end(), made.first);
    return made;
  }

  // ---- statements

  Row block() {
    Level level(this);
    expect(":");
    std::vector<Node*> found;
    if (token_.kind != TokenKind::NewLine) {
      simple_line(&found);
      return row(found);
    }
    take();
    if (token_.kind != TokenKind::Indent) fail("a block is missing");
    take();
    while (token_.kind != TokenKind::Dedent && token_.kind != TokenKind::End) statement(&found);
    if (token_.kind == TokenKind::Dedent) take();
    return row(found);
  }

  void statement(std::vector<Node*>* out) {
    if (token_.kind == TokenKind::NewLine) {
      take();
      return;
    }
    if (token_.kind == TokenKind::Word) {
      if (Node* made = compound()) {
        out->push_back(made);
        return;
      }
    }
    simple_line(out);
  }

  void simple_line(std::vector<Node*>* out) {
    do {
      if (token_.kind == TokenKind::NewLine) break;
      out->push_back(simple());
    } while (accept(";"));
    if (token_.kind == TokenKind::End) return;
    if (token_.kind != TokenKind::NewLine) fail("'", shown(), "' should begin a line");
    take();
  }

  Node* compound() {
    const std::string_view word = token_.text;
    if (word == "if") return conditional();
    if (word == "while") {
      Node* made = node(NodeKind::While, take());
      made->a = expression();
      made->items = block();
      return made;
    }
    if (word == "for") {
      Node* made = node(NodeKind::For, take());
      made->a = targets();
      expect("in");
      made->b = expression_list();
      made->items = block();
      return made;
    }
    if (word == "with") return with();
    if (word == "def") return function();
    if (word == "class") return class_definition();
    return nullptr;
  }

  Node* conditional() {
    Level level(this);
    Node* made = node(NodeKind::If, take());
    made->a = expression();
    made->items = block();
    if (token_.is("elif")) {
      made->more = row({conditional()});
    } else if (accept("else")) {
      made->more = block();
    }
    return made;
  }

  Node* with() {
    Node* made = node(NodeKind::With, take());
    std::vector<Node*> items;
    do {
      items.push_back(expression());
      items.push_back(accept("as") ? expression() : nullptr);
    } while (accept(","));
    made->items = row(items);
    made->more = block();
    return made;
  }

  Node* function() {
    Level level(this);
    Node* made = node(NodeKind::Function, take());
    made->text = name();
    expect("(");
    std::vector<Node*> parameters;
    bool by_name = false;
    while (!accept(")")) {
      if (accept("*")) {
        if (by_name || !token_.is(",")) fail("a signature that archives do not have");
        by_name = true;
      } else {
        Node* parameter = node(NodeKind::Parameter, token_);
        parameter->text = name();
        if (by_name) parameter->sign = Sign::ByName;
        if (accept(":")) parameter->a = expression();
        if (accept("=")) parameter->b = expression();
        parameters.push_back(parameter);
      }
      if (!token_.is(")")) expect(",");
    }
    made->items = row(parameters);
    if (accept("->")) made->b = expression();
    made->more = block();
    return made;
  }

  Node* class_definition() {
    Level level(this);
    Node* made = node(NodeKind::Class, take());
    made->text = name();
    if (accept("(")) {
      if (!token_.is(")")) made->a = expression();
      expect(")");
    }
    made->more = block();
    return made;
  }

  Node* simple() {
    if (token_.kind == TokenKind::Word) {
      const std::string_view word = token_.text;
      if (word == "pass") return node(NodeKind::Pass, take());
      if (word == "break") return node(NodeKind::Break, take());
      if (word == "continue") return node(NodeKind::Continue, take());
      if (word == "return") {
        Node* made = node(NodeKind::Return, take());
        if (token_.kind != TokenKind::NewLine && !token_.is(";")) made->a = expression_list();
        return made;
      }
      if (word == "raise") {
        Node* made = node(NodeKind::Raise, take());
        made->a = expression();
        return made;
      }
      if (word == "assert") {
        Node* made = node(NodeKind::Assert, take());
        made->a = expression();
        if (accept(",")) made->b = expression();
        return made;
      }
    }
    return assignment();
  }

  Node* assignment() {
    const Token start = token_;
    Node* first = expression_list();
    if (accept(":")) {
      Node* made = node(NodeKind::Annotated, start);
      made->a = first;
      made->b = expression();
      if (accept("=")) made->c = expression_list();
      return made;
    }
    if (!token_.is("=")) {
      if (token_.kind == TokenKind::Sign && token_.text.size() > 1 && token_.text.back() == '=') {
        fail("an assignment by '", token_.text, "' is nothing that archives have");
      }
      Node* made = node(NodeKind::Expression, start);
      made->a = first;
      return made;
    }
    Node* made = node(NodeKind::Assign, start);
    std::vector<Node*> targets{first};
    while (accept("=")) targets.push_back(expression_list());
    made->a = targets.back();
    targets.pop_back();
    made->items = row(targets);
    return made;
  }

  Node* targets() {
    const Token start = token_;
    std::vector<Node*> found{unary()};
    bool is_tuple = false;
    while (accept(",")) {
      is_tuple = true;
      if (token_.is("in")) break;
      found.push_back(unary());
    }
    return is_tuple ? tuple(start, found) : found[0];
  }

  // ---- expressions

  Node* tuple(const Token& start, const std::vector<Node*>& items) {
    Node* made = node(NodeKind::Tuple, start);
    made->items = row(items);
    return made;
  }

  bool ends_list() const {
    return token_.kind == TokenKind::NewLine || token_.kind == TokenKind::End ||
           (token_.kind == TokenKind::Sign &&
            (token_.text == ")" || token_.text == "]" || token_.text == "}" || token_.text == "=" ||
             token_.text == ":" || token_.text == ";"));
  }

  // `a, b,` is a tuple.
  Node* expression_list() {
    const Token start = token_;
    Node* first = expression();
    if (!token_.is(",")) return first;
    std::vector<Node*> found{first};
    while (accept(",")) {
      if (ends_list()) break;
      found.push_back(expression());
    }
    return tuple(start, found);
  }

  Node* expression() {
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

  Node* joined(NodeKind kind, const Token& start, Node* a, Node* b) {
    Node* made = node(kind, start);
    made->a = a;
    made->b = b;
    return made;
  }

  Node* disjunction() {
    const Token start = token_;
    Node* left = conjunction();
    if (!token_.is("or")) return left;
    Level level(this);
    take();
    return joined(NodeKind::Or, start, left, disjunction());
  }

  Node* conjunction() {
    const Token start = token_;
    Node* left = negation();
    if (!token_.is("and")) return left;
    Level level(this);
    take();
    return joined(NodeKind::And, start, left, conjunction());
  }

  Node* negation() {
    if (!token_.is("not")) return comparison();
    Level level(this);
    Node* made = node(NodeKind::Not, take());
    made->a = negation();
    return made;
  }

  Sign comparison_sign() {
    if (token_.kind == TokenKind::Word) {
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

  Node* comparison() {
    const Token start = token_;
    Node* left = binary(1);
    Node* made = nullptr;
    for (;;) {
      Sign sign = comparison_sign();
      if (sign == Sign::None) return made ? made : left;
      Node* right = binary(1);
      Node* one = joined(NodeKind::Compare, start, left, right);
      one->sign = sign;
      if (made) refuse(file_.name, one->line, "a chain of comparisons is nothing archives have");
      made = one;
      left = right;
    }
  }

  const Operator* binary_operator() const {
    if (token_.kind != TokenKind::Sign) return nullptr;
    for (const Operator& known : kOperators) {
      if (token_.text == known.text) return &known;
    }
    return nullptr;
  }

  Node* binary(int least) {
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

  Node* unary() {
    Sign sign = token_.is("-") ? Sign::Negate : token_.is("~") ? Sign::Invert : Sign::None;
    if (sign == Sign::None) return power();
    Level level(this);
    const Token start = take();
    Node* inner = unary();
    if (sign == Sign::Negate) {
      if (inner->kind == NodeKind::Int) {
        inner->integer = int64_t(-uint64_t(inner->integer));
        inner->c = nullptr;
        inner->sign = Sign::None;  // the least one is one now
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

  Node* power() {
    const Token start = token_;
    Node* base = postfix(start, atom());
    if (!token_.is("**")) return base;
    Level level(this);
    take();
    Node* made = joined(NodeKind::Binary, start, base, unary());
    made->sign = Sign::Power;
    return made;
  }

  Node* postfix(const Token& start, Node* value) {
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

  Node* call(const Token& begin, Node* function) {
    Level level(this);
    Node* made = node(NodeKind::Call, begin);
    made->a = function;
    take();
    std::vector<Node*> arguments, keywords;
    while (!accept(")")) {
      Node* argument = expression();
      if (token_.is("=") && argument->kind == NodeKind::Name) {
        take();
        Node* keyword = node(NodeKind::Keyword, argument);
        keyword->text = argument->text;
        keyword->a = expression();
        keywords.push_back(keyword);
      } else {
        if (!keywords.empty()) fail("an argument by position stands behind one by name");
        arguments.push_back(argument);
      }
      if (!token_.is(")")) expect(",");
    }
    made->items = row(arguments);
    made->more = row(keywords);
    return made;
  }

  Node* slice_part() {
    return token_.is(":") || token_.is("]") || token_.is(",") ? nullptr : expression();
  }

  Node* index() {
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

  Node* subscript(const Token& begin, Node* owner) {
    Level level(this);
    Node* made = node(NodeKind::Subscript, begin);
    made->a = owner;
    take();
    const Token start = token_;
    std::vector<Node*> found{index()};
    bool is_tuple = false;
    while (accept(",")) {
      is_tuple = true;
      if (token_.is("]")) break;
      found.push_back(index());
    }
    expect("]");
    made->b = is_tuple ? tuple(start, found) : found[0];
    return made;
  }

  Node* atom() {
    const Token start = token_;
    switch (token_.kind) {
      case TokenKind::Word: return word();
      case TokenKind::Int: {
        Node* made = node(NodeKind::Int, take());
        made->integer = start.integer;
        // 2^63 has a minus before it, or is refused where it is used.
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

  Node* word() {
    const std::string_view text = token_.text;
    if (is_keyword(text)) fail("'", text, "' begins no expression");
    const Token at = take();
    if (text == "None") return node(NodeKind::None, at);
    if (text == "True") return node(NodeKind::True, at);
    if (text == "False") return node(NodeKind::False, at);
    Node* made = node(NodeKind::Name, at);
    made->text = text;
    return made;
  }

  // Strings side by side are one.
  Node* string() {
    Node* made = node(NodeKind::String, token_);
    made->text = take().text;
    while (token_.kind == TokenKind::String) {
      made->text = arena_.copy(std::string(made->text).append(take().text));
    }
    return made;
  }

  Row items(std::string_view close) {
    Level level(this);
    std::vector<Node*> found;
    while (!accept(close)) {
      found.push_back(expression());
      if (token_.is("for")) fail("a comprehension is nothing that archives have");
      if (!token_.is(close)) expect(",");
    }
    return row(found);
  }

  Node* parenthesised(const Token& start) {
    if (accept(")")) return tuple(start, {});
    Node* first = expression();
    if (!token_.is(",")) {
      expect(")");
      return first;
    }
    std::vector<Node*> found{first};
    while (accept(",")) {
      if (token_.is(")")) break;
      found.push_back(expression());
    }
    expect(")");
    return tuple(start, found);
  }

  Node* dict(const Token& start) {
    Level level(this);
    Node* made = node(NodeKind::Dict, start);
    std::vector<Node*> found;
    while (!accept("}")) {
      found.push_back(expression());
      expect(":");
      found.push_back(expression());
      if (!token_.is("}")) expect(",");
    }
    made->items = row(found);
    return made;
  }

  SourceFile& file_;
  Arena& arena_;
  Lexer lexer_;
  Token token_;
  int depth_ = 0;
};

}  // namespace

void parse(SourceFile* file, Arena* arena, Budget* budget) {
  file->top = Parser(file, arena, budget).file();
}

}  // namespace scriptlang::source
