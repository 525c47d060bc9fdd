// SPDX-License-Identifier: MIT
#include "record.hh"

#include <algorithm>

#include "nlohmann/json.hpp"

namespace morello::bench {

double Figures::spread() const {
  const size_t last = samples.size() - 1;
  return (samples[last - last / 10] - best()) / best();
}

const Figures* Outcome::of(const std::string& peer) const {
  const Figures* found = nullptr;
  for (const Figures& any : figures) {
    if (any.peer != peer) continue;
    const bool better =
        found == nullptr || (any.measured() && (!found->measured() || any.best() < found->best()));
    if (better) found = &any;
  }
  return found;
}

const Figures* Outcome::best_peer(Verdict worst) const {
  const Figures* found = nullptr;
  for (const Figures& any : figures) {
    if (any.peer == kOurs || !any.measured() || any.verdict > worst) continue;
    if (found == nullptr || any.best() < found->best()) found = &any;
  }
  return found;
}

bool Outcome::same_problem(const Outcome& other) const {
  return cap == other.cap && threads == other.threads && spec == other.spec && cold == other.cold;
}

void Outcome::add(const Outcome& other) {
  if (other.limit_ns != 0 && (limit_ns == 0 || other.limit_ns < limit_ns)) {
    limit_ns = other.limit_ns;
    limit = other.limit;
  }
  for (const Figures& theirs : other.figures) {
    const auto same = std::find_if(figures.begin(), figures.end(), [&](const Figures& any) {
      // Ours tells in its way how long the search took.
      return any.peer == theirs.peer && (any.peer == kOurs || any.way == theirs.way);
    });
    if (same == figures.end()) {
      figures.push_back(theirs);
      continue;
    }
    same->samples.insert(same->samples.end(), theirs.samples.begin(), theirs.samples.end());
    std::sort(same->samples.begin(), same->samples.end());
    same->verdict = std::max(same->verdict, theirs.verdict);
    if (same->note.empty()) same->note = theirs.note;
  }
}

std::vector<std::string> Group::peers() const {
  std::vector<std::string> names;
  for (const Outcome& outcome : outcomes) {
    for (const Figures& any : outcome.figures) {
      const bool known = std::find(names.begin(), names.end(), any.peer) != names.end();
      const bool computed = any.measured() || any.verdict != Verdict::kAbsent;
      if (any.peer != kOurs && computed && !known) names.push_back(any.peer);
    }
  }
  return names;
}

void Group::add_missing(const std::string& text) {
  if (std::find(missing.begin(), missing.end(), text) == missing.end()) missing.push_back(text);
}

void Group::add(const Outcome& outcome) {
  for (Outcome& any : outcomes) {
    if (any.same_problem(outcome)) return any.add(outcome);
  }
  outcomes.push_back(outcome);
}

void Group::add(const MeasuredLimit& limit) {
  for (MeasuredLimit& any : limits) {
    if (any.name != limit.name) continue;
    any.rate = std::max(any.rate, limit.rate);
    return;
  }
  limits.push_back(limit);
}

Json to_json(const Outcome& outcome) {
  Json json = {
      {"cap", outcome.cap},     {"threads", outcome.threads},       {"spec", outcome.spec},
      {"cold", outcome.cold},   {"operations", outcome.operations}, {"bytes", outcome.bytes},
      {"limit", outcome.limit}, {"limit_ns", outcome.limit_ns},     {"figures", Json::array()}};
  for (const Figures& any : outcome.figures) {
    json["figures"].push_back({{"peer", any.peer},
                               {"way", any.way},
                               {"verdict", static_cast<int>(any.verdict)},
                               {"note", any.note},
                               {"samples", any.samples}});
  }
  return json;
}

Outcome outcome_from(const Json& json) {
  Outcome outcome;
  outcome.cap = json.at("cap");
  outcome.threads = json.at("threads");
  outcome.spec = json.at("spec");
  outcome.cold = json.at("cold");
  outcome.operations = json.at("operations");
  outcome.bytes = json.at("bytes");
  outcome.limit = json.at("limit");
  outcome.limit_ns = json.at("limit_ns");
  for (const Json& any : json.at("figures")) {
    Figures figures;
    figures.peer = any.at("peer");
    figures.way = any.at("way");
    figures.verdict = static_cast<Verdict>(any.at("verdict").get<int>());
    figures.note = any.at("note");
    figures.samples = any.at("samples").get<std::vector<double>>();
    outcome.figures.push_back(figures);
  }
  return outcome;
}

}  // namespace morello::bench
