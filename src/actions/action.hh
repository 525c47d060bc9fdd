// SPDX-License-Identifier: MIT
// Actions: the rewrites of a Spec. Each lists itself where it applies, and derives its children:
// the Specs that remain to be solved, how often each runs, and what the node costs of its own.
#ifndef MORELLO_ACTIONS_ACTION_HH
#define MORELLO_ACTIONS_ACTION_HH

#include <array>
#include <span>
#include <vector>

#include "cost/microkernel.hh"
#include "cost/model.hh"
#include "impl/impl.hh"
#include "spec/limits.hh"

namespace morello {

/// On disk: never renumber.
enum class ActionKind : u8 {
#define MORELLO_ACTION(number, name) k##name = number,
#include "actions/actions.def"
#undef MORELLO_ACTION
};

/// Layouts that an operand may be put in, relative to its Spec: equal choices at different sizes
/// are equal values. On disk: never renumber.
enum class LayoutOption : u8 {
  kSame = 0,         // the order it has, dense
  kReducedFast = 1,  // reduced dimensions fastest: what dot products read
  kReducedSlow = 2,  // reduced dimensions slowest: what outer products read
  kPanels = 3,   // panels of `size` along its vector or row dimension, reduced dimensions inside
  kGrouped = 4,  // like kReducedSlow, but neighbours along the fastest of them share a lane
  kGroupedPanels = 5,  // like kPanels, with such groups inside
  kLines = 6,          // panels of `size` rows, in which lines of all rows follow one another
  kTurned = 7,         // of results: turned_dim() fastest, the rest in the order it has
  kChannelsLast = 8,   // windows as axes, and reduced dimensions without any fastest
};

/// One decision, relative and small. Equal bytes, equal decision.
struct Action {
  ActionKind kind{};
  u8 arg = 0;
  Level level{};
  LayoutOption option{};
  u32 size = 0;
  friend bool operator==(const Action&, const Action&) = default;
};

/// The fixed order that chooses among equally cheap actions: moves first, by operand; then splits
/// of the computation, microkernels, and tiles, larger ones first.
u64 order_of(const Action& action);

struct Child {
  Spec spec;
  Limits limits;
  u64 times = 1;
  Binding binding;
};

/// Most children of one action.
inline constexpr int kMaxChildren = 3;

struct Derivation {
  int count = 0;
  std::array<Child, kMaxChildren> child;
  i64 own = 0;                   // units
  Level level = Level::kMemory;  // what the node allocates while its children run
  u64 amount = 0;                // registers or lines
};

/// Which actions are not listed because others do as well: docs/search.md says why. Each can be
/// switched off, for tests.
enum class Restriction : u8 {
  kBatch = 0,      // dimensions that all operands of a contraction share are tiled by 1
  kCopyTiles = 1,  // without a contraction, tiles are multiples of 8, panels, or 1
  kLayouts = 2,    // no copies into layouts that microkernels read no better
  // Of graphs, no tiles that repeat a stage, or of odd sizes; no operand comes nearer that neither
  // loops nor several stages use again.
  kStageTiles = 3,
  // Of what combines over many dimensions, tiles are divisors or nearly so; places next to borders
  // are divided after loops.
  kFewTiles = 4,
  kNarrowCopies = 5,   // of factors narrower than f32, fewer copies that cost nearly the same
  kVectorsFirst = 6,   // where a factor is used once, the rest comes to L1 before all else
  kFewRemainders = 7,  // of contractions, tiles that leave few sizes over
  kFewPanels = 8,      // of even width, and only of what cache sets would not hold as it is
  kWideSumsLast = 9,   // sums wider than a register tile come to L1 when something else is there
  kWholeTiles = 10,    // of what tile registers take, tiles fill them
  kFewBlocks = 11,     // of rows, one size of blocks within a factor of two
  kNarrowInRows = 12,  // of products of narrow types, what is read in vectors stays in its rows
                       // until few columns of it are used
  kOnePass = 13,       // what streams from L2 does so once, where registers have room for all rows
  kLikeLayouts = 14,   // of factors that the same rows meet, panels are alike
  // In narrower spaces only (actions/narrow.hh):
  kChainTiles = 15,  // tiles that divide one another, or are those of registers
  kNearLast = 16,    // to L1 comes what is a register tile wide
  kFewLayouts = 17,  // one width of panels
  kStepsFirst = 18,  // small operands of steps come nearer before all else, others not at all
  kOneBuffer = 19,   // a chain's sums are in the output, where they can be
  kFirstMoves = 20,  // what a cache has room for comes there before all else; of the fewest only
  kGraphs = 21       // of few: loops over all that multiplies, and values near where they have room
};
inline constexpr int kRestrictions = 22;
inline constexpr Restriction kFirstNarrow = Restriction::kChainTiles;

/// How much of the space of programs is searched: all spaces are parts of the whole one. Few and
/// the fewest are for programs to begin with (search/effort.hh).
enum class Breadth : u8 { kWhole = 0, kMiddle = 1, kNarrow = 2, kFew = 3, kFewest = 4 };
inline constexpr int kBreadths = 5;

/// What actions may depend on besides the Spec. Immutable during a search.
struct ActionContext {
  const Target* target = nullptr;
  u32 disabled = 0;               // bit 1 << kind: left out, for tests of what a rewrite is worth
  u32 disabled_restrictions = 0;  // bit 1 << Restriction
  Microkernels microkernels = morello::microkernels();  // in the order of their numbers
  Breadth breadth = Breadth::kWhole;
  /// Few actions, or the fewest?
  bool has_few() const { return breadth == Breadth::kFew || breadth == Breadth::kFewest; }
  bool restricts(Restriction r) const {
    return (breadth != Breadth::kWhole || r < kFirstNarrow) &&
           !(disabled_restrictions >> static_cast<int>(r) & 1);
  }
};

class ActionList {
 public:
  void clear() { actions_.clear(); }
  void add(const Action& a) { actions_.push_back(a); }
  auto begin() const { return actions_.begin(); }
  auto end() const { return actions_.end(); }
  size_t size() const { return actions_.size(); }

