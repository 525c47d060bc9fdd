// SPDX-License-Identifier: MIT
// Statuses, versions, growing structs, contexts, this machine, and the guard at the boundary.
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "capi/boundary.hh"
#include "handles.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

/// A struct as a caller compiled against a newer header would have it.
template <class T>
struct Newer {
  T known;
  char unknown[24] = {};
};

void set_environment(const char* value) {
  if (value != nullptr) setenv("MORELLO_MAX_ISA", value, 1);
  if (value == nullptr) unsetenv("MORELLO_MAX_ISA");
}

morello_status create_with(const morello_context_options* options) {
  morello_context* context = nullptr;
  const morello_status status = morello_context_create(options, &context, nullptr);
  morello_context_release(context);
  return status;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("every status has its own name, and its number stays") {
  const char* const names[] = {"MORELLO_OK",
                               "MORELLO_INVALID_ARGUMENT",
                               "MORELLO_SYNTAX_ERROR",
                               "MORELLO_INVALID_SHAPE",
                               "MORELLO_SIZE_OVERFLOW",
                               "MORELLO_UNKNOWN_DTYPE",
                               "MORELLO_INVALID_LAYOUT",
                               "MORELLO_UNSUPPORTED",
                               "MORELLO_NULL_OPERAND",
                               "MORELLO_OPERAND_TOO_SMALL",
                               "MORELLO_MISALIGNED",
                               "MORELLO_ISA_UNAVAILABLE",
                               "MORELLO_NO_IMPLEMENTATION",
                               "MORELLO_BUDGET_EXCEEDED",
                               "MORELLO_EXEC_MEMORY_DENIED",
                               "MORELLO_OUT_OF_MEMORY",
                               "MORELLO_INTERNAL",
                               "MORELLO_IO_ERROR",
                               "MORELLO_CORRUPT_TABLE",
                               "MORELLO_INCOMPATIBLE_TABLE",
                               "MORELLO_CANCELLED",
                               "MORELLO_TABLE_TOO_LARGE",
                               "MORELLO_CORRUPT_KERNEL",
                               "MORELLO_INCOMPATIBLE_KERNEL"};
  int number = 0;
  for (const char* name : names)
    CHECK(std::string(morello_status_string(static_cast<morello_status>(number--))) == name);
  CHECK(std::string(morello_status_string(static_cast<morello_status>(number))) ==
        "unknown status");
  CHECK(std::string(morello_status_string(static_cast<morello_status>(1))) == "unknown status");
}

TEST_CASE("versions are those of the header") {
  CHECK(morello_version() == MORELLO_VERSION);
  CHECK(std::string(morello_version_string()) == MORELLO_VERSION_STRING);
  CHECK(morello_abi_version() == MORELLO_ABI_VERSION);
  CHECK(morello_cost_model_version() == MORELLO_COST_MODEL_VERSION);
}

TEST_CASE("what is thrown inside becomes a status outside") {
  morello_error* err = nullptr;
  const auto thrown = [&](auto throwing) {
    morello_error_release(err);
    err = nullptr;
    return guarded(&err, [&]() -> Result<Done> {
      throwing();
      return Done{};
    });
  };
  CHECK(thrown([] { throw std::bad_alloc(); }) == MORELLO_OUT_OF_MEMORY);
  CHECK(contains(morello_error_message(err), "memory"));
  CHECK(thrown([] { throw std::runtime_error("a rare bug"); }) == MORELLO_INTERNAL);
  CHECK(contains(morello_error_message(err), "a rare bug"));
  CHECK(thrown([] { throw 42; }) == MORELLO_INTERNAL);
  CHECK(morello_error_status(err) == MORELLO_INTERNAL);
  CHECK(thrown([] {}) == MORELLO_OK);
  CHECK(err == nullptr);
}

TEST_CASE("an error object for which there was no memory") {
  CHECK(morello_error_status(nullptr) == MORELLO_OUT_OF_MEMORY);
  CHECK(contains(morello_error_message(nullptr), "memory"));
  CHECK(morello_error_line(nullptr) == 0);
  CHECK(morello_error_column(nullptr) == 0);
  morello_error_release(nullptr);
}

TEST_CASE("options of newer and older callers") {
  Newer<morello_context_options> newer;
  morello_context_options_init(&newer.known, sizeof(newer));
  CHECK(newer.known.struct_size == sizeof(newer));
  CHECK(create_with(&newer.known) == MORELLO_OK);
  newer.unknown[23] = 1;
  const Failure failure = fail<morello_context>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&newer.known, c, e);
  });
  CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(failure.message, "offset 87"));
  CHECK(contains(failure.message, MORELLO_VERSION_STRING));

  morello_context_options options;
  morello_context_options_init(&options, sizeof(options));
  CHECK(options.struct_size == sizeof(options));
  CHECK(options.max_isa == MORELLO_ISA_AUTO);
  CHECK(options.read_machine == 0);
  for (size_t size : {size_t{0}, size_t{8}, size_t{15}, size_t{5000}, SIZE_MAX}) {
    options.struct_size = size;
    CHECK(create_with(&options) == MORELLO_INVALID_ARGUMENT);
  }
}

