// SPDX-License-Identifier: MIT
// What the subcommands share: arguments, making a kernel from a line of text, and reports.
#ifndef MORELLO_CAPI_TOOLS_COMMAND_HH
#define MORELLO_CAPI_TOOLS_COMMAND_HH

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handles.hh"
#include "nlohmann/json.hpp"

namespace CLI {
class App;
}

namespace morello::tools {

/// Keys in the order they were written.
using Json = nlohmann::ordered_json;

/// Exit codes. Part of the tool's interface: never renumber.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;   // a wrong result, or a file that cannot be read or written
inline constexpr int kExitUsage = 2;    // the command line
inline constexpr int kExitLibrary = 3;  // the library refused: bad Spec, no implementation, ...
inline constexpr int kExitInterrupted = 130;  // by a signal; what was done until then is kept

/// What --check takes.
inline constexpr int32_t kCheckAuto = 0, kCheckFull = 1, kCheckSample = 2, kCheckNone = 3;
inline constexpr uint64_t kLargestGroup = UINT64_MAX;

struct Arguments {
  std::string spec;         // "-": one per line of standard input
  uint64_t input_line = 0;  // of standard input, from 1; 0: the Spec is not from there
  int32_t target = MORELLO_ISA_AUTO;
  uint32_t threads = 1;
  uint32_t search_threads = 1;
  uint64_t time_budget = 0;    // microseconds; 0: none
  uint64_t memory_budget = 0;  // MiB; 0: none
  uint64_t effort = MORELLO_EFFORT_EXACT;
  uint64_t table_memory = 0;        // MiB; 0: what the library says
  std::vector<std::string> tables;  // files, to be merged
  bool strict_table = false;
  std::string cache;  // a directory; "": that of the environment, if any
  bool read_machine = false;
  bool json = false;

  bool plan = false;                 // show
  bool tree = false;                 // bench --show
  bool compare = false;              // bench
  uint64_t seed = 1;                 // run, bench, table verify
  std::vector<std::string> inputs;   // run
  std::vector<std::string> results;  // run
  std::string output;                // emit, precompute, table merge, table plot
  uint64_t rounds = 30;              // bench
  int32_t check = kCheckAuto;        // run, bench
  std::string bytes;                 // asm
  std::string save;                  // synth: a file; "": none
  std::string html;                  // explain: a file; "": none
  std::vector<int64_t> sizes;        // run, bench: of kernels with a run-time size
  std::vector<std::string> rivals;   // bench: SPECs after the first
  std::vector<std::string> exports;  // bench: files

  uint64_t points = 100;           // table verify
  std::string asked;               // table info: a SPEC; "": none
  uint64_t table_part = 0;         // table plot
  uint64_t group = kLargestGroup;  // table plot
  std::string x, y;                // table plot: axes; "": the widest

  std::vector<std::string> specs;  // emit
  std::string header;              // emit: a file; "": none
  std::string rust;                // emit: a file; "": none
  std::string isas;                // emit: names, with commas between them
  std::string prefix;              // emit: of names that are not given
  bool static_lib = false;         // emit
  bool shared = false;             // emit

