// SPDX-License-Identifier: MIT
// Tables for those who want to know what is in them: checked, as text, and as pictures.
#include "capi/boundary.hh"
#include "capi/table.hh"
#include "precompute/verify.hh"
#include "table/dump.hh"
#include "table/plot.hh"

using namespace morello;

morello_status morello_table_verify(const morello_table* table, uint64_t points, uint64_t seed,
                                    morello_table_verification* found, size_t found_size,
                                    morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"found", found}})) return *e;
    if (found_size < kFirstTableVerification || found_size > kLargestStruct)
      return invalid_argument("found_size is " + std::to_string(found_size) +
                              "; it must be sizeof(morello_table_verification)");
    morello_table_verification known{};
    for (const auto& part : table->parts) {
      const Verification v = verify(part->table, part->target, points, seed);
      known.promised += v.promised;
      known.pairs += v.pairs;
      known.searched += v.searched;
      if (known.failures == 0) copy_text(v.failure, known.failure, sizeof(known.failure));
      known.failures += v.failures;
    }
    write_struct(found, found_size, known);
    return Done{};
  });
}

size_t morello_table_dump(const morello_table* table, int json, char* buffer, size_t size) {
  const std::string text = guarded_value(std::string(), [&] {
    std::string all;
    if (table == nullptr) return all;
    for (const auto& part : table->parts) {
      const TableContent content = part->table.content();
      all += json != 0 ? dump_json(content) : dump_text(content);
    }
    return all;
  });
  return copy_text(text, buffer, size);
}

morello_status morello_table_plot(const morello_table* table, int64_t group, const char* x,
                                  const char* y, char* buffer, size_t size, size_t* length,
                                  morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"length", length}})) return *e;
    PlotOptions options;
    if (group < -1)
      return invalid_argument("group is " + std::to_string(group) +
                              "; it must be a number of a group, or -1 for the largest");
    if (group >= 0) options.group = static_cast<size_t>(group);
    if (x != nullptr) options.x = x;
    if (y != nullptr) options.y = y;
    if (table->parts.size() > 1)
      return invalid_argument("the table has " + std::to_string(table->parts.size()) +
                              " parts; morello_table_part() makes a table of one");
    const Result<std::string> svg = plot(table->parts.front()->table.content(), options);
    if (!svg) return svg.error();
    *length = copy_text(*svg, buffer, size);
    return Done{};
  });
}
