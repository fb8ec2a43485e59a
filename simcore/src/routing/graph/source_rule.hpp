// The data of decisions at the source: paths, returned delays and marks, and the path of each packet.
//
// Each delivered packet returns its delay and its mark to its source, after the time of a minimal path without
// queueing. The acknowledgement takes no bandwidth. A source keeps running means for each destination router and path.
#pragma once

#include "routing/graph/source_paths.hpp"

namespace flitgym::routing::graph {

// A wheel of acknowledgements on their way. A terminal delivers at most one packet per flit time of its link, so a ring
// of fixed size holds all acknowledgements that are on their way from it.
struct Returns {
  struct Ack {
    u32 next;    // ack that is due in the same cycle, kNone
    u32 source;  // terminal
    u32 path;    // path x 2 + mark
    u32 delay;   // cycles
    u32 to;      // router of the destination
  };
  static constexpr u32 kColumns = sizeof(Ack) / sizeof(u32);

  u32 slots = 0, per_terminal = 0;
  Kept<u32> wheel;  // [slots] first ack of the cycle
  Kept<u32> acks;   // [terminals, per_terminal] Ack
  Kept<u32> sent;   // [terminals + 1] packets acknowledged by each terminal; the last cycle that was read

  void setup(Network& net);
  void send(State&, Cycle now, Cycle due, u32 terminal, Ack ack) const;

  // visit(ack) for the acks that are due up to `now`, in the order of cycles.
  template <class Visit>
  void take(const Network& net, State& s, Cycle now, Visit&& visit) const {
    u32* const first = wheel.of(s);
    auto* const all = reinterpret_cast<Ack*>(acks.of(s));
    u32& read = sent.of(s)[net.terminals];
    const u32 cycles = std::min(now - read, slots), most = net.terminals * per_terminal;
    for (u32 k = cycles; k-- > 0;) {
      u32& slot = first[(now - k) & (slots - 1)];
      for (u32 at = slot, n = 0; at < most && n < most; at = all[at].next, n++) visit(all[at]);
      slot = kNone;
    }
    read = now;
  }
};

// Means of the delay and of the marks, per terminal, destination router and path.
struct SourceMemory {
  u32 connections = 0, paths = 0, most_terminals = 0;
  float rate = 0;
  std::vector<u32> place;  // [terminals] index of a terminal among those of its router
  Kept<u32> rows;          // destination router, last cycle, path of the present flowlet
  Kept<float> delays;      // ns; 0: no packet has returned
  Kept<float> marks;       // part of the packets that were marked
  Kept<u32> waits;         // packets that have not returned; cycle of the last return, or of the first of these packets
  Kept<u8> good;           // ring of the paths of unmarked packets that have returned and were not used
  static constexpr u32 kRow = 4, kGood = 8;

  struct Row {
    u32* keys;  // [kRow] destination router, last cycle, path, paths that have entered the ring
    float *delay, *mark;
    u32* waits;  // [paths, 2]
    u8* good;
    bool holds(u32 to) const { return keys[0] == to; }
  };
  struct Means {
    float delay_ns = 0, mark = 0;  // 0 before the first packet
  };
  Means means(const Network& net, const State& s, u32 source, u32 to, u32 path) const {
    const std::size_t at = index(net, source, to);
    if (rows.of(s)[at * kRow] != to) return {};
    return {delays.of(s)[at * paths + path], marks.of(s)[at * paths + path]};
  }
  void setup(Network& net);
  std::size_t index(const Network& net, u32 source, u32 to) const {
    const u32 hashed = connections == net.routers ? to : below(mix64(u64{to} + 1), connections);
    return (std::size_t{net.terminal_router[source]} * most_terminals + place[source]) * connections + hashed;
  }
  Row row(const Network& net, State& s, u32 source, u32 to) const {
    const std::size_t at = index(net, source, to);
    return {rows.of(s) + at * kRow, delays.of(s) + at * paths, marks.of(s) + at * paths, waits.of(s) + at * paths * 2,
            good.of(s) + at * kGood};
  }
  // The row of a destination. Connections that share a row replace each other.
  Row open(const Network& net, State& s, u32 source, u32 to) const {
    const Row x = row(net, s, source, to);
    if (x.holds(to)) return x;
    x.keys[0] = to;
    x.keys[1] = x.keys[3] = 0;
    x.keys[2] = kNone;
    std::fill_n(x.delay, paths, 0.0f);
    std::fill_n(x.mark, paths, 0.0f);
    std::fill_n(x.waits, paths * 2, 0u);
    std::fill_n(x.good, kGood, kNoPath);
    return x;
  }
};

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

  double weight(const Network&, State&, u32 packet, u32 router, u32 port, u32 vc_class) const override;
  // The router that the packet is heading for now. A packet skips an intermediate router that failures have cut off.
  u32 target(const Network&, const State&, u32 packet, u32 router) const;
  // The paths that a packet can take at its source now: the first link is not down. Within a flowlet, only the path of
  // the flowlet.
  PathList usable(const Network&, State&, const Packet&, u32 router, Cycle now) const;
  u32 next_port(const Network&, const State&, const Graph&, u32 packet, u32 router, u32 target) const;
  // Time of a packet on an idle path, from the decision to the delivery of the tail, in ns.
  static float idle_ns(const Network&, const Packet&, u32 router, u32 first_port, u32 middle);
  void hear(const Network&, State&, Cycle now) const;  // takes the acknowledgements that are due
};

std::vector<ParamSpec> source_params();
RoutingFacts setup_source_rule(const Params&, Network&, SourceRule&);

}  // namespace flitgym::routing::graph
