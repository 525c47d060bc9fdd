// SPDX-License-Identifier: MIT
// Owners of the C interface's objects, and the shortest ways to make them, for its tests.
#ifndef MORELLO_TESTS_CAPI_HANDLES_HH
#define MORELLO_TESTS_CAPI_HANDLES_HH

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "morello/morello.h"

namespace morello::testing {

template <auto release>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using ErrorPtr = std::unique_ptr<morello_error, Releaser<morello_error_release>>;
using ContextPtr = std::unique_ptr<morello_context, Releaser<morello_context_release>>;
using SpecPtr = std::unique_ptr<morello_spec, Releaser<morello_spec_release>>;
using KernelPtr = std::unique_ptr<morello_kernel, Releaser<morello_kernel_release>>;
using TablePtr = std::unique_ptr<morello_table, Releaser<morello_table_release>>;
using PoolPtr = std::unique_ptr<morello_pool, Releaser<morello_pool_release>>;

/// What `call`, a function (T** out, morello_error** err) -> status, must not write to on failure.
template <class T>
T* untouched() {
  static char mark;
  return reinterpret_cast<T*>(&mark);
}

/// A failed call: its status, and the error object that must come with it.
struct Failure {
  morello_status status = MORELLO_OK;
  std::string message;
  uint32_t line = 0, column = 0;
};

/// Runs a fallible call and checks the contract of failing: the out-parameter is as it was, the
/// error object says the status that was returned, the same status comes without an error object.
template <class T, class Call>
Failure fail(Call&& call) {
  T* out = untouched<T>();
  morello_error* err = nullptr;
  const morello_status status = call(&out, &err);
  REQUIRE(status != MORELLO_OK);
  CHECK(out == untouched<T>());
  REQUIRE(err != nullptr);
  const ErrorPtr own(err);
  Failure failure{status, morello_error_message(err), morello_error_line(err),
                  morello_error_column(err)};
  CHECK(morello_error_status(err) == status);
  CHECK(!failure.message.empty());
  CHECK(failure.message.find('\n') == std::string::npos);
  CHECK(call(&out, nullptr) == status);
  CHECK(out == untouched<T>());
  return failure;
}

/// Runs a fallible call that must succeed. The error object must stay as it was.
template <class Owner, class Call>
Owner make(Call&& call) {
  typename Owner::pointer out = nullptr;
  morello_error* err = nullptr;
  const morello_status status = call(&out, &err);
  const std::string message = err != nullptr ? morello_error_message(err) : "";
  const ErrorPtr own(err);
  REQUIRE_MESSAGE(status == MORELLO_OK, morello_status_string(status), ": ", message);
  CHECK(err == nullptr);
  REQUIRE(out != nullptr);
  return Owner(out);
}

inline ContextPtr make_context() {
  return make<ContextPtr>(
      [](morello_context** c, morello_error** e) { return morello_context_create(nullptr, c, e); });
}

inline SpecPtr parse_spec(morello_context* context, const std::string& text) {
  CAPTURE(text);
  return make<SpecPtr>([&](morello_spec** s, morello_error** e) {
    return morello_spec_parse(context, text.c_str(), s, e);
  });
}

inline KernelPtr synthesize(morello_context* context, const morello_spec* spec,
                            const morello_options* options = nullptr) {
  return make<KernelPtr>([&](morello_kernel** k, morello_error** e) {
    return morello_synthesize(context, spec, options, k, e);
  });
}

inline morello_options default_options() {
  morello_options options;
  morello_options_init(&options, sizeof(options));
  return options;
}

inline morello_search_stats stats_of(const morello_kernel* kernel) {
  morello_search_stats stats{};
  REQUIRE(morello_kernel_stats_get(kernel, &stats, sizeof(stats)) == MORELLO_OK);
  return stats;
}

/// A tensor of f32; `strides` if not dense.
inline morello_tensor f32(const std::vector<int64_t>& shape,
                          int32_t layout = MORELLO_LAYOUT_ROW_MAJOR,
                          const std::vector<int64_t>& strides = {}) {
  morello_tensor t{};
  t.dtype = MORELLO_F32;
  t.layout = layout;
  t.rank = static_cast<uint32_t>(shape.size());
  for (size_t i = 0; i < shape.size() && i < MORELLO_MAX_RANK; i++) t.shape[i] = shape[i];
  for (size_t i = 0; i < strides.size() && i < MORELLO_MAX_RANK; i++) t.strides[i] = strides[i];
  return t;
}

template <class T>
std::string text_of(size_t (*print)(const T*, char*, size_t), const T* object) {
  std::string text(print(object, nullptr, 0), '\0');
  print(object, text.data(), text.size() + 1);
  return text;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace morello::testing

#endif
