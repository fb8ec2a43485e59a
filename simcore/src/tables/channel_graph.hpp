// The network as whoever makes forwarding tables sees it: switches, the channels between them, and the switch each
// terminal hangs on. Made of a wired Network, so a table fits whatever can be simulated, links that have failed
// included.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simcore/network.hpp"
#include "simcore/types.hpp"

namespace flitgym::tables {

struct ChannelGraph {
  u32 switches = 0, terminals = 0, channels = 0;
  u32 ports = 0;  // one more than the highest router-local port in use
  // [switches + 1] the channels that leave switch s are first[s] .. first[s + 1] - 1, by port
  std::vector<u32> first;
  std::vector<u32> from, to;  // [channels] switches
  std::vector<u16> port;      // [channels] router-local port it leaves by
  std::vector<u32> reverse;   // [channels] the other direction of the same cable
  // [channels] on a torus: its direction and parallel link (with its row: a ring), else kNoRing
  std::vector<u16> ring;
  std::vector<u32> terminal_switch;  // [terminals]
  std::vector<u16> terminal_port;    // [terminals] router-local
  // [switches + 1] the terminals of switch s are terminal_of[first_terminal[s]] ...
  std::vector<u32> first_terminal;
  std::vector<u32> terminal_of;                           // [terminals] ascending within a switch
  std::vector<u32> channel_at;                            // [switches, ports] channel that leaves by a port, kNone
  std::vector<std::string> switch_names, terminal_names;  // empty: numbers
  std::shared_ptr<const Topology> topology;               // coordinates (Lattice) or levels (FatTree) where it has any
  std::string topology_name, fingerprint;
  bool damaged = false;  // links are missing: what the topology says in closed form does not hold

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

ChannelGraph channel_graph(const Network& net);  // of links that are there from the beginning on
// Of the sections `topology` and `failures` alone (src/build.cpp); throws ConfigError.
ChannelGraph channel_graph(const Config& config);

// Hops from every switch to switch `to` over the channels that are there; kNone: no way.
void hops_to(const ChannelGraph& g, u32 to, std::vector<u32>& hops);

}  // namespace flitgym::tables
