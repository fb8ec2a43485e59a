// placement=mapped: places ranks so that their communication takes few hops. The mappers are in src/mapping.
#pragma once

#include "simcore/workload.hpp"
#include "workload/communication_matrix.hpp"

namespace flitgym::workload {

// Parameters of this placement in the section `workload`.
std::vector<ParamSpec> mapping_params();

// The part of the communication that takes the network.
CommunicationMatrix between_nodes(const CommunicationMatrix& matrix, const Nodes& nodes,
                                  const std::vector<u32>& rank_terminal);

// Assigns a terminal to every rank without one (kNone in `rank_terminal`, [ranks], job after job). All jobs are mapped
// together onto all free terminals, or each job onto the terminals that another placement would give it
// (`mapping_terminals`). With several ranks per node, the ranks of a job are divided into sets of consecutive ranks,
// and sets are mapped to nodes by the bytes between them.
std::shared_ptr<const MappingFacts> map_ranks(const Params& params, const Network& net, const Nodes& nodes,
                                              const std::vector<Job>& jobs, std::vector<u32>& rank_terminal);

}  // namespace flitgym::workload
