// Limits shared by the seam and the policy network.
#pragma once

#include "simcore/types.hpp"

namespace flitgym::learning {

inline constexpr u32 kMostUnits = 4096;  // maximum size of a hidden layer

}  // namespace flitgym::learning
