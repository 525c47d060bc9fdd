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
  double fast = 0;  // elements that the fast memory holds, besides what is not far
  double element_a = 0, element_b = 0, element_c = 0;  // prices of bringing one of each
  double visit = 0;      // price of visiting one result: products are added to it in registers
  double registers = 0;  // results that may stay in registers from one visit to the next
  // For nest_bound(): of inputs that are windows, places that have an element; their sizes are
  // those of all places there.
  double places_a = 1, places_b = 1;
  // For nest_bound(): elements that two tiles hold which stay at once, and what beginning a run of
  // an array that is far costs more, by the dimension along which its runs are: m or k of a, k or n
  // of b, m or n of c.
  double fast_of_two = 0;
  double run_am = 0, run_ak = 0, run_bk = 0, run_bn = 0, run_cm = 0, run_cn = 0;
};

/// A lower bound of the price of all bringing and visiting. Proof: docs/search.md.
double io_bound(const Contraction& p);

/// The same, but for one product, of programs that are nests of loops and moves: each array comes
/// to the fast memory by tiles that stay there while what is nested inside runs, and results are
/// visited by tiles of registers, of `registers` results at most. Proof: docs/search.md.
/// REQUIRES: fast_of_two >= fast + registers.
double nest_bound(const Contraction& p);

}  // namespace morello

#endif
