// SPDX-License-Identifier: MIT
// Random Specs of the general form: what is made of them is canonical, and addresses what it
// should.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "../support/random_spec.hh"
#include "../support/scale.hh"
#include "spec/border.hh"
#include "spec/canonical.hh"
#include "spec/roles.hh"
#include "spec/statement.hh"

namespace morello {
namespace {

using namespace testing;

TEST_SUITE_BEGIN("spec");

/// The indices of an operand's dimensions -> offsets of its elements.
using Offsets = std::vector<i64>;
void add_offsets(const Spec& spec, const Operand& x, const View& view, i64 at, Offsets& all,
                 int dim = 0) {
  while (dim < spec.rank && !has_dim(x.dims, dim)) dim++;
  if (dim == spec.rank) return all.push_back(at);
  for (u32 i = 0; i < spec.size[dim]; i++)
    add_offsets(spec, x, view, at + view.dim[dim].at(i), all, dim + 1);
}
Offsets offsets_of(const Spec& spec, const Operand& x, const View& view) {
  Offsets all;
  add_offsets(spec, x, view, 0, all);
  return all;
}

/// Register tiles have no index: nobody cuts them.
bool in_registers(const Spec& spec, int dim) {
  for (int o = 0; o < spec.operand_count; o++)
    if (spec.operand[o].level == Level::kRegister && has_dim(spec.operand[o].dims, dim))
      return true;
  return false;
}

TEST_CASE("random Specs of the general form are canonical, and there is everything in them") {
  std::map<std::string, int> seen;
  for (u32 seed = 1; seed <= 4000; seed++) {
    Random random(seed);
    const Spec spec = random_general(random, {3000, seed % 2 == 0, seed % 4 == 0}).spec;
    INFO("seed " << seed << ": " << describe(spec));
    REQUIRE(not_canonical(spec) == "");
    int outputs = 0, reducing = 0;
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& x = spec.operand[o];
      outputs += x.access != Access::kIn;
      seen["blocks"] += x.layout.packed();
      seen["windows"] += x.windows != 0;
      seen["two windows"] += x.windows == 3;
      seen["dtype " + std::string(name_of(x.dtype))]++;
      seen["rows apart"] += !is_dense(x);
      seen["free"] += x.free_layout;
      seen["kInOut"] += x.access == Access::kInOut;
      for (int d = 0; d < spec.rank; d++) {
        int pieces = 0;
        for (u8 e : x.layout.dim) pieces += e == d;
        seen["three pieces"] += pieces == 3;
      }
    }
    for (int s = 0; s < spec.stage_count; s++) {
      reducing += spec.stage[s].reduce != 0;
      seen["stage " + std::string(name_of(spec.stage[s].dtype))]++;
      seen["accumulates"] += accumulates(spec, spec.stage[s]);
    }
    seen["rank 8"] += spec.rank == kMaxDims;
    seen["8 operands"] += spec.operand_count == kMaxOperands;
    seen["8 stages"] += spec.stage_count == kMaxStages;
    seen["several outputs"] += outputs > 1;
    seen["several reductions"] += reducing > 1;
    seen["chains"] += is_chain(spec);
    seen["graphs"] += !is_chain(spec);
  }
  for (const auto& entry : seen)
    CHECK_MESSAGE(entry.second > 20, entry.first << ": " << entry.second);
  CHECK(seen.size() == 25);
}

TEST_CASE("a dense operand has each element once, and views of tiles are those of the whole") {
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    const GeneralProblem problem = random_general(random, {600, seed % 2 == 0});
    const Spec& spec = problem.spec;
    INFO("seed " << seed << ": " << describe(spec));
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& x = spec.operand[o];
      if (is_bordered(spec, x)) {
        REQUIRE(elements(with_borders_inside(spec, o), x) > elements(spec, x));
        continue;
      }
      const View dense = dense_view(spec, x);
      const Offsets all = offsets_of(spec, x, dense);
      const std::set<i64> once(all.begin(), all.end());
      if (x.windows == 0) {
        REQUIRE(once.size() == all.size());
        REQUIRE(elements(spec, x) == all.size());
      } else {
        REQUIRE(elements(spec, x) >= once.size());
      }
      REQUIRE(*once.begin() == 0);
      REQUIRE(*once.rbegin() < static_cast<i64>(dense_elements(spec, x)));
      const Footprint f = footprint(spec, x);
      REQUIRE(f.bytes == dense_elements(spec, x) * size_of(x.dtype));
      REQUIRE(f.runs >= 1);
      REQUIRE(f.lines * kLineBytes >= f.bytes);
    }
    if (spec.rank == 0) continue;
    // A tile at a random place: its elements are those of the whole, at the same indices.
    const int dim = static_cast<int>(pick(random, 0, spec.rank - 1u));
    const u32 size = pick(random, 1, spec.size[dim] - 1);
    if (!may_tile(spec, dim, size) || in_registers(spec, dim)) continue;
    for (u32 part : {size, spec.size[dim] % size}) {
      if (part == 0) continue;
      const u32 begin = part == size ? size * pick(random, 0, spec.size[dim] / size - 1)
                                     : spec.size[dim] / size * size;
      Binding binding;
      const Spec child = tile(spec, dim, part, &binding);
      REQUIRE_MESSAGE(not_canonical(child) == "",
                      "tile of dimension " << dim << " by " << part << ": " << describe(child));
      for (int o = 0; o < spec.operand_count; o++) {
        const View& view = problem.views[o];
        const bool moves = has_dim(spec.operand[o].dims, dim);
        const i64 start = moves ? view.dim[dim].at(begin) : 0;
        Spec same = spec;  // with all dimensions, so that indices are in the same order
        View shifted = view;
        same.size[dim] = part;
        Offsets wanted;
        if (moves) {
          for (u32 i = 0; i < part; i++) {
            Spec one = spec;
            Operand rest = spec.operand[o];
            rest.dims = static_cast<DimMask>(rest.dims & ~(1u << dim));
            add_offsets(one, rest, shifted, view.dim[dim].at(begin + i), wanted);
          }
        } else {
          wanted = offsets_of(spec, spec.operand[o], view);
        }
        Offsets found;
        add_offsets(child, child.operand[o], bind_view(view, child, binding), start, found);
        std::sort(wanted.begin(), wanted.end());
        std::sort(found.begin(), found.end());
        REQUIRE(found == wanted);
      }
    }
  }
}

