// SPDX-License-Identifier: MIT
#include <algorithm>

#include "fmt/format.h"
#include "report.hh"

namespace morello::bench {
namespace {

constexpr int kWidth = 1100, kLabels = 520, kRight = 30, kRow = 18, kHead = 64;
constexpr double kMost = 1.2;  // of the limit: where the axis ends

// Hues that remain apart for most who see colours differently.
constexpr const char* kColours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
                                    "#8c6d1f", "#7b4fa3", "#999999", "#5a8f00", "#003f5c"};
constexpr const char* kOurColour = "#d62728";

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return result;
}

double x_of(double share) {
  return kLabels + std::min(share, kMost) / kMost * (kWidth - kLabels - kRight);
}

std::string colour_of(const std::vector<std::string>& peers, const std::string& peer) {
  const auto at = std::find(peers.begin(), peers.end(), peer) - peers.begin();
  return kColours[static_cast<size_t>(at) % std::size(kColours)];
}

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" {}>{}</text>\n", x, y, attributes,
                     escaped(text));
}

std::string mark(double share, int y, const std::string& colour, bool ours,
                 const std::string& tip) {
  const double x = x_of(share);
  const std::string title = "<title>" + escaped(tip) + "</title>";
  if (!ours) {
    return fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.8\">{}"
        "</circle>\n",
        x, y, colour, title);
  }
  return fmt::format("<path d=\"M{:.1f} {} l6 6 l-6 6 l-6 -6 z\" fill=\"{}\">{}</path>\n", x, y - 6,
                     colour, title);
}

std::string legend(const std::vector<std::string>& peers, int y) {
  std::string text;
  int x = 10;
  const auto add = [&](const std::string& name, const std::string& colour) {
    text += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"9\" height=\"9\" fill=\"{}\"/>\n", x,
                        y - 9, colour);
    text += text_at(x + 13, y, "", name);
    x += 26 + 7 * static_cast<int>(name.size());
  };
  add(kOurs, kOurColour);
  for (const std::string& peer : peers) add(peer, colour_of(peers, peer));
  return text;
}

std::string panel(const Group& group, int top) {
  const std::vector<std::string> peers = group.peers();
  const int bottom = top + kHead + kRow * static_cast<int>(group.outcomes.size());
  std::string text = text_at(10, top + 20, "font-size=\"15\" font-weight=\"bold\"",
                             fmt::format("{}, {} thread{}: share of the limit, best rounds",
                                         group.cap, group.threads, group.threads == 1 ? "" : "s"));
  text += legend(peers, top + 38);
  for (int tenth = 0; tenth <= 12; tenth += 2) {
    const double x = x_of(tenth / 10.0);
    text +=
        fmt::format("<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"{3}\"/>\n",
                    x, top + kHead - 6, bottom, tenth == 10 ? "#333" : "#ddd");
    text += text_at(x - 12, top + kHead - 10, "fill=\"#555\"", fmt::format("{}%", tenth * 10));
  }
  int y = top + kHead + kRow / 2;
  for (const Outcome& outcome : group.outcomes) {
    text += text_at(10, y + 4, "font-size=\"11\"", title_of(outcome));
    const auto add = [&](const Figures* figures) {
      if (figures == nullptr || !figures->measured()) return;
      const double share = outcome.limit_ns / figures->best();
      const bool ours = figures->peer == kOurs;
      text += mark(share, y, ours ? kOurColour : colour_of(peers, figures->peer), ours,
                   fmt::format("{} {}: {:.1f} us, {:.0f}%", figures->peer, figures->way,
                               figures->best() / 1e3, 100 * share));
    };
    for (const std::string& peer : peers) add(outcome.of(peer));
    add(&outcome.ours());
    y += kRow;
  }
  return text;
}

}  // namespace

std::string plot_of(const std::vector<Group>& groups) {
  int height = 20;
  std::string panels;
  for (const Group& group : groups) {
    panels += panel(group, height);
    height += kHead + kRow * static_cast<int>(group.outcomes.size()) + 30;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      kWidth, height, panels);
}

}  // namespace morello::bench
