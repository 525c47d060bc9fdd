// SPDX-License-Identifier: MIT
// Tables through the C interface: files and bytes, good and bad, and kernels made from them.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "../table/solved_family.hh"
#include "buffers.hh"
#include "table/encode.hh"
#include "table/identity.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMatmul = "matmul f32[16,24] f32[24,32] -> f32[16,32]";
constexpr const char* kRelu = "relu f32[100] -> f32[100]";
constexpr const char* kFree = "matmul f32[16,24] f32[24,40]{*} -> f32[16,40]";
constexpr const char* kOther = "matmul f32[17,24] f32[24,32] -> f32[17,32]";

/// A table on AVX2 that covers these Specs.
TableContent content_for(const std::vector<std::string>& texts, uint32_t threads = 1) {
  const SolvedFamily family = solve(texts, threads);
  TableBuilder builder(identity_of(family.target));
  add(family, builder);
  for (const std::string& text : texts) builder.add_family(text);
  return builder.build()->content();
}
const TableContent& content() {
  static const TableContent made = content_for({kMatmul, kRelu, kFree});
  return made;
}

TablePtr load(morello_context* context, const Bytes& bytes) {
  return make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_load_memory(context, bytes.data(), bytes.size(), t, e);
  });
}
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

/// A context, a table in it, and kernels with and without the table.
struct Shop {
  ContextPtr context = make_context();
  TablePtr table;
  explicit Shop(const TableContent& c = content()) : table(load(context.get(), encode(c))) {}

  morello_options options() const {
    morello_options o = default_options();
    o.target = MORELLO_ISA_AVX2;
    o.search_only = 1;
    o.table = table.get();
    return o;
  }
  SpecPtr spec(const char* text) const { return parse_spec(context.get(), text); }
  KernelPtr searched(const char* text) const {
    morello_options o = options();
    o.table = nullptr;
    return synthesize(context.get(), spec(text).get(), &o);
  }
  KernelPtr looked_up(const char* text) const {
    const morello_options o = options();
    return synthesize(context.get(), spec(text).get(), &o);
  }
  Failure refused(const morello_options& o) const {
    const SpecPtr s = spec(kMatmul);
    return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
      return morello_synthesize(context.get(), s.get(), &o, k, e);
    });
  }
};

std::string impl_of(const KernelPtr& kernel) { return text_of(morello_kernel_print, kernel.get()); }

/// A folder that goes away.
struct Folder {
  std::string path = (fs::temp_directory_path() / "morello-capi-XXXXXX").string();
  Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
};

Bytes bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

morello_status save(const TablePtr& table, const std::string& path) {
  return morello_table_save(table.get(), path.c_str(), nullptr);
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a covered Spec needs no search") {
  const Shop shop;
  for (const char* text : {kMatmul, kRelu, kFree}) {
    INFO(std::string(text));
    CHECK(morello_table_covers(shop.table.get(), shop.spec(text).get()) == 1);
    const KernelPtr found = shop.looked_up(text), searched = shop.searched(text);
    CHECK(impl_of(found) == impl_of(searched));
    CHECK(morello_kernel_cost(found.get()) == morello_kernel_cost(searched.get()));
    const morello_search_stats stats = stats_of(found.get());
    CHECK(stats.table_use == MORELLO_TABLE_ANSWERED);
    CHECK(stats.table_reason == MORELLO_TABLE_REASON_NONE);
    CHECK(stats.lookup_nanoseconds > 0);
    CHECK(stats.search_nanoseconds == 0);
    CHECK(stats.states == 0);
    CHECK(stats.optimal == 1);
    CHECK(stats.lower_bound == morello_kernel_cost(found.get()));
    CHECK(stats_of(searched.get()).table_use == MORELLO_TABLE_NONE);
  }
}

