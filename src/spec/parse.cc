// SPDX-License-Identifier: MIT
// The Spec language: recursive descent, one token of look-ahead, no recursion on the input's depth.
// docs/spec-language.md has the grammar. The parser checks form; check() finds everything else, and
// the parser adds where in the text it is.
#include <algorithm>
#include <charconv>

#include "spec/parser.hh"

namespace morello {
namespace {

using Head = Statement::Head;

class Parser : public TextParser {
 public:
  using TextParser::TextParser;

  Result<Statement> run() {
    Space space;
    Lowered lowered;
    if (!head() || !steps() || !output()) return std::move(error_);
    formed_ = true;
    if (statement_.head == Head::kFill && is_integer(statement_.tensors[0].dtype))
      statement_.fill_value = exact_value_;
    if (auto f = check(statement_, space)) return located(std::move(*f));
    if (auto f = canonicalise(statement_, space, lowered)) return located(std::move(*f));
    return std::move(statement_);
  }
  size_t error_at() const { return error_at_; }
  /// The text has the form of one operation: what is wrong is what it means.
  bool formed() const { return formed_; }

 private:
  // Each of these parses one rule of the grammar, as those of TextParser.
  bool head();
  bool einsum_subscripts();
  bool axis();
  bool permutation();
  bool fill_value();
  bool steps();
  bool step(Op op);
  bool output();
  Error located(Fault fault);
  size_t offset_of(const Place& place) const;

