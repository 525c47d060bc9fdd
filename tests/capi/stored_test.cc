// SPDX-License-Identifier: MIT
// Stored kernels: saved and loaded they are the same; damaged in any byte they are refused.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../support/folder.hh"
#include "stored.hh"
#include "target/isa.hh"

namespace morello::testing {
namespace {

constexpr const char* kSpecs[] = {
    "matmul f32[33,40] f32[40,50] + bias f32[50] -> relu -> f32[33,50]",
    "matmul f32[6,40]{strides=1,9} f32[40,35]{*} += f32[6,35]",
    "einsum \"bmk,bkn->bnm\" f32[2,9,7] f32[2,7,33]{*} -> f32[2,33,9]",
    "einsum \"mk,kn->nm\" f32[9,7] f32[7,33] -> f32[33,9]",  // has scratch
    "matmul bf16[6,40] bf16[40,35]{*} + bias f32[35] -> bf16[6,35]",
    "matmul u8[5,70] i8[70,40]{*} -> i32[5,40]",
    "gelu f32[1000] -> f32[1000]",
    "add f32[30,40]{strides=50,1} f32[40] -> f32[30,40]",
    "reduce_max f32[30,70] axis=0 -> sqrt -> f32[70]",
    "transpose f32[24,17,9] perm=2,1,0 -> f32[9,17,24]",
    "v0 = exp f32[9,33]; v1 = reduce_sum v0 axis=1; v0 -> f32[9,33], v1 -> f32[9]",
};
constexpr const char* kSmall = "matmul f32[4,5] f32[5,20]{*} -> f32[4,20]";

/// Offsets in a file, as docs/stored-kernels.md has them.
constexpr size_t kVersionAt = 8, kTargetNameAt = 20;

struct Made {
  ContextPtr context = make_context();
  SpecPtr spec;
  KernelPtr kernel;
  explicit Made(const std::string& text, const morello_options* options = nullptr)
      : spec(parse_spec(context.get(), text)),
        kernel(synthesize(context.get(), spec.get(), options)) {}
};

Failure fail_to_load(const morello_context* context, const std::string& bytes) {
  return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
    return morello_kernel_load_memory(context, bytes.data(), bytes.size(), k, e);
  });
}
Failure fail_to_load_file(const std::string& path) {
  const ContextPtr context = make_context();
  return fail<morello_kernel>([&](morello_kernel** k, morello_error** e) {
    return morello_kernel_load(context.get(), path.c_str(), k, e);
  });
}

/// With the checksum that its bytes should have.
std::string resealed(std::string bytes) {
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size() - sizeof(uint64_t));
  std::memcpy(bytes.data() + bytes.size() - sizeof hash, &hash, sizeof hash);
  return bytes;
}

bool is_refusal(morello_status status) {
  return status == MORELLO_CORRUPT_KERNEL || status == MORELLO_INCOMPATIBLE_KERNEL;
}

}  // namespace

TEST_SUITE_BEGIN("capi");

TEST_CASE("a stored kernel is the kernel that was saved") {
  for (const char* text : kSpecs) {
    INFO(std::string(text));
    const Made made(text);
    const std::string bytes = saved(made.kernel.get());
    CHECK(saved(made.kernel.get()) == bytes);
    const KernelPtr back = loaded(made.context.get(), bytes);
    check_same(made.kernel.get(), back.get());
    CHECK(saved(back.get()) == bytes);
    for (uint32_t seed : {1u, 2u})
      CHECK(run(made.spec.get(), back.get(), seed) ==
            run(made.spec.get(), made.kernel.get(), seed));
    const morello_search_stats stats = stats_of(back.get());
    CHECK(stats.stored == 1);
    CHECK(stats_of(made.kernel.get()).stored == 0);
    CHECK(stats.states + stats.search_nanoseconds + stats.emit_nanoseconds == 0);
    CHECK(text_of(morello_kernel_print, static_cast<const morello_kernel*>(back.get())) == "");
    CHECK(text_of(morello_kernel_print_plan, static_cast<const morello_kernel*>(back.get())) == "");
    CHECK(parse_spec(made.context.get(), morello_kernel_spec(back.get())) != nullptr);
  }
}

