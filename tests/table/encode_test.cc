// SPDX-License-Identifier: MIT
// Tables as bytes: there and back, and whatever may have happened to the bytes.
#include "table/encode.hh"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "../support/sanitized.hh"
#include "random_content.hh"
#include "table/check.hh"
#include "table/identity.hh"
#include "table/table.hh"

namespace morello {
namespace {

/// As long as it is short: for tests that decode it very often.
TableContent small_content() {
  std::mt19937_64 rng(5);
  TableContent content;
  while (content.promises.empty()) content = testing::random_content(rng, 2, 2);
  content.families = {"f32[4,4]"};
  content.identity = identity_of(*fixed_target(Isa::kAvx2));
  return content;
}

/// What decode() says, or "" and the content is `wanted`.
std::string said(const Bytes& bytes, const TableContent& wanted) {
  Result<TableContent> decoded = decode(bytes);
  if (decoded) return *decoded == wanted ? "" : "other content";
  CHECK(decoded.error().message != "");
  return decoded.error().message;
}

size_t memory_of(const TableContent& content) {
  size_t bytes = sizeof content + content.promises.size() * sizeof(Promise);
  for (const TableGroup& g : content.groups)
    bytes += sizeof g + g.bounds.size() * sizeof(u32) + g.actions.size() * sizeof(Action);
  return bytes;
}

/// Can the bytes be decoded in a process that gets only so much more memory than it has?
bool decodes_within(const Bytes& file, size_t more_bytes) {
  const pid_t child = fork();
  if (child == 0) {
    // Data, not address space: other arenas of malloc() have reserved some of that.
    size_t pages = 0;
    std::ifstream statm("/proc/self/statm");
    for (int field = 0; field < 6; field++) statm >> pages;
    rlimit limit = {};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (setrlimit(RLIMIT_DATA, &limit) != 0) _exit(1);
    // What others have freed would not count: first that is taken, of every arena, each of which
    // is asked in turn when one has no more.
    constexpr int kMostArenas = 256;
    for (size_t size = size_t{1} << 20; size >= 256; size /= 2)
      for (int failed = 0; failed < kMostArenas;) {
        void* volatile taken = std::malloc(size);
        if (taken == nullptr) failed++;
      }
    limit.rlim_cur += more_bytes;
    bool good = false;
    try {
      good = setrlimit(RLIMIT_DATA, &limit) == 0 && decode(file).ok();
    } catch (const std::bad_alloc&) {
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// The least of a few.
template <class F>
double seconds(F&& f) {
  double least = 1e9;
  for (int i = 0; i < 5; i++) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count());
  }
  return least;
}

bool is_refused(const Bytes& bytes, Status status = MORELLO_CORRUPT_TABLE) {
  const std::optional<Error> error =
      decode_parts(bytes, {}, [](TableContent) -> std::optional<Error> { return std::nullopt; });
  return error && error->status == status;
}

/// For as many numbers of threads, with content of their own.
std::vector<TableContent> some_parts(u32 count) {
  std::vector<TableContent> parts;
  std::mt19937_64 rng(count);
  for (u32 p = 1; p <= count; p++) {
    parts.push_back(testing::random_content(rng, p, 3));
    parts.back().identity = small_content().identity;
    parts.back().identity.processors = p;
  }
  return parts;
}

Bytes tail(const Bytes& bytes, size_t from) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end()};
}
Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_SUITE("table") {
  TEST_CASE("random contents to bytes and back, always the same bytes") {
    u64 seed = 2024;
    std::mt19937_64 rng(seed);
    for (int round = 0; round < 60; round++) {
      INFO("seed " << seed << ", round " << round);
      TableContent content = testing::random_content(rng, round % 12, round);
      REQUIRE(check(content) == "");
      Bytes bytes = encode(content);
      CHECK(said(bytes, content) == "");
      CHECK(encode(content) == bytes);
    }
    CHECK(said(encode(TableContent()), TableContent()) == "");
  }

  TEST_CASE("several parts in one file") {
    const std::vector<TableContent> parts = some_parts(3);
    const Bytes file = encode(parts);
    std::vector<TableContent> found;
    const TakePart take = [&](TableContent part) -> std::optional<Error> {
      found.push_back(std::move(part));
      return std::nullopt;
    };
    CHECK(!decode_parts(file, {}, take));
    CHECK(found == parts);
    CHECK(encode(std::vector<TableContent>{parts[0]}) == encode(parts[0]));
    CHECK(decode(file).error().status == MORELLO_INCOMPATIBLE_TABLE);  // which one?

    // Frames of files of other numbers of parts, in other orders, twice, or left out.
    const Bytes one = encode(parts[0]), two = encode(parts[1]);
    const Bytes pair = encode(std::vector<TableContent>{parts[0], parts[1]});
    const Bytes first(pair.begin(), pair.begin() + static_cast<std::ptrdiff_t>(one.size()));
    const Bytes second = tail(pair, one.size());
    REQUIRE(second.size() == two.size());
    for (const Bytes& wrong : {first, second, second + first, first + first, one + two, pair + two,
                               pair + second, first + two, tail(file, one.size())})
      CHECK(is_refused(wrong));
    CHECK(is_refused(join({two, one})));
    CHECK(is_refused(join({one, one})));
    CHECK(join({one, two}) == pair);
    CHECK(join({first}) == one);
  }

  TEST_CASE("the limit of memory is for all parts") {
    const std::vector<TableContent> parts = some_parts(2);
    const Bytes file = encode(parts);
    const TakePart take = [](TableContent) -> std::optional<Error> { return std::nullopt; };
    const auto least = [&](const Bytes& bytes) {
      u64 lo = 0, hi = u64{1} << 30;
      while (hi - lo > 1) {
        const u64 middle = (lo + hi) / 2;
        (decode_parts(bytes, {nullptr, middle}, take) ? lo : hi) = middle;
      }
      return hi;
    };
    CHECK(least(file) >= Table::bytes_to_make(parts[0]) + Table::bytes_to_make(parts[1]));
    CHECK(least(file) > least(encode(parts[1])));
  }

  TEST_CASE("a file that was cut anywhere, or that goes on, is refused") {
    for (Bytes bytes : {encode(small_content()), encode(some_parts(2))}) {
      for (size_t size = 0; size < bytes.size(); size++)
        CHECK(is_refused({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}));
      bytes.push_back(0);
      CHECK(is_refused(bytes));
    }
  }

  TEST_CASE("every single bit that flips is noticed") {
    const std::vector<TableContent> parts = {small_content()};
    std::vector<TableContent> two = {small_content(), small_content()};
    two[1].identity.processors = 2;
    std::vector<TableContent> quick = parts;
    quick[0].identity.effort = MORELLO_EFFORT_QUICK;
    for (const Bytes& bytes : {encode(parts), encode(two), encode(quick)}) {
      const size_t second = bytes == encode(quick) ? bytes.size() : encode(parts).size();
      for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
        Bytes flipped = bytes;
        flipped[bit / 8] ^= static_cast<u8>(1 << bit % 8);
        const size_t at = bit / 8 < second ? bit / 8 : bit / 8 - second;
        // The lowest bit makes the other known version of it, whose header is longer.
        const bool is_version = at >= 8 && at < 12 && !(at == 8 && bit % 8 == 0);
        INFO("bit " << bit);
        CHECK(is_refused(flipped, is_version ? MORELLO_INCOMPATIBLE_TABLE : MORELLO_CORRUPT_TABLE));
      }
    }
  }

