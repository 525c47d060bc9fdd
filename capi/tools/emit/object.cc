// SPDX-License-Identifier: MIT
#include "emit/object.hh"

#include <fcntl.h>
#include <libelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "emit/assemble.hh"
#include "emit/frames.hh"
#include "fmt/format.h"

namespace morello::tools {
namespace {

/// Strings, zero-terminated, by offset; the first one is empty.
class Strings {
 public:
  uint32_t add(const std::string& text) {
    const uint32_t offset = static_cast<uint32_t>(bytes_.size());
    bytes_.append(text).push_back('\0');
    return offset;
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_ = std::string(1, '\0');
};

template <typename T>
std::string bytes_of(const std::vector<T>& all) {
  return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T));
}

struct Header {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  uint64_t flags = 0, alignment = 1, entry_size = 0, size = 0;  // size: of SHT_NOBITS
  uint32_t link = 0, info = 0;
  std::string bytes;
};

/// The sections of an object, all but those of its strings in their final order.
class Object {
 public:
  explicit Object(const std::vector<Section>& sources) {
    // Sections count from 1. A section symbol has the number of its section.
    for (const Section& s : sources)
      add({s.name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, s.alignment, 0, 0, 0, 0, s.bytes});
    const uint32_t words = add({".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, 4, 0, 4, 0, 0, ""});
    const FrameTable table = make_frame_table(sources);
    const uint32_t frames = add({".eh_frame", SHT_PROGBITS, SHF_ALLOC, 8, 0, 0, 0, 0, table.bytes});
    add({".note.GNU-stack", SHT_PROGBITS, 0, 1, 0, 0, 0, 0, ""});  // empty: no executable stack
    const uint32_t relocated = static_cast<uint32_t>(headers_.size());

    symbols_.push_back({});
    for (uint32_t i = 1; i <= relocated; i++)
      symbols_.push_back({0, ELF64_ST_INFO(STB_LOCAL, STT_SECTION), 0, section_number(i), 0, 0});
    Symbol word = {kUsableIsas, 0, 4, false, false};
    add_symbol(word, words);
    for (size_t s = 0; s < sources.size(); s++)
      for (const Symbol& symbol : sources[s].symbols)
        if (!symbol.global) add_symbol(symbol, static_cast<uint32_t>(s + 1));
    first_global_ = static_cast<uint32_t>(symbols_.size());
    for (size_t s = 0; s < sources.size(); s++)
      for (const Symbol& symbol : sources[s].symbols)
        if (symbol.global) add_symbol(symbol, static_cast<uint32_t>(s + 1));

    const uint32_t symbol_table = relocated + 1;  // what follows refers to it
    std::vector<Header> relocations;
    for (size_t s = 0; s < sources.size(); s++) {
      std::vector<Elf64_Rela> all;
      for (const Relocation& r : sources[s].relocations) {
        const auto& [section, offset] = places_.at(r.symbol);
        all.push_back({r.offset, ELF64_R_INFO(section, R_X86_64_PC32),
                       static_cast<int64_t>(offset) + r.addend});
      }
      relocations.push_back(relocations_of(static_cast<uint32_t>(s + 1), symbol_table, all));
    }
    std::vector<Elf64_Rela> all;
    for (const FrameTable::Place& p : table.places)
      all.push_back({p.offset, ELF64_R_INFO(p.section + 1, R_X86_64_PC32), p.addend});
    relocations.push_back(relocations_of(frames, symbol_table, all));

    add({".symtab", SHT_SYMTAB, 0, 8, sizeof(Elf64_Sym), 0, symbol_table + 1, first_global_,
         bytes_of(symbols_)});
    add({".strtab", SHT_STRTAB, 0, 1, 0, 0, 0, 0, names_.bytes()});
    for (Header& r : relocations)
      if (!r.bytes.empty()) add(std::move(r));
    add({".shstrtab", SHT_STRTAB, 0, 1, 0, 0, 0, 0, ""});
  }

  /// Writes it to a descriptor. False: elf_errmsg() says why.
  bool write(int fd) {
    elf_version(EV_CURRENT);
    const std::unique_ptr<Elf, int (*)(Elf*)> owner(elf_begin(fd, ELF_C_WRITE, nullptr), elf_end);
    Elf* const elf = owner.get();
    if (elf == nullptr) return false;
    Elf64_Ehdr* file = elf64_newehdr(elf);
    if (file == nullptr) return false;
    file->e_ident[EI_DATA] = ELFDATA2LSB;
    file->e_ident[EI_OSABI] = ELFOSABI_SYSV;
    file->e_type = ET_REL;
    file->e_machine = EM_X86_64;
    file->e_version = EV_CURRENT;
    file->e_shstrndx = section_number(static_cast<uint32_t>(headers_.size()));
    Strings names;
    std::vector<uint32_t> name_offsets;
    for (const Header& h : headers_) name_offsets.push_back(names.add(h.name));
    headers_.back().bytes = names.bytes();
    for (size_t i = 0; i < headers_.size(); i++)
      if (!write_section(elf, headers_[i], name_offsets[i])) return false;
    return elf_update(elf, ELF_C_WRITE) != -1;
  }

 private:
  static uint16_t section_number(uint32_t number) { return static_cast<uint16_t>(number); }

  uint32_t add(Header header) {
    headers_.push_back(std::move(header));
    return static_cast<uint32_t>(headers_.size());
  }

  void add_symbol(const Symbol& s, uint32_t section) {
    places_[s.name] = {section, s.offset};
    const auto binding = s.global ? STB_GLOBAL : STB_LOCAL;
    const auto type = s.is_code ? STT_FUNC : STT_OBJECT;
    symbols_.push_back({names_.add(s.name),
                        static_cast<unsigned char>(ELF64_ST_INFO(binding, type)), STV_DEFAULT,
                        section_number(section), s.offset, s.size});
  }

  Header relocations_of(uint32_t section, uint32_t symbols, const std::vector<Elf64_Rela>& all) {
    return {".rela" + headers_[section - 1].name,
            SHT_RELA,
            SHF_INFO_LINK,
            8,
            sizeof(Elf64_Rela),
            0,
            symbols,
            section,
            bytes_of(all)};
  }

  static bool write_section(Elf* elf, Header& h, uint32_t name) {
    Elf_Scn* section = elf_newscn(elf);
    Elf64_Shdr* header = section == nullptr ? nullptr : elf64_getshdr(section);
    Elf_Data* data = section == nullptr ? nullptr : elf_newdata(section);
    if (header == nullptr || data == nullptr) return false;
    data->d_buf = h.type == SHT_NOBITS ? nullptr : h.bytes.data();
    data->d_size = h.type == SHT_NOBITS ? h.size : h.bytes.size();
    data->d_align = h.alignment;
    data->d_type = ELF_T_BYTE;
    data->d_version = EV_CURRENT;
    header->sh_name = name;
    header->sh_type = h.type;
    header->sh_flags = h.flags;
    header->sh_link = h.link;
    header->sh_info = h.info;
    header->sh_entsize = h.entry_size;
    return true;
  }

  std::vector<Header> headers_;
  std::vector<Elf64_Sym> symbols_;
  std::map<std::string, std::pair<uint32_t, uint64_t>> places_;  // section and offset
  Strings names_;
  uint32_t first_global_ = 0;
};

/// Everything that was written to a descriptor.
bool read_back(int fd, std::string* bytes) {
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size < 0) return false;
  bytes->resize(static_cast<size_t>(size));
  return pread(fd, bytes->data(), bytes->size(), 0) == static_cast<ssize_t>(bytes->size());
}

}  // namespace

std::string find_missing_writer() { return {}; }

std::string make_object(const std::vector<Section>& sections, std::string* problem) {
  constexpr size_t kMostSections = SHN_LORESERVE / 2 - 16;  // each may have relocations
  if (sections.size() > kMostSections) {
    *problem = fmt::format("at most {} Specs fit in one object", kMostSections - 1);
    return {};
  }
  const int fd = memfd_create("morello-emit", MFD_CLOEXEC);
  std::string bytes;
  if (fd < 0) {
    *problem = fmt::format("no memory for an object: {}", std::strerror(errno));
  } else if (errno = 0; !Object(sections).write(fd)) {
    const int why = errno;
    *problem = fmt::format("libelf: {}", elf_errmsg(-1));
    if (why != 0) *problem += fmt::format(" ({})", std::strerror(why));
  } else if (!read_back(fd, &bytes)) {
    *problem = fmt::format("cannot read what libelf wrote: {}", std::strerror(errno));
  }
  if (fd >= 0) close(fd);
  return problem->empty() ? bytes : std::string();
}

}  // namespace morello::tools
