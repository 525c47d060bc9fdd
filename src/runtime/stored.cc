// SPDX-License-Identifier: MIT
#include "runtime/stored.hh"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "support/concat.hh"

namespace morello {
namespace {

// No ASCII at first, then line ends: what transfers as text do to a file shows.
constexpr std::array<u8, 8> kMagic = {0x89, 'M', 'K', 'R', 'N', '\r', '\n', 0x1a};
/// Of the format, and of how code is called: another layout of what morello_kernel_fn is given is a
/// new version. To it is added what kernels have besides: a run-time size, several outputs.
constexpr u32 kVersion = 1;
constexpr u32 kSized = 1;
constexpr u32 kSeveralOutputs = 2;
constexpr u32 kLastVersion = kVersion + kSized + kSeveralOutputs;
static_assert(sizeof(morello_executor) == 24 && kScratchAlignment == 64 && kCodeAlignment == 64);

/// Of an operand or of scratch: more no address space has.
constexpr u64 kMostBytes = u64{1} << 47;
constexpr u32 kMostSaved = 16;  // number of a register

Error corrupt(std::initializer_list<TextPart> what) {
  return {MORELLO_CORRUPT_KERNEL, "no stored kernel, or a damaged one: " + concat(what)};
}
Error corrupt(const char* what) { return corrupt({TextPart(what)}); }
Error incompatible(std::initializer_list<TextPart> what) {
  return {MORELLO_INCOMPATIBLE_KERNEL, concat(what)};
}

// ---- writing. Integers are little-endian, as this platform has them.

class Writer {
 public:
  template <class T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    add(&value, sizeof(value));
  }
  void put_text(std::string_view text) {
    put(static_cast<u32>(text.size()));
    add(text.data(), text.size());
  }
  void add(const void* data, size_t size) {
    const u8* bytes = static_cast<const u8*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  Bytes& bytes() { return bytes_; }

 private:
  Bytes bytes_;
};

void write(Writer& to, const Executable& e) {
  to.put(u64{e.entry});
  to.put(e.scratch_bytes);
  to.put(static_cast<u32>(e.functions.size()));
  for (const CodeFunction& f : e.functions) {
    to.put(static_cast<u32>(f.kind));
    to.put(f.begin);
    to.put(f.end);
    to.put(static_cast<u32>(f.steps.size()));
    for (const morello_frame_step& step : f.steps) {
      to.put(step.offset);
      to.put(step.cfa);
      to.put(step.saved);
    }
  }
  to.put(u64{e.code.size()});
  to.add(e.code.data(), e.code.size());
}

void write(Writer& to, const KernelOperand& o) {
  to.put(o.bytes);
  to.put(o.alignment);
  to.put(static_cast<u32>(o.shape.size()));
  for (i64 size : o.shape) to.put(size);
  for (i64 stride : o.strides) to.put(stride);
  to.put(u32{o.pack.has_value()});
  if (o.pack) write(to, *o.pack);
}

void write(Writer& to, const SizedCosts& sized, const std::vector<KernelOperand>& operands) {
  for (const KernelOperand& o : operands) to.put(i32{o.row_axis});
  to.put(static_cast<u32>(sized.largest()));
  for (size_t size = 1; size < sized.cost.size(); size++) to.put(sized.cost[size]);
}

// ---- reading

/// Takes values from the front. Once something is missing, all further ones are 0 or empty.
class Reader {
 public:
  explicit Reader(std::span<const u8> bytes) : left_(bytes) {}

