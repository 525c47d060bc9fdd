// SPDX-License-Identifier: MIT
// A graph on its way from nodes to stages. Heads such as softmax are made of the calls of
// GraphBuilder, as users would spell them; lower_graph() then makes one canonical Spec of the
// stages, whoever spelled them.
#ifndef MORELLO_SPEC_GRAPH_HH
#define MORELLO_SPEC_GRAPH_HH

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/check.hh"
#include "spec/graph_dims.hh"
#include "spec/operations.hh"

namespace morello {

/// Widths of borders, and steps of windows that have some.
inline constexpr i64 kMostBorder = std::numeric_limits<u16>::max();

/// What a stage reads.
struct Source {
  enum class Kind : u8 { kNone, kTensor, kStage, kNumber };
  Kind kind = Kind::kNone;
  int index = 0;
  double number = 0;
  /// The same bits: 0 and -0 differ, NaNs are equal.
  friend bool operator==(const Source&, const Source&);
};

/// A step of a draft: a Stage whose dimensions are not numbered yet.
struct GraphStage {
  Op op = Op::kCopy;
  std::array<Source, kMaxInputs> in;
  std::vector<int> reduce;      // dimensions
  std::optional<Dtype> rounds;  // of a cast: to this type
};

struct ValueAxis {
  i64 size = 1;
  std::vector<int> dims;  // none: one element
};

/// What an operation takes and gives.
struct Value {
  Source source;
  std::vector<ValueAxis> axes;
  Dtype dtype = Dtype::kF32;  // that an output of it would have
  bool is_number() const { return source.kind == Source::Kind::kNumber; }
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const Statement& statement) : statement_(statement) {}

  /// Applies all nodes. REQUIRES: check_graph_form() and check_tensor() found nothing.
  MaybeFault run();
  /// After run().
  const Value& value(int node) const { return values_[static_cast<size_t>(node)]; }

  // ---- for heads. Once something was wrong, they do nothing.

  bool failed() const { return fault_.has_value(); }
  template <class... Parts>
  Value fail(Status status, Place place, const Parts&... parts) {
    if (!fault_) fault_ = fault(status, place, parts...);
    return {};
  }
  Place here(Place::Kind kind = Place::Kind::kNode, int entry = 0) const {
    return {kind, node_, entry};
  }
  static Value number(double value);
  Value unary(Op op, const Value& x);
  Value binary(Op op, const Value& x, const Value& y);
  Value ternary(Op op, const Value& x, const Value& y, const Value& z);
  Value reduce(Op op, const Value& x, const std::vector<int>& axes, bool keep);
  Value matmul(const Value& a, const Value& b);
  Value einsum(const std::string& subscripts, const Value& a, const Value& b);
  Value transpose(const Value& x, const std::vector<u32>& permutation);
  Value reshape(const Value& x, const std::vector<i64>& shape);
  Value cast(const Value& x, Dtype dtype);
  /// The elements of x at the places of `axis` that the index names: its axes stand in place of
  /// that one; or, by elements, each of them says it for one element, and all other axes are x's.
  Value gather(const Value& x, const Value& index, int axis, bool by_elements);
  /// Of the last two axes, rows and columns: -inf in the columns of row r from r + `kept` on.
  Value causal_mask(const Value& x, i64 kept);
  /// `axis` of a tensor as windows: two axes in place of one, `count` windows and `size` elements
  /// of each, at step * window + dilation * element. Only of inputs that nothing else reads.
  /// Windows may begin `before` elements before the axis, and end `after` behind it.
  struct Window {
    int axis = 0;
    i64 size = 1, step = 1, dilation = 1;
    i64 before = 0, after = 0;
    i64 span() const { return (size - 1) * dilation + 1; }
    i64 count(i64 elements) const { return (elements + before + after - span()) / step + 1; }
    /// Places behind the axis that windows reach.
    i64 past(i64 elements) const {
      return std::max<i64>(step * (count(elements) - 1) + span() - before - elements, 0);
    }
    bool bordered(i64 elements) const { return before > 0 || past(elements) > 0; }
  };
  /// How such an axis is read: every `apart`-th element from `begin` on, by windows of its elements
  /// `first` to `first` + `size`.
  struct Reading {
    i64 begin = 0, apart = 1;
    i64 count = 1, step = 1, dilation = 1;
    i64 first = 0, size = 1;
    i64 before = 0, after = 0;
    bool second_outside = false;  // of windows of one element: `size` is 2
  };
  /// One Reading for each window.
  Value windows(const Value& x, const std::vector<Window>& windows, std::vector<Reading>& readings);
  /// Input `input` of the node with `count` elements of an axis, from `first` on.
  Value part(const Value& x, size_t axis, i64 first, i64 count, int input);