TEST_CASE("a stored kernel runs in parallel, and checks its operands") {
  morello_options options = default_options();
  options.threads = 3;
  const Made made("relu f32[1024,2048] -> f32[1024,2048]", &options);
  const KernelPtr back = loaded(made.context.get(), saved(made.kernel.get()));
  const PoolPtr pool = make<PoolPtr>(
      [](morello_pool** p, morello_error** e) { return morello_pool_create(3, p, e); });
  const std::string expected = run(made.spec.get(), made.kernel.get(), 1);
  CHECK(run(made.spec.get(), back.get(), 1, morello_pool_executor(pool.get())) == expected);

  std::vector<float> in(1024 * 2048), out(1024 * 2048);
  void* operands[] = {in.data(), out.data()};
  size_t sizes[] = {in.size() * sizeof(float), out.size() * sizeof(float)};
  const auto status = [&] {
    return morello_kernel_run_checked(back.get(), operands, sizes, 2, nullptr, 0, nullptr, nullptr);
  };
  CHECK(status() == MORELLO_OK);
  sizes[0]--;
  CHECK(status() == MORELLO_OPERAND_TOO_SMALL);
  sizes[0]++;
  operands[1] = in.data();
  CHECK(status() == MORELLO_INVALID_ARGUMENT);
  operands[1] = reinterpret_cast<char*>(out.data()) + 1;
  CHECK(morello_kernel_run(back.get(), operands, nullptr, nullptr) == MORELLO_MISALIGNED);
  operands[1] = nullptr;
  CHECK(morello_kernel_run(back.get(), operands, nullptr, nullptr) == MORELLO_NULL_OPERAND);
}

TEST_CASE("kernels for another CPU can be saved, and are refused where they cannot run") {
  if (!includes(*cap_from_environment(), fixed_target(Isa::kAvx512)->required)) return;
  morello_options options = default_options();
  options.target = MORELLO_ISA_AVX512;
  options.code_only = 1;
  const Made made(kSmall, &options);
  const std::string bytes = saved(made.kernel.get());
  const bool here = usable(*fixed_target(Isa::kAvx512), read_machine().features, kAllFeatures);
  if (here) {
    const KernelPtr back = loaded(made.context.get(), bytes);
    check_same(made.kernel.get(), back.get());
    CHECK(run(made.spec.get(), back.get(), 1).size() > 0);
  } else {
    const Failure failure = fail_to_load(made.context.get(), bytes);
    CHECK(failure.status == MORELLO_ISA_UNAVAILABLE);
    CHECK(contains(failure.message, "target avx512"));
    CHECK(contains(failure.message, "avx512f"));
  }
  morello_context_options capped;
  morello_context_options_init(&capped, sizeof capped);
  capped.max_isa = MORELLO_ISA_AVX2;
  const ContextPtr context = make<ContextPtr>([&](morello_context** c, morello_error** e) {
    return morello_context_create(&capped, c, e);
  });
  const Failure failure = fail_to_load(context.get(), bytes);
  CHECK(failure.status == MORELLO_ISA_UNAVAILABLE);
  CHECK(contains(failure.message, "cap"));
}

TEST_CASE("every byte of a stored kernel counts") {
  const Made made(kSmall);
  const std::string good = saved(made.kernel.get());
  for (size_t at = 0; at < good.size(); at++) {
    CAPTURE(at);
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    CHECK(is_refusal(fail_to_load(made.context.get(), bytes).status));
  }
  for (size_t size = 0; size < good.size(); size++) {
    CAPTURE(size);
    std::string bytes = good.substr(0, size);
    CHECK(fail_to_load(made.context.get(), bytes).status == MORELLO_CORRUPT_KERNEL);
  }
  CHECK(fail_to_load(made.context.get(), good + "x").status == MORELLO_CORRUPT_KERNEL);
}

