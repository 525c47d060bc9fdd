// SPDX-License-Identifier: MIT
// Fuzz target: any bytes as a stored kernel. What is decoded has one encoded form, and no number of
// it leads out of the code. The first byte says what the others are:
//     F  a file
//     C  a file whose checksum is made right first
#include <cstring>

#include "runtime/stored.hh"

namespace morello {
namespace {

void require(bool holds) {
  if (!holds) __builtin_trap();
}

void make_checksum_right(Bytes& file) {
  if (file.size() < sizeof(u64)) return;
  const size_t end = file.size() - sizeof(u64);
  const u64 hash = checksum({file.data(), end});
  std::memcpy(file.data() + end, &hash, sizeof hash);
}

void use(const Executable& e) {
  require(e.entry < e.code.size() && !e.code.executable());
  for (const CodeFunction& f : e.functions) {
    require(f.begin < f.end && f.end <= e.code.size());
    for (const morello_frame_step& step : f.steps)
      require(step.offset >= f.begin && step.offset <= f.end);
  }
}

void use(const StoredKernel& stored) {
  const Kernel& kernel = stored.kernel;
  require(kernel.operands.size() == kernel.checks.count && !kernel.operands.empty());
  use(*kernel.executable);
  for (const KernelOperand& operand : kernel.operands)
    if (operand.pack) use(*operand.pack);
  const Bytes bytes = encode_kernel(kernel, stored.key);
  const Result<StoredKernel> again = decode_kernel(bytes, {false, nullptr});
  require(again.ok() && encode_kernel(again->kernel, again->key) == bytes);
}

}  // namespace
}  // namespace morello

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace morello;
  if (size == 0) return 0;
  Bytes bytes(data + 1, data + size);
  if (data[0] == 'C') make_checksum_right(bytes);
  const Result<StoredKernel> stored = decode_kernel(bytes, {false, nullptr});
  if (stored)
    use(*stored);
  else
    require(!stored.error().message.empty());
  return 0;
}