  TEST_CASE("sections of another table are noticed") {
    std::mt19937_64 rng(7);
    TableContent one = small_content(), other = one;
    const Bytes a = encode(one);
    Bytes b;
    for (u32 size = 1; b.size() != a.size() || a == b; size++) {  // compressed as well as `one`
      REQUIRE(size < 100);
      other.groups[0].actions[0].size = size;
      b = encode(other);
    }
    REQUIRE(a.size() == b.size());
    REQUIRE(a != b);
    for (size_t at = 0; at < a.size(); at++) {
      Bytes spliced(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(at));
      spliced.insert(spliced.end(), b.begin() + static_cast<std::ptrdiff_t>(at), b.end());
      if (spliced != a && spliced != b) CHECK(is_refused(spliced));
    }
  }

  TEST_CASE("what is no table of this format says so") {
    TableContent content = small_content();
    CHECK(said({}, content) == "the file is empty");
    CHECK(said({'e', 'l', 'f'}, content) == "no table: the file does not begin as one");
    Bytes bytes = encode(content);
    bytes[8] = 8;
    CHECK(is_refused(bytes, MORELLO_INCOMPATIBLE_TABLE));
    CHECK(said(bytes, content) == "table format: file 8, wanted 6 or 7");
  }

  TEST_CASE("exact tables have the older format, those of quick searches say so in a newer one") {
    TableContent exact = small_content(), quick = exact;
    quick.identity.effort = MORELLO_EFFORT_QUICK;
    const Bytes old = encode(exact), bytes = encode(quick);
    CHECK(old[8] == 6);
    CHECK(bytes[8] == 7);
    CHECK(bytes.size() == old.size() + sizeof(u64));
    CHECK(said(bytes, quick) == "");
    for (size_t size : {size_t{271}, size_t{272}, size_t{279}})
      CHECK(is_refused(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))));

    const Bytes file = encode(std::vector<TableContent>{exact, quick});
    std::vector<TableContent> found;
    CHECK(!decode_parts(file, {}, [&](TableContent part) -> std::optional<Error> {
      found.push_back(std::move(part));
      return std::nullopt;
    }));
    CHECK(found == std::vector<TableContent>{exact, quick});
    CHECK(join({old, bytes}) == file);
    CHECK(is_refused(join({bytes, old})));

    Bytes other = bytes;
    other[264] = 1;
    CHECK(is_refused(other));  // its checksum
    quick.identity.effort = 3000;
    CHECK(said(encode(quick), quick) == "effort: file 3000, known 2000");
    CHECK(is_refused(encode(quick), MORELLO_INCOMPATIBLE_TABLE));
  }

  TEST_CASE("a table of another target, cost model or set of actions is refused by name") {
    TableContent content = small_content();
    const Bytes bytes = encode(content);
    auto refusal = [&](auto&& change) {
      TableIdentity wanted = content.identity;
      change(wanted);
      Result<TableContent> decoded = decode(bytes, {&wanted});
      if (decoded) return std::string();
      CHECK(decoded.error().status == MORELLO_INCOMPATIBLE_TABLE);
      return decoded.error().message;
    };
    auto names = [&](auto&& change, const std::string& what) {
      INFO(refusal(change));
      CHECK(refusal(change).find(what) != std::string::npos);
    };
    CHECK(refusal([](TableIdentity&) {}) == "");
    names([](TableIdentity& t) { t.target = "avx10"; }, "wanted avx10 (generic-x86-64)");
    names([](TableIdentity& t) { t.machine = "host"; }, "(host)");
    names([](TableIdentity& t) { t.target_fingerprint++; }, "target: avx2 (generic-x86-64) with");
    names([](TableIdentity& t) { t.processors = 999; }, "wanted 999");
    names([](TableIdentity& t) { t.cost_model_fingerprint++; }, "cost model");
    names([](TableIdentity& t) { t.action_fingerprint++; }, "actions");
    names([](TableIdentity& t) { t.effort = MORELLO_EFFORT_QUICK; }, "exact, wanted quick");
  }

  TEST_CASE("a table larger than allowed is refused") {
    std::mt19937_64 rng(3);
    TableContent content = testing::random_content(rng, 20, 50);
    const Bytes bytes = encode(content);
    REQUIRE(said(bytes, content) == "");
    u64 enough = 1;
    while (!decode(bytes, {nullptr, enough})) enough *= 2;
    CHECK(enough > bytes.size());
    CHECK(enough < 128 * bytes.size());
    for (u64 size = 1; size < enough; size += size / 8 + 1) {
      Result<TableContent> decoded = decode(bytes, {nullptr, size});
      if (size <= enough / 2) CHECK(!decoded);
      if (decoded) continue;
      CHECK(decoded.error().status == MORELLO_TABLE_TOO_LARGE);
      const std::string& message = decoded.error().message;
      CHECK(message.find("more than " + std::to_string(size) + " bytes") != message.npos);
      CHECK(message.find("morello_context_options.table_memory") != message.npos);
    }
  }

  TEST_CASE("decoding takes little more than decompressing, and twice the content's memory") {
    std::mt19937_64 rng(17);
    const TableContent content = testing::random_content(rng, 500, 1000);
    const Bytes bytes = encode(content);
    const size_t memory = memory_of(content);
    CHECK(memory > 3 << 20);
    if (!testing::kSanitized) {
      CHECK(decodes_within(bytes, 2 * memory));
      CHECK(!decodes_within(bytes, memory / 2));  // the limit is one
    }
    const double decoding = seconds([&] { REQUIRE(decode(bytes).ok()); });
    const double decompressing = seconds([&] {
      const Result<std::vector<Frame>> frames = read_frames(bytes);
      const Frame* frame = &frames->front();
      for (size_t s = 0; s < kSections; s++)
        REQUIRE(decompress(*frame, static_cast<Section>(s)).ok());
    });
    MESSAGE(memory << " bytes of content, " << bytes.size() << " of the file: decoded in "
                   << decoding / decompressing << " times the time of decompressing");
    const double indexing = seconds([&] { REQUIRE(Table::make(content).ok()); });
    const double mebibytes = static_cast<double>(memory) / (1 << 20);
    MESSAGE("per MiB: " << 1e3 * decoding / mebibytes << " ms to decode, "
                        << 1e3 * indexing / mebibytes << " ms to index");
    CHECK(decoding < 100 * decompressing);
  }
}

}  // namespace morello
