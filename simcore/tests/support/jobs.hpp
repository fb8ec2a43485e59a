// Workloads that the tests share.
#pragma once

#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace scenes {

inline Config with_jobs(std::vector<JobSection> jobs, Values values = {}, Section topology = small_network(),
                        const std::string& routing = "minimal", Values router = sc22()) {
  Config c = config(std::move(topology), std::move(router), {routing, {}}, {"", {}});
  c.workload = {std::move(values), std::move(jobs)};
  return c;
}

inline JobSection given(const std::string& name, std::shared_ptr<const Program> program,
                        std::vector<u32> terminals = {}) {
  return {name, {}, std::move(program), std::move(terminals)};
}
inline JobSection motif(const std::string& name, Values values, std::vector<u32> terminals = {}) {
  return {name, {name, std::move(values)}, nullptr, std::move(terminals)};
}

// Runs until every rank is done.
inline void finish(Simulation& sim, u64 most = 20000000) {
  sim.begin_window();
  if (!sim.run_workload(most))
    testing::fail(__FILE__, __LINE__,
                  "not finished at cycle " + std::to_string(sim.state().part.totals.now) + sim.waiting(8));
}

}  // namespace scenes
