// SPDX-License-Identifier: MIT
#include "runtime/frames.hh"

#include <elf.h>

#include <cstring>

namespace morello {
namespace {

// DWARF's numbers and opcodes.
constexpr u8 kRsp = 7, kReturnAddress = 16;
constexpr u8 kAdvance4 = 0x04, kDefCfa = 0x0c, kDefCfaOffset = 0x0e, kAdvance = 0x40,
             kOffset = 0x80;
constexpr u32 kSlot = 8;  // registers are saved at multiples of it below the CFA

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_byte(std::string& to, u32 value) { to += static_cast<char>(value); }

void put_uleb(std::string& to, u64 value) {
  for (; value >= 0x80; value >>= 7) put_byte(to, (value & 0x7f) | 0x80);
  put_byte(to, static_cast<u32>(value));
}

/// Adds an entry with its length before it; DW_CFA_nop is 0.
void add_entry(std::string& to, std::string entry) {
  while (entry.size() % 8 != 4) entry += '\0';
  put(to, static_cast<u32>(entry.size()));
  to += entry;
}

std::string common_entry() {
  std::string entry;
  put(entry, u32{0});             // it is one that others refer to
  put_byte(entry, 1);             // version
  put_byte(entry, 0);             // no augmentation: addresses are absolute
  put_uleb(entry, 1);             // addresses in bytes
  put_byte(entry, 0x80 - kSlot);  // offsets of registers in slots below, as SLEB128
  put_uleb(entry, kReturnAddress);
  put_byte(entry, kDefCfa);
  put_uleb(entry, kRsp);
  put_uleb(entry, kSlot);
  put_byte(entry, kOffset | kReturnAddress);
  put_uleb(entry, 1);
  return entry;
}

void add_instructions(std::string& to, const CodeFunction& function) {
  u32 at = function.begin, cfa = kSlot;
  for (const morello_frame_step& step : function.steps) {
    if (step.cfa == cfa) continue;
    if (step.offset - at < 0x40) {
      put_byte(to, kAdvance | (step.offset - at));
    } else {
      put_byte(to, kAdvance4);
      put(to, step.offset - at);
    }
    at = step.offset;
    cfa = step.cfa;
    put_byte(to, kDefCfaOffset);
    put_uleb(to, cfa);
    if (step.saved < 0) continue;
    put_byte(to, kOffset | static_cast<u32>(step.saved));
    put_uleb(to, cfa / kSlot);
  }
}

u64 address_of(const Executable& executable) {
  return reinterpret_cast<uintptr_t>(executable.code.data());
}

/// Sections of the image, by their numbers.
enum { kNone, kText, kFrames, kSymbols, kStrings, kSectionCount };

struct Image {
  std::string bytes = std::string(sizeof(Elf64_Ehdr) + kSectionCount * sizeof(Elf64_Shdr), '\0');
  Elf64_Shdr sections[kSectionCount] = {};

  void add(u32 number, u32 type, const std::string& content, u64 alignment) {
    bytes.resize(round_up(bytes.size(), size_t{8}));
    Elf64_Shdr& section = sections[number];
    section.sh_type = type;
    section.sh_offset = bytes.size();
    section.sh_size = content.size();
    section.sh_addralign = alignment;
    bytes += content;
  }
};

}  // namespace

std::vector<NamedFunction> named_functions(const Executable& executable, const std::string& name) {
  std::vector<NamedFunction> all;
  for (const CodeFunction& function : executable.functions) {
    std::string full = name;
    if (function.kind != MORELLO_CODE_ENTRY)
      full +=
          (function.kind == MORELLO_CODE_TASK ? ".task" : ".routine") + std::to_string(all.size());
    all.push_back({std::move(full), &function});
  }
  return all;
}

std::string frame_table(const Executable& executable) {
  std::string table;
  add_entry(table, common_entry());
  for (const CodeFunction& function : executable.functions) {
    std::string entry;
    put(entry, static_cast<u32>(table.size() + 4));  // back to the common entry
    put(entry, address_of(executable) + function.begin);
    put(entry, u64{function.end - function.begin});
    add_instructions(entry, function);
    add_entry(table, std::move(entry));
  }
  put(table, u32{0});
  return table;
}

std::string object_image(const Executable& executable, const std::string& name) {
  std::string strings(1, '\0');
  const auto add_string = [&](const std::string& text) {
    const size_t at = strings.size();
    strings += text;
    strings += '\0';
    return static_cast<u32>(at);
  };
  const u32 names[kSectionCount] = {0, add_string(".text"), add_string(".eh_frame"),
                                    add_string(".symtab"), add_string(".strtab")};
  std::string symbols;
  put(symbols, Elf64_Sym{});
  for (const NamedFunction& f : named_functions(executable, name)) {
    Elf64_Sym symbol{};
    symbol.st_name = add_string(f.name);
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = kText;
    symbol.st_value = f.function->begin;
    symbol.st_size = f.function->end - f.function->begin;
    put(symbols, symbol);
  }
  Image image;
  image.add(kText, SHT_NOBITS, "", kCodeAlignment);
  image.sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  image.sections[kText].sh_addr = address_of(executable);
  image.sections[kText].sh_size = executable.code.size();
  image.add(kFrames, SHT_PROGBITS, frame_table(executable), 8);
  image.sections[kFrames].sh_flags = SHF_ALLOC;
  image.add(kSymbols, SHT_SYMTAB, symbols, 8);
  image.sections[kSymbols].sh_link = kStrings;
  image.sections[kSymbols].sh_info = 1;  // the first that is global
  image.sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  image.add(kStrings, SHT_STRTAB, strings, 1);
  for (u32 s = 0; s < kSectionCount; s++) image.sections[s].sh_name = names[s];

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_shoff = sizeof(header);
  header.e_ehsize = sizeof(header);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSectionCount;
  header.e_shstrndx = kStrings;
  std::memcpy(image.bytes.data(), &header, sizeof(header));
  std::memcpy(image.bytes.data() + sizeof(header), image.sections, sizeof(image.sections));
  return std::move(image.bytes);
}

}  // namespace morello
