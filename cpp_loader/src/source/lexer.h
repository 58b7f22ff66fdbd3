// The lexer: splits text into tokens, with Python's rules for lines and indentation.
#pragma once

#include "syntax.h"

namespace scriptlang::source {

enum class TokenKind : uint8_t {
  End,
  NewLine,
  Indent,
  Dedent,
  Word,
  Int,
  Float,
  Imaginary,
  String,
  Sign,
};

struct Token {
  TokenKind kind = TokenKind::End;
  bool keyword = false;  // a Word that Python reserves
  uint32_t line = 1;
  uint32_t at = 0;        // offset
  std::string_view text;  // as written; for a String, its value
  union {
    int64_t integer = 0;
    double real;
  };
  bool is(std::string_view sign) const {
    return text.size() == sign.size() && text[0] == sign[0] &&
           (kind == TokenKind::Sign || kind == TokenKind::Word) && text == sign;
  }
};

class Lexer {
 public:
  Lexer(const SourceFile& file, Arena* arena, Budget* budget);
  Token next();

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(file_.name, line_, parts...);
  }
  char peek(size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  bool start_line(Token* token);
  void skip_blanks();
  Token word();
  Token number();
  Token string();
  void escape(std::string* out);
  void code_point(uint32_t code, std::string* out);
  size_t sign_size() const;
  Token sign();
  Token made(TokenKind kind, size_t begin) const;

  const SourceFile& file_;
  std::string_view text_;
  Arena* arena_;
  Budget* budget_;
  size_t position_ = 0;
  uint32_t line_ = 1;
  int open_ = 0;  // number of open brackets, in which lines do not end
  bool at_line_start_ = true, ended_ = false;
  std::vector<uint32_t> indents_{0};
  uint32_t dedents_ = 0;  // how many Dedent tokens are still to be given
};

}  // namespace scriptlang::source
