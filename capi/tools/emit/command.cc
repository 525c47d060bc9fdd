// SPDX-License-Identifier: MIT
// morello emit: kernels as files that other people's build systems link.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "CLI/CLI.hpp"
#include "command.hh"
#include "emit/assemble.hh"
#include "emit/header.hh"
#include "emit/object.hh"
#include "emit/parts.hh"
#include "emit/rust.hh"
#include "flags.hh"
#include "fmt/ranges.h"
#include "job.hh"
#include "output.hh"

namespace morello::tools {

bool is_output(const Function& f, uint32_t operand) {
  return operand + morello_spec_output_count(f.spec.get()) >=
         morello_spec_operand_count(f.spec.get());
}

/// In the printed form each output follows a sign, and nothing but outputs the last ones. That is
/// sure of sizes that are known: Specs with a run-time size are printed much as they were written.
bool is_added_to(const Function& f, uint32_t operand) {
  const std::string text =
      text_of(morello_spec_print,
              static_cast<const morello_spec*>(f.smallest ? f.smallest.get() : f.spec.get()));
  size_t at = text.size();
  for (uint32_t o = morello_spec_operand_count(f.spec.get()); o > operand && at > 0; o--)
    at = std::max(text.rfind("->", at - 1) + 1, text.rfind("+=", at - 1) + 1);
  return at > 0 && text.compare(at - 1, 2, "+=") == 0;
}

std::string operand_name(const Function& f, uint32_t index) {
  if (!is_output(f, index)) return std::string(1, static_cast<char>('a' + index));
  const uint32_t outputs = morello_spec_output_count(f.spec.get());
  const uint32_t first = morello_spec_operand_count(f.spec.get()) - outputs;
  return outputs == 1 ? "out" : fmt::format("out{}", index - first);
}

std::vector<uint32_t> packed_operands(const morello_spec* spec) {
  std::vector<uint32_t> packed;
  for (uint32_t i = 0; i < morello_spec_operand_count(spec); i++) {
    morello_tensor t = {};
    morello_spec_operand(spec, i, &t);
    if (t.layout == MORELLO_LAYOUT_FREE) packed.push_back(i);
  }
  return packed;
}

std::string pack_name(const Function& function, uint32_t operand) {
  return fmt::format("{}_pack_{}", function.name, operand_name(function, operand));
}

int sized_axis(const Function& function, uint32_t operand) {
  if (!function.smallest) return -1;
  morello_tensor whole = {}, one = {};
  morello_spec_operand(function.spec.get(), operand, &whole);
  morello_spec_operand(function.smallest.get(), operand, &one);
  for (uint32_t axis = 0; axis < whole.rank; axis++)
    if (whole.shape[axis] != one.shape[axis]) return static_cast<int>(axis);
  return -1;
}

namespace {

constexpr const char* kDefaultPrefix = "morello_";

bool is_identifier(const std::string& text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  });
}

/// What names end with that no function should have: types, and macros, which are in capitals.
constexpr const char* kReservedEnds[] = {"_t", "_MAX", "_MIN", "_C", "_WIDTH"};

/// Words that no function can be named by, in C or in C++.
constexpr const char* kKeywords[] = {
    "alignas", "alignof",  "and",       "asm",      "auto",      "bool",     "break",    "case",
    "catch",   "char",     "class",     "const",    "constexpr", "continue", "decltype", "default",
    "delete",  "do",       "double",    "else",     "enum",      "explicit", "export",   "extern",
    "false",   "float",    "for",       "friend",   "goto",      "if",       "inline",   "int",
    "long",    "mutable",  "namespace", "new",      "noexcept",  "not",      "nullptr",  "operator",
    "or",      "private",  "protected", "public",   "register",  "restrict", "return",   "short",
    "signed",  "sizeof",   "static",    "struct",   "switch",    "template", "this",     "throw",
    "true",    "try",      "typedef",   "typename", "union",     "unsigned", "using",    "virtual",
    "void",    "volatile", "while",     "xor",      "main",      "NULL",     "linux",    "unix",
    "offsetof"};