TEST_CASE("tiles of tiles are the same in either order, but for what is known of pitches") {
  int same = 0, tried = 0;
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    const Spec spec = random_general(random, {3000, true}).spec;
    if (spec.rank < 2) continue;
    const int a = static_cast<int>(pick(random, 0, spec.rank - 1u));
    const int b = static_cast<int>(pick(random, 0, spec.rank - 1u));
    if (a == b || spec.size[a] < 3 || spec.size[b] < 3) continue;
    const u32 x = pick(random, 2, spec.size[a] - 1), y = pick(random, 2, spec.size[b] - 1);
    if (!may_tile(spec, a, x) || !may_tile(spec, b, y)) continue;
    if (in_registers(spec, a) || in_registers(spec, b)) continue;
    INFO("seed " << seed << ": " << describe(spec) << ", dimension " << a << " by " << x << ", "
                 << b << " by " << y);
    auto cut_both = [&](int first, u32 first_size, int second, u32 second_size) {
      Binding binding;  // dimensions may have other numbers then
      const Spec part = tile(spec, first, first_size, &binding);
      const auto at = std::find(binding.dim.begin(), binding.dim.begin() + part.rank, second);
      return tile(part, static_cast<int>(at - binding.dim.begin()), second_size, nullptr);
    };
    const Spec ab = cut_both(a, x, b, y), ba = cut_both(b, y, a, x);
    REQUIRE(not_canonical(ab) == "");
    tried++;
    Spec one = ab, other = ba;
    for (Spec* s : {&one, &other})
      for (int o = 0; o < s->operand_count; o++) set_pitch(s->operand[o], 0);
    REQUIRE(describe(one) == describe(other));
    REQUIRE(one == other);
    same += ab == ba;
  }
  CHECK(tried > 300);
  CHECK(same > tried / 2);
}