// Whoever makes a checksum right can make the code do anything, but loading it is safe.
TEST_CASE("no byte of a stored kernel makes loading it fail in another way") {
  const Made made(kSmall);
  const std::string good = saved(made.kernel.get());
  const size_t version = good.find(morello_version_string());  // for people: any will do
  size_t taken = 0;
  for (size_t at = 0; at < good.size() - sizeof(uint64_t); at++)
    for (int change : {0x01, 0x80, 0xff}) {
      CAPTURE(at);
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      bytes = resealed(bytes);
      morello_kernel* kernel = nullptr;
      const morello_status status = morello_kernel_load_memory(made.context.get(), bytes.data(),
                                                               bytes.size(), &kernel, nullptr);
      taken += status == MORELLO_OK;
      CHECK((status == MORELLO_OK || is_refusal(status)));
      if (status != MORELLO_OK) continue;
      bytes.replace(version, std::strlen(morello_version_string()), morello_version_string());
      CHECK(saved(kernel) == resealed(bytes));
      morello_kernel_release(kernel);
    }
  CHECK(taken > 0);  // the code, at least
  for (size_t size = 20; size + sizeof(uint64_t) < good.size(); size++) {
    const std::string bytes = resealed(good.substr(0, size) + std::string(8, '\0'));
    CHECK(fail_to_load(made.context.get(), bytes).status == MORELLO_CORRUPT_KERNEL);
  }
}

TEST_CASE("stored kernels of another library") {
  const Made made(kSmall);
  const std::string good = saved(made.kernel.get());
  std::string other = good;
  other[kVersionAt] += 4;
  Failure failure = fail_to_load(made.context.get(), other);
  CHECK(failure.status == MORELLO_INCOMPATIBLE_KERNEL);
  CHECK(contains(failure.message, "version 5 of the format"));
  other = good;
  other[kTargetNameAt] = 'b';
  failure = fail_to_load(made.context.get(), resealed(other));
  CHECK(failure.status == MORELLO_INCOMPATIBLE_KERNEL);
  CHECK(contains(failure.message, "target bvx"));
}

TEST_CASE("stored kernels as files") {
  const Folder folder;
  const Made made(kSmall);
  const std::string path = folder / "k.mkrn";
  for (int i = 0; i < 2; i++) {  // a new one, and over another
    REQUIRE(morello_kernel_save(made.kernel.get(), path.c_str(), nullptr) == MORELLO_OK);
    CHECK(bytes_of(path) == saved(made.kernel.get()));
    CHECK(folder.names() == std::set<std::string>{"k.mkrn"});
    std::ofstream(path, std::ios::app) << "more";
  }
  CHECK(contains(fail_to_load_file(path).message, path));
  REQUIRE(morello_kernel_save(made.kernel.get(), path.c_str(), nullptr) == MORELLO_OK);
  const KernelPtr back = make<KernelPtr>([&](morello_kernel** k, morello_error** e) {
    return morello_kernel_load(made.context.get(), path.c_str(), k, e);
  });
  check_same(made.kernel.get(), back.get());

  CHECK(fail_to_load_file(folder / "missing").status == MORELLO_IO_ERROR);
  CHECK(fail_to_load_file(folder / "").status == MORELLO_IO_ERROR);
  std::ofstream(folder / "empty");
  CHECK(fail_to_load_file(folder / "empty").status == MORELLO_CORRUPT_KERNEL);
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(fail_to_load_file(folder / "fifo").status == MORELLO_IO_ERROR);
  std::ofstream(folder / "huge");
  std::filesystem::resize_file(folder / "huge", uint64_t{1} << 40);
  CHECK(fail_to_load_file(folder / "huge").status == MORELLO_CORRUPT_KERNEL);
  for (const std::string& bad : {folder / "no/k.mkrn", folder / "", std::string()})
    CHECK(morello_kernel_save(made.kernel.get(), bad.c_str(), nullptr) == MORELLO_IO_ERROR);
}

