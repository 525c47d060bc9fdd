// SPDX-License-Identifier: MIT
// The operations that a node of a graph can have: names, inputs and parameters, once.
#ifndef MORELLO_SPEC_OPERATIONS_HH
#define MORELLO_SPEC_OPERATIONS_HH

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/statement.hh"

namespace morello {

constexpr u32 bit_of(Parameter p) { return 1u << static_cast<u32>(p); }

struct ParameterRow {
  Parameter parameter;
  std::string_view name;
  enum class Values : u8 { kNone, kIntegers, kNumber } values;
  std::string_view example;  // what is expected behind the name
};
std::span<const ParameterRow> parameters();
const ParameterRow& row_of(Parameter parameter);

struct OperationRow {
  std::string_view name;
  Operation operation;
  Op op = Op::kCopy;              // of kUnary, kBinary, kTernary, kReduce
  int least = 1, most = 1;        // inputs
  u32 allowed = 0, required = 0;  // bits of parameters
};
/// All of them, in the order of messages.
std::span<const OperationRow> operations();
/// nullptr if there is none.
const OperationRow* find_operation(std::string_view name);
const OperationRow* find_operation(Operation operation, Op op);
std::string operation_names();
/// "; did you mean 'softmax'? Known are " of a word that is nearly an operation, else "; known are
/// ".
std::string after_unknown(std::string_view word);

/// The values of a parameter, or nullptr if the node leaves it out.
const std::vector<double>* setting_of(const Node& node, Parameter parameter);

}  // namespace morello

#endif
