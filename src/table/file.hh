// SPDX-License-Identifier: MIT
// Tables as files. A file is replaced as a whole or not at all, and writers take turns: beside
// "x.mtab" they keep "x.mtab.lock", empty, and while one writes, "x.mtab.tmp". Nothing else is
// touched.
#ifndef MORELLO_TABLE_FILE_HH
#define MORELLO_TABLE_FILE_HH

#include <functional>
#include <optional>

#include "table/encode.hh"

namespace morello {

/// decode_parts() of a file, which counts among the memory that is taken.
/// @return IO_ERROR if it is no file that can be read; what decode_parts() says. Messages name the
/// path.
std::optional<Error> load_parts(const std::string& path, const DecodeOptions& options,
                                const TakePart& take);
/// The same for a file of one part.
Result<TableContent> load(const std::string& path, const DecodeOptions& options = {});

/// A file that is replaced keeps its permissions, and its owner and group where we may set them.
/// Once it returns nothing, the new file is on disk. After an error the old one is as it was (or
/// the new one is whole, but not known to be on disk). REQUIRES: check(content) finds nothing.
std::optional<Error> save(const std::string& path, const TableContent& content);
/// Several parts, ascending by place_of().
std::optional<Error> save(const std::string& path, const std::vector<TableContent>& parts);

/// Replaces the content of a file, or makes one, while no other writer can: what `change` is given
/// is what its result replaces. That is the part in the place of `options.wanted`, of which a file
/// may have none yet; other parts stay byte for byte as they are. Without `wanted`, there is one
/// part. An existing file that cannot be loaded is left alone.
/// @return what load() and save() say, or `change`.
using Change = std::function<Result<TableContent>(std::optional<TableContent> existing)>;
std::optional<Error> update(const std::string& path, const Change& change,
                            const DecodeOptions& options = {});

}  // namespace morello

#endif
