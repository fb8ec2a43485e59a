// Parts of build() that set up channels and routers, and check that packets fit them.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

// Routers, ports, terminals and their ids (wiring.cpp). Throws CoreError if a link does not lead back to its start.
void lay_out(const Wiring&, Network&);

// Converts physical times to cycles (timing.cpp). Throws ConfigError for a rounding error above 1 %.
void time_channels(const Params& router, Network&);

// Sets buffers, crossbar, arbiter and credits from `router.*`; call after time_channels().
void size_router(const Params& router, Network&);

// Call after the routing and its number of VCs are known. Divides router.buffer_total equally among the VCs of a port,
// so fewer flits than a port has VCs remain unused. Declares the memory of the switch allocation.
void size_vcs(const Params& router, Network&);

// Flits of a packet of `bytes`, at least one. `size_key` is the parameter that sets its size. Throws ConfigError if the
// packet has too many.
u32 flits_of(const std::string& size_key, u32 bytes, const Network&);

// Checks packets once their sizes are known. `size_key` is the parameter that sets them. Throws ConfigError if a packet
// does not fit a buffer, takes too long, or is incompatible with bubble flow control.
void fit_packets(const std::string& size_key, const Params& router, Network&);

}  // namespace flitgym
