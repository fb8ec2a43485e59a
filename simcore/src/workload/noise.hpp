// Noise of the hosts: computation times that vary, slow ranks, and ranks that start late (start_rank() in engine.hpp).
#pragma once

#include "simcore/params.hpp"
#include "simcore/workload.hpp"

namespace flitgym::workload {

std::vector<ParamSpec> noise_params();  // in the section `workload`

// The program with the computation times of its ranks, which have the numbers from `first_rank` on. Without noise it
// is the program itself.
std::shared_ptr<const Program> with_noise(std::shared_ptr<const Program> program, const Params& params, u32 first_rank);

Detours detours_of(const Params& params);  // reads the file `noise_trace`; none without a file

}  // namespace flitgym::workload
