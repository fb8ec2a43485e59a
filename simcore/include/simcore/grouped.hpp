// Indices sorted by group.
#pragma once

#include <vector>

#include "simcore/types.hpp"

namespace flitgym {

// Returns the indices 0 to count - 1, stably sorted by group. Group g has the places first[g] to first[g + 1] - 1.
template <class Index, class GroupOf>
std::vector<Index> grouped(std::size_t groups, std::size_t count, std::vector<Index>& first, GroupOf&& group_of) {
  first.assign(groups + 1, 0);
  for (std::size_t k = 0; k < count; k++) first[group_of(k) + 1]++;
  for (std::size_t g = 0; g < groups; g++) first[g + 1] += first[g];
  std::vector<Index> next(first.begin(), first.end() - 1), order(count);
  for (std::size_t k = 0; k < count; k++) order[next[group_of(k)]++] = static_cast<Index>(k);
  return order;
}

}  // namespace flitgym
