// SPDX-License-Identifier: MIT
// Tiles of operands that are copied nearer, asked for while the tile before is computed with.
#ifndef MORELLO_CODEGEN_ASKS_HH
#define MORELLO_CODEGEN_ASKS_HH

#include <optional>
#include <vector>

#include "codegen/plan.hh"

namespace morello {

/// `rows` runs of `lines` lines, `pitch` bytes apart.
struct AskedTile {
  u64 rows = 0, lines = 0;
  i64 pitch = 0;
};

/// What reading the whole of an operand reads, if that is such runs.
std::optional<AskedTile> asked_tile(const Spec& spec, int operand, const View& view);

/// What one call asks for, and bytes from there to what the next one does. The ask has no cursor
/// yet.
struct AskShare {
  PlanAsk ask;
  i64 step = 0;
};

/// `tile` in equal parts, one for each of `calls`. None where parts would be uneven, or so large
/// that asking takes longer than it helps.
std::optional<AskShare> share_of(const AskedTile& tile, u64 calls);

/// Can its code ask for lines while it computes?
bool can_ask(MicrokernelId id);

/// How many such calls run below a node.
class Askers {
 public:
  explicit Askers(const ImplTree& tree) : tree_(tree), known_(tree.nodes.size(), kUnknown) {}
  u64 below(NodeId id);  // at most kMany

 private:
  static constexpr u64 kMany = u64{1} << 31, kUnknown = ~u64{0};
  const ImplTree& tree_;
  std::vector<u64> known_;
};

}  // namespace morello

#endif
