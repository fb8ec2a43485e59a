// Bounds of a seam and of the network of a policy.
#pragma once

#include "simcore/types.hpp"

namespace flitgym::learning {

inline constexpr u32 kMostUnits = 4096;  // of a hidden layer

}  // namespace flitgym::learning
