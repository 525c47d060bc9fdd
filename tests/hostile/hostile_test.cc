// SPDX-License-Identifier: MIT
// Tables that were made to waste time or memory: each step takes about as long per decoded byte as
// with a benign table, in the same run; and no more memory than is allowed.
//
//   MORELLO_TEST_ROUNDS=16   sixteen times as large tables, and as many mutated ones
//   MORELLO_TEST_SEED=7      the mutated tables of this seed
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "counted.hh"
#include "spec/statement.hh"
#include "table/boxes.hh"
#include "table/check.hh"
#include "table/dump.hh"
#include "table/encode.hh"
#include "table/identity.hh"
#include "table/payload.hh"
#include "table/plot.hh"
#include "table/walk.hh"
#include "tables.hh"

namespace morello {
namespace {

using namespace testing;

/// How many times as long as a benign table a hostile one may take for a decoded byte, or a step of
/// n log n. They have fewer bytes per row, which is most of it.
constexpr double kMostTimes = 30;
/// What is not counted: for zstd, streams, messages.
constexpr u64 kSlack = u64{512} << 10;

double rounds() {
  const char* scale = std::getenv("MORELLO_TEST_ROUNDS");
  // Not below 1: times of small tables say nothing about how they grow.
  return scale ? std::max(1.0, std::strtod(scale, nullptr)) : 1;
}
u32 scaled(u32 n) { return static_cast<u32>(std::max(1.0, n * rounds())); }

u64 seed() {
  const char* one = std::getenv("MORELLO_TEST_SEED");
  return one ? std::strtoull(one, nullptr, 0) : 9;
}

Target target() { return with_machine(*fixed_target(Isa::kAvx2), 0, 0, 1); }

u64 decoded_bytes(const Sections& sections) {
  u64 bytes = 0;
  for (const Bytes& section : sections) bytes += section.size();
  return bytes;
}

/// As a context does.
Result<Table> load(const Bytes& file, u64 limit) {
  const Result<TableContent> content = decode(file, {nullptr, limit});
  if (!content) return content.error();
  return Table::make(*content);
}

bool is_expected(Status status) {
  return status == MORELLO_CORRUPT_TABLE || status == MORELLO_TABLE_TOO_LARGE;
}

/// Seconds per decoded byte of each step; 0 where a table is refused.
struct Speeds {
  double load = 0, content = 0, dump = 0, plot = 0, pairs = 0;
  bool loads = false;
};

Speeds measure(const Parts& parts) {
  const Sections sections = sections_of(parts);
  const Bytes file = file_of(identity_of(target()), sections);
  const double bytes = static_cast<double>(decoded_bytes(sections));
  const double work = bytes * std::log2(bytes);
  Speeds speeds;
  std::optional<Table> table;
  speeds.load = cost_of([&] {
                  Result<Table> loaded = load(file, ~u64{0});
                  if (loaded)
                    table.emplace(std::move(*loaded));
                  else
                    CHECK(is_expected(loaded.error().status));
                }).seconds /
                work;
  if (!table) return speeds;
  speeds.loads = true;
  TableContent content;
  speeds.content = cost_of([&] { content = table->content(); }).seconds / work;
  CHECK(check(content) == "");
  size_t text = 0;
  speeds.dump =
      cost_of([&] { text = dump_text(content).size() + dump_json(content).size(); }).seconds / work;
  CHECK(text > 0);
  Result<std::string> svg = std::string();
  speeds.plot = cost_of([&] { svg = plot(content, {}); }).seconds / work;
  if (svg) CHECK(svg->size() < (4 << 20));
  // Its promises are not kept; finding that out must not take long.
  speeds.pairs =
      cost_of([&] { static_cast<void>(decided_pairs(*table, target())); }).seconds / work;
  return speeds;
}

}  // namespace

TEST_SUITE("hostile") {
  TEST_CASE("time per decoded byte: loading, dumping, plotting, following") {
    const Speeds usual = measure(benign(scaled(20000)));
    REQUIRE(usual.loads);
    double worst = 0;
    for (const Hostile& hostile : hostile_tables()) {
      INFO(std::string(hostile.name));
      const Speeds speeds = measure(hostile.make(scaled(50000)));
      CHECK(speeds.loads == hostile.loads);
      const auto slow = [&](double seconds, double than) {
        worst = std::max(worst, seconds / than);
        return seconds / than;
      };
      CHECK(slow(speeds.load, usual.load) < kMostTimes);
      CHECK(slow(speeds.content, usual.load) < kMostTimes);
      CHECK(slow(speeds.dump, usual.dump) < kMostTimes);
      CHECK(slow(speeds.plot, usual.dump) < kMostTimes);
      CHECK(slow(speeds.pairs, usual.load) < kMostTimes);
    }
    MESSAGE("the worst step takes " << worst << " times as long per byte as a benign table's");
  }

  TEST_CASE("no more memory than allowed, and not refused long before that") {
    const u64 limits[] = {u64{1} << 20, u64{4} << 20, scaled(16) * u64{1} << 20};
    std::vector<Hostile> all = hostile_tables();
    all.push_back({"benign", true, benign});
    for (const Hostile& hostile : all) {
      INFO(std::string(hostile.name));
      const Bytes file = file_of(identity_of(target()), sections_of(hostile.make(scaled(30000))));
      const Cost unlimited = cost_of([&] { CHECK(load(file, ~u64{0}).ok() == hostile.loads); });
      for (const u64 limit : limits) {
        INFO(limit << " bytes allowed, " << unlimited.bytes << " taken without a limit");
        Status status = MORELLO_OK;
        const Cost cost = cost_of([&] {
          const Result<Table> table = load(file, limit);
          if (!table) status = table.error().status;
        });
        CHECK(cost.bytes <= limit + kSlack);
        if (limit > unlimited.bytes * 3 + kSlack) CHECK((status == MORELLO_OK) == hostile.loads);
        if (limit + kSlack < unlimited.bytes) CHECK(status == MORELLO_TABLE_TOO_LARGE);
      }
    }
  }

  TEST_CASE("what few bytes decompress to counts") {
    for (size_t s = 0; s < kSections; s++) {
      Sections sections = sections_of(benign(10));
      sections[s] = Bytes(size_t{64} << 20);
      sections[s][0] = 1;
      const Bytes file = file_of(identity_of(target()), sections);
      INFO(name_of(static_cast<Section>(s)) << ", a file of " << file.size() << " bytes");
      for (const u64 limit : {u64{1} << 20, u64{63} << 20}) {
        Status status = MORELLO_OK;
        const Cost cost = cost_of([&] { status = load(file, limit).error().status; });
        CHECK(status == MORELLO_TABLE_TOO_LARGE);
        CHECK(cost.bytes < kSlack);
      }
    }
  }

  TEST_CASE("look-ups take no longer however many boxes overlap") {
    const auto seconds = [](u32 n) {
      const Parts parts = hostile_tables()[8].make(n);
      REQUIRE(std::string(hostile_tables()[8].name) == "boxes that all overlap");
      const Result<Table> table = load(file_of(identity_of(target()), sections_of(parts)), ~u64{0});
      REQUIRE(table.ok());
      Spec spec = lower(*parse("matmul f32[8,8] f32[8,8] -> f32[8,8]"))->spec;
      spec.size = {n / 2, n / 2, 8};
      const Limits limits = limits_of(*fixed_target(Isa::kAvx2));
      double least = 1e9;
      for (int i = 0; i < 20; i++)
        least =
            std::min(least, cost_of([&] {
                              CHECK(table->agrees(spec, limits, {ActionKind::kTile, 0, {}, {}, 4}));
                            }).seconds);
      return least;
    };
    const double few = seconds(scaled(12000)), many = seconds(scaled(192000));
    MESSAGE("sixteen times as many boxes take " << many / few << " times as long");
    CHECK(many < few * 4);
  }

  TEST_CASE("boxes of points that never agree with their neighbours grow in bounded time") {
    const auto seconds_per_point = [](u32 n) {
      std::mt19937_64 random(1);
      std::vector<DecidedPoint> points(n);
      for (DecidedPoint& point : points) {
        for (u32& at : point.at) at = random() % 4;  // all 17 axes: 17 billion places
        point.action = {ActionKind::kTile, static_cast<u8>(random() % 3), {}, {}, 4};
      }
      size_t boxes = 0;
      const Cost cost = cost_of([&] { boxes = boxes_of(points).size(); });
      CHECK(boxes <= n);
      return cost.seconds / n;
    };
    const double few = seconds_per_point(scaled(500)), many = seconds_per_point(scaled(3000));
    MESSAGE("a point takes " << few * 1e6 << " us of 500, " << many * 1e6 << " us of 3000");
    CHECK(many < few * 2);
  }

  TEST_CASE("numbers of threads in the header have a range") {
    TableIdentity identity = identity_of(target());
    const Sections sections = sections_of(benign(3));
    for (const u32 threads : {1u, 1024u, 1025u, 1u << 31, ~0u, 0u}) {
      identity.processors = threads;
      const Result<TableContent> content = decode(file_of(identity, sections));
      const bool good = threads >= 1 && threads <= 1024;
      CHECK(content.ok() == good);
      if (good) continue;
      CHECK(content.error().status == MORELLO_CORRUPT_TABLE);
      CHECK(content.error().message.find("valid are 1 to 1024") != std::string::npos);
    }
  }

  TEST_CASE("mutated tables: bounded, and what loads is canonical") {
    constexpr u64 kLimit = u64{8} << 20;
    std::mt19937_64 random(seed());
    const double usual = measure(benign(20000)).load;
    u32 loaded = 0, refused = 0;
    for (u32 round = 0; round < scaled(600); round++) {
      const auto& all = hostile_tables();
      Parts start = round % 2 ? benign(1 + round % 40) : all[random() % all.size()].make(8);
      Sections sections = sections_of(start);
      for (u64 changes = 1 + random() % 4; changes > 0; changes--) mutate(sections, random, 20000);
      INFO("MORELLO_TEST_SEED=" << seed() << ", round " << round);
      const Bytes file = file_of(identity_of(target()), sections);
      std::optional<Result<Table>> table;
      const Cost cost = cost_of([&] { table.emplace(load(file, kLimit)); });
      const double bytes = static_cast<double>(decoded_bytes(sections)) + 20000;
      CHECK(cost.bytes <= kLimit + kSlack);
      CHECK(cost.seconds < kMostTimes * usual * bytes * std::log2(bytes) + 0.01);
      (*table ? loaded : refused)++;
      if (*table)
        CHECK(check((*table)->content()) == "");
      else
        CHECK(is_expected(table->error().status));
    }
    MESSAGE(loaded << " loaded, " << refused << " refused");
    CHECK(loaded > refused / 20);
    CHECK(refused > loaded / 20);
  }
}

}  // namespace morello