TEST_CASE("init writes no more than the caller has") {
  unsigned char bytes[sizeof(morello_options) + 1];
  for (size_t size = 0; size <= sizeof(morello_options); size++) {
    std::memset(bytes, 0xaa, sizeof(bytes));
    morello_options options;
    std::memset(&options, 0xaa, sizeof(options));
    morello_options_init(&options, size);
    std::memcpy(bytes, &options, sizeof(options));
    for (size_t i = size; i < sizeof(options); i++) REQUIRE(bytes[i] == 0xaa);
  }
  morello_options_init(nullptr, 0);
  morello_context_options_init(nullptr, 0);
}

TEST_CASE("fields that an older caller did not know have their defaults") {
  // As if `threads` and all after it had been added later.
  morello_options defaults = default_options(), older = default_options();
  constexpr size_t kOld = offsetof(morello_options, threads);
  older.struct_size = kOld;
  older.target = MORELLO_ISA_AVX2;
  older.threads = 0xdead;
  const auto read = read_struct(&older, defaults, kOld, "options");
  REQUIRE(read.ok());
  CHECK(read->target == MORELLO_ISA_AVX2);
  CHECK(read->threads == defaults.threads);
  CHECK(read->struct_size == sizeof(morello_options));
}

TEST_CASE("bad context options") {
  morello_context_options options;
  const auto failure = [&] {
    return fail<morello_context>([&](morello_context** c, morello_error** e) {
      return morello_context_create(&options, c, e);
    });
  };
  for (int32_t isa : {-1, 99, INT32_MAX}) {
    morello_context_options_init(&options, sizeof(options));
    options.max_isa = isa;
    CHECK(failure().status == MORELLO_INVALID_ARGUMENT);
    CHECK(contains(failure().message, "MORELLO_ISA_AVX2"));
  }
  morello_context_options_init(&options, sizeof(options));
  options.read_machine = 2;
  CHECK(contains(failure().message, "read_machine"));
  CHECK(morello_context_create(nullptr, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  morello_context_release(nullptr);
}

TEST_CASE("facts of this machine") {
  Newer<morello_cpu_info> newer;
  std::memset(static_cast<void*>(&newer), 0xaa, sizeof(newer));
  REQUIRE(morello_cpu_info_get(&newer.known, sizeof(newer)) == MORELLO_OK);
  CHECK(newer.known.struct_size == sizeof(newer));
  CHECK(newer.unknown[0] == 0);
  const Machine machine = read_machine();
  CHECK(newer.known.processors == machine.processors);
  CHECK(newer.known.name == machine.name);
  CHECK(newer.known.l1_bytes == machine.l1_bytes);
  CHECK(newer.known.l2_bytes == machine.l2_bytes);
  CHECK(newer.known.l3_bytes == machine.l3_bytes);
  CHECK(std::strlen(newer.known.name) > 0);
  CHECK(newer.known.jit <= 1);
  morello_cpu_info info;
  const char* before = std::getenv("MORELLO_MAX_ISA");
  const std::string saved = before != nullptr ? before : "";
  set_environment("avx2");
  REQUIRE(morello_cpu_info_get(&info, sizeof(info)) == MORELLO_OK);
  CHECK((info.isa == MORELLO_ISA_AUTO || info.isa == MORELLO_ISA_AVX2));
  CHECK(info.usable_isas == (info.isa == MORELLO_ISA_AUTO ? 0u : 1u << MORELLO_ISA_AVX2));
  std::memset(&info, 0xaa, sizeof(info));
  set_environment("avx1024");
  CHECK(morello_cpu_info_get(&info, sizeof(info)) == MORELLO_INVALID_ARGUMENT);
  const Failure refused = fail<morello_context>(
      [](morello_context** c, morello_error** e) { return morello_context_create(nullptr, c, e); });
  CHECK(refused.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(refused.message, "MORELLO_MAX_ISA is \"avx1024\""));
  set_environment(before != nullptr ? saved.c_str() : nullptr);
  CHECK(morello_cpu_info_get(&info, sizeof(info) - 1) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_cpu_info_get(&info, SIZE_MAX) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_cpu_info_get(nullptr, sizeof(info)) == MORELLO_INVALID_ARGUMENT);
  CHECK(info.processors == 0xaaaaaaaa);
}

TEST_CASE("pools") {
  morello_pool* made = nullptr;
  for (uint32_t threads : {0u, 1u, 3u}) {
    REQUIRE(morello_pool_create(threads, &made, nullptr) == MORELLO_OK);
    const PoolPtr pool(made);
    const morello_executor* executor = morello_pool_executor(made);
    REQUIRE(executor != nullptr);
    CHECK(executor->struct_size == sizeof(*executor));
    CHECK(executor == morello_pool_executor(made));
  }
  const Failure failure = fail<morello_pool>(
      [](morello_pool** p, morello_error** e) { return morello_pool_create(1025, p, e); });
  CHECK(failure.status == MORELLO_INVALID_ARGUMENT);
  CHECK(contains(failure.message, "1024"));
  CHECK(morello_pool_create(1, nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_pool_executor(nullptr) == nullptr);
  morello_pool_release(nullptr);
}

TEST_SUITE_END();

}  // namespace morello::testing
