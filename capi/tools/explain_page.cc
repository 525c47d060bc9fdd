// SPDX-License-Identifier: MIT
#include "explain_page.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "explain.hh"
#include "fmt/ranges.h"
#include "job.hh"
#include "output.hh"

namespace morello::tools {
namespace {

constexpr const char* kStyle = R"(
:root { --ink: #1d2330; --soft: #667085; --line: #d7dce5; --page: #ffffff;
  --arithmetic: #2f6f4f; --near: #7fb069; --copies: #c9d25c;
  --L2: #e0a030; --memory: #c8553d; --loops: #8a93a6; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebf2; --soft: #98a2b3; --line: #394150;
  --page: #171b24; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page);
  margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
code, td.text { font-family: ui-monospace, monospace; font-size: 13px; }
h1 code { font-size: 1rem; overflow-wrap: anywhere; }
.facts { display: flex; flex-wrap: wrap; gap: 1rem 2rem; }
.facts b { display: block; font-size: 1.25rem; } .facts span, .soft { color: var(--soft); }
.bar { display: flex; height: 1.6rem; border-radius: 4px; overflow: hidden; margin: .5rem 0; }
.bar i, .key i { display: inline-block; } .key i { width: .8em; height: .8em; margin-right: .4em; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--soft); font-weight: 500; }
td, th { padding: .15rem .6rem .15rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.text { white-space: pre-wrap; overflow-wrap: anywhere; }
td.own { min-width: 8rem; } td.own .bar { height: .9rem; margin: .3rem 0; }
.table svg { max-width: 100%; height: auto; background: #fff; }
)";

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '>') {
      safe += "&gt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else if (c == '"') {
      safe += "&quot;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string percent(double part, double whole) {
  return fmt::format("{:.1f}%", whole > 0 ? 100 * part / whole : 0);
}

/// Shares of resources, as wide as they are of `whole`.
std::string bar(const Json& resources, double times, double whole) {
  std::string html = "<div class=bar>";
  for (const auto& [name, value] : resources.items()) {
    const double width = whole > 0 ? 100 * times * value.get<double>() / whole : 0;
    if (width > 0.05)
      html += fmt::format("<i style='width:{:.2f}%;background:var(--{})' title='{}: {}'></i>",
                          width, name, name, percent(times * value.get<double>(), whole));
  }
  return html + "</div>";
}

std::string fact(const std::string& name, const std::string& value, const std::string& more) {
  return fmt::format("<div><span>{}</span><b>{}</b><span>{}</span></div>\n", name, value,
                     escaped(more));
}

std::string facts(const Json& e) {
  const double cycles = e["cycles"];
  std::string html = "<div class=facts>\n";
  html += fact("predicted", grouped(cycles) + " cycles",
               e["optimal"] ? "the cheapest program" : "not proven the cheapest");
  if (e.contains("measured")) {
    const Json& m = e["measured"];
    html +=
        fact("measured", grouped(m["cycles"]) + " cycles",
             fmt::format("{} at {:.2f} GHz; {:.2f} times the prediction", human_time(m["best_ns"]),
                         m["gigahertz"].get<double>(), m["cycles"].get<double>() / cycles));
  }
  const Json& least = e["least"];
  html += fact("bound", e["bound"],
               fmt::format("arithmetic {}, lines {} cycles at least", grouped(least["arithmetic"]),
                           grouped(least["L2"].get<double>() + least["memory"].get<double>())));
  return html +
         fact("target", e["target"],
              fmt::format("{}, {} thread(s)", e["machine"].get<std::string>(),
                          e["threads"].get<int>())) +
         "</div>\n";
}

std::string resources(const Json& e) {
  const double cycles = e["cycles"];
  std::string html =
      "<h2>Where the cycles go</h2>\n" + bar(e["resources"], 1, cycles) + "\n<table>\n";
  for (const auto& [name, value] : e["resources"].items())
    html += fmt::format(
        "<tr><td class=key><i style='background:var(--{})'></i>{}</td><td>{}</td><td "
        "class=number>{}</td><td class=number>{}</td></tr>\n",
        name, name, about_resource(name), grouped(value), percent(value, cycles));
  html += "</table>\n<h2>Lines from L2 and memory, by operand</h2>\n<table>\n";
  const auto row = [&](const std::string& name, const std::string& about, double value) {
    html += fmt::format(
        "<tr><td><b>{}</b></td><td>{}</td><td class=number>{}</td><td class=number>{}</td></tr>\n",
        name, about, grouped(value), percent(value, cycles));
  };
  for (const Json& o : e["operands"])
    row(o["name"],
        fmt::format("{}, {} elements", o["role"].get<std::string>(), grouped(o["elements"])),
        o["line_cycles"]);
  if (e["buffer_line_cycles"] > 0.0)
    row("buffers", "of the program itself", e["buffer_line_cycles"]);
  return html + "</table>\n";
}

std::string tree(const Json& e) {
  const double cycles = e["cycles"];
  std::string html =
      "<h2>The program</h2>\n<table><tr><th>resources</th><th class=number>own</th><th "
      "class=number>with children</th><th class=number>runs</th><th>node</th></tr>\n";
  for (const Json& node : e["nodes"]) {
    const std::string text = fmt::format("<td class=text style='padding-left:{}ch'>{}</td>",
                                         2 * node["depth"].get<int>(), escaped(node["text"]));
    if (node.contains("again")) {
      html += fmt::format("<tr><td><td><td><td>{}</tr>\n", text);
      continue;
    }
    const double runs = node["runs"];
    html += fmt::format(
        "<tr><td class=own>{}</td><td class=number>{}</td><td class=number>{}</td><td "
        "class=number>{}</td>{}</tr>\n",
        bar(node["own_by_resource"], runs, cycles),
        percent(runs * node["own"].get<double>(), cycles),
        percent(runs * node["cycles"].get<double>(), cycles), grouped(runs), text);
  }
  return html + "</table>\n";
}

/// A plot with logarithmic axes: operations per byte, and per cycle.
class Roofline {
 public:
  explicit Roofline(const Json& e)
      : peak_(e["peak_flops_per_cycle"]),
        memory_(e["memory_bytes_per_cycle"]),
        l2_(e["l2_bytes_per_cycle"]) {
    const Json& least = e["least"];
    const double flops = e["flops"], bytes = least["memory"].get<double>() * memory_;
    if (flops <= 0 || bytes <= 0) return;
    intensity_ = flops / bytes;
    top_ = 2 * peak_;
    bottom_ = std::min(peak_ / 500, flops / e["cycles"].get<double>() / 2);
    left_ = std::min(intensity_ / 4, peak_ / l2_ / 8);
    right_ = std::max(intensity_ * 4, peak_ / memory_ * 8);
    roof("memory", memory_);
    roof("L2", l2_);
    line(left_, peak_, right_, peak_, "var(--arithmetic)");
    label(right_, peak_, "end", -6, fmt::format("peak: {:.3g} operations per cycle", peak_));
    point(flops / e["cycles"].get<double>(), "predicted", "var(--ink)", 38);
    if (e.contains("measured"))
      point(flops / e["measured"]["cycles"].get<double>(), "measured", "var(--memory)", 22);
  }

