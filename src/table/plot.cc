// SPDX-License-Identifier: MIT
#include "table/plot.hh"

#include <algorithm>
#include <cmath>
#include <map>

#include "table/groups.hh"
#include "table/words.hh"

namespace morello {
namespace {

constexpr size_t kLeft = 150, kTop = 76, kBottom = 70, kLegendWidth = 330;
constexpr size_t kLineHeight = 18;
constexpr size_t kMostLabels = 32;   // along an axis
constexpr size_t kMostColours = 24;  // other decisions, the rarest, are grey

std::string number(size_t n) { return std::to_string(n); }

std::string escaped(const std::string& text) {
  std::string s;
  for (char c : text) {
    if (c == '&')
      s += "&amp;";
    else if (c == '<')
      s += "&lt;";
    else if (c == '>')
      s += "&gt;";
    else
      s += c;
  }
  return s;
}

std::string text_at(size_t x, size_t y, const std::string& text, const std::string& more = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + more + ">" + escaped(text) +
         "</text>\n";
}

/// One axis of the picture: the ranges between places where some box begins or ends, equally wide.
class Scale {
 public:
  Scale(const std::vector<GridBox>& boxes, size_t axis) : axis_(axis) {
    for (const GridBox& box : boxes) {
      cuts_.push_back(box.lo[axis]);
      cuts_.push_back(box.hi[axis] + 1);
    }
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    length_ = std::max(cells(), std::clamp<size_t>(cells() * 24, 320, 1000));
  }

  size_t cells() const { return cuts_.size() - 1; }
  size_t length() const { return length_; }
  size_t begin(size_t cell) const { return cell * length_ / cells(); }
  size_t begin(const GridBox& box) const { return begin(rank(box.lo[axis_])); }
  size_t end(const GridBox& box) const { return begin(rank(box.hi[axis_] + 1)); }

  /// Calls label(middle, text) for cells, not for all where there are too many.
  template <class Label>
  void each_label(const Label& label) const {
    const size_t step = ceil_div(cells(), kMostLabels);
    for (size_t c = 0; c < cells(); c += step) {
      const std::string first = coordinate_text(axis_, cuts_[c]);
      const std::string last = coordinate_text(axis_, cuts_[c + 1] - 1);
      label((begin(c) + begin(c + 1)) / 2, first == last ? first : first + ".." + last);
    }
  }

 private:
  size_t rank(u32 coordinate) const {
    auto at = std::lower_bound(cuts_.begin(), cuts_.end(), coordinate);
    return static_cast<size_t>(at - cuts_.begin());
  }

  size_t axis_;
  std::vector<u32> cuts_;
  size_t length_;
};

/// Decisions in words, the most frequent first.
class Legend {
 public:
  Legend(const Spec& key, const std::vector<GridBox>& boxes) {
    std::map<std::string, size_t> counts;
    for (const GridBox& box : boxes) counts[action_text(key, box.action)]++;
    entries_.assign(counts.begin(), counts.end());
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (size_t i = 0; i < entries_.size(); i++) places_[entries_[i].first] = i;
  }

  std::string colour(const std::string& decision) const { return colour(places_.at(decision)); }
  size_t lines() const { return std::min(entries_.size(), kMostColours + 1); }

  std::string svg(size_t x, size_t y) const {
    std::string s;
    for (size_t i = 0; i < lines(); i++, y += kLineHeight) {
      s += "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"6\" fill=\"" + colour(i) +
           "\"/>\n";
      const std::string text = i < kMostColours
                                   ? entries_[i].first + " (" + number(entries_[i].second) + ")"
                                   : number(entries_.size() - kMostColours) + " other decisions";
      s += text_at(x + 14, y + 4, text);
    }
    return s;
  }

 private:
  static std::string colour(size_t place) {
    if (place >= kMostColours) return "#999";
    // Hues by the golden angle, so that neighbours differ much; lighter and darker in turn.
    const double hue = static_cast<double>(place) * 137.508 / 60;
    const double light = 0.45 + 0.12 * static_cast<double>(place % 3);
    std::string colour = "#";
    for (const double channel : {0.0, 4.0, 2.0}) {
      // 1 within a sixth of the circle around the channel's own hue, 0 past two sixths.
      const double away = std::abs(std::remainder(hue - channel, 6.0));
      const double share = std::clamp(2 - away, 0.0, 1.0) * 2 - 1;
      const double level = light + 0.65 * share * std::min(light, 1 - light);
      const auto byte = static_cast<unsigned>(std::lround(level * 255));
      colour += {"0123456789abcdef"[byte / 16], "0123456789abcdef"[byte % 16]};
    }
    return colour;
  }

