// SPDX-License-Identifier: MIT
// Table files: what is no such file is refused, nothing is lost when several write or a disk is
// full.
#include "table/file.hh"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "../support/folder.hh"
#include "random_content.hh"

namespace morello {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using testing::Folder;

const std::set<std::string> kFileAndLock = {"t.mtab", "t.mtab.lock"};

TableContent content_of(u64 seed, size_t groups = 3, size_t boxes = 5) {
  std::mt19937_64 rng(seed);
  return testing::random_content(rng, groups, boxes);
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The status of load(), whose message names the path and says `what`.
Status refused(const std::string& path, const std::string& what) {
  Result<TableContent> loaded = load(path);
  if (loaded) return MORELLO_OK;
  INFO(loaded.error().message);
  CHECK(loaded.error().message.find(path + ": ") == 0);
  CHECK(loaded.error().message.find(what) != std::string::npos);
  return loaded.error().status;
}

bool holds(const std::string& path, const TableContent& content) {
  Result<TableContent> loaded = load(path);
  return loaded.ok() && *loaded == content;
}

/// Runs `body` in a child process.
template <class Body>
pid_t start(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (...) {
    }
    _exit(good ? 0 : 1);
  }
  return child;
}
bool succeeds(pid_t child) {
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Groups of both.
TableContent merged(TableContent a, const TableContent& b) {
  a.groups.insert(a.groups.end(), b.groups.begin(), b.groups.end());
  std::sort(a.groups.begin(), a.groups.end(),
            [](const auto& x, const auto& y) { return compare(x, y) < 0; });
  a.groups.erase(std::unique(a.groups.begin(), a.groups.end(),
                             [](const auto& x, const auto& y) { return compare(x, y) == 0; }),
                 a.groups.end());
  return a;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("a table is saved, loaded and replaced") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    CHECK(!save(path, content_of(1)));
    CHECK(holds(path, content_of(1)));
    CHECK(!save(path, content_of(2)));
    CHECK(holds(path, content_of(2)));
    CHECK(folder.names() == kFileAndLock);
    CHECK(load(path, {nullptr, 40}).error().status == MORELLO_TABLE_TOO_LARGE);
    CHECK(load(path, {nullptr, 40}).error().message.find("more than 40 bytes") !=
          std::string::npos);
    TableIdentity other = content_of(2).identity;
    other.target = "other";
    CHECK(load(path, {&other}).error().status == MORELLO_INCOMPATIBLE_TABLE);
  }

  TEST_CASE("what is no table file is refused, at once") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    CHECK(refused(path, "No such file") == MORELLO_IO_ERROR);
    CHECK(refused(folder / "", "is a directory") == MORELLO_IO_ERROR);
    CHECK(refused(folder / "no/t.mtab", "No such file") == MORELLO_IO_ERROR);
    REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
    CHECK(refused(folder / "fifo", "no regular file") == MORELLO_IO_ERROR);
    CHECK(refused("/dev/null", "no regular file") == MORELLO_IO_ERROR);
    write(path, "");
    CHECK(refused(path, "the file is empty") == MORELLO_CORRUPT_TABLE);
    write(path, "#!/bin/sh\n");
    CHECK(refused(path, "no table") == MORELLO_CORRUPT_TABLE);
  }

