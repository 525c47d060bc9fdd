// SPDX-License-Identifier: MIT
#include "spec/names.hh"

#include "spec/roles.hh"

namespace morello {

DimNames dim_names(const Spec& spec) {
  DimNames names;
  const Stage* product = contraction_of(spec);
  if (!product || !is_operand(product->in[0]) || !is_operand(product->in[1])) {
    for (int d = 0; d < spec.rank; d++) names[d] = 'd' + std::to_string(d);
    return names;
  }
  auto letter = [&](int d) {
    bool a = has_dim(spec.operand[product->in[0]].dims, d);
    bool b = has_dim(spec.operand[product->in[1]].dims, d);
    return has_dim(product->reduce, d) ? 'k' : a && b ? 'b' : a ? 'm' : b ? 'n' : 'd';
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
  std::string s = "[", blocks;
  const Layout& l = operand.layout;
  for (int i = 0, n = l.count(); i < n; i++) {
    // Blocks behind all whole dimensions, as nearly all are, are written behind them.
    if (l.block[i] != 0) {
      blocks += "; " + std::to_string(l.block[i]) + ' ' + names[l.dim[i]];
    } else {
      s += (i ? (blocks.empty() ? "," : blocks + ",") : "") + names[l.dim[i]];
      blocks.clear();
    }
  }
  s += blocks + ']';
  return operand.free_layout ? s + '*' : s;
}

}  // namespace morello