/// Is it of the language's own, or of a type or a limit in the headers that ours includes?
bool is_reserved(const std::string& name) {
  if (name[0] == '_') return true;
  return std::any_of(std::begin(kReservedEnds), std::end(kReservedEnds),
                     [&](const char* end) { return name.ends_with(end); });
}

/// What the header's constants end with; of packed operands more, which begin as their functions
/// do.
constexpr const char* kConstants[] = {"_largest_size", "_threads", "_scratch_bytes",
                                      "_scratch_alignment"};

/// The same words of Rust.
constexpr const char* kRustKeywords[] = {
    "abstract", "as",    "async", "await",    "become",  "box",  "crate", "dyn",
    "final",    "fn",    "impl",  "in",       "let",     "loop", "macro", "match",
    "mod",      "move",  "mut",   "override", "priv",    "pub",  "ref",   "self",
    "super",    "trait", "type",  "unsafe",   "unsized", "use",  "where", "yield",
    "Self",     "Ok",    "Err",   "Some",     "None"};

/// A name that the user gave, and the Spec: "NAME = SPEC", or only that.
struct Request {
  std::string name;
  std::string text;
  uint64_t input_line = 0;
};

/// Graphs begin with a word and "=" as well: what is a Spec as a whole has no name.
bool is_spec(morello_context* context, const std::string& text) {
  morello_spec* spec = nullptr;
  morello_error* error = nullptr;
  const bool ok = morello_spec_parse(context, text.c_str(), &spec, &error) == MORELLO_OK;
  SpecPtr kept_spec(spec);
  ErrorPtr kept_error(error);
  return ok;
}

Request read_request(morello_context* context, const std::string& text, uint64_t input_line) {
  const size_t equals = text.find('=');
  const size_t first = text.find_first_not_of(" \t");
  if (equals == text.npos || first == text.npos) return {"", text, input_line};
  std::string name = text.substr(first, equals - first);
  name.erase(name.find_last_not_of(" \t") + 1);
  if (!is_identifier(name) || is_spec(context, text)) return {"", text, input_line};
  // So that columns in messages are those of what was typed.
  return {name, std::string(equals + 1, ' ') + text.substr(equals + 1), input_line};
}

/// "morello_matmul_m4n16k8_avx2" -> "matmul_m4n16k8"; with a run-time size "matmul_m4n16k8_sized".
std::string stem_of(const morello_kernel* kernel) {
  std::string name = morello_kernel_name(kernel);
  const std::string suffix = std::string("_") + isa_name(morello_kernel_isa(kernel));
  name.erase(name.rfind(suffix), suffix.size());
  return name.substr(std::string(kDefaultPrefix).size());
}

/// Collects functions, and makes files of them.
class Emission {
 public:
  explicit Emission(const Arguments& arguments) : arguments_(arguments) {}

  int run();

 private:
  int usage_error(const std::string& message) {
    print_error("morello: {}\nmorello emit --help says more.\n", message);
    return kExitUsage;
  }
  int check_files();
  int read_isas();
  int read_requests();
  int load_tables();
  int add_function(const Request& request);
  int add_variant(const Request& request, int32_t isa, Function* function);
  int check_names(const Request& request, const Function& function);
  int write();
  void report(const std::string& what) const;

  const Arguments& arguments_;
  std::vector<int32_t> isas_;
  std::vector<Request> requests_;
  ContextPtr context_;
  TablePtr table_;
  std::vector<Function> functions_;
  std::map<std::string, std::string> names_;  // in capitals, and the Spec that has it
};

