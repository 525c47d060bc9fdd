// SPDX-License-Identifier: MIT
// Result<T>: a value or an Error. The statuses are those of the C ABI, so that a layer far below it
// can already say precisely what went wrong.
#ifndef MORELLO_SUPPORT_RESULT_HH
#define MORELLO_SUPPORT_RESULT_HH

#include <string>
#include <utility>
#include <variant>

#include "morello/morello.h"
#include "support/types.hh"

namespace morello {

using Status = morello_status;

/// What is wrong, where, and what would be valid. `line` and `column` are 1-based, 0 if not in a
/// text.
struct Error {
  Status status = MORELLO_INTERNAL;
  std::string message;
  u32 line = 0;
  u32 column = 0;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : data_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : data_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return data_.index() == 0; }
  explicit operator bool() const { return ok(); }
  /// REQUIRES: ok()
  T& value() { return std::get<0>(data_); }
  const T& value() const { return std::get<0>(data_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  /// REQUIRES: !ok()
  Error& error() { return std::get<1>(data_); }
  const Error& error() const { return std::get<1>(data_); }

 private:
  std::variant<T, Error> data_;
};

}  // namespace morello

#endif
