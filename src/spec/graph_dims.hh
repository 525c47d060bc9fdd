// SPDX-License-Identifier: MIT
// The dimensions of a graph while it is put together: axes that have to be alike become one, and an
// axis may be several dimensions, from slow to fast, where it is seen as such elsewhere.
#ifndef MORELLO_SPEC_GRAPH_DIMS_HH
#define MORELLO_SPEC_GRAPH_DIMS_HH

#include <vector>

#include "support/types.hh"

namespace morello {

class GraphDims {
 public:
  int fresh(i64 size) {
    dims_.push_back({size, count(), {}});
    return count() - 1;
  }
  int count() const { return static_cast<int>(dims_.size()); }
  i64 size(int dim) const { return dims_[find(dim)].size; }

  /// What they are made of, from slow to fast: dimensions that are not the same as others.
  std::vector<int> atoms(const std::vector<int>& dims) const {
    std::vector<int> list;
    for (int dim : dims) add_atoms(dim, list);
    return list;
  }

  /// Makes one of both, of the same number of elements. False if their parts do not nest.
  bool join(const std::vector<int>& first, const std::vector<int>& second) {
    std::vector<int> a = atoms(first), b = atoms(second);
    while (!a.empty() && !b.empty()) {
      // A split or a join may have changed what the rest is made of.
      a = atoms(a), b = atoms(b);
      const int x = a.back(), y = b.back();
      if (x != y) {
        if (size(x) == size(y))
          dims_[y].parent = x;
        else if (size(x) > size(y) ? !split(x, size(y)) : !split(y, size(x)))
          return false;
        else
          continue;
      }
      a.pop_back(), b.pop_back();
    }
    return a.empty() && b.empty();
  }

  /// So that its faster part has so many elements. False if that does not divide it.
  bool split(int dim, i64 inner) {
    dim = find(dim);
    if (dims_[dim].size % inner != 0) return false;
    const int outer = fresh(dims_[dim].size / inner);
    const int rest = fresh(inner);
    dims_[dim].parts = {outer, rest};
    return true;
  }

  /// The same axis seen with these sizes: which dimensions each is. False if they do not nest.
  bool regroup(const std::vector<int>& dims, const std::vector<i64>& sizes,
               std::vector<std::vector<int>>& groups) {
    std::vector<int> made;
    groups.assign(sizes.size(), {});
    for (size_t i = 0; i < sizes.size(); i++) {
      if (sizes[i] == 1) continue;
      groups[i] = {fresh(sizes[i])};
      made.push_back(groups[i][0]);
    }
    return join(dims, made);
  }

 private:
  struct Dim {
    i64 size;
    int parent;              // itself, or the one that it is the same as
    std::vector<int> parts;  // none: it is one
  };

  int find(int dim) const {
    while (dims_[dim].parent != dim) dim = dims_[dim].parent;
    return dim;
  }
  void add_atoms(int dim, std::vector<int>& list) const {
    dim = find(dim);
    if (dims_[dim].parts.empty())
      list.push_back(dim);
    else
      for (int part : dims_[dim].parts) add_atoms(part, list);
  }

  std::vector<Dim> dims_;
};

}  // namespace morello

#endif
