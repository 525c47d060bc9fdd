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

/// `decode` is a function (DecodeOptions) -> Result<TableContent>.
template <class Decode>
Result<Done> load(const morello_context& context, Decode&& decode, morello_table** table) {
  DecodeOptions options;
  options.max_bytes = context.table_memory;
  options.wanted_of = [&](const TableIdentity& found) {
    return identity_of(target_for(context, found));
  };
  const Result<TableContent> content = decode(options);
  if (!content) return content.error();
  Result<Table> made = Table::make(*content);
  if (!made) return std::move(made.error());
  *table = make_table(std::move(*made), target_for(context, content->identity));
  return Done{};
}

}  // namespace

morello_status morello_table_load(const morello_context* context, const char* path,
                                  morello_table** table, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"path", path}, {"table", table}})) return *e;
    return load(
        *context, [&](const DecodeOptions& o) { return morello::load(path, o); }, table);
  });
}

morello_status morello_table_load_memory(const morello_context* context, const void* data,
                                         size_t size, morello_table** table, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"context", context}, {"data", data}, {"table", table}})) return *e;
    const std::span<const u8> bytes(static_cast<const u8*>(data), size);
    return load(
        *context, [&](const DecodeOptions& o) { return decode(bytes, o); }, table);
  });
}

morello_status morello_table_save(const morello_table* table, const char* path,
                                  morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"path", path}})) return *e;
    if (auto e = save(path, table->table.content())) return *e;
    return Done{};
  });
}

morello_status morello_table_save_memory(const morello_table* table, void* buffer, size_t size,
                                         size_t* length, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"table", table}, {"length", length}})) return *e;
    if (size > 0)
      if (auto e = find_null({{"buffer", buffer}})) return *e;
    const Bytes bytes = encode(table->table.content());
    if (size > 0) std::memcpy(buffer, bytes.data(), std::min(size, bytes.size()));
    *length = bytes.size();
    return Done{};
  });
}

morello_status morello_table_merge(const morello_table* a, const morello_table* b,
                                   morello_table** merged, morello_error** err) {
  return guarded(err, [&]() -> Result<Done> {
    if (auto e = find_null({{"a", a}, {"b", b}, {"merged", merged}})) return *e;
    Result<Table> made = merge(a->table, b->table, a->target);
    if (!made) return std::move(made.error());
    *merged = make_table(std::move(*made), a->target);
    return Done{};
  });
}

morello_status morello_table_info_get(const morello_table* table, morello_table_info* info,
                                      size_t info_size) {
  return guarded_status([&] {
    if (table == nullptr || info == nullptr || info_size < kFirstTableInfo ||
        info_size > kLargestStruct)
      return MORELLO_INVALID_ARGUMENT;
    const Table& t = table->table;
    morello_table_info known{};
    known.target = table->target.number;
    known.threads = table->target.processors;
    copy_text(table->target.machine, known.machine, sizeof(known.machine));
    known.families = t.families().size();
    for (const Promise& promise : t.promises())
      known.points += std::min(member_count(promise), ~u64{0} - known.points);
    known.groups = t.keys();
    known.boxes = t.boxes();
    known.bytes = t.bytes();
    write_struct(info, info_size, known);
    return MORELLO_OK;
  });
}

const char* morello_table_family(const morello_table* table, uint64_t index) {
  if (table == nullptr || index >= table->table.families().size()) return nullptr;
  return table->table.families()[index].c_str();
}

int morello_table_covers(const morello_table* table, const morello_spec* spec) {
  if (table == nullptr || spec == nullptr || spec->sized) return 0;
  return guarded_value(
      0, [&] { return program(table->table, spec->lowered.spec, table->target) ? 1 : 0; });
}

morello_table* morello_table_retain(const morello_table* table) { return retain(table); }
void morello_table_release(morello_table* table) { release(table); }
