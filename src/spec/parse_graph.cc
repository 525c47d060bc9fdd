// SPDX-License-Identifier: MIT
// Graphs: statements with names, separated by ';'. Steps are operations like others, whose first
// input is what stands before them. Without recursion, as the parser of Statements.
#include <algorithm>
#include <map>

#include "spec/graph.hh"
#include "spec/parser.hh"

namespace morello {
namespace {

using Input = Node::Input;

class GraphParser : public TextParser {
 public:
  using TextParser::TextParser;

  Result<Statement> run(bool& formed) {
    statement_.head = Statement::Head::kGraph;
    while (statement())
      if (done_) return finish(formed);
    return std::move(error_);
  }
  size_t error_at() const { return error_at_; }

  /// One operation, without the inputs, which are given.
  Result<Node> run_operation(std::vector<Input> inputs) {
    const size_t count = inputs.size();
    if (!operation(std::move(inputs), std::vector<size_t>(count, 0), false))
      return std::move(error_);
    if (token_.kind == Token::Kind::kEnd) return std::move(statement_.nodes[0]);
    expected("the end of the operation");
    return std::move(error_);
  }

 private:
  struct Named {
    Input input;
    size_t at = 0;
    bool read = false;
  };
  struct NodePlace {
    size_t at = 0;
    size_t subscripts = 0;
    std::vector<size_t> input, setting;
  };
  struct Infix {
    std::string_view symbol;
    Op op;
  };
  static constexpr Infix kInfix[] = {
      {"+", Op::kAdd}, {"-", Op::kSub}, {"*", Op::kMul}, {"/", Op::kDiv}};

  bool statement();
  bool result();
  bool results();
  bool listed_output();
  bool define(const Token& name, const Input& input);
  bool steps();
  bool operation(std::vector<Input> inputs, std::vector<size_t> input_at, bool more);
  bool infix(const Infix& sign);
  bool operand(Input& input);
  bool reference(Input& input);
  bool settings(Node& node, NodePlace& place, const OperationRow& row);
  bool setting_begins(const OperationRow& row) const;
  bool add_node(Node node, NodePlace place);
  Result<Statement> finish(bool& formed);
  Error located(Fault fault);

  Token second() const {
    Lexer lexer(lexer_);
    lexer.next();
    return lexer.next();
  }
  /// A name before it is that of a result.
  static bool ends_as_list(const Token& token) {
    return token.kind == Token::Kind::kEnd || token.is("->") || token.is("+=");
  }
  static bool is_name(const Token& token) { return token.kind == Token::Kind::kName; }
  static bool is_word(const Token& token, std::string_view word) {
    return is_name(token) && token.text == word;
  }
  Input last() const {
    return {Input::Kind::kNode, static_cast<int>(statement_.nodes.size()) - 1, 0};
  }

