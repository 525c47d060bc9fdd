// SPDX-License-Identifier: MIT
// Memory between two inaccessible pages.
#ifndef MORELLO_TESTS_KERNEL_GUARDED_HH
#define MORELLO_TESTS_KERNEL_GUARDED_HH

#include "support/types.hh"

namespace morello::testing {

/// `bytes` of memory flush against an inaccessible page: after its end, or before its start. The
/// rest of its pages holds a pattern.
class Guarded {
 public:
  enum class Side { kEnd, kStart };
  Guarded(size_t bytes, Side side);
  Guarded(Guarded&& other) noexcept;
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded();

  void* data() const { return data_; }
  size_t size() const { return bytes_; }
  /// False if something wrote to the pattern.
  bool intact() const;
  /// Bytes from the start of the data, if `address` is in or near this memory.
  bool near(const void* address, i64& offset) const;

 private:
  u8* map_;
  size_t mapped_, bytes_;
  u8* data_;
};

}  // namespace morello::testing

#endif
