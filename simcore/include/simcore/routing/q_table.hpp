// Shared by the routings that learn a table: estimated times per router, the least value of a row, and the update.
// Column c of a router's table is port first_link + c. Ports that are not links, and the padding up to the stride, hold
// infinity, so the least value is never found there.
#pragma once

#include "simcore/graph.hpp"
#include "simcore/routing/declared.hpp"

namespace flitgym::routing {

struct QRule : ComponentData {
  double alpha = 0, beta = 0, epsilon = 0, q_thld1 = 0, q_thld2 = 0;
  bool integer_ns = true;
  u32 max_hops = 0;    // q_routing
  u32 candidates = 0;  // random ports compared with the minimal port; 0: all ports
  LearnedTable table;
  u32 (*row)(const Network&, u32 router, const Packet&) = nullptr;  // of a packet; kNone: the table has none for it
  double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32) const override {
    const u32 own = row ? row(net, router, s.packets[packet]) : kNone;
    float space[Memory::kMostColumns];
    return own == kNone ? std::numeric_limits<double>::quiet_NaN()
                        : double{table.values(s, router, own, space)[port - net.first_link[router]]};
  }
};

// QRule::row of a table with a row for each destination router.
inline u32 row_of_router(const Network& net, u32, const Packet& p) { return net.terminal_router[p.destination]; }

// Reads the parameters that all table routings share.
inline void read_rates(const Params& params, QRule& rule) {
  rule.alpha = params.real("alpha");
  rule.beta = params.real("beta");
  rule.epsilon = params.real("epsilon");
  rule.q_thld1 = params.real("q_thld1");
  rule.integer_ns = params.boolean("integer_ns");
}

// The parameters of q_adaptive on every topology.
inline std::vector<ParamSpec> q_adaptive_params() {
  return {
      real("alpha", 0.2, 0, 1, "", "learning rate if the path was faster than estimated"),
      real("beta", 0.04, 0, 1, "", "learning rate if the path was slower than estimated"),
      real("epsilon", 0.001, 0, 1, "", "probability of a random port at a router that consults the table"),
      real("q_thld1", 0.2, 0, 1e9, "",
           "relative gain below which the minimal port is kept (Dragonfly: at the source router)"),
      flag("integer_ns", true, "truncate estimates to whole ns, as the authors' code does"),
  };
}

// The parameters of the routings after descriptions (dragonfly/q_adaptive_corrected.cpp, q_hierarchical.cpp).
inline std::vector<ParamSpec> described_params(std::string q_thld2) {
  return joined(q_adaptive_params(),
                {real("q_thld2", 0.35, -1e9, 1e9, "", std::move(q_thld2)),
                 integer("candidates", 1, 0, 8, "",
                         "number of random allowed ports that are compared with the minimal port; 0 = all of them")});
}
inline void read_described(const Params& params, QRule& rule) {
  read_rates(params, rule);
  rule.q_thld2 = params.real("q_thld2");
  rule.candidates = params.count("candidates");
}

// The parameters of q_adaptive where queues add to the estimates.
inline std::vector<ParamSpec> q_adaptive_params_with_queues() {
  return joined(q_adaptive_params(),
                {real("queue_weight", 4, 0, 1e6, "",
                      "weight of the time that a port's queued flits need, which is added to the port's estimate; 0 = "
                      "the table alone"),
                 congestion_param("auto"), congestion_scope_param("auto")});
}

inline constexpr float kUnreachable = std::numeric_limits<float>::infinity();

// Non-negative floats order like their bit patterns, and an integer minimum vectorises.
inline float q_min(const float* row, u32 stride) {
  u32 least[8];
  for (u32 k = 0; k < 8; k++) least[k] = std::bit_cast<u32>(row[k]);
  for (u32 c = 8; c < stride; c += 8)  // a stride is a multiple of eight
    for (u32 k = 0; k < 8; k++) {
      const u32 bits = std::bit_cast<u32>(row[c + k]);
      least[k] = bits < least[k] ? bits : least[k];
    }
  u32 all = least[0];
  for (u32 k = 1; k < 8; k++) all = least[k] < all ? least[k] : all;
  return std::bit_cast<float>(all);
}

