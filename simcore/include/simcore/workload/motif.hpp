// Helper functions of the motifs.
#pragma once

#include <algorithm>
#include <cmath>

#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "simcore/workload/script.hpp"

namespace flitgym::workload {

// Multiplies a number of iterations by `scale`; at least one remains. The result is at most 2^30 x 10^6, which fits in
// 64 bits.
inline u64 scaled(u32 iterations, double scale) {
  return std::max<u64>(1, static_cast<u64>(std::llround(iterations * scale)));
}

}  // namespace flitgym::workload
