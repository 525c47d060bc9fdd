// SPDX-License-Identifier: MIT
#include "contest.hh"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>

#include "data.hh"
#include "fmt/format.h"
#include "ours.hh"
#include "rounds.hh"

namespace morello::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Of all threads.
double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One contender: a method, or why there is none.
struct Entry {
  Figures figures;
  std::optional<Method> method;
};

/// Copies of the weights in one form, used in turns. With enough of them, they are always cold.
struct Weights {
  std::vector<Bytes> copies;
  size_t next = 0;
  void* take() {
    void* data = copies[next].get();
    if (++next == copies.size()) next = 0;
    return data;
  }
};

void add_entries(const std::string& peer, const Offer& offer, std::vector<Entry>* entries) {
  for (const Method& method : offer.methods) {
    entries->push_back({{peer, method.name, Verdict::kRight, "", {}}, method});
  }
  if (offer.methods.empty()) {
    entries->push_back({{peer, "", Verdict::kAbsent, offer.reason, {}}, std::nullopt});
  }
}

/// Where weights are free, a library without a form of its own may have them by rows or by columns.
Offer offer_of(const Peer& peer, const Problem& problem) {
  Offer offer = peer.offer(problem);
  if (!problem.matmul || !problem.matmul->free_weights) return offer;
  if (!offer.methods.empty() && offer.methods[0].packed_bytes != 0) return offer;
  for (Method& method : offer.methods) method.name = "row-major";
  const Matmul given = *problem.matmul;
  Problem columns = problem;
  columns.matmul = with_columns(given);
  for (Method method : peer.offer(columns).methods) {
    if (method.packed_bytes != 0) continue;
    method.name = "column-major";
    method.packed_bytes =
        static_cast<size_t>(given.batch * given.k * given.n) * size_of(given.b_type);
    method.pack = [given](const void* from, void* to) { to_columns(given, from, to); };
    offer.methods.push_back(method);
  }
  return offer;
}

std::vector<void*> pointers_of(const Data& data) {
  std::vector<void*> pointers;
  for (size_t i = 0; i < data.count(); ++i) pointers.push_back(data.at(i));
  return pointers;
}

/// Runs once on `data`. Empty, or what is wrong with the result.
std::string wrong(const Method& method, const Data& data) {
  std::vector<void*> operands = pointers_of(data);
  const Tensor& out = data.tensors().back();
  Bytes result(bytes_of(out));
  std::memcpy(result.get(), operands.back(), bytes_of(out));
  operands.back() = result.get();
  std::optional<Bytes> packed;
  if (method.packed_bytes != 0) {
    packed.emplace(method.packed_bytes);
    method.pack(operands[1], packed->get());
    operands[1] = packed->get();
  }
  method.run(operands.data());
  return data.check(result.get());
}

/// The data that are measured on, and tamer ones for libraries that do not keep all values.
class Judge {
 public:
  Judge(const Problem& problem, const std::string& text)
      : problem_(problem), text_(text), data_(problem, 1, false) {
    if (!problem.matmul) expect(&data_);
  }
  const Data& data() const { return data_; }

  void judge(Entry* entry) {
    Figures& figures = entry->figures;
    figures.note = wrong(*entry->method, data_);
    if (figures.note.empty()) return;
    figures.verdict = Verdict::kWrong;
    if (!problem_.matmul || problem_.matmul->a_type != MORELLO_U8) return;
    if (!mild_) mild_.emplace(problem_, 2, true);
    if (!wrong(*entry->method, *mild_).empty()) return;
    figures.verdict = Verdict::kSaturates;
    figures.note = "products of all values overflow 16 bits";
  }

 private:
  void expect(Data* data) {
    std::vector<void*> operands = pointers_of(*data);
    Bytes result(bytes_of(data->tensors().back()));
    std::memcpy(result.get(), operands.back(), bytes_of(data->tensors().back()));
    operands.back() = result.get();
    evaluate(text_, operands.data());
    data->expect(result.get());
  }

  Problem problem_;
  std::string text_;
  Data data_;
  std::optional<Data> mild_;
};

/// Who takes a turn: a method with its weights, or a probe.
struct Contender {
  std::function<void(uint64_t calls)> run;
  Figures* figures = nullptr;  // of a method
  Probe* probe = nullptr;
  bool warm_up = false;  // one call before each turn
  uint64_t calls = 1;
  double spent = 0, processors = 0;  // seconds, of all processors
  double last = 0;                   // nanoseconds of a call
  uint64_t turns = 0;

