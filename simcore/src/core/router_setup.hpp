// Parts of build() that set up a router from its parameters and check that packets fit it.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

// Sets buffers, crossbar, arbiter and credits from `router.*`; call after time_channels().
void size_router(const Params& router, Network&);

// Divides router.buffer_total among the VCs of a port; call after the number of VCs is known. VCs have equal buffers,
// so fewer flits than a port has VCs remain unused.
void divide_buffers(const Params& router, Network&);

// Declares the array in which grants and credits keep the occupancies that the routing senses; call after the routing
// and its VCs are known.
void keep_sensed(Network&);

// Declares the pointers of the arbiter kIslip; call after the number of VCs is known.
void keep_islip(Network&);

// Flits of a packet of `bytes`, at least one. `size_key` is the parameter that sets its size. Throws ConfigError if the
// packet has too many.
u32 flits_of(const std::string& size_key, u32 bytes, const Network&);

// Checks packets once their sizes are known. `size_key` is the parameter that sets them. Throws ConfigError if a packet
// does not fit a buffer, takes too long, or is incompatible with bubble flow control.
void fit_packets(const std::string& size_key, const Params& router, Network&);

}  // namespace flitgym
