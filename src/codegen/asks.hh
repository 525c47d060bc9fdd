// SPDX-License-Identifier: MIT
// Tiles of operands that are copied nearer, asked for while the tile before is computed with.
#ifndef MORELLO_CODEGEN_ASKS_HH
#define MORELLO_CODEGEN_ASKS_HH

#include <optional>
#include <vector>

#include "codegen/place.hh"
#include "codegen/plan.hh"

namespace morello {

/// `rows` runs of `lines` lines, `pitch` bytes apart.
struct AskedTile {
  u64 rows = 0, lines = 0;
  i64 pitch = 0;
};

/// What reading the whole of an operand reads, if that is such runs.
std::optional<AskedTile> asked_tile(const Spec& spec, int operand, const View& view);

enum class Asked : u8 { kNot, kMeanwhile, kInOrder, kBeforeReads };
/// Of a tile that is moved: copies, and runs apart that are read in L1 as they are, while there is
/// enough to compute; short rows always, in the order that they have in memory; panels that tile
/// registers read again, before the first read of the next ones.
/// @param comes_by_itself  perhaps, from a cache that is shared.
Asked how_asked(const ImplTree& tree, NodeId move, const AskedTile& tile, bool comes_by_itself);

/// Lines to which a move writes its register tile, unless that is scratch memory: what computes the
/// tile asks for them, if it has the time.
std::optional<PlanAsk> result_lines(const Spec& spec, const Move& move, const Place& to,
                                    const std::vector<Cursor>& cursors, const Target& target);

/// Of what may come by itself from a cache that is shared: does the microkernel read it in turns
/// that end before prefetchers have found them?
bool comes_late(const Spec& spec, int operand, MicrokernelId id);

/// Is all that is read of an operand one run?
inline bool is_one_run(const Spec& spec, const Operand& x) {
  const u8 d = unit_dim(x);
  return d != kNoDim && elements(spec, x) == spec.size[d];
}

/// Can its code ask for lines while it computes?
inline bool can_ask(MicrokernelId id) {
  return id == MicrokernelId::kOuterProduct || id == MicrokernelId::kTileProduct;
}

/// Or for what the next trip reads, while it reads what is in L1?
bool can_ask_next(MicrokernelId id);

/// A tile dealt out to the calls below a node, by what they compute: to each some rows, or of all
/// rows some lines.
class BodyAsks {
 public:
  BodyAsks(const ImplTree& tree, NodeId body, const AskedTile& tile, Asked asked);

  /// There are calls that can ask, none asks for so much that asking takes longer than it helps,
  /// and all together for little that is behind the tile.
  bool are_worth_it() const { return worth_it_; }
  /// Does this code? Of copies, in tile registers, half of the products were faster and half
  /// slower.
  bool may_be_by(MicrokernelId id) const {
    return can_ask(id) && (id == MicrokernelId::kTileProduct) == (asked_ == Asked::kBeforeReads);
  }
  /// Of one call, without cursor.
  PlanAsk of(NodeId call) const;
  /// Bytes from what the first call at or below a node asks for to what the one behind the last
  /// does.
  i64 step(NodeId node) { return static_cast<i64>(parts(node)) * part_bytes(); }

 private:
  u64 whole() const { return by_rows_ ? tile_.rows : tile_.lines; }
  i64 part_bytes() const { return by_rows_ ? tile_.pitch : i64{kLineBytes}; }
  u64 parts_of(NodeId call) const;
  u64 parts(NodeId node);
  u64 work(NodeId node);
  bool asks(const ImplNode& node) const;
  /// f(child, how often it runs)
  template <class F>
  void each_child(NodeId node, F f) const;

  const ImplTree& tree_;
  AskedTile tile_;
  Asked asked_;
  bool by_rows_ = true, worth_it_ = false;
  u64 body_work_ = 0;
  u64 most_ = 0;  // parts of one call
  static constexpr u64 kUnknown = ~u64{0};
  std::vector<u64> known_;  // by node: work, then parts
};

/// What calls of the body at hand ask for.
struct Asking {
  BodyAsks asks;
  CursorId from = 0, cursor = 0;  // of what is copied meanwhile; of the asks
  i64 bytes = 0;                  // from there
};
/// Cursors of asks, and those of what they ask for.
struct AskWalk {
  u32 function = 0;
  CursorId from = 0, cursor = 0;
  bool inside = true;  // no loop around it moves it yet
};

}  // namespace morello

#endif
