// The parts of build() that make a router of its parameters, and see that packets fit it.
#pragma once

#include <string>

#include "simcore/registry.hpp"

namespace flitgym {

// Buffers, crossbar, arbiter and credits from `router.*`; after time_channels().
void size_router(const Params& router, Network&);

// The array in which grants and credits keep what the routing senses; after the routing and its VCs are known.
void keep_sensed(Network&);

// Once the sizes of packets are known. `size_key` is the parameter that says them. Throws ConfigError: a packet does
// not fit a buffer, takes too long, or does not go with bubble flow control.
void fit_packets(const std::string& size_key, const Params& router, Network&);

}  // namespace flitgym
