// The parser of expressions. It is a recursive descent parser; binary operators are parsed by
// precedence climbing. The parser of statements (parser.cpp) derives from it.
#pragma once

#include <utility>
#include <vector>

#include "lexer.h"

namespace scriptlang::source {

constexpr int kMostNested = 100;

struct Operator;

class ExpressionParser {
 protected:
  ExpressionParser(SourceFile* file, Arena* arena, Budget* budget)
      : file_(*file), arena_(*arena), lexer_(*file, arena, budget) {
    token_ = lexer_.next();
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(file_.name, token_.line, parts...);
  }

  // One level of nesting, of blocks and expressions.
  struct Level {
    explicit Level(ExpressionParser* p) : parser(p) {
      if (++p->depth_ > kMostNested) p->fail("code is nested over ", kMostNested, " deep");
    }
    ~Level() { --parser->depth_; }
    ExpressionParser* parser;
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
  std::string_view name() {
    if (token_.kind != TokenKind::Word || token_.keyword) {
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
  Row row(Node* const* nodes, size_t count) {
    Row made;
    made.count = uint32_t(count);
    made.first = static_cast<Node**>(arena_.take(count * sizeof(Node*)));
    std::copy(nodes, nodes + count, made.first);
    return made;
  }

  // A row of nodes that grows while it is parsed. Rows may be nested, since all of them are on one
  // stack.
  class Growing {
   public:
    explicit Growing(ExpressionParser* parser) : parser_(*parser), begin_(parser->stack_.size()) {}
    Growing(const Growing&) = delete;
    ~Growing() { parser_.stack_.resize(begin_); }
    void push(Node* node) { parser_.stack_.push_back(node); }
    size_t size() const { return parser_.stack_.size() - begin_; }
    Node* operator[](size_t k) const { return parser_.stack_[begin_ + k]; }
    Row row(size_t from, size_t to) const {
      return parser_.row(parser_.stack_.data() + begin_ + from, to - from);
    }
    Row row() const { return row(0, size()); }

   private:
    ExpressionParser& parser_;
    size_t begin_;
  };

  Node* tuple(const Token& start, Row items);
  bool ends_list() const;
  // An expression, or a tuple without brackets (`a, b`).
  Node* expression_list();
  Node* expression();
  Node* joined(NodeKind kind, const Token& start, Node* a, Node* b);
  Node* disjunction();
  Node* conjunction();
  Node* negation();
  Sign comparison_sign();
  Node* comparison();
  const Operator* binary_operator() const;
  Node* binary(int least);
  Node* unary();
  Node* power();
  Node* postfix(const Token& start, Node* value);
  Node* call(const Token& begin, Node* function);
  Node* slice_part();
  Node* index();
  Node* subscript(const Token& begin, Node* owner);
  Node* atom();
  Node* word();
  // A string. Adjacent literals are joined.
  Node* string();
  Row items(std::string_view close);
  Node* parenthesised(const Token& start);
  Node* dict(const Token& start);

  SourceFile& file_;
  Arena& arena_;
  Lexer lexer_;
  Token token_;
  std::vector<Node*> stack_;  // the items of all rows that grow
  int depth_ = 0;
};

}  // namespace scriptlang::source
