// The learning seam: the decisions that an agent makes, its observations and rewards, and the record of transitions.
//
// A relation lists the candidates of a packet. An agent sees at most `slots` of them, the minimal one first. A request
// with one candidate is not a decision. Each decision has a row of float32: `general` features, then `per_slot`
// features for each slot (zeros in slots without a candidate). The width of the row does not depend on the size of the
// network.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

// A number that an agent sees. The writer keeps it within [low, high].
struct Feature {
  std::string name;
  float low, high;
  std::string doc;  // description with the unit
};

// A decision as input of an observation. The ports of the slots are router-local.
struct Asked {
  const Packet& packet;
  u32 packet_id, router, to, in_port, in_vc;
  const u16* ports;
  const u16* classes;
  u32 slots;
  const ComponentData* own;  // result of the block's setup()
  Cycle now;
};

// A block of features; one file in src/learning/observation.
struct ObservationSpec {
  std::string name, summary;
  std::vector<Feature> general = {}, per_slot = {};
  // Writes `general` values, and `per_slot` values for each slot of `asked`; the values of slot k start at
  // slots + k * stride.
  void (*write)(const Network&, const State&, const Asked&, float* general, float* slots, u32 stride);
  // Called once at build. Declares the block's memory (memory.hpp). A block that learns sets network.learns and
  // network.feedback.
  std::shared_ptr<const ComponentData> (*setup)(Network&) = nullptr;
  // Called once per cycle before the rows are written, with all requests, including requests with one candidate. `own`
  // is the result of setup().
  void (*prepare)(const Network&, State&, const Batch&, const ComponentData* own) = nullptr;
  void (*learn)(const Network&, State&, u32 port, u32 row, float target) = nullptr;  // feedback from downstream
  // Blocks that learn lost times only: ns that packet `p` loses after `hops` hops if it leaves a router by a local
  // port.
  float (*lost)(const Network&, const State&, const ComponentData* own, const Packet& p, u32 hops, u32 router,
                u32 local_port) = nullptr;
  // Work on learned tables (cost.hpp): of a decision, per candidate, with the report to the previous router; and of an
  // update. The scaling of features is not counted, because hardware can fold it into the first layer.
  Operations per_candidate = {}, update = {};
  // Whether the block reads only the packet and the router that decides. Otherwise it may also read queues and credits
  // of other routers. Partitions then meet in every cycle. The core cuts such a network only on request.
  bool local = false;
  bool distances = false;   // reads hops from the next routers to the destination (Seam::hops)
  std::string plugin = {};  // plugin that registers it; empty: built in
};

// A reward; one file in src/learning/reward. A decision is closed, and its reward computed, when the packet makes its
// next decision or is delivered.
struct Closing {
  const Packet& packet;
  Cycle decided, now;
  float way_ns;  // with RewardSpec::tolled: time of the path since the decision, without queueing
};
inline double delay_us(const Network& net, const Closing& c) { return (c.now - c.decided) * net.cycle_ns * 0.001; }
struct RewardSpec {
  std::string name, summary;
  bool at_next_decision;
  float (*reward)(const Network&, const State&, const Closing&);
  // Called once at build. Declares the memory of the reward. Its result becomes Seam::reward_data.
  std::shared_ptr<const ComponentData> (*setup)(Network&) = nullptr;
  // Called for every delivered packet, before its decisions are closed.
  void (*delivered)(const Network&, State&, const Packet&) = nullptr;
  bool tolled = false;      // uses Seam::toll and needs Closing::way_ns
  std::string plugin = {};  // plugin that registers it; empty: built in
};

enum class Activation : u8 { kRelu, kTanh };  // of hidden units

// Multi-layer perceptron. With network=slots, the same network scores every slot from the
// general features and the features of that slot. With network=flat, the network sees the whole row and has an output
// per slot. The policy takes the slot with the highest score.
struct PolicyShape {
  bool per_slot = true;
  // Each weight is a whole number from -127 to 127 times a power of two that all weights of its unit share.
  bool eight_bit = false;
  std::vector<u32> layers;  // inputs, hidden ..., outputs
  // [layers - 1] start of each layer's weights [inputs, padded outputs], followed by its biases
  std::vector<std::size_t> offsets;
  std::size_t size = 0;  // floats in State::weights
  Activation activation = Activation::kRelu;
};

