// SPDX-License-Identifier: MIT
#include "emit/assemble.hh"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>

#include "fmt/format.h"

namespace morello::tools {
namespace {

constexpr const char* kFindIsas = "morello_find_isas";

/// Memory that is only written: nothing here runs.
class PlainMemory : public Xbyak::Allocator {
  bool useProtect() const override { return false; }
};

/// Writes a section.
class Writer : private PlainMemory, public Xbyak::CodeGenerator {
 public:
  Writer() : CodeGenerator(1 << 16, Xbyak::AutoGrow, static_cast<PlainMemory*>(this)) {}

  Section finish(std::string name) {
    ready();
    section_.name = std::move(name);
    section_.bytes.assign(reinterpret_cast<const char*>(getCode()), getSize());
    return std::move(section_);
  }

 protected:
  uint32_t here() const { return static_cast<uint32_t>(getSize()); }

  void begin(const std::string& name, bool global) {
    align(16);
    section_.symbols.push_back({name, here(), 0, global, true});
    section_.frames.push_back({here(), 0, {}});
    frame_ = 8;
    note_frame(-1);
  }
  void end() {
    section_.symbols.back().size = here() - section_.symbols.back().offset;
    section_.frames.back().end = here();
  }

  void push_saved(const Xbyak::Reg64& r, int32_t dwarf) {
    push(r);
    frame_ += 8;
    note_frame(dwarf);
  }
  void pop_saved(const Xbyak::Reg64& r) {
    pop(r);
    frame_ -= 8;
    note_frame(-1);
  }
  void make_room(uint32_t bytes) {
    sub(rsp, bytes);
    frame_ += bytes;
    note_frame(-1);
  }
  void free_room(uint32_t bytes) {
    add(rsp, bytes);
    frame_ -= bytes;
    note_frame(-1);
  }

  /// The last four bytes are the distance to `symbol`.
  void relocate(const char* symbol) { section_.relocations.push_back({here() - 4ull, symbol, -4}); }

  Section section_;

 private:
  void note_frame(int32_t saved) {
    section_.frames.back().steps.push_back({here(), frame_, saved});
  }

  uint32_t frame_ = 8;
};

// -- Which instruction sets there are

class Detection : public Writer {
 public:
  explicit Detection(const std::vector<int32_t>& isas) : isas_(isas) {
    for (int32_t isa : isas_) {
      std::vector<morello_cpu_feature> features(morello_isa_features(isa, nullptr, 0));
      morello_isa_features(isa, features.data(), features.size());
      for (const morello_cpu_feature& f : features) {
        bits_[{f.leaf, f.subleaf}][{f.register_number, f.bit}] |= bit_of(isa);
        if (f.xcr0 != 0) states_[static_cast<uint32_t>(f.xcr0)] |= bit_of(isa);
      }
    }
  }

  Section write() {
    begin(kFindIsas, false);
    const std::pair<Xbyak::Reg64, int32_t> kept[] = {{rbx, 3}, {rdi, 5}, {rsi, 4}, {rdx, 1},
                                                     {rcx, 2}, {r8, 8},  {r9, 9}};
    for (const auto& [r, dwarf] : kept) push_saved(r, r == rbx ? dwarf : -1);
    uint32_t all = 1;  // known
    for (int32_t isa : isas_) all |= bit_of(isa);
    mov(esi, all);
    xor_(eax, eax);
    cpuid();
    mov(edi, eax);  // the last leaf
    read_states();
    for (const auto& [mask, isas] : states_) {
      mov(eax, r8d);
      and_(eax, mask);
      cmp(eax, mask);
      without(isas, [&](const Xbyak::Label& has) { je(has); });
    }
    for (const auto& [leaf, bits] : bits_) read_leaf(leaf, bits);
    for (const auto& [mask, isas] : states_)
      if (mask & kTileData) request_tiles(isas);
    mov(dword[rip + 0], esi);
    relocate(kUsableIsas);
    mov(eax, esi);
    for (size_t i = std::size(kept); i-- > 0;) pop_saved(kept[i].first);
    ret();
    end();
    return finish(std::string(".text.") + kFindIsas);
  }

 private:
  static constexpr uint32_t kTileDataState = 18, kTileData = 1u << kTileDataState;  // of XCR0
  using Leaf = std::pair<uint32_t, uint32_t>;                                       // with subleaf
  using Bits = std::map<std::pair<uint32_t, uint32_t>, uint32_t>;  // register and bit: who needs it

  static uint32_t bit_of(int32_t isa) { return 1u << isa; }

  /// r8d = what of XCR0 is asked for; 0 if it cannot be read.
  void read_states() {
    constexpr int kOsxsave = 27;
    Xbyak::Label none;
    xor_(r8d, r8d);
    cmp(edi, 1);
    jb(none);
    mov(eax, 1);
    xor_(ecx, ecx);
    cpuid();
    bt(ecx, kOsxsave);
    jnc(none);
    xor_(ecx, ecx);
    xgetbv();
    mov(r8d, eax);
    L(none);
  }

