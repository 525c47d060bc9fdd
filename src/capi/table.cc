// SPDX-License-Identifier: MIT
// Tables: from files and memory and back, merging, and what can be asked of them.
#include "capi/table.hh"

#include <algorithm>

#include "capi/spec.hh"
#include "capi/target.hh"
#include "table/file.hh"
#include "table/identity.hh"
#include "table/promise.hh"
#include "table/walk.hh"

using namespace morello;

namespace {

/// The target that a table must be of to be of use in a context, given what it is of.
Target target_for(const morello_context& context, const TableIdentity& found) {
  const auto known = fixed_targets();
  const auto named = std::find_if(known.begin(), known.end(),
                                  [&](const Target& t) { return t.name == found.target; });
  return make_target(context, named == known.end() ? known.front() : *named, found.processors);
}

/// `decode` is a function (DecodeOptions, TakePart) -> std::optional<Error>.
template <class Decode>
Result<Done> load(const morello_context& context, Decode&& decode, morello_table** table) {
  DecodeOptions options;
  options.max_bytes = context.table_memory;
  options.wanted_of = [&](const TableIdentity& found) {
    return identity_of(target_for(context, found), found.effort);
  };
  TableParts parts;
  const TakePart take = [&](TableContent content) -> std::optional<Error> {
    Result<Table> made = Table::make(content);
    if (!made) return std::move(made.error());
    parts.push_back(make_part(std::move(*made), target_for(context, content.identity)));
    return std::nullopt;
  };
  if (std::optional<Error> error = decode(options, take)) return *error;
  *table = make_table(std::move(parts));
  return Done{};
}

std::vector<TableContent> contents_of(const morello_table& table) {
  std::vector<TableContent> contents;
  for (const auto& part : table.parts) contents.push_back(part->table.content());
  return contents;
}

const TableIdentity& identity_in(const std::shared_ptr<const TablePart>& part) {
  return part->table.identity();
}

/// The parts of both; of one place, merged.
Result<TableParts> merged_parts(const TableParts& a, const TableParts& b) {
  const std::string &machine = identity_in(a[0]).machine, &other = identity_in(b[0]).machine;
  if (machine != other)
    return Error{MORELLO_INCOMPATIBLE_TABLE, "the tables cannot be merged: one is for machine " +
                                                 machine + ", one for " + other};
  TableParts all;
  for (auto x = a.begin(), y = b.begin(); x != a.end() || y != b.end();) {
    const bool from_a =
        y == b.end() || (x != a.end() && place_of(identity_in(*x)) <= place_of(identity_in(*y)));
    const bool from_b =
        x == a.end() || (y != b.end() && place_of(identity_in(*y)) <= place_of(identity_in(*x)));
    if (from_a && from_b) {
      Result<Table> made = merge((*x)->table, (*y)->table, (*x)->target);
      if (!made) return std::move(made.error());
      all.push_back(make_part(std::move(*made), (*x)->target));
    } else {
      all.push_back(from_a ? *x : *y);
    }
    if (from_a) ++x;
    if (from_b) ++y;
  }
  return all;
}

}  // namespace

const TablePart* morello::part_for(const morello_table& table, const Target& target,
                                   const morello_spec& spec, u64 effort) {
  const TablePart* first = nullptr;
  std::vector<const TablePart*> covering;  // the Spec, or its largest size
  for (const auto& part : table.parts) {
    if (part->target != target) continue;
    if (first == nullptr) first = part.get();
    if (is_enough(part->table.identity().effort, effort) &&
        covers(part->table, spec.lowered.spec, target))
      covering.push_back(part.get());
  }
  if (covering.empty()) return first;
  if (spec.sized && covering.size() > 1)
    for (const TablePart* part : covering)
      if (count_pieces(*part, *spec.sized).missing == 0) return part;
  return covering.front();
}

morello_status morello_table_load(const morello_context* context, const char* path,
                                  morello_table** table, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"path", path}, {"table", table}})) return *e;
    return load(
        *context,
        [&](const DecodeOptions& o, const TakePart& take) { return load_parts(path, o, take); },
        table);
  });
}

morello_status morello_table_load_memory(const morello_context* context, const void* data,
                                         size_t size, morello_table** table, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"data", data}, {"table", table}})) return *e;
    const std::span<const u8> bytes(static_cast<const u8*>(data), size);
    return load(
        *context,
        [&](const DecodeOptions& o, const TakePart& take) { return decode_parts(bytes, o, take); },
        table);
  });
}

morello_status morello_table_save(const morello_table* table, const char* path,
                                  morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"path", path}})) return *e;
    if (auto e = save(path, contents_of(*table))) return *e;
    return Done{};
  });
}

morello_status morello_table_save_memory(const morello_table* table, void* buffer, size_t size,
                                         size_t* length, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"length", length}})) return *e;
    if (size > 0)
      if (auto e = find_null({{"buffer", buffer}})) return *e;
    const Bytes bytes = encode(contents_of(*table));
    if (size > 0) std::memcpy(buffer, bytes.data(), std::min(size, bytes.size()));
    *length = bytes.size();
    return Done{};
  });
}

morello_status morello_table_merge(const morello_table* a, const morello_table* b,
                                   morello_table** merged, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"a", a}, {"b", b}, {"merged", merged}})) return *e;
    Result<TableParts> parts = merged_parts(a->parts, b->parts);
    if (!parts) return std::move(parts.error());
    *merged = make_table(std::move(*parts));
    return Done{};
  });
}

morello_status morello_table_info_get(const morello_table* table, morello_table_info* info,
                                      size_t info_size) {
  return guarded_status([&] {
    if (table == nullptr || info == nullptr || info_size < kFirstTableInfo ||
        info_size > kLargestStruct)
      return MORELLO_INVALID_ARGUMENT;
    const Target& first = table->parts.front()->target;
    morello_table_info known{};
    known.target = first.number;
    known.threads = first.processors;
    copy_text(first.machine, known.machine, sizeof(known.machine));
    known.parts = table->parts.size();
    known.effort = table->parts.front()->table.identity().effort;
    for (const auto& part : table->parts) {
      const Table& t = part->table;
      known.families += t.families().size();
      for (const Promise& promise : t.promises())
        known.points += std::min(member_count(promise), ~u64{0} - known.points);
      known.groups += t.keys();
      known.boxes += t.boxes();
      known.bytes += t.bytes();
    }
    write_struct(info, info_size, known);
    return MORELLO_OK;
  });
}

const char* morello_table_family(const morello_table* table, uint64_t index) {
  if (table == nullptr) return nullptr;
  for (const auto& part : table->parts) {
    const std::vector<std::string>& families = part->table.families();
    if (index < families.size()) return families[index].c_str();
    index -= families.size();
  }
  return nullptr;
}

morello_status morello_table_part(const morello_table* table, uint64_t index, morello_table** part,
                                  morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"part", part}})) return *e;
    if (index >= table->parts.size())
      return invalid_argument("index is " + std::to_string(index) + "; the table has " +
                              std::to_string(table->parts.size()) + " parts, counted from 0");
    *part = make_table({table->parts[index]});
    return Done{};
  });
}

morello_table* morello_table_retain(const morello_table* table) { return retain(table); }
void morello_table_release(morello_table* table) { release(table); }
