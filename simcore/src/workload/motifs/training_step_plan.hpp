// The order of a rank's work in a training step: which layers it computes, and what it communicates meanwhile.
#pragma once

#include <vector>

#include "workload/collectives/collectives.hpp"
#include "workload/motifs/training_step_model.hpp"

namespace flitgym::workload::motifs::training_step {

struct Settings {
  Model model;
  u32 tensor, pipeline, virtual_stages, data, expert;
  bool sequence_parallel;
  u32 zero;
  bool overlap, recompute;
  u32 micro_batch, micro_batches;
  u64 value_bytes, gradient_bytes, bucket_bytes;
  double tflops;
  Algorithm algorithm, alltoall;
  Pipelining pipelining;
  u32 ranks_per_node;

  u32 ranks() const { return tensor * pipeline * data; }
  u32 layers_of_chunk() const { return model.layers / (pipeline * virtual_stages); }
};

// Values of a rank, by the ranks that hold the same values. Experts have fewer replicas than the rest.
struct Values {
  u64 dense = 0, expert = 0;
  bool operator==(const Values&) const = default;
};

// A collective of the data-parallel group, or of the two ranks that hold a tied embedding.
struct Exchange {
  Collective which;
  Values values;
  bool of_embedding = false;
  bool operator==(const Exchange&) const = default;
};

// Computation of some layers for one micro-batch.
struct Task {
  bool backward = false;
  bool embedding = false, head = false;  // with the input embedding, with the output layer
  u32 layers = 0;
  bool sends = false;  // then sends activations to the next stage, or gradients to the previous stage
  bool operator==(const Task&) const = default;
};

// One block of a rank. All of it ends before the next block begins.
struct Plan {
  std::vector<Exchange> before;      // one after the other, then the tasks
  std::vector<Exchange> background;  // one after the other, at the same time as the tasks
  std::vector<Task> tasks;
  bool receives_activations = false, receives_gradients = false;  // inputs of the next tasks
  bool operator==(const Plan&) const = default;
};

// A position in a pipeline schedule: a micro-batch passes the layers of one chunk.
struct Slot {
  bool backward;
  u32 chunk, micro_batch;
};
// The slots of a stage. The slots of an entry follow each other before their outputs are exchanged.
std::vector<std::vector<Slot>> schedule(const Settings& settings, u32 stage);

std::vector<Plan> plans(const Settings& settings, u32 stage);

// Values of a rank in some layers.
Values values_of(const Settings& settings, const Task& task);

}  // namespace flitgym::workload::motifs::training_step
