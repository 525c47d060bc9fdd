// SPDX-License-Identifier: MIT
#include "emit/header.hh"

#include <algorithm>

#include "command.hh"
#include "emit/sizes.hh"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace morello::tools {
namespace {

constexpr size_t kCacheLine = 64;

const char* c_type(int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
      return "float";
    case MORELLO_BF16:
    case MORELLO_F16:
      return "uint16_t";
    case MORELLO_I8:
      return "int8_t";
    case MORELLO_U8:
      return "uint8_t";
    case MORELLO_I32:
      return "int32_t";
  }
  return "void";
}

const char* dtype_name(int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
      return "f32";
    case MORELLO_BF16:
      return "bf16";
    case MORELLO_F16:
      return "f16";
    case MORELLO_I8:
      return "i8";
    case MORELLO_U8:
      return "u8";
    case MORELLO_I32:
      return "i32";
  }
  return "unknown";
}

std::string numbers(const int64_t* values, uint32_t count) {
  return fmt::format("{}", fmt::join(values, values + count, ","));
}

std::string layout_words(const morello_tensor& t) {
  switch (t.layout) {
    case MORELLO_LAYOUT_COLUMN_MAJOR:
      return "column-major";
    case MORELLO_LAYOUT_STRIDED:
      return fmt::format("strides {} (in elements)", numbers(t.strides, t.rank));
    default:
      return "row-major";
  }
}

/// Text that is made of one function.
class Declarations {
 public:
  explicit Declarations(const Function& function)
      : f_(function),
        count_(morello_spec_operand_count(function.spec.get())),
        packed_(packed_operands(function.spec.get())),
        capitals_(in_capitals(function.name)) {
    for (const Variant& v : f_.variants) isas_.push_back(isa_name(v.isa));
  }

  std::string text() {
    add_constants();
    add_documentation();
    add("int {}({});\n", f_.name, parameters());
    add("/** The same, made for one instruction set, which is not checked. Returns 0{}. */\n",
        f_.largest != 0 ? " or -2" : " always");
    for (const Variant& v : f_.variants) add("int {}{}({});\n", f_.name, v.suffix, parameters());
    for (uint32_t operand : packed_) add_pack(operand);
    return std::move(text_);
  }

 private:
  template <typename... T>
  void add(fmt::format_string<T...> format, T&&... arguments) {
    text_ += fmt::format(format, std::forward<T>(arguments)...);
  }

  morello_tensor tensor(uint32_t operand) const {
    morello_tensor t = {};
    morello_spec_operand(f_.spec.get(), operand, &t);
    return t;
  }
  std::string operand(uint32_t index) const { return operand_name(f_, index); }
  bool is_packed(uint32_t operand) const {
    return std::find(packed_.begin(), packed_.end(), operand) != packed_.end();
  }

  void add_constants() {
    if (f_.largest != 0) add("#define {}_LARGEST_SIZE {}\n", capitals_, f_.largest);
    if (f_.threads > 1) add("#define {}_THREADS {}\n", capitals_, f_.threads);
    add("#define {}_SCRATCH_BYTES {}\n", capitals_, scratch_bytes(f_));
    add("#define {}_SCRATCH_ALIGNMENT {}\n", capitals_,
        morello_kernel_scratch_alignment(f_.variants.front().kernel.get()));
    for (uint32_t o : packed_) {
      const std::string name = in_capitals(operand(o));
      add("#define {}_PACKED_{}_BYTES {}\n", capitals_, name, operand_bytes(f_, o));
      add("#define {}_PACK_{}_SCRATCH_BYTES {}\n", capitals_, name, pack_scratch_bytes(f_, o));
    }
  }

  /// "f32[5,64]"; a run-time size is called by its argument.
  std::string shape_of(uint32_t index) const {
    const morello_tensor t = tensor(index);
    const int sized = sized_axis(f_, index);
    std::string shape;
    for (uint32_t axis = 0; axis < t.rank; axis++)
      shape +=
          (axis == 0 ? "" : ",") +
          (static_cast<int>(axis) == sized ? std::string("size") : std::to_string(t.shape[axis]));
    return fmt::format("{}[{}]", dtype_name(t.dtype), shape);
  }

  void add_operand(uint32_t index) {
    const morello_tensor t = tensor(index);
    const std::string shape = shape_of(index);
    const bool is_sized = sized_axis(f_, index) >= 0;
    std::string how = fmt::format("{}, {} bytes{}", layout_words(t), operand_bytes(f_, index),
                                  is_sized ? " of the largest size" : "");
    if (is_packed(index))
      how = fmt::format("as {}() wrote it, {}_PACKED_{}_BYTES ({}) bytes", pack_name(f_, index),
                        capitals_, in_capitals(operand(index)), operand_bytes(f_, index));
    if (is_output(f_, index))
      how += is_added_to(f_, index) ? "; is read, and added to" : "; is written, never read";
    add(" *  @param {}  {}, {}\n", operand(index), shape, how);
  }