TEST_CASE("kernels from a table compute what their Specs say") {
  morello_cpu_info info;
  REQUIRE(morello_cpu_info_get(&info, sizeof(info)) == MORELLO_OK);
  REQUIRE_MESSAGE(info.isa != MORELLO_ISA_AUTO, "no kernel can run here");
  REQUIRE_MESSAGE(info.jit == 1, "no kernel can run here");
  const Shop shop;
  morello_options options = shop.options();
  options.search_only = 0;
  for (const char* text : {kMatmul, kRelu, kFree}) {
    const SpecPtr spec = shop.spec(text);
    const KernelPtr kernel = synthesize(shop.context.get(), spec.get(), &options);
    Buffers buffers(spec.get(), kernel.get(), 1);
    CHECK(morello_kernel_run(kernel.get(), buffers.operands(), nullptr, nullptr) == MORELLO_OK);
    CHECK(buffers.error() <= 1e-4f);
    CHECK(stats_of(kernel.get()).table_use == MORELLO_TABLE_ANSWERED);
  }
}

TEST_CASE("a Spec that is not covered is searched for") {
  const Shop shop;
  CHECK(morello_table_covers(shop.table.get(), shop.spec(kOther).get()) == 0);
  const KernelPtr kernel = shop.looked_up(kOther);
  CHECK(impl_of(kernel) == impl_of(shop.searched(kOther)));
  const morello_search_stats stats = stats_of(kernel.get());
  CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
  CHECK(stats.table_reason == MORELLO_TABLE_REASON_SPEC);
  CHECK(stats.search_nanoseconds > 0);
}

TEST_CASE(
    "a table of another number of threads or target covers nothing, and the kernel says why") {
  const Shop shop;
  const SpecPtr spec = shop.spec(kMatmul);
  const auto check = [&](const morello_options& options, morello_table_reason reason) {
    morello_options alone = options;
    alone.table = nullptr;
    const KernelPtr kernel = synthesize(shop.context.get(), spec.get(), &options);
    CHECK(impl_of(kernel) == impl_of(synthesize(shop.context.get(), spec.get(), &alone)));
    const morello_search_stats stats = stats_of(kernel.get());
    CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
    CHECK(stats.table_reason == reason);
    CHECK(stats.search_nanoseconds > 0);
  };
  morello_options options = shop.options();
  options.threads = 2;
  check(options, MORELLO_TABLE_REASON_THREADS);
  if (!includes(*cap_from_environment(), fixed_target(Isa::kAvx512)->required)) return;
  options.target = MORELLO_ISA_AVX512;
  check(options, MORELLO_TABLE_REASON_TARGET);
  options.threads = 1;
  check(options, MORELLO_TABLE_REASON_TARGET);
}

TEST_CASE("callers of older headers get the statistics and options that they know") {
  const Shop shop;
  const KernelPtr kernel = shop.looked_up(kOther);
  const size_t older = offsetof(morello_search_stats, table_reason);
  morello_search_stats stats;
  std::memset(&stats, 0x55, sizeof(stats));
  REQUIRE(morello_kernel_stats(kernel.get(), &stats, older) == MORELLO_OK);
  CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
  CHECK(stats.table_reason == 0x55555555);
  morello_options options = shop.options();
  options.threads = 2;
  options.struct_size = offsetof(morello_options, strict_table);
  options.strict_table = 77;  // not the caller's: garbage
  CHECK(stats_of(synthesize(shop.context.get(), shop.spec(kMatmul).get(), &options).get())
            .table_reason == MORELLO_TABLE_REASON_THREADS);
}

TEST_CASE("wrong decisions are found, and searched around") {
  TableContent wrong = content();
  for (TableGroup& group : wrong.groups)
    for (Action& action : group.actions) action = wrong.groups[0].actions[0];
  const Shop shop(wrong);
  for (const char* text : {kMatmul, kFree}) {
    CHECK(morello_table_covers(shop.table.get(), shop.spec(text).get()) == 0);
    const KernelPtr kernel = shop.looked_up(text);
    CHECK(impl_of(kernel) == impl_of(shop.searched(text)));
    CHECK(stats_of(kernel.get()).table_use == MORELLO_TABLE_WRONG);
  }
}

