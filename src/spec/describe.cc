// SPDX-License-Identifier: MIT
// One line per Spec: what two Specs in a message differ by can be read there.
#include <cstdio>

#include "spec/roles.hh"

namespace morello {
namespace {

std::string dim_text(u8 d) { return 'd' + std::to_string(d); }

std::string ref_text(Ref ref) {
  if (is_value(ref)) return 's' + std::to_string(stage_of(ref));
  return is_operand(ref) ? 'o' + std::to_string(ref) : "?";
}

/// f32(d1,d0,d1:16): dimensions from slow to fast, :16 a block of it.
std::string describe(const Operand& x) {
  std::string s(name_of(x.dtype));
  s += '(';
  for (int i = 0, n = x.layout.count(); i < n; i++) {
    if (i) s += ',';
    s += dim_text(x.layout.dim[i]);
    if (x.layout.block[i]) s += ':' + std::to_string(x.layout.block[i]);
  }
  s += ')';
  for (int w = 0; w < kMaxWindows; w++)
    if (x.has_window(w)) s += " w" + std::to_string(w);
  const std::string_view apart = x.far == kPaged ? " paged" : x.far == kFar ? " far" : " near";
  if (!is_dense(x))
    s.append(apart) += std::to_string(x.contig);
  else if (x.far)
    s += apart;
  if (x.free_layout) s += " free";
  s += '@';
  s += name_of(x.level);
  if (x.bank == Bank::kTile) s += " tiles";
  return s;
}

std::string bits_text(u32 bits) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", bits);
  return text;
}

/// With the bits of what is filled with, if there are any.
std::string op_text(const Stage& stage) {
  std::string s(name_of(stage.op));
  return stage.op == Op::kFill && stage.constant ? s + '=' + bits_text(stage.constant) : s;
}

/// muladd.i32(o0,o1) over d2 -> o2
std::string describe(const Stage& stage) {
  std::string s = op_text(stage) + '.';
  s += name_of(stage.dtype);
  s += '(';
  for (int i = 0; i < kMaxInputs && stage.in[i] != kNoRef; i++)
    s += (i ? "," : "") +
         (stage.in[i] == kConstant ? bits_text(stage.constant) : ref_text(stage.in[i]));
  s += ')';
  for (u8 d = 0; d < kMaxDims; d++)
    if (has_dim(stage.reduce, d)) s += " over " + dim_text(d);
  return stage.out == kNoRef ? s : s + " -> " + ref_text(stage.out);
}

/// The operations say it all where each step reads the one before, and all read operands in turn,
/// in f32.
bool is_plain(const Spec& spec) {
  Ref next = 0;
  for (int s = 0; s < spec.stage_count; s++) {
    const Stage& stage = spec.stage[s];
    if (stage.dtype != Dtype::kF32) return false;
    for (int i = 0; i < kMaxInputs && stage.in[i] != kNoRef; i++)
      if (s > 0 && i == 0 ? stage.in[i] != value_of(s - 1) : stage.in[i] != next++) return false;
  }
  return next == spec.out_index() && is_chain(spec);
}

std::string describe_window(const Window& w) {
  std::string s = std::to_string(w.step) + '*' + dim_text(w.outer) + '+' +
                  std::to_string(w.dilation) + '*' + dim_text(w.inner);
  if (w.before) s += '-' + std::to_string(w.before);
  if (w.after) s += " past" + std::to_string(w.after);
  return s;
}

/// keeps d1<d0+1
std::string describe_diagonal(const Diagonal& diagonal) {
  const std::string row = diagonal.row == kNoDim ? "" : dim_text(diagonal.row) + '+';
  return " keeps " + dim_text(diagonal.column) + '<' + row + std::to_string(diagonal.kept);
}

}  // namespace

std::string describe(const Spec& spec) {
  std::string s;
  const bool plain = is_plain(spec);
  for (int i = 0; i < spec.stage_count; i++) {
    if (i) s += plain ? "+" : "; ";
    s += plain ? op_text(spec.stage[i]) : describe(spec.stage[i]);
  }
  s += '[';
  for (int d = 0; d < spec.rank; d++) {
    if (d) s += ',';
    if (has_dim(spec.reduced(), d)) s += '/';
    s += std::to_string(spec.size[d]);
  }
  s += ']';
  for (int w = 0; w < kMaxWindows; w++)
    if (spec.window[w].used())
      s += " w" + std::to_string(w) + '=' + describe_window(spec.window[w]);
  if (spec.diagonal.used()) s += describe_diagonal(spec.diagonal);
  for (int o = 0; o < spec.operand_count; o++) {
    if (spec.operand[o].access != Access::kIn)
      s += spec.operand[o].access == Access::kInOut ? " +=" : " =>";
    s += ' ' + describe(spec.operand[o]);
  }
  return s;
}

}  // namespace morello
