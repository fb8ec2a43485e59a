// Forks that hold and run only the routers at which they have come apart from the run they leave: what a choice changes
// is a packet here and a queue there, and all other routers do what they do in the run. Concurrent simulation, as of
// the faults of a circuit (Ulrich and Baker, "The concurrent simulation of nearly identical digital networks", DAC
// 1973).
//
// The run (the trunk) is stepped once more, and all branches beside it, in blocks of cycles no longer than the shortest
// way from one router to another: what comes from elsewhere in a block was sent before it began (the lookahead of
// Chandy and Misra, CACM 24(4), 1981). So at the beginning of a block all is known: what a branch has sent to a router
// that is not apart is held against what the run brings there, and where the two differ the router comes apart and is
// copied from the run as it is then. It is given back once it is equal to the run's. In the block the branch is alone:
// what arrives at its routers comes from itself where the sender was apart when it sent, else from the log of the run.
// A router stands with its terminals.
//
// Under least-recently-served arbitration a router that differs in nothing but the order of its input VCs sleeps: it
// does what the run does until two requests meet whose order is another one; for that block it is copied again.
//
// Results are those of whole forks, to the last bit. Packets of one flit, decisions that need no other router's queues:
// branches_can_follow() says where.
#pragma once

#include <memory>
#include <vector>

#include "learning/ways.hpp"
#include "simcore/state.hpp"

namespace flitgym::learning {

bool branches_can_follow(const Network&);

// A candidate to be tried, of the packet in front of an input VC that asks for its route at cycle `at`.
struct Attempt {
  Cycle at;
  u32 input_vc;
  u16 port, vc_class;
  i64 behind = 0;  // sum over the cycles since of the packets delivered fewer than in the run
  u32 cycles = 0;  // that the branch has run
  bool settled = false;
};

class Branches {
 public:
  Branches(const Network& net, const Ways& ways, u32 horizon);
  ~Branches();

  // Tries those of [first, end), in order of time, from a state of the run at the beginning of a cycle, not later than
  // the first of them.
  void run(const State& state, Attempt* first, Attempt* end);

 private:
  struct Branch;
  struct Event;
  struct Load;
  struct Meeting;
  enum class Kind : u8 { kFlit, kCredit, kFeedback };

  u32 node_of_port(u32 port) const;
  u32 node_of(Kind kind, u32 vc_or_port) const;
  void run_trunk();
  void log_events();
  void log_meetings();

  void start(Branch& x, Attempt& attempt, u32 router);
  void run_block(Branch& x);
  void step(Branch& x, u32 cycle);
  void force(Branch& x);
  void meet(Branch& x);
  void wake(Branch& x);
  void come_apart(Branch& x);
  void arrive(Branch& x, u32 cycle);
  bool came_apart(const Branch& x, const Event& e) const;
  bool idle(const Branch& x) const;
  void close(Branch& x) const;

  void take(Branch& x, u32 router);  // as the run has it at the beginning of the block
  void give_back(Branch& x, u32 router);
  bool same(const Branch& x, u32 router);
  bool same_order(const Branch& x, u32 router);
  u32 served(const Branch& x, u32 input_vc, u32 router, u32 of_run) const;
  template <class Vc>
  bool same_queue(const Branch& x, const Vc& a, const Vc& b) const;
  bool same_packet(const Branch& x, u32 id, u32 of_run) const;
  bool same_flit(const Branch& x, const FlitEvent& own, const Load& of_run) const;
  u32 new_packet(Branch& x) const;
  u32 adopt(Branch& x, u32 of_run) const;
  u32 adopt(Branch& x, const Load& of_run) const;

  const Network& net_;
  const Ways& ways_;
  const u32 horizon_;
  u32 words_, ring_, ports_span_, routes_span_, packet_bytes_ = 0;
  u32 block_ = kNone;                            // cycles
  bool sleeps_;                                  // routers may differ in the order of their VCs alone
  std::vector<u32> first_terminal_, terminals_;  // of each router
  State trunk_;                                  // at the end of the block
  State begin_;                                  // at its beginning
  Workspace trunk_work_, work_;
  std::vector<Event> log_;         // what arrives in the run in the block, in order of time
  std::vector<Load> loads_;        // of each
  std::vector<u32> log_first_;     // [block + 1] the first of each cycle
  std::vector<u8> log_memories_;   // of packets
  std::vector<Meeting> meetings_;  // routers with several requests, in order of time
  std::vector<std::unique_ptr<Branch>> pool_;
  std::vector<Branch*> live_, free_;

  // scratch
  struct Own;
  std::vector<Own> own_;
  std::vector<u32> expected_, concerns_;  // numbers in the log; the last of concerns_ is kNone
  u32 next_concern_ = 0;
  std::vector<u64> due_a_, due_b_, seen_;
};

}  // namespace flitgym::learning
