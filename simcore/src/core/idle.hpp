// Idle cycles of a workload: while all ranks compute, no packet is in the network and no event is due.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// Moves time forward to the next event, at most to `until`, if the network is idle until then. The state is the same as
// after stepping through these cycles.
void skip_idle(const Network& net, State& s, Cycle until);

}  // namespace flitgym
