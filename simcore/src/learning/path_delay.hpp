// Estimated delays whose remote queues have a weight.
#pragma once

#include "simcore/learning.hpp"

namespace flitgym {

// As path_delays() in simcore/learning.hpp, which has the weight 1. The queues after the first link count with
// `remote_weight`, since they change until the packet gets there.
void path_delays(const Network&, const State&, const Batch&, float* us, double remote_weight);

}  // namespace flitgym
