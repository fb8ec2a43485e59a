// The policy network: a limit that it shares with the seam, and its loops.
#pragma once

#include <vector>

#include "simcore/types.hpp"

namespace flitgym::learning {

inline constexpr u32 kMostUnits = 4096;  // maximum size of a hidden layer

// The loops that this processor can run (perceptron_lanes.hpp), those with the longest vectors first.
struct PerceptronLoops;
const std::vector<const PerceptronLoops*>& perceptron_loops();

}  // namespace flitgym::learning
