// SPDX-License-Identifier: MIT
// Tables from families, and looking into them, through the C interface.
#include "../support/folder.hh"
#include "handles.hh"

namespace morello::testing {
namespace {

constexpr const char* kMatmuls = "matmul f32[<=8,<=6] f32[<=6,<=4]";
constexpr const char* kRelus = "relu f32[<=16,3]{strides=5,1}";

morello_precompute_options avx2() {
  morello_precompute_options options;
  morello_precompute_options_init(&options, sizeof(options));
  options.target = MORELLO_ISA_AVX2;
  return options;
}

morello_status precompute(const std::vector<const char*>& families, const std::string& path,
                          const morello_precompute_options& options, morello_error** err) {
  const ContextPtr context = make_context();
  return morello_precompute(context.get(), families.data(), families.size(), path.c_str(), &options,
                            err);
}

Failure refused(const std::vector<const char*>& families,
                const morello_precompute_options& options) {
  Folder folder;
  return fail<char>([&](char**, morello_error** e) {
    return precompute(families, folder / "t.mtab", options, e);
  });
}

TablePtr load(const std::string& path) {
  const ContextPtr context = make_context();
  return make<TablePtr>([&](morello_table** t, morello_error** e) {
    return morello_table_load(context.get(), path.c_str(), t, e);
  });
}

TablePtr table_of(const std::vector<const char*>& families) {
  Folder folder;
  REQUIRE(precompute(families, folder / "t.mtab", avx2(), nullptr) == MORELLO_OK);
  return load(folder / "t.mtab");
}

uint64_t coverage(const TablePtr& table, const char* family) {
  uint64_t members = 0, covered = 0;
  REQUIRE(morello_table_coverage(table.get(), family, &members, &covered, nullptr) == MORELLO_OK);
  CHECK(covered <= members);
  return covered;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("precompute options have the defaults that the header documents") {
  morello_precompute_options options;
  morello_precompute_options_init(&options, sizeof(options));
  CHECK(options.target == MORELLO_ISA_AUTO);
  CHECK(options.threads == 1);
  CHECK(options.workers == 0);
  CHECK(options.part == 0);
  CHECK(options.parts == 1);
  CHECK(options.save_interval == 2000);
  CHECK(options.progress_interval == 100);
  CHECK(options.memory_budget == uint64_t{4} << 30);
  CHECK(options.effort == MORELLO_EFFORT_EXACT);
}

TEST_CASE("families are precomputed into a file") {
  Folder folder;
  const std::string path = folder / "t.mtab";
  morello_precompute_options options = avx2();
  options.workers = 2;
  options.progress_interval = 1;
  morello_precompute_progress last{};
  options.progress_user = &last;
  options.progress = [](void* user, const morello_precompute_progress* p) {
    auto& seen = *static_cast<morello_precompute_progress*>(user);
    CHECK(p->struct_size == sizeof(*p));
    CHECK(p->done >= seen.done);
    CHECK(p->done <= p->members);
    seen = *p;
  };
  morello_error* err = nullptr;
  REQUIRE(precompute({kMatmuls, kRelus}, path, options, &err) == MORELLO_OK);
  CHECK(err == nullptr);
  CHECK(last.members == 8 * 6 * 4 + 16);
  CHECK(last.done == last.members);
  CHECK(last.saved == last.members);
  CHECK(last.pairs > last.members);
  CHECK(last.remaining == 0);

  const TablePtr table = load(path);
  CHECK(std::string(morello_table_family(table.get(), 0)) == kMatmuls);
  CHECK(std::string(morello_table_family(table.get(), 1)) == kRelus);
  CHECK(coverage(table, kMatmuls) == 8 * 6 * 4);
  CHECK(coverage(table, kRelus) == 16);
  CHECK(coverage(table, "matmul f32[<=16,<=6] f32[<=6,4]") == 8 * 6);
  CHECK(coverage(table, "matmul f32[8,6] f32[6,4]") == 1);
  CHECK(coverage(table, "relu f32[<=2,<=2]") == 0);

  morello_table_verification found;
  REQUIRE(morello_table_verify(table.get(), 20, 3, &found, sizeof(found), nullptr) == MORELLO_OK);
  CHECK(found.failures == 0);
  CHECK(found.pairs == last.pairs);

  const std::string bytes = bytes_of(path);
  last = {};
  REQUIRE(precompute({kRelus, kMatmuls}, path, options, nullptr) == MORELLO_OK);
  CHECK(last.found == last.members);
  CHECK(bytes_of(path) == bytes);
}

TEST_CASE("tables of quick searches answer those, and nothing that asks for more") {
  constexpr const char* kFamily = "matmul f32[<=24,<=16] f32[<=16,<=32]";
  constexpr const char* kMember = "matmul f32[24,16] f32[16,24]";
  Folder folder;
  const std::string path = folder / "t.mtab", other = folder / "other.mtab";
  morello_precompute_options quick = avx2();
  quick.effort = MORELLO_EFFORT_QUICK;
  quick.workers = 1;
  REQUIRE(precompute({kFamily}, path, quick, nullptr) == MORELLO_OK);
  quick.workers = 2;
  REQUIRE(precompute({"matmul f32[<=24,<=4] f32[<=4,<=32]"}, other, quick, nullptr) == MORELLO_OK);
  REQUIRE(precompute({kFamily}, other, quick, nullptr) == MORELLO_OK);
  const TablePtr table = load(path);
  morello_table_info info;
  REQUIRE(morello_table_info_get(table.get(), &info, sizeof info) == MORELLO_OK);
  CHECK(info.effort == MORELLO_EFFORT_QUICK);
  CHECK(coverage(table, kFamily) == coverage(load(other), kFamily));
  CHECK(coverage(table, kMember) == 1);
  morello_table_verification verified;
  REQUIRE(morello_table_verify(table.get(), 30, 1, &verified, sizeof(verified), nullptr) ==
          MORELLO_OK);
  CHECK_MESSAGE(verified.failures == 0, std::string(verified.failure));

  const ContextPtr context = make_context();
  const SpecPtr spec = parse_spec(context.get(), kMember);
  struct Got {
    double cost;
    morello_search_stats stats;
  };
  const auto synthesize = [&](const morello_table* asked, uint64_t effort) {
    morello_options options;
    morello_options_init(&options, sizeof options);
    options.target = MORELLO_ISA_AVX2;
    options.search_only = 1;
    options.table = asked;
    options.effort = effort;
    const KernelPtr kernel = make<KernelPtr>([&](morello_kernel** k, morello_error** e) {
      return morello_synthesize(context.get(), spec.get(), &options, k, e);
    });
    Got got{morello_kernel_cost(kernel.get()), {}};
    REQUIRE(morello_kernel_stats_get(kernel.get(), &got.stats, sizeof got.stats) == MORELLO_OK);
    return got;
  };
  const Got without = synthesize(nullptr, MORELLO_EFFORT_QUICK);
  for (uint64_t effort : {uint64_t{1}, uint64_t{MORELLO_EFFORT_QUICK}}) {
    const Got answered = synthesize(table.get(), effort);
    CHECK(answered.stats.table_use == MORELLO_TABLE_ANSWERED);
    CHECK(answered.stats.expanded == 0);
    CHECK(answered.stats.optimal == 0);
    CHECK(answered.stats.lower_bound <= without.cost);
    CHECK(answered.cost <= 1.05 * without.cost);
  }
  const Got exact = synthesize(table.get(), MORELLO_EFFORT_EXACT);
  CHECK(exact.stats.optimal == 1);
  CHECK(exact.cost <= without.cost);
  CHECK(exact.stats.table_use == MORELLO_TABLE_NOT_COVERED);
  CHECK(exact.stats.table_reason == MORELLO_TABLE_REASON_EFFORT);
  CHECK(synthesize(table.get(), 2 * MORELLO_EFFORT_QUICK).stats.table_use !=
        MORELLO_TABLE_ANSWERED);

  // With an exact part in the same file, that answers all.
  REQUIRE(precompute({kMember}, path, avx2(), nullptr) == MORELLO_OK);
  const TablePtr both = load(path);
  REQUIRE(morello_table_info_get(both.get(), &info, sizeof info) == MORELLO_OK);
  CHECK(info.parts == 2);
  CHECK(info.effort == MORELLO_EFFORT_EXACT);
  for (uint64_t effort : {uint64_t{MORELLO_EFFORT_EXACT}, uint64_t{MORELLO_EFFORT_QUICK}}) {
    const Got answered = synthesize(both.get(), effort);
    CHECK(answered.stats.table_use == MORELLO_TABLE_ANSWERED);
    CHECK(answered.stats.optimal == 1);
    CHECK(answered.cost == exact.cost);
  }
}

TEST_CASE("a precompute that is cancelled says so") {
  Folder folder;
  const int32_t cancel = 1;
  morello_precompute_options options = avx2();
  options.cancel = &cancel;
  const Failure failure = refused({kMatmuls}, options);
  CHECK(failure.status == MORELLO_CANCELLED);
}

TEST_CASE("families are precomputed into memory: the bytes of the file") {
  Folder folder;
  const std::string path = folder / "t.mtab";
  REQUIRE(precompute({kMatmuls, kRelus}, path, avx2(), nullptr) == MORELLO_OK);
  const std::string expected = bytes_of(path);
  const ContextPtr context = make_context();
  const auto in_memory = [&](std::vector<const char*> families, const morello_table* known,
                             const morello_precompute_options& options) {
    return [=, context = context.get()](morello_table** t, morello_error** e) {
      return morello_precompute_table(context, families.data(), families.size(), known, &options, t,
                                      e);
    };
  };
  const auto saved = [](const TablePtr& table) {
    size_t length = 0;
    REQUIRE(morello_table_save_memory(table.get(), nullptr, 0, &length, nullptr) == MORELLO_OK);
    std::string bytes(length + 1, '?');
    REQUIRE(morello_table_save_memory(table.get(), bytes.data(), length, &length, nullptr) ==
            MORELLO_OK);
    CHECK(bytes.back() == '?');
    bytes.pop_back();
    return bytes;
  };
  const TablePtr relus = make<TablePtr>(in_memory({kRelus}, nullptr, avx2()));
  CHECK(coverage(relus, kRelus) == 16);
  CHECK(saved(relus) != expected);
  morello_precompute_options hurried = avx2();
  hurried.save_interval = 0;
  hurried.progress_interval = 0;
  const TablePtr both = make<TablePtr>(in_memory({kMatmuls, kRelus}, relus.get(), hurried));
  CHECK(saved(both) == expected);
  CHECK(coverage(relus, kMatmuls) == 0);

  const int32_t cancel = 1;
  hurried.cancel = &cancel;
  CHECK(fail<morello_table>(in_memory({kMatmuls}, nullptr, hurried)).status == MORELLO_CANCELLED);
  morello_precompute_options other = avx2();
  other.threads = 2;
  const TablePtr two = make<TablePtr>(in_memory({kMatmuls}, relus.get(), other));
  morello_table_info info;
  REQUIRE(morello_table_info_get(two.get(), &info, sizeof info) == MORELLO_OK);
  CHECK(info.parts == 2);
  CHECK(info.families == 2);
  CHECK(coverage(two, kRelus) == 16);
  CHECK(fail<morello_table>(in_memory({nullptr}, nullptr, avx2())).status ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_precompute_table(context.get(), nullptr, 1, nullptr, nullptr, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  size_t length = 7;
  CHECK(morello_table_save_memory(nullptr, nullptr, 0, &length, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_save_memory(relus.get(), nullptr, 1, &length, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_table_save_memory(relus.get(), nullptr, 0, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(length == 7);
}

TEST_CASE("bad families and options of a precompute") {
  const Failure syntax = refused({kMatmuls, "relu f32[<=]"}, avx2());
  CHECK(syntax.status == MORELLO_SYNTAX_ERROR);
  CHECK(syntax.line == 1);
  CHECK(syntax.column == 10);
  CHECK(refused({nullptr}, avx2()).status == MORELLO_INVALID_ARGUMENT);
  auto invalid = [](auto&& change) {
    morello_precompute_options options = avx2();
    change(options);
    const Failure failure = refused({kRelus}, options);
    CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
    return failure.message;
  };
  using Options = morello_precompute_options;
  CHECK(contains(invalid([](Options& o) { o.target = 9; }), "options.target is 9"));
  CHECK(contains(invalid([](Options& o) { o.threads = 0; }), "1 to 1024"));
  CHECK(contains(invalid([](Options& o) { o.workers = 2000; }), "to 1024"));
  CHECK(contains(invalid([](Options& o) { o.parts = 0; }), "options.parts is 0"));
  CHECK(contains(invalid([](Options& o) { o.part = o.parts = 3; }), "0 to 2"));
  CHECK(contains(invalid([](Options& o) { o.effort = 1; }), "options.effort is 1"));
  invalid([](Options& o) { o.struct_size = 8; });
  morello_precompute_options_init(nullptr, 0);

  const TablePtr table = table_of({"relu f32[4]"});
  uint64_t members = 5;
  CHECK(morello_table_coverage(table.get(), "relu f32[<=1]", &members, nullptr, nullptr) ==
        MORELLO_INVALID_SHAPE);
  CHECK(members == 5);
  CHECK(morello_table_coverage(table.get(), nullptr, &members, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
}

TEST_SUITE_END();

}  // namespace morello::testing
