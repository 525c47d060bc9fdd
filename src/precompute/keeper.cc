// SPDX-License-Identifier: MIT
#include "precompute/keeper.hh"

#include "table/identity.hh"
#include "table/table_builder.hh"

namespace morello {

TableStore file_store(const std::string& path) {
  return {path, [path](const Change& change, const DecodeOptions& options) {
            return update(path, change, options);
          }};
}

TableStore memory_store(std::optional<TableContent>& content) {
  return {"the table", [&](const Change& change, const DecodeOptions&) -> std::optional<Error> {
            Result<TableContent> changed = change(content);
            if (!changed) return std::move(changed.error());
            content = std::move(*changed);
            return std::nullopt;
          }};
}

Keeper::Keeper(std::span<const Family> families, const Target& target, const TableStore& store,
               u64 effort, u64 table_bytes)
    : families_(families),
      target_(target),
      store_(store),
      table_bytes_(table_bytes),
      identity_(identity_of(target, effort)) {}

DecodeOptions Keeper::options() const {
  DecodeOptions options;
  options.wanted = &identity_;
  options.max_bytes = table_bytes_;
  return options;
}

std::optional<Error> Keeper::open() {
  const Change look = [&](std::optional<TableContent> existing) -> Result<TableContent> {
    if (!existing) return TableContent{identity_, {}, {}, {}};
    Result<Table> table = Table::make(*existing);
    if (!table) return std::move(table.error());
    found_.emplace(std::move(*table));
    return std::move(*existing);
  };
  return store_.update(look, options());
}

std::optional<Error> Keeper::save(const std::vector<Solved>& solved) {
  const Change add = [&](std::optional<TableContent> existing) { return merged(existing, solved); };
  return store_.update(add, options());
}

Result<TableContent> Keeper::merged(const std::optional<TableContent>& existing,
                                    const std::vector<Solved>& solved) {
  TableBuilder builder(identity_);
  DecidedPairs pairs;
  if (existing) {
    const Result<Table> table = Table::make(*existing);
    if (!table) return table.error();
    Result<DecidedPairs> decided = add_promises(*table, target_, builder);
    if (!decided) return std::move(decided.error());
    pairs = std::move(*decided);
  }
  for (const Family& family : families_) builder.add_family(family.text());
  const Limits limits = limits_of(target_);
  for (const Solved& s : solved) {
    for (const Spec& spec : s.members) builder.promise(spec, limits);
    for (const Spec& spec : s.packs) builder.promise(spec, limits);
    for (const auto& [pair, action] : s.pairs) {
      const Action* known = pairs.find(pair);
      if (!known) pairs.add(pair, action);
      if (known && *known != action)
        return Error{MORELLO_CORRUPT_TABLE, store_.name + ": its decision for " +
                                                describe(pair.spec) +
                                                " is wrong; nothing was added"};
    }
  }
  for (const auto& [pair, action] : pairs) builder.add(pair.spec, pair.limits, action);
  const Result<Table> table = builder.build();
  if (!table) return table.error();
  pairs_ = pairs.size();
  boxes_ = table->boxes();
  return table->content();
}

}  // namespace morello
