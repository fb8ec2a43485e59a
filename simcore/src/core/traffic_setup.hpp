// Parts of build() that set up the traffic from its parameters.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

// Sets packets, loads and patterns from the section `traffic`. Returns the program if the traffic is flows, which set
// only the parameters.
std::shared_ptr<const Program> choose_traffic(const Config& config, const Params& router, Network& net);

// A component in words, "adversarial shift=4": a name and parameters. Numbers, lists of numbers such as [0,1], true and
// false become values of their type, and other words become text. Throws ConfigError.
Section in_words(const std::string& where, const std::string& words);

// The pattern in words. Messages begin with `where`.
Pattern pattern_in_words(const std::string& where, const std::string& words, const Network& net);

u32 packet_bytes_of(const Params& params, const Network& net);  // traffic.packet_bytes, where 0 is a flit

}  // namespace flitgym
