// SPDX-License-Identifier: MIT
#include "tables.hh"

#include <algorithm>

#include "spec/statement.hh"
#include "table/coordinates.hh"
#include "table/payload.hh"

namespace morello::testing {
namespace {

constexpr u32 kM = 1u << kAxisSize, kN = 1u << (kAxisSize + 1), kK = 1u << (kAxisSize + 2);

constexpr u32 kLimits = 7u << kAxisLimit;

/// One promise and one box.
Parts one_of_each(const char* text) {
  const Spec spec = lower(*parse(text))->spec;
  const GridPoint point = to_grid(spec, limits_of(*fixed_target(Isa::kAvx2)));
  TableContent content;
  content.promises = {{point.key, point.at, point.at}};
  content.groups = {{point.key, 0, point.at, {}, {{ActionKind::kTile, 0, {}, {}, 4}}}};
  return *parts_of(write_payload(content));
}

/// Of a matmul.
const Parts& one_of_each() {
  static const Parts parts = one_of_each("matmul f32[8,8] f32[8,8] -> f32[8,8]");
  return parts;
}

/// Of a fill, whose value makes it a key of its own.
const Parts& one_fill() {
  static const Parts parts = one_of_each("fill 1 -> f32[8]");
  return parts;
}

/// Nothing but that key.
Parts only_key() {
  Parts parts;
  parts[Section::kKeys] = one_of_each()[Section::kKeys];
  return parts;
}

/// One group whose box i has bounds(i) along each axis of `axes`, and the action tile by size(i).
template <class Bounds, class Size>
Parts boxes(u32 n, u32 axes, const Bounds& bounds, const Size& size) {
  Parts parts = only_key();
  Row group = one_of_each()[Section::kGroups][0];
  group[kGroupAxes] = axes;
  group[kGroupBoxes] = n;
  for (u32 axis = 0; axis < kAxes; axis++) {
    if (!(axes >> axis & 1)) continue;
    group[kGroupBase + axis] = 0;
    for (u32 i = 0; i < n; i++) parts[Section::kBounds].push_back(bounds(i, axis));
  }
  parts[Section::kGroups] = {group};
  for (u32 i = 0; i < n; i++) parts[Section::kActions].push_back({7, 0, 0, 0, size(i)});
  return parts;
}
u32 four(u32) { return 4; }

template <class Change>
Parts promises(u32 n, const Change& change, const Parts& first = one_of_each()) {
  Parts parts = only_key();
  for (u32 i = 0; i < n; i++) {
    Row row = first[Section::kPromises][0];
    change(i, row);
    parts[Section::kPromises].push_back(row);
  }
  return parts;
}
constexpr size_t kLowest = 1, kExtent = 1 + kAxes;

/// Of the first stage, behind three counts, operands, and four other columns of the stage.
constexpr size_t kFillValue = 3 + 25 * kMaxOperands + 4;

/// `n` keys, of fills with different values, in order.
Parts keys(u32 n) {
  Parts parts;
  for (u32 i = 0; i < n; i++) {
    Row key = one_fill()[Section::kKeys][0];
    key[kFillValue] = __builtin_bswap32(i);
    parts[Section::kKeys].push_back(key);
  }
  return parts;
}

Parts families(u32 n, const std::function<std::string(u32)>& text) {
  Parts parts;
  for (u32 i = 0; i < n; i++) parts.families.push_back(text(i));
  return parts;
}

std::string six_digits(u32 i) { return std::to_string(100000 + i); }

/// Spread over a square, so that no axis has too many ends.
u32 in_square(u32 i, u32 axis) { return axis == kAxisSize ? i / 40000 : i % 40000; }

}  // namespace

Parts benign(u32 n) {
  const u32 axes = kM | kN | kK | kLimits | 1u << kAxisLevel;
  return boxes(
      n, axes,
      [](u32 i, u32 axis) -> Row {
        if (axis == kAxisLevel) return {0, i % 4};
        if (axis >= kAxisLimit) return {i * 7 % 64, i * 5 % 64};
        const u32 step = axis == kAxisSize ? i / 256 : axis == kAxisSize + 1 ? i / 16 % 16 : i % 16;
        return {step * 8, i * 3 % 8};
      },
      [](u32 i) { return 1 + i % 13; });
}

const std::vector<Hostile>& hostile_tables() {
  static const std::vector<Hostile> all = {
      {"promises at distinct limits", false,
       [](u32 n) {
         return promises(n, [](u32 i, Row& row) {
           for (u32 l = 0; l < 3; l++) row[kLowest + kAxisLimit + l] = i >> 8 * (2 - l) & 255;
         });
       }},
      {"promises that all overlap", true,
       [](u32 n) {
         return promises(n, [](u32 i, Row& row) {
           row[kLowest + kAxisSize] = 0;
           row[kExtent + kAxisSize] = i / 40000;
           row[kExtent + kAxisSize + 1] = i % 40000;
         });
       }},
      {"equal promises", false, [](u32 n) { return promises(n, [](u32, Row&) {}); }},
      {"promises of a key each", true,
       [](u32 n) {
         Parts parts = keys(n);
         parts[Section::kPromises] = promises(
             n, [](u32 i, Row& row) { row[0] = i > 0; }, one_fill())[Section::kPromises];
         return parts;
       }},
      {"boxes without an axis", false,
       [](u32 n) {
         return boxes(
             n, 0, [](u32, u32) -> Row { return {}; }, four);
       }},
      {"equal boxes", false,
       [](u32 n) {
         return boxes(
             n, kM,
             [](u32, u32) -> Row {
               return {0, 1};
             },
             four);
       }},
      {"boxes along one axis", true,
       [](u32 n) {
         return boxes(
             std::min(n, 65000u), kM,
             [](u32 i, u32) -> Row {
               return {i, 0};
             },
             four);
       }},
      {"more ends than an index has", false,
       [](u32 n) {
         return boxes(
             std::max(n, 70000u), kM,
             [](u32 i, u32) -> Row {
               return {2 * i, 0};
             },
             four);
       }},
      {"boxes that all overlap", true,
       [](u32 n) {
         return boxes(
             n, kM | kN,
             [n](u32 i, u32 axis) -> Row {
               return {in_square(i, axis), n - in_square(i, axis)};
             },
             four);
       }},
      {"boxes that are long in turn", true,
       [](u32 n) {
         return boxes(
             n, kM | kN,
             [](u32 i, u32 axis) -> Row {
               return {in_square(i, axis), i % 3 == 0 ? 0 : (i * 2654435761u >> 16) % 20000};
             },
             four);
       }},
      {"a decision of each box", true,
       [](u32 n) {
         return boxes(
             n, kM | kN,
             [](u32 i, u32 axis) -> Row {
               return {in_square(i, axis), 0};
             },
             [](u32 i) { return i << 8; });
       }},
      {"boxes along all axes", true,
       [](u32 n) {
         return boxes(
             n, 3u | kM | kN | kK | 1u << kAxisLevel | kLimits,
             [](u32 i, u32 axis) -> Row {
               if (axis < kAxisSize || axis >= kAxisLevel) return {0, axis >= kAxisLimit ? 9u : 1u};
               return {axis < kAxisSize + 2 ? in_square(i, axis) : 0, 3};
             },
             four);
       }},
      {"keys that nobody needs", true, [](u32 n) { return keys(n); }},
      {"a box of a key each", true,
       [](u32 n) {
         Parts parts = keys(n);
         for (u32 i = 0; i < n; i++) {
           Row group = one_fill()[Section::kGroups][0];
           group[0] = i > 0;
           parts[Section::kGroups].push_back(group);
           parts[Section::kActions].push_back({7, 0, 0, 0, 4});
         }
         return parts;
       }},
      {"short families", true, [](u32 n) { return families(n, six_digits); }},
      {"empty families", false, [](u32 n) { return families(n, [](u32) { return ""; }); }},
      {"one long family", true,
       [](u32 n) { return families(1, [n](u32) { return std::string(n * size_t{16}, 'x'); }); }},
  };
  return all;
}

}  // namespace morello::testing
