// SPDX-License-Identifier: MIT
// Random pools and convolutions, with windows, steps, dilations and padding of any size. Some of
// them no window fits in, or none has anything inside.
#ifndef MORELLO_TESTS_SUPPORT_RANDOM_WINDOWS_HH
#define MORELLO_TESTS_SUPPORT_RANDOM_WINDOWS_HH

#include <string>

#include "random_spec.hh"

namespace morello::testing {

std::string random_pool(Random& random);
std::string random_convolution(Random& random, const std::string& type = "f32");

}  // namespace morello::testing

#endif
