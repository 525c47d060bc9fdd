// SPDX-License-Identifier: MIT
#include "trial.hh"

#include <cstring>
#include <limits>

#include "abi_call.hh"

namespace morello::testing {
namespace {

using Buffers = std::vector<Guarded>;

std::string signal_text(const Crash& crash, const Buffers& buffers, int operands) {
  std::string text = std::string(strsignal(crash.signal)) + " at ";
  for (size_t i = 0; i < buffers.size(); i++) {
    i64 offset = 0;
    if (!buffers[i].near(crash.address, offset)) continue;
    bool scratch = i == static_cast<size_t>(operands);
    text += scratch ? "the scratch memory" : "operand " + std::to_string(i);
    return text + ", byte " + std::to_string(offset) + " of " + std::to_string(buffers[i].size());
  }
  char address[32];
  std::snprintf(address, sizeof address, "%p", crash.address);
  return text + address;
}

struct Invocation {
  const Call* call;
  void* const* operands;
  void* scratch;
  std::string wrong;
};

void invoke(void* argument) {
  auto* i = static_cast<Invocation*>(argument);
  const Call& c = *i->call;
  if (!c.kernel) {
    i->wrong =
        abi_call(reinterpret_cast<const void*>(c.function), i->operands, i->scratch, c.executor);
    return;
  }
  morello_status status = morello_kernel_run(c.kernel, i->operands, nullptr, c.executor);
  if (status != MORELLO_OK) i->wrong = morello_status_string(status);
}

/// Elements of the output that are not as expected keep the value from before.
std::string check_gaps(const Trial& trial, const float* out) {
  const std::vector<float>& before = trial.data[trial.operand_count - 1];
  std::vector<bool> written(before.size());
  for (const Expected& e : trial.expected) written[static_cast<size_t>(e.offset)] = true;
  for (size_t i = 0; i < before.size(); i++)
    if (!written[i] && std::memcmp(&before[i], &out[i], sizeof(float)) != 0)
      return "element " + std::to_string(i) + " between the rows of the output was written";
  return "";
}

std::string judge(const Trial& trial, const Buffers& buffers) {
  for (size_t i = 0; i < buffers.size(); i++)
    if (!buffers[i].intact()) return "memory next to operand " + std::to_string(i) + " was written";
  int out = trial.operand_count - 1;
  for (int o = 0; o < out; o++)
    if (std::memcmp(buffers[static_cast<size_t>(o)].data(), trial.data[o].data(),
                    trial.data[o].size() * sizeof(float)) != 0)
      return "input " + std::to_string(o) + " was changed";
  const float* result = static_cast<const float*>(buffers[static_cast<size_t>(out)].data());
  std::string wrong = compare(trial.expected, result);
  return wrong.empty() ? check_gaps(trial, result) : wrong;
}

}  // namespace

void fill(std::vector<float>& data, Values values, std::mt19937_64& random) {
  using Limits = std::numeric_limits<float>;
  constexpr float kSpecial[] = {Limits::quiet_NaN(),
                                Limits::infinity(),
                                -Limits::infinity(),
                                0.0f,
                                -0.0f,
                                Limits::denorm_min(),
                                -1e-40f,
                                Limits::min(),
                                Limits::max(),
                                Limits::lowest(),
                                1.0f,
                                -3.0f};
  for (float& x : data) {
    u64 r = random();
    x = static_cast<float>(static_cast<i64>(r >> 40) - (1 << 23)) * 0x1p-23f;
    if (values == Values::kSpecial && (r & 1)) x = kSpecial[(r >> 1) % std::size(kSpecial)];
  }
}

std::string run(const Trial& trial, const Call& call, Guarded::Side side, std::vector<float>* out) {
  Buffers buffers;
  std::array<void*, kMaxOperands> operands{};
  for (int o = 0; o < trial.operand_count; o++) {
    const std::vector<float>& data = trial.data[o];
    buffers.emplace_back(data.size() * sizeof(float), side);
    operands[o] = buffers.back().data();
    std::memcpy(operands[o], data.data(), data.size() * sizeof(float));
  }
  buffers.emplace_back(call.scratch_bytes, side);
  std::memset(buffers.back().data(), 0xff, call.scratch_bytes);  // NaN
  Invocation invocation{&call, operands.data(), buffers.back().data(), ""};
  Crash crash = catch_crash(invoke, &invocation);
  if (crash.signal) return signal_text(crash, buffers, trial.operand_count);
  if (!invocation.wrong.empty()) return invocation.wrong;
  if (out) {
    const float* result = static_cast<const float*>(operands[trial.operand_count - 1]);
    out->assign(result, result + trial.data[trial.operand_count - 1].size());
  }
  return judge(trial, buffers);
}

ReverseExecutor::ReverseExecutor() { executor_ = {sizeof executor_, this, parallel_for}; }

void ReverseExecutor::parallel_for(void* user, size_t count, void (*fn)(void*, size_t), void* arg) {
  auto* self = static_cast<ReverseExecutor*>(user);
  self->wrong_ += check_called_state(__builtin_frame_address(0));
  for (size_t i = count; i-- > 0; self->calls_++)
    self->wrong_ +=
        abi_call(reinterpret_cast<const void*>(fn), arg, reinterpret_cast<void*>(i), nullptr);
}

}  // namespace morello::testing
