// SPDX-License-Identifier: MIT
// Precompiled: what most files of the library include.
#ifndef MORELLO_PCH_CORE_HH
#define MORELLO_PCH_CORE_HH

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#endif
