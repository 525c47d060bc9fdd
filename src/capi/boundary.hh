// SPDX-License-Identifier: MIT
// The wall between C callers and the library: argument checks, growing structs, and a guard that
// turns every exception into a status.
#ifndef MORELLO_CAPI_BOUNDARY_HH
#define MORELLO_CAPI_BOUNDARY_HH

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "morello/morello.h"
#include "support/result.hh"

namespace morello {

/// The value of a call that only succeeds or fails.
struct Done {};

inline Error invalid_argument(std::string message) {
  return {MORELLO_INVALID_ARGUMENT, std::move(message)};
}

/// A pointer argument that must not be NULL.
struct Argument {
  const char* name;
  const void* pointer;
};
/// The error that names the first NULL one.
std::optional<Error> find_null(std::initializer_list<Argument> arguments);

/// "MORELLO_ISA_AVX2 (1)", for messages.
std::string isa_constant(std::string_view name, i32 number);

/// Returns error.status, and gives *err, if the caller wants one, an error object. Where there is
/// no memory for it, *err becomes NULL.
morello_status report(const Error& error, morello_error** err) noexcept;
/// The same without touching std::string, which may be what ran out of memory.
morello_status report(morello_status status, const char* message, morello_error** err) noexcept;

/// Reports the exception that is being handled.
morello_status report_exception(morello_error** err) noexcept;

// Every function of the C interface does what can throw, which is nearly everything, inside one of
// these (`lint.py boundary`).

/// Runs `body`, a function () -> Result<Done>, and reports what it returns or throws.
template <class Body>
morello_status guarded(morello_error** err, Body&& body) noexcept {
  try {
    const Result<Done> done = body();
    return done.ok() ? MORELLO_OK : report(done.error(), err);
  } catch (...) {
    return report_exception(err);
  }
}
/// The same for functions without an error object; `body` returns the status.
template <class Body>
morello_status guarded_status(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return report_exception(nullptr);
  }
}
/// What `body` returns; if it throws, which means that there is no memory, `otherwise`.
template <class T, class Body>
T guarded_value(T otherwise, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return otherwise;
  }
}

/// Sizes that growing structs had in the first release that had them, and the most that any will
/// have: beyond it, struct_size is taken for garbage.
inline constexpr size_t kFirstCpuInfo = 112;
inline constexpr size_t kFirstContextOptions = 16;
inline constexpr size_t kFirstOptions = 40;
inline constexpr size_t kFirstExecutor = 24;
inline constexpr size_t kFirstSearchStats = 72;
inline constexpr size_t kFirstCode = 56;
inline constexpr size_t kFirstCodeFunction = 32;
inline constexpr size_t kFirstTableInfo = 120;
inline constexpr size_t kFirstTableVerification = 552;
inline constexpr size_t kFirstPrecomputeOptions = 72;
inline constexpr size_t kLargestStruct = 4096;

/// What is wrong with the struct_size of a struct that the caller filled: `known` is its size here,
/// and bytes that only newer callers know must be 0.
std::optional<Error> check_struct(const void* given, size_t first, size_t known, const char* name);

/// `given` as this version knows it, or `defaults` if it is NULL. Fields that an older caller did
/// not know have their defaults.
template <class T>
Result<T> read_struct(const T* given, const T& defaults, size_t first, const char* name) {
  T value = defaults;
  if (given == nullptr) return value;
  if (std::optional<Error> e = check_struct(given, first, sizeof(T), name)) return *e;
  std::memcpy(&value, given, std::min(given->struct_size, sizeof(T)));
  value.struct_size = sizeof(T);
  return value;
}

/// Writes `value` to the `size` bytes at `to`; what only a newer caller knows becomes 0.
template <class T>
void write_struct(T* to, size_t size, T value) noexcept {
  value.struct_size = size;
  std::memcpy(to, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T) && size <= kLargestStruct)
    std::memset(reinterpret_cast<char*>(to) + sizeof(T), 0, size - sizeof(T));
}

/// snprintf's contract for the functions that return text.
size_t copy_text(std::string_view text, char* buffer, size_t size) noexcept;

}  // namespace morello

#endif
