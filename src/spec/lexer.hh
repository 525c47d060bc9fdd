// SPDX-License-Identifier: MIT
// Tokens of the Spec language. A lexer is a position in a text: copy it to look ahead.
#ifndef MORELLO_SPEC_LEXER_HH
#define MORELLO_SPEC_LEXER_HH

#include <algorithm>
#include <string>
#include <string_view>

#include "support/result.hh"

namespace morello {

struct Token {
  enum class Kind : u8 { kEnd, kName, kNumber, kString, kSymbol, kUnknown };
  Kind kind = Kind::kEnd;
  std::string_view text;  // of kString, without the quotes
  size_t at = 0;          // byte offset in the text

  bool is(std::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  /// The next token; takes time linear in its length and the white space and comments before it.
  Token next() {
    skip_blank();
    size_t begin = at_;
    if (begin == text_.size()) return {Token::Kind::kEnd, {}, begin};
    char c = text_[begin];
    if (is_letter(c)) return token(Token::Kind::kName, skip_word());
    if (is_digit(c) || c == '.') return token(Token::Kind::kNumber, skip_number());
    if (c == '"') return string();
    for (std::string_view symbol :
         {"->", "+=", "+", "-", "*", "/", "[", "]", "{", "}", ",", "=", ";"})
      if (text_.substr(begin, symbol.size()) == symbol) {
        at_ += symbol.size();
        return token(Token::Kind::kSymbol, begin);
      }
    at_++;
    return token(Token::Kind::kUnknown, begin);
  }

 private:
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  Token token(Token::Kind kind, size_t begin) const {
    return {kind, text_.substr(begin, at_ - begin), begin};
  }

  void skip_blank() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '#')
        while (at_ < text_.size() && text_[at_] != '\n') at_++;
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        at_++;
      else
        return;
    }
  }

  /// These return where they began.
  size_t skip_word() {
    size_t begin = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) at_++;
    return begin;
  }
  size_t skip_number() {
    size_t begin = at_;
    while (at_ < text_.size()) {
      char c = text_[at_];
      bool sign = (c == '+' || c == '-') && at_ > begin &&
                  (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E') && at_ + 1 < text_.size() &&
                  is_digit(text_[at_ + 1]);
      if (!is_digit(c) && !is_letter(c) && c != '.' && !sign) break;
      at_++;
    }
    return begin;
  }

  /// An unterminated string is kUnknown, and ends with its line.
  Token string() {
    size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') at_++;
    if (at_ == text_.size() || text_[at_] != '"') return token(Token::Kind::kUnknown, begin);
    at_++;
    return {Token::Kind::kString, text_.substr(begin + 1, at_ - begin - 2), begin};
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// What an error says was found: quoted, shortened, and readable whatever the bytes are.
inline std::string describe(const Token& token) {
  if (token.kind == Token::Kind::kEnd) return "the end of the text";
  constexpr size_t kShown = 24;
  std::string shown;
  for (char c : token.text.substr(0, kShown)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      constexpr char kHex[] = "0123456789abcdef";
      shown += {'\\', 'x', kHex[static_cast<u8>(c) >> 4], kHex[static_cast<u8>(c) & 15]};
    }
  }
  if (token.text.size() > kShown) shown += "...";
  return "'" + shown + "'";
}

/// Gives an error the line and column of a byte offset.
inline void locate(std::string_view text, size_t offset, Error& error) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // 0 if there is none
  auto clamp = [](size_t n) { return static_cast<u32>(std::min<size_t>(n, ~u32{0})); };
  error.line = clamp(1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')));
  error.column = clamp(1 + offset - line_start);
}

}  // namespace morello

#endif