  double time(uint64_t count) {
    const double processors_before = processor_seconds();
    const auto start = Clock::now();
    tools::compiler_barrier();
    run(count);
    tools::compiler_barrier();
    const double seconds = since(start);
    processors += processor_seconds() - processors_before;
    spent += seconds;
    return seconds;
  }

  /// Finds how many calls fit into a turn, after one that took `first` seconds.
  void calibrate(double first, double round_seconds) {
    constexpr double kSlow = 20e-3;  // not worth a second call, which may be faster
    double seconds = first < kSlow ? time(1) : first;
    for (; seconds < round_seconds / 2; seconds = time(calls)) {
      calls *= seconds > round_seconds / 64 ? 2 : 16;
    }
    spent = processors = 0;
  }

  /// A library that does not keep to its number of threads would win by it.
  void finish(uint32_t threads) {
    if (figures == nullptr) return;
    std::sort(figures->samples.begin(), figures->samples.end());
    const double used = processors / spent;
    if (used < threads + 0.3) return;
    figures->samples.clear();
    figures->verdict = Verdict::kAbsent;
    figures->note = fmt::format("used {:.1f} processors", used);
  }

  void take_turn() {
    // Long calls read more than one before them can leave in a cache.
    constexpr double kLong = 10e6;
    if (warm_up && last < kLong) time(1);
    const double each = time(calls) * 1e9 / static_cast<double>(calls);
    last = each;
    ++turns;
    if (figures != nullptr) figures->samples.push_back(each);
    if (probe != nullptr && (probe->best_ns == 0 || each < probe->best_ns)) probe->best_ns = each;
  }
};

void take_turns(std::vector<Contender>* contenders, const Effort& effort) {
  const auto start = Clock::now();
  for (Contender& contender : *contenders) {
    contender.calibrate(contender.time(1), effort.round_seconds);
  }
  const size_t count = contenders->size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::mt19937 random(1);
  for (uint64_t round = 0; round < effort.least_rounds || since(start) < effort.seconds; ++round) {
    double all = 0;
    for (const Contender& contender : *contenders) all += contender.spent;
    // In another order each round: who follows the loops that read memory finds nothing in a cache.
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t i : order) {
      Contender& contender = (*contenders)[i];
      // Who is very slow pauses, so that the others have more rounds.
      const bool greedy = contender.spent > 2 * all / static_cast<double>(count);
      if (greedy && contender.turns >= effort.least_turns) continue;
      contender.take_turn();
    }
  }
}

class Contest {
 public:
  Contest(const std::string& spec, const Problem& problem, const Setting& setting, Limits* limits)
      : spec_(spec),
        problem_(problem),
        setting_(setting),
        limits_(limits),
        judge_(problem, spec),
        result_(bytes_of(problem.tensors.back())) {
    std::memcpy(result_.get(), judge_.data().at(judge_.data().count() - 1), result_.size());
  }

  void enter(const std::vector<Peer>& peers) {
    add_entries(kOurs, our_offer(spec_, setting_), &entries_);
    for (const Peer& peer : peers) add_entries(peer.name, offer_of(peer, problem_), &entries_);
    for (Entry& entry : entries_) {
      if (entry.method) judge_.judge(&entry);
    }
  }

  Outcome measure(bool cold, const Effort& effort) {
    Outcome outcome = blank(cold);
    std::map<std::string, Weights> weights;
    for (Entry& entry : entries_) entry.figures.samples.clear();
    std::vector<Contender> contenders;
    for (Entry& entry : entries_) {
      if (!entry.method || entry.figures.verdict == Verdict::kWrong) continue;
      contenders.push_back(contender_of(&entry, cold, &weights));
    }
    const std::vector<Probe*> compute = limits_->compute(problem_);
    const std::vector<Probe*> memory = limits_->memory(outcome.bytes, cold);
    for (const std::vector<Probe*>& probes : {compute, memory}) {
      for (Probe* probe : probes) {
        contenders.push_back({probe->run});
        contenders.back().probe = probe;
      }
    }
    take_turns(&contenders, effort);
    for (Contender& contender : contenders) contender.finish(setting_.threads);
    set_limit(fastest(compute), fastest(memory), &outcome);
    for (const Entry& entry : entries_) outcome.figures.push_back(entry.figures);
    return outcome;
  }

