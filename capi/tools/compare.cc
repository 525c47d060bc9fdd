// SPDX-License-Identifier: MIT
#include "compare.hh"

#include <sstream>

#include "check.hh"
#include "output.hh"

namespace morello::tools {
namespace {

/// Nothing if `text`, a Spec as it is printed, is something else.
std::optional<Product> as_product(const std::string& text, const Operands& operands) {
  std::istringstream words(text);
  std::string head, a, b, arrow;
  words >> head >> a >> b >> arrow;
  if (head != "matmul" || arrow != "->" || operands.count() != 3) return std::nullopt;
  for (uint32_t i = 0; i < 3; ++i) {
    const morello_tensor& tensor = operands.tensor(i);
    if (tensor.rank != 2 || tensor.layout != MORELLO_LAYOUT_ROW_MAJOR ||
        tensor.dtype != MORELLO_F32)
      return std::nullopt;
  }
  return Product{operands.tensor(0).shape[0], operands.tensor(1).shape[1],
                 operands.tensor(0).shape[1], operands.given(0), operands.given(1)};
}

}  // namespace

Comparison::Comparison(const Arguments& arguments, const Job& job, Operands* operands)
    : flops_(morello_spec_flops(job.spec.get())) {
  if (!arguments.compare) return;
  const std::optional<Product> product = as_product(job.text, *operands);
  if (!product) {
    entries_.push_back(
        {{"nothing", "only `matmul` of two row-major matrices of f32 can be compared"},
         Buffer(0),
         "does not apply"});
    return;
  }
  const int32_t isa = morello_kernel_isa(job.kernel.get());
  const CheckProgress silent = [](uint64_t, uint64_t) {};
  Reference reference(job.spec.get(), operands);
  if (reference.compute(Extent::kSample, arguments.seed, silent, nullptr) != MORELLO_OK) return;
  for (const Rival& rival : {plain_loop(isa, *product), openblas(isa, *product)}) {
    Entry entry = {rival, Buffer(operands->output_elements() * sizeof(float)), {}};
    if (rival.run) {
      rival.run(entry.result.data());
      const Check check = reference.check(entry.result, silent);
      if (!check.ok) entry.problem = "WRONG: " + check.describe();
    } else {
      entry.problem = "not here";
    }
    entries_.push_back(std::move(entry));
  }
}

std::vector<Contender> Comparison::contenders() {
  std::vector<Contender> contenders;
  for (Entry& entry : entries_) {
    if (!entry.problem.empty()) continue;
    contenders.push_back({[&entry](uint64_t calls) {
      for (; calls != 0; --calls) entry.rival.run(entry.result.data());
    }});
  }
  return contenders;
}

void Comparison::report(const Arguments& arguments, const std::vector<Timing>& timings, double ours,
                        Json* json) const {
  Json rows = Json::array();
  size_t next = 0;
  for (const Entry& entry : entries_) {
    Json row = {{"name", entry.rival.name}, {"about", entry.rival.about}};
    std::string line;
    if (entry.problem.empty()) {
      const Timing& timing = timings[next++];
      const double gflops = flops_ / timing.best(), times = timing.best() / ours;
      row.update({{"best_ns", timing.best()},
                  {"median_ns", timing.median()},
                  {"gflops", gflops},
                  {"times_ours", times}});
      line = fmt::format("best {}, {:.1f} GFLOP/s, {:.2f} times our time ({})",
                         human_time(timing.best()), gflops, times, entry.rival.about);
    } else {
      row["problem"] = entry.problem;
      line = entry.rival.run ? entry.problem : entry.rival.about;
    }
    rows.push_back(row);
    if (!arguments.json) print("compare  {}: {}\n", entry.rival.name, line);
  }
  if (arguments.compare) (*json)["compare"] = rows;
}

}  // namespace morello::tools
