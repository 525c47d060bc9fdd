// SPDX-License-Identifier: MIT
// Every microkernel's code against an independent evaluation, over the sizes around its vectors and
// blocks.
#include <doctest/doctest.h>

#include <bit>

#include "../support/stages.hh"
#include "cost/microkernel.hh"
#include "harness.hh"

namespace morello::testing {
namespace {

/// One operand: its dimensions from slow to fast; elements between neighbours along the fastest,
/// and left out after each of its rows.
struct Form {
  std::vector<u8> order;
  u32 step = 1;
  u32 gap = 0;
};

/// A Spec of such operands, the last of which is the output.
Problem problem_of(const std::vector<u32>& sizes, const std::vector<Form>& forms,
                   const std::vector<Stage>& stages, Access access, u32 seed) {
  Problem p;
  Spec& s = p.spec;
  for (u32 size : sizes) s.size[s.rank++] = size;
  s.operand_count = static_cast<u8>(forms.size());
  set_stages(s, stages);
  for (int i = 0; i < s.stage_count; i++)
    if (s.stage[i].op == Op::kFill) s.stage[i].constant = bits_of(1.5f);
  for (size_t o = 0; o < forms.size(); o++) {
    const Form& form = forms[o];
    const Layout layout = layout_in_order(form.order);
    DimMask dims = 0;
    int rank = layout.count();
    for (u8 d : form.order) dims = static_cast<DimMask>(dims | 1u << d);
    Operand& operand = s.operand[o];
    operand.access = o + 1 < forms.size() ? Access::kIn : access;
    operand.dims = dims;
    operand.layout = layout;
    operand.contig = static_cast<u8>(form.step != 1 ? 0 : form.gap != 0 && rank > 1 ? 1 : rank);
    i64 stride = form.step;
    for (int i = rank - 1; i >= 0; i--) {
      p.views[o].dim[layout.dim[i]].stride[0] = stride;
      stride = stride * s.size[layout.dim[i]] + (i == rank - 1 ? form.gap : 0);
    }
    p.data[o].assign(static_cast<size_t>(std::max<i64>(stride, 1)), 0);
  }
  Random random(seed);
  p.fill(random);
  // Dimensions of size 1 are no dimensions.
  Binding binding;
  Views views = p.views;
  drop_unit_dims(s, &binding);
  for (int o = 0; o < s.operand_count; o++) p.views[o] = bind_view(views[o], s, binding);
  return p;
}

ImplTree leaf_tree(const Spec& spec, MicrokernelId id, const Target* target) {
  ImplTree tree;
  tree.target = target;
  tree.nodes.push_back({spec, Select{static_cast<u16>(id)}, {}, 0, {}});
  return tree;
}

void check(const ImplTree& tree, const Problem& p) {
  const ImplNode& leaf = tree.nodes.back();
  CAPTURE(describe(leaf.spec));
  CAPTURE(tree.target->name);
  std::string wrong = check_tree(tree, p);
  CHECK_MESSAGE(wrong.empty(), wrong);
}

/// The whole Spec by one microkernel, if that applies.
bool check_leaf(const Problem& p, MicrokernelId id, bool must_apply = true) {
  for (const Target* target : targets()) {
    bool applies = microkernel(id).applies(p.spec, *target);
    if (must_apply && p.spec.rank > 1) CHECK_MESSAGE(applies, describe(p.spec));
    if (!applies) return false;
    if (microkernel(id).registers(p.spec, *target) > target->vector_registers) continue;
    check(leaf_tree(p.spec, id, target), p);
  }
  return true;
}

/// The output in a register tile: read if it is kInOut, else filled; then microkernel `id`; then
/// stored.
void check_in_registers(const Problem& p, MicrokernelId id, float neutral) {
  for (const Target* target : targets()) {
    ImplTree tree;
    tree.target = target;
    const Spec& spec = p.spec;
    u8 out = static_cast<u8>(spec.out_index());
    bool reads = spec.out().access == Access::kInOut;
    Operand placed = dense_operand(spec, Dtype::kF32, Level::kRegister, spec.out().access,
                                   spec.out().dims, plain_layout(spec.out().layout));
    tree.nodes.push_back({spec, Move{out, false, placed}, {}, 0, {}});
    auto add = [&](NodeId parent, ImplNode node, const Binding& binding) {
      NodeId made = static_cast<NodeId>(tree.nodes.size());
      tree.nodes[parent].children.push_back({made, binding});
      tree.nodes.push_back(std::move(node));
      return made;
    };
    auto select = [](const Spec& s, MicrokernelId leaf) {
      return ImplNode{s, Select{static_cast<u16>(leaf)}, {}, 0, {}};
    };
    // Vectors of the tile that are none in memory are copied element by element.
    bool vectors_match = spec.rank == 0 || unit_dim(spec.out()) != kNoDim;
    MicrokernelId copy = vectors_match ? MicrokernelId::kMap : MicrokernelId::kScalarMap;
    Binding binding;
    NodeId parent = 0;
    Spec body = spec;
    body.out() = placed;
    Binding inner = identity_binding();
    inner.operand[out] = new_buffer(0);
    if (reads) {
      Spec load = move_spec(spec, out, placed, true, &binding);
      add(0, select(load, copy), binding);
    } else {
      parent = add(0, {body, Block{}, {}, 0, {}}, inner);
      inner = identity_binding();
      Spec fill = move_spec(spec, out, placed, true, &binding);
      fill.operand[0] = fill.operand[1];
      fill.operand[1] = Operand{};
      fill.operand_count = 1;
      set_stages(fill, {stage_of_op(Op::kFill)});
      fill.stage[0].constant = bits_of(neutral);
      binding.operand[0] = out;
      add(parent, select(fill, MicrokernelId::kMap), binding);
    }
    body.out().access = Access::kInOut;
    if (!microkernel(id).applies(body, *target)) continue;
    Spec back = move_spec(spec, out, placed, false, &binding);
    Spec in = move_spec(spec, out, placed, true, &binding);
    u32 extra = microkernel(id).registers(body, *target);
    for (const Spec* s : {&back, &in})
      extra = std::max(extra, microkernel(copy).registers(*s, *target));
    if (vectors(body, placed, target->lanes(4)) + extra > target->vector_registers) continue;
    add(parent, select(body, id), inner);
    back = move_spec(spec, out, placed, false, &binding);
    add(0, select(back, copy), binding);
    check(tree, p);
  }
}

const std::vector<u32> kColumns = {1,  2,  3,  4,  5,  6,  7,  8,  9,  11, 13,
                                   15, 16, 17, 20, 24, 31, 32, 33, 35, 48, 64};

}  // namespace

TEST_SUITE("codegen") {
  TEST_CASE("outer product: rows, columns, depth") {
    for (Access access : {Access::kOut, Access::kInOut})
      for (u32 n : kColumns)
        for (u32 m : {1u, 2u, 3u, 4u, 6u, 8u, 13u})
          for (u32 k : {1u, 2u, 3u, 5u, 8u, 17u, 33u})
            check_in_registers(
                problem_of({m, n, k}, {{{0, 2}}, {{2, 1}}, {{0, 1}}},
                           {stage_of_op(Op::kMulAdd, 0, 1, 0b100)}, access, m * 100 + n),
                MicrokernelId::kOuterProduct, 0);
  }

  TEST_CASE("outer product: strides and operand orders") {
    for (u32 n : {1u, 3u, 8u, 13u, 16u, 21u})
      for (u32 m : {1u, 2u, 5u})
        for (u32 k : {1u, 2u, 9u, 40u}) {
          const Stage stage = stage_of_op(Op::kMulAdd, 0, 1, 0b100);
          // Column-major a; gaps; b first; vectors along m.
          check_in_registers(problem_of({m, n, k}, {{{2, 0}}, {{2, 1}, 1, 3}, {{0, 1}, 1, 5}},
                                        {stage}, Access::kInOut, 1),
                             MicrokernelId::kOuterProduct, 0);
          check_in_registers(
              problem_of({m, n, k}, {{{2, 1}}, {{0, 2}, 2}, {{0, 1}}}, {stage}, Access::kOut, 2),
              MicrokernelId::kOuterProduct, 0);
          check_in_registers(
              problem_of({n, m, k}, {{{2, 0}}, {{2, 1}}, {{1, 0}}}, {stage}, Access::kOut, 3),
              MicrokernelId::kOuterProduct, 0);
          // a does not depend on k; b does not.
          check_in_registers(
              problem_of({m, n, k}, {{{0}}, {{2, 1}}, {{0, 1}}}, {stage}, Access::kOut, 4),
              MicrokernelId::kOuterProduct, 0);
          check_in_registers(
              problem_of({m, n, k}, {{{0, 2}}, {{1}}, {{0, 1}}}, {stage}, Access::kOut, 5),
              MicrokernelId::kOuterProduct, 0);
        }
  }

  TEST_CASE("dot product") {
    for (Access access : {Access::kOut, Access::kInOut})
      for (u32 k : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 31u, 33u, 63u, 64u, 65u, 100u, 128u,
                    150u, 257u})
        for (u32 m : {1u, 2u, 3u, 4u})
          for (u32 n : {1u, 2u, 3u, 5u}) {
            const Stage stage = stage_of_op(Op::kMulAdd, 0, 1, 0b100);
            check_leaf(problem_of({m, n, k}, {{{0, 2}}, {{1, 2}}, {{0, 1}}}, {stage}, access, k),
                       MicrokernelId::kDotProduct);
            check_leaf(problem_of({m, n, k}, {{{1, 2}, 1, 3}, {{0, 2}, 1, 1}, {{1, 0}, 1, 2}},
                                  {stage}, access, k),
                       MicrokernelId::kDotProduct);
          }
  }

