// SPDX-License-Identifier: MIT
#include "table/dump.hh"

#include "table/groups.hh"
#include "table/identity.hh"
#include "table/words.hh"

namespace morello {
namespace {

constexpr u32 kAllAxes = (1u << kAxes) - 1;

/// Axes that a key has: sizes and levels only of its dimensions and operands.
u32 axes_of(const Spec& key) {
  u32 axes = kAllAxes;
  for (int d = key.rank; d < kMaxDims; d++) axes &= ~(1u << (kAxisSize + d));
  for (int o = key.operand_count; o < kMaxOperands; o++) axes &= ~(1u << (kAxisLevel + o));
  return axes;
}

/// Texts of tables are printable ASCII: check() says so.
std::string quoted(const std::string& text) {
  std::string s = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') s += '\\';
    s += c;
  }
  return s + '"';
}

/// {"m":["2","8"],...}: first and last coordinate, as text.
std::string ranges_json(const Spec& key, u32 axes, const GridBox& box) {
  std::string s;
  for (size_t a = 0; a < kAxes; a++)
    if (axes >> a & 1)
      s += (s.empty() ? "" : ",") + quoted(axis_name(key, a)) + ":[" +
           quoted(coordinate_text(a, box.lo[a])) + ',' + quoted(coordinate_text(a, box.hi[a])) +
           ']';
  return '{' + s + '}';
}

/// [item(x),item(y),...]
template <class T, class Item>
std::string list_json(const std::vector<T>& all, const Item& item) {
  std::string s = "[";
  for (const T& x : all) s += (s.size() > 1 ? "," : "") + item(x);
  return s + ']';
}

std::string group_json(const TableGroup& group) {
  const u32 fixed = axes_of(group.key) & ~group.axes;
  return "{\"key\":" + quoted(key_text(group.key)) +
         ",\"fixed\":" + ranges_json(group.key, fixed, boxes_in(group)[0]) + ",\"boxes\":" +
         list_json(boxes_in(group),
                   [&](const GridBox& box) {
                     return "{\"ranges\":" + ranges_json(group.key, group.axes, box) +
                            ",\"decision\":" + quoted(action_text(group.key, box.action)) + '}';
                   }) +
         '}';
}

std::string identity_text(const TableIdentity& identity) {
  return "target " + identity.target + ", machine " + identity.machine + ", " +
         std::to_string(identity.processors) + " threads" +
         (identity.effort == 0 ? "" : ", effort " + name_of_effort(identity.effort)) + '\n';
}

void append(const TableGroup& group, size_t number, std::string& text) {
  const std::vector<GridBox> boxes = boxes_in(group);
  text += "group " + std::to_string(number) + ": " + key_text(group.key) + "; " +
          ranges_text(group.key, axes_of(group.key) & ~group.axes, boxes[0]) + '\n';
  for (const GridBox& box : boxes) {
    const std::string ranges = ranges_text(group.key, group.axes, box);
    text += "  " + ranges + (ranges.empty() ? "" : ": ") + action_text(group.key, box.action);
    text += '\n';
  }
}

}  // namespace

std::string dump_text(const TableContent& content) {
  std::string text = identity_text(content.identity);
  for (const std::string& family : content.families) text += "family " + family + '\n';
  for (const Promise& p : content.promises)
    text += "promise " + key_text(p.key) + "; " +
            ranges_text(p.key, axes_of(p.key), {p.lo, p.hi, {}}) + '\n';
  for (size_t i = 0; i < content.groups.size(); i++) append(content.groups[i], i, text);
  return text;
}

std::string dump_json(const TableContent& content) {
  const TableIdentity& identity = content.identity;
  auto promise = [](const Promise& p) {
    return "{\"key\":" + quoted(key_text(p.key)) +
           ",\"ranges\":" + ranges_json(p.key, axes_of(p.key), {p.lo, p.hi, {}}) + '}';
  };
  return "{\"target\":" + quoted(identity.target) + ",\"machine\":" + quoted(identity.machine) +
         ",\"threads\":" + std::to_string(identity.processors) +
         ",\"effort\":" + quoted(name_of_effort(identity.effort)) +
         ",\"families\":" + list_json(content.families, quoted) +
         ",\"promises\":" + list_json(content.promises, promise) +
         ",\"groups\":" + list_json(content.groups, group_json) + "}\n";
}

}  // namespace morello