inline constexpr u32 kMostSlots = 16;  // limit of `slots`; size of the per-decision arrays

// Shared constants of the routings `agent` and `policy`.
struct Seam {
  u32 slots = 0, general = 0, per_slot = 0, width = 0;
  u32 packet_time = 0, asking = kNone;  // columns of these features in `general` and `per_slot`; kNone: there are none
  std::vector<const ObservationSpec*> blocks;
  std::vector<std::shared_ptr<const ComponentData>> block_data;  // [blocks] results of their setup()
  const RewardSpec* reward = nullptr;
  std::string relation;  // empty: a witness
  std::shared_ptr<const ComponentData> reward_data;
  float toll = 0;  // weight of queueing time, for rewards that use one
  // If there are more candidates than slots: true selects the candidates with the lowest estimates (seam.cpp), false
  // random candidates.
  bool by_estimate = false;
  bool rotates = false;                 // the first candidates, if their paths take equally long, at random
  u32 capacity = 0;                     // transitions kept; 0: none
  double record_part = 1;               // fraction of the packets that are recorded
  PolicyShape policy;                   // no layers: decisions come from outside the core
  std::vector<float> weights;           // initial weights; empty: zeros
  double epsilon = 0, temperature = 0;  // initial values
  // A routing without a seam of its own decides, and the seam only records its decisions.
  bool witness = false;
  std::shared_ptr<const Network> listing;  // of a witness: lists the candidates; null: the network itself does
  // The network of the routing that decided before an agent took over (with_agent). It also makes the decisions that
  // the agent leaves to it by the choice kNone.
  std::shared_ptr<const Network> background;

  std::vector<float> hop_ns;     // [router ports] time from one input buffer to the next, without queueing
  float hop_scale_ns = 1;        // time unit of the network: mean over its links of hop_ns plus the time of a flit
  std::vector<u32> next_router;  // [router ports] router at the other end; kNone: none
  std::vector<u32> region;       // [routers] values of Topology::region
  // [to, from] hops of a minimal path, for blocks with `distances` on topologies that otherwise compute distances in
  // closed form; empty: no such block, or the network is too large
  std::vector<u8> hops;
  const std::vector<u8>& hops_of(const Graph& graph) const { return graph.hops.empty() ? hops : graph.hops; }
};

// ---- src/learning/seam.cpp ----

std::vector<ParamSpec> row_params();   // slots, observation, reward, recording
std::vector<ParamSpec> seam_params();  // relation, and row_params()
// Reads these parameters; returns the facts of the relation. setup_seam() is RoutingSpec::setup with a new seam.
RoutingFacts build_seam(const Params&, Network&, std::shared_ptr<Seam>);
RoutingFacts setup_seam(const Params&, Network&, std::shared_ptr<const ComponentData>&);
void build_rows(const std::string& where, const Params&, Network&, Seam&);  // reads row_params()
void make_decisions(const Network&, State&, Batch&);
// Fills the slots of the decisions from the candidates that are already in the batch, and writes their rows.
template <bool kObserve>
void slot_decisions(const Network&, State&, Batch&);
// Writes the row and the mask of a decision whose slots are known.
void observe(const Network&, const State&, Batch&, u32 decision);
// Adds a line per candidate of a decision to the log of a watched packet.
void log_decision(const Network&, State&, Batch&, u32 decision);
// Writes the chosen slots of all decisions to the batch, and opens a record for each decision.
void settle_decisions(const Network&, State&, Batch&);

// ---- src/learning/path_delay.cpp ----

