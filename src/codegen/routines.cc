// SPDX-License-Identifier: MIT
#include "codegen/routines.hh"

#include <algorithm>
#include <utility>

#include "cost/microkernel.hh"
#include "cost/model.hh"

namespace morello {
namespace {

/// A call costs about 20 cycles: arguments, saved registers, return. At most 2% of what it runs.
constexpr i64 kWorthCalling = 1000 * kUnitsPerCycle;

/// Every cursor that a node or what is in it names.
template <class F>
void each_cursor(Plan& plan, const std::vector<PlanId>& list, size_t start, F f) {
  for (size_t i = start; i < list.size(); i++) {
    PlanNode& node = plan.nodes[list[i]];
    if (auto* loop = std::get_if<PlanLoop>(&node)) {
      for (CursorStep& s : loop->steps) f(s.cursor);
      each_cursor(plan, loop->body, 0, f);
      each_cursor(plan, loop->rest, 0, f);
    } else if (auto* invoke = std::get_if<PlanInvoke>(&node)) {
      for (CursorId& c : invoke->cursors) f(c);
    } else if (auto* call = std::get_if<PlanCall>(&node)) {
      for (int o = 0; o < call->spec.operand_count; o++)
        if (!call->operand[o].in_registers) f(call->operand[o].cursor);
    }
  }
}

template <class T>
void append(std::string& key, const T& value) {
  static_assert(std::has_unique_object_representations_v<T>);
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The bytes of two lists are equal if and only if their code is.
void append(std::string& key, const Plan& plan, const std::vector<PlanId>& list, size_t start) {
  append(key, list.size() - start);
  for (size_t i = start; i < list.size(); i++) {
    const PlanNode& node = plan.nodes[list[i]];
    append(key, node.index());
    if (const auto* loop = std::get_if<PlanLoop>(&node)) {
      append(key, loop->trips);
      append(key, loop->steps.size());
      for (const CursorStep& s : loop->steps) append(key, s.cursor), append(key, s.bytes);
      append(key, plan, loop->body, 0);
      append(key, plan, loop->rest, 0);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
      append(key, invoke->function);
      for (CursorId c : invoke->cursors) append(key, c);
    } else if (const auto* call = std::get_if<PlanCall>(&node)) {
      append(key, call->id);
      append(key, call->first_free);
      key.append(reinterpret_cast<const char*>(&call->spec), sizeof call->spec);
      for (int o = 0; o < call->spec.operand_count; o++) {
        const PlanOperand& x = call->operand[o];
        append(key, x.in_registers);
        append(key, x.in_registers ? x.first_register : x.cursor);
        append(key, x.stride);
      }
    }
  }
}

}  // namespace

i64 Routines::cost_of(const std::vector<PlanId>& list, size_t start) const {
  i64 sum = 0;
  for (size_t i = start; i < list.size(); i++) {
    const PlanNode& node = plan_.nodes[list[i]];
    i64 c = 0;
    if (const auto* loop = std::get_if<PlanLoop>(&node))
      c = saturating_add(saturating_mul(loop->trips, cost_of(loop->body, 0)),
                         cost_of(loop->rest, 0));
    else if (const auto* invoke = std::get_if<PlanInvoke>(&node))
      c = cost_.at(invoke->function);
    else if (const auto* call = std::get_if<PlanCall>(&node))
      c = microkernel(call->id).cost(call->spec, target_);
    sum = saturating_add(sum, c);
  }
  return sum;
}

bool Routines::has_parallel(const std::vector<PlanId>& list, size_t start) const {
  return std::any_of(list.begin() + static_cast<long>(start), list.end(), [&](PlanId id) {
    const PlanNode& node = plan_.nodes[id];
    if (const auto* loop = std::get_if<PlanLoop>(&node))
      return has_parallel(loop->body, 0) || has_parallel(loop->rest, 0);
    return std::holds_alternative<PlanParallel>(node);
  });
}

void Routines::share(std::vector<PlanId>& list, size_t start) {
  bool is_call =
      list.size() == start + 1 && std::holds_alternative<PlanInvoke>(plan_.nodes[list[start]]);
  if (is_call || has_parallel(list, start)) return;
  const i64 cost = cost_of(list, start);
  if (cost < kWorthCalling) return;
  // Cursors become arguments, in the order of their first use.
  PlanInvoke invoke;
  each_cursor(plan_, list, start, [&](CursorId& c) {
    auto at = std::find(invoke.cursors.begin(), invoke.cursors.end(), c);
    if (at == invoke.cursors.end()) at = invoke.cursors.insert(at, c);
    c = static_cast<CursorId>(at - invoke.cursors.begin());
  });
  std::string key;
  append(key, plan_, list, start);
  auto [known, is_new] = known_.try_emplace(std::move(key), plan_.functions.size());
  invoke.function = known->second;
  if (is_new) {
    PlanFunction& routine = plan_.functions.emplace_back();
    routine.routine = true;
    for (u64 i = 0; i < invoke.cursors.size(); i++)
      routine.cursors.push_back({Cursor::Base::kArgument, i});
    routine.body.assign(list.begin() + static_cast<long>(start), list.end());
    cost_[invoke.function] = cost;
  }
  list.resize(start);
  list.push_back(static_cast<PlanId>(plan_.nodes.size()));
  plan_.nodes.push_back(std::move(invoke));
}

void Routines::count_uses(const std::vector<PlanId>& list) {
  for (PlanId id : list) {
    const PlanNode& node = plan_.nodes[id];
    if (const auto* loop = std::get_if<PlanLoop>(&node)) {
      count_uses(loop->body);
      count_uses(loop->rest);
    } else if (const auto* parallel = std::get_if<PlanParallel>(&node)) {
      count_uses(plan_.functions[parallel->function].body);
      count_uses(parallel->rest);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
      if (uses_[invoke->function]++ == 0) count_uses(plan_.functions[invoke->function].body);
    }
  }
}

/// Routines that are called once come back to where they are called.
void Routines::put_back(std::vector<PlanId>& list) {
  for (size_t i = 0; i < list.size();) {
    PlanNode& node = plan_.nodes[list[i]];
    if (const auto* invoke = std::get_if<PlanInvoke>(&node);
        invoke && uses_[invoke->function] == 1) {
      std::vector<PlanId> body = std::exchange(plan_.functions[invoke->function].body, {});
      each_cursor(plan_, body, 0, [&](CursorId& c) { c = invoke->cursors[c]; });
      list.erase(list.begin() + static_cast<long>(i));
      list.insert(list.begin() + static_cast<long>(i), body.begin(), body.end());
      continue;  // what came may be a call again
    }
    if (auto* loop = std::get_if<PlanLoop>(&node)) {
      put_back(loop->body);
      put_back(loop->rest);
    } else if (auto* parallel = std::get_if<PlanParallel>(&node)) {
      put_back(parallel->rest);
    }
    i++;
  }
}

void Routines::finish() {
  uses_.assign(plan_.functions.size(), 0);
  count_uses(plan_.functions[0].body);
  for (u32 f = 0; f < plan_.functions.size(); f++) {
    PlanFunction& function = plan_.functions[f];
    if (function.routine && uses_[f] == 0) function.body.clear();  // part of one that was not new
    if (!function.routine || uses_[f] > 1) put_back(function.body);
  }
}

}  // namespace morello