  TEST_CASE("files that may not be read or written are refused") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    REQUIRE(!save(path, content_of(1)));
    const std::string before = bytes_of(path);
    chmod(path.c_str(), 0);
    CHECK(succeeds(start([&] {
      if (geteuid() == 0 && setuid(65534) != 0) return false;  // root may do everything
      auto is_denied = [&](const Error& error) {
        return error.status == MORELLO_IO_ERROR &&
               error.message.find("Permission denied") != std::string::npos;
      };
      Result<TableContent> loaded = load(path);
      return !loaded && is_denied(loaded.error());
    })));
    chmod((folder / "").c_str(), 0500);
    CHECK(succeeds(start([&] {
      if (geteuid() == 0 && setuid(65534) != 0) return false;
      std::optional<Error> error = save(path, content_of(2));
      return error && error->status == MORELLO_IO_ERROR;
    })));
    chmod((folder / "").c_str(), 0700);
    chmod(path.c_str(), 0600);
    CHECK(bytes_of(path) == before);
  }

  TEST_CASE("a file that is replaced keeps its mode and its owner") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    const auto status_of = [&] {
      struct stat status;
      REQUIRE(stat(path.c_str(), &status) == 0);
      return status;
    };
    const mode_t mask = umask(022);
    REQUIRE(!save(path, content_of(1)));
    CHECK((status_of().st_mode & 07777) == 0644);  // a new one is as any new file
    for (const mode_t mode : {0600, 0640, 0664, 0666, 0444, 0755}) {
      REQUIRE(chmod(path.c_str(), mode) == 0);
      REQUIRE(!save(path, content_of(2)));
      CHECK((status_of().st_mode & 07777) == mode);
      CHECK(status_of().st_uid == geteuid());
    }
    if (geteuid() == 0) {
      REQUIRE(chmod(path.c_str(), 0640) == 0);
      REQUIRE(chown(path.c_str(), 65534, 65533) == 0);
      REQUIRE(!save(path, content_of(3)));
      CHECK(status_of().st_uid == 65534);
      CHECK(status_of().st_gid == 65533);
      CHECK((status_of().st_mode & 07777) == 0640);
      // Others may replace it, but not give files away: who could not read it, still cannot.
      REQUIRE(chmod((folder / "").c_str(), 0777) == 0);
      REQUIRE(chmod((path + ".lock").c_str(), 0666) == 0);
      CHECK(succeeds(start([&] {
        if (setgid(65532) != 0 || setuid(65531) != 0) return false;
        return !save(path, content_of(4));
      })));
      CHECK(status_of().st_uid == 65531);
      CHECK((status_of().st_mode & 07777) == 0600);
    } else {
      MESSAGE("skipped: owners, which only root can change");
    }
    umask(mask);
  }

  TEST_CASE("a table cannot be saved where there can be no file") {
    Folder folder;
    REQUIRE(fs::create_directory(folder / "t.mtab"));
    for (std::string name : {"t.mtab", "", ".", "..", "no/t.mtab"}) {
      INFO(name);
      std::optional<Error> error = save(folder / name, content_of(1));
      REQUIRE(error);
      CHECK(error->status == MORELLO_IO_ERROR);
      CHECK(error->message.find(folder / name) == 0);
    }
    CHECK(folder.names().count("t.mtab.tmp") == 0);
  }

  TEST_CASE("links lead to no other folder") {
    Folder folder, other;
    const std::string path = folder / "t.mtab";
    write(other / "precious", "as it was");
    for (const char* name : {"t.mtab", "t.mtab.tmp"})
      fs::create_symlink(other / "precious", folder / name);
    CHECK(!save(path, content_of(1)));
    CHECK(holds(path, content_of(1)));
    CHECK(folder.names() == kFileAndLock);
    fs::remove(folder / "t.mtab.lock");
    fs::create_symlink(other / "precious", folder / "t.mtab.lock");
    CHECK(save(path, content_of(2))->status == MORELLO_IO_ERROR);
    CHECK(holds(path, content_of(1)));
    CHECK(bytes_of(other / "precious") == "as it was");
    CHECK(other.names() == std::set<std::string>{"precious"});
  }

  TEST_CASE("a full disk costs nothing") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    REQUIRE(!save(path, content_of(1)));
    const std::string before = bytes_of(path);
    const TableContent large = content_of(2, 40, 100);
    CHECK(succeeds(start([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit = {before.size(), before.size()};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
      std::optional<Error> error = save(path, large);
      return error && error->status == MORELLO_IO_ERROR &&
             error->message.find(path + ": cannot write") == 0;
    })));
    CHECK(bytes_of(path) == before);
    CHECK(folder.names() == kFileAndLock);
  }

  TEST_CASE("an update sees what it replaces, and leaves what it cannot read") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    auto replace_by = [](u64 seed, bool existed) {
      return [=](std::optional<TableContent> existing) -> Result<TableContent> {
        if (existing.has_value() != existed) return Error{MORELLO_INTERNAL, "unexpected"};
        return content_of(seed);
      };
    };
    CHECK(!update(path, replace_by(1, false)));
    CHECK(!update(path, replace_by(2, true)));
    CHECK(holds(path, content_of(2)));
    CHECK(update(path, replace_by(3, false))->message == "unexpected");
    CHECK(holds(path, content_of(2)));
    write(path, "no table, but somebody's");
    CHECK(update(path, replace_by(3, true))->status == MORELLO_CORRUPT_TABLE);
    CHECK(bytes_of(path) == "no table, but somebody's");
  }

  TEST_CASE("an update is about one part, and leaves the others byte for byte") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    const auto part = [](u64 seed, u32 threads) {
      TableContent content = content_of(seed);
      content.identity = content_of(1).identity;
      content.identity.processors = threads;
      return content;
    };
    const auto set = [&](const TableContent& content, std::optional<TableContent> before) {
      DecodeOptions options;
      options.wanted = &content.identity;
      const Change change = [&](std::optional<TableContent> existing) -> Result<TableContent> {
        if (existing != before) return Error{MORELLO_INTERNAL, "unexpected"};
        return content;
      };
      const std::optional<Error> error = update(path, change, options);
      return error ? error->message : std::string();
    };
    CHECK(set(part(1, 2), std::nullopt) == "");
    CHECK(set(part(2, 1), std::nullopt) == "");
    CHECK(set(part(3, 8), std::nullopt) == "");
    CHECK(set(part(4, 2), part(1, 2)) == "");
    const std::string all = bytes_of(path);
    REQUIRE(!save(path, {part(2, 1), part(4, 2), part(3, 8)}));
    CHECK(bytes_of(path) == all);
    TableContent other = part(5, 2);
    other.identity.cost_model_fingerprint++;
    CHECK(set(other, std::nullopt).find("cost model") != std::string::npos);
    CHECK(bytes_of(path) == all);
    CHECK(load(path).error().status == MORELLO_INCOMPATIBLE_TABLE);
    // Also if it is another part that is damaged.
    std::string damaged = all;
    damaged.back() ^= 1;
    write(path, damaged);
    CHECK(set(part(6, 1), part(2, 1)).find("part 2 of 3: ") != std::string::npos);
    CHECK(bytes_of(path) == damaged);
  }

  TEST_CASE("four processes add to one file and nothing is lost") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    constexpr u64 kProcesses = 4, kUpdates = 8;
    std::vector<pid_t> children;
    for (u64 p = 0; p < kProcesses; p++)
      children.push_back(start([&] {
        for (u64 i = 0; i < kUpdates; i++) {
          const TableContent mine = content_of(1000 + p * kUpdates + i);
          auto add = [&](std::optional<TableContent> existing) -> Result<TableContent> {
            return existing ? merged(std::move(*existing), mine) : mine;
          };
          if (update(path, add)) return false;
        }
        return true;
      }));
    for (pid_t child : children) CHECK(succeeds(child));
    Result<TableContent> loaded = load(path);
    REQUIRE(loaded.ok());
    for (u64 i = 0; i < kProcesses * kUpdates; i++)
      CHECK(merged(*loaded, content_of(1000 + i)).groups.size() == loaded->groups.size());
    CHECK(folder.names() == kFileAndLock);
  }

  TEST_CASE("readers see a whole table while one writes, and after it was killed") {
    Folder folder;
    const std::string path = folder / "t.mtab";
    const TableContent a = content_of(1), b = content_of(2, 20, 50);
    REQUIRE(!save(path, a));
    const pid_t writer = start([&] {
      while (!save(path, b) && !save(path, a)) continue;
      return false;
    });
    for (int i = 0; i < 300; i++) {
      Result<TableContent> loaded = load(path);
      REQUIRE(loaded.ok());
      CHECK((*loaded == a || *loaded == b));
    }
    kill(writer, SIGKILL);
    CHECK(!succeeds(writer));
    CHECK((holds(path, a) || holds(path, b)));
    CHECK(!save(path, a));
    CHECK(holds(path, a));
    CHECK(folder.names() == kFileAndLock);
  }
}

}  // namespace morello
