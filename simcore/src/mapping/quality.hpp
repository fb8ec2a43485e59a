// How good a mapping is, where everything is spread over minimal paths, or goes by a forwarding table.
//
// Average dilation: bytes x hops over bytes, hops between routers. Congestion of a channel: the bytes that pass it over
// its capacity; the worst channel's is a bound of the time that all takes. Formulas: Hoefler & Snir (ICS 2011).
#pragma once

#include "simcore/network.hpp"
#include "workload/communication_matrix.hpp"

namespace flitgym::mapping {

struct MappingQuality {
  double bytes = 0;     // that are exchanged, between two ranks of one router included
  double dilation = 0;  // hops between routers, the mean over bytes; 0 without bytes
  double worst_congestion =
      0;  // bytes, of the channel between routers that has most for its bandwidth: as if it had a terminal channel's
  double mean_congestion = 0;  // over all channels between routers that are there
  u32 worst_port = kNone;      // the port it leaves by; kNone without bytes
};

// Ranks on terminals. What is exchanged is spread evenly over all shortest paths, parallel links included.
MappingQuality quality_on_minimal_paths(const Network& net, const workload::CommunicationMatrix& matrix,
                                        const std::vector<u32>& rank_terminal);
// What is exchanged goes by the table, evenly to all addresses of a terminal. Throws ConfigError where the table is not
// the network's.
MappingQuality quality_under_table(const Network& net, const tables::ForwardingTable& table,
                                   const workload::CommunicationMatrix& matrix, const std::vector<u32>& rank_terminal);

}  // namespace flitgym::mapping