/// Before kernels are searched for.
int Emission::check_files() {
  namespace fs = std::filesystem;
  const std::pair<const char*, const std::string&> files[] = {
      {"-o", arguments_.output}, {"--header", arguments_.header}, {"--rust", arguments_.rust}};
  std::map<fs::path, const char*> taken;
  for (const auto& [option, path] : files) {
    if (path.empty()) continue;
    if (const std::string problem = find_unwritable({path}); !problem.empty())
      return report_failure(arguments_, path, problem);
    std::error_code unknown;
    if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown)) continue;
    const auto [first, is_new] =
        taken.emplace(fs::weakly_canonical(fs::absolute(path), unknown), option);
    if (!is_new)
      return usage_error(fmt::format("{} and {} are both {}: each file needs a name of its own",
                                     first->second, option, in_quotes(path)));
  }
  return kExitOk;
}

int Emission::read_isas() {
  std::set<int32_t> wanted;
  std::vector<const char*> valid;
  for (const auto& [name, number] : kTargets)
    if (number != MORELLO_ISA_AUTO) valid.push_back(name);
  for (const std::string& word : CLI::detail::split(arguments_.isas, ',')) {
    const auto found = std::find_if(std::begin(kTargets), std::end(kTargets), [&](const auto& t) {
      return t.second != MORELLO_ISA_AUTO && CLI::detail::to_lower(word) == t.first;
    });
    if (found == std::end(kTargets))
      return usage_error(fmt::format("--isa: {} is none of {}; several are separated by commas",
                                     in_quotes(word), fmt::join(valid, ", ")));
    wanted.insert(found->second);
  }
  isas_.assign(wanted.begin(), wanted.end());
  if (isas_.empty())
    return usage_error(fmt::format("--isa: none is given; valid are {}", fmt::join(valid, ", ")));
  return kExitOk;
}

int Emission::read_requests() {
  for (const std::string& text : arguments_.specs) {
    if (text != "-") {
      requests_.push_back(read_request(context_.get(), text, 0));
      continue;
    }
    Arguments lines = arguments_;
    lines.spec = text;
    const int exit_code =
        for_each_spec(lines, [&](const Arguments& numbered, const std::string& line) {
          requests_.push_back(read_request(context_.get(), line, numbered.input_line));
          return kExitOk;
        });
    if (exit_code != kExitOk) return exit_code;
  }
  if (requests_.empty()) return usage_error("no SPEC was given");
  return kExitOk;
}

int Emission::load_tables() {
  morello_error* error = nullptr;
  if (morello::tools::load_tables(arguments_.tables, context_.get(), &table_, &error))
    return kExitOk;
  return report_error(arguments_, "", ErrorPtr(error).get());
}

int Emission::add_variant(const Request& request, int32_t isa, Function* function) {
  Arguments arguments = arguments_;
  arguments.target = isa;
  arguments.input_line = request.input_line;
  std::optional<Job> job =
      make_job_in(arguments, request.text, JobKind::kCode, context_.get(), table_.get());
  if (!job) return kExitLibrary;
  if (!function->spec) {
    function->largest = morello_kernel_largest_size(job->kernel.get());
    morello_spec* smallest = nullptr;
    morello_error* error = nullptr;
    if (function->largest != 0 &&
        morello_spec_at_size(job->spec.get(), 1, &smallest, &error) != MORELLO_OK)
      return report_error(arguments, request.text, ErrorPtr(error).get());
    function->smallest.reset(smallest);
    function->threads = arguments.threads;
    function->text = job->text;
    function->spec = std::move(job->spec);
    function->name =
        request.name.empty() ? arguments_.prefix + stem_of(job->kernel.get()) : request.name;
  }
  function->variants.push_back({isa, std::string("_") + isa_name(isa), std::move(job->kernel)});
  return kExitOk;
}

