// SPDX-License-Identifier: MIT
#include "trial.hh"

#include <cmath>
#include <cstring>
#include <limits>

#include "../support/reference.hh"
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
    i->wrong = abi_call(reinterpret_cast<const void*>(c.function), i->operands, i->scratch,
                        c.executor, static_cast<u64>(c.size));
    return;
  }
  morello_status status =
      c.size == 0 ? morello_kernel_run(c.kernel, i->operands, nullptr, c.executor)
                  : morello_kernel_run_sized(c.kernel, c.size, i->operands, nullptr, c.executor);
  if (status != MORELLO_OK) i->wrong = morello_status_string(status);
}

/// Elements of the output that are not as expected keep the value from before.
std::string check_gaps(const Bytes& before, Dtype dtype, const std::vector<Expected>& expected,
                       const void* result) {
  const char* out = static_cast<const char*>(result);
  const size_t bytes = size_of(dtype);
  std::vector<bool> written(before.size() / bytes);
  for (const Expected& e : expected) written[static_cast<size_t>(e.offset)] = true;
  for (size_t i = 0; i < written.size(); i++)
    if (!written[i] && std::memcmp(&before[i * bytes], &out[i * bytes], bytes) != 0)
      return "element " + std::to_string(i) + " between the rows of the output was written";
  return "";
}

std::string judge(const Trial& trial, const Buffers& buffers) {
  for (size_t i = 0; i < buffers.size(); i++)
    if (!buffers[i].intact()) return "memory next to operand " + std::to_string(i) + " was written";
  const int out = trial.operand_count - 1;
  for (int o = 0; o < out - std::ssize(trial.earlier); o++)
    if (std::memcmp(buffers[static_cast<size_t>(o)].data(), trial.data[o].data(),
                    trial.data[o].size()) != 0)
      return "input " + std::to_string(o) + " was changed";
  auto check = [&](int operand, Dtype dtype, const std::vector<Expected>& expected) {
    const void* result = buffers[static_cast<size_t>(operand)].data();
    const std::string wrong = compare(expected, dtype, result);
    return wrong.empty()
               ? check_gaps(trial.data[static_cast<size_t>(operand)], dtype, expected, result)
               : wrong;
  };
  for (const EarlierOutput& e : trial.earlier)
    if (const std::string wrong = check(e.operand, e.dtype, e.expected); !wrong.empty())
      return "operand " + std::to_string(e.operand) + ": " + wrong;
  return check(out, trial.dtype, trial.expected);
}

double special(u64 r) {
  using Limits = std::numeric_limits<float>;
  constexpr double kSpecial[] = {Limits::quiet_NaN(),
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 0.0,
                                 -0.0,
                                 Limits::denorm_min(),
                                 -1e-40,
                                 Limits::min(),
                                 Limits::max(),
                                 Limits::lowest(),
                                 1.0,
                                 -3.0,
                                 0.5,
                                 2.5,
                                 127.5,
                                 -128.5,
                                 254.5,
                                 2147483648.0,
                                 -2147483904.0,
                                 65520.0};
  return kSpecial[r % std::size(kSpecial)];
}

/// The bits of one element.
u32 draw(Dtype dtype, Values values, int exponent, u64 r) {
  const u32 bits = static_cast<u32>(r >> 32);
  if (values == Values::kExtreme && is_integer(dtype))
    return r % 8 == 0 ? bits : encoded(dtype, r & 8 ? 3e9 : -3e9);
  if (values == Values::kTiny) exponent -= dtype == Dtype::kF16 ? 20 : r % 8 == 0 ? 130 : 66;
  if ((values == Values::kSpecial && (r & 1)) || (values == Values::kRare && (r & 63) == 1))
    return is_integer(dtype) ? bits & (r & 2 ? ~0u : 0x80808081) : encoded(dtype, special(r >> 1));
  if (dtype == Dtype::kI32) return static_cast<u32>(static_cast<i32>(bits) >> (r % 31));
  if (is_integer(dtype)) return bits;
  const double x = static_cast<double>(static_cast<i64>(r >> 40) - (1 << 23)) * 0x1p-23;
  return encoded(dtype, std::ldexp(x, exponent));
}

}  // namespace

void fill(Trial& trial, const Spec& spec, Values values, std::mt19937_64& random) {
  bool integers = false;
  for (int o = 0; o < spec.operand_count; o++) integers |= is_integer(spec.operand[o].dtype);
  for (int o = 0; o < spec.operand_count; o++) {
    const Dtype dtype = spec.operand[o].dtype;
    const size_t bytes = size_of(dtype);
    const int exponent = integers && !is_integer(dtype) ? -static_cast<int>(random() % 20) : 0;
    Bytes& data = trial.data[o];
    for (size_t i = 0; i + bytes <= data.size(); i += bytes) {
      const u32 bits = draw(dtype, values, exponent, random());
      std::memcpy(&data[i], &bits, bytes);
    }
  }
}

std::string run(const Trial& trial, const Call& call, Guarded::Side side, Bytes* out) {
  Buffers buffers;
  std::array<void*, kMaxOperands> operands{};
  for (int o = 0; o < trial.operand_count; o++) {
    const Bytes& data = trial.data[o];
    buffers.emplace_back(data.size(), side);
    operands[o] = buffers.back().data();
    std::memcpy(operands[o], data.data(), data.size());
  }
  buffers.emplace_back(call.scratch_bytes, side);
  std::memset(buffers.back().data(), 0xff, call.scratch_bytes);  // NaN
  Invocation invocation{&call, operands.data(), buffers.back().data(), ""};
  Crash crash = catch_crash(invoke, &invocation);
  if (crash.signal) return signal_text(crash, buffers, trial.operand_count);
  if (!invocation.wrong.empty()) return invocation.wrong;
  if (out) {
    const char* result = static_cast<const char*>(operands[trial.operand_count - 1]);
    out->assign(result, result + trial.output().size());
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
