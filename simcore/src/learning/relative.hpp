// Times over the mean hop of a network (Seam::hop_scale_ns): what the features and rewards have in common that mean the
// same everywhere.
#pragma once

#include <algorithm>

#include "simcore/learning.hpp"

namespace flitgym::learning {

inline constexpr float kMostRelative = 64;  // of a feature: beyond, a network is as full as it can be

inline float bounded(float hops) { return std::min(hops, kMostRelative); }

}  // namespace flitgym::learning
