// SPDX-License-Identifier: MIT
// morello table: what is in files of tables, whether it is right, and several as one.
#include <filesystem>
#include <sstream>

#include "CLI/CLI.hpp"
#include "command.hh"
#include "flags.hh"
#include "job.hh"
#include "output.hh"

namespace morello::tools {
namespace {

/// Reports an error, by file name, and returns the exit code.
int failed(const Arguments& arguments, const std::string& path, morello_error* error) {
  return report_error(arguments, path, ErrorPtr(error).get());
}

/// An owner of nothing: the error was reported.
TablePtr load(const Arguments& arguments, const std::string& path) {
  morello_error* error = nullptr;
  const ContextPtr context = make_context(arguments, &error);
  if (!context) {
    failed(arguments, path, error);
    return nullptr;
  }
  morello_table* table = nullptr;
  if (morello_table_load(context.get(), path.c_str(), &table, &error) != MORELLO_OK) {
    failed(arguments, path, error);
    return nullptr;
  }
  return TablePtr(table);
}

/// To the file that --output names, or standard output.
int write(const Arguments& arguments, const std::string& path, const std::string& text) {
  if (arguments.output.empty()) {
    write_out(text);
    return kExitOk;
  }
  const std::string problem = write_file(arguments.output, {text});
  return problem.empty() ? kExitOk : report_failure(arguments, path, problem);
}

/// How many members a family has, and how many of them the table covers. Not known if the text is
/// no family: it is for people, and may be from anywhere; nor past so many members that counting
/// takes longer than anyone waits.
struct Coverage {
  std::string family;
  bool known = false;
  uint64_t members = 0, covered = 0;
};
std::vector<Coverage> coverage(const morello_table* table, uint64_t families) {
  constexpr uint64_t kMostCounted = uint64_t{1} << 20;  // seconds
  uint64_t left = kMostCounted;
  std::vector<Coverage> found;
  for (uint64_t i = 0; i < families; i++) {
    Coverage c{morello_table_family(table, i)};
    const char* family = c.family.c_str();
    if (morello_table_coverage(table, family, &c.members, nullptr, nullptr) == MORELLO_OK &&
        c.members <= left &&
        morello_table_coverage(table, family, nullptr, &c.covered, nullptr) == MORELLO_OK) {
      c.known = true;
      left -= c.members;
    }
    found.push_back(c);
  }
  return found;
}

/// Why --spec is not covered; "" if it is. *failed: it is no Spec, which was reported.
std::string miss_of(const Arguments& arguments, const morello_table* table, bool* failed) {
  morello_error* error = nullptr;
  const ContextPtr context = make_context(arguments, &error);
  morello_spec* spec = nullptr;
  if (!context ||
      morello_spec_parse(context.get(), arguments.asked.c_str(), &spec, &error) != MORELLO_OK) {
    report_error(arguments, arguments.asked, ErrorPtr(error).get());
    *failed = true;
    return "";
  }
  const SpecPtr own(spec);
  return miss_text(table, spec);
}

TablePtr part_of(const morello_table* table, uint64_t index) {
  morello_table* part = nullptr;
  morello_table_part(table, index, &part, nullptr);
  return TablePtr(part);
}

std::string count(uint64_t n) { return grouped(static_cast<double>(n)); }

Json part_json(const morello_table* part) {
  morello_table_info info;
  morello_table_info_get(part, &info, sizeof info);
  Json names = Json::array(), covered = Json::array();
  for (const Coverage& c : coverage(part, info.families)) {
    names.push_back(c.family);
    covered.push_back(c.known ? Json{{"members", c.members}, {"covered", c.covered}} : Json());
  }
  return {{"target", isa_name(info.target)},
          {"threads", info.threads},
          {"effort", info.effort == MORELLO_EFFORT_EXACT ? "exact" : "quick"},
          {"families", names},
          {"coverage", covered},
          {"points", info.points},
          {"groups", info.groups},
          {"boxes", info.boxes},
          {"bytes", info.bytes}};
}

void print_part(const morello_table* part) {
  morello_table_info info;
  morello_table_info_get(part, &info, sizeof info);
  print("kernels   {}, machine {}, {} thread{}{}\n", isa_name(info.target), info.machine,
        info.threads, info.threads == 1 ? "" : "s",
        info.effort == MORELLO_EFFORT_EXACT ? "" : ", of quick searches");
  for (const Coverage& c : coverage(part, info.families))
    print("family    {}: {}\n", c.family,
          c.known ? fmt::format("{} of {} members", count(c.covered), count(c.members))
                  : "not counted");
  print("points    {} Specs covered\n", count(info.points));
  print("boxes     {} in {} groups\n", count(info.boxes), count(info.groups));
}

int info(const Arguments& arguments, const std::string& path, const morello_table* table) {
  bool failed = false;
  const std::string miss = arguments.asked.empty() ? "" : miss_of(arguments, table, &failed);
  if (failed) return kExitLibrary;
  morello_table_info info;
  if (const auto status = morello_table_info_get(table, &info, sizeof info); status != MORELLO_OK)
    return report_status(arguments, path, status);
  std::error_code unknown;
  const uintmax_t size = std::filesystem::file_size(path, unknown);
  const uint64_t file_bytes = unknown ? 0 : size;
  if (arguments.json) {
    // Of a table of one part, the part's fields are the table's as well.
    Json report = info.parts == 1 ? part_json(table) : Json();
    report.update({{"file", path},
                   {"machine", info.machine},
                   {"points", info.points},
                   {"groups", info.groups},
                   {"boxes", info.boxes},
                   {"bytes", info.bytes},
                   {"file_bytes", file_bytes},
                   {"version", morello_version_string()},
                   {"cost_model_version", morello_cost_model_version()}});
    report["parts"] = Json::array();
    for (uint64_t i = 0; i < info.parts; i++)
      report["parts"].push_back(part_json(part_of(table, i).get()));
    if (!arguments.asked.empty()) report["miss"] = miss;
    print_json(report);
    return kExitOk;
  }
  print("table     {}\n", path);
  for (uint64_t i = 0; i < info.parts; i++) print_part(part_of(table, i).get());
  if (!arguments.asked.empty()) print("spec      {}\n", miss.empty() ? "covered" : "not covered");
  std::istringstream lines(miss);
  for (std::string line; std::getline(lines, line);) print("          {}\n", line);
  print("bytes     {} in memory, {} in the file\n", count(info.bytes), count(file_bytes));
  print("morello   {}, cost model {}: those of the table\n", morello_version_string(),
        morello_cost_model_version());
  return kExitOk;
}

int verify(const Arguments& arguments, const std::string& path, const morello_table* table) {
  morello_table_verification found;
  morello_error* error = nullptr;
  if (morello_table_verify(table, arguments.points, arguments.seed, &found, sizeof found, &error) !=
      MORELLO_OK)
    return failed(arguments, path, error);
  if (arguments.json) {
    print_json({{"file", path},
                {"ok", found.failures == 0},
                {"promised", found.promised},
                {"pairs", found.pairs},
                {"searched", found.searched},
                {"failures", found.failures},
                {"failure", found.failure},
                {"seed", arguments.seed}});
  } else {
    print("{}: {} Specs covered, {} decisions checked, {} Specs searched for (seed {}): {}\n", path,
          found.promised, found.pairs, found.searched, arguments.seed,
          found.failures == 0 ? "ok" : fmt::format("{} FAILED", found.failures));
    if (found.failures != 0) print_error("morello: {}: {}\n", path, found.failure);
  }
  return found.failures == 0 ? kExitOk : kExitFailed;
}

int dump(const Arguments& arguments, const std::string& path, const morello_table* table) {
  const int json = arguments.json ? 1 : 0;
  std::string text(morello_table_dump(table, json, nullptr, 0), '\0');
  morello_table_dump(table, json, text.data(), text.size() + 1);
  return write(arguments, path, text);
}

int plot(const Arguments& arguments, const std::string& path, const morello_table* whole) {
  const auto name = [](const std::string& axis) { return axis.empty() ? nullptr : axis.c_str(); };
  size_t length = 0;
  morello_error* error = nullptr;
  morello_table* part = nullptr;
  if (morello_table_part(whole, arguments.table_part, &part, &error) != MORELLO_OK)
    return failed(arguments, path, error);
  const TablePtr table(part);
  const auto draw = [&](char* buffer, size_t size) {
    return morello_table_plot(table.get(), static_cast<int64_t>(arguments.group), name(arguments.x),
                              name(arguments.y), buffer, size, &length, &error);
  };
  if (draw(nullptr, 0) != MORELLO_OK) return failed(arguments, path, error);
  std::string svg(length, '\0');
  if (draw(svg.data(), length + 1) != MORELLO_OK) return failed(arguments, path, error);
  return write(arguments, path, svg);
}

int merge(const Arguments& arguments) {
  TablePtr all;
  morello_error* error = nullptr;
  for (const std::string& path : arguments.tables) {
    TablePtr loaded = load(arguments, path);
    if (!loaded) return kExitLibrary;
    if (all) {
      morello_table* merged = nullptr;
      if (morello_table_merge(all.get(), loaded.get(), &merged, &error) != MORELLO_OK)
        return failed(arguments, path, error);
      loaded.reset(merged);
    }
    all = std::move(loaded);
  }
  if (morello_table_save(all.get(), arguments.output.c_str(), &error) != MORELLO_OK)
    return failed(arguments, arguments.output, error);
  return info(arguments, arguments.output, all.get());
}

using Inspect = int (*)(const Arguments&, const std::string&, const morello_table*);

Inspect inspection(const std::string& subcommand) {
  if (subcommand == "info") return info;
  if (subcommand == "verify") return verify;
  return subcommand == "dump" ? dump : plot;
}

CLI::App* add(CLI::App* table, const char* name, const char* description, Arguments* arguments) {
  CLI::App* command = table->add_subcommand(name, description);
  command->add_flag("--read-machine", arguments->read_machine,
                    "the tables are for this machine's caches, not for the named model");
  add_table_memory(command, arguments);
  return command;
}

void add_files(CLI::App* command, Arguments* arguments, int most) {
  command->add_option("FILE", arguments->tables, "tables: FILE.mtab")
      ->required()
      ->expected(1, most);
}

constexpr int kAny = CLI::detail::expected_max_vector_size;

}  // namespace

CLI::App* add_table_command(CLI::App* app, Arguments* arguments) {
  CLI::App* table = app->add_subcommand("table", "look into tables, check and merge them");
  table->require_subcommand(1);
  constexpr const char* kJson = "one line of JSON per FILE on standard output";

  CLI::App* info = add(table, "info", "what tables cover, and how large they are", arguments);
  add_files(info, arguments, kAny);
  info->add_option("--spec", arguments->asked, "say whether this is covered, and if not, why");
  info->add_flag("--json", arguments->json, kJson);

  CLI::App* verify = add(table, "verify", "check decisions, and search again for some", arguments);
  add_files(verify, arguments, kAny);
  verify->add_flag("--json", arguments->json, kJson);
  add_whole(verify, "--points", "Specs to search for (default 100)", {}, &arguments->points);
  add_whole(verify, "--seed", "that chooses them (default 1)", {}, &arguments->seed);

  CLI::App* merge = add(table, "merge", "write what either covers as one table", arguments);
  add_files(merge, arguments, kAny);
  merge->add_flag("--json", arguments->json, "one line of JSON on standard output");
  merge->add_option("-o,--output", arguments->output, "the new table")
      ->required()
      ->option_text("FILE.mtab");

  CLI::App* dump = add(table, "dump", "print every box and its decision", arguments);
  add_files(dump, arguments, 1);
  dump->add_flag("--json", arguments->json, "as JSON");
  dump->add_option("-o,--output", arguments->output, "write it here")->option_text("FILE");

  CLI::App* plot = add(table, "plot", "draw the boxes of a group as SVG", arguments);
  add_files(plot, arguments, 1);
  add_whole(plot, "--group", "its number in a dump (default: the largest)", {0, INT64_MAX},
            &arguments->group);
  add_whole(plot, "--part", "of several targets: which, counted from 0 (default 0)", {0, INT64_MAX},
            &arguments->table_part);
  plot->add_option("--x", arguments->x, "axis by its name in a dump (default: the widest)");
  plot->add_option("--y", arguments->y, "likewise");
  plot->add_option("-o,--output", arguments->output, "write it here")->option_text("FILE.svg");
  return table;
}

int table_command(const Arguments& arguments, const std::string& subcommand) {
  if (subcommand == "merge") return merge(arguments);
  int exit_code = kExitOk;
  for (const std::string& path : arguments.tables) {
    const TablePtr table = load(arguments, path);
    exit_code = std::max(
        exit_code, table ? inspection(subcommand)(arguments, path, table.get()) : kExitLibrary);
  }
  return exit_code;
}

}  // namespace morello::tools
