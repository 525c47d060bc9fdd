// SPDX-License-Identifier: MIT
// The one main of the unit tests; each layer's folder adds a TEST_SUITE named after the layer.
// MORELLO_TEST_EXCLUDE=a*,b leaves out test cases of these names: what a sanitizer's build is too
// slow for.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  doctest::Context context;
  if (const char* names = std::getenv("MORELLO_TEST_EXCLUDE"))
    context.addFilter("test-case-exclude", names);
  context.applyCommandLine(argc, argv);
  return context.run();
}
