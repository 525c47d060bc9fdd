// SPDX-License-Identifier: MIT
// Random Impl trees of the actions that are listed, and whether a tree computes its graph.
#ifndef MORELLO_TESTS_SUPPORT_ACTION_TREE_HH
#define MORELLO_TESTS_SUPPORT_ACTION_TREE_HH

#include <map>
#include <string>

#include "actions/action.hh"
#include "random_spec.hh"
#include "spec/statement.hh"

namespace morello::testing {

/// Random actions down to where a walk ends, at most `depth` of them one inside of the other;
/// leaves select no microkernel in particular.
/// @param seen  how many of each kind were taken.
ImplTree random_action_tree(const Spec& spec, const ActionContext& context, Random& random,
                            int depth, std::map<ActionKind, int>& seen);

/// "" if a tree is valid and the interpreter makes of numbers from -2 to 2 what evaluate() does,
/// but for the order of sums.
std::string wrong_tree(const ImplTree& tree, const Lowered& lowered, Random& random);

}  // namespace morello::testing

#endif