TEST_CASE("rows of windows are known to share sets when less than a row is left of them") {
  const auto alias_of = [](const char* text, std::initializer_list<std::pair<u8, u32>> tiles) {
    Spec spec = lower(*parse(text))->spec;
    for (const auto& [dim, size] : tiles) spec = tile(spec, dim, size, nullptr);
    return spec.operand[0];
  };
  // Rows of 112 x 32 elements are 224 lines; dimensions are rows, columns, channels.
  const char* text = "conv2d f32[1,112,112,32] f32[3,3,1,32] groups=32 nhwc";
  CHECK(window_alias(alias_of(text, {})) == 0);         // one run
  CHECK(window_alias(alias_of(text, {{0, 10}})) == 0);  // still
  for (const Operand& x : {alias_of(text, {{2, 16}}), alias_of(text, {{1, 10}}),
                           alias_of(text, {{1, 10}, {2, 16}}), alias_of(text, {{2, 16}, {0, 9}})})
    CHECK(window_alias(x) == 5);
  CHECK(run_alias(alias_of(text, {{2, 16}})) == 0);
  CHECK(window_alias(
            alias_of("conv2d f32[1,112,113,32] f32[3,3,1,32] groups=32 nhwc", {{2, 16}})) == 1);
  CHECK(alias_of("conv2d f32[1,112,112,32] f32[1,3,1,32] groups=32 nhwc", {{1, 1}}).alias < 16);
  // Columns and channels are windows of their own, which end where channels are divided: rows, of
  // 30 x 512 elements or 960 lines, are as far apart as before.
  const char* deep = "conv2d f32[1,30,30,512] f32[3,3,512,64] nhwc";
  CHECK(window_alias(alias_of(deep, {{4, 512}})) == 6);
  CHECK(window_alias(alias_of(deep, {{4, 256}})) == 6);
  CHECK(window_alias(alias_of(deep, {{4, 256}, {1, 1}})) == 6);
}

TEST_CASE("channels in front of windows are known to share sets when less than an image is left") {
  const auto alias_of = [](const char* text, std::initializer_list<std::pair<u8, u32>> tiles) {
    Spec spec = lower(*parse(text))->spec;
    for (const auto& [dim, size] : tiles) spec = tile(spec, dim, size, nullptr);
    return spec.operand[0];
  };
  // Channels of 32 x 32 elements are 64 lines; dimensions are results, rows, columns, channels.
  // One row of each is left, then one row of windows.
  const char* plain = "conv2d f32[1,256,32,32] f32[64,256,3,3]";
  const char* dilated = "conv2d f32[1,256,32,32] f32[64,256,3,3] dilation=2,2";
  CHECK(run_alias(alias_of(plain, {{1, 2}, {1, 1}, {3, 1}})) == 6);
  CHECK(run_alias(alias_of(dilated, {{1, 2}, {1, 1}, {3, 1}})) == 6);
  // Of columns in front of channels, rows are what their window's places are.
  const Operand x =
      alias_of("conv2d f32[1,112,113,32] f32[3,3,1,32] groups=32 nhwc", {{1, 10}, {2, 16}});
  CHECK(window_alias(x) == 1);
  CHECK(run_alias(x) == 0);
}

TEST_CASE("rows that are next to a power of two apart share sets as if they were so") {
  const auto alias_of = [](u64 bytes) {
    Operand x;
    set_pitch(x, bytes);
    CHECK(is_ragged(x) == (bytes % 64 != 0 && bytes >= 512));
    return run_alias(x);
  };
  for (u64 drift : {0, 2, 8}) {
    CHECK(alias_of(1024 + drift) == 4);
    CHECK(alias_of(4096 - drift) == kMaxAliasL1);
    CHECK(alias_of(65536 + drift) == kMaxAlias);
  }
  CHECK(alias_of(0) == 0);
  CHECK(alias_of(24 * 64) == 3);
  CHECK(alias_of(24 * 64 + 2) == 0);  // after eight runs it has drifted on
  CHECK(alias_of(12 * 64) == 0);
  CHECK(alias_of(8192 - 12) == 0);
  CHECK(alias_of(4096 + 64) == 0);
  CHECK(whole_lines(70) == 1);
  CHECK(whole_lines(96) == 0);
}

