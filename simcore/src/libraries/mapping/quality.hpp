// The quality of a mapping, for traffic on minimal paths or by a forwarding table.
//
// Average dilation: bytes x hops / bytes, with hops between routers. Congestion of a channel: the bytes that pass it /
// its capacity. The worst channel's congestion is a lower bound of the total time. Formulas: Hoefler & Snir (ICS 2011).
#pragma once

#include "simcore/mapping/communication_matrix.hpp"
#include "simcore/workload.hpp"

namespace flitgym::mapping {

// The part of the communication that takes the network.
workload::CommunicationMatrix between_nodes(const workload::CommunicationMatrix& matrix, const Nodes& nodes,
                                            const std::vector<u32>& rank_terminal);

struct MappingQuality {
  double bytes = 0;     // all bytes exchanged, also between ranks of one router
  double dilation = 0;  // mean hops between routers, weighted by bytes; 0 without bytes
  // bytes on the most congested channel between routers, scaled to the bandwidth of a terminal channel
  double worst_congestion = 0;
  double mean_congestion = 0;  // mean over all present channels between routers
  u32 worst_port = kNone;      // port of the worst channel; kNone without bytes
};

// The quality if traffic is spread evenly over all shortest paths, parallel links included.
MappingQuality quality_on_minimal_paths(const Network& net, const workload::CommunicationMatrix& matrix,
                                        const std::vector<u32>& rank_terminal);
// The bytes on each port [router_ports] under the same rule. Adds to q.bytes, and sets q.dilation.
std::vector<double> load_on_minimal_paths(const Network& net, const workload::CommunicationMatrix& matrix,
                                          const std::vector<u32>& rank_terminal, MappingQuality& q);
// The quality if traffic follows the table, evenly divided among all addresses of a terminal. Throws ConfigError if the
// table does not fit the network.
MappingQuality quality_under_table(const Network& net, const tables::ForwardingTable& table,
                                   const workload::CommunicationMatrix& matrix, const std::vector<u32>& rank_terminal);

}  // namespace flitgym::mapping
