// The nodes of a network, from the parameters of the section `workload`.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

// Parameters of nodes in the section `workload`.
std::vector<ParamSpec> node_params();

// Groups the terminals into nodes. Throws ConfigError if the parameters do not fit each other or the network.
Nodes make_nodes(const Params& params, const Network& net);

}  // namespace flitgym::workload
