// SPDX-License-Identifier: MIT
// The one main of the unit tests; each layer's folder adds a TEST_SUITE named after the layer.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