// Column of the least value; ties go to the lowest port.
inline u32 q_argmin(const float* row, u32 stride, float least) {
  u32 c = 0;
  while (c + 1 < stride && row[c] != least) c++;
  return c;
}

// Hysteretic update (Matignon et al. 2007): a lower target is learned at rate alpha, a higher one at rate beta. With
// integer_ns the value is truncated to whole ns, because the Q-adaptive authors use 64-bit integers.
inline void q_update(float& value, const QRule& rule, float target) {
  const double delta = static_cast<double>(target) - static_cast<double>(value);
  const double next = static_cast<double>(value) + (delta < 0 ? rule.alpha : rule.beta) * delta;
  value = static_cast<float>(rule.integer_ns ? std::trunc(next) : next);
}

inline constexpr Operations kQUpdate = {.multiplications = 1, .additions = 2, .comparisons = 1, .reads = 1};

inline void q_learn(const Network& net, State& s, u32 port, u32 row, float target) {
  const auto& rule = static_cast<const QRule&>(*net.routing);
  const u32 router = net.router_of_port(port), column = net.local_port(port) - net.first_link[router];
  q_update(rule.table.entry(s, router, row, column), rule, rule.integer_ns ? std::trunc(target) : target);
}

// Where queues add to the estimates: a product and a sum per candidate, and two least values.
inline Operations row_and_queue_operations(const Network&, double candidates) {
  return {.multiplications = candidates + 1,
          .additions = candidates + 1,
          .comparisons = 2 * candidates + 1,
          .reads = candidates};
}

// The port of a random link. draw(n) is a random number below n.
template <class Draw>
inline u32 random_link(const Network& net, const Graph& g, u32 router, Draw&& draw) {
  u32 links = 0, port = kNone;
  each_link(net, g, router, [&](u32) { links++; });
  each_link(net, g, router, [&, left = u32{draw(links)}](u32 k) mutable {
    if (left-- == 0) port = k;
  });
  return port;
}

// Columns of the ports that a packet may take besides its minimal port.
struct ColumnRange {
  u32 first = 0, end = 0;
  bool empty() const { return first >= end; }
};
struct Pick {
  u32 column;
  float value;
};

// A random column of the range that has a link; `none` if there is none. Columns without a link hold infinity.
inline u32 random_column(const float* row, const ColumnRange& range, u64 bits, u32 none) {
  u32 links = 0;
  for (u32 c = range.first; c < range.end; c++) links += row[c] < kUnreachable;
  if (links == 0) return none;
  u32 c = range.first;
  for (u32 left = below(bits, links); row[c] == kUnreachable || left-- > 0;) c++;
  return c;
}

// The minimal column, or another column whose value is lower by the threshold (relative). The other column is the best
// of `candidates` random columns of the range. With candidates = 0 it is the best of the whole range.
inline Pick pick(const Network& net, const Packet& p, const float* row, u32 minimal, const ColumnRange& range,
                 double threshold, u32 candidates) {
  Pick best = {minimal, row[minimal]};
  const auto consider = [&](u32 c) {
    if (row[c] < best.value) best = {c, row[c]};
  };
  if (candidates == 0)
    for (u32 c = range.first; c < range.end; c++) consider(c);
  else if (!range.empty())
    for (u32 k = 0; k < candidates; k++) consider(random_column(row, range, route_draw(net, p, 2 + k), minimal));
  if ((row[minimal] - best.value) / row[minimal] < threshold) best = {minimal, row[minimal]};
  return best;
}

// Does this packet explore at this router? Frozen tables do not explore.
inline bool explores(const Network& net, const State& s, const QRule& rule, const Packet& p) {
  return rule.epsilon > 0 && !s.part.totals.frozen && unit(route_draw(net, p, 0)) < rule.epsilon;
}

// ---- Where queues add to the estimates ----

