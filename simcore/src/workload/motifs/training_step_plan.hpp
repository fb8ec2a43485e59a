// The order of a rank's work in a training step: which layers it computes, and what it communicates meanwhile.
#pragma once

#include "workload/collectives/collectives.hpp"

namespace flitgym::workload::motifs::training_step {

// A transformer: the sizes of its parts, and the computation that they need.
struct Model {
  u32 layers, hidden, heads;
  u32 kv_heads;      // heads of keys and values; grouped-query attention has fewer than `heads`
  u32 intermediate;  // inner size of a feed-forward block
  u32 vocabulary, sequence;
  u32 experts, top_k;  // feed-forward blocks of a layer, and the number that each token uses; 1 and 1: a dense model
  bool gated;          // the feed-forward block has three matrices (SwiGLU) instead of two
  bool tied;           // input and output embedding are the same matrix
  bool positions;      // the model learns an embedding of positions

  // Values (parameters), without biases and norms, which are below 0.1 % of a layer.
  u64 attention_values() const { return 2 * u64{hidden} * hidden + 2 * u64{hidden} * hidden / heads * kv_heads; }
  u64 expert_values() const { return (gated ? 3 : 2) * u64{hidden} * intermediate; }
  u64 router_values() const { return experts > 1 ? u64{hidden} * experts : 0; }
  u64 embedding_values() const { return u64{vocabulary} * hidden; }
  u64 position_values() const { return positions ? u64{sequence} * hidden : 0; }
  u64 values() const {
    return layers * (attention_values() + experts * expert_values() + router_values()) +
           (tied ? 1 : 2) * embedding_values() + position_values();
  }

  // Floating-point operations of a forward pass over `batch` sequences (Narayanan et al., SC 2021, appendix). A token
  // needs two per value. The products of queries, keys and values need 4 s^2 h. A backward pass needs twice as many.
  double attention_flops(u32 batch) const {
    const double tokens = 1.0 * batch * sequence;
    return 2 * tokens * static_cast<double>(attention_values()) + 4 * tokens * sequence * hidden;
  }
  double feed_forward_flops(u32 batch) const {
    return 2.0 * batch * sequence * static_cast<double>(top_k * expert_values() + router_values());
  }
  double head_flops(u32 batch) const { return 2.0 * batch * sequence * static_cast<double>(embedding_values()); }
  double pass_flops(u32 batch) const {
    return layers * (attention_flops(batch) + feed_forward_flops(batch)) + head_flops(batch);
  }
  // Keys and values of a token in all layers.
  u64 cache_values() const { return 2 * u64{layers} * kv_heads * (hidden / heads); }
};

const std::vector<std::string>& model_names();
const Model& model_named(const std::string& name);  // one of these names

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
  u64 embedding_values() const { return u64{(model.vocabulary + tensor - 1) / tensor} * model.hidden; }  // of a rank
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
