// SPDX-License-Identifier: MIT
// What loading a table may still allocate. Files are untrusted: whatever is made because of a count
// in one is counted here first.
#ifndef MORELLO_TABLE_ALLOWANCE_HH
#define MORELLO_TABLE_ALLOWANCE_HH

#include <string>

#include "support/result.hh"

namespace morello {

/// Of all that loading a table takes, if the caller says nothing else.
inline constexpr u64 kDefaultTableMemory = u64{256} << 20;

/// What malloc adds to a block.
inline constexpr u64 kBlockBytes = 32;

class Allowance {
 public:
  explicit Allowance(u64 limit) : limit_(limit), left_(limit) {}

  /// False, and nothing is taken, if that is more than is left.
  bool take(u64 count, u64 size) {
    u64 bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  void give_back(u64 bytes) { left_ += bytes; }

  /// TABLE_TOO_LARGE: "for the groups".
  Error too_large(const std::string& where) const {
    return {MORELLO_TABLE_TOO_LARGE,
            "loading the table takes more than " + std::to_string(limit_) +
                " bytes of memory, for " + where +
                "; morello_context_options.table_memory sets this limit: raise it if you "
                "trust the file"};
  }

 private:
  u64 limit_, left_;
};

}  // namespace morello

#endif
