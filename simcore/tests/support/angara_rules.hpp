// The rules of Angara's routes, implemented literally as in the study, as a reference for the tables.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "simcore/tables/channel_graph.hpp"
#include "tables/angara_graph.hpp"

namespace scenes {

using namespace flitgym;

// The rules as stated in the study. Only the directions of channels come from the routing graph.
struct Rules {
  const tables::ChannelGraph& g;
  const std::vector<u8>& direction;
  u32 n;
  std::set<std::pair<u32, u32>> added;  // turns against the order, from channel to channel

  Rules(const tables::ChannelGraph& graph, const tables::AngaraGraph& a)
      : g(graph), direction(a.direction), n(a.dimensions) {
    augment();
  }

  // Theorem 2 as stated: every query about the channels ahead is a separate search.
  std::set<u32> ahead(u32 channel) const {
    std::set<u32> seen;
    std::vector<u32> found{channel};
    for (std::size_t k = 0; k < found.size(); k++)
      for (u32 next = g.first[g.to[found[k]]]; next < g.first[g.to[found[k]] + 1]; next++)
        if ((direction[next] >= direction[found[k]] || added.contains({found[k], next})) && seen.insert(next).second)
          found.push_back(next);
    std::set<u32> directions;
    for (const u32 c : seen) directions.insert(direction[c]);
    return directions;
  }
  bool may_be_added(u32 c, u32 next) const {
    const bool first_or_last = direction[c] < n || direction[next] >= n;
    return first_or_last && direction[next] < direction[c] && !added.contains({c, next}) &&
           !ahead(next).contains(direction[c]);
  }
  void augment() {
    std::vector<u32> order(g.channels);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(),
              [&](u32 a, u32 b) { return std::pair(g.from[a], direction[a]) < std::pair(g.from[b], direction[b]); });
    for (bool more = true; more;) {
      more = false;
      for (const u32 c : order)
        for (const u32 next : order)
          if (g.from[next] == g.to[c] && may_be_added(c, next)) more = added.insert({c, next}).second;
    }
  }
  bool turn(u32 c, u32 next) const { return direction[next] >= direction[c] || added.contains({c, next}); }
  // A list follows the order of directions and uses no dimension in both directions.
  bool list(const std::vector<u32>& route, std::size_t begin, std::size_t end) const {
    std::set<u32> used;
    for (std::size_t k = begin; k < end; k++) {
      if (k > begin && direction[route[k]] < direction[route[k - 1]]) return false;
      used.insert(direction[route[k]]);
    }
    for (const u32 d : used)
      if (d < n && used.contains(d + n)) return false;
    return true;
  }
  bool permitted(const std::vector<u32>& route) const {
    if (route.empty()) return true;
    for (std::size_t k = 1; k < route.size(); k++)
      if (!turn(route[k - 1], route[k])) return false;
    const std::size_t size = route.size();
    const bool first = direction[route.front()] < n, last = direction[route.back()] >= n;
    return list(route, 0, size) || (first && list(route, 1, size)) || (last && list(route, 0, size - 1)) ||
           (first && last && size > 1 && list(route, 1, size - 1));
  }
  // Visits all permitted routes from a switch with at most `steps` hops. A prefix of a permitted route is permitted, so
  // the search cuts off the others early.
  void each_route(std::vector<u32>& route, u32 at, u32 steps, const std::function<void(u32)>& visit) const {
    visit(at);
    if (route.size() == steps) return;
    for (u32 c = g.first[at]; c < g.first[at + 1]; c++) {
      route.push_back(c);
      if (permitted(route)) each_route(route, g.to[c], steps, visit);
      route.pop_back();
    }
  }
};

}  // namespace scenes
