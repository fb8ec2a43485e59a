// placement=mapped: ranks go where what they exchange takes few hops. The room of the mappers is src/mapping.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

// The parameters of the section `workload` that belong to it.
std::vector<ParamSpec> mapping_params();

// A terminal for every rank of the jobs that has none yet (kNone in `rank_terminal`, [ranks], job after job). All jobs
// are mapped together, onto all terminals that are free, or each onto those that another placement would give it
// (`mapping_terminals`).
std::shared_ptr<const MappingFacts> map_ranks(const Params& params, const Network& net, const std::vector<Job>& jobs,
                                              std::vector<u32>& rank_terminal);

}  // namespace flitgym::workload
