// SPDX-License-Identifier: MIT
// Tables as files and bytes, good and bad, through the C interface.
#include <fstream>
#include <functional>

#include "../support/folder.hh"
#include "tables.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

Failure fail_to_load(const Bytes& bytes, morello_context* context = nullptr) {
  const ContextPtr own = make_context();
  if (context == nullptr) context = own.get();
  return fail<morello_table>([&](morello_table** t, morello_error** e) {
    return morello_table_load_memory(context, bytes.data(), bytes.size(), t, e);
  });
}
Failure fail_to_load(const std::string& path) {
  const ContextPtr context = make_context();
  return fail<morello_table>([&](morello_table** t, morello_error** e) {
    return morello_table_load(context.get(), path.c_str(), t, e);
  });
}

std::string text(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

morello_status save(const TablePtr& table, const std::string& path) {
  return morello_table_save(table.get(), path.c_str(), nullptr);
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("NULL arguments of tables") {
  const Shop shop;
  morello_context* context = shop.context.get();
  const Bytes bytes = encode(content());
  const auto message =
      [](const std::function<morello_status(morello_table**, morello_error**)>& f) {
        const Failure failure = fail<morello_table>(f);
        CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
        return failure.message;
      };
  CHECK(contains(message([&](auto t, auto e) { return morello_table_load(nullptr, "x", t, e); }),
                 "`context`"));
  CHECK(
      contains(message([&](auto t, auto e) { return morello_table_load(context, nullptr, t, e); }),
               "`path`"));
  CHECK(contains(message([&](auto t, auto e) {
                   return morello_table_load_memory(nullptr, bytes.data(), bytes.size(), t, e);
                 }),
                 "`context`"));
  CHECK(contains(
      message([&](auto t, auto e) { return morello_table_load_memory(context, nullptr, 0, t, e); }),
      "`data`"));
  CHECK(contains(
      message([&](auto t, auto e) { return morello_table_merge(nullptr, shop.table.get(), t, e); }),
      "`a`"));
  CHECK(contains(
      message([&](auto t, auto e) { return morello_table_merge(shop.table.get(), nullptr, t, e); }),
      "`b`"));
  CHECK(morello_table_load(context, "x", nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_merge(shop.table.get(), shop.table.get(), nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_save(nullptr, "x", nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_save(shop.table.get(), nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_family(nullptr, 0) == nullptr);
  CHECK(morello_table_covers(nullptr, shop.spec(kMatmul).get()) == 0);
  CHECK(morello_table_covers(shop.table.get(), nullptr) == 0);
  CHECK(morello_table_retain(nullptr) == nullptr);
  morello_table_release(nullptr);
}

TEST_CASE("files: saved, loaded, and equal") {
  const Folder folder;
  const Shop shop;
  const std::string path = folder / "t.mtab";
  REQUIRE(save(shop.table, path) == MORELLO_OK);
  CHECK(bytes_of(path) == text(encode(content())));
  const TablePtr loaded = make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_load(shop.context.get(), path.c_str(), t, e);
  });
  CHECK(morello_table_covers(loaded.get(), shop.spec(kMatmul).get()) == 1);
  REQUIRE(save(loaded, path) == MORELLO_OK);
  CHECK(bytes_of(path) == text(encode(content())));
}

TEST_CASE("files that cannot be read or written") {
  const Folder folder;
  const Shop shop;
  CHECK(fail_to_load(folder / "missing").status == MORELLO_IO_ERROR);
  CHECK(contains(fail_to_load(folder / "missing").message, "missing"));
  CHECK(fail_to_load(folder / "").status == MORELLO_IO_ERROR);
  CHECK(save(shop.table, folder / "no/t.mtab") == MORELLO_IO_ERROR);
  CHECK(save(shop.table, folder / "") == MORELLO_IO_ERROR);
  CHECK(save(shop.table, "") == MORELLO_IO_ERROR);
  std::ofstream(folder / "empty");
  CHECK(fail_to_load(folder / "empty").status == MORELLO_CORRUPT_TABLE);
}

TEST_CASE("damaged bytes") {
  const Bytes good = encode(content());
  for (size_t size = 0; size < good.size(); size += 1 + size / 8) {
    CAPTURE(size);
    Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    if (size == 0) cut.reserve(1);  // a pointer to nothing, but no null
    CHECK(fail_to_load(cut).status == MORELLO_CORRUPT_TABLE);
  }
  for (size_t at = 0; at < good.size(); at += 7) {
    CAPTURE(at);
    Bytes flipped = good;
    flipped[at] = static_cast<u8>(flipped[at] ^ 1u << at % 8);
    const morello_status status = fail_to_load(flipped).status;
    CHECK((status == MORELLO_CORRUPT_TABLE || status == MORELLO_INCOMPATIBLE_TABLE));
  }
}

TEST_CASE("tables of another library") {
  const auto message = [](auto spoil) {
    TableContent other = content();
    spoil(other.identity);
    const Failure failure = fail_to_load(encode(other));
    CHECK(failure.status == MORELLO_INCOMPATIBLE_TABLE);
    return failure.message;
  };
  CHECK(contains(message([](TableIdentity& i) { i.cost_model_fingerprint++; }), "cost model"));
  CHECK(contains(message([](TableIdentity& i) { i.action_fingerprint++; }), "actions"));
  CHECK(contains(message([](TableIdentity& i) { i.target_fingerprint++; }), "target"));
  CHECK(contains(message([](TableIdentity& i) { i.target = "neon"; }), "neon"));
  CHECK(contains(message([](TableIdentity& i) { i.machine = "host"; }), "host"));
}

TEST_CASE("a table of other caches is for contexts that read the machine") {
  morello_cpu_info cpu;
  REQUIRE(morello_cpu_info_get(&cpu, sizeof(cpu)) == MORELLO_OK);
  if (cpu.l1_bytes == 0 && cpu.l2_bytes == 0) return;
  morello_context_options given;
  morello_context_options_init(&given, sizeof(given));
  given.read_machine = 1;
  const ContextPtr context = make<ContextPtr>(
      [&](morello_context** c, morello_error** e) { return morello_context_create(&given, c, e); });
  CHECK(fail_to_load(encode(content()), context.get()).status == MORELLO_INCOMPATIBLE_TABLE);
  TableContent host = content();
  host.identity =
      identity_of(with_machine(*fixed_target(Isa::kAvx2), cpu.l1_bytes, cpu.l2_bytes, 1));
  const TablePtr table = load(context.get(), encode(host));
  morello_table_info info;
  REQUIRE(morello_table_info_get(table.get(), &info, sizeof(info)) == MORELLO_OK);
  CHECK(std::string(info.machine) == "host");
}

TEST_CASE("the memory that a table takes has a limit, which the context sets") {
  const Bytes bytes = encode(content());
  const auto context_with = [](uint64_t table_memory, size_t struct_size) {
    morello_context_options given;
    morello_context_options_init(&given, sizeof(given));
    CHECK(given.table_memory == uint64_t{256} << 20);
    given.table_memory = table_memory;
    given.struct_size = struct_size;
    return make<ContextPtr>([&](morello_context** c, morello_error** e) {
      return morello_context_create(&given, c, e);
    });
  };
  constexpr size_t kNow = sizeof(morello_context_options), kBefore = 16;
  load(context_with(uint64_t{1} << 20, kNow).get(), bytes);
  load(context_with(0, kNow).get(), bytes);
  load(context_with(1000, kBefore).get(), bytes);  // a caller who has no such field

  const ContextPtr small = context_with(1000, kNow);
  const Failure failure = fail_to_load(bytes, small.get());
  CHECK(failure.status == MORELLO_TABLE_TOO_LARGE);
  CHECK(contains(failure.message, "more than 1000 bytes"));
  CHECK(contains(failure.message, "morello_context_options.table_memory"));

  const Folder folder;
  const std::string path = folder / "t.mtab";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  const auto precompute = [&](morello_context* context) {
    morello_precompute_options options;
    morello_precompute_options_init(&options, sizeof(options));
    options.target = MORELLO_ISA_AVX2;
    const char* family = kRelu;
    return morello_precompute(context, &family, 1, path.c_str(), &options, nullptr);
  };
  CHECK(precompute(small.get()) == MORELLO_TABLE_TOO_LARGE);
  CHECK(precompute(make_context().get()) == MORELLO_OK);
}

TEST_CASE("tables merge") {
  const Folder folder;
  const Shop a(content_for({kMatmul})), b(content_for({kRelu}));
  const auto merged = [&](const TablePtr& x, const TablePtr& y) {
    return make<TablePtr>([&](morello_table** t, morello_error** e) {
      return morello_table_merge(x.get(), y.get(), t, e);
    });
  };
  const TablePtr both = merged(a.table, b.table), other = merged(b.table, a.table);
  CHECK(morello_table_covers(both.get(), a.spec(kMatmul).get()) == 1);
  CHECK(morello_table_covers(both.get(), a.spec(kRelu).get()) == 1);
  CHECK(morello_table_covers(a.table.get(), a.spec(kRelu).get()) == 0);
  REQUIRE(save(both, folder / "1") == MORELLO_OK);
  REQUIRE(save(other, folder / "2") == MORELLO_OK);
  CHECK(bytes_of(folder / "1") == bytes_of(folder / "2"));
}

TEST_CASE("tables of several targets or numbers of threads merge into one of several parts") {
  const Folder folder;
  const Shop serial(content_for({kRelu})), parallel(content_for({kMatmul}, 2));
  const auto merged = [&](const TablePtr& x, const TablePtr& y) {
    return make<TablePtr>([&](morello_table** t, morello_error** e) {
      return morello_table_merge(x.get(), y.get(), t, e);
    });
  };
  const TablePtr both = merged(parallel.table, serial.table);
  const std::string path = folder / "both";
  REQUIRE(save(both, path) == MORELLO_OK);
  REQUIRE(save(merged(merged(serial.table, both), parallel.table), folder / "again") == MORELLO_OK);
  CHECK(bytes_of(path) == bytes_of(folder / "again"));
  const TablePtr loaded = make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_load(serial.context.get(), path.c_str(), t, e);
  });
  morello_table_info info;
  REQUIRE(morello_table_info_get(loaded.get(), &info, sizeof(info)) == MORELLO_OK);
  CHECK(info.parts == 2);
  CHECK(info.threads == 1);
  CHECK(info.families == 2);
  CHECK(info.points == 2);
  CHECK(std::string(morello_table_family(loaded.get(), 0)) == kRelu);
  CHECK(std::string(morello_table_family(loaded.get(), 1)) == kMatmul);
  CHECK(morello_table_family(loaded.get(), 2) == nullptr);
  morello_table_verification found;
  REQUIRE(morello_table_verify(loaded.get(), 5, 1, &found, sizeof(found), nullptr) == MORELLO_OK);
  CHECK(found.promised == 2);
  CHECK(found.failures == 0);

  // Each part answers for its own.
  const auto use = [&](const char* text, uint32_t threads) {
    morello_options options = serial.options();
    options.table = loaded.get();
    options.threads = threads;
    return stats_of(synthesize(serial.context.get(), serial.spec(text).get(), &options).get());
  };
  CHECK(use(kRelu, 1).table_use == MORELLO_TABLE_ANSWERED);
  CHECK(use(kMatmul, 2).table_use == MORELLO_TABLE_ANSWERED);
  CHECK(use(kMatmul, 1).table_reason == MORELLO_TABLE_REASON_SPEC);
  CHECK(use(kMatmul, 3).table_reason == MORELLO_TABLE_REASON_THREADS);
  CHECK(morello_table_covers(loaded.get(), serial.spec(kMatmul).get()) == 1);

  const TablePtr part = make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_part(loaded.get(), 1, t, e);
  });
  CHECK(morello_table_covers(part.get(), serial.spec(kRelu).get()) == 0);
  CHECK(morello_table_covers(part.get(), serial.spec(kMatmul).get()) == 1);
  const auto bytes_in = [&](const TablePtr& t, const char* name) {
    REQUIRE(save(t, folder / name) == MORELLO_OK);
    return bytes_of(folder / name);
  };
  CHECK(bytes_in(part, "part") == bytes_in(parallel.table, "parallel"));
  const Failure failure = fail<morello_table>([&](morello_table** t, morello_error** e) {
    return morello_table_part(loaded.get(), 2, t, e);
  });
  CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(failure.message, "2 parts"));
  size_t length = 0;
  CHECK(morello_table_plot(loaded.get(), -1, nullptr, nullptr, nullptr, 0, &length, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
}

TEST_SUITE_END();

}  // namespace morello::testing
