// SPDX-License-Identifier: MIT
// The ways to sum products in vectors: which element types an instruction, or a few of them,
// multiplies, and how many neighbours along the reduced dimension it takes at once. Rows of data:
// microkernels, bounds and emitters derive from them what they cost and how they are written.
#ifndef MORELLO_TARGET_DOTS_HH
#define MORELLO_TARGET_DOTS_HH

#include "support/dtype.hh"
#include "target/target.hh"

namespace morello {

/// What an emitter writes. Lanes have 4 bytes: sums in f32 or i32.
enum class DotForm : u8 {
  kFma,       // one product: factors are widened to f32 when they are loaded
  kMulAdd,    // one product: factors are widened to i32
  kHalves,    // a pair of bf16: a shift makes one half of the lane an f32, a mask the other
  kWords,     // four bytes: a shift makes the even ones words, another one the odd ones
  kWordsDot,  // the same with one instruction that multiplies and adds
  kBytesDot,  // four unsigned bytes of one factor by signed ones of the other
  kPairsDot,  // a pair of bf16, in one instruction, which takes denormals to be zero
  /// Four signed bytes by signed ones. Those of a have their sign flipped, so that they are
  /// unsigned and 128 more; sums of 128 times the bytes of b, of one more row, are subtracted last.
  kFlippedDot,
};

struct Dot {
  DotForm form;
  Features required;      // besides those of all targets
  u8 group;               // neighbours that share a lane: these fill its 4 bytes, or 1
  u8 passes;              // over the lanes: what is prepared anew for each
  u8 price;               // of adding the products of a vector, in half FMAs, each pass
  u8 instructions;        // that this takes
  u8 prepare;             // instructions that make a loaded vector ready, for all passes
  u8 spare;               // registers that this needs
  u8 latency;             // cycles of one addition; 0: that of an FMA
  bool whole;             // factors are read a lane at a time, and elements beyond the last are 0
  bool corrects = false;  // tiles have one more row of sums, in registers of their own; of a only
                          // vectors are made ready

  /// Products that a lane sums per pass.
  u32 products() const { return group / passes; }
};

/// The row for factors in memory of types `a` and `b`, summed in `sum`. Nothing where no row of the
/// target takes them.
/// @param group  neighbours along the reduced dimension in each lane of the factor that is read in
///     vectors, or 1.
/// @param tile   sums are of rows and columns: rows of dots() that correct them serve.
const Dot* dot_of(const Target& target, Dtype a, Dtype b, Dtype sum, u32 group, bool tile = true);
/// Of group 1: every target has it.
const Dot* dot_of_one(Dtype sum);
/// All rows, of all targets.
std::span<const Dot> dots();
/// Does a row of the target take factors of these types, in either order?
bool takes(const Dot& dot, const Target& target, Dtype a, Dtype b, Dtype sum);
/// The most products of a lane that any row sums in one step.
u32 most_products(const Target& target, Dtype a, Dtype b, Dtype sum);

/// What AUTO means for problems of these element types: of the targets that are as good for them as
/// best_target(cpu, cap), the first. So what asks for no instruction that others lack is made for
/// all of them. Nullptr if no target is usable.
const Target* best_target(Features cpu, Features cap, std::span<const Dtype> types);
/// The same of the targets whose numbers are bits of `numbers`.
const Target* best_among(u32 numbers, std::span<const Dtype> types);

/// May the instruction that multiplies name vectors of `b` in memory, as they are?
bool takes_from_memory(const Dot& dot, Dtype b, Dtype sum);

/// Elements of a type that share a lane.
constexpr u32 lane_elements(Dtype d) { return 4 / size_of(d); }

}  // namespace morello

#endif
