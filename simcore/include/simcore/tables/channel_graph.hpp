// The network as table engines see it: switches, the channels between them, and the switch of each terminal. It is
// built from a wired Network. So engines support every network that can be simulated, also with failed links.
#pragma once

#include "simcore/network.hpp"

namespace flitgym::tables {

struct ChannelGraph {
  u32 switches = 0, terminals = 0, channels = 0;
  u32 ports = 0;  // highest router-local port in use, plus one
  // [switches + 1] Channels first[s] .. first[s + 1] - 1 leave switch s, ordered by port.
  std::vector<u32> first;
  std::vector<u32> from, to;  // [channels] switches at the two ends
  std::vector<u16> port;      // [channels] router-local output port
  std::vector<u8> kind;       // [channels] PortKind: 1 local, 2 global
  std::vector<u32> reverse;   // [channels] the other direction of the same cable
  // [channels] On a torus, a number for the direction and the parallel link; channels of one row with the same number
  // form a ring. Otherwise kNoRing.
  std::vector<u16> ring;
  std::vector<u32> terminal_switch;  // [terminals]
  std::vector<u16> terminal_port;    // [terminals] router-local
  // [switches + 1] Switch s has the terminals terminal_of[first_terminal[s]] .. terminal_of[first_terminal[s + 1] - 1].
  std::vector<u32> first_terminal;
  std::vector<u32> terminal_of;  // [terminals] ascending within a switch
  std::vector<u32> channel_at;   // [switches, ports] channel that leaves by the port; kNone: there is none
  std::vector<std::string> switch_names, terminal_names;  // empty: numbers serve as names
  std::shared_ptr<const Topology> topology;               // coordinates (Lattice) or levels (FatTree), if it has any
  std::string topology_name, fingerprint;
  bool damaged = false;  // links are missing, so closed forms of the topology do not hold

  // Claims memory for a table of this network.
  template <class... Parts>
  void claim(u64 bytes, const Parts&... what) const {
    claim_memory(bytes, "topology." + topology_name, what...);
  }
  u32 terminals_at(u32 s) const { return first_terminal[s + 1] - first_terminal[s]; }
  u32 channel(u32 s, u32 local_port) const {
    return local_port < ports ? channel_at[std::size_t{s} * ports + local_port] : kNone;
  }
  std::string switch_name(u32 s) const { return switch_names.empty() ? std::to_string(s) : switch_names[s]; }
  std::string terminal_name(u32 t) const { return terminal_names.empty() ? std::to_string(t) : terminal_names[t]; }
  std::string channel_name(u32 c) const {
    return switch_name(from[c]) + ":" + std::to_string(port[c]) + "->" + switch_name(to[c]);
  }
};

ChannelGraph channel_graph(const Network& net, const Graph& present = {});  // of the links that are not down
// From the sections `topology` and `failures` alone. Throws ConfigError.
ChannelGraph channel_graph(const Config& config);

// Hops from every switch to the nearest of the switches `to`. kNone: not connected.
std::vector<u32> hops_to(const ChannelGraph& g, const std::vector<u32>& to);
inline std::vector<u32> hops_to(const ChannelGraph& g, u32 to) { return hops_to(g, std::vector<u32>{to}); }

}  // namespace flitgym::tables