  std::vector<std::pair<std::string, size_t>> entries_;
  std::map<std::string, size_t> places_;
};

/// The coordinate that most boxes contain, the largest of several.
u32 fullest_place(const std::vector<GridBox>& boxes, size_t axis) {
  std::vector<std::pair<u32, int>> changes;  // in how many boxes contain a coordinate
  for (const GridBox& box : boxes) {
    changes.emplace_back(box.lo[axis], 1);
    changes.emplace_back(box.hi[axis] + 1, -1);
  }
  std::sort(changes.begin(), changes.end());
  long inside = 0, most = 0;
  u32 place = 0;
  for (size_t i = 0, end; i < changes.size(); i = end) {
    long change = 0;
    for (end = i; end < changes.size() && changes[end].first == changes[i].first; end++)
      change += changes[end].second;
    inside += change;
    if (inside < most || change < 0) continue;
    most = inside;
    place = changes[i].first;
  }
  return place;
}

/// Boxes that lie at one place of all axes but these two, and that place, as a box.
struct Slice {
  std::vector<GridBox> boxes;
  GridBox place;

  Slice(std::vector<GridBox> all, size_t x, size_t y) : boxes(std::move(all)) {
    for (size_t a = 0; a < kAxes; a++) {
      if (a == x || a == y) continue;
      const u32 at = fullest_place(boxes, a);
      std::erase_if(boxes, [&](const GridBox& b) { return at < b.lo[a] || at > b.hi[a]; });
      place.lo[a] = place.hi[a] = at;
    }
  }
};

Result<size_t> find_group(const TableContent& content, const PlotOptions& options) {
  const std::vector<TableGroup>& groups = content.groups;
  if (groups.empty()) return Error{MORELLO_INVALID_ARGUMENT, "the table has no decisions to plot"};
  if (options.group && *options.group >= groups.size())
    return Error{MORELLO_INVALID_ARGUMENT, "there is no group " + number(*options.group) +
                                               "; the table has groups 0 to " +
                                               number(groups.size() - 1)};
  if (options.group) return *options.group;
  auto fewer = [](const TableGroup& a, const TableGroup& b) {
    return a.actions.size() < b.actions.size();
  };
  return static_cast<size_t>(std::max_element(groups.begin(), groups.end(), fewer) -
                             groups.begin());
}

/// The axis with this name, or else, if it is "", the widest one but `taken`.
Result<size_t> find_axis(const Spec& key, const std::vector<GridBox>& boxes,
                         const std::string& name, size_t taken) {
  size_t widest = taken == 0 ? 1 : 0, most = Scale(boxes, widest).cells();
  std::string names;
  for (size_t a = 0; a < kAxes; a++) {
    if (!name.empty() && axis_name(key, a) == name) return a;
    const size_t cells = Scale(boxes, a).cells();
    if (a != taken && cells > most) {
      widest = a;
      most = cells;
    }
    if (cells > 1) names += (names.empty() ? "" : ", ") + axis_name(key, a);
  }
  if (name.empty()) return widest;
  return Error{MORELLO_INVALID_ARGUMENT, "there is no axis \"" + name +
                                             "\"; those that vary in this group are " +
                                             (names.empty() ? "none" : names)};
}

size_t area(const GridBox& box, const Scale& x, const Scale& y) {
  return (x.end(box) - x.begin(box)) * (y.end(box) - y.begin(box));
}

/// The largest ones first, no more than can be drawn.
std::vector<GridBox> largest(const std::vector<GridBox>& boxes, size_t axis_x, size_t axis_y) {
  const Scale x(boxes, axis_x), y(boxes, axis_y);
  std::vector<std::pair<size_t, const GridBox*>> areas;
  for (const GridBox& box : boxes) areas.emplace_back(area(box, x, y), &box);
  std::stable_sort(areas.begin(), areas.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  areas.resize(std::min(areas.size(), kMostPlotted));
  std::vector<GridBox> drawn;
  for (const auto& [_, box] : areas) drawn.push_back(*box);
  return drawn;
}

struct Picture {
  const TableGroup& group;
  std::vector<GridBox> boxes;
  Scale x, y;
  Legend legend;

  Picture(const TableGroup& g, const std::vector<GridBox>& all, size_t axis_x, size_t axis_y)
      : group(g),
        boxes(largest(all, axis_x, axis_y)),
        x(boxes, axis_x),
        y(boxes, axis_y),
        legend(g.key, boxes) {}

  size_t width() const { return kLeft + x.length() + kLegendWidth; }
  size_t height() const {
    return kTop + std::max(y.length() + kBottom, (legend.lines() + 1) * kLineHeight);
  }

  /// Upwards is larger.
  std::string rectangles() const {
    std::string s = "<g stroke=\"#fff\" stroke-width=\"0.5\">\n";
    for (const GridBox& box : boxes) {
      const std::string decision = action_text(group.key, box.action);
      s += "<rect x=\"" + number(kLeft + x.begin(box)) + "\" y=\"" +
           number(kTop + y.length() - y.end(box)) + "\" width=\"" +
           number(x.end(box) - x.begin(box)) + "\" height=\"" + number(y.end(box) - y.begin(box)) +
           "\" fill=\"" + legend.colour(decision) + "\"><title>" +
           escaped(decision + ": " + ranges_text(group.key, group.axes, box)) + "</title></rect>\n";
    }
    return s + "</g>\n";
  }

  std::string labels(const std::string& name_x, const std::string& name_y) const {
    const size_t bottom = kTop + y.length();
    std::string s;
    x.each_label([&](size_t at, const std::string& text) {
      const std::string where = number(kLeft + at) + "," + number(bottom + 14);
      s += text_at(kLeft + at, bottom + 14, text,
                   " text-anchor=\"end\" transform=\"rotate(-45 " + where + ")\"");
    });
    y.each_label([&](size_t at, const std::string& text) {
      s += text_at(kLeft - 6, bottom - at + 4, text, " text-anchor=\"end\"");
    });
    s += text_at(kLeft + x.length() / 2, bottom + kBottom - 8, name_x,
                 " font-weight=\"bold\" text-anchor=\"middle\"");
    return s + text_at(12, kTop + y.length() / 2, name_y, " font-weight=\"bold\"");
  }
};

}  // namespace

Result<std::string> plot(const TableContent& content, const PlotOptions& options) {
  const Result<size_t> chosen = find_group(content, options);
  if (!chosen) return chosen.error();
  const TableGroup& group = content.groups[*chosen];
  const std::vector<GridBox> boxes = boxes_in(group);
  // An axis that is asked for by name is not taken for the other one.
  size_t named_y = kAxes;
  for (size_t a = 0; a < kAxes; a++)
    if (axis_name(group.key, a) == options.y) named_y = a;
  const Result<size_t> x = find_axis(group.key, boxes, options.x, named_y);
  if (!x) return x.error();
  const Result<size_t> y = find_axis(group.key, boxes, options.y, *x);
  if (!y) return y.error();

  Slice slice(boxes, *x, *y);
  const u32 others = group.axes & ~(u32{1} << *x | u32{1} << *y);
  const std::string where = ranges_text(group.key, others, slice.place);
  const Picture picture(group, slice.boxes, *x, *y);
  const size_t left_out = slice.boxes.size() - picture.boxes.size();
  const std::string width = number(picture.width()), height = number(picture.height());
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" + height +
         "\" viewBox=\"0 0 " + width + ' ' + height +
         "\" style=\"background:#fff\" font-family=\"sans-serif\" font-size=\"11\">\n" +
         text_at(12, 20, "group " + number(*chosen) + ": " + key_text(group.key),
                 " font-size=\"14\"") +
         text_at(
             12, 40,
             number(picture.boxes.size()) + " of " + number(boxes.size()) + " boxes; " +
                 content.identity.target + ", " + content.identity.machine +
                 (left_out ? "; the largest: " + number(left_out) + " more are left out" : "")) +
         (where.empty() ? "" : text_at(12, 58, "where " + where)) + picture.rectangles() +
         picture.labels(axis_name(group.key, *x), axis_name(group.key, *y)) +
         picture.legend.svg(kLeft + picture.x.length() + 20, kTop + 6) + "</svg>\n";
}

}  // namespace morello