TEST_CASE("moves of any operand are canonical, both ways") {
  int moves = 0;
  for (u32 seed = 1; seed <= 3000; seed++) {
    Random random(seed);
    const Spec spec = random_general(random, {3000, true}).spec;
    for (int o = 0; o < spec.operand_count; o++) {
      const Operand& x = spec.operand[o];
      if (!has_plain_windows(spec, x)) continue;
      DimMask outer = 0, axes = x.dims;
      for (int w = 0; w < kMaxWindows; w++)
        if (x.has_window(w)) {
          outer = static_cast<DimMask>(outer | 1u << spec.window[w].outer);
          axes = static_cast<DimMask>(axes & ~(1u << spec.window[w].inner));
        }
      const Operand to = dense_operand(spec, computed_in(x.dtype), Level::kL1, x.access, x.dims,
                                       random_blocks(spec, axes, outer, random), x.windows);
      for (bool in : {true, false}) {
        if (!in && x.access == Access::kIn) continue;
        Binding binding;
        const Spec copy = move_spec(spec, o, to, in, &binding);
        INFO("seed " << seed << ": operand " << o << " of " << describe(spec) << ": "
                     << describe(copy));
        REQUIRE(not_canonical(copy) == "");
        REQUIRE(elements(copy, copy.operand[0]) == elements(spec, x));
        REQUIRE(binding.operand[in ? 0 : 1] == o);
        moves++;
      }
    }
  }
  CHECK(moves > 3000);
}

/// Calls f(spec with one field changed, its number) for every field.
template <class F>
void each_change(const Spec& spec, F&& f) {
  int fields = 0;
  Spec counted = spec;
  each_field(counted, [&](auto&) { fields++; });
  for (int i = 0; i < fields; i++) {
    Spec changed = spec;
    int n = 0;
    each_field(changed, [&](auto& field) {
      if (n++ == i) {
        using T = std::remove_reference_t<decltype(field)>;
        if constexpr (std::is_same_v<T, bool>)
          field = !field;
        else
          field = static_cast<T>(static_cast<u32>(field) + 1);
      }
    });
    f(changed, i);
  }
}

TEST_CASE("each_field() is every byte of a Spec but those in reserve") {
  int fields = 0;
  size_t bytes = 0;
  Spec spec;
  each_field(spec, [&](auto& field) { fields++, bytes += sizeof field; });
  CHECK(bytes == sizeof(Spec) - kMaxStages * sizeof(Stage::reserved) - sizeof(Diagonal::reserved));
  each_change(spec, [&](const Spec& changed, int) {
    CHECK(std::memcmp(&changed, &spec, sizeof spec) != 0);
  });
}

TEST_CASE("what two Specs differ by can be read, but for what describe() leaves out") {
  int compared = 0;
  for (int seed = 1, n = testing::rounds(1500); seed <= n; seed++) {
    Random random(seed);
    const Spec spec = random_general(random, {3000, true, true}).spec;
    const std::string text = describe(spec);
    auto without_hints = [](Spec s) {  // alias, and whether it may be parallel
      s.serial = false;
      for (Operand& x : s.operand) x.alias = 0;
      return s;
    };
    each_change(spec, [&](const Spec& changed, int field) {
      if (not_canonical(changed) != "") return;
      if (std::memcmp(&changed, &spec, sizeof spec) == 0) return;
      const Spec a = without_hints(spec), b = without_hints(changed);
      INFO("seed " << seed << ", field " << field << ": " << text);
      compared++;
      CHECK((describe(changed) == text) == (a == b));
    });
  }
  CHECK(compared > testing::rounds(3000));
}

TEST_SUITE_END();

}  // namespace
}  // namespace morello