  template <class T>
  T take() {
    T value{};
    const std::span<const u8> bytes = take_bytes(sizeof(T));
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  /// A number of things that follow, of at least `each` bytes.
  u32 take_count(size_t each) {
    const u32 count = take<u32>();
    if (count <= left_.size() / each) return count;
    short_ = true;
    return 0;
  }
  std::span<const u8> take_bytes(u64 count) {
    short_ = short_ || count > left_.size();
    if (short_) return {};
    const std::span<const u8> bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }
  /// Printable, as messages may have it.
  std::string take_text() {
    const std::span<const u8> bytes = take_bytes(take_count(1));
    const bool good =
        std::all_of(bytes.begin(), bytes.end(), [](u8 c) { return c >= ' ' && c <= '~'; });
    short_ = short_ || !good;
    return good ? std::string(bytes.begin(), bytes.end()) : std::string();
  }
  bool bad() const { return short_; }
  bool at_end() const { return left_.empty() && !short_; }

 private:
  std::span<const u8> left_;
  bool short_ = false;
};

/// An Executable whose code is still in the file.
struct Draft {
  Executable executable;
  std::span<const u8> code;
};

bool is_function(const CodeFunction& f, u32 from, u64 code_bytes) {
  u32 at = f.begin;
  for (const morello_frame_step& step : f.steps) {
    if (step.offset < at || step.offset > f.end || step.saved < -1 ||
        step.saved > static_cast<i32>(kMostSaved))
      return false;
    at = step.offset;
  }
  return f.begin >= from && f.begin < f.end && f.end <= code_bytes;
}

std::optional<Draft> read_executable(Reader& from) {
  Draft draft;
  Executable& e = draft.executable;
  e.entry = from.take<u64>();
  e.scratch_bytes = from.take<u64>();
  e.functions.resize(from.take_count(4 * sizeof(u32)));
  for (CodeFunction& f : e.functions) {
    const u32 kind = from.take<u32>();
    if (kind > MORELLO_CODE_ROUTINE) return std::nullopt;
    f.kind = static_cast<morello_code_kind>(kind);
    f.begin = from.take<u32>();
    f.end = from.take<u32>();
    f.steps.resize(from.take_count(sizeof(morello_frame_step)));
    for (morello_frame_step& step : f.steps) step = from.take<morello_frame_step>();
  }
  draft.code = from.take_bytes(from.take<u64>());
  if (from.bad() || e.entry >= draft.code.size() || e.scratch_bytes > kMostBytes)
    return std::nullopt;
  u32 end = 0;
  for (const CodeFunction& f : e.functions) {
    if (!is_function(f, end, draft.code.size())) return std::nullopt;
    end = f.end;
  }
  return draft;
}

/// From the first to past the last element; 0 if that is no number.
u64 span_bytes(const KernelOperand& o) {
  u64 elements = 1;
  for (size_t axis = 0; axis < o.shape.size(); axis++) {
    u64 step = 0;
    if (o.shape[axis] < 1 || o.strides[axis] < 0 ||
        __builtin_mul_overflow(static_cast<u64>(o.shape[axis] - 1),
                               static_cast<u64>(o.strides[axis]), &step) ||
        __builtin_add_overflow(elements, step, &elements))
      return 0;
  }
  u64 bytes = 0;
  return __builtin_mul_overflow(elements, u64{o.alignment}, &bytes) ? 0 : bytes;
}

struct OperandDraft {
  KernelOperand operand;
  std::optional<Draft> pack;
};

std::optional<OperandDraft> read_operand(Reader& from) {
  OperandDraft draft;
  KernelOperand& o = draft.operand;
  o.bytes = from.take<u64>();
  o.alignment = from.take<u32>();
  const u32 rank = from.take<u32>();
  if (from.bad() || rank > MORELLO_MAX_RANK) return std::nullopt;
  for (u32 axis = 0; axis < rank; axis++) o.shape.push_back(from.take<i64>());
  for (u32 axis = 0; axis < rank; axis++) o.strides.push_back(from.take<i64>());
  const u32 packed = from.take<u32>();
  const bool element = o.alignment == 1 || o.alignment == 2 || o.alignment == 4;
  if (from.bad() || !element || packed > 1 || o.bytes == 0 || o.bytes > kMostBytes)
    return std::nullopt;
  const u64 span = span_bytes(o);
  if (span == 0 || (packed == 0 ? span != o.bytes : o.bytes % o.alignment != 0))
    return std::nullopt;
  if (packed == 0) return draft;
  draft.pack = read_executable(from);
  if (!draft.pack) return std::nullopt;
  return draft;
}

/// The run-time size of a kernel whose operands are known.
std::optional<SizedCosts> read_sized(Reader& from, std::vector<KernelOperand>& operands,
                                     const std::vector<std::optional<Draft>>& packs) {
  std::vector<i32> axes;
  for (size_t o = 0; o < operands.size(); o++) axes.push_back(from.take<i32>());
  const u32 largest = from.take_count(sizeof(i64));
  SizedCosts sized;
  sized.cost.resize(size_t{largest} + 1);
  bool good = largest >= 2;
  for (u32 size = 1; size <= largest; size++) {
    sized.cost[size] = from.take<i64>();
    good = good && sized.cost[size] >= 0;
  }
  for (size_t o = 0; o < operands.size(); o++) {
    KernelOperand& operand = operands[o];
    good = good && axes[o] >= -1 && axes[o] < std::ssize(operand.shape) &&
           (axes[o] < 0 || (!packs[o] && operand.shape[static_cast<size_t>(axes[o])] == largest));
    operand.row_axis = axes[o];
  }
  if (from.bad() || !good) return std::nullopt;
  return sized;
}

/// What there is to run, once the target is known to be good.
Result<Executable> finish(Draft draft, bool to_run) {
  Result<CodeMemory> code = to_run ? CodeMemory::make(draft.code) : CodeMemory::keep(draft.code);
  if (!code) return std::move(code.error());
  draft.executable.code = std::move(*code);
  return std::move(draft.executable);
}

/// The bytes between version and checksum.
Result<std::span<const u8>> open_frame(std::span<const u8> file, u32& version) {
  constexpr size_t kHead = kMagic.size() + sizeof(u32), kTail = sizeof(u64);
  if (file.empty()) return corrupt("it is empty");
  if (std::memcmp(file.data(), kMagic.data(), std::min(file.size(), kMagic.size())) != 0)
    return corrupt("it does not begin as one");
  if (file.size() < kHead) return corrupt("it is cut off");
  std::memcpy(&version, file.data() + kMagic.size(), sizeof(version));
  if (version < kVersion || version > kLastVersion)
    return incompatible({"the stored kernel has version ", version,
                         " of the format; this library (" MORELLO_VERSION_STRING
                         ") reads versions ",
                         kVersion, " to ", kLastVersion, ": save it again with this one"});
  if (file.size() < kHead + kTail) return corrupt("it is cut off");
  u64 hash = 0;
  std::memcpy(&hash, file.data() + file.size() - kTail, kTail);
  if (hash != checksum(file.first(file.size() - kTail))) return corrupt("its checksum is wrong");
  return file.subspan(kHead, file.size() - kHead - kTail);
}

/// The target that is meant, if it requires here what it did where the kernel was saved.
Result<const Target*> find_same(const std::string& name, i32 number, const std::string& features) {
  const Target* target = find_target(name);
  if (target != nullptr && target->name == name && target->number == number &&
      describe(target->required) == features)
    return target;
  return incompatible({"the stored kernel is for target ", name, " (", number, "), which requires ",
                       features,
                       "; this library (" MORELLO_VERSION_STRING ") knows no such target"});
}

}  // namespace

u64 checksum(std::span<const u8> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Bytes encode_kernel(const Kernel& kernel, std::string_view key) {
  const Target& target = *find_target(kernel.target);
  Writer to;
  to.add(kMagic.data(), kMagic.size());
  to.put(kVersion + (kernel.sized ? kSized : 0) + (kernel.outputs > 1 ? kSeveralOutputs : 0));
  to.put(kernel.target);
  to.put_text(target.name);
  to.put_text(describe(target.required));
  to.put_text(MORELLO_VERSION_STRING);
  to.put_text(key);
  to.put_text(kernel.spec);
  to.put_text(kernel.name);
  to.put(kernel.estimate.cost);
  to.put(kernel.estimate.bound);
  to.put(u32{kernel.estimate.optimal});
  to.put(static_cast<u32>(kernel.operands.size()));
  for (const KernelOperand& operand : kernel.operands) write(to, operand);
  write(to, *kernel.executable);
  if (kernel.outputs > 1) to.put(kernel.outputs);
  if (kernel.sized) write(to, *kernel.sized, kernel.operands);
  to.put(checksum(to.bytes()));
  return std::move(to.bytes());
}

Result<StoredKernel> decode_kernel(std::span<const u8> file, const DecodeKernelOptions& options) {
  u32 version = 0;
  const Result<std::span<const u8>> content = open_frame(file, version);
  if (!content) return content.error();
  Reader from(*content);
  StoredKernel stored;
  Kernel& kernel = stored.kernel;
  kernel.target = from.take<i32>();
  const std::string target_name = from.take_text(), features = from.take_text();
  from.take_text();  // the version of the library that saved it: for people
  stored.key = from.take_text();
  kernel.spec = from.take_text();
  kernel.name = from.take_text();
  kernel.estimate.cost = from.take<i64>();
  kernel.estimate.bound = from.take<i64>();
  const u32 optimal = from.take<u32>(), count = from.take<u32>();
  if (from.bad() || optimal > 1 || kernel.estimate.cost < 0 || kernel.estimate.bound < 0)
    return corrupt("a name or number at its beginning is impossible");
  kernel.estimate.optimal = optimal == 1;
  if (count < 1 || count > kMaxOperands) return corrupt("its number of operands is impossible");
  std::vector<std::optional<Draft>> packs;
  for (u32 i = 0; i < count; i++) {
    std::optional<OperandDraft> draft = read_operand(from);
    if (!draft) return corrupt({"what it says of operand ", i, " is impossible"});
    kernel.checks.add(draft->operand.alignment);
    kernel.operands.push_back(std::move(draft->operand));
    packs.push_back(std::move(draft->pack));
  }
  std::optional<Draft> own = read_executable(from);
  if (own && ((version - kVersion) & kSeveralOutputs) != 0) {
    kernel.outputs = from.take<u32>();
    if (from.bad() || kernel.outputs < 2 || kernel.outputs > count)
      return corrupt("its number of outputs is impossible");
  }
  if (own && ((version - kVersion) & kSized) != 0) {
    kernel.sized = read_sized(from, kernel.operands, packs);
    if (!kernel.sized) return corrupt("what it says of its run-time size is impossible");
  }
  if (!own || !from.at_end()) return corrupt("what it says of its code is impossible");

  const Result<const Target*> target = find_same(target_name, kernel.target, features);
  if (!target) return target.error();
  if (options.refuse)
    if (std::optional<Error> refused = options.refuse(**target)) return std::move(*refused);
  Result<Executable> executable = finish(std::move(*own), options.to_run);
  if (!executable) return std::move(executable.error());
  kernel.executable = std::move(*executable);
  for (u32 i = 0; i < count; i++) {
    if (!packs[i]) continue;
    Result<Executable> pack = finish(std::move(*packs[i]), options.to_run);
    if (!pack) return std::move(pack.error());
    kernel.operands[i].pack = std::move(*pack);
  }
  return stored;
}

Result<StoredKernel> decode_file(const std::string& path, int fd, u64 size,
                                 const DecodeKernelOptions& options) {
  if (size > kMostStoredBytes) return with_path(path, corrupt({size, " bytes are too many"}));
  const Result<Bytes> bytes = read_all(path, fd, size);
  if (!bytes) return bytes.error();
  Result<StoredKernel> stored = decode_kernel(*bytes, options);
  if (!stored) return with_path(path, std::move(stored.error()));
  return stored;
}

}  // namespace morello
