// The learning seam: what an agent is asked, what it sees, what it is paid, and what is kept of it.
//
// Of the candidates that a relation offers for a packet, an agent sees at most `slots`, the minimal one first; a
// decision with one candidate is nobody's. Per decision there is one row of float32: `general` features, then
// `per_slot` features for each slot (zero where there is no candidate). Its width does not depend on the size of the
// network.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simcore/state.hpp"

namespace flitgym {

// One number that an agent sees; the writer keeps it within [low, high].
struct Feature {
  std::string name;
  float low, high;
  std::string doc;  // with the unit
};

// A decision, as an observation sees it. The slots' ports are router-local.
struct Asked {
  const Packet& packet;
  u32 packet_id, router, to, in_port, in_vc;
  const u16* ports;
  const u16* classes;
  u32 slots;
  const ComponentData* own;  // what the block's setup has made
};

// A block of features: one file in src/learning/observation.
struct ObservationSpec {
  std::string name, summary;
  std::vector<Feature> general = {}, per_slot = {};
  // Writes `general` values, and `per_slot` values for each slot of `asked`, those of slot k at slots + k * stride.
  void (*write)(const Network&, const State&, const Asked&, float* general, float* slots, u32 stride);
  // Called once at build: declares what the block keeps (memory.hpp), and sets network.learns and network.feedback
  // where it learns.
  std::shared_ptr<const ComponentData> (*setup)(Network&) = nullptr;
  // Before the rows of a cycle: every request, decision or not. `own` as in Asked.
  void (*prepare)(const Network&, State&, const Batch&, const ComponentData* own) = nullptr;
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;  // feedback from downstream
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

// What a decision is paid: one file in src/learning/reward. A reward closes a decision either when the packet comes to
// its next one, or when it is delivered.
struct Closing {
  const Packet& packet;
  Cycle decided, now;
  float way_ns;  // of RewardSpec::tolled: the time of the way since, without queueing
};
inline double delay_us(const Network& net, const Closing& c) { return (c.now - c.decided) * net.cycle_ns * 0.001; }
struct RewardSpec {
  std::string name, summary;
  bool at_next_decision;
  float (*reward)(const Network&, const State&, const Closing&);
  // Called once at build: declares what the reward keeps. What it returns is Seam::reward_data.
  std::shared_ptr<const ComponentData> (*setup)(Network&) = nullptr;
  void (*delivered)(const Network&, State&, const Packet&) = nullptr;  // of any packet, before its decisions are closed
  bool tolled = false;      // it takes Seam::toll and is told Closing::way_ns
  std::string plugin = {};  // that brought it; empty: flitgym itself
};

// Multi-layer perceptron with rectified linear units. `slots`: the same network scores every slot from the general
// features and the slot's own; `flat`: one network sees the whole row and has an output per slot. The slot of the
// highest score is taken.
struct PolicyShape {
  bool per_slot = true;
  std::vector<u32> layers;  // inputs, hidden ..., outputs
  // [layers - 1] of each layer's weights [inputs, padded outputs], its biases behind them
  std::vector<std::size_t> offsets;
  std::size_t size = 0;  // floats in State::weights
};

inline constexpr u32 kMostSlots = 16;  // of an agent: arrays of a decision have this room

// What the routings `agent` and `policy` have in common; never changes.
struct Seam {
  u32 slots = 0, general = 0, per_slot = 0, width = 0;
  std::vector<const ObservationSpec*> blocks;
  std::vector<std::shared_ptr<const ComponentData>> block_data;  // [blocks] what their setups have made
  const RewardSpec* reward = nullptr;
  std::shared_ptr<const ComponentData> reward_data;
  float toll = 0;                       // of rewards that know one
  bool by_estimate = false;             // of more candidates than slots, the best by estimate (seam.cpp), not any
  u32 capacity = 0;                     // transitions kept; 0 = none
  double record_part = 1;               // of the packets
  PolicyShape policy;                   // no layers: the decisions come from outside
  std::vector<float> weights;           // to begin with; empty: zeros
  double epsilon = 0, temperature = 0;  // likewise

  std::vector<float> hop_ns;     // [router ports] from one input buffer to the next, without queueing
  float hop_scale_ns = 1;        // mean over the links of that and the time of a flit: the network's own unit of time
  std::vector<u32> next_router;  // [router ports] behind each; kNone: none
  std::vector<u32> region;       // [routers] of Topology::region
};

// ---- src/learning/seam.cpp ----

std::vector<ParamSpec> seam_params();                     // relation, slots, observation, reward, recording
RoutingFacts build_seam(const Params&, Network&, Seam&);  // reads them; the relation's facts
void make_decisions(const Network&, State&, Batch&);
void own_rows(const Network&, Batch&);  // gives the decisions rows of their own, with what is in the present ones
// Writes the chosen slots of all decisions into the batch, and opens a record of each.
void settle_decisions(const Network&, State&, Batch&);

// ---- src/learning/path_delay.cpp ----

// Of each slot of each decision, [decisions, slots]: us to the destination if every queue stood still; 0 where there is
// no candidate.
void path_delays(const Network&, const State&, const Batch&, float* us);

// ---- src/learning/record.cpp ----

void start_record(const Network&, State&);
void shape_record(const Network&, State&, Shaper&);
void open_record(const Network&, State&, const Batch&, u32 decision);
void close_on_delivery(const Network&, State&, u32 packet);
// those whose news have arrived go into the ring
void file_transitions(const Network&, State&, std::vector<u32>& scratch);

// ---- src/learning/perceptron.cpp ----

void shape_policy(PolicyShape&, std::vector<u32> layers);
// weight [outputs, inputs]
void load_layer(const PolicyShape&, u32 layer, const float* weight, const float* bias, float* weights);
// Chooses a slot for every decision: the best, or at random as State::learning says.
void choose_by_policy(const Network&, const State&, Batch&);
// The scores [rows, slots] of observations [rows, width]; those of masked slots mean nothing.
void policy_scores(const Network&, const State&, const float* observation, u32 rows, float* scores);

// ---- src/learning/policy_file.cpp ----

struct PolicyFile {
  std::map<std::string, std::string> metadata;
  struct Tensor {
    std::vector<u64> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
};
PolicyFile read_policy_file(const std::string& path);  // safetensors; throws ConfigError

}  // namespace flitgym