  std::vector<std::string> families;  // precompute
  uint32_t workers = 0;               // precompute: 0: one per processor
  std::string part;                   // precompute: "3/16"; "": all
  uint64_t save_every = 2000000;      // precompute: microseconds
};

/// What --target takes; the name of a kernel's instruction set.
inline constexpr std::pair<const char*, int32_t> kTargets[] = {
    {"auto", MORELLO_ISA_AUTO},
    {"avx2", MORELLO_ISA_AVX2},
    {"avx512", MORELLO_ISA_AVX512},
    {"avx2_vnni", MORELLO_ISA_AVX2_VNNI},
    {"avx512_vnni", MORELLO_ISA_AVX512_VNNI},
    {"avx512_bf16", MORELLO_ISA_AVX512_BF16},
    {"avx512_amx", MORELLO_ISA_AVX512_AMX}};

enum class JobKind {
  kRun,     // a kernel for this CPU
  kSearch,  // no code, for any target
  kCode     // code to be kept, for any target
};

/// A Spec and the kernel that was made for it.
struct Job {
  std::string text;  // the Spec as it is printed
  std::string miss;  // why the table does not cover it; "" if it does, or there is none
  SpecPtr spec;
  KernelPtr kernel;
  morello_search_stats stats = {};
  PoolPtr pool;      // for more than one thread
  int64_t size = 0;  // of a kernel with a run-time size: `spec` is that of this size; else 0
  const morello_executor* executor() const {
    return pool ? morello_pool_executor(pool.get()) : nullptr;
  }
};

/// Nothing, and an error, if it cannot be made.
ContextPtr make_context(const Arguments& arguments, morello_error** error);

/// Parses and synthesizes, or reports why it could not and returns nothing; the exit code is then
/// kExitLibrary. A text that ends with ".mkrn" is no Spec, but the path of a stored kernel, which
/// is loaded: only to run.
std::optional<Job> make_job(const Arguments& arguments, const std::string& text, JobKind kind);
/// Makes the job, of a kernel with a run-time size, one of this size. False: *error says why not.
bool set_size(Job* job, int64_t size, morello_error** error);
/// Reports that --size says nothing about the job's Spec. Returns kExitUsage.
int report_size(const Job& job);
/// Reports that a command needs all sizes known. Returns kExitLibrary.
int report_run_time_size(const Arguments& arguments, const std::string& text);

/// Writes an error of the library to standard error, with a caret under the place in `text` if the
/// error has one; with --json also to standard output. Returns kExitLibrary.
int report_error(const Arguments& arguments, const std::string& text, const morello_error* error);
/// The same for calls that return nothing but a status.
int report_status(const Arguments& arguments, const std::string& text, morello_status status);
/// The same for the tool's own failures. Returns kExitFailed.
int report_failure(const Arguments& arguments, const std::string& text, const std::string& message);
/// The same for text that cannot be given to the library. Returns kExitLibrary.
int report_text(const Arguments& arguments, const std::string& text, const std::string& message,
                uint32_t column);

/// One line of standard output.
void print_json(const Json& json);

/// What every report about a kernel begins with.
Json describe(const Job& job);
/// Why a table was of no use, a line for each part; nothing if it was.
void print_miss(const Job& job);
/// Whether the program is known to be the cheapest, or else how much cheaper one may be.
std::string describe_proof(const Job& job);
const char* isa_name(int32_t isa);
/// 1234567.0 as "1,234,567"; numbers that nobody would count as "1.23e+308".
std::string grouped(double value);
/// "12.3 us" from nanoseconds.
std::string human_time(double nanoseconds);

/// Calls `command` for the Spec of the arguments, or for every line of standard input that is
/// neither empty nor a comment. Returns the highest exit code.
using Command = std::function<int(const Arguments&, const std::string&)>;
int for_each_spec(const Arguments& arguments, const Command& command);

// One subcommand each, for one Spec. They return the exit code.
int synth_command(const Arguments& arguments, const std::string& text);
int show_command(const Arguments& arguments, const std::string& text);
int run_command(const Arguments& arguments, const std::string& text);
int bench_command(const Arguments& arguments, const std::string& text);
int explain_command(const Arguments& arguments, const std::string& text);
/// bench of a kernel with a run-time size beside kernels of fixed sizes.
int bench_sizes(const Arguments& arguments, const std::string& text, Job* job);
/// bench of the Spec and of arguments.rivals.
int duel_command(const Arguments& arguments, const std::string& text);
int asm_command(const Arguments& arguments, const std::string& text);
int cpu_command(const Arguments& arguments);

/// So that bytes fit in 64 bits with room.
inline constexpr uint64_t kMostMebibytes = uint64_t{1} << 40;

/// --target, --threads, --read-machine
void add_target_options(CLI::App* command, Arguments* arguments);
void add_table_memory(CLI::App* command, Arguments* arguments);

CLI::App* add_emit_command(CLI::App* app, Arguments* arguments);
int emit_command(const Arguments& arguments);

CLI::App* add_precompute_command(CLI::App* app, Arguments* arguments);
int precompute_command(const Arguments& arguments);

/// `morello table` with its subcommands.
CLI::App* add_table_command(CLI::App* app, Arguments* arguments);
/// Runs one of them on arguments.tables.
int table_command(const Arguments& arguments, const std::string& subcommand);

}  // namespace morello::tools

#endif
