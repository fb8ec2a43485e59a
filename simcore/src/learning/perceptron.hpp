// Limits shared by the seam and the policy network.
#pragma once

#include <vector>

#include "simcore/types.hpp"

namespace flitgym::learning {

inline constexpr u32 kMostUnits = 4096;  // maximum size of a hidden layer

// The loops of the network that this processor can use (perceptron_lanes.hpp), those with the longest vectors first.
struct PerceptronLoops;
const std::vector<const PerceptronLoops*>& perceptron_loops();

}  // namespace flitgym::learning
