// A placement policy puts the terminals in an order. Jobs take terminals from its beginning, one job after the other.
#include <algorithm>
#include <numeric>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/rng.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

namespace {

constexpr u64 kStream = u64{0x706c6163} << 32;  // stream of random draws, separate from those of packets

// Fisher and Yates shuffle.
template <class T>
void shuffle(std::vector<T>& items, u64 seed) {
  for (u32 n = static_cast<u32>(items.size()); n > 1; n--, worked(4))
    std::swap(items[n - 1], items[below(draw(seed, kStream, n), n)]);
}

// Terminals, ordered by the position of their router or group in `order`.
std::vector<u32> by_place(const Network& net, const std::vector<u32>& order, const std::vector<u32>& of_terminal) {
  std::vector<u32> place(order.size());
  for (u32 k = 0; k < order.size(); k++) place[order[k]] = k;
  std::vector<u32> terminals(net.terminals);
  std::iota(terminals.begin(), terminals.end(), 0u);
  std::stable_sort(terminals.begin(), terminals.end(),
                   [&](u32 a, u32 b) { return place[of_terminal[a]] < place[of_terminal[b]]; });
  return terminals;
}

std::vector<u32> shuffled(u32 n, u64 seed) {
  std::vector<u32> order(n);
  std::iota(order.begin(), order.end(), 0u);
  shuffle(order, seed);
  return order;
}

std::vector<u32> group_of_terminal(const Network& net) {
  std::vector<u32> group(net.terminals);
  for (u32 t = 0; t < net.terminals; t++) group[t] = net.router_group[net.terminal_router[t]];
  return group;
}

// Every job begins in a group that no other job uses, as long as there is one. Remaining terminals in partly used
// groups are filled last, starting with the job that found no unused group.
std::vector<u32> clustered(const Network& net, const std::vector<u32>& job_ranks) {
  const std::vector<u32> group = group_of_terminal(net);
  std::vector<std::vector<u32>> members(net.groups);
  for (u32 t = 0; t < net.terminals; t++) members[group[t]].push_back(t);
  std::vector<u32> taken;
  std::vector<char> used(net.terminals, 0), touched(net.groups, 0);
  const auto take = [&](u32 g, u32& left) {
    for (const u32 t : members[g])
      if (left > 0 && !used[t]) {
        taken.push_back(t);
        used[t] = touched[g] = 1;
        left--;
      }
  };
  for (u32 left : job_ranks) {
    for (u32 g = 0; g < net.groups && left > 0; g++)
      if (!touched[g]) take(g, left);
    for (u32 g = 0; g < net.groups && left > 0; g++) take(g, left);
  }
  for (u32 t = 0; t < net.terminals; t++)
    if (!used[t]) taken.push_back(t);
  return taken;
}

// As numbered, but with gaps as on a machine with other jobs. After each terminal, k terminals are skipped with
// probability 4/5 (1/5)^k (a stride of geometric distribution). Skipped terminals come last, in their order.
std::vector<u32> fragmented(u32 terminals, u64 seed) {
  std::vector<u32> taken, passed;
  for (u32 t = 0; t < terminals; t++, worked(4))
    (below(draw(seed, kStream + 1, t), 5) > 0 ? taken : passed).push_back(t);
  taken.insert(taken.end(), passed.begin(), passed.end());
  return taken;
}

}  // namespace

const std::vector<std::string>& placement_policies() {
  static const std::vector<std::string> names = {"linear",    "random",     "random_router", "random_group",
                                                 "clustered", "fragmented", "mapped"};
  return names;
}

std::vector<u32> placement_order(const Network& net, const std::string& policy, u64 seed,
                                 const std::vector<u32>& job_ranks) {
  if (policy == "random") return shuffled(net.terminals, seed);
  if (policy == "random_router") return by_place(net, shuffled(net.routers, seed), net.terminal_router);
  if (policy == "random_group") return by_place(net, shuffled(net.groups, seed), group_of_terminal(net));
  if (policy == "fragmented") return fragmented(net.terminals, seed);
  if (policy == "clustered") return clustered(net, job_ranks);
  std::vector<u32> order(net.terminals);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

}  // namespace flitgym