 private:
  std::vector<Action> actions_;  // keeps its capacity: no allocation per Spec
};

/// What few rewrites know: the others are not asked about Specs that have it. Bits.
inline constexpr u8 kBorders = 1;   // windows past the ends of an axis
inline constexpr u8 kDiagonal = 2;  // stages that keep
inline constexpr u8 kGathers = 4;   // stages that gather
u8 specials_of(const Spec& spec);

/// One kind of rewrite.
struct Rewrite {
  ActionKind kind;
  void (*list)(const Spec&, const Limits&, const ActionContext&, ActionList&);
  /// False if it does not fit the limits. REQUIRES: listed for this Spec: see is_listed().
  bool (*derive)(const Spec&, const Limits&, const Action&, const ActionContext&, Derivation&);
  /// The Impl node of the decision, children aside.
  decltype(ImplNode::kind) (*node)(const Spec&, const Action&, const ActionContext&);
  /// Is an action of this kind listed? Null: see the list.
  bool (*lists)(const Spec&, const Limits&, const Action&, const ActionContext&) = nullptr;
  u8 knows = 0;  // of the specials
};

/// In the order of their kinds, which begin at 1.
std::span<const Rewrite* const> rewrites();

/// False: rewrites of this kind are switched off, or are not for Specs with these specials.
bool may_be_listed(const Rewrite& rewrite, u8 specials, const ActionContext& context);
/// Every action that applies to `spec`, in no particular order of merit, always the same order.
void list_actions(const Spec& spec, const Limits& limits, const ActionContext& context,
                  ActionList& out);
/// Children and own cost: the inner loop of the search. False if it does not fit the limits.
bool preview(const Spec& spec, const Limits& limits, const Action& action,
             const ActionContext& context, Derivation& out);
/// The partial Impl of an action: its node with edges to children 0, 1, .. and no costs.
ImplNode apply(const Spec& spec, const Action& action, const ActionContext& context,
               const Derivation& derivation);
/// Peaks of a node from those of its children.
Limits peaks_of(const Derivation& derivation, std::span<const Limits> children);

#define MORELLO_ACTION(number, name) extern const Rewrite k##name##Rewrite;
#include "actions/actions.def"
#undef MORELLO_ACTION

}  // namespace morello

#endif
