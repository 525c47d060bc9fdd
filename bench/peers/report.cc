// SPDX-License-Identifier: MIT
#include "report.hh"

#include <algorithm>
#include <cmath>
#include <map>

#include "fmt/format.h"

namespace morello::bench {
namespace {

/// Best and median rate, in G/s.
std::string cell(const Outcome& outcome, const Figures* figures, bool bold) {
  if (figures == nullptr || figures->verdict == Verdict::kAbsent) return "-";
  if (figures->verdict == Verdict::kWrong) return "wrong";
  if (!figures->measured()) return "-";
  const std::string text = fmt::format("{:.1f} / {:.1f}{}", outcome.work() / figures->best(),
                                       outcome.work() / figures->median(),
                                       figures->verdict == Verdict::kSaturates ? " ~" : "");
  return bold ? "**" + text + "**" : text;
}

/// How many times as fast as the best peer: best and median round. Empty: one of both is not there.
std::string against(const Outcome& outcome) {
  const Figures* peer = outcome.best_peer();
  if (peer == nullptr || !outcome.ours().measured()) return "-";
  return fmt::format("{:.2f} / {:.2f} {}", peer->best() / outcome.ours().best(),
                     peer->median() / outcome.ours().median(), peer->peer);
}

std::string row_of(const Outcome& outcome, const std::vector<std::string>& peers) {
  const Figures& ours = outcome.ours();
  const Figures* best = outcome.best_peer();
  const bool we_win = ours.measured() && (best == nullptr || ours.best() <= best->best());
  std::string row =
      fmt::format("| {} | {} | {} |", title_of(outcome), outcome.by_bytes() ? "GB/s" : "Gop/s",
                  cell(outcome, &ours, we_win));
  for (const std::string& peer : peers) {
    const Figures* figures = outcome.of(peer);
    row += " " + cell(outcome, figures, !we_win && figures != nullptr && figures == best) + " |";
  }
  const double limit = outcome.limit_ns == 0 ? 0 : outcome.work() / outcome.limit_ns;
  const std::string share = ours.measured() && limit != 0
                                ? fmt::format("{:.0f}%", 100 * outcome.limit_ns / ours.best())
                                : "-";
  return row +
         fmt::format(" {:.1f} ({}) | {} | {} |\n", limit, outcome.limit, share, against(outcome));
}

std::string limits_of(const Group& group) {
  std::string text = "| limit | G/s |\n|---|---|\n";
  for (const MeasuredLimit& limit : group.limits) {
    text += fmt::format("| {} | {:.1f} {} |\n", limit.name, limit.rate,
                        limit.is_memory ? "GB/s" : "Gop/s");
  }
  return text + "\n";
}

/// Best rounds against those of the best peers whose verdict is at most `worst_verdict`: the
/// geometric mean of the ratios, and the worst of them.
std::string summary_of(const Group& group, Verdict worst_verdict) {
  double logs = 0, worst = 0;
  int compared = 0, behind = 0;
  std::string where;
  for (const Outcome& outcome : group.outcomes) {
    const Figures* peer = outcome.best_peer(worst_verdict);
    if (peer == nullptr || !outcome.ours().measured()) continue;
    const double ratio = peer->best() / outcome.ours().best();
    logs += std::log(ratio);
    ++compared;
    if (ratio < 0.85) ++behind;
    if (worst == 0 || ratio < worst) {
      worst = ratio;
      where = title_of(outcome);
    }
  }
  if (compared == 0) return "morello and a peer met on no Spec.\n";
  return fmt::format("geometric mean {:.2f} of {} lines, worst {:.2f} ({}), {} below 0.85.\n",
                     std::exp(logs / compared), compared, worst, where, behind);
}

std::string summaries_of(const Group& group) {
  std::string text = "\nmorello against the best peer of each line, best rounds: " +
                     summary_of(group, Verdict::kRight);
  const auto saturates = [](const Outcome& outcome) {
    return std::any_of(outcome.figures.begin(), outcome.figures.end(),
                       [](const Figures& any) { return any.verdict == Verdict::kSaturates; });
  };
  if (std::any_of(group.outcomes.begin(), group.outcomes.end(), saturates)) {
    text +=
        "With those that are right below 128 only (~): " + summary_of(group, Verdict::kSaturates);
  }
  return text;
}

/// Why there is a "-" or a "wrong", each reason once.
std::string notes_of(const Group& group) {
  std::map<std::string, std::vector<std::string>> reasons;
  for (const Outcome& outcome : group.outcomes) {
    for (const Figures& any : outcome.figures) {
      if (any.note.empty()) continue;
      const char* what = any.verdict == Verdict::kWrong ? " is wrong: "
                         : any.verdict == Verdict::kSaturates
                             ? " (~) is right for u8 below 128 only: "
                             : ": ";
      auto& specs = reasons[any.peer + what + any.note];
      const std::string title = title_of(outcome);
      if (std::find(specs.begin(), specs.end(), title) == specs.end()) specs.push_back(title);
    }
  }
  std::string text;
  for (const auto& [reason, specs] : reasons) {
    const bool all = specs.size() == group.outcomes.size();
    text +=
        fmt::format("- {} ({}{})\n", reason, all ? "all" : specs[0],
                    specs.size() > 1 && !all ? fmt::format(" and {} more", specs.size() - 1) : "");
  }
  return text.empty() ? text : "\nNot measured, or not right:\n\n" + text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kRight:
      return "right";
    case Verdict::kSaturates:
      return "saturates";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kAbsent:
      break;
  }
  return "absent";
}

}  // namespace

