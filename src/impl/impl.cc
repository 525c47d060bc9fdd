// SPDX-License-Identifier: MIT
#include "impl/impl.hh"

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

}  // namespace morello