TEST_CASE("tables say what they are") {
  const Shop shop;
  morello_table_info info;
  std::memset(&info, 0xff, sizeof(info));
  REQUIRE(morello_table_info_get(shop.table.get(), &info, sizeof(info)) == MORELLO_OK);
  CHECK(info.struct_size == sizeof(info));
  CHECK(info.target == MORELLO_ISA_AVX2);
  CHECK(info.threads == 1);
  CHECK(std::string(info.machine) == "generic-x86-64");
  CHECK(info.families == 3);
  CHECK(info.points == 3);
  CHECK(info.groups > 0);
  CHECK(info.boxes >= info.groups);
  CHECK(info.bytes > 0);
  CHECK(std::string(morello_table_family(shop.table.get(), 0)) == kMatmul);
  CHECK(morello_table_family(shop.table.get(), 3) == nullptr);
  CHECK(morello_table_family(shop.table.get(), UINT64_MAX) == nullptr);
  CHECK(morello_table_info_get(shop.table.get(), &info, sizeof(info) - 1) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_info_get(shop.table.get(), nullptr, sizeof(info)) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_info_get(nullptr, &info, sizeof(info)) == MORELLO_INVALID_ARGUMENT);
}

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
  CHECK(bytes_of(path) == encode(content()));
  const TablePtr loaded = make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_load(shop.context.get(), path.c_str(), t, e);
  });
  CHECK(morello_table_covers(loaded.get(), shop.spec(kMatmul).get()) == 1);
  REQUIRE(save(loaded, path) == MORELLO_OK);
  CHECK(bytes_of(path) == encode(content()));
}

