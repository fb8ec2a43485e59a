// A forwarding table: how a network without adaptivity routes. Either every switch has an output port for every
// destination address (InfiniBand), or every source has a whole route for each (Angara).
#pragma once

#include <string>
#include <vector>

#include "tables/channel_graph.hpp"

namespace flitgym::tables {

inline constexpr u16 kNoPort = 0xffff;

// What the virtual layer of a packet goes by. It keeps it all its way, unless the table has lanes.
enum class LayerBy : u8 {
  kOne,          // there is one
  kDestination,  // layer[destination]
  kSwitch,       // layer[source switch, destination]
  kTerminal,     // layer[source terminal, destination]
};

// A destination is an address of a terminal: terminal << lmc | k, k < 2^lmc (the LMC of InfiniBand).
struct ForwardingTable {
  u32 switches = 0, terminals = 0, lmc = 0;
  std::string engine;       // that made it, or where it comes from
  std::string fingerprint;  // of the fabric it was made for (ChannelGraph::fingerprint)
  // [switches, destinations] router-local, the terminal's own at the last switch; kNoPort: a hole. Empty with routes
  std::vector<u16> port;
  u32 layers = 1;  // virtual layers, each with buffers of its own
  LayerBy layer_by = LayerBy::kOne;
  std::vector<u8> layer;  // see LayerBy
  // Where a packet changes buffers on its way (SL2VL of InfiniBand): [switches, ports (in), ports (out), layers] lane
  // of the channel it leaves by. Whoever comes from a terminal comes in by its port. Empty: the lane is the layer.
  u32 lanes = 0, lane_ports = 0;
  std::vector<u8> lane;
  // Source routes: the ports of the route from a switch to a destination are route_port[route_first[switch *
  // destinations + d]] ..., without the terminal's own. Empty with `port`.
  std::vector<u64> route_first;  // [switches * destinations + 1]
  std::vector<u16> route_port;
  // Along a ring of a torus bubble flow control keeps the network free of deadlock: channel after channel of one ring
  // is no dependency.
  bool bubble = false;

  u32 destinations() const { return terminals << lmc; }
  bool source_routed() const { return !route_first.empty(); }
  u32 classes() const { return lanes ? lanes : layers; }  // VC classes it needs
  u16& at(u32 s, u32 destination) { return port[std::size_t{s} * destinations() + destination]; }
  u16 at(u32 s, u32 destination) const { return port[std::size_t{s} * destinations() + destination]; }
  u32 layer_of(u32 source_switch, u32 source_terminal, u32 destination) const {
    switch (layer_by) {
      case LayerBy::kDestination: return layer[destination];
      case LayerBy::kSwitch: return layer[std::size_t{source_switch} * destinations() + destination];
      case LayerBy::kTerminal: return layer[std::size_t{source_terminal} * destinations() + destination];
      default: return 0;
    }
  }
};

// A table of holes, its memory claimed, with the ports of terminals at their own switches.
ForwardingTable empty_table(const ChannelGraph& g, const std::string& engine, u32 lmc = 0);

// Every destination is reached from every switch that has terminals, by ports that lead somewhere, in at most
// `switches` hops; sizes and layers are those of the fabric. Throws ConfigError naming switch and destination.
void check_table(const ChannelGraph& g, const ForwardingTable& table);

u64 digest(const ForwardingTable& table);  // of all that stands in it

// The longest route, in channels; and is every route as short as can be? Of a table that was checked.
struct Lengths {
  u32 longest = 0;
  bool minimal = true;
};
Lengths route_lengths(const ChannelGraph& g, const ForwardingTable& table);

}  // namespace flitgym::tables
