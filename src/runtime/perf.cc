// SPDX-License-Identifier: MIT
#include "runtime/perf.hh"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/file.hh"

namespace morello {
namespace {

/// One that is ours, to add to. /tmp is everybody's: no link is followed.
Result<Descriptor> open_to_append(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return failed(path, "open");
  struct stat status;
  if (fstat(file.get(), &status) != 0) return failed(path, "open");
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
    return io_error(path, "is somebody else's, or no file");
  return file;
}

/// In one call, so that what threads add stays whole.
std::optional<Error> append(const std::string& path, const Descriptor& file,
                            const std::string& bytes) {
  if (write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()))
    return std::nullopt;
  return failed(path, "write");
}

// What linux/tools/perf/Documentation/jitdump-specification.txt says.
struct JitdumpHeader {
  u32 magic = 0x4a695444, version = 1, size = 40, machine = EM_X86_64, padding = 0, process = 0;
  u64 time = 0, flags = 0;
};
struct CodeLoad {
  u32 id = 0, size = 0;
  u64 time = 0;
  u32 process = 0, thread = 0;
  u64 address = 0, code = 0, code_size = 0, index = 0;
};
static_assert(sizeof(JitdumpHeader) == 40 && sizeof(CodeLoad) == 56);

/// perf has to be told to use this clock: `perf record -k mono`.
u64 now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<u64>(time.tv_sec) * 1'000'000'000 + static_cast<u64>(time.tv_nsec);
}

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

pid_t begun = 0;  // by this process; one that was forked has a file of its own

/// perf finds the file by its name, as one that is mapped to be executed.
std::optional<Error> begin_jitdump(const std::string& path, const Descriptor& file) {
  if (begun == getpid()) return std::nullopt;
  begun = getpid();
  JitdumpHeader header;
  header.process = static_cast<u32>(getpid());
  header.time = now();
  std::string bytes;
  put(bytes, header);
  struct stat status;
  if (fstat(file.get(), &status) != 0 || (status.st_size != 0 && ftruncate(file.get(), 0) != 0))
    return failed(path, "write");  // left by an older process of that number
  if (auto e = append(path, file, bytes)) return e;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* mark = mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  if (mark == MAP_FAILED) return failed(path, "map to be executed, as perf needs it,");
  return std::nullopt;  // stays mapped: perf may begin later
}

}  // namespace

std::optional<Error> add_to_perf_map(const std::vector<NamedFunction>& functions,
                                     const Executable& executable) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const Result<Descriptor> file = open_to_append(path);
  if (!file) return file.error();
  std::string lines;
  for (const NamedFunction& f : functions) {
    char place[48];
    std::snprintf(place, sizeof(place), "%zx %x ",
                  reinterpret_cast<size_t>(executable.code.data()) + f.function->begin,
                  f.function->end - f.function->begin);
    lines += place + f.name + "\n";
  }
  return append(path, *file, lines);
}

std::optional<Error> add_to_jitdump(const std::vector<NamedFunction>& functions,
                                    const Executable& executable) {
  static u64 index = 0;
  const char* folder = secure_getenv("JITDUMPDIR");
  const std::string path = (folder == nullptr || *folder == 0 ? "" : std::string(folder) + "/") +
                           "jit-" + std::to_string(getpid()) + ".dump";
  const Result<Descriptor> file = open_to_append(path);
  if (!file) return file.error();
  if (auto e = begin_jitdump(path, *file)) return e;
  std::string records;
  for (const NamedFunction& f : functions) {
    CodeLoad load;
    load.code_size = f.function->end - f.function->begin;
    load.size = static_cast<u32>(sizeof(load) + f.name.size() + 1 + load.code_size);
    load.time = now();
    load.process = static_cast<u32>(getpid());
    load.thread = static_cast<u32>(syscall(SYS_gettid));
    load.address = load.code =
        reinterpret_cast<uintptr_t>(executable.code.data()) + f.function->begin;
    load.index = index++;
    put(records, load);
    records.append(f.name.c_str(), f.name.size() + 1);
    records.append(reinterpret_cast<const char*>(executable.code.data()) + f.function->begin,
                   load.code_size);
  }
  return append(path, *file, records);
}

}  // namespace morello
