// SPDX-License-Identifier: MIT
#include "support/concat.hh"

namespace morello {

void TextPart::append_to(std::string& text) const {
  if (text_ != nullptr) {
    text.append(text_, static_cast<size_t>(value_));
    return;
  }
  const bool negative = signed_ && value_ < 0;
  u64 rest = negative ? -static_cast<u64>(value_) : static_cast<u64>(value_);
  char digits[21];
  size_t begin = sizeof(digits);
  do {
    digits[--begin] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (negative) digits[--begin] = '-';
  text.append(digits + begin, sizeof(digits) - begin);
}

std::string concat(std::initializer_list<TextPart> parts) {
  std::string text;
  for (const TextPart& part : parts) part.append_to(text);
  return text;
}

}  // namespace morello