  std::string html() const {
    if (marks_.empty()) return {};
    return fmt::format(
        "<h2>Roofline</h2>\n<p class=soft>Operations per byte of compulsory traffic ({:.3g} here) "
        "and what is done per cycle, both logarithmic. Roofs are those of the machine model.</p>\n"
        "<svg viewBox='0 0 {} {}' width='100%' role=img aria-label=Roofline font-size=12 "
        "fill='currentColor'>\n{}"
        "<text x={} y={} text-anchor=middle>operations per byte</text>\n"
        "<text x=14 y={} text-anchor=middle transform='rotate(-90 14 {})'>operations per "
        "cycle</text></svg>\n",
        intensity_, kWidth, kHeight, axes() + marks_, kWidth / 2, kHeight - 6, kHeight / 2,
        kHeight / 2);
  }

 private:
  static constexpr double kWidth = 760, kHeight = 360, kLeft = 60, kBottom = 46, kMargin = 16;

  double x(double intensity) const {
    return kLeft +
           (kWidth - kLeft - kMargin) * std::log(intensity / left_) / std::log(right_ / left_);
  }
  double y(double rate) const {
    return kHeight - kBottom -
           (kHeight - kBottom - kMargin) * std::log(rate / bottom_) / std::log(top_ / bottom_);
  }
  void line(double x1, double y1, double x2, double y2, const std::string& colour) {
    marks_ +=
        fmt::format("<line x1={:.1f} y1={:.1f} x2={:.1f} y2={:.1f} stroke='{}' stroke-width=2 />\n",
                    x(x1), y(y1), x(x2), y(y2), colour);
  }
  void label(double at, double rate, const char* anchor, double up, const std::string& text) {
    marks_ += fmt::format("<text x={:.1f} y={:.1f} text-anchor={}>{}</text>\n", x(at), y(rate) + up,
                          anchor, text);
  }
  /// Of lines that come so many bytes per cycle.
  void roof(const std::string& level, double bytes) {
    const double from = std::max(left_, bottom_ / bytes), to = peak_ / bytes;
    line(from, from * bytes, to, peak_, "var(--" + level + ")");
    const double place = from * std::pow(to / from, 0.4);
    label(place * 1.15, place * bytes, "start", 14,
          fmt::format("{}: {:.3g} B per cycle", level, bytes));
  }
  void point(double rate, const std::string& text, const std::string& colour, double down) {
    marks_ += fmt::format("<circle cx={:.1f} cy={:.1f} r=5 fill='{}' />\n", x(intensity_), y(rate),
                          colour);
    marks_ += fmt::format("<text x={:.1f} y={:.1f} fill='{}'>{}: {:.3g}</text>\n",
                          x(intensity_) + 10, y(rate) + down, colour, text, rate);
  }
  std::string axes() const {
    std::string html;
    const auto tick = [&](double x1, double y1, double x2, double y2) {
      html += fmt::format("<line x1={:.1f} y1={:.1f} x2={:.1f} y2={:.1f} stroke='var(--line)' />\n",
                          x1, y1, x2, y2);
    };
    for (double v = std::pow(10, std::ceil(std::log10(left_))); v < right_; v *= 10) {
      tick(x(v), kMargin, x(v), kHeight - kBottom);
      html += fmt::format("<text x={:.1f} y={} text-anchor=middle>{:g}</text>\n", x(v),
                          kHeight - kBottom + 16, v);
    }
    for (double v = std::pow(10, std::ceil(std::log10(bottom_))); v < top_; v *= 10) {
      tick(kLeft, y(v), kWidth - kMargin, y(v));
      html +=
          fmt::format("<text x={} y={:.1f} text-anchor=end>{:g}</text>\n", kLeft - 6, y(v) + 4, v);
    }
    return html;
  }

