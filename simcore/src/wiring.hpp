// The parts of build() that make channels of cables.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

void lay_out(const Wiring&, Network&);  // routers, ports, terminals and their ids
void check_links(const Network&);       // throws CoreError: a link does not come back over itself

// ---- src/timing.cpp: physical times to cycles, each with its error; throws ConfigError where one is more than 1 % off
// ----

void time_channels(const Params& router, Network&);

}  // namespace flitgym