  std::vector<NodePlace> node_at_;
  std::vector<GraphOutput> listed_;  // results that a list names
  std::map<std::string_view, Named> names_;
  bool has_output_ = false;
  bool done_ = false;  // the result was read
};

bool GraphParser::define(const Token& name, const Input& input) {
  if (dtype_from_name(name.text) || is_number(name))
    return fail(MORELLO_SYNTAX_ERROR, name.at, describe(name), " cannot be a name");
  const auto [known, fresh] = names_.emplace(name.text, Named{input, name.at, false});
  if (fresh) return true;
  Error first;
  locate(text_, known->second.at, first);
  return fail(MORELLO_SYNTAX_ERROR, name.at, describe(name), " is a name already, given at ",
              first.line, ":", first.column, "; choose another");
}

/// One of the statements, and the ';' after it.
bool GraphParser::statement() {
  const Token name = token_;
  if (is_name(name) && is_name(peek()) && second().is("[") && !find_operation(name.text)) {
    Input input;
    if (names_.contains(name.text)) return define(name, input);
    if (!operand(input)) return false;
    if (!token_.is(";"))
      return fail(MORELLO_SYNTAX_ERROR, name.at, "unknown operation ", describe(name),
                  after_unknown(name.text), operation_names(),
                  "; if it is the name of an input, ';' has to follow its tensor");
    advance();
    return true;
  }
  if (is_name(name) && (peek().is(",") || (names_.contains(name.text) && ends_as_list(peek()))))
    return results();
  const bool named = is_name(name) && peek().is("=");
  if (named) advance(), advance();
  if (!operation({}, {}, true) || !steps()) return false;
  if (!token_.is(";")) {
    if (named && token_.kind == Token::Kind::kEnd)
      return fail(MORELLO_SYNTAX_ERROR, name.at,
                  "the last statement is the result, and has no name; it may name several that "
                  "are: 'a, b'");
    return named ? expected("';'; only the result, the last statement, has an output") : result();
  }
  if (!named)
    return fail(MORELLO_SYNTAX_ERROR, token_.at,
                "the value before this ';' has no name, so nothing can use it; write 'name = ...'");
  advance();
  return define(name, last());
}

/// Up to the end.
bool GraphParser::result() {
  if (token_.is("->") || token_.is("+=")) {
    statement_.accumulate = token_.is("+=");
    advance();
    has_output_ = true;
    if (!tensor()) return false;
    if (token_.kind != Token::Kind::kEnd) return expected("the end of the Spec after its output");
  }
  done_ = true;
  if (token_.kind != Token::Kind::kEnd)
    return expected("';', '->', '+=' or a step ('+', '-', '*', '/')");
  return true;
}

/// Up to the end: names of values, with their outputs or all without.
bool GraphParser::results() {
  for (;;) {
    const Token name = token_;
    Input value;
    if (!is_name(name)) return expected("the name of a value");
    if (!reference(value)) return false;
    if (value.kind != Input::Kind::kNode)
      return fail(MORELLO_INVALID_ARGUMENT, name.at, describe(name),
                  " is an input as it is; outputs are values: write 'y = move ", name.text, "'");
    for (const GraphOutput& other : listed_)
      if (other.node == value.index)
        return fail(MORELLO_INVALID_ARGUMENT, name.at, describe(name),
                    " is an output already; leave it out, or write 'y = move ", name.text,
                    "' for a copy");
    listed_.push_back({value.index, false});
    const bool written = token_.is("->") || token_.is("+=");
    if (listed_.size() > 1 && written != has_output_)
      return fail(MORELLO_SYNTAX_ERROR, written ? token_.at : name.at,
                  "either all results have outputs, as in 'a -> f32[4], b += f32[4]', or none has");
    if (written && !listed_output()) return false;
    if (!token_.is(",")) break;
    advance();
  }
  if (listed_.size() > 1)
    statement_.outputs = listed_;
  else
    statement_.accumulate = listed_[0].accumulate;
  done_ = true;
  if (token_.kind != Token::Kind::kEnd) return expected("',', '->', '+=' or the end of the Spec");
  return true;
}

bool GraphParser::listed_output() {
  has_output_ = true;
  listed_.back().accumulate = token_.is("+=");
  advance();
  return tensor();
}

bool GraphParser::steps() {
  for (;;) {
    const auto sign = std::find_if(std::begin(kInfix), std::end(kInfix),
                                   [&](const Infix& i) { return token_.is(i.symbol); });
    if (sign != std::end(kInfix)) {
      if (!infix(*sign)) return false;
    } else if (token_.is("->") && find_operation(peek().text) && is_name(peek())) {
      advance();
      if (!operation({last()}, {token_.at}, true)) return false;
    } else {
      return true;
    }
  }
}

bool GraphParser::infix(const Infix& sign) {
  Node node;
  NodePlace place{token_.at, 0, {token_.at}, {}};
  node.operation = Operation::kBinary;
  node.op = sign.op;
  node.inputs = {last(), {}};
  advance();
  place.input.push_back(token_.at);
  return operand(node.inputs[1]) && add_node(std::move(node), std::move(place));
}

/// `more`: inputs besides those that are known follow.
bool GraphParser::operation(std::vector<Input> inputs, std::vector<size_t> input_at, bool more) {
  const OperationRow* row = is_name(token_) ? find_operation(token_.text) : nullptr;
  if (row == nullptr) {
    if (!is_name(token_)) return expected("an operation (", operation_names(), ")");
    return fail(MORELLO_SYNTAX_ERROR, token_.at, "unknown operation ", describe(token_),
                after_unknown(token_.text), operation_names());
  }
  Node node;
  NodePlace place{token_.at, 0, std::move(input_at), {}};
  node.operation = row->operation;
  node.op = row->op;
  node.inputs = std::move(inputs);
  advance();
  if (row->operation == Operation::kEinsum) {
    if (token_.kind != Token::Kind::kString) return expected("subscripts such as \"bmk,bkn->bmn\"");
    place.subscripts = token_.at + 1;
    node.subscripts = token_.text;
    advance();
  }
  while (more && std::ssize(node.inputs) < row->most) {
    const bool needed = std::ssize(node.inputs) < row->least;
    if (!needed && (!is_name(token_) || setting_begins(*row))) break;
    place.input.push_back(token_.at);
    node.inputs.emplace_back();
    if (!operand(node.inputs.back())) return false;
  }
  if (row->operation == Operation::kCast) {
    const auto dtype = dtype_from_name(token_.text);
    if (!dtype || !is_name(token_)) return expected("an element type (", dtype_names(), ")");
    node.dtype = *dtype;
    advance();
  }
  return settings(node, place, *row) && add_node(std::move(node), std::move(place));
}

bool GraphParser::add_node(Node node, NodePlace place) {
  statement_.nodes.push_back(std::move(node));
  node_at_.push_back(std::move(place));
  return true;
}

bool GraphParser::setting_begins(const OperationRow& row) const {
  for (const ParameterRow& p : parameters())
    if (row.allowed & bit_of(p.parameter) && is_word(token_, p.name))
      return p.values == ParameterRow::Values::kNone || peek().is("=");
  return false;
}

bool GraphParser::settings(Node& node, NodePlace& place, const OperationRow& row) {
  while (setting_begins(row)) {
    const auto p = std::find_if(parameters().begin(), parameters().end(),
                                [&](const ParameterRow& r) { return is_word(token_, r.name); });
    const size_t at = token_.at;
    Node::Setting setting{p->parameter, {}};
    advance();
    if (p->values != ParameterRow::Values::kNone) advance();  // its '='
    if (p->values == ParameterRow::Values::kIntegers) {
      std::vector<Int> list;
      const bool empty = token_.kind != Token::Kind::kNumber && !token_.is("-") &&
                         !is_run_time_size() &&
                         (p->parameter == Parameter::kShape || p->parameter == Parameter::kPerm);
      if (!empty && !integers(list, p->example)) return false;
      for (const Int& i : list) setting.values.push_back(static_cast<double>(i.value));
    } else if (p->values == ParameterRow::Values::kNumber) {
      float value = 0;
      double exact = 0;
      if (!number(value, exact)) return false;
      setting.values = {value};
    }
    const auto later = std::find_if(node.settings.begin(), node.settings.end(),
                                    [&](auto& s) { return s.parameter >= setting.parameter; });
    if (later != node.settings.end() && later->parameter == setting.parameter)
      return fail(MORELLO_SYNTAX_ERROR, at, p->name, " is there twice");
    place.setting.insert(place.setting.begin() + (later - node.settings.begin()), at);
    node.settings.insert(later, std::move(setting));
  }
  for (const ParameterRow& p : parameters())
    if (row.required & bit_of(p.parameter) && !setting_of(node, p.parameter))
      return expected(p.name, "=");
  if (!is_name(token_) || !peek().is("=")) return true;
  std::string known;
  for (const ParameterRow& p : parameters())
    if (row.allowed & bit_of(p.parameter))
      known += concat(known.empty() ? "; it has " : ", ", p.name,
                      p.values == ParameterRow::Values::kNone ? "" : "=");
  return fail(MORELLO_SYNTAX_ERROR, token_.at, row.name, " has no parameter ", describe(token_),
              known);
}

bool GraphParser::operand(Input& input) {
  if (is_number(token_) || (token_.is("-") && is_number(peek()))) {
    float value = 0;
    double exact = 0;
    if (!number(value, exact)) return false;
    input = {Input::Kind::kNumber, 0, is_i32(exact) ? exact : static_cast<double>(value)};
    return true;
  }
  const Token name = token_;
  const bool bare = !is_name(name) || dtype_from_name(name.text) || peek().is("[");
  const bool declares = !bare && !names_.contains(name.text) && is_name(peek()) &&
                        (second().is("[") || dtype_from_name(peek().text));
  if (!bare && !declares) return reference(input);
  if (declares) advance();
  input = {Input::Kind::kTensor, static_cast<int>(statement_.tensors.size()), 0};
  if (!is_name(token_)) return expected("a tensor such as f32[64,768], a name or a number");
  return tensor() && (!declares || define(name, input));
}

bool GraphParser::reference(Input& input) {
  const auto known = names_.find(token_.text);
  if (known == names_.end()) {
    Lexer ahead(lexer_);
    for (Token t = token_; t.kind != Token::Kind::kEnd; t = ahead.next()) {
      const bool same = is_name(t) && t.text == token_.text;
      const Token next = Lexer(ahead).next();
      if (!same || t.at == token_.at || !(next.is("=") || is_name(next))) continue;
      if (find_operation(next.text)) continue;
      Error later;
      locate(text_, t.at, later);
      return fail(MORELLO_SYNTAX_ERROR, token_.at, describe(token_),
                  " is used before it is defined, at ", later.line, ":", later.column,
                  "; a graph has no cycles, and a value is written before what reads it");
    }
    std::string valid;
    for (const auto& [name, named] : names_) valid += concat(valid.empty() ? "" : ", ", name);
    return fail(MORELLO_SYNTAX_ERROR, token_.at, describe(token_),
                " is neither a tensor such as f32[64,768] nor the name of one or of a value",
                valid.empty() ? "" : "; names are ", valid);
  }
  known->second.read = true;
  input = known->second.input;
  advance();
  return true;
}

Error GraphParser::located(Fault fault) {
  const Place& p = fault.place;
  const auto index = static_cast<size_t>(p.tensor), entry = static_cast<size_t>(p.entry);
  error_at_ = node_at_.empty() ? 0 : node_at_.back().at;
  auto among = [&](const std::vector<size_t>& places) {
    if (entry < places.size()) error_at_ = places[entry];
  };
  switch (p.kind) {
    case Place::Kind::kHead:
    case Place::Kind::kArgument:
      break;
    case Place::Kind::kTensor:
    case Place::Kind::kSize:
    case Place::Kind::kLayout:
      if (index < tensor_at_.size()) error_at_ = offset_of_tensor(p);
      break;
    case Place::Kind::kNode:
    case Place::Kind::kInput:
    case Place::Kind::kSetting:
    case Place::Kind::kSubscripts:
      error_at_ = node_at_[index].at;
      if (p.kind == Place::Kind::kInput) among(node_at_[index].input);
      if (p.kind == Place::Kind::kSetting) among(node_at_[index].setting);
      if (p.kind == Place::Kind::kSubscripts) error_at_ = node_at_[index].subscripts + entry;
      break;
  }
  locate(text_, error_at_, fault.error);
  return std::move(fault.error);
}

Result<Statement> GraphParser::finish(bool& formed) {
  for (const auto& [name, named] : names_)
    if (!named.read && named.input.kind == Input::Kind::kNode) {
      fail(MORELLO_SYNTAX_ERROR, named.at, "'", name, "' is not used; leave it out");
      return std::move(error_);
    }
  formed = true;
  if (auto f = check_form(statement_, has_output_)) return located(std::move(*f));
  simplify_graph(statement_);
  if (!has_output_)
    if (auto f = infer_output(statement_)) return located(std::move(*f));
  Space space;
  Lowered lowered;
  if (auto f = check(statement_, space)) return located(std::move(*f));
  if (auto f = canonicalise(statement_, space, lowered)) return located(std::move(*f));
  return std::move(statement_);
}

}  // namespace

Result<Node> parse_operation(std::string_view text, std::vector<Node::Input> inputs) {
  return GraphParser(text).run_operation(std::move(inputs));
}

Result<Statement> parse_graph(std::string_view text, i64 run_time_size, size_t& error_at,
                              bool& formed) {
  GraphParser parser(text, run_time_size);
  Result<Statement> graph = parser.run(formed);
  error_at = parser.error_at();
  return graph;
}

}  // namespace morello