  /// Linux gives tile registers to processes that ask for them.
  void request_tiles(uint32_t isas) {
    constexpr uint32_t kArchPrctl = 158, kRequest = 0x1023;
    Xbyak::Label none;
    test(esi, isas);
    jz(none);
    mov(r8d, esi);
    mov(edi, kRequest);
    mov(esi, kTileDataState);
    mov(eax, kArchPrctl);
    syscall();  // overwrites rcx and r11
    mov(esi, r8d);
    test(eax, eax);
    without(isas, [&](const Xbyak::Label& has) { jz(has); });
    L(none);
  }

  void read_leaf(const Leaf& leaf, const Bits& bits) {
    Xbyak::Label known, read;
    cmp(edi, leaf.first);
    jae(known);
    for (const Xbyak::Reg32& r : {eax, ebx, ecx, edx}) xor_(r, r);
    jmp(read);
    L(known);
    mov(eax, leaf.first);
    mov(ecx, leaf.second);
    cpuid();
    L(read);
    constexpr int kEncoded[] = {0, 3, 1, 2};  // eax, ebx, ecx, edx
    for (const auto& [place, isas] : bits) {
      bt(Xbyak::Reg32(kEncoded[place.first]), static_cast<uint8_t>(place.second));
      without(isas, [&](const Xbyak::Label& has) { jc(has); });
    }
  }

  /// Takes `isas` from esi, unless `jump` goes to its label.
  template <class F>
  void without(uint32_t isas, F jump) {
    Xbyak::Label has;
    jump(has);
    and_(esi, ~isas);
    L(has);
  }

  const std::vector<int32_t>& isas_;
  std::map<Leaf, Bits> bits_;
  std::map<uint32_t, uint32_t> states_;
};

// -- The functions of a Spec

class Assembly : public Writer {
 public:
  explicit Assembly(const Function& function)
      : function_(function), count_(morello_spec_operand_count(function.spec.get())) {}

  Section write() {
    const std::vector<uint32_t> packed = packed_operands(function_.spec.get());
    std::vector<Xbyak::Label> runs(function_.variants.size());
    std::vector<std::vector<Xbyak::Label>> packs(packed.size());
    for (auto& labels : packs) labels.resize(function_.variants.size());
    for (size_t v = 0; v < function_.variants.size(); v++) {
      const Variant& variant = function_.variants[v];
      const std::string name = function_.name + variant.suffix;
      Xbyak::Label kernel;
      add_code(variant.kernel.get(), -1, name, kernel);
      begin(name, true);
      L(runs[v]);
      pass_operands(kernel);
      end();
      for (size_t p = 0; p < packed.size(); p++) add_pack(variant, packed[p], packs[p][v]);
    }
    choose(function_.name, runs);
    for (size_t p = 0; p < packed.size(); p++) choose(pack_name(function_, packed[p]), packs[p]);
    return finish(".text." + function_.name);
  }

 private:
  /// Copies code of a kernel, with a symbol for each of its functions. False if there is none.
  bool add_code(const morello_kernel* kernel, int32_t operand, const std::string& name,
                Xbyak::Label& entry) {
    morello_code code;
    morello_kernel_code_get(kernel, operand, &code, sizeof code);
    if (code.size == 0) return false;
    align(code.alignment);
    const uint32_t start = here();
    uint32_t tasks = 0, routines = 0, end = 0;
    for (uint32_t i = 0; i < code.function_count; i++) {
      morello_code_function f;
      morello_kernel_code_function_get(kernel, operand, i, &f, sizeof f);
      std::string part = name + ".kernel";
      if (f.kind == MORELLO_CODE_TASK) part = fmt::format("{}.task{}", name, ++tasks);
      if (f.kind == MORELLO_CODE_ROUTINE) part = fmt::format("{}.routine{}", name, ++routines);
      section_.symbols.push_back({part, start + f.begin, f.end - f.begin, false, true});
      Frame frame = {start + f.begin, start + f.end, {f.steps, f.steps + f.step_count}};
      for (morello_frame_step& step : frame.steps) step.offset += start;
      section_.frames.push_back(std::move(frame));
      end = f.end;
    }
    if (end + 4 <= code.size)  // else it is padding
      section_.symbols.push_back({name + ".constants", start + end, code.size - end, false, false});
    for (size_t i = 0; i < code.entry; i++) db(code.bytes[i]);
    L(entry);
    for (size_t i = code.entry; i < code.size; i++) db(code.bytes[i]);
    return true;
  }