  double peak_, memory_, l2_;
  double intensity_ = 0, left_ = 1, right_ = 10, bottom_ = 1, top_ = 10;
  std::string marks_;
};

/// The part that look-ups ask for this kernel, of a table of several; nothing, and what is wrong,
/// if none is for its target and threads.
TablePtr part_in_use(const morello_table* table, const Json& e, std::string* problem) {
  const std::string target = e["isa"], spec_text = e["spec"];
  const uint32_t threads = e["threads"];
  morello_context* context = nullptr;
  morello_spec* spec = nullptr;
  if (morello_context_create(nullptr, &context, nullptr) == MORELLO_OK)
    morello_spec_parse(context, spec_text.c_str(), &spec, nullptr);
  const ContextPtr own_context(context);
  const SpecPtr own_spec(spec);
  TablePtr found;
  std::vector<std::string> others;
  morello_table* next = nullptr;
  for (uint64_t i = 0; morello_table_part(table, i, &next, nullptr) == MORELLO_OK; ++i) {
    TablePtr part(std::exchange(next, nullptr));
    morello_table_info info;
    if (morello_table_info_get(part.get(), &info, sizeof info) != MORELLO_OK) continue;
    others.push_back(fmt::format("{} with {} thread{}", isa_name(info.target), info.threads,
                                 info.threads == 1 ? "" : "s"));
    if (isa_name(info.target) != target || info.threads != threads) continue;
    const bool covers = spec != nullptr && morello_table_covers(part.get(), spec) != 0;
    if (covers || !found) found = std::move(part);
    if (covers) break;
  }
  if (!found)
    *problem = fmt::format("--table: no part is for {} with {} thread{}; there are {}", target,
                           threads, threads == 1 ? "" : "s", fmt::join(others, ", "));
  return found;
}

/// The largest group of boxes of --table.
std::string boxes(const Arguments& arguments, const Json& e, std::string* problem) {
  if (arguments.tables.empty()) return {};
  morello_error* error = nullptr;
  const ContextPtr context = make_context(arguments, &error);
  TablePtr table;
  size_t length = 0;
  std::string svg;
  if (context && load_tables(arguments.tables, context.get(), &table, &error)) {
    morello_table_info info;
    if (morello_table_info_get(table.get(), &info, sizeof info) == MORELLO_OK && info.parts > 1)
      table = part_in_use(table.get(), e, problem);
    if (table && morello_table_plot(table.get(), -1, nullptr, nullptr, nullptr, 0, &length,
                                    &error) == MORELLO_OK) {
      svg.resize(length);
      morello_table_plot(table.get(), -1, nullptr, nullptr, svg.data(), length + 1, &length,
                         &error);
    }
  }
  const ErrorPtr own(error);
  if (error != nullptr) *problem = morello_error_message(error);
  const size_t start = svg.find("<svg");  // an XML declaration has no place in a page
  if (start == svg.npos) return {};
  return "<h2>Boxes of the table</h2>\n<p class=soft>One decision each; the group that has "
         "most.</p>\n<div class=table>" +
         svg.substr(start) + "</div>\n";
}

}  // namespace

std::string explanation_page(const Arguments& arguments, const Json& e, std::string* problem) {
  const std::string spec = escaped(e["spec"]);
  std::string page =
      "<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>\n<meta name=viewport "
      "content='width=device-width'>\n<title>" +
      spec + "</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1><code>" + spec +
      "</code></h1>\n";
  page += facts(e) + resources(e) + Roofline(e).html() + tree(e) + boxes(arguments, e, problem);
  return page + "</body></html>\n";
}

}  // namespace morello::tools
