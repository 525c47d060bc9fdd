// SPDX-License-Identifier: MIT
// Draws the axes of the head first, as dimensions shared by its tensors; then layouts, then steps.
// A draw that breaks a bound is thrown away.
#include "support/random_statement.hh"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "spec/check.hh"

namespace morello::testing {
namespace {

using Head = Statement::Head;
using Shape = std::vector<i64>;

class Generator {
 public:
  Generator(std::mt19937_64& rng, const RandomStatementOptions& options)
      : rng_(rng), options_(options) {}

  /// False if a bound was broken.
  bool draw();
  Statement& statement() { return s_; }

 private:
  int below(int n) { return static_cast<int>(rng_() % static_cast<u64>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  Op elementwise(int inputs);
  i64 size();
  Shape shape(int min_rank, int max_rank);
  Shape broadcast_part(const Shape& shape);
  void layout(Tensor& tensor, bool is_output);
  void add(const Shape& shape, bool is_output = false);
  Shape head();
  Shape matmul();
  Shape einsum();
  Shape reduce();
  Shape transpose();
  void steps(const Shape& result);
  void dtypes();

  std::mt19937_64& rng_;
  const RandomStatementOptions& options_;
  Statement s_;
  i64 points_ = 1;  // of the iteration space
};

Op Generator::elementwise(int inputs) {
  std::vector<Op> all;
  for (const Elementwise& e : kElementwise)
    if (e.inputs == inputs) all.push_back(e.op);
  return all[static_cast<size_t>(below(static_cast<int>(all.size())))];
}

i64 Generator::size() {
  constexpr i64 kPrimes[] = {5, 7, 11, 13, 17, 19, 23, 31, 37, 47, 61, 97, 127, 257};
  constexpr i64 kTiles[] = {6, 8, 14, 16, 32};
  if (options_.max_size && one_in(2)) {  // as many of each power of two
    i64 most = i64{1} << below(std::bit_width(static_cast<u64>(options_.max_size)));
    return std::min(options_.max_size, most + below(static_cast<int>(most)));
  }
  switch (below(5)) {
    case 0:
      return 1 + below(3);
    case 1:
      return kPrimes[below(std::size(kPrimes))];
    case 2:
      return i64{1} << below(9);
    default:
      return std::max<i64>(1, kTiles[below(std::size(kTiles))] * (1 + below(4)) + below(3) - 1);
  }
}

Shape Generator::shape(int min_rank, int max_rank) {
  if (one_in(6)) max_rank = MORELLO_MAX_RANK;
  Shape shape(static_cast<size_t>(min_rank + below(max_rank - min_rank + 1)));
  for (i64& s : shape)
    s = shape.size() > 5 ? 1 + below(4) : shape.size() > 3 ? 1 + below(6) : size();
  return shape;
}

/// A shape that NumPy broadcasts to `shape`.
Shape Generator::broadcast_part(const Shape& shape) {
  if (one_in(2)) return shape;
  Shape part(shape.begin() + below(static_cast<int>(shape.size()) + 1), shape.end());
  for (i64& s : part)
    if (one_in(3)) s = 1;
  return part;
}

void Generator::layout(Tensor& t, bool is_output) {
  t.strides = row_major_strides(t.shape);
  if (!is_output && options_.free_layouts && one_in(4)) {
    t.kind = Tensor::Kind::kFree;
    t.strides.clear();
    return;
  }
  if (!options_.strided || one_in(2)) return;
  std::vector<size_t> order(t.shape.size());  // from fast to slow
  std::iota(order.rbegin(), order.rend(), 0);
  if (one_in(2)) {
    for (size_t i = order.size(); i > 1; i--)
      std::swap(order[i - 1], order[static_cast<size_t>(below(static_cast<int>(i)))]);
  } else if (order.size() > 1 && one_in(2)) {
    std::swap(order[0], order[1]);
  }
  i64 stride = one_in(8) ? 2 : 1;
  for (size_t axis : order) {
    bool repeat = !is_output && one_in(16);
    t.strides[axis] = repeat ? 0 : stride;
    if (!repeat) stride *= t.shape[axis];
    if (one_in(4)) stride += 1 + below(9);
  }
}

void Generator::add(const Shape& shape, bool is_output) {
  Tensor t;
  t.shape = shape;
  layout(t, is_output);
  s_.tensors.push_back(std::move(t));
}

Shape Generator::matmul() {
  const int batches = one_in(24) ? 3 + below(MORELLO_MAX_RANK - 4) : one_in(3) ? 1 + below(2) : 0;
  Shape a(static_cast<size_t>(batches));
  for (i64& batch : a) batch = 1 + below(batches > 2 ? 3 : 5);
  Shape b = a, out = a;
  i64 m = size(), n = size(), k = size();
  a.insert(a.end(), {m, k});
  b.insert(b.end(), {k, n});
  out.insert(out.end(), {m, n});
  points_ *= k;
  add(a);
  add(b);
  return out;
}

/// Each letter is in both inputs and the output, in all but one, or summed in one input.
Shape Generator::einsum() {
  std::string a, b, out;
  Shape a_shape, b_shape, out_shape;
  int letters = 2 + below(one_in(6) ? 9 : 4);
  for (char c = 'a'; c < 'a' + letters; c++) {
    i64 n = letters > 5 ? 1 + below(4) : letters > 3 ? 1 + below(9) : size();
    int kind = below(9);  // 0, 1: m; 2, 3: n; 4, 5: k; 6, 7: batch; 8: summed in one input
    bool lonely_in_a = kind == 8 && one_in(2);
    bool in_a = kind < 2 || (kind >= 4 && kind < 8) || lonely_in_a;
    bool in_b = (kind >= 2 && kind < 8) || (kind == 8 && !lonely_in_a);
    bool in_out = kind < 4 || kind == 6 || kind == 7;
    if (in_a) a += c, a_shape.push_back(n);
    if (in_b) b.insert(0, 1, c), b_shape.insert(b_shape.begin(), n);
    if (in_out) out += c, out_shape.push_back(n);
    if (!in_out) points_ *= n;
  }
  s_.subscripts = a + "," + b + "->" + out;
  add(a_shape);
  add(b_shape);
  return out_shape;
}

Shape Generator::reduce() {
  constexpr Op kOps[] = {Op::kAdd, Op::kMax, Op::kMin, Op::kFastMax, Op::kFastMin};
  s_.op = kOps[below(5)];
  Shape out = shape(1, 5);
  add(out);
  s_.axis = static_cast<u32>(below(static_cast<int>(out.size())));
  points_ *= out[s_.axis];
  out.erase(out.begin() + s_.axis);
  return out;
}

Shape Generator::transpose() {
  Shape in = shape(1, 5), out;
  add(in);
  s_.permutation.resize(in.size());
  std::iota(s_.permutation.rbegin(), s_.permutation.rend(), 0);
  if (one_in(2))
    for (size_t i = in.size(); i > 1; i--)
      std::swap(s_.permutation[i - 1],
                s_.permutation[static_cast<size_t>(below(static_cast<int>(i)))]);
  for (u32 axis : s_.permutation) out.push_back(in[axis]);
  return out;
}

Shape Generator::head() {
  constexpr Head kHeads[] = {Head::kMatmul, Head::kMatmul, Head::kMatmul,    Head::kMatmul,
                             Head::kEinsum, Head::kUnary,  Head::kBinary,    Head::kReduce,
                             Head::kReduce, Head::kMove,   Head::kTranspose, Head::kFill,
                             Head::kTernary};
  constexpr float kValues[] = {0.0f,  -0.0f,  1.0f,
                               -1.5f, 1e-30f, std::numeric_limits<float>::infinity()};
  s_.head = kHeads[below(std::size(kHeads))];
  Shape out;
  switch (s_.head) {
    case Head::kMatmul:
      return matmul();
    case Head::kEinsum:
      return einsum();
    case Head::kReduce:
      return reduce();
    case Head::kTranspose:
      return transpose();
    case Head::kUnary:
      s_.op = elementwise(1);
      break;
    case Head::kBinary:
      s_.op = elementwise(2);
      break;
    case Head::kTernary:
      s_.op = elementwise(3);
      break;
    case Head::kFill:
      s_.fill_value = kValues[below(std::size(kValues))];
      return shape(0, 5);
    case Head::kMove:
    case Head::kGraph:  // not drawn here
      break;
  }
  out = shape(0, 5);
  add(broadcast_part(out));
  for (int i = 1; i < head_inputs(s_.head); i++) add(broadcast_part(out));
  return out;
}

void Generator::steps(const Shape& result) {
  // Mostly few, of which all may be binary; sometimes as many as there may be.
  const int most = one_in(4) ? options_.max_steps : std::min(options_.max_steps, 3);
  for (int i = one_in(2) ? 0 : below(most + 1); i > 0; i--) {
    bool unary = one_in(2) || s_.tensors.size() + 1 >= kMaxOperands;
    Step step{elementwise(unary ? 1 : 2), unary ? -1 : static_cast<int>(s_.tensors.size())};
    s_.steps.push_back(step);
    if (!unary) add(broadcast_part(result));
  }
}

/// As applications mix them, or at random.
void Generator::dtypes() {
  constexpr Dtype kFactors[][2] = {{Dtype::kBf16, Dtype::kBf16}, {Dtype::kF16, Dtype::kF16},
                                   {Dtype::kF32, Dtype::kBf16},  {Dtype::kF32, Dtype::kF16},
                                   {Dtype::kU8, Dtype::kI8},     {Dtype::kI8, Dtype::kI8},
                                   {Dtype::kF32, Dtype::kI8},    {Dtype::kBf16, Dtype::kI8}};
  auto any = [&] { return kAllDtypes[below(std::size(kAllDtypes))]; };
  Tensor& out = s_.tensors.back();
  const Dtype same = any();
  switch (below(3)) {
    case 0:
      for (Tensor& t : s_.tensors) t.dtype = one_in(4) ? any() : Dtype::kF32;
      break;
    case 1:
      for (Tensor& t : s_.tensors) t.dtype = same;
      break;
    default: {
      const Dtype* factors = kFactors[below(std::size(kFactors))];
      const bool integers = is_integer(factors[0]) && is_integer(factors[1]);
      for (size_t i = 0; i + 1 < s_.tensors.size(); i++)
        s_.tensors[i].dtype = i < 2                   ? factors[i]
                              : integers && one_in(2) ? Dtype::kI32
                                                      : Dtype::kF32;
      if (one_in(3))
        out.dtype = integers ? Dtype::kI32 : factors[0];
      else if (one_in(3))
        out.dtype = factors[0];
      break;
    }
  }
}

bool Generator::draw() {
  Shape out = head();
  steps(out);
  add(out, true);
  bool may_accumulate = options_.accumulate && s_.steps.size() + 1 < kMaxStages - 1;
  s_.accumulate = may_accumulate && one_in(3);
  for (const Tensor& t : s_.tensors) {
    i64 elements = 1;
    for (i64 size : t.shape) elements *= size;
    if (elements > options_.max_elements) return false;
  }
  for (i64 size : out) points_ *= size;
  if (points_ > options_.max_flops) return false;
  if (options_.other_dtypes) dtypes();
  return lower(s_).ok();
}

}  // namespace

Statement random_statement(std::mt19937_64& rng, const RandomStatementOptions& options) {
  for (;;) {
    Generator generator(rng, options);
    if (generator.draw()) return std::move(generator.statement());
  }
}

}  // namespace morello::testing