  /// From C's arguments (operands, the size if there is one, scratch, with threads parallel_for and
  /// user) to a kernel's: an array of operands, scratch, an executor or none, the size. Of another
  /// size than 1 to the largest it returns -2.
  void pass_operands(Xbyak::Label& kernel) {
    const Xbyak::Reg64 arguments[] = {rdi, rsi, rdx, rcx, r8, r9};
    const bool threaded = function_.threads > 1;
    const uint32_t slots = count_ + (threaded ? sizeof(morello_executor) / 8 : 0);
    const uint32_t room = 8 * slots + (slots % 2 == 0 ? 8 : 0);  // calls align the stack to 16
    uint32_t below = 0;  // on the stack, below the return address
    const auto load = [&](const Xbyak::Reg64& to, uint32_t i) {
      if (i >= std::size(arguments))
        mov(to, qword[rsp + static_cast<int>(below + 8 + 8 * (i - std::size(arguments)))]);
      else if (arguments[i] != to)
        mov(to, arguments[i]);
    };
    const bool sized = function_.largest != 0;
    Xbyak::Label bad_size;
    if (sized) {
      load(rax, count_);
      dec(rax);
      cmp(rax, static_cast<uint32_t>(function_.largest));
      jae(bad_size, T_NEAR);
    }
    make_room(room);
    below = room;
    for (uint32_t i = 0; i < count_; i++) {
      if (i >= std::size(arguments)) load(rax, i);
      mov(qword[rsp + static_cast<int>(8 * i)], i < std::size(arguments) ? arguments[i] : rax);
    }
    const uint32_t scratch = count_ + (sized ? 1 : 0);
    const auto executor = [&](size_t offset) {
      return qword[rsp + static_cast<int>(8 * count_ + offset)];
    };
    if (threaded) {
      mov(executor(offsetof(morello_executor, struct_size)), sizeof(morello_executor));
      load(rax, scratch + 1);
      mov(executor(offsetof(morello_executor, parallel_for)), rax);
      load(rax, scratch + 2);
      mov(executor(offsetof(morello_executor, user)), rax);
    }
    if (sized) load(rax, count_);
    load(rsi, scratch);
    if (sized) mov(rcx, rax);
    mov(rdi, rsp);
    if (threaded) {
      lea(rax, executor(0));
      mov(rdx, executor(offsetof(morello_executor, parallel_for)));
      test(rdx, rdx);
      cmovnz(rdx, rax);
    } else {
      xor_(edx, edx);
    }
    call(kernel);
    xor_(eax, eax);
    free_room(room);
    ret();
    if (!sized) return;
    L(bad_size);
    mov(eax, 0xfffffffe);
    ret();
  }

  /// rdi: row-major; rsi: packed; rdx: scratch.
  void add_pack(const Variant& variant, uint32_t operand, Xbyak::Label& label) {
    const std::string name = pack_name(function_, operand) + variant.suffix;
    const size_t bytes = morello_kernel_operand_size(variant.kernel.get(), operand);
    Xbyak::Label code;
    const bool has_code = add_code(variant.kernel.get(), static_cast<int32_t>(operand), name, code);
    begin(name, true);
    L(label);
    if (has_code) {
      constexpr uint32_t kRoom = 24;
      make_room(kRoom);
      mov(qword[rsp], rdi);
      mov(qword[rsp + 8], rsi);
      mov(qword[rsp + 16], rdx);
      mov(rdi, rsi);
      mov(rcx, bytes);
      xor_(eax, eax);
      rep();
      stosb();  // the padding of panels
      mov(rdi, rsp);
      mov(rsi, qword[rsp + 16]);
      xor_(edx, edx);
      call(code);
      free_room(kRoom);
    } else {
      xchg(rdi, rsi);
      mov(rcx, bytes);
      rep();
      movsb();
    }
    xor_(eax, eax);
    ret();
    end();
  }

  /// Jumps to the first of the variants that this CPU can run, with all arguments as they are, or
  /// returns -1.
  void choose(const std::string& name, std::vector<Xbyak::Label>& labels) {
    Xbyak::Label pick, unknown;
    begin(name, true);
    mov(eax, dword[rip + 0]);
    relocate(kUsableIsas);
    test(eax, eax);
    jz(unknown, T_NEAR);
    L(pick);
    for (size_t v = 0; v < labels.size(); v++) {
      test(eax, 1u << function_.variants[v].isa);
      jnz(labels[v], T_NEAR);
    }
    mov(eax, 0xffffffff);
    ret();
    L(unknown);
    db(0xe8);  // call
    dd(0);
    relocate(kFindIsas);
    jmp(pick);
    end();
  }

  const Function& function_;
  const uint32_t count_;
};

}  // namespace

Section assemble_detection(const std::vector<int32_t>& isas) { return Detection(isas).write(); }

Section assemble(const Function& function) { return Assembly(function).write(); }

}  // namespace morello::tools