  TEST_CASE("map: every operation, in memory") {
    std::vector<Stage> unary = {stage_of_op(Op::kCopy, 0)}, binary, ternary;
    for (const Elementwise& e : kElementwise) {
      std::vector<Stage>& list = e.inputs == 1 ? unary : e.inputs == 2 ? binary : ternary;
      list.push_back(stage_of_op(e.op, 0, e.inputs > 1 ? Ref{1} : kNoRef));
      if (e.inputs == 3) list.back().in[2] = 2;
    }
    for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap})
      for (u32 n : kColumns)
        for (u32 m : {1u, 3u}) {
          Form row{{0, 1}}, gap{{0, 1}, 1, 3};
          check_leaf(problem_of({m, n}, {row}, {stage_of_op(Op::kFill)}, Access::kOut, n), id);
          for (const Stage& s : unary)
            check_leaf(problem_of({m, n}, {row, gap}, {s}, Access::kOut, n), id);
          for (const Stage& s : binary)
            for (const Form& other : {row, Form{{1}}, Form{{0}}, Form{{}}}) {
              check_leaf(problem_of({m, n}, {gap, other, row}, {s}, Access::kOut, n), id);
              Stage swapped = s;
              std::swap(swapped.in[0], swapped.in[1]);
              check_leaf(problem_of({m, n}, {gap, other, row}, {swapped}, Access::kOut, n), id);
            }
          for (const Stage& s : ternary)
            for (const Form& other : {row, Form{{1}}, Form{{0}}, Form{{}}})
              for (std::array<Ref, 3> in : {std::array<Ref, 3>{0, 1, 2}, {1, 2, 0}, {2, 0, 1}}) {
                Stage turned = s;
                turned.in = in;
                check_leaf(problem_of({m, n}, {gap, other, row, row}, {turned}, Access::kOut, n),
                           id);
              }
        }
  }

  TEST_CASE("map: long rows, three dimensions, chains, in place") {
    std::vector<Stage> chain = {stage_of_op(Op::kSub, 0, 1), stage_of_op(Op::kMul, 2, kPrevious),
                                stage_of_op(Op::kRelu, kPrevious),
                                stage_of_op(Op::kDiv, kPrevious, 3)};
    std::vector<Stage> in_place = {stage_of_op(Op::kAdd, 1, 0), stage_of_op(Op::kRelu, kPrevious)};
    for (u32 n : {3u, 16u, 61u, 127u, 128u, 129u, 200u, 256u, 275u, 400u})
      for (u32 m : {1u, 2u, 7u, 17u}) {
        std::vector<Form> forms = {{{0, 1}}, {{1}}, {{0}}, {{0, 1}, 1, 2}, {{0, 1}, 1, 1}};
        check_leaf(problem_of({m, n}, forms, chain, Access::kOut, n), MicrokernelId::kMap);
        check_leaf(problem_of({m, n}, {{{1}}, {{0, 1}, 1, 4}}, in_place, Access::kInOut, n),
                   MicrokernelId::kMap);
        check_leaf(problem_of({3, m, n}, {{{0, 1, 2}, 1, 3}, {{1, 2}}, {{0, 1, 2}}},
                              {stage_of_op(Op::kAdd, 0, 1)}, Access::kOut, n),
                   MicrokernelId::kMap);
        check_leaf(problem_of({2, m, 2, n}, {{{3, 0, 2, 1}, 2, 3}, {{1, 2, 3, 0}, 3, 1}},
                              {stage_of_op(Op::kCopy, 0)}, Access::kOut, n),
                   MicrokernelId::kScalarMap);
      }
  }

  TEST_CASE("map: long rows that share operands") {
    const std::vector<std::vector<Stage>> chains = {
        {stage_of_op(Op::kSub, 0, 2), stage_of_op(Op::kMul, kPrevious, 1),
         stage_of_op(Op::kAdd, kPrevious, 3), stage_of_op(Op::kDiv, 4, kPrevious)},
        {stage_of_op(Op::kMul, 1, 3), stage_of_op(Op::kRelu, kPrevious),
         stage_of_op(Op::kMax, 0, kPrevious), stage_of_op(Op::kMin, kPrevious, 2),
         stage_of_op(Op::kSub, 4, kPrevious)},
        {stage_of_op(Op::kNeg, 3), stage_of_op(Op::kSub, 2, kPrevious),
         stage_of_op(Op::kDiv, 1, kPrevious), stage_of_op(Op::kAbs, kPrevious),
         stage_of_op(Op::kMul, kPrevious, 0), stage_of_op(Op::kAdd, kPrevious, 4)}};
    for (const std::vector<Stage>& chain : chains)
      for (u32 n : {127u, 128u, 144u, 145u, 191u, 200u, 256u, 275u, 768u})
        for (u32 m : {2u, 3u, 4u, 6u})
          // All rows begin where lines do, or not.
          for (auto [gap, out_gap] : {std::pair{16 - n % 16, 32 - n % 16}, std::pair{1u, 3u}}) {
            const std::vector<Form> forms = {{{0, 1}, 1, gap},    {{1}}, {{0}}, {{1}}, {{}},
                                             {{0, 1}, 1, out_gap}};
            check_leaf(problem_of({m, n}, forms, chain, Access::kOut, n), MicrokernelId::kMap);
          }
  }

  TEST_CASE("map: three inputs, of memory, registers, and values before") {
    auto select = [](Ref c, Ref x, Ref y) {
      Stage s = stage_of_op(Op::kSelect, c, x);
      s.in[2] = y;
      return s;
    };
    const Stage less = stage_of_op(Op::kLess, 0, 1);
    for (u32 n : kColumns)
      for (u32 m : {1u, 3u}) {
        std::vector<Form> forms = {{{0, 1}}, {{1}}, {{0, 1}, 1, 2}, {{0}}, {{0, 1}, 1, 1}};
        for (const Stage& s : {select(kPrevious, 2, 3), select(2, kPrevious, 3),
                               select(3, 2, kPrevious), select(kPrevious, kPrevious, 2)}) {
          std::vector<Form> used = forms;
          const bool all = s.in[0] != kPrevious || s.in[1] != kPrevious;
          if (!all) used.erase(used.begin() + 3);
          for (MicrokernelId id : {MicrokernelId::kMap, MicrokernelId::kScalarMap})
            check_leaf(problem_of({m, n}, used, {less, s}, Access::kOut, n), id);
        }
        // The tile is read and overwritten.
        for (std::array<Ref, 3> in : {std::array<Ref, 3>{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
          check_in_registers(problem_of({m, n}, {{{1}}, {{0, 1}, 1, 3}, {{0, 1}}},
                                        {select(in[0], in[1], in[2])}, Access::kInOut, n),
                             MicrokernelId::kMap, 0);
          if (in[0] == 2) continue;
          check_in_registers(problem_of({m, n}, {{{1}}, {{0, 1}, 1, 3}, {{0, 1}}},
                                        {stage_of_op(Op::kLess, 0, 2), select(kPrevious, 1, 2)},
                                        Access::kInOut, n),
                             MicrokernelId::kMap, 0);
        }
      }
  }

  TEST_CASE("map: register tiles") {
    for (u32 n : kColumns)
      for (u32 m : {1u, 2u, 4u}) {
        check_in_registers(
            problem_of({m, n}, {{{1}}, {{0, 1}, 1, 3}},
                       {stage_of_op(Op::kAdd, 1, 0), stage_of_op(Op::kRelu, kPrevious)},
                       Access::kInOut, n),
            MicrokernelId::kMap, 0);
        check_in_registers(
            problem_of({m, n}, {{{0}}, {{0, 1}, 1, 3}, {{0, 1}}},
                       {stage_of_op(Op::kDiv, 0, 2), stage_of_op(Op::kSub, 1, kPrevious)},
                       Access::kInOut, n),
            MicrokernelId::kMap, 0);
        check_in_registers(
            problem_of({2, m, n}, {{{0, 1}}, {{0, 1, 2}}},
                       {stage_of_op(Op::kMul, 0, 1), stage_of_op(Op::kNeg, kPrevious)},
                       Access::kInOut, n),
            MicrokernelId::kMap, 0);
        check_in_registers(problem_of({2, m, n}, {{{0, 1}}, {{1, 0, 2}}},
                                      {stage_of_op(Op::kMul, 0, 1)}, Access::kInOut, n),
                           MicrokernelId::kMap, 0);
      }
  }

  TEST_CASE("reductions") {
    for (Op op : {Op::kAdd, Op::kMax, Op::kMin, Op::kFastMax, Op::kFastMin}) {
      const auto start = static_cast<float>(identity_of(op, Dtype::kF32));
      for (Access access : {Access::kOut, Access::kInOut})
        for (u32 n : {1u,  2u,  3u,  4u,  5u,  7u,  8u,  9u,   12u,  15u,  16u,  17u,
                      31u, 32u, 33u, 40u, 63u, 64u, 70u, 127u, 128u, 200u, 257u, 513u})
          for (u32 m : {1u, 2u, 3u, 5u}) {
            if (n > 1) {
              check_leaf(problem_of({m, n}, {{{0, 1}, 1, 3}, {{0}, 2}},
                                    {stage_of_op(op, 0, kNoRef, 0b10)}, access, n),
                         MicrokernelId::kReduceLanes);
              check_leaf(problem_of({m, n}, {{{0, 1}, 2, 3}, {{0}, 2}},
                                    {stage_of_op(op, 0, kNoRef, 0b10)}, access, n),
                         MicrokernelId::kScalarReduce);
              if (n < 32)
                check_leaf(problem_of({m, n, 3}, {{{2, 0, 1}, 2, 3}, {{0}, 2}},
                                      {stage_of_op(op, 0, kNoRef, 0b110)}, access, n),
                           MicrokernelId::kScalarReduce);
            }
            if (m > 1 && n > 1 && n <= 64) {
              check_in_registers(problem_of({n, m}, {{{1, 0}, 1, 3}, {{0}}},
                                            {stage_of_op(op, 0, kNoRef, 0b10)}, access, n),
                                 MicrokernelId::kReduceRows, start);
              check_in_registers(problem_of({2, n, m}, {{{0, 2, 1}, 1, 3}, {{0, 1}}},
                                            {stage_of_op(op, 0, kNoRef, 0b100)}, access, n),
                                 MicrokernelId::kReduceRows, start);
            }
            if ((m == 2 || m == 3) && n > 1 && n <= 33) {  // every second or third element
              check_in_registers(problem_of({n, m}, {{{0, 1}}, {{0}}},
                                            {stage_of_op(op, 0, kNoRef, 0b10)}, access, n),
                                 MicrokernelId::kReduceRows, start);
              if (n <= 17)
                check_in_registers(problem_of({2, n, m}, {{{0, 1, 2}}, {{0, 1}}},
                                              {stage_of_op(op, 0, kNoRef, 0b100)}, access, n),
                                   MicrokernelId::kReduceRows, start);
            }
          }
    }
  }

  TEST_CASE("scalar contraction") {
    for (Access access : {Access::kOut, Access::kInOut})
      for (u32 k : {1u, 2u, 3u, 4u, 7u, 8u, 13u})
        for (u32 m : {1u, 2u, 5u})
          check_leaf(problem_of({m, 3, k, 2}, {{{0, 2, 3}, 2}, {{3, 1, 2}, 3}, {{1, 0}, 2}},
                                {stage_of_op(Op::kMulAdd, 0, 1, 0b1100)}, access, k),
                     MicrokernelId::kScalarReduce);
  }

  TEST_CASE("transpose") {
    for (u32 m : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 23u, 31u})
      for (u32 n : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 11u, 16u, 17u, 24u, 29u})
        check_leaf(problem_of({m, n}, {{{1, 0}, 1, 3}, {{0, 1}, 1, 2}}, {stage_of_op(Op::kCopy, 0)},
                              Access::kOut, m),
                   MicrokernelId::kTranspose);
  }
}

}  // namespace morello::testing
