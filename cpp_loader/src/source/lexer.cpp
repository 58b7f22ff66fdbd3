// The lexer of an archive's code: words, numbers, strings, signs, and lines with their indents.
#include "lexer.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "values/plain_text.h"

namespace scriptlang::source {

namespace {

constexpr size_t kMostIndents = 100, kMostDigits = 4000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool in_word(char c) { return starts_word(c) || is_digit(c); }

// The reserved words of Python in alphabetical order. A name is only compared with those of its
// first letter. None, True and False are not among them: the parser treats them as names first.
constexpr std::string_view kKeywords[] = {
    "and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
    "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
    "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
    "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield",
};

struct FirstLetters {
  uint8_t begin[27] = {};  // for each letter, the index of its first word in kKeywords
  constexpr FirstLetters() {
    for (std::string_view k : kKeywords) ++begin[k[0] - 'a' + 1];
    for (int letter = 0; letter < 26; ++letter) begin[letter + 1] += begin[letter];
  }
};
constexpr FirstLetters kFirst;

bool is_keyword(std::string_view word) {
  if (word[0] < 'a' || word[0] > 'z') return false;
  const int letter = word[0] - 'a';
  for (int k = kFirst.begin[letter]; k < kFirst.begin[letter + 1]; ++k) {
    if (kKeywords[k] == word) return true;
  }
  return false;
}

}  // namespace

Lexer::Lexer(const SourceFile& file, Arena* arena, Budget* budget)
    : file_(file), text_(file.text), arena_(arena), budget_(budget) {
  budget->spend(&Budget::source_bytes, int64_t(text_.size()), "bytes");
  if (text_.size() >= 3 && text_.substr(0, 3) == "\xef\xbb\xbf") position_ = 3;
}

Token Lexer::made(TokenKind kind, size_t begin) const {
  Token token;
  token.kind = kind;
  token.line = line_;
  token.at = uint32_t(begin);
  token.text = text_.substr(begin, position_ - begin);
  return token;
}

Token Lexer::next() {
  budget_->spend(&Budget::syntax_nodes, 1, "words and signs");
  if (dedents_ > 0) {
    --dedents_;
    return made(TokenKind::Dedent, position_);
  }
  Token token;
  if (at_line_start_ && open_ == 0 && start_line(&token)) return token;
  skip_blanks();
  if (position_ >= text_.size()) {
    if (open_ > 0) fail("a bracket is not closed");
    if (!ended_) {
      ended_ = true;
      at_line_start_ = true;
      return made(TokenKind::NewLine, position_);
    }
    return made(TokenKind::End, position_);
  }
  char c = peek();
  if (c == '\n') {
    token = made(TokenKind::NewLine, position_++);
    ++line_;
    at_line_start_ = true;
    return token;
  }
  if (starts_word(c)) return word();
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
  if (c == '"' || c == '\'') return string();
  return sign();
}

// Reads the indent of the next line that is not blank. Returns whether that gives a token, an
// Indent or a Dedent.
bool Lexer::start_line(Token* token) {
  size_t indent = 0;
  for (;;) {
    indent = 0;
    while (peek() == ' ') ++position_, ++indent;
    if (peek() == '\t') fail("a tab indents a line");
    if (peek() == '#') {
      while (position_ < text_.size() && peek() != '\n') ++position_;
    }
    if (peek() == '\r') ++position_;
    if (peek() != '\n') break;
    ++position_;
    ++line_;
  }
  at_line_start_ = false;
  if (position_ >= text_.size()) indent = 0, ended_ = true;
  if (indent > indents_.back()) {
    if (indents_.size() >= kMostIndents) fail("blocks are nested over ", kMostIndents, " deep");
    indents_.push_back(uint32_t(indent));
    *token = made(TokenKind::Indent, position_);
    return true;
  }
  while (indent < indents_.back()) {
    indents_.pop_back();
    ++dedents_;
  }
  if (indent != indents_.back()) fail("the indent fits no block");
  if (dedents_ == 0) return false;
  --dedents_;
  *token = made(TokenKind::Dedent, position_);
  return true;
}

void Lexer::skip_blanks() {
  for (;;) {
    char c = peek();
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      ++position_;
    } else if (c == '#') {
      while (position_ < text_.size() && peek() != '\n') ++position_;
    } else if (c == '\\' && peek(1) == '\n') {
      position_ += 2;
      ++line_;
    } else if (c == '\n' && open_ > 0) {
      ++position_;
      ++line_;
    } else {
      return;
    }
  }
}

Token Lexer::word() {
  const size_t begin = position_, size = text_.size();
  while (position_ < size && in_word(text_[position_])) ++position_;
  Token token = made(TokenKind::Word, begin);
  token.keyword = is_keyword(token.text);
  return token;
}