  size_t head_at_ = 0;
  bool formed_ = false;
  bool has_own_shape_ = false;       // the output's shape does not follow from the inputs
  std::vector<size_t> argument_at_;  // the subscripts, axis, number, or entries of the permutation
  double exact_value_ = 0;           // what is filled with, before it is rounded to f32
};

/// Six letters for each of three tensors, "," and "->".
constexpr size_t kMaxSubscripts = 3 * MORELLO_MAX_RANK + 3;

std::string step_names() {
  std::string names;
  for (const HeadName& h : head_names())
    if (h.is_step()) names += concat(names.empty() ? "" : ", ", h.name);
  return names;
}

std::optional<HeadName> find_name(const Token& token) {
  if (token.kind == Token::Kind::kName)
    for (const HeadName& h : head_names())
      if (h.name == token.text) return h;
  return std::nullopt;
}

size_t Parser::offset_of(const Place& place) const {
  size_t entry = static_cast<size_t>(place.entry);
  size_t index = static_cast<size_t>(place.tensor);
  switch (place.kind) {
    case Place::Kind::kHead:
      return head_at_;
    case Place::Kind::kArgument:
      if (statement_.head == Head::kEinsum) return argument_at_[0] + entry;
      return argument_at_.empty() ? head_at_
                                  : argument_at_[std::min(entry, argument_at_.size() - 1)];
    case Place::Kind::kTensor:
    case Place::Kind::kSize:
    case Place::Kind::kLayout:
    case Place::Kind::kNode:  // of graphs
    case Place::Kind::kInput:
    case Place::Kind::kSetting:
    case Place::Kind::kSubscripts:
      break;
  }
  if (index >= tensor_at_.size()) return head_at_;  // an output that was left out
  return offset_of_tensor(place);
}

Error Parser::located(Fault fault) {
  error_at_ = offset_of(fault.place);
  locate(text_, error_at_, fault.error);
  return std::move(fault.error);
}

bool Parser::head() {
  head_at_ = token_.at;
  auto row = find_name(token_);
  if (!row) {
    std::string names = operation_names() + ", broadcast, fill";
    if (token_.kind != Token::Kind::kName) return expected("an operation (", names, ")");
    return fail(MORELLO_SYNTAX_ERROR, token_.at, "unknown operation ", describe(token_),
                after_unknown(token_.text), names);
  }
  advance();
  statement_.head = row->head;
  statement_.op = row->op;
  if (row->head == Head::kEinsum && !einsum_subscripts()) return false;
  if (row->head == Head::kFill && !fill_value()) return false;
  for (int i = 0; i < head_inputs(row->head); i++)
    if (!tensor()) return false;
  if (row->head == Head::kReduce && !axis()) return false;
  if (row->head == Head::kTranspose && !permutation()) return false;
  has_own_shape_ = row->head == Head::kFill || row->name == "broadcast";
  return true;
}

bool Parser::einsum_subscripts() {
  if (token_.kind != Token::Kind::kString) return expected("subscripts such as \"bmk,bkn->bmn\"");
  argument_at_ = {token_.at + 1};
  statement_.subscripts = token_.text.substr(0, kMaxSubscripts);
  if (token_.text.size() > kMaxSubscripts)
    return fail(MORELLO_SYNTAX_ERROR, token_.at, "the subscripts have ", token_.text.size(),
                " characters; with 6 letters for each tensor at most ", kMaxSubscripts,
                " are needed");
  advance();
  return true;
}

bool Parser::fill_value() {
  argument_at_ = {token_.at};
  float value = 0;
  if (!number(value, exact_value_)) return false;
  statement_.fill_value = value;
  return true;
}

bool Parser::axis() {
  if (!(token_.kind == Token::Kind::kName && token_.text == "axis")) return expected("axis=");
  advance();
  Int axis;
  if (!symbol("=") || !integer(axis, "an axis")) return false;
  argument_at_ = {axis.at};
  if (axis.value < 0 || axis.value >= MORELLO_MAX_RANK)
    return fail(MORELLO_INVALID_SHAPE, axis.at, "there is no axis ", axis.value,
                "; axes are counted from 0 and a tensor has at most ", MORELLO_MAX_RANK);
  statement_.axis = static_cast<u32>(axis.value);
  return true;
}

bool Parser::permutation() {
  if (!(token_.kind == Token::Kind::kName && token_.text == "perm")) {
    for (size_t i = statement_.tensors[0].shape.size(); i-- > 0;)
      statement_.permutation.push_back(static_cast<u32>(i));
    return true;
  }
  advance();
  std::vector<Int> entries;
  if (!symbol("=") || !integers(entries, "an axis")) return false;
  for (const Int& entry : entries) {
    if (entry.value < 0 || entry.value >= MORELLO_MAX_RANK)
      return fail(MORELLO_INVALID_SHAPE, entry.at, "there is no axis ", entry.value,
                  "; axes are counted from 0 and a tensor has at most ", MORELLO_MAX_RANK);
    argument_at_.push_back(entry.at);
    statement_.permutation.push_back(static_cast<u32>(entry.value));
  }
  return true;
}

bool Parser::steps() {
  constexpr struct {
    std::string_view symbol;
    Op op;
  } kSymbols[] = {{"+", Op::kAdd}, {"-", Op::kSub}, {"*", Op::kMul}, {"/", Op::kDiv}};
  for (;;) {
    Token start = token_;
    auto infix = std::find_if(std::begin(kSymbols), std::end(kSymbols),
                              [&](const auto& s) { return token_.is(s.symbol); });
    bool is_infix = infix != std::end(kSymbols);
    auto row = token_.is("->") ? find_name(peek()) : std::nullopt;
    if (!is_infix && !(row && row->is_step())) return true;
    if (statement_.steps.size() == kMaxSteps)
      return fail(MORELLO_UNSUPPORTED, start.at, "step ", kMaxSteps + 1,
                  " of the Spec begins here; at most ", kMaxSteps,
                  " steps after the operation are supported");
    advance();
    if (!is_infix) advance();
    if (!step(is_infix ? infix->op : row->op)) return false;
  }
}

bool Parser::step(Op op) {
  if (is_unary(op)) {
    statement_.steps.push_back({op, -1});
    return true;
  }
  // A name is a comment on the operand: `+ bias f32[64]`.
  if (token_.kind == Token::Kind::kName && peek().kind == Token::Kind::kName) advance();
  statement_.steps.push_back({op, static_cast<int>(statement_.tensors.size())});
  return tensor();
}

bool Parser::output() {
  bool accumulate = token_.is("+=");
  if (accumulate || token_.is("->")) {
    advance();
    statement_.accumulate = accumulate;
    if (!accumulate && token_.kind == Token::Kind::kName && !dtype_from_name(token_.text) &&
        !peek().is("["))
      return expected("an output such as f32[64,768], or a step (", step_names(), ")");
    if (!tensor()) return false;
    return token_.kind == Token::Kind::kEnd || expected("the end of the Spec after its output");
  }
  if (token_.kind != Token::Kind::kEnd)
    return expected("'->', '+=' or a step ('+', '-', '*', '/')");
  if (has_own_shape_)
    return expected("'->' and an output, whose shape does not follow from the input");
  formed_ = true;
  if (auto f = infer_output(statement_)) {
    error_ = located(std::move(*f));
    return false;
  }
  return true;
}

}  // namespace

/// Nothing but graphs has names and several statements.
static bool is_graph(std::string_view text) {
  Lexer lexer(text);
  const Token first = lexer.next();
  Token token = lexer.next();
  if (first.kind == Token::Kind::kName && token.is("=")) return true;
  while (token.kind != Token::Kind::kEnd && !token.is(";")) token = lexer.next();
  return token.is(";");
}

Result<Statement> parse(std::string_view text, i64 run_time_size) {
  size_t graph_at = 0;
  bool formed = false;
  if (is_graph(text)) return parse_graph(text, run_time_size, graph_at, formed);
  Parser parser(text, run_time_size);
  Result<Statement> plain = parser.run();
  if (plain || parser.formed()) return plain;
  // What the one parser does not understand the other may. If neither does, the text is meant for
  // the one that came further.
  Result<Statement> graph = parse_graph(text, run_time_size, graph_at, formed);
  const bool meant =
      formed ? plain.error().status == MORELLO_SYNTAX_ERROR : graph_at > parser.error_at();
  return graph || meant ? std::move(graph) : std::move(plain);
}

}  // namespace morello
