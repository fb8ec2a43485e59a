// A transformer as the training_step motif sees it: sizes of its parts, and the computation that they need.
#pragma once

#include <string>
#include <vector>

#include "simcore/types.hpp"

namespace flitgym::workload::motifs::training_step {

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
};

const std::vector<std::string>& model_names();
const Model& model_named(const std::string& name);  // one of these names

}  // namespace flitgym::workload::motifs::training_step
