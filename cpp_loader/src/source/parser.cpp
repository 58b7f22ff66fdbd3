// The parser of an archive's code: parses statements, blocks and definitions.
#include <utility>

#include "expression_parser.h"

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

class Parser : ExpressionParser {
 public:
  Parser(SourceFile* file, Arena* arena, Budget* budget) : ExpressionParser(file, arena, budget) {}

  Row file() {
    Growing found(this);
    while (token_.kind != TokenKind::End) {
      if (token_.kind == TokenKind::NewLine) {
        take();
      } else if (token_.is("import") || token_.is("from")) {
        while (token_.kind != TokenKind::NewLine) take();
      } else {
        statement(&found);
      }
    }
    return found.row();
  }

 private:
  Row block() {
    Level level(this);
    expect(":");
    Growing found(this);
    if (token_.kind != TokenKind::NewLine) {
      simple_line(&found);
      return found.row();
    }
    take();
    if (token_.kind != TokenKind::Indent) fail("a block is missing");
    take();
    while (token_.kind != TokenKind::Dedent && token_.kind != TokenKind::End) statement(&found);
    if (token_.kind == TokenKind::Dedent) take();
    return found.row();
  }

  void statement(Growing* out) {
    if (token_.kind == TokenKind::NewLine) {
      take();
      return;
    }
    if (token_.keyword) {
      if (Node* made = compound()) {
        out->push(made);
        return;
      }
    }
    simple_line(out);
  }

  void simple_line(Growing* out) {
    do {
      if (token_.kind == TokenKind::NewLine) break;
      out->push(simple());
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
      Node* other = conditional();
      made->more = row(&other, 1);
    } else if (accept("else")) {
      made->more = block();
    }
    return made;
  }

  Node* with() {
    Node* made = node(NodeKind::With, take());
    Growing items(this);
    do {
      items.push(expression());
      items.push(accept("as") ? expression() : nullptr);
    } while (accept(","));
    made->items = items.row();
    made->more = block();
    return made;
  }

  Node* function() {
    Level level(this);
    Node* made = node(NodeKind::Function, take());
    made->text = name();
    expect("(");
    Growing parameters(this);
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
        parameters.push(parameter);
      }
      if (!token_.is(")")) expect(",");
    }
    made->items = parameters.row();
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
    if (token_.keyword) {
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
        fail("the assignment '", token_.text, "' is not part of the language of archives");
      }
      Node* made = node(NodeKind::Expression, start);
      made->a = first;
      return made;
    }
    Node* made = node(NodeKind::Assign, start);
    Growing targets(this);
    targets.push(first);
    while (accept("=")) targets.push(expression_list());
    made->a = targets[targets.size() - 1];
    made->items = targets.row(0, targets.size() - 1);
    return made;
  }

  Node* targets() {
    const Token start = token_;
    Growing found(this);
    found.push(unary());
    bool is_tuple = false;
    while (accept(",")) {
      is_tuple = true;
      if (token_.is("in")) break;
      found.push(unary());
    }
    return is_tuple ? tuple(start, found.row()) : found[0];
  }
};

}  // namespace

void parse(SourceFile* file, Arena* arena, Budget* budget) {
  file->top = Parser(file, arena, budget).file();
}

}  // namespace scriptlang::source
