// SPDX-License-Identifier: MIT
// Which Specs a table covers, and why it does not cover others.
#include "capi/spec.hh"
#include "capi/table.hh"
#include "search/synthesize.hh"
#include "table/miss.hh"
#include "table/walk.hh"

using namespace morello;

namespace {

bool covers_spec(const TablePart& part, const morello_spec& spec) {
  if (spec.sized) return count_pieces(part, *spec.sized).missing == 0;
  return program(part.table, spec.lowered.spec, part.target).has_value();
}

std::string miss_of_pieces(const TablePart& part, const Sized& sized) {
  const u32 size = count_pieces(part, sized).missing;
  const Result<Statement> statement = sized.at(size);
  const Result<Lowered> lowered = statement ? lower(*statement) : statement.error();
  if (!lowered) return lowered.error().message;
  const std::string piece = "the piece of " + std::to_string(size) + ": ",
                    advice = "; precompute the Spec as it is, so that all its pieces are";
  if (program(part.table, lowered->spec, part.target))
    return piece + "with the free layout that is best for the largest size it is not covered" +
           advice;
  return piece + miss(part.table, lowered->spec, part.target, lowered->argument) + advice;
}

std::string miss_of(const TablePart& part, const morello_spec& spec) {
  if (spec.sized) return miss_of_pieces(part, *spec.sized);
  return miss(part.table, spec.lowered.spec, part.target, spec.lowered.argument);
}

}  // namespace

PieceCount morello::count_pieces(const TablePart& part, const Sized& sized) {
  return count_pieces(sized,
                      [&](const Spec& spec) { return program(part.table, spec, part.target); });
}

std::string morello::name_of(const TablePart& part) {
  return std::string(part.target.name) + ", " + std::to_string(part.target.processors) +
         (part.target.processors == 1 ? " thread" : " threads") +
         (part.table.identity().effort == kExactEffort ? "" : ", quick");
}

std::string morello::miss_text(const TablePart& part, const morello_spec& spec) {
  if (covers_spec(part, spec)) return "";
  return name_of(part) + ": " + miss_of(part, spec);
}

int morello_table_covers(const morello_table* table, const morello_spec* spec) {
  if (table == nullptr || spec == nullptr) return 0;
  return guarded_value(0, [&] {
    for (const auto& part : table->parts)
      if (covers_spec(*part, *spec)) return 1;
    return 0;
  });
}

size_t morello_table_miss(const morello_table* table, const morello_spec* spec, char* buffer,
                          size_t size) {
  const std::string text = guarded_value(std::string(), [&] {
    std::string all;
    if (table == nullptr || spec == nullptr) return all;
    for (const auto& part : table->parts) {
      const std::string why = miss_text(*part, *spec);
      if (why.empty()) return why;
      all += (all.empty() ? "" : "\n") + why;
    }
    return all;
  });
  return copy_text(text, buffer, size);
}
