// SPDX-License-Identifier: MIT
// Windows with and without padding: each way to read two axes is refused, or canonical.
#include <doctest/doctest.h>

#include "spec/canonical.hh"
#include "spec/statement.hh"
#include "support/concat.hh"

namespace morello {
namespace {

/// One axis: its elements, and how windows read them.
struct Reading {
  u32 elements, window, stride, dilation, padding;
};

std::vector<Reading> readings(std::initializer_list<u32> sizes) {
  std::vector<Reading> all;
  for (u32 elements : sizes)
    for (u32 window : {1u, 2u, 3u})
      for (u32 stride : {1u, 2u, 3u})
        for (u32 dilation : {1u, 2u, 3u})
          for (u32 padding : {0u, 1u})
            if ((window - 1) * dilation < elements + 2 * padding)
              all.push_back({elements, window, stride, dilation, padding});
  return all;
}

/// Is there a Spec? What is refused is so as nothing supports it.
bool has_spec(const std::string& text) {
  INFO(text);
  const Result<Statement> statement = parse(text);
  if (!statement) {
    CHECK_MESSAGE(statement.error().status == MORELLO_UNSUPPORTED, statement.error().message);
    return false;
  }
  const Result<Lowered> lowered = lower(*statement);
  REQUIRE_MESSAGE(lowered.ok(), lowered.error().message);
  CHECK(not_canonical(lowered->spec) == "");
  return true;
}

TEST_SUITE_BEGIN("spec");

TEST_CASE("windows over two axes: every stride, dilation and padding") {
  u32 said = 0, refused = 0;
  for (const Reading& r : readings({5, 17}))
    for (const Reading& c : readings({4, 11})) {
      const std::string how = concat({" stride=", r.stride, ",", c.stride, " dilation=", r.dilation,
                                      ",", c.dilation, " padding=", r.padding, ",", c.padding});
      const std::string image = concat({"f32[1,2,", r.elements, ",", c.elements, "]"});
      (has_spec(concat({"conv2d ", image, " f32[3,2,", r.window, ",", c.window, "]", how}))
           ? said
           : refused)++;
    }
  CHECK(said > 5000);
  CHECK(refused > 100);
}

TEST_CASE("padding of an axis whose elements are one is refused") {
  // Windows would have to leave out what they cannot tell from the rest.
  const Result<Statement> s = parse("avg_pool f32[1,1,4,4]{strides=16,16,0,1} window=3 padding=1");
  REQUIRE_FALSE(s.ok());
  CHECK(s.error().status == MORELLO_UNSUPPORTED);
  CHECK(s.error().column == 10);
  CHECK(s.error().message.find("padding of axis 2, all of whose elements are one") == 0);
  CHECK(has_spec("avg_pool f32[1,1,4,4]{strides=16,16,0,1} window=3 padding=0,1"));
  CHECK(has_spec("conv2d f32[1,1,4,4]{strides=16,16,0,1} f32[1,1,3,3]"));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
