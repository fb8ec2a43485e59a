// placement=mapped: places ranks so that their communication takes few hops.
#pragma once

#include "simcore/mapping/communication_matrix.hpp"
#include "simcore/workload.hpp"

namespace flitgym::workload {

// The part of the communication that takes the network.
CommunicationMatrix between_nodes(const CommunicationMatrix& matrix, const Nodes& nodes,
                                  const std::vector<u32>& rank_terminal);

}  // namespace flitgym::workload