Token Lexer::number() {
  size_t begin = position_;
  bool real = false;
  if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
    position_ += 2;
    while (in_word(peek())) ++position_;
  } else {
    while (is_digit(peek())) ++position_;
    if (peek() == '.') {
      real = true;
      ++position_;
      while (is_digit(peek())) ++position_;
    }
    if ((peek() == 'e' || peek() == 'E') &&
        (is_digit(peek(1)) || ((peek(1) == '+' || peek(1) == '-') && is_digit(peek(2))))) {
      real = true;
      position_ += 2;
      while (is_digit(peek())) ++position_;
    }
  }
  if (position_ - begin > kMostDigits) fail("a number has over ", kMostDigits, " digits");
  std::string digits(text_.substr(begin, position_ - begin));
  bool imaginary = peek() == 'j' || peek() == 'J';
  if (imaginary) ++position_;
  if (in_word(peek())) fail("a name begins with a digit");
  Token token = made(imaginary ? TokenKind::Imaginary
                     : real    ? TokenKind::Float
                               : TokenKind::Int,
                     begin);
  char* end = nullptr;
  if (imaginary || real) {
    token.real = read_number(digits.c_str(), &end);
  } else {
    errno = 0;
    unsigned long long value = strtoull(digits.c_str(), &end, 0);
    if (digits[0] == '0' && digits.size() > 1 && is_digit(digits[1])) {
      fail("an int begins with 0");
    }
    // 2^63 is accepted here, because a minus may stand before it.
    if (errno == ERANGE || value > uint64_t(1) << 63) fail(digits, " does not fit 64 bits");
    token.integer = int64_t(value);
  }
  if (*end != '\0') fail("'", digits, "' is no number");
  return token;
}

void Lexer::code_point(uint32_t code, std::string* out) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) fail("a string has no such character");
  if (code < 0x80) {
    *out += char(code);
  } else if (code < 0x800) {
    *out += {char(0xc0 | code >> 6), char(0x80 | (code & 63))};
  } else if (code < 0x10000) {
    *out += {char(0xe0 | code >> 12), char(0x80 | (code >> 6 & 63)), char(0x80 | (code & 63))};
  } else {
    *out += {char(0xf0 | code >> 18), char(0x80 | (code >> 12 & 63)), char(0x80 | (code >> 6 & 63)),
             char(0x80 | (code & 63))};
  }
}

// Reads an escape of a string. The backslash was read already.
void Lexer::escape(std::string* out) {
  static constexpr char kFrom[] = "abfnrtv\\'\"", kTo[] = "\a\b\f\n\r\t\v\\'\"";
  char c = peek();
  if (const char* known = c ? std::strchr(kFrom, c) : nullptr) {
    ++position_;
    *out += kTo[known - kFrom];
  } else if (c == '\n') {
    ++position_;
    ++line_;
  } else if (c >= '0' && c <= '7') {
    uint32_t code = 0;
    for (int k = 0; k < 3 && peek() >= '0' && peek() <= '7'; ++k) {
      code = code * 8 + uint32_t(text_[position_++] - '0');
    }
    code_point(code, out);
  } else if (c == 'x' || c == 'u' || c == 'U') {
    ++position_;
    uint32_t code = 0;
    for (int k = c == 'x' ? 2 : c == 'u' ? 4 : 8; k > 0; --k) {
      char digit = peek();
      int value = is_digit(digit) ? digit - '0' : (digit | 32) - 'a' + 10;
      if (value < 0 || value > 15) fail("a string has an escape without its digits");
      ++position_;
      code = code << 4 | uint32_t(value);
    }
    code_point(code, out);
  } else {
    *out += '\\';
  }
}

Token Lexer::string() {
  size_t begin = position_;
  uint32_t line = line_;
  char quote = peek();
  bool triple = peek(1) == quote && peek(2) == quote;
  position_ += triple ? 3 : 1;
  size_t from = position_;
  std::string changed;
  bool copied = false;
  for (;;) {
    if (position_ >= text_.size()) fail("a string is not closed");
    char c = peek();
    if (c == quote && (!triple || (peek(1) == quote && peek(2) == quote))) break;
    if (c == '\n') {
      if (!triple) fail("a string is not closed");
      ++line_;
    }
    if (c == '\\') {
      if (!copied) changed.assign(text_.substr(from, position_ - from));
      copied = true;
      ++position_;
      escape(&changed);
      continue;
    }
    if (copied) changed += c;
    ++position_;
  }
  std::string_view value = text_.substr(from, position_ - from);
  position_ += triple ? 3 : 1;
  Token token = made(TokenKind::String, begin);
  token.line = line;
  token.text = copied ? arena_->copy(changed) : value;
  return token;
}

// The length of the sign at this position; 0 if there is none.
size_t Lexer::sign_size() const {
  const char c = peek(), next = peek(1);
  switch (c) {
    case '(':
    case ')':
    case '[':
    case ']':
    case '{':
    case '}':
    case ',':
    case '~':
    case ';':
    case '&':
    case '|':
    case '^':
    case '@': return 1;
    case '.': return next == '.' && peek(2) == '.' ? 3 : 1;
    case '*':
    case '/':
    case '<':
    case '>':
      if (next == c) return peek(2) == '=' ? 3 : 2;
      return next == '=' ? 2 : 1;
    case '-': return next == '>' || next == '=' ? 2 : 1;
    case '=':
    case '+':
    case '%':
    case ':': return next == '=' ? 2 : 1;
    case '!': return next == '=' ? 2 : 0;
    default: return 0;
  }
}

Token Lexer::sign() {
  const size_t size = sign_size(), begin = position_;
  const char c = peek();
  if (size == 0) fail("the character '", text_.substr(begin, 1), "' is not part of the language");
  position_ += size;
  if (c == '(' || c == '[' || c == '{') ++open_;
  if (c == ')' || c == ']' || c == '}') {
    if (--open_ < 0) fail("a bracket is closed that was not opened");
  }
  return made(TokenKind::Sign, begin);
}

}  // namespace scriptlang::source
