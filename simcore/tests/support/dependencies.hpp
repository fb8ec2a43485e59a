// The channel dependency graph (Dally & Seitz 1987): the (channel, VC class) pairs that may wait for each other. A
// graph without a cycle has no deadlock. VCs of one class are interchangeable, so the graph has one node per class.
#pragma once

#include <set>

#include "simcore/network.hpp"

namespace scenes {

using namespace flitgym;

using Edges = std::map<u32, std::set<u32>>;

inline u32 channel_class(u32 port, u32 vc_class) { return port << 5 | vc_class; }
inline u32 class_of(u32 channel) { return channel & 31; }

// Adds the edge of a head that arrived at in_port on in_class and leaves by out_port on out_class. Terminals always
// accept flits, so ports of terminals have no edge.
inline void add(Edges& edges, const Network& net, u32 router, u32 in_port, u32 in_class, u32 out_port, u32 out_class) {
  const u32 input = net.port(router, in_port), output = net.port(router, out_port);
  if (net.channels[input].kind == PortKind::kTerminal || net.channels[output].kind == PortKind::kTerminal) return;
  edges[channel_class(net.channels[input].peer, in_class)].insert(channel_class(output, out_class));
}

inline u64 edge_count(const Edges& edges) {
  u64 n = 0;
  for (const auto& [from, to] : edges) n += to.size();
  return n;
}

// The dependencies if all classes were one.
inline Edges in_one_class(const Edges& edges) {
  Edges merged;
  for (const auto& [from, to] : edges)
    for (const u32 next : to) merged[from & ~31u].insert(next & ~31u);
  return merged;
}

// Repeatedly removes channels for which no other channel waits. The graph is acyclic if this removes all channels.
inline bool acyclic(const Edges& edges) {
  std::map<u32, u32> waiting;  // number of edges that lead to the channel
  for (const auto& [from, to] : edges) {
    waiting[from];
    for (u32 next : to) waiting[next]++;
  }
  std::vector<u32> free;
  for (const auto& [channel, n] : waiting)
    if (n == 0) free.push_back(channel);
  std::size_t taken = 0;
  for (; taken < free.size(); taken++)
    if (const auto at = edges.find(free[taken]); at != edges.end())
      for (u32 next : at->second)
        if (--waiting[next] == 0) free.push_back(next);
  return taken == waiting.size();
}

}  // namespace scenes
