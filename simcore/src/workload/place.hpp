// Places the ranks of all jobs on nodes and terminals.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

// Throws ConfigError if the nodes are too few for the jobs.
void check_room(const Nodes& nodes, const std::vector<Job>& jobs, bool share_nodes, u32 terminals);

// Fills rank_terminal, rank_node, rank_job and terminal_rank, from the jobs and the nodes. A job without terminals
// given takes nodes in the order of the placement.
void place(const WorkloadSection& section, const Params& params, const Network& net, Workload& workload);

}  // namespace flitgym::workload