  /// How a tensor's elements are found: dimensions and strides.
  struct Use {
    bool used = false, windowed = false;
    i64 begin = 0;                // elements before the first that is read
    std::vector<ValueAxis> axes;  // as it was written; of windows and parts only to tell them apart
    std::vector<std::pair<int, i64>> strides;
    struct Border {
      int outer = 0, inner = 0;  // dimensions
      i64 stride = 0;            // of the axis
      morello::Window window;    // but for its dimensions
    };
    std::vector<Border> borders;
  };
  const std::vector<Use>& uses() const { return uses_; }
  const std::vector<GraphStage>& stages() const { return stages_; }
  struct Keeping {
    std::vector<int> rows, columns;  // dimensions
    i64 kept = 0;
    int node = 0;  // that asks for it
  };
  /// Of the stages that keep.
  const std::vector<Keeping>& keeping() const { return keeping_; }
  GraphDims& dims() { return dims_; }
  const GraphDims& dims() const { return dims_; }

  /// Something is indexed twice by the same dimension, which no Spec can say.
  MaybeFault find_repeated_axis() const;

 private:
  struct Together {  // axes that have to be different dimensions
    int node;
    std::vector<ValueAxis> axes;
  };

  bool fits(const std::vector<ValueAxis>& axes);
  Value tensor(int index);
  Value apply(const Node& node);
  Value classic(Statement statement, const std::vector<Value>& inputs);
  Value add_stage(GraphStage stage, std::vector<ValueAxis> axes, Dtype dtype);
  std::vector<int> axes_of(const Node& node, const Value& x);
  Value normalised(const Node& node, const std::vector<Value>& in);
  /// REQUIRES: the node has it.
  Place setting(const Node& node, Parameter parameter) const;
  std::optional<i64> kept_columns(const Node& node);
  Value attention(const Node& node, const std::vector<Value>& in);
  Value scaled_matmul(const std::vector<Value>& in);
  Value convolution(const Node& node, const std::vector<Value>& in);
  Value pool(const Node& node, const Value& x);
  bool read_once(const Value& x) const;
  bool read_axis(const Window& window, i64 elements, Reading& reading);
  Value power(const Value& x, double exponent);
  Value softmax(const Value& x, const std::vector<int>& axes);
  Value greatest(const Value& x, const std::vector<int>& axes);
  std::pair<Value, Value> weights(const Value& x, const std::vector<int>& axes);
  Value mean(const Value& x, const std::vector<int>& axes, bool keep);
  bool spatial(const Node& node, const Value& x, const std::array<i64, 2>& window,
               std::vector<Window>& windows);

  const Statement& statement_;
  GraphDims dims_;
  std::vector<Use> uses_;
  std::vector<Value> values_;
  std::vector<GraphStage> stages_;
  std::vector<Together> together_;
  std::vector<Keeping> keeping_;
  MaybeFault fault_;
  int node_ = 0;
};

/// An integer of i32 that is not -0: as a constant it leaves integers what they are.
bool is_i32(double number);

/// "softmax axis=1": a node with these inputs. Errors have a line and column.
Result<Node> parse_operation(std::string_view text, std::vector<Node::Input> inputs);
/// Number and kind of everything in one node.
MaybeFault check_node(const Statement& statement, int index);
/// Steps of check(), for graphs. Number and kind of everything. `has_output`: all of its outputs.
MaybeFault check_graph_form(const Statement& statement, bool has_output);
/// Results have the shapes of their outputs; fills `space` as check() does.
MaybeFault make_graph_space(const Statement& statement, bool has_output, Space& space);
/// As infer_output().
MaybeFault append_graph_outputs(Statement& statement);
/// As canonicalise().
MaybeFault lower_graph(const Statement& statement, Lowered& lowered);
std::string print_graph(const Statement& statement);
/// The Statement of one operation that this graph is, if it is one.
void simplify_graph(Statement& statement);

}  // namespace morello

#endif
