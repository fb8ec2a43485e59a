// Parts of build() that turn cables into channels.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

void lay_out(const Wiring&, Network&);  // routers, ports, terminals and their ids
void check_links(const Network&);       // throws CoreError if a link does not lead back to its start

// ---- src/core/timing.cpp: converts physical times to cycles; throws ConfigError for a rounding error above 1 % ----

void time_channels(const Params& router, Network&);

}  // namespace flitgym
