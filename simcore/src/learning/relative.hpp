// Times relative to the mean hop of a network (Seam::hop_scale_ns). Features and rewards with this unit are comparable
// across networks.
#pragma once

#include <algorithm>

#include "simcore/learning.hpp"

namespace flitgym::learning {

inline constexpr float kMostRelative = 64;  // limit of a feature; higher values would add no information

inline float bounded(float hops) { return std::min(hops, kMostRelative); }

}  // namespace flitgym::learning