  void add_documentation() {
    add("/** {}\n", f_.text);
    for (uint32_t i = 0; i < count_; i++) add_operand(i);
    if (f_.largest != 0)
      add(" *  @param size  1 to {}_LARGEST_SIZE ({}); nothing beyond it is read or written\n",
          capitals_, f_.largest);
    const size_t scratch = scratch_bytes(f_);
    add(" *  @param scratch  {}_SCRATCH_BYTES ({}) bytes for this call alone, aligned to {}{}\n",
        capitals_, scratch, morello_kernel_scratch_alignment(f_.variants.front().kernel.get()),
        scratch == 0 ? ": may be NULL" : "");
    if (f_.threads > 1)
      add(" *  @param parallel_for  brings up to {}_THREADS ({}) threads; NULL: all runs on this "
          "one\n"
          " *  @param user  passed to it\n",
          capitals_, f_.threads);
    add(" *  @return 0, or -1 if this CPU can run none of {}{}: then nothing was done. */\n",
        fmt::join(isas_, ", "), f_.largest != 0 ? ", or -2 if there is no such size" : "");
  }

  std::string parameters() const {
    std::string all;
    for (uint32_t i = 0; i < count_; i++)
      all += fmt::format("{}{} *{}, ", is_output(f_, i) ? "" : "const ", c_type(tensor(i).dtype),
                         operand(i));
    return all + (f_.largest != 0 ? "int64_t size, " : "") + "void *scratch" +
           (f_.threads > 1 ? ", morello_parallel_for parallel_for, void *user" : "");
  }

  void add_pack(uint32_t index) {
    const std::string name = operand(index), type = c_type(tensor(index).dtype);
    const size_t scratch = pack_scratch_bytes(f_, index);
    add("/** Writes `{}` of {}() in the layout that it expects. On CPUs with another instruction\n"
        " *  set that layout may be another one: do not keep it in files.\n",
        name, f_.name);
    add(" *  @param from  {}[{}], row-major\n", dtype_name(tensor(index).dtype),
        numbers(tensor(index).shape, tensor(index).rank));
    add(" *  @param to    {}_PACKED_{}_BYTES bytes, of which all may be written; fastest if "
        "aligned "
        "to {}\n",
        capitals_, in_capitals(name), kCacheLine);
    add(" *  @param scratch  {}_PACK_{}_SCRATCH_BYTES ({}) bytes, aligned to {}{}\n", capitals_,
        in_capitals(name), scratch,
        morello_kernel_scratch_alignment(f_.variants.front().kernel.get()),
        scratch == 0 ? ": may be NULL" : "");
    add(" *  @return as {}() */\n", f_.name);
    for (const std::string& suffix : suffixes())
      add("int {}{}(const {} *from, {} *to, void *scratch);\n", pack_name(f_, index), suffix, type,
          type);
  }

  std::vector<std::string> suffixes() const {
    std::vector<std::string> all = {""};
    for (const Variant& v : f_.variants) all.push_back(v.suffix);
    return all;
  }

  const Function& f_;
  const uint32_t count_;
  const std::vector<uint32_t> packed_;
  const std::string capitals_;
  std::vector<const char*> isas_;
  std::string text_;
};

constexpr const char* kConventions =
    R"( *
 * Every function may be called from any thread, as often as you like; it allocates nothing, and
 * calls nothing of any library. Pointers are aligned to the size of an element; nothing outside of
 * the operands is read or written. Inputs may overlap one another; an output shares no element
 * with another operand, not even in place, and scratch no byte with anything. A function without an
 * instruction set at the end of its name takes the best one that this CPU can run.
 * bf16 and f16 are the bits of such numbers.
 */
)";

/// The same in every header, so that programs may have several.
constexpr const char* kParallelFor = R"(
#ifndef MORELLO_PARALLEL_FOR
#define MORELLO_PARALLEL_FOR
/** How a function gets its threads, as often in a call as it has loops for them: it calls
 *  fn(arg, i) once for each i in [0, count), on any threads, in any order, also one after another,
 *  and returns when all calls have returned. Must not throw. */
typedef void (*morello_parallel_for)(void *user, size_t count,
                                     void (*fn)(void *arg, size_t index), void *arg);
#endif
)";

}  // namespace

std::string in_capitals(std::string name) {
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return name;
}

std::string make_header(const std::vector<Function>& functions) {
  // Headers with the same first function cannot be included together anyway.
  const std::string guard = "MORELLO_EMITTED_" + in_capitals(functions.front().name) + "_H";
  std::string text =
      fmt::format("/* Kernels for tensor computations, made by `morello emit` {}.\n{}",
                  morello_version_string(), kConventions);
  text += fmt::format("#ifndef {}\n#define {}\n\n#include <stddef.h>\n#include <stdint.h>\n\n",
                      guard, guard);
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  if (std::any_of(functions.begin(), functions.end(), [](const auto& f) { return f.threads > 1; }))
    text += kParallelFor;
  for (const Function& f : functions) text += "\n" + Declarations(f).text();
  text += "\n#ifdef __cplusplus\n}\n#endif\n\n";
  return text + fmt::format("#endif /* {} */\n", guard);
}

}  // namespace morello::tools
