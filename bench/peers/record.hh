// SPDX-License-Identifier: MIT
// What was measured, and how it goes from the processes that measure to the one that reports.
#ifndef MORELLO_BENCH_PEERS_RECORD_HH
#define MORELLO_BENCH_PEERS_RECORD_HH

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

namespace morello::bench {

using Json = nlohmann::ordered_json;

inline constexpr const char* kOurs = "morello";

/// How far a result may be trusted.
enum class Verdict {
  kRight,      // every element, of operands with all values
  kSaturates,  // only of mild operands: products of others overflow 16 bits
  kWrong,
  kAbsent,  // nothing was measured
};

/// One way of one library on one problem.
struct Figures {
  std::string peer, way;
  Verdict verdict = Verdict::kAbsent;
  std::string note;             // why absent or wrong
  std::vector<double> samples;  // nanoseconds of one call in each round, ascending

  bool measured() const { return !samples.empty(); }
  double best() const { return samples.front(); }
  double median() const { return samples[samples.size() / 2]; }
  /// How far the 90th percentile is above the best round, as a share of it.
  double spread() const;
};

/// A problem, under one cap, on so many threads.
struct Outcome {
  std::string cap, spec;
  uint32_t threads = 1;
  bool cold = false;
  double operations = 0, bytes = 0;  // of one call; bytes that it must read and write
  std::string limit;                 // what bounds it
  double limit_ns = 0;               // no call takes less
  std::vector<Figures> figures;      // ours first

  const Figures& ours() const { return figures.front(); }
  /// The fastest way of a peer, or if none was measured the first; nullptr: it was not there.
  const Figures* of(const std::string& peer) const;
  /// The fastest of all peers whose verdict is at most `worst`; nullptr without any.
  const Figures* best_peer(Verdict worst = Verdict::kRight) const;
  /// Is bandwidth its measure, or the rate of operations?
  bool by_bytes() const { return operations < 4 * bytes; }
  double work() const { return by_bytes() ? bytes : operations; }
  bool same_problem(const Outcome& other) const;
  /// Adds the rounds of another measurement of the same problem.
  void add(const Outcome& other);
};

/// A rate of the machine, in G/s.
struct MeasuredLimit {
  std::string name;
  bool is_memory = false;
  double rate = 0;
};

/// Everything of one cap and one number of threads.
struct Group {
  std::string cap;
  uint32_t threads = 1;
  std::vector<std::string> about, missing;
  std::vector<MeasuredLimit> limits;
  std::vector<Outcome> outcomes;

  /// Names of all peers that computed something, in the order in which they were met.
  std::vector<std::string> peers() const;
  void add_missing(const std::string& text);  // once
  void add(const Outcome& outcome);
  void add(const MeasuredLimit& limit);  // the higher of two of one name stays
};

Json to_json(const Outcome& outcome);
Outcome outcome_from(const Json& json);

}  // namespace morello::bench

#endif