TEST_CASE("files that cannot be read or written") {
  const Folder folder;
  const Shop shop;
  CHECK(fail_to_load(folder / "missing").status == MORELLO_IO_ERROR);
  CHECK(contains(fail_to_load(folder / "missing").message, "missing"));
  CHECK(fail_to_load(folder.path).status == MORELLO_IO_ERROR);
  CHECK(save(shop.table, folder / "no/t.mtab") == MORELLO_IO_ERROR);
  CHECK(save(shop.table, folder.path) == MORELLO_IO_ERROR);
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

TEST_CASE("with strict_table, a table is refused for kernels that it is not of") {
  const Shop shop;
  morello_options options = shop.options();
  options.strict_table = 1;
  CHECK(morello_kernel_cost(
            synthesize(shop.context.get(), shop.spec(kOther).get(), &options).get()) > 0);
  options.threads = 2;
  const Failure threads = shop.refused(options);
  CHECK(threads.status == MORELLO_INCOMPATIBLE_TABLE);
  CHECK(contains(threads.message, "threads"));
  if (!includes(*cap_from_environment(), fixed_target(Isa::kAvx512)->required)) return;
  options.threads = 1;
  options.target = MORELLO_ISA_AVX512;
  const Failure target = shop.refused(options);
  CHECK(target.status == MORELLO_INCOMPATIBLE_TABLE);
  CHECK(contains(target.message, "avx512"));
  CHECK(contains(target.message, "options.target"));
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

  const Shop parallel(content_for({kRelu}, 2));
  const Failure failure = fail<morello_table>([&](morello_table** t, morello_error** e) {
    return morello_table_merge(a.table.get(), parallel.table.get(), t, e);
  });
  CHECK(failure.status == MORELLO_INCOMPATIBLE_TABLE);
  CHECK(contains(failure.message, "threads"));
}

TEST_CASE("tables are verified, dumped and plotted") {
  const Shop shop;
  const morello_table* table = shop.table.get();
  morello_table_verification found;
  REQUIRE(morello_table_verify(table, 2, 1, &found, sizeof(found), nullptr) == MORELLO_OK);
  CHECK(found.struct_size == sizeof(found));
  CHECK(found.promised == 3);
  CHECK(found.searched == 2);
  CHECK(found.pairs > 3);
  CHECK(found.failures == 0);
  CHECK(std::string(found.failure) == "");
  TableContent wrong = content();
  for (TableGroup& group : wrong.groups) group.actions[0] = {ActionKind::kSelect, 77, {}, {}, 0};
  const Shop bad(wrong);
  REQUIRE(morello_table_verify(bad.table.get(), 0, 1, &found, sizeof(found), nullptr) ==
          MORELLO_OK);
  CHECK(found.failures == 1);
  CHECK(contains(found.failure, "wrong decision"));

  for (int json : {0, 1}) {
    std::string text(morello_table_dump(table, json, nullptr, 0), '\0');
    CHECK(morello_table_dump(table, json, text.data(), text.size() + 1) == text.size());
    CHECK(contains(text, kMatmul));
    CHECK(text.back() == '\n');
  }
  CHECK(morello_table_dump(nullptr, 0, nullptr, 0) == 0);

  size_t length = 0;
  REQUIRE(morello_table_plot(table, -1, nullptr, nullptr, nullptr, 0, &length, nullptr) ==
          MORELLO_OK);
  std::string svg(length, '\0');
  REQUIRE(morello_table_plot(table, -1, nullptr, nullptr, svg.data(), length + 1, &length,
                             nullptr) == MORELLO_OK);
  CHECK(svg.starts_with("<svg "));
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("what cannot be verified or plotted") {
  const Shop shop;
  const morello_table* table = shop.table.get();
  morello_table_verification found;
  CHECK(morello_table_verify(nullptr, 1, 1, &found, sizeof(found), nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_verify(table, 1, 1, nullptr, sizeof(found), nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_verify(table, 1, 1, &found, 8, nullptr) == MORELLO_INVALID_ARGUMENT);
  const auto plot = [](const morello_table* t, int64_t group, const char* x) {
    size_t length = 77;
    const morello_status status =
        morello_table_plot(t, group, x, nullptr, nullptr, 0, &length, nullptr);
    CHECK((status == MORELLO_OK) == (length != 77));
    return status;
  };
  CHECK(plot(table, 0, "L1") == MORELLO_OK);
  CHECK(plot(table, 0, "no axis") == MORELLO_INVALID_ARGUMENT);
  CHECK(plot(table, 1 << 20, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(plot(table, -2, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(plot(nullptr, -1, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_plot(table, -1, nullptr, nullptr, nullptr, 0, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
}

TEST_CASE("threads share a table") {
  const Shop shop;
  const KernelPtr expected = shop.searched(kMatmul);
  std::vector<std::string> found(4);
  std::vector<std::thread> threads;
  for (std::string& text : found)
    threads.emplace_back([&text, table = TablePtr(morello_table_retain(shop.table.get()))] {
      // Nothing of doctest here: it is for one thread.
      morello_context* context = nullptr;
      morello_spec* spec = nullptr;
      morello_options options = default_options();
      options.target = MORELLO_ISA_AVX2;
      options.search_only = 1;
      options.table = table.get();
      if (morello_context_create(nullptr, &context, nullptr) != MORELLO_OK) return;
      const ContextPtr own_context(context);
      if (morello_spec_parse(context, kMatmul, &spec, nullptr) != MORELLO_OK) return;
      const SpecPtr own_spec(spec);
      for (int i = 0; i < 20; i++) {
        morello_kernel* kernel = nullptr;
        if (morello_table_covers(table.get(), spec) != 1) return;
        if (morello_synthesize(context, spec, &options, &kernel, nullptr) != MORELLO_OK) return;
        text = text_of(morello_kernel_print, static_cast<const morello_kernel*>(kernel));
        morello_kernel_release(kernel);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : found) CHECK(text == impl_of(expected));
}

TEST_CASE("a program that a table guesses is better than none") {
  // Decided, but not promised: the table of a larger family without its promises.
  TableContent guesses = content();
  guesses.promises.clear();
  const Shop shop(guesses);
  CHECK(morello_table_covers(shop.table.get(), shop.spec(kMatmul).get()) == 0);
  morello_options options = shop.options();
  options.time_budget = 1;
  const KernelPtr kernel = synthesize(shop.context.get(), shop.spec(kMatmul).get(), &options);
  const morello_search_stats stats = stats_of(kernel.get());
  CHECK(stats.table_use == MORELLO_TABLE_NOT_COVERED);
  CHECK(morello_kernel_cost(kernel.get()) == morello_kernel_cost(shop.searched(kMatmul).get()));
}

TEST_SUITE_END();

}  // namespace morello::testing
