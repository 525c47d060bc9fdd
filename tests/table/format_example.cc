// SPDX-License-Identifier: MIT
// The worked example of docs/table-format.md: without arguments prints it, with the document as
// argument checks that its bytes are the file that is written.
#include <zstd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "table/check.hh"
#include "table/encode.hh"

namespace morello {
namespace {

/// Fills of 2 to 32 elements: by one microkernel up to 8, in tiles of 8 above.
TableContent example() {
  Promise fills;
  fills.key.rank = fills.key.operand_count = fills.key.stage_count = 1;
  fills.key.operand[0].level = Level::kRegister;
  fills.key.operand[0].dims = 1;
  fills.key.operand[0].contig = 1;
  fills.key.operand[0].layout.append(0);
  fills.key.stage[0].op = Op::kFill;
  fills.key.stage[0].out = 0;
  fills.lo[kAxisOverwrites] = fills.hi[kAxisOverwrites] = 1;
  fills.lo[kAxisLevel] = fills.hi[kAxisLevel] = 3;
  fills.hi[kAxisSize] = 30;

  TableGroup group;
  group.key = fills.key;
  group.axes = 1u << kAxisSize;
  group.base = fills.lo;
  group.base[kAxisLimit] = 16;
  group.bounds = {0, 6, 7, 30};
  group.actions = {{ActionKind::kSelect, 3, {}, {}, 0}, {ActionKind::kTile, 0, {}, {}, 8}};

  TableContent content;
  content.identity = {
      "avx2", "generic-x86-64", 1, 0x1111111111111111, 0x2222222222222222, 0x3333333333333333};
  content.families = {"fill 0 -> f32[<=32]"};
  content.promises = {fills};
  content.groups = {group};
  return content;
}

/// Names the bytes that follow the last ones.
class Dump {
 public:
  explicit Dump(const Bytes& bytes) : bytes_(bytes) {}
  void next(size_t count, const std::string& what) {
    for (size_t i = 0; i < count; i++, at_++) {
      if (i % 16 == 0) std::printf("%s%04zx:", i ? "\n" : "", at_);
      std::printf(" %02x", bytes_[at_]);
    }
    if (what.empty())
      std::printf("\n");
    else
      std::printf("%*s  %s\n", static_cast<int>(3 * ((16 - count % 16) % 16)), "", what.c_str());
  }

 private:
  const Bytes& bytes_;
  size_t at_ = 0;
};

void print_file(const Bytes& file) {
  Dump dump(file);
  dump.next(8, "magic");
  dump.next(4, "format version");
  dump.next(4, "bytes of the header");
  for (const char* name : {"target", "cost model", "action"})
    dump.next(8, std::string(name) + " fingerprint");
  dump.next(4, "processors");
  dump.next(4, "sections");
  dump.next(32, "target");
  dump.next(32, "machine model");
  const Result<std::vector<Frame>> frames = read_frames(file);
  const Frame* frame = &frames->front();
  for (size_t s = 0; s < kSections; s++) {
    const std::string name(name_of(static_cast<Section>(s)));
    dump.next(8, name + ": stored bytes");
    dump.next(8, "decoded bytes");
    dump.next(8, "XXH3");
  }
  dump.next(4, "number of the part");
  dump.next(4, "parts");
  dump.next(8, "XXH3 of all before");
  for (size_t s = 0; s < kSections; s++)
    dump.next(frame->parts[s].stored.size(),
              std::string(name_of(static_cast<Section>(s))) + ", compressed");
  for (size_t s = 0; s < kSections; s++) {
    const Section section = static_cast<Section>(s);
    std::printf("\n%s:\n", name_of(section).data());
    const Bytes decoded = *decompress(*frame, section);
    Dump(decoded).next(decoded.size(), "");
  }
}

/// The bytes of the first ```hex block: lines of an offset, a colon, and up to 16 bytes.
Bytes bytes_in(const std::string& document) {
  std::istringstream lines(document.substr(std::min(document.find("```hex"), document.size())));
  Bytes bytes;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line != "```") {
    std::istringstream pairs(line.substr(line.find(':') + 1, 16 * 3));
    unsigned byte;
    std::string pair;
    while (pairs >> pair && pair.size() == 2 && std::sscanf(pair.c_str(), "%2x", &byte) == 1)
      bytes.push_back(static_cast<u8>(byte));
  }
  return bytes;
}

int compare_with(const char* path) {
  std::ifstream in(path);
  const Bytes documented = bytes_in({std::istreambuf_iterator<char>(in), {}});
  const TableContent content = example();
  const Result<TableContent> decoded = decode(documented);
  if (!decoded) std::printf("%s: %s\n", path, decoded.error().message.c_str());
  if (!decoded || *decoded != content || !check(content).empty()) {
    std::printf("%s: the example is not the table that it should be\n", path);
    return 1;
  }
  if (encode(content) == documented) return 0;
  std::printf("%s: zstd %s compresses the example otherwise\n", path, ZSTD_versionString());
  return ZSTD_versionNumber() == 10504 ? 1 : 77;  // that of the document
}

}  // namespace
}  // namespace morello

int main(int argc, char** argv) {
  if (argc > 1) return morello::compare_with(argv[1]);
  morello::print_file(morello::encode(morello::example()));
  return 0;
}
