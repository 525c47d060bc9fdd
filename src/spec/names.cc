// SPDX-License-Identifier: MIT
#include "spec/names.hh"

namespace morello {

DimNames dim_names(const Spec& spec) {
  DimNames names;
  const Stage& first = spec.stage[0];
  if (first.op != Op::kMulAdd || first.in0 < 0 || first.in1 < 0) {
    for (int d = 0; d < spec.rank; d++) names[d] = 'd' + std::to_string(d);
    return names;
  }
  auto letter = [&](int d) {
    bool a = has_dim(spec.operand[first.in0].dims, d);
    bool b = has_dim(spec.operand[first.in1].dims, d);
    return has_dim(first.reduce, d) ? 'k' : a && b ? 'b' : a ? 'm' : b ? 'n' : 'd';
  };
  for (int d = 0; d < spec.rank; d++) {
    int before = 0, all = 0;
    for (int e = 0; e < spec.rank; e++) {
      if (letter(e) != letter(d)) continue;
      all++;
      before += e < d;
    }
    names[d] = letter(d);
    if (all > 1) names[d] += std::to_string(before);
  }
  return names;
}

std::string layout_text(const Operand& operand, const DimNames& names) {
  std::string s = "[";
  const Layout& l = operand.layout;
  for (int i = 0, n = l.rank(); i < n; i++) s += (i ? "," : "") + names[l.order[i]];
  if (l.packed()) s += "; " + std::to_string(l.pack) + ' ' + names[l.pack_dim];
  s += ']';
  return operand.free_layout ? s + '*' : s;
}

}  // namespace morello