std::string title_of(const Outcome& outcome) {
  return outcome.spec + (outcome.cold ? ", cold" : ", warm");
}

std::string table_of(const Group& group) {
  std::string text = fmt::format("## {}, {} thread{}\n\n", group.cap, group.threads,
                                 group.threads == 1 ? "" : "s");
  for (const std::string& line : group.about) text += fmt::format("- {}\n", line);
  for (const std::string& line : group.missing) text += fmt::format("- missing: {}\n", line);
  text += "\n" + limits_of(group);
  const std::vector<std::string> peers = group.peers();
  text += "| Spec | unit | morello |";
  std::string rule = "|---|---|---|";
  for (const std::string& peer : peers) {
    text += " " + peer + " |";
    rule += "---|";
  }
  text += " limit | morello of limit | times the best peer |\n" + rule + "---|---|---|\n";
  for (const Outcome& outcome : group.outcomes) text += row_of(outcome, peers);
  return text + summaries_of(group) + notes_of(group) + "\n";
}

std::string csv_of(const std::vector<Group>& groups) {
  std::string text =
      "cap,threads,spec,weights,library,way,verdict,note,best_ns,median_ns,spread,rounds,gop_s,gb_"
      "s,"
      "limit,limit_ns,of_limit\n";
  for (const Group& group : groups) {
    for (const Outcome& outcome : group.outcomes) {
      for (const Figures& any : outcome.figures) {
        text += fmt::format("{},{},{},{},{},{},{},{},", outcome.cap, outcome.threads,
                            quoted(outcome.spec), outcome.cold ? "cold" : "warm", any.peer,
                            quoted(any.way), word(any.verdict), quoted(any.note));
        if (any.measured()) {
          text +=
              fmt::format("{:.1f},{:.1f},{:.3f},{},{:.3f},{:.3f},{},{:.1f},{:.4f}\n", any.best(),
                          any.median(), any.spread(), any.samples.size(),
                          outcome.operations / any.best(), outcome.bytes / any.best(),
                          quoted(outcome.limit), outcome.limit_ns, outcome.limit_ns / any.best());
        } else {
          text += ",,,0,,,,,\n";
        }
      }
    }
  }
  return text;
}

}  // namespace morello::bench
