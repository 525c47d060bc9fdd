// SPDX-License-Identifier: MIT
// concat(): a message of texts and numbers. Sums of std::string would take ten times the code where
// messages are made, which is most of what libmorello-runtime would consist of.
#ifndef MORELLO_SUPPORT_CONCAT_HH
#define MORELLO_SUPPORT_CONCAT_HH

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

#include "support/types.hh"

namespace morello {

/// A text, which is referred to, or an integer.
class TextPart {
 public:
  TextPart(const char* text) : TextPart(std::string_view(text)) {}
  TextPart(std::string_view text)
      : text_(text.empty() ? "" : text.data()), value_(static_cast<i64>(text.size())) {}
  TextPart(const std::string& text) : TextPart(std::string_view(text)) {}
  template <std::integral T>
  TextPart(T number) : value_(static_cast<i64>(number)), signed_(std::is_signed_v<T>) {}

  void append_to(std::string& text) const;

 private:
  const char* text_ = nullptr;
  i64 value_;  // of a text: its length
  bool signed_ = false;
};

std::string concat(std::initializer_list<TextPart> parts);

}  // namespace morello

#endif
