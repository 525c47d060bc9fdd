// SPDX-License-Identifier: MIT
// Keeper: programs that were found, and the table that they are added to, in a file or in memory.
#ifndef MORELLO_PRECOMPUTE_KEEPER_HH
#define MORELLO_PRECOMPUTE_KEEPER_HH

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spec/family.hh"
#include "table/file.hh"
#include "table/walk.hh"

namespace morello {

/// Members of families, and every pair of the programs of all these Specs.
struct Solved {
  std::vector<Spec> members;
  std::vector<Spec> packs;  // copies that kernels of members with free layouts need besides
  DecidedPairs pairs;
};

/// Where a table is kept: `update` is that of table/file.hh for this place.
struct TableStore {
  std::string name;  // for messages
  std::function<std::optional<Error>(const Change&, const DecodeOptions&)> update;
};
TableStore file_store(const std::string& path);
/// `content` is referred to; absent at first, or what is known already.
TableStore memory_store(std::optional<TableContent>& content);

/// The file may change between the calls: others may add to it. One thread at a time; found() may
/// be called by any number.
class Keeper {
 public:
  /// The first three are referred to. `effort`: TableIdentity.effort. `table_bytes`:
  /// DecodeOptions.max_bytes.
  Keeper(std::span<const Family> families, const Target& target, const TableStore& store,
         u64 effort = 0, u64 table_bytes = kDefaultTableMemory);

  /// Makes the file if there is none, and notes what it has.
  /// @return what update() says (table/file.hh).
  std::optional<Error> open();
  /// Did the file promise this when it was opened? `limits` are those of the target.
  bool found(const Spec& spec, const Limits& limits) const {
    return found_ && found_->promises(spec, limits);
  }
  /// The program of what it promised; nothing else.
  std::optional<ImplTree> program(const Spec& spec) const {
    return found_ ? morello::program(*found_, spec, target_) : std::nullopt;
  }
  /// Adds to what the file has by now.
  /// @return what update() and decided_pairs() say.
  std::optional<Error> save(const std::vector<Solved>& solved);

  /// What the file had after the last save; 0 before.
  u64 pairs() const { return pairs_; }
  u64 boxes() const { return boxes_; }

 private:
  DecodeOptions options() const;
  Result<TableContent> merged(const std::optional<TableContent>& existing,
                              const std::vector<Solved>& solved);

  const std::span<const Family> families_;
  const Target& target_;
  const TableStore& store_;
  const u64 table_bytes_;
  const TableIdentity identity_;
  std::optional<Table> found_;
  u64 pairs_ = 0, boxes_ = 0;
};

}  // namespace morello

#endif
