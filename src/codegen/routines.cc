// SPDX-License-Identifier: MIT
#include "codegen/routines.hh"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "cost/microkernel.hh"
#include "cost/model.hh"

namespace morello {
namespace {

/// What a call takes: arguments, saved registers, return.
constexpr i64 kCall = 20 * kUnitsPerCycle;
/// What runs for less is not compared: its code is hardly longer than a call.
constexpr i64 kWorthSharing = 10 * kUnitsPerCycle;
/// A call is at most 2% of what it runs ...
constexpr i64 kWorthCalling = 50 * kCall;
/// ... or all such calls together 2% of the kernel, each at most a quarter of what is left of that.
constexpr i64 kCallsPermille = 20;
constexpr i64 kMostOfTheRest = 4;
/// Of several kernels, what runs for this long or longer is compared, as each had its own routines
/// before. Calls of what is not worth it everywhere take at most so much of each function.
constexpr i64 kMayBeRare = 10 * kCall;
constexpr i64 kKernelsPermille = 10;
/// The microkernels that are called rare take 2.5 thousandths of the time for each that there is.
/// The more code, the more of it is short; but never more than 15%.
constexpr i64 kRarePermille = 150;
constexpr i64 kRarePerMillion = 2500;

/// Every cursor that a node or what is in it names.
template <class F>
void each_cursor(Plan& plan, const std::vector<PlanId>& list, size_t start, F f) {
  for (size_t i = start; i < list.size(); i++) {
    PlanNode& node = plan.nodes[list[i]];
    if (auto* loop = std::get_if<PlanLoop>(&node)) {
      for (CursorStep& s : loop->steps) f(s.cursor);
      for (CursorStep& s : loop->before_last) f(s.cursor);
      each_cursor(plan, loop->body, 0, f);
      each_cursor(plan, loop->rest, 0, f);
    } else if (auto* invoke = std::get_if<PlanInvoke>(&node)) {
      for (CursorId& c : invoke->cursors) f(c);
    } else if (auto* index = std::get_if<PlanIndex>(&node)) {
      f(index->cursor), f(index->index);
    } else if (auto* call = std::get_if<PlanCall>(&node)) {
      for (int o = 0; o < call->spec.operand_count; o++)
        if (!call->operand[o].in_registers) f(call->operand[o].cursor);
      for (PlanAsk* ask : {&call->ask, &call->results})
        if (ask->rows != 0) f(ask->cursor);
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
      for (const auto* steps : {&loop->steps, &loop->before_last}) {
        append(key, steps->size());
        for (const CursorStep& s : *steps) append(key, s.cursor), append(key, s.bytes);
      }
      append(key, plan, loop->body, 0);
      append(key, plan, loop->rest, 0);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
      append(key, invoke->function);
      for (CursorId c : invoke->cursors) append(key, c);
    } else if (const auto* call = std::get_if<PlanCall>(&node)) {
      append(key, call->id);
      append(key, call->first_free);
      append(key, call->rare);
      append(key, call->starts);
      key.append(reinterpret_cast<const char*>(&call->spec), sizeof call->spec);
      for (int o = 0; o < call->spec.operand_count; o++) {
        const PlanOperand& x = call->operand[o];
        append(key, x.in_registers);
        append(key, x.in_registers ? x.first_register : x.cursor);
        append(key, x.stride);
        append(key, x.ahead);
        append(key, x.next);
      }
      for (const PlanAsk& ask : {call->ask, call->results}) {
        append(key, std::array<u32, 3>{ask.cursor, ask.rows, ask.lines});
        append(key, std::array<i64, 2>{ask.pitch, ask.bytes});
      }
    } else if (const auto* x = std::get_if<PlanIndex>(&node)) {
      append(key, std::array<u32, 4>{x->cursor, x->index, static_cast<u32>(x->dtype), x->places});
      append(key, x->bytes);
    } else if (const auto* tiles = std::get_if<PlanTiles>(&node)) {
      append(key, tiles->sizes.rows);
      append(key, tiles->sizes.row_bytes);
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
  if (cost >= kWorthSharing) make_routine(list, start, cost);
}

void Routines::make_routine(std::vector<PlanId>& list, size_t start, i64 cost) {
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

void Routines::put_back_single() {
  uses_.assign(plan_.functions.size(), 0);
  for (u32 f = 0; f < plan_.kernels; f++) count_uses(plan_.functions[f].body);
  for (u32 f = 0; f < plan_.functions.size(); f++) {
    PlanFunction& function = plan_.functions[f];
    if (function.routine && uses_[f] == 0) function.body.clear();  // part of one that was not new
    if (!function.routine || uses_[f] > 1) put_back(function.body);
  }
}

/// A routine calls only those that were made before it.
std::vector<u32> Routines::callers_first() const {
  std::vector<u32> order;
  for (u32 f = 0; f < plan_.functions.size(); f++)
    if (!plan_.functions[f].routine) order.push_back(f);
  for (auto f = static_cast<u32>(plan_.functions.size()); f-- > 0;)
    if (plan_.functions[f].routine) order.push_back(f);
  return order;
}

void Routines::start_counting() {
  times_.assign(plan_.functions.size(), 0);
  times_[0] = 1;
}

void Routines::add_times(u32 function, u64 trips, i64 times) {
  times_[function] = saturating_add(times_[function], saturating_mul(trips, times));
}

void Routines::measure(const std::vector<PlanId>& list, i64 times, std::vector<Timed>& out) {
  for (PlanId id : list) {
    const PlanNode& node = plan_.nodes[id];
    if (const auto* loop = std::get_if<PlanLoop>(&node)) {
      measure(loop->body, saturating_mul(loop->trips, times), out);
      measure(loop->rest, times, out);
    } else if (const auto* parallel = std::get_if<PlanParallel>(&node)) {
      add_times(parallel->function, parallel->trips, times);
      measure(parallel->rest, times, out);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&node)) {
      add_times(invoke->function, 1, times);
    } else if (const auto* call = std::get_if<PlanCall>(&node)) {
      const i64 once = microkernel(call->id).cost(call->spec, target_);
      out.push_back({saturating_mul(static_cast<u64>(times), once), id});
    }
  }
}

std::vector<Routines::Timed> Routines::measure() {
  std::vector<Timed> all;
  start_counting();
  for (u32 f : callers_first()) measure(plan_.functions[f].body, times_[f], all);
  return all;
}

bool Routines::is_worth_calling(u32 routine, i64 times) {
  if (routine < kept_ || cost_.at(routine) >= kWorthCalling) return true;
  const i64 calls = saturating_mul(static_cast<u64>(times), kCall);
  if (calls > calls_left_ / kMostOfTheRest) return false;
  calls_left_ -= calls;
  return true;
}

std::vector<PlanId> Routines::copy(const std::vector<PlanId>& list) {
  std::vector<PlanId> copies;
  for (PlanId id : list) {
    PlanNode node = plan_.nodes[id];
    if (auto* loop = std::get_if<PlanLoop>(&node)) {
      loop->body = copy(loop->body);
      loop->rest = copy(loop->rest);
    }
    copies.push_back(static_cast<PlanId>(plan_.nodes.size()));
    plan_.nodes.push_back(std::move(node));
  }
  return copies;
}

/// `list`, which runs `times` times, with what is not worth a call in its place. Nodes move while
/// others are copied, so none is held meanwhile.
std::vector<PlanId> Routines::unfold(std::vector<PlanId> list, i64 times) {
  for (size_t i = 0; i < list.size();) {
    const PlanId id = list[i];
    if (const auto* loop = std::get_if<PlanLoop>(&plan_.nodes[id])) {
      std::vector<PlanId> rest = loop->rest;
      std::vector<PlanId> body = unfold(loop->body, saturating_mul(loop->trips, times));
      rest = unfold(std::move(rest), times);
      auto& changed = std::get<PlanLoop>(plan_.nodes[id]);
      changed.body = std::move(body);
      changed.rest = std::move(rest);
    } else if (const auto* parallel = std::get_if<PlanParallel>(&plan_.nodes[id])) {
      add_times(parallel->function, parallel->trips, times);
      std::vector<PlanId> rest = unfold(parallel->rest, times);
      std::get<PlanParallel>(plan_.nodes[id]).rest = std::move(rest);
    } else if (const auto* invoke = std::get_if<PlanInvoke>(&plan_.nodes[id])) {
      if (!is_worth_calling(invoke->function, times)) {
        const std::vector<CursorId> cursors = invoke->cursors;
        std::vector<PlanId> body = copy(plan_.functions[invoke->function].body);
        each_cursor(plan_, body, 0, [&](CursorId& c) { c = cursors[c]; });
        list.erase(list.begin() + static_cast<long>(i));
        list.insert(list.begin() + static_cast<long>(i), body.begin(), body.end());
        continue;  // what came may be a call again
      }
      add_times(invoke->function, 1, times);
    }
    i++;
  }
  return list;
}

i64 Routines::sum_of(const std::vector<Timed>& all) {
  i64 sum = 0;
  for (const Timed& t : all) sum = saturating_add(sum, t.units);
  return sum;
}

void Routines::mark_rare() {
  std::vector<Timed> all = measure();
  const i64 share = std::min(kRarePermille * 1000, kRarePerMillion * static_cast<i64>(all.size()));
  i64 left = saturating_mul(static_cast<u64>(share), sum_of(all) / 1000000);
  std::sort(all.begin(), all.end());
  for (const Timed& t : all) {
    if (t.units > left) return;
    left -= t.units;
    std::get<PlanCall>(plan_.nodes[t.call]).rare = true;
  }
}

void Routines::finish() {
  put_back_single();
  calls_left_ = sum_of(measure()) / 1000 * kCallsPermille;
  start_counting();
  for (u32 f : callers_first()) {
    std::vector<PlanId> body = unfold(plan_.functions[f].body, times_[f]);
    plan_.functions[f].body = std::move(body);
  }
  put_back_single();
  mark_rare();
}

/// Loops, calls of microkernels that follow one another, and then all of `list`, if `whole`. A step
/// to the place that an index names costs nothing, so it is shared with the way back or not at all.
/// `same`: the number that each routine has now.
void Routines::share_parts(std::vector<PlanId>& list, const std::vector<u32>& same, bool whole) {
  std::vector<PlanId> out;
  size_t calls = 0;  // in `out`, where those at its end begin
  const auto share_last = [&](size_t start) {
    if (start == out.size() || has_parallel(out, start)) return;
    const bool is_call =
        start + 1 == out.size() && std::holds_alternative<PlanInvoke>(plan_.nodes[out[start]]);
    const i64 cost = cost_of(out, start);
    if (!is_call && cost >= kMayBeRare) make_routine(out, start, cost);
  };
  for (PlanId id : list) {
    PlanNode node = plan_.nodes[id];  // new ones move it
    const bool is_call = std::holds_alternative<PlanCall>(node);
    if (!is_call) share_last(calls);
    if (auto* loop = std::get_if<PlanLoop>(&node)) {
      share_parts(loop->body, same);
      share_parts(loop->rest, same);
    } else if (auto* parallel = std::get_if<PlanParallel>(&node)) {
      share_parts(parallel->rest, same);
    } else if (auto* invoke = std::get_if<PlanInvoke>(&node)) {
      invoke->function = same[invoke->function];
    }
    plan_.nodes[id] = std::move(node);
    out.push_back(id);
    if (is_call) continue;
    share_last(out.size() - 1);
    calls = out.size();
  }
  share_last(calls);
  if (whole) share_last(0);
  list = std::move(out);
}

void Routines::share_kernels() {
  const auto count = static_cast<u32>(plan_.functions.size());
  std::vector<u32> same(count);
  std::iota(same.begin(), same.end(), 0);
  const auto share_in = [&](u32 f) {
    std::vector<PlanId> body = std::move(plan_.functions[f].body);
    share_parts(body, same, !plan_.functions[f].routine);
    plan_.functions[f].body = std::move(body);
  };
  // Short ones are called where they are rare, so nothing else may be found to be one of them.
  std::map<std::string, u32> short_ones;
  for (u32 f = 0; f < count; f++) {
    if (!plan_.functions[f].routine) continue;
    cost_[f] = cost_of(plan_.functions[f].body, 0);
    share_in(f);
    std::string key;
    append(key, plan_, plan_.functions[f].body, 0);
    auto& known = cost_[f] >= kWorthCalling ? known_ : short_ones;
    const u32 first = known.try_emplace(std::move(key), f).first->second;
    if (plan_.functions[first].cursors.size() == plan_.functions[f].cursors.size()) same[f] = first;
  }
  for (u32 f = 0; f < count; f++)
    if (!plan_.functions[f].routine) share_in(f);
  put_back_single();
  kept_ = count;
  start_counting();
  for (u32 f : callers_first()) {
    calls_left_ = cost_of(plan_.functions[f].body, 0) / 1000 * kKernelsPermille;
    std::vector<PlanId> body = unfold(plan_.functions[f].body, 1);
    plan_.functions[f].body = std::move(body);
  }
  put_back_single();
}

Plan join_plans(std::vector<Plan> plans, const Target& target) {
  Plan joined;
  joined.target = plans[0].target;
  joined.operand_count = plans[0].operand_count;
  joined.kernels = static_cast<u32>(plans.size());
  joined.functions.resize(plans.size());
  for (u32 p = 0; p < plans.size(); p++) {
    Plan& plan = plans[p];
    const auto nodes = static_cast<u32>(joined.nodes.size()),
               functions = static_cast<u32>(joined.functions.size()) - 1;
    const auto move_ids = [&](std::vector<PlanId>& list) {
      for (PlanId& id : list) id += nodes;
    };
    for (PlanNode& node : plan.nodes) {
      if (auto* loop = std::get_if<PlanLoop>(&node)) {
        move_ids(loop->body);
        move_ids(loop->rest);
      } else if (auto* parallel = std::get_if<PlanParallel>(&node)) {
        parallel->function += functions;
        move_ids(parallel->rest);
      } else if (auto* invoke = std::get_if<PlanInvoke>(&node)) {
        invoke->function += functions;
      }
      joined.nodes.push_back(std::move(node));
    }
    for (PlanFunction& function : plan.functions) move_ids(function.body);
    joined.functions[p] = std::move(plan.functions[0]);
    std::move(plan.functions.begin() + 1, plan.functions.end(),
              std::back_inserter(joined.functions));
  }
  Routines(joined, target).share_kernels();
  return joined;
}

}  // namespace morello
