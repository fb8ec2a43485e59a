// What the motifs share.
#pragma once

#include <algorithm>
#include <cmath>

#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "workload/script.hpp"

namespace flitgym {

// A number of iterations shortened by `scale`; never below one.
inline u32 scaled(u32 iterations, double scale) { return std::max(1u, static_cast<u32>(std::lround(iterations * scale))); }

}  // namespace flitgym
