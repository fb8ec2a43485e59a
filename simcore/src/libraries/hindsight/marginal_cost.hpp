// Marginal cost of a choice: its effect on the delay of all packets, in packet-cycles. The state is forked at a
// decision, once per candidate. All forks continue with the same packets from the same sources for `horizon` cycles.
// The run itself is the reference for all decisions, because it takes the chosen candidate of each decision.
//
// By Little's law (Dally & Towles, 23.1), the difference in the total delays is the difference of the areas under the
// number of packets that are due and not delivered. The due packets are the same in all forks (src/core/demand.hpp), so
// only delivered packets are counted. Random draws depend on packets and clocks (rng.hpp), not on the order of events.
//
// With Ahead::kKnown, the other packets keep the routes that they take in the run. This is marginal cost as in traffic
// economics (Beckmann, McGuire, Winsten 1956): the queueing that the choice causes. With Ahead::kRouted, the routing
// decides their routes again. The network is chaotic, so after some round trips the difference is mostly noise.
#pragma once

#include "hindsight/recorded_routes.hpp"
#include "simcore/simulation.hpp"

namespace flitgym {
class Team;
}

namespace flitgym::learning {

enum class Ahead : u8 { kKnown, kRouted };

struct MarginalCostRule {
  u32 horizon = 0;  // cycles of a fork
  u32 slots = 8;    // candidates tried per decision: the minimal one, the one taken in the run, and random others
  u32 threads = 1;
  u32 forks = 128;               // sampled states that are kept and then tried together
  u64 seed = 0;                  // of the sampling of decisions
  Ahead others = Ahead::kKnown;  // other packets keep their routes of the run, or are routed again
};

// Parallel arrays, one row per decision.
struct LabelledDecisions {
  u32 count = 0, slots = 0, width = 0;
  std::vector<Cycle> cycle;
  std::vector<u32> router, source, destination, sequence, hops;
  std::vector<u8> came_by;          // PortKind of the channel over which the packet arrived
  std::vector<u32> candidates;      // number of candidates, tried or not
  std::vector<u32> tried, taken;    // number of slots in use; slot of the candidate that the routing took
  std::vector<u16> port, vc_class;  // [count, slots] router-local
  std::vector<double> cost;         // [count, slots] packet-cycles above the cost of the slot taken; 0 in unused slots
  std::vector<float> observation;   // [count, width] observation of the seam; without a seam width is 0
};

class MarginalCost {
 public:
  // Throws ConfigError if decisions of this simulation cannot be tried, or if the states do not fit in memory.
  MarginalCost(const Simulation& simulation, const MarginalCostRule& rule);
  ~MarginalCost();
  MarginalCost(const MarginalCost&) = delete;
  MarginalCost& operator=(const MarginalCost&) = delete;

  // Continues the simulation until `decisions` decisions were sampled, each with probability `part`, or `most_cycles`
  // cycles have passed. Then tries their candidates. Sampling does not affect the simulation.
  LabelledDecisions label(Simulation& simulation, u32 decisions, double part, u64 most_cycles,
                          const KeepGoing& keep_going = {});

 private:
  // The state and the requests between the two halves of a cycle with sampled decisions.
  struct Moment {
    State state;
    Batch batch;
    u64 delivered = 0;  // packets delivered before
  };
  struct Worker {
    State state;
    Workspace workspace;
  };
  struct Candidate {
    u16 port, vc_class;
    bool operator==(const Candidate&) const = default;
  };
  // A request that has more than one candidate.
  struct Found {
    u32 request, candidates;
    std::vector<Candidate> list;
  };
  struct Trial {
    u32 row, slot, moment, request;
    Cycle at;
  };

  static u32 slots_of(std::vector<Candidate>& candidates, Candidate took, u32 slots, u64 bits);
  void sample(Simulation& simulation, u32 most, double part, LabelledDecisions& out);
  void note_decision(const State& state, const Batch& decided, const Found& one, u32 taken, const float* observation,
                     LabelledDecisions& out);
  void note_routes(const State& state, const Batch& decided);
  void finish_run(const State& now);
  void try_all(LabelledDecisions& out);
  void try_one(Worker& worker, const Trial& trial, LabelledDecisions& out) const;

  const MarginalCostRule rule_;
  std::unique_ptr<Simulation> own_;  // owns the network; its state continues the run
  std::unique_ptr<const Network> copy_;
  const Network* listing_;  // network whose candidates() lists the choices
  Batch listed_;
  std::vector<std::unique_ptr<Moment>> moments_;  // buffers, of which the first used_ are in use
  u32 used_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Team> team_;
  std::vector<Trial> trials_;
  Cycle run_from_ = 0;
  std::vector<u64> run_;  // packets that the run has delivered before each cycle from run_from_ on
  RecordedRoutes routes_;
};

void copy_requests(const Batch& from, u32 begin, u32 end, Batch& to);
u64 packets_delivered(const State& state);

}  // namespace flitgym::learning