struct QueuedRule : QRule {
  CongestionMeasure measure;
  double queue_weight = 0;
  // Time that the flits ahead of a packet need, times the weight, in ns.
  double queue_ns(const Network& net, const State& s, u32 port, u32 vc_class) const {
    return queue_weight > 0
               ? queue_weight * measure.of(net, s, port, vc_class) * net.channels[port].flit_cycles * net.cycle_ns
               : 0;
  }
  double weight(const Network& net, State& s, u32 packet, u32 router, u32 port, u32 vc_class) const override {
    return QRule::weight(net, s, packet, router, port, vc_class) + queue_ns(net, s, net.port(router, port), vc_class);
  }
};
inline void read_queued(const Params& params, const Network& net, QueuedRule& rule) {
  read_rates(params, rule);
  rule.measure = measure_of(params, net);
  rule.queue_weight = params.real("queue_weight");
}

struct Learned {
  u32 index;       // of the preferred candidate
  float estimate;  // least value of the row over all candidates, without queues
};
// The best minimal candidate, or another candidate that is better by q_thld1 (relative). The fact of a candidate says
// whether it is minimal.
inline Learned prefer(const Head& at, const QueuedRule& rule, const float* row, const Offered<bool>& offered) {
  const u32 first = at.net.first_link[at.router];
  u32 best = kNone, minimal = kNone;
  float least = 0, least_minimal = 0, estimate = kUnreachable;
  for (u32 k = 0; k < offered.count; k++) {
    const u32 port = at.net.port(at.router, offered[k]);
    const double queue = rule.queue_ns(at.net, at.s, port, offered.hop[k].vc_class);
    const float learned = row[offered[k] - first], value = learned + static_cast<float>(queue);
    estimate = std::min(estimate, learned);
    if (best == kNone || value < least) best = k, least = value;
    if (offered.fact[k] && (minimal == kNone || value < least_minimal)) minimal = k, least_minimal = value;
  }
  const bool leaves = minimal == kNone || (best != minimal && (least_minimal - least) / least_minimal >= rule.q_thld1);
  return {leaves ? best : minimal, estimate};
}

// Routings of the Dragonfly count columns from the first port behind the terminals. It must be a link on every router.
inline void need_links_behind(const Network& net, const std::string& routing, u32 terminals) {
  for (u32 r = 0; r < net.routers; r++)
    if (net.first_link[r] != terminals)
      throw ConfigError("routing.", routing, ": router ", r, " has no link at port ", terminals,
                        "; use groups of at least two routers, or links at all global ports");
}

inline constexpr u64 kLargestArray = u64{1} << 28;  // entries, 1 GiB; rows of an array are read faster than sparse rows

// Declares the table. Called from a routing's setup; `initialise` calls fill_table().
inline void shape_table(Network& net, QRule& rule, u32 rows, std::string meaning,
                        void (*initialise)(const Network&, State&), bool sparse = false) {
  net.learns = true;
  net.update = kQUpdate;
  net.feedback = rule.table = declare_table(net, {.name = "q_table",
                                                  .meaning = std::move(meaning),
                                                  .rows = rows,
                                                  .columns = net.link_span,
                                                  .initialise = initialise,
                                                  .sparse = sparse && net.link_span <= Memory::kMostColumns &&
                                                            u64{net.routers} * rows * net.link_span > kLargestArray});
}

// `alike` rows after each other have the same values.
template <class Estimate>  // float estimate(router, row, port)
void fill_table(const Network& net, State& s, Estimate estimate, u32 alike = 1) {
  const LearnedTable& table = net.feedback;
  std::vector<float> values(table.stride);
  for (u32 r = 0; r < net.routers; r++)
    for (u32 row = 0; row < table.rows; row++) {
      worked(4 * table.stride);
      for (u32 c = 0; c < table.stride && row % alike == 0; c++) {
        const u32 k = net.first_link[r] + c;
        const bool link = c < table.columns && k < net.radix && net.is_link(net.port(r, k));
        values[c] = link ? estimate(r, row, k) : kUnreachable;
      }
      table.fill(s, r, row, values);
    }
}

// MemoryShape::initialise of a table with a row for each destination router; requires need_estimates().
inline void estimate_by_router(const Network& net, State& s) {
  fill_table(net, s, [&](u32 router, u32 row, u32 port) { return first_estimate_ns(net, router, port, row); });
}

}  // namespace flitgym::routing
