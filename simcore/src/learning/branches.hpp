// A branch is a fork that holds and runs only the routers that differ from the original run. These routers are called
// apart. A choice changes a few packets and queues, and all other routers behave as in the run. This is concurrent
// simulation, as in concurrent fault simulation of circuits (Ulrich and Baker, "The concurrent simulation of nearly
// identical digital networks", DAC 1973).
//
// The run (the trunk) is simulated a second time, together with all branches, in blocks of cycles. A block is at most
// as long as the shortest delay between two routers. Every event that arrives from another router during a block was
// therefore sent before the block began (the lookahead of Chandy and Misra, CACM 24(4), 1981). At the beginning of a
// block, the events that a branch sends to a router that is not apart are compared with those of the trunk. If they
// differ, the router becomes apart and is copied from the trunk. A branch drops its copy as soon as the router equals
// that of the trunk again. Within a block a branch runs alone. An event comes from the branch itself if its sender was
// apart when it sent the event, else from the log of the trunk. Terminals belong to their router.
//
// Under least-recently-served arbitration, a router that differs only in the order of its input VCs is asleep. It
// behaves as in the trunk until two of its VCs whose order differs have requests in the same cycle. It is then copied
// again for that block.
//
// Results are bitwise equal to those of whole forks. Branches need packets of one flit, and decisions that do not read
// the queues of other routers. branches_can_follow() checks this.
#pragma once

#include <memory>
#include <vector>

#include "learning/ways.hpp"
#include "simcore/state.hpp"

namespace flitgym::learning {

bool branches_can_follow(const Network&);

// A candidate to try, for the packet at the front of an input VC that requests its route at cycle `at`.
struct Attempt {
  Cycle at;
  u32 input_vc;
  u16 port, vc_class;
  i64 behind = 0;  // packets the trunk has delivered and the branch has not, summed over cycles
  u32 cycles = 0;  // cycles that the branch has run
  bool settled = false;
};

class Branches {
 public:
  Branches(const Network& net, const Ways& ways, u32 horizon);
  ~Branches();

  // Tries the attempts [first, end), which are ordered by time. `state` is the trunk at the beginning of the cycle of
  // the first attempt, or of an earlier cycle.
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

  void take(Branch& x, u32 router);  // copies the trunk's router at the beginning of the block
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
  u32 block_ = kNone;  // length of a block in cycles
  // Whether routers can be asleep, i.e. the arbitration is least-recently-served.
  bool sleeps_;
  std::vector<u32> first_terminal_, terminals_;  // terminals per router
  State trunk_;                                  // at the end of the block
  State begin_;                                  // at the beginning of the block
  Workspace trunk_work_, work_;
  std::vector<Event> log_;         // events that arrive in the trunk during the block, in order of time
  std::vector<Load> loads_;        // content of each event
  std::vector<u32> log_first_;     // [block + 1] first event of each cycle
  std::vector<u8> log_memories_;   // memories of the packets
  std::vector<Meeting> meetings_;  // routers with several requests in a cycle, in order of time
  std::vector<std::unique_ptr<Branch>> pool_;
  std::vector<Branch*> live_, free_;

  // Scratch memory.
  struct Own;
  std::vector<Own> own_;
  std::vector<u32> expected_, concerns_;  // indices into the log; concerns_ ends with kNone
  u32 next_concern_ = 0;
  std::vector<u64> due_a_, due_b_, seen_;
};

}  // namespace flitgym::learning
