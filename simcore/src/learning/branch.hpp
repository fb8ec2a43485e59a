// What branches.cpp and branch_routers.cpp share.
#pragma once

#include "learning/branches.hpp"
#include "stage/stage.hpp"

namespace flitgym::learning {

struct Branches::Branch {
  State s;
  std::vector<u64> apart, asleep;  // bit per router
  std::vector<u64> history;        // [ring, words] `apart` of the last cycles
  std::vector<u32> run_stamp;      // [routers] that of the run when it fell asleep
  Attempt* attempt = nullptr;
  u64 but = 0;              // key of the packet whose way was forced, at that router
  i64 behind = 0, lag = 0;  // packets delivered fewer than in the run
  bool fresh = true;        // its state is none yet
  bool done = false;

  bool is_apart(u32 r) const { return apart[r / 64] >> (r % 64) & 1; }
  bool is_asleep(u32 r) const { return asleep[r / 64] >> (r % 64) & 1; }
};

// What arrives in the run: all that every branch asks of it.
struct Branches::Event {
  Cycle sent;
  u32 from, to;  // routers
  Kind kind;
  bool ejected;
  u16 line;
};

// And what it is.
struct Branches::Load {
  bool matched;  // by the branch that is looked at
  union {
    FlitEvent flit;
    CreditEvent credit;
    FeedbackEvent feedback;
  };
  Packet packet;
  PacketDetail detail;
  std::size_t memories;
};

// Several requests at a router in one cycle: their input VCs, and when each was last served in the run.
struct Branches::Meeting {
  u32 router, count;
  u32 vcs[6], served[6];  // of more nothing is known
};

// A branch's own event that goes to a router which is not apart.
struct Branches::Own {
  Kind kind;
  bool matched;
  u16 line;
  u32 number, to;
  Cycle sent;
};

}  // namespace flitgym::learning
