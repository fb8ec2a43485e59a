// Marginal cost of a choice: its effect on the delay of all packets, in packet-cycles. The state is forked at a
// decision, once per candidate. All forks continue with the same packets from the same sources. The difference in their
// total delays is the marginal cost.
//
// By Little's law (Dally & Towles, 23.1), this difference is the difference of the areas under the number of packets
// that are due and not delivered. The due packets are the same in all forks (learning/demand.hpp), so only delivered
// packets are counted per cycle. Random draws depend on packets and on the clocks of sources (rng.hpp), not on the
// order of events. Forks therefore draw the same numbers for every candidate.
//
// With Ahead::kKnown, the other packets keep the routes that they take in the run. This is marginal cost as in traffic
// economics (Beckmann, McGuire, Winsten 1956): the difference is the queueing that the choice causes. With
// Ahead::kRouted, the routing decides their routes again from the state that it then sees. The result then includes the
// reactions of other packets. The network is chaotic: one deroute changes queues, and queues change later decisions.
// After some round trips the difference is mostly noise.
//
// The run itself is the reference for all decisions, because it takes the chosen candidate of each decision. A fork
// ends after `horizon` cycles. It ends earlier if its future equals that of the run, because later differences are 0.
//
// If the other packets keep their routes and the network allows it, forks hold only the routers that differ from the
// run (learning/branches.hpp). Otherwise each fork is a whole state, which is compared with the run at intervals
// (learning/future.hpp). Both give the same labels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learning/branches.hpp"
#include "learning/future.hpp"
#include "learning/ways.hpp"
#include "simcore/limits.hpp"
#include "simcore/simulation.hpp"

namespace flitgym {
class Team;
}

namespace flitgym::learning {

struct MarginalCostRule {
  u32 horizon = 0;  // maximum number of cycles of a fork
  u32 slots = 8;    // candidates tried per decision: the minimal one, the one taken in the run, and random others
  u32 threads = 1;
  u32 forks = 128;               // sampled states that are kept and then tried together
  u32 check = 64;                // cycles between comparisons of a whole fork with the run; 0: none
  u64 seed = 0;                  // of the sampling of decisions
  Ahead others = Ahead::kKnown;  // other packets keep their routes of the run, or are routed again
  bool whole = false;            // use whole forks even if branches are possible
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
  std::vector<u8> settled;  // [count, slots] the fork became equal to the run, so a longer horizon changes nothing
  std::vector<u32> cycles;  // [count, slots] cycles that the fork has run
  std::vector<float> observation;  // [count, width] observation of the seam; without a seam width is 0
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
    u32 trials = 0;     // index of the first trial that begins here or later
  };
  struct Worker {
    State state;
    Workspace workspace;
    std::unique_ptr<Branches> branches;
  };
  struct Way;
  struct Found;
  struct Trial {
    u32 row, slot, moment, request, input_vc;
    Cycle at;
  };
  // The run at the beginning of a cycle: packets delivered, packets in the network, and in some cycles hashes.
  struct RunPoint {
    u64 delivered, in_network, loads, future;
  };

  static u32 slots_of(std::vector<Way>& ways, Way took, u32 slots, u64 bits);
  bool looks_at(Cycle now) const { return can_meet_ && now % rule_.check == 0; }
  bool full(u32 share) const;
  void keep_share(const State& state, u32 share);
  Moment& next_moment(const State& state);
  void sample(Simulation& simulation, u32 most, double part, LabelledDecisions& out);
  void list(State& state);
  void note_decision(const State& state, const Batch& decided, const Found& one, u32 taken, const float* observation,
                     LabelledDecisions& out);
  void note_run(const State& state);
  void note_ways(const State& state, const Batch& decided);
  void finish_run(const State& now);
  void try_all(LabelledDecisions& out);
  void try_one(Worker& worker, const Trial& trial, LabelledDecisions& out) const;
  void try_branches(Worker& worker, u32 moment, LabelledDecisions& out) const;

  const MarginalCostRule rule_;
  std::unique_ptr<Simulation> own_;  // owns the network; its state continues the run
  std::unique_ptr<const Network> copy_;
  const Network* listing_;  // network whose candidates() lists the choices
  bool can_meet_ = false, branching_ = false;
  Batch listed_;
  std::vector<std::unique_ptr<Moment>> moments_;  // buffers, of which the first used_ are in use
  u32 used_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<Team> team_;
  std::vector<Trial> trials_;
  Cycle run_from_ = 0;
  std::vector<RunPoint> run_;  // from cycle run_from_ on
  Ways ways_;
};

void copy_requests(const Batch& from, Batch& to);
u64 packets_delivered(const State& state);

}  // namespace flitgym::learning
