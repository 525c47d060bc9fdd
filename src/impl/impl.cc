// SPDX-License-Identifier: MIT
#include "impl/impl.hh"

#include <utility>

#include "spec/roles.hh"

namespace morello {

MoveChildren move_children(const ImplNode& node) {
  const Move& move = std::get<Move>(node.kind);
  MoveChildren c;
  if (move.view) return {-1, 0, -1};
  Access access = node.spec.operand[move.operand].access;
  int next = 0;
  if (access != Access::kOut) c.in = next++;
  c.body = next++;
  if (access != Access::kIn) c.out = next;
  return c;
}

std::vector<PackMove> pack_moves(const ImplTree& tree) {
  std::vector<PackMove> moves;
  Spec given = tree.nodes[0].spec;
  for (int i = 0; i < given.operand_count; i++) given.operand[i].free_layout = false;
  NodeId id = 0;
  while (const auto* choose = std::get_if<Choose>(&tree.nodes[id].kind)) {
    PackMove& move = moves.emplace_back();
    move.operand = choose->operand;
    move.placed = choose->placed;
    // Dimension by dimension: what is chosen is dense, but the user's may be a part of a tensor,
    // whose runs a view knows.
    Operand& from = given.operand[choose->operand];
    const u8 run = std::exchange(from.contig, u8{0});
    move.spec = move_spec(given, choose->operand, choose->placed, /*in=*/true, &move.binding);
    move.spec.operand[source_of(move.spec)].contig = from.contig = run;
    id = tree.nodes[id].children[0].node;
  }
  return moves;
}

}  // namespace morello
