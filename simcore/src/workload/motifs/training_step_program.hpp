// The messages and computations of a training step.
#pragma once

#include "simcore/program.hpp"
#include "workload/motifs/training_step_plan.hpp"

namespace flitgym::workload::motifs::training_step {

// Ranks are numbered with the tensor group fastest, then the data group, then the pipeline stage, as in Megatron-LM
// (its order tp-cp-ep-dp-pp). Successive members of a data group form its expert groups.
struct TrainingStep : Program {
  Settings settings;
  u64 iterations = 1;

  TrainingStep(const Settings& given, u64 count);

  u64 blocks(u32 rank) const override { return iterations * of(rank).plans.size(); }
  u64 repeats(u32 rank, u64 index) const override { return of(rank).alike[index % of(rank).plans.size()]; }
  void block(u32 rank, u64 index, Block& out) const override;
  std::string where(u32 rank, u64 index, u32 op) const override;

 private:
  struct Stage {
    std::vector<Plan> plans;
    std::vector<u32> alike;  // number of equal plans from this one on
  };
  const Stage& of(u32 rank) const { return stages_[rank / (settings.tensor * settings.data)]; }

  std::vector<Stage> stages_;
};

}  // namespace flitgym::workload::motifs::training_step