// Delay of a decision through one of its candidates: us to the destination if no queue changed.
float path_delay(const Network&, const State&, const Batch&, u32 decision, u32 slot);
// The same as the sum of relative_delay up to the delivery, in mean hops. The time lost on the link is the present one.
// The time lost later is the mean of two times: that of the present queues, and the one that the next router has
// learned from feedback. The second is less noisy, but takes time to learn. It needs a block with `lost`.
float tolled_delay(const Network&, const State&, const Batch&, u32 decision, u32 slot);
// Number of the block with `lost` that tolled_delay reads. It throws ConfigError if no block has `lost`, or if sources
// decide.
u32 tolled_block(const Network&);

// ---- src/learning/record.cpp ----

void start_record(const Network&, State&);
void shape_record(const Network&, State&, Shaper&);
void open_record(const Network&, State&, const Batch&, u32 decision);
void close_on_delivery(const Network&, State&, u32 packet);
// Moves decisions whose feedback has arrived to the buffer of transitions.
void file_transitions(const Network&, State&, std::vector<u32>& scratch);

// ---- src/learning/witness.cpp: records the decisions of a routing that has no seam of its own ----

const std::vector<ParamSpec>& record_params();          // of the section `record`
void build_witness(const Values& given, Network&);      // call after the routing's setup
void route_and_record(const Network&, State&, Batch&);  // the routing decides, and its decisions are recorded
// The same network with an agent that chooses among the candidates of the recorded routing.
std::shared_ptr<const Network> with_agent(std::shared_ptr<const Network> recorded);
void share_decisions(const Network&, State&, Batch&);  // with_agent(): makes the chosen decisions, some of them kNone

// ---- src/learning/listing.cpp: the candidates of any routing, without a choice among them ----

// Returns the network whose candidates() lists the choices of a routing, or null if the routing lists them itself.
// Otherwise a relation of the same name lists them. `where` begins the message of a ConfigError.
std::unique_ptr<const Network> listing_network(const Network&, const std::string& where);
// Lists the candidates of the batch's requests. Changes that the listing makes to their packets are undone.
void list_candidates_of(const Network&, const Network* listing, State&, Batch&);
// A packet with its memories.
struct SavedPacket {
  Packet packet;
  PacketDetail detail;
  std::vector<u8> memories;
};
SavedPacket save_packet(const Network&, const State&, u32 packet);
void put_back(const Network&, State&, u32 packet, const SavedPacket&);
// Appends the memories of a packet to `to`, and sets them to saved ones.
void save_memories(const Network&, const State&, u32 packet, std::vector<u8>& to);
void load_memories(const Network&, State&, u32 packet, const u8* from);

// ---- src/learning/perceptron.cpp ----

void shape_policy(PolicyShape&, std::vector<u32> layers);
// weight: [outputs, inputs]; rounds them if the policy has 8-bit weights
void load_layer(const PolicyShape&, u32 layer, const float* weight, const float* bias, float* weights);
// Chooses a slot for every decision: the best one, or a random one according to State::learning.
void choose_by_policy(const Network&, const State&, Batch&);
// Operations of a decision (cost.hpp), with every product counted. The core skips those with a hidden unit at 0.
Operations policy_operations(const Network&, double candidates);
// Computes the scores [rows, slots] of observations [rows, width]. Scores of masked slots are meaningless.
void policy_scores(const Network&, const State&, const float* observation, u32 rows, float* scores);
// The same of one row, with network=flat.
void score_row(const PolicyShape&, const float* weights, const float* row, float* scores);

// ---- src/learning/policy_file.cpp ----

struct PolicyFile {
  std::map<std::string, std::string> metadata;
  struct Tensor {
    std::vector<u64> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
};
PolicyFile read_policy_file(const std::string& path);  // safetensors format; throws ConfigError

// ---- src/learning/policy.cpp: these throw ConfigError if the file lacks a key, or its layers do not fit ----

const std::string& metadata_of(const PolicyFile&, const std::string& path, const std::string& key);
void read_layers(const PolicyFile&, const std::string& path, u32 inputs, u32 outputs, PolicyShape&,
                 std::vector<float>& weights);

}  // namespace flitgym
