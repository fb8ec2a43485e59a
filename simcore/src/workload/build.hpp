#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

// Builds and checks all parts of a workload. Throws ConfigError, which names key, value and valid choices.
std::shared_ptr<const Workload> build_workload(const WorkloadSection& section, Network& net, double flit_bytes);

}  // namespace flitgym::workload