int Emission::check_names(const Request& request, const Function& function) {
  Arguments arguments = arguments_;
  arguments.input_line = request.input_line;
  const auto same = [&](const char* word) { return word == function.name; };
  if (is_reserved(function.name) || std::any_of(std::begin(kKeywords), std::end(kKeywords), same) ||
      (!arguments_.rust.empty() &&
       std::any_of(std::begin(kRustKeywords), std::end(kRustKeywords), same)))
    return report_text(arguments, request.text,
                       fmt::format("no function can be named {}", function.name), 1);
  std::vector<std::string> all = {function.name};
  for (uint32_t operand : packed_operands(function.spec.get()))
    all.push_back(pack_name(function, operand));
  for (const std::string& name : all) {
    std::vector<std::string> both = {name};
    for (const Variant& v : function.variants) both.push_back(name + v.suffix);
    for (const char* constant : kConstants) both.push_back(name + constant);
    for (const std::string& each : both) {
      // Constants of the header are in capitals.
      const auto [place, is_new] = names_.emplace(in_capitals(each), function.text);
      if (is_new) continue;
      return report_text(
          arguments, request.text,
          fmt::format(
              "the name {} is that of another SPEC, too: {}. Give one of them a name of its "
              "own: 'NAME = SPEC'",
              each, place->second),
          1);
    }
  }
  return kExitOk;
}

int Emission::add_function(const Request& request) {
  Function function;
  for (int32_t isa : isas_)
    if (const int exit_code = add_variant(request, isa, &function); exit_code != kExitOk)
      return exit_code;
  // The most wanted first, as the library would choose.
  std::vector<Variant> ordered;
  uint32_t left = 0;
  for (int32_t isa : isas_) left |= 1u << isa;
  while (left != 0) {
    const int32_t best = morello_spec_isa(function.spec.get(), left);
    left &= ~(1u << best);
    for (Variant& v : function.variants)
      if (v.isa == best) ordered.push_back(std::move(v));
  }
  function.variants = std::move(ordered);
  if (const int exit_code = check_names(request, function); exit_code != kExitOk) return exit_code;
  functions_.push_back(std::move(function));
  return kExitOk;
}

int Emission::write() {
  std::vector<Section> sections = {assemble_detection(isas_)};
  std::vector<std::string> symbols;
  for (const Function& f : functions_) {
    sections.push_back(assemble(f));
    for (const Symbol& s : sections.back().symbols)
      if (s.global) symbols.push_back(s.name);
  }
  const auto file_name = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  std::string problem;
  std::string bytes = make_object(sections, &problem);
  if (!problem.empty()) problem = fmt::format("{}: cannot be made: {}", arguments_.output, problem);
  if (problem.empty() && arguments_.static_lib) bytes = make_archive(bytes, symbols);
  if (problem.empty() && arguments_.shared)
    bytes = make_shared_library(bytes, file_name(arguments_.output), &problem);
  if (problem.empty()) {
    std::vector<NewFile> files = {{arguments_.output, std::move(bytes)}};
    if (!arguments_.header.empty()) files.push_back({arguments_.header, make_header(functions_)});
    if (!arguments_.rust.empty()) files.push_back({arguments_.rust, make_rust(functions_)});
    problem = replace_files(files);
  }
  if (problem.empty()) return kExitOk;
  for (const std::string& path : {arguments_.header, arguments_.rust})
    if (!path.empty() && problem.find(path) == problem.npos)
      problem += fmt::format("; {} is not written either", path);
  return report_failure(arguments_, arguments_.output, problem);
}

void Emission::report(const std::string& what) const {
  if (arguments_.json) {
    Json all = Json::array();
    for (const Function& f : functions_) {
      Json variants = Json::array();
      for (const Variant& v : f.variants) {
        size_t code_bytes = 0;
        morello_kernel_code(v.kernel.get(), &code_bytes);
        variants.push_back({{"isa", isa_name(v.isa)},
                            {"code_bytes", code_bytes},
                            {"scratch_bytes", morello_kernel_scratch_size(v.kernel.get())},
                            {"cost_cycles", morello_kernel_cost(v.kernel.get())}});
      }
      all.push_back({{"name", f.name}, {"spec", f.text}, {"variants", variants}});
      if (f.largest != 0) all.back()["largest_size"] = f.largest;
      if (f.threads > 1) all.back()["threads"] = f.threads;
    }
    print_json({{"file", arguments_.output}, {"header", arguments_.header}, {"functions", all}});
    return;
  }
  for (const Function& f : functions_) {
    std::vector<std::string> variants;
    for (const Variant& v : f.variants) {
      size_t bytes = 0;
      morello_kernel_code(v.kernel.get(), &bytes);
      variants.push_back(
          fmt::format("{} {} bytes", isa_name(v.isa), grouped(static_cast<double>(bytes))));
    }
    write_out(fmt::format("{}  {} ({})\n", f.name, f.text, fmt::join(variants, ", ")));
  }
  print("wrote {}\n", what);
}

