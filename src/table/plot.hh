// SPDX-License-Identifier: MIT
// A picture of one group of a table: a slice of its boxes along two axes, coloured by decision.
#ifndef MORELLO_TABLE_PLOT_HH
#define MORELLO_TABLE_PLOT_HH

#include <optional>
#include <string>

#include "support/result.hh"
#include "table/content.hh"

namespace morello {

/// As many as can still be told apart, and under 2 MB of text.
inline constexpr size_t kMostPlotted = 4096;

struct PlotOptions {
  std::optional<size_t> group;  // number as in a dump; none: the one with the most boxes
  std::string x, y;             // axes by name; "": the ones with the most different places
};

/// An SVG document of the boxes that lie at one place of all other axes, the place where most meet,
/// chosen axis by axis. Boxes that overlap (where nothing was decided) have the smaller one in
/// front; each says on hovering what it is. Of more than kMostPlotted only the largest are drawn,
/// which the picture says. The places where some box begins or ends are equally
/// far apart, so that small sizes and large ones can be read. @return INVALID_ARGUMENT, if there is
/// no such group or axis.
Result<std::string> plot(const TableContent& content, const PlotOptions& options);

}  // namespace morello

#endif