TEST_CASE("what is no regular file is not replaced by a stored kernel") {
  const Folder folder;
  const Made made(kSmall);
  const auto save_to = [&](const std::string& path) {
    morello_error* err = nullptr;
    const morello_status status = morello_kernel_save(made.kernel.get(), path.c_str(), &err);
    const ErrorPtr own(err);
    if (status == MORELLO_IO_ERROR) CHECK(contains(morello_error_message(err), path));
    return status;
  };
  const auto type_of = [](const std::string& path) {
    struct stat status;
    REQUIRE(lstat(path.c_str(), &status) == 0);
    return status.st_mode & S_IFMT;
  };
  REQUIRE(mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(save_to(folder / "fifo") == MORELLO_IO_ERROR);
  CHECK(type_of(folder / "fifo") == S_IFIFO);
  REQUIRE(std::filesystem::create_directory(folder / "folder"));
  CHECK(save_to(folder / "folder") == MORELLO_IO_ERROR);
  if (mknod((folder / "device").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {
    CHECK(save_to(folder / "device") == MORELLO_IO_ERROR);
    CHECK(type_of(folder / "device") == S_IFCHR);
  } else {
    MESSAGE("skipped: devices, which only root can make");
  }
  // As with tables: the link goes, what it leads to stays.
  std::ofstream(folder / "precious") << "as it was";
  std::filesystem::create_symlink(folder / "precious", folder / "link");
  CHECK(save_to(folder / "link") == MORELLO_OK);
  CHECK(type_of(folder / "link") == S_IFREG);
  CHECK(bytes_of(folder / "precious") == "as it was");
}

TEST_CASE("what cannot be saved or loaded") {
  morello_options options = default_options();
  options.search_only = 1;
  const Made made(kSmall, &options);
  size_t length = 77;
  morello_error* err = nullptr;
  CHECK(morello_kernel_save_memory(made.kernel.get(), nullptr, 0, &length, &err) ==
        MORELLO_INVALID_ARGUMENT);
  const ErrorPtr own(err);
  CHECK(contains(morello_error_message(err), "search_only"));
  CHECK(morello_kernel_save(made.kernel.get(), "/nowhere", nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_save(nullptr, "x", nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_save_memory(nullptr, nullptr, 0, &length, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(length == 77);
  const Made good("relu f32[3] -> f32[3]");
  CHECK(morello_kernel_save(good.kernel.get(), nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_save_memory(good.kernel.get(), nullptr, 0, nullptr, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_save_memory(good.kernel.get(), nullptr, 1, &length, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  morello_kernel* kernel = nullptr;
  const std::string bytes = saved(good.kernel.get());
  CHECK(morello_kernel_load(nullptr, "x", &kernel, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_load(good.context.get(), nullptr, &kernel, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_load(good.context.get(), "x", nullptr, nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_load_memory(nullptr, bytes.data(), bytes.size(), &kernel, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_load_memory(good.context.get(), nullptr, 3, &kernel, nullptr) ==
        MORELLO_INVALID_ARGUMENT);
  CHECK(morello_kernel_load_memory(good.context.get(), bytes.data(), bytes.size(), nullptr,
                                   nullptr) == MORELLO_INVALID_ARGUMENT);
  CHECK(kernel == nullptr);
  CHECK(std::string(morello_kernel_spec(nullptr)) == "");
  std::string part(4, 'z');
  REQUIRE(morello_kernel_save_memory(good.kernel.get(), part.data(), 3, &length, nullptr) ==
          MORELLO_OK);
  CHECK(part == bytes.substr(0, 3) + "z");
  CHECK(length == bytes.size());
}

TEST_SUITE_END();

}  // namespace morello::testing
