// SPDX-License-Identifier: MIT
#include "emit/rust.hh"

#include <algorithm>

#include "emit/sizes.hh"
#include "fmt/format.h"

namespace morello::tools {
namespace {

constexpr size_t kLineBytes = 64;

struct Element {
  const char* name;
  size_t bytes;
};

/// Floats of 16 bits are their bits.
Element element_of(int32_t dtype) {
  switch (dtype) {
    case MORELLO_F32:
      return {"f32", 4};
    case MORELLO_BF16:
    case MORELLO_F16:
      return {"u16", 2};
    case MORELLO_I8:
      return {"i8", 1};
    case MORELLO_U8:
      return {"u8", 1};
    case MORELLO_I32:
      return {"i32", 4};
  }
  return {"u8", 1};
}

std::string lines(size_t bytes) {
  return fmt::format("[Line; {}]", (bytes + kLineBytes - 1) / kLineBytes);
}

struct Argument {
  std::string name;
  std::string element, type;  // of an array, or of a slice with a run-time size
  bool is_written;
  std::string least = "";  // elements of such a slice
};

/// `largest`: of the run-time size, the argument before the last; 0: there is none.
std::string function_text(const std::string& document, const std::string& name,
                          const std::vector<Argument>& arguments, int64_t largest = 0) {
  std::string parameters, pointers, passed, checks;
  if (largest != 0)
    checks = fmt::format("    assert!((1..={}).contains(&size), \"{}: size is {{size}}\");\n",
                         largest, name);
  for (const Argument& a : arguments) {
    if (largest != 0 && &a == &arguments.back()) {
      parameters += "    size: usize,\n";
      pointers += "            size: i64,\n";
      passed += ", size as i64";
    }
    if (!a.least.empty())
      checks += fmt::format("    assert!({}.len() >= {}, \"{}: {} is too short\");\n", a.name,
                            a.least, name, a.name);
    parameters += fmt::format("    {}: &{}{},\n", a.name, a.is_written ? "mut " : "", a.type);
    pointers +=
        fmt::format("            {}: *{} {},\n", a.name, a.is_written ? "mut" : "const", a.element);
    passed += fmt::format("{}{}.{}()", passed.empty() ? "" : ", ", a.name,
                          a.is_written ? "as_mut_ptr" : "as_ptr");
  }
  return fmt::format(
      "\n{}#[allow(dead_code)]\npub fn {}(\n{}) -> Result<(), Unavailable> {{\n"
      "    extern \"C\" {{\n        #[link_name = \"{}\"]\n        fn emitted(\n{}        ) -> "
      "i32;\n    }}\n{}"
      "    // SAFETY: the arrays have the sizes that it reads and writes, and what it writes is no "
      "one else's.\n"
      "    match unsafe {{ emitted({}) }} {{\n        0 => Ok(()),\n        _ => "
      "Err(Unavailable),\n    }}\n}}\n",
      document, name, parameters, name, pointers, checks, passed);
}

std::string functions_of(const Function& f) {
  const uint32_t count = morello_spec_operand_count(f.spec.get());
  const std::vector<uint32_t> packed = packed_operands(f.spec.get());
  std::vector<Argument> arguments;
  std::string packs;
  for (uint32_t i = 0; i < count; i++) {
    morello_tensor t = {};
    morello_spec_operand(f.spec.get(), i, &t);
    const Element element = element_of(t.dtype);
    const std::string name = operand_name(f, i);
    size_t dense = 1;
    for (uint32_t axis = 0; axis < t.rank; axis++) dense *= static_cast<size_t>(t.shape[axis]);
    const bool is_packed = std::find(packed.begin(), packed.end(), i) != packed.end();
    const size_t bytes = operand_bytes(f, i);
    const std::string type = fmt::format("[{}; {}]", element.name, bytes / element.bytes);
    const bool is_out = is_output(f, i);
    const int axis = sized_axis(f, i);
    if (axis >= 0) {
      // What a size of 1 spans, and what each further one adds.
      const int64_t step = t.strides[axis];
      const int64_t one = static_cast<int64_t>(bytes / element.bytes) - (f.largest - 1) * step;
      arguments.push_back({name, element.name, fmt::format("[{}]", element.name), is_out,
                           fmt::format("(size - 1) * {} + {}", step, one)});
      continue;
    }
    if (is_packed)
      arguments.push_back({name, "Line", lines(bytes), is_out});
    else
      arguments.push_back({name, element.name, type, is_out});
    if (!is_packed) continue;
    packs += function_text(
        fmt::format(
            "/// Writes `{}` of `{}` in the layout that it expects on this CPU, from row-major.\n",
            name, f.name),
        pack_name(f, i),
        {{"from", element.name, fmt::format("[{}; {}]", element.name, dense), false},
         {"to", "Line", lines(bytes), true},
         {"scratch", "Line", lines(pack_scratch_bytes(f, i)), true}});
  }
  arguments.push_back({"scratch", "Line", lines(scratch_bytes(f)), true});
  std::string document = fmt::format("/// `{}`\n", f.text);
  if (f.largest != 0)
    document += fmt::format(
        "///\n/// `size` is 1 to {}. Panics if it is not, or a slice is too short.\n", f.largest);
  return function_text(document, f.name, arguments, f.largest) + packs;
}

constexpr const char* kBeginning = R"(
/// This CPU can run none of the instruction sets that kernels were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("this CPU can run none of the instruction sets that kernels were made for")
    }
}

impl std::error::Error for Unavailable {}

/// A line of memory: what packed operands and scratch consist of. No scratch is `&mut []`.
#[allow(dead_code)]
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Line(pub [u8; 64]);

#[allow(dead_code)]
impl Line {
    pub const ZERO: Line = Line([0; 64]);
}
)";

}  // namespace

std::string make_rust(const std::vector<Function>& functions) {
  std::string text = fmt::format(
      "// Kernels for tensor computations, made by `morello emit` {}. Elements that a layout "
      "leaves out count\n"
      "// in the sizes of arrays; bf16 and f16 are the bits of such numbers.\n",
      morello_version_string());
  text += kBeginning;
  for (const Function& f : functions) text += functions_of(f);
  return text;
}

}  // namespace morello::tools