int Emission::run() {
  if (const std::string missing = find_missing_writer(); !missing.empty())
    return report_failure(arguments_, arguments_.output, missing);
  if (!is_identifier(arguments_.prefix))
    return usage_error(
        fmt::format("--prefix: {} is no beginning of a C name", in_quotes(arguments_.prefix)));
  if (arguments_.threads > 1 && !arguments_.rust.empty())
    return usage_error("--rust is of functions for one thread; leave out --threads, or --rust");
  if (const int exit_code = check_files(); exit_code != kExitOk) return exit_code;
  if (const int exit_code = read_isas(); exit_code != kExitOk) return exit_code;
  morello_error* error = nullptr;
  context_ = make_context(arguments_, &error);
  if (!context_) return report_error(arguments_, "", ErrorPtr(error).get());
  if (const int exit_code = read_requests(); exit_code != kExitOk) return exit_code;
  if (const int exit_code = load_tables(); exit_code != kExitOk) return exit_code;
  for (const Request& request : requests_)
    if (const int exit_code = add_function(request); exit_code != kExitOk) return exit_code;
  if (const int exit_code = write(); exit_code != kExitOk) return exit_code;
  std::string written = arguments_.output;
  for (const std::string& path : {arguments_.header, arguments_.rust})
    if (!path.empty()) written += ", " + path;
  report(written);
  return kExitOk;
}

}  // namespace

CLI::App* add_emit_command(CLI::App* app, Arguments* arguments) {
  CLI::App* command = app->add_subcommand(
      "emit", "write kernels to an object file and a C header, to be linked into other programs");
  command
      ->add_option("SPEC", arguments->specs,
                   "the computations; 'NAME = SPEC' names the function; - reads lines")
      ->required();
  command->add_option("-o,--output", arguments->output, "the object file, or library (required)")
      ->required()
      ->option_text("FILE");
  command->add_option("--header", arguments->header, "the C header")->option_text("FILE.h");
  command->add_option("--rust", arguments->rust, "the same for Rust, to be included in a module")
      ->option_text("FILE.rs");
  arguments->isas = "avx2,avx512";
  arguments->prefix = kDefaultPrefix;
  const CLI::Option* isas =
      command
          ->add_option("--isa", arguments->isas,
                       "what to make kernels for, whatever this CPU has (default avx2,avx512)")
          ->option_text("ISA,..");
  std::vector<std::string> names;
  for (const auto& [name, number] : kTargets)
    if (number != MORELLO_ISA_AUTO) names.push_back(name);
  offer_words(isas, names);
  command
      ->add_option("--prefix", arguments->prefix,
                   "what names that were not given begin with (default morello_)")
      ->option_text("NAME");
  CLI::Option* const static_lib =
      command->add_flag("--static-lib", arguments->static_lib, "write a static library");
  command
      ->add_flag("--shared", arguments->shared, "write a shared library, by the linker ($LD, ld)")
      ->excludes(static_lib);
  add_whole(command, "--threads", "most threads that a function asks its caller for (default 1)",
            {1, 1024}, &arguments->threads);
  add_whole(command, "--search-threads", "threads that search (default 1; 0: one per processor)",
            {0, 1024}, &arguments->search_threads);
  command
      ->add_option("--table", arguments->tables,
                   "look here before searching; several files are merged")
      ->allow_extra_args(false)
      ->option_text("FILE.mtab (repeat)");
  add_table_memory(command, arguments);
  command->add_flag("--json", arguments->json, "one line of JSON on standard output");
  return command;
}

int emit_command(const Arguments& arguments) { return Emission(arguments).run(); }

}  // namespace morello::tools
