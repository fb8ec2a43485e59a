// A forwarding table defines oblivious routing. Either every switch has an output port for every destination address
// (InfiniBand), or every source switch has a whole route to every destination (Angara).
#pragma once

#include "simcore/tables/channel_graph.hpp"

namespace flitgym::tables {

inline constexpr u16 kNoPort = 0xffff;

// Selects the virtual layer of a packet. The packet keeps its layer along the route, unless the table has lanes.
enum class LayerBy : u8 {
  kOne,          // there is only one layer
  kDestination,  // layer[destination]
  kSwitch,       // layer[source switch, destination]
  kTerminal,     // layer[source terminal, destination]
};

// A destination is an address of a terminal: terminal << lmc | k, with k < 2^lmc (the LMC of InfiniBand).
struct ForwardingTable {
  u32 switches = 0, terminals = 0, lmc = 0;
  std::string engine;       // engine that made the table, or its origin
  std::string fingerprint;  // of the network of the table (ChannelGraph::fingerprint)
  // [switches, destinations] Router-local output port. At the last switch it is the port of the terminal. kNoPort: a
  // hole, i.e. there is no route. Empty for source routes.
  std::vector<u16> port;
  u32 layers = 1;  // virtual layers, each with its own buffers
  LayerBy layer_by = LayerBy::kOne;
  std::vector<u8> layer;  // see LayerBy
  // The lane selects the buffers of the next channel (SL2VL of InfiniBand). [switches, input ports, output ports,
  // layers] holds the lane on the output channel. A packet from a terminal enters by the port of that terminal. If
  // empty, the lane is the layer.
  u32 lanes = 0, lane_ports = 0;
  std::vector<u8> lane;
  // Source routes. The route from a switch to destination d has the ports route_port[route_first[switch * destinations
  // + d]] .. up to the next route, without the port of the terminal. Empty if `port` is used.
  std::vector<u64> route_first;  // [switches * destinations + 1]
  std::vector<u16> route_port;
  // Bubble flow control keeps the rings of a torus free of deadlock. Consecutive channels of one ring are then no
  // dependency.
  bool bubble = false;

  u32 destinations() const { return terminals << lmc; }
  bool source_routed() const { return !route_first.empty(); }
  u32 classes() const { return lanes ? lanes : layers; }  // VC classes the table needs
  u16& at(u32 s, u32 destination) { return port[std::size_t{s} * destinations() + destination]; }
  u16 at(u32 s, u32 destination) const { return port[std::size_t{s} * destinations() + destination]; }
  // Channels of a source route.
  u32 route_length(u32 s, u32 destination) const {
    const std::size_t at = std::size_t{s} * destinations() + destination;
    return static_cast<u32>(route_first[at + 1] - route_first[at]);
  }
  u32 layer_of(u32 source_switch, u32 source_terminal, u32 destination) const {
    switch (layer_by) {
      case LayerBy::kDestination: return layer[destination];
      case LayerBy::kSwitch: return layer[std::size_t{source_switch} * destinations() + destination];
      case LayerBy::kTerminal: return layer[std::size_t{source_terminal} * destinations() + destination];
      default: return 0;
    }
  }
};

// A table in which all entries are holes except the ports of terminals at their own switches. Claims its memory.
ForwardingTable empty_table(const ChannelGraph& g, const std::string& engine, u32 lmc = 0);

// Checks that every switch with terminals reaches every destination in at most `switches` hops, and that sizes and
// layers fit the network. Throws ConfigError, which names switch and destination.
void check_table(const ChannelGraph& g, const ForwardingTable& table);

u64 digest(const ForwardingTable& table);  // of all contents

// Length of the longest route in channels, and whether all routes are shortest. Requires a checked table.
struct Lengths {
  u32 longest = 0;
  bool minimal = true;
};
Lengths route_lengths(const ChannelGraph& g, const ForwardingTable& table);

}  // namespace flitgym::tables
