// Data shared by branches.cpp and branch_routers.cpp.
#pragma once

#include "learning/branches.hpp"
#include "stage/stage.hpp"

namespace flitgym::learning {

struct Branches::Branch {
  State s;
  std::vector<u64> apart, asleep;  // [words] one bit per router
  std::vector<u64> history;        // [ring, words] `apart` in the last cycles
  std::vector<u32> run_stamp;      // [routers] stamp of the router in the trunk when it fell asleep
  Attempt* attempt = nullptr;
  u64 but = 0;              // key (Ways::key_of) of the packet whose route was forced, at the router of the decision
  i64 behind = 0, lag = 0;  // sum of `lag` over cycles; packets the trunk has delivered and the branch has not
  bool fresh = true;        // the state is not filled yet
  bool done = false;

  bool is_apart(u32 r) const { return apart[r / 64] >> (r % 64) & 1; }
  bool is_asleep(u32 r) const { return asleep[r / 64] >> (r % 64) & 1; }
};

// The part of a trunk's event that a branch needs to decide whether the event concerns it.
struct Branches::Event {
  Cycle sent;
  u32 from, to;  // routers
  Kind kind;
  bool ejected;
  u16 line;
};

// The content of an event.
struct Branches::Load {
  bool matched;  // with an event of the branch under test
  union {
    FlitEvent flit;
    CreditEvent credit;
    FeedbackEvent feedback;
  };
  Packet packet;
  PacketDetail detail;
  std::size_t memories;
};

// Requests of one router in the same cycle: their input VCs, and for each the time at which the trunk last served it.
struct Branches::Meeting {
  u32 router, count;
  u32 vcs[6], served[6];  // further requests are counted only
};

// An event of the branch that goes to a router which is not apart.
struct Branches::Own {
  Kind kind;
  bool matched;
  u16 line;
  u32 number, to;
  Cycle sent;
};

}  // namespace flitgym::learning
