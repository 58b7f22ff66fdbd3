// The syntax tree of an archive's code. Nodes live in an arena, as long as the arena does.
//
// The code is a small part of Python, as torch.jit.save prints it; the lexer and the parser accept
// a little more than that. All nodes are one struct: `items` and `more` are rows of children, `a`,
// `b` and `c` single ones. NodeKind says which of them each kind uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "values/error.h"

namespace scriptlang::source {

// Blocks of memory that are freed together. Destructors of the objects in them are not called.
class Arena {
 public:
  void* take(size_t bytes) {
    bytes = (bytes + 15) & ~size_t(15);
    if (bytes > left_) grow(bytes);
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }
  template <class T>
  T* make() {
    return new (take(sizeof(T))) T;
  }
  std::string_view copy(std::string_view text);

 private:
  void grow(size_t bytes);
  char* next_ = nullptr;
  size_t left_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
};

struct Node;

// An array of nodes in the arena.
struct Row {
  Node** first = nullptr;
  uint32_t count = 0;
  Node** begin() const { return first; }
  Node** end() const { return first + count; }
  Node* operator[](size_t k) const { return first[k]; }
  size_t size() const { return count; }
  bool empty() const { return count == 0; }
};

enum class NodeKind : uint8_t {
  // expressions
  Name,       // text
  Attribute,  // a.text
  Subscript,  // a[b]
  Slice,      // a:b:c inside a subscript; parts may be null
  Call,       // a(items, more); more are Keywords
  Keyword,    // text=a
  Int,        // integer
  Float,      // real
  Imaginary,  // real
  String,     // text
  True,
  False,
  None,
  Ellipsis,
  Unary,    // sign a
  Binary,   // a sign b
  Compare,  // a sign b
  And,      // a, b
  Or,       // a, b
  Not,      // a
  Choice,   // b if a else c
  Tuple,    // items
  List,     // items
  Dict,     // items: key, value, key, value...
  // statements
  Assign,      // items = a; several items are chained targets
  Annotated,   // a: b = c; c may be null
  If,          // a: the condition; items: the body; more: the else branch
  While,       // a: the condition; items: the body
  For,         // a in b; items: the body
  With,        // items: pairs of value and name or null; more: the body
  Return,      // a, may be null
  Expression,  // a
  Pass,
  Break,
  Continue,
  Raise,      // a
  Assert,     // a, b may be null
  Function,   // text; items: Parameters; more: the body; b: the result's type or null
  Parameter,  // text: a = b; sign is ByName if it is keyword-only
  Class,      // text; a: the base or null; more: the body
};

enum class Sign : uint8_t {
  None,
  Add,
  Subtract,
  Multiply,
  Divide,
  FloorDivide,
  Modulo,
  Power,
  MatrixMultiply,
  And,
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  Invert,
  Negate,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Is,
  IsNot,
  In,
  NotIn,
  ByName,
};

struct Node {
  NodeKind kind;
  Sign sign = Sign::None;
  uint32_t line = 0;  // from 1
  uint32_t at = 0;    // offset in the file
  union {
    int64_t integer = 0;
    double real;
  };
  std::string_view text;
  Node *a = nullptr, *b = nullptr, *c = nullptr;
  Row items, more;
};

// Limits of what reading and compiling all sources of an archive may use. The defaults are those of
// scriptlang/budgets.py. The fields are counted down.
struct Budget {
  int64_t source_bytes = int64_t(16) << 20;
  int64_t syntax_nodes = 1'000'000;  // words and signs
  int64_t instructions = 4'000'000;  // of all functions
  void spend(int64_t Budget::* field, int64_t amount, const char* what) {
    if ((this->*field -= amount) < 0) {
      raise(ErrorKind::LimitError, "the archive's code has too many ", what,
            "; no model that was seen comes near");
    }
  }
};

// One file of code: the name of its record, its text, and its statements (`top`).
struct SourceFile {
  std::string_view name;
  std::string_view text;
  Row top;
  std::shared_ptr<const LineStarts> line_starts;
};

// Raises an ArchiveError with the file, the line and the reason.
template <class... Parts>
[[noreturn]] void refuse(std::string_view file, uint32_t line, const Parts&... parts) {
  raise(ErrorKind::ArchiveError, file, ":", line, ": ", parts...);
}

// Parses file->text, and fills file->top. Raises ArchiveError for what is not in the grammar, and
// LimitError beyond the budget.
void parse(SourceFile* file, Arena* arena, Budget* budget);

// Sets *text to "a.b.c" for a chain of attributes. False for other expressions.
bool dotted(const Node& node, std::string* text);

}  // namespace scriptlang::source
