// SPDX-License-Identifier: MIT
// Precompiled: what compilers take long over, of what the command line tool includes.
#ifndef MORELLO_PCH_TOOL_HH
#define MORELLO_PCH_TOOL_HH

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "nlohmann/json.hpp"

#endif