 private:
  Outcome blank(bool cold) const {
    Outcome outcome;
    outcome.cap = setting_.cap;
    outcome.threads = setting_.threads;
    outcome.spec = spec_;
    outcome.cold = cold;
    outcome.operations = problem_.matmul ? problem_.matmul->operations() : 0;
    outcome.bytes = judge_.data().compulsory_bytes();
    return outcome;
  }

  static void set_limit(const Probe* compute, const Probe* memory, Outcome* outcome) {
    outcome->limit = memory->name;
    outcome->limit_ns = outcome->bytes / memory->rate();
    if (compute == nullptr || outcome->operations / compute->rate() < outcome->limit_ns) return;
    outcome->limit = compute->name;
    outcome->limit_ns = outcome->operations / compute->rate();
  }

  /// The weights for a method; those in one form are shared.
  Weights* weights_for(const Entry& entry, bool cold, std::map<std::string, Weights>* all) {
    const Method& method = *entry.method;
    const Data& data = judge_.data();
    const size_t given = bytes_of(data.tensors()[1]);
    const bool packs = method.packed_bytes != 0, columns = method.name == "column-major";
    const std::string key = !packs    ? "given"
                            : columns ? "columns"
                                      : entry.figures.peer + method.name;
    const auto [at, is_new] = all->try_emplace(key);
    if (!is_new) return &at->second;
    const size_t size = packs ? method.packed_bytes : given;
    const size_t count = cold ? std::max<size_t>(2, (limits_->cold_bytes() + size - 1) / size) : 1;
    for (size_t i = 0; i < count; ++i) {
      Bytes& copy = at->second.copies.emplace_back(size);
      if (i > 0) {
        std::memcpy(copy.get(), at->second.copies[0].get(), size);
      } else if (packs) {
        method.pack(data.at(1), copy.get());
      } else {
        std::memcpy(copy.get(), data.at(1), size);
      }
    }
    return &at->second;
  }

  Contender contender_of(Entry* entry, bool cold, std::map<std::string, Weights>* all) {
    auto operands = std::make_shared<std::vector<void*>>(pointers_of(judge_.data()));
    operands->back() = result_.get();
    Weights* weights = problem_.matmul ? weights_for(*entry, cold, all) : nullptr;
    Contender contender;
    contender.run = [operands, weights, run = entry->method->run](uint64_t calls) {
      for (; calls != 0; --calls) {
        if (weights != nullptr) (*operands)[1] = weights->take();
        run(operands->data());
        tools::compiler_barrier();
      }
    };
    contender.figures = &entry->figures;
    contender.warm_up = !cold;
    return contender;
  }

  std::string spec_;
  Problem problem_;
  Setting setting_;
  Limits* limits_;
  Judge judge_;
  Bytes result_;
  std::vector<Entry> entries_;
};

}  // namespace

Line parse_line(const std::string& text) {
  const size_t hash = text.find('#');
  Line line;
  line.spec = text.substr(0, hash);
  line.spec.erase(line.spec.find_last_not_of(" \t\r") + 1);
  std::istringstream words(hash == text.npos ? "" : text.substr(hash + 1));
  for (std::string word; words >> word;) {
    if (word == "cold") line.cold = true;
    if (word == "warm") line.warm = true;
  }
  if (!line.cold) line.warm = true;
  return line;
}

std::vector<Outcome> hold_contest(const Line& line, const Setting& setting,
                                  const std::vector<Peer>& peers, Limits* limits,
                                  const Effort& effort) {
  std::optional<Problem> problem = parse_problem(in_full(line.spec));
  if (!problem) problem = problem_of(line.spec);
  if (problem->tensors.empty()) {
    Outcome outcome;
    outcome.cap = setting.cap;
    outcome.threads = setting.threads;
    outcome.spec = line.spec;
    const Offer offer = our_offer(line.spec, setting);
    const std::string note = offer.methods.empty() ? offer.reason : "unknown to this program";
    outcome.figures.push_back({kOurs, "", Verdict::kAbsent, note, {}});
    return {outcome};
  }
  Contest contest(line.spec, *problem, setting, limits);
  contest.enter(peers);
  std::vector<Outcome> outcomes;
  if (line.warm || !problem->matmul) outcomes.push_back(contest.measure(false, effort));
  if (line.cold && problem->matmul) outcomes.push_back(contest.measure(true, effort));
  return outcomes;
}

}  // namespace morello::bench
