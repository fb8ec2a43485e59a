// What the motifs share.
#pragma once

#include <algorithm>
#include <cmath>

#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "workload/motifs/script.hpp"

namespace flitgym::workload {

// A number of iterations shortened or lengthened by `scale`; never below one. At most 2^30 times 10^6: 64 bits are
// enough.
inline u64 scaled(u32 iterations, double scale) {
  return std::max<u64>(1, static_cast<u64>(std::llround(iterations * scale)));
}

}  // namespace flitgym::workload
