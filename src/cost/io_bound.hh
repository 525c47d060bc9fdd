// SPDX-License-Identifier: MIT
// What any program of a contraction pays for bringing data to a fast memory, and for loading and
// storing its results there, however its loops are ordered.
#ifndef MORELLO_COST_IO_BOUND_HH
#define MORELLO_COST_IO_BOUND_HH

namespace morello {

/// A sum of products over three index sets, each dimension in at least two of them. Sizes in
/// elements.
struct Contraction {
  double points = 0;                                 // multiplications
  double a = 0, b = 0, c = 0;                        // elements of the inputs and of the output
  bool far_a = false, far_b = false, far_c = false;  // these have to be brought to the fast memory
  double fast = 0;       // elements that the fast memory holds, besides what is not far
  double element = 0;    // price of bringing one
  double visit = 0;      // price of visiting one result: products are added to it in registers
  double registers = 0;  // results that may stay in registers from one visit to the next
};

/// A lower bound of the price of all bringing and visiting. Proof: docs/search.md.
double io_bound(const Contraction& p);

/// The same, but for one product, of programs that are nests of loops and moves: each array comes
/// to the fast memory by tiles that stay there while what is nested inside runs, and results are
/// visited by tiles of registers, of `registers` results at most. Proof: docs/search.md.
double nest_bound(const Contraction& p);

}  // namespace morello

#endif
