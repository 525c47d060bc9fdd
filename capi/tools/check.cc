// SPDX-License-Identifier: MIT
#include "check.hh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "fmt/format.h"

namespace morello::tools {
namespace {

/// Scalar operations, about: seconds of the reference's time. More is checked by sample, and a
/// sample is no more than this.
constexpr double kLargeWork = 4e9;
/// What writing an element costs beside computing it, in scalar operations.
constexpr double kWorkPerElement = 16;
constexpr uint64_t kMostSamples = 4096;
/// Between calls of the progress function.
constexpr double kChunkWork = 1e8;

double work_of(const morello_spec* spec, uint64_t elements) {
  return morello_spec_flops(spec) + kWorkPerElement * static_cast<double>(elements);
}

bool same(double got, double want) { return got == want || (std::isnan(got) && std::isnan(want)); }

double absolute_finite(double x) { return std::isfinite(x) ? std::fabs(x) : 0; }

std::string grouped_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// `count` different elements, by their numbers in row-major order, of more than that. A quarter
/// lies on edges, where kernels have their remainders; the others are spread evenly.
std::set<uint64_t> choose(const morello_tensor& tensor, uint64_t count, uint64_t seed) {
  const uint64_t all = element_count(tensor);
  std::mt19937_64 random(seed);
  std::set<uint64_t> chosen = {0, all - 1};
  uint64_t step = 1;  // of `axis`
  for (uint32_t axis = tensor.rank; axis-- > 0 && count > 1;) {
    const uint64_t size = static_cast<uint64_t>(tensor.shape[axis]);
    for (uint64_t i = 0; i < count / 4 / tensor.rank; ++i) {
      const uint64_t inside = random() % all, index = inside / step % size;
      chosen.insert(inside - index * step + (i % 2 == 0 ? 0 : (size - 1) * step));
    }
    step *= size;
  }
  if (count == 1) chosen = {random() % all};
  const uint64_t parts = count - chosen.size();
  for (uint64_t i = 0; i < parts; ++i) {
    const uint64_t begin = all * i / parts, end = all * (i + 1) / parts;
    chosen.insert(begin + random() % (end - begin));
  }
  while (chosen.size() < count) chosen.insert(random() % all);
  return chosen;
}

}  // namespace

std::string Check::describe() const {
  std::string text =
      checked == results
          ? fmt::format("all {} results checked", grouped_count(results))
          : fmt::format("checked {} of {} results", grouped_count(checked), grouped_count(results));
  if (ok && worst_error == 0) return text + ", each equals the reference";
  text +=
      fmt::format(", worst error {:.3g}, {:.2g} of what rounding allows", worst_error, worst_share);
  if (ok) return text;
  const std::string of = worst_output < 0 ? "" : fmt::format(" of output {}", worst_output);
  return text +
         fmt::format("; element {}{} is {:.9g}, expected {:.9g}", worst_index, of, got, want);
}

void Check::add(const Check& other, int output) {
  if (other.worst_share >= worst_share) {
    worst_share = other.worst_share;
    worst_index = other.worst_index;
    worst_output = output;
    got = other.got;
    want = other.want;
  }
  ok &= other.ok;
  checked += other.checked;
  results += other.results;
  worst_error = std::max(worst_error, other.worst_error);
}

Reference::Reference(const morello_spec* spec, const Operands* operands, uint32_t output)
    : spec_(morello_spec_retain(spec)),
      operands_(operands),
      number_(output),
      output_(operands->tensor(operands->operand_of(output))) {}

uint64_t Reference::chunk() const {
  const uint64_t elements = element_count(output_);
  const double each = work_of(spec_.get(), elements) / static_cast<double>(elements);
  return static_cast<uint64_t>(std::clamp(kChunkWork / each, 16.0, 65536.0));
}

void Reference::find_elements(Extent extent, uint64_t seed) {
  const uint64_t elements = element_count(output_);
  const double work = work_of(spec_.get(), elements);
  sample_.clear();
  skipped_.clear();
  gap_.clear();
  if (elements < want_.size()) {
    gap_.assign(want_.size(), true);
    for_each_element(output_, [&](size_t offset) { gap_[offset] = false; });
  }
  const double affordable = kLargeWork / work * static_cast<double>(elements);
  const uint64_t most =
      static_cast<uint64_t>(std::clamp(affordable, 1.0, static_cast<double>(kMostSamples)));
  const bool all = extent == Extent::kFull || (extent == Extent::kAuto && work <= kLargeWork);
  if (all || elements <= most) return;

  skipped_.assign(want_.size(), true);
  for (size_t at = 0; at < gap_.size(); ++at) skipped_[at] = !gap_[at];
  for (uint64_t number : choose(output_, most, seed)) {
    sample_.push_back(static_cast<int64_t>(offset_of(output_, number)));
    skipped_[static_cast<size_t>(sample_.back())] = false;
  }
}

morello_status Reference::compute(Extent extent, uint64_t seed, const CheckProgress& progress,
                                  morello_error** error) {
  const Buffer& initial = operands_->given_buffer(operands_->operand_of(number_));
  want_.resize(initial.count());
  for (size_t i = 0; i < want_.size(); ++i) want_[i] = initial.at(i);
  find_elements(extent, seed);
  const uint64_t all = sample_.empty() ? element_count(output_) : sample_.size();
  const size_t most = chunk();
  std::vector<int64_t> offsets;
  std::vector<double> values;
  uint64_t done = 0;
  morello_status status = MORELLO_OK;
  const auto add = [&](int64_t offset) {
    offsets.push_back(offset);
    if (status != MORELLO_OK || (offsets.size() < most && done + offsets.size() < all)) return;
    values.resize(offsets.size());
    status = morello_spec_evaluate_output_at(spec_.get(), number_, operands_->given_pointers(),
                                             offsets.data(), offsets.size(), values.data(), error);
    for (size_t i = 0; i < offsets.size(); ++i) want_[static_cast<size_t>(offsets[i])] = values[i];
    done += offsets.size();
    if (progress) progress(done, all);
    offsets.clear();
  };
  if (sample_.empty()) {
    for_each_element(output_, [&](size_t offset) { add(static_cast<int64_t>(offset)); });
  } else {
    for (int64_t offset : sample_) add(offset);
  }
  return status;
}

/// Rounding errors grow with the size of the terms, not with that of their sum. The same Spec of
/// the absolute values has the size of the terms.
void Reference::make_absolute() {
  for (uint32_t i = 0; i < operands_->count(); ++i) {
    const Buffer& given = operands_->given_buffer(i);
    absolute_.emplace_back(given.bytes(), given.dtype());
    for (size_t at = 0; at < given.count(); ++at) {
      const double value = absolute_finite(given.at(at));
      absolute_.back().set(at, value);
      if (i < operands_->operand_of(0)) largest_input_ = std::max(largest_input_, value);
    }
  }
}

void Reference::judge(const Buffer& result, const std::vector<int64_t>& differing, Check* check) {
  if (absolute_.empty()) make_absolute();
  std::vector<int64_t> elements;
  for (int64_t at : differing)
    if (gap_.empty() || !gap_[static_cast<size_t>(at)]) elements.push_back(at);
  std::vector<void*> pointers;
  for (Buffer& buffer : absolute_) pointers.push_back(buffer.memory());
  std::vector<double> sizes(elements.size());
  if (morello_spec_evaluate_output_at(spec_.get(), number_, pointers.data(), elements.data(),
                                      elements.size(), sizes.data(), nullptr) != MORELLO_OK)
    elements.clear();  // nothing is allowed
  const double length =
      morello_spec_flops(spec_.get()) / static_cast<double>(element_count(output_));
  const double relative = std::numeric_limits<float>::epsilon() * (length + 8);

  size_t next = 0;  // of `elements`
  for (int64_t at : differing) {
    const size_t e = static_cast<size_t>(at);
    const double got = result.at(e), want = want_[e];
    double allowed = 0;
    if (next < elements.size() && elements[next] == at) {
      // A difference of two steps can cancel in both; what is left is then as small as an input.
      const double size =
          std::max({largest_input_, absolute_finite(want), absolute_finite(sizes[next++])});
      if (!operands_->results_are_exact()) allowed = relative * size;
      // What differs in f32 may be rounded to neighbours.
      if (allowed > 0 && output_.dtype != MORELLO_F32)
        allowed += spacing(output_.dtype, std::max(std::fabs(got), std::fabs(want)));
    }
    const double error = std::fabs(got - want);
    // Not finite where one of the two is NaN or infinite, or nothing is allowed.
    const double share =
        std::isfinite(error / allowed) ? error / allowed : std::numeric_limits<double>::max();
    check->worst_error = std::max(check->worst_error, std::isfinite(error) ? error : share);
    if (share <= check->worst_share) continue;
    check->ok = share <= 1;
    check->worst_share = share;
    check->worst_index = e;
    check->got = got;
    check->want = want;
  }
}

Check Reference::check(const Buffer& result, const CheckProgress& progress) {
  Check check;
  check.ok = true;
  check.results = element_count(output_);
  check.checked = sample_.empty() ? check.results : sample_.size();
  // Random values are such that most results are exact.
  std::vector<int64_t> differing;
  const size_t most = chunk();
  for (size_t e = 0; e < want_.size(); ++e) {
    if (compared(e) && !same(result.at(e), want_[e])) differing.push_back(static_cast<int64_t>(e));
    if (differing.size() < most && e + 1 < want_.size()) continue;
    if (differing.empty()) continue;
    judge(result, differing, &check);
    if (progress) progress(e + 1, want_.size());
    differing.clear();
  }
  return check;
}

}  // namespace morello::tools
