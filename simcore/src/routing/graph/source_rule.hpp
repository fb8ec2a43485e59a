// The data of decisions at the source: paths, returned delays and marks, and the path of each packet.
#pragma once

#include "routing/graph/source_returns.hpp"

namespace flitgym::routing::graph {

enum class SourceChoice : u8 { kLearned, kRecycle, kSpray, kFlow };
enum class Deciders : u8 { kSource, kRouters, kBoth };  // the places where an agent has several candidates

struct SourceRule : ComponentData {
  SourcePaths paths;
  SourceMemory memory;
  Returns returns;
  CongestionMeasure measure;
  SourceChoice choice = SourceChoice::kSpray;
  Deciders deciders = Deciders::kSource;
  u32 sharpness = 0, gap_cycles = 0, mark_flits = 0;
  double mark_weight = 0, memory_cycles = 1;
  Kept<u32> intermediate, decided;  // decided: cycle of the decision at the source
  Kept<u8> path, marked;            // path: kNoPath if the source had no choice

  // The paths that a packet can take at its source now: the first link is not down.
  struct Usable {
    u32 count = 0;
    std::array<u8, kMostPaths> path;
    std::array<u16, kMostPaths> port;
    std::array<u32, kMostPaths> middle;
    u32 find(u32 number) const {
      u32 k = 0;
      while (k < count && path[k] != number) k++;
      return k;
    }
  };

  // The router that the packet is heading for now. A packet skips an intermediate router that failures have cut off.
  u32 target(const Network&, const State&, u32 packet, u32 router) const;
  // Within a flowlet, only the path of the flowlet.
  Usable usable(const Network&, State&, const Packet&, u32 router, Cycle now) const;
  // As RoutingSpec::waypoint.
  u32 waypoint(const Network&, const State&, u32 packet, u32 router, u32 port) const;
  u32 next_port(const Network&, const State&, const Graph&, u32 packet, u32 router, u32 target) const;
  // Time of a packet on an idle path, from the decision to the delivery of the tail, in ns.
  static float idle_ns(const Network&, const Packet&, u32 router, u32 first_port, u32 middle);
  void settle(const Network&, State&, const Batch&, u32 i) const;  // after the choice of a port
  void acknowledge(const Network&, State&, u32 packet) const;      // at the delivery
  void hear(const Network&, State&, Cycle now) const;              // takes the acknowledgements that are due
};

std::vector<ParamSpec> source_params();
RoutingFacts setup_source_rule(const Params&, Network&, SourceRule&);

}  // namespace flitgym::routing::graph
