// SPDX-License-Identifier: MIT
// What `morello emit` is made of: the functions that are asked for, and the sections that they
// become.
#ifndef MORELLO_CAPI_TOOLS_EMIT_PARTS_HH
#define MORELLO_CAPI_TOOLS_EMIT_PARTS_HH

#include <cstdint>
#include <string>
#include <vector>

#include "handles.hh"

namespace morello::tools {

/// The kernel of a Spec for one instruction set.
struct Variant {
  int32_t isa = MORELLO_ISA_AUTO;
  std::string suffix;  // "_avx2": what its names end with
  KernelPtr kernel;
};

/// One Spec, as a function of C.
struct Function {
  std::string name;
  std::string text;  // the Spec as it is printed
  SpecPtr spec;
  std::vector<Variant> variants;  // the most wanted first
  int64_t largest = 0;            // of a run-time size; 0: there is none
  SpecPtr smallest;               // of size 1, where there is one
  uint32_t threads = 1;           // that it may ask its caller for
};

/// "a", "b", .. in the order of the Spec, and "out"; of several outputs "out0", "out1", ..
std::string operand_name(const Function& function, uint32_t index);
bool is_output(const Function& function, uint32_t operand);
/// Whether an output is read, and added to. REQUIRES: is_output().
bool is_added_to(const Function& function, uint32_t operand);
/// The axis that has the run-time size, or -1.
int sized_axis(const Function& function, uint32_t operand);

/// Those whose layout is free: callers pack them.
std::vector<uint32_t> packed_operands(const morello_spec* spec);
/// "matmul_pack_b", to which variants append their suffix.
std::string pack_name(const Function& function, uint32_t operand);

struct Symbol {
  std::string name;
  uint64_t offset = 0, size = 0;
  bool global = false;
  bool is_code = true;  // else data
};

/// 4 bytes that become `symbol` + addend - their own address.
struct Relocation {
  uint64_t offset = 0;
  std::string symbol;  // a local one of this object
  int64_t addend = 0;
};

/// The frame of one function, for unwinding. Offsets are in the section.
struct Frame {
  uint64_t begin = 0, end = 0;
  std::vector<morello_frame_step> steps;
};

struct Section {
  std::string name;
  std::string bytes;
  uint64_t alignment = 64;
  std::vector<Symbol> symbols;
  std::vector<Relocation> relocations;
  std::vector<Frame> frames;
};

}  // namespace morello::tools

#endif
