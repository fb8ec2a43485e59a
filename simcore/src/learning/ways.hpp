// The ways that packets take in a run: what was decided on each at its n-th router, and what the routing kept of it.
#pragma once

#include <vector>

#include "simcore/state.hpp"

namespace flitgym::learning {

class Ways {
 public:
  // A packet with so many hops behind it; never 0.
  static u64 key_of(const Packet& p) { return (u64{p.source} << 40 | u64{p.sequence} << 8 | p.hops) + 1; }

  void clear();
  u32 noted() const { return used_; }
  // What a batch was decided, once it has been applied. One that has found no room asks again at the same router: what
  // it took in the end stands.
  void note(const Network&, const State&, const Batch&);
  // Decides on a batch as the run did, but for the packet `but` (key; 0: none) and those that the run has not seen at
  // that router with so many hops behind them: these the routing decides on. Where the packet whose way was forced
  // comes to a router as in the run, it goes on as in the run, too: so what a fork would do is known once it has become
  // equal to the run, whatever a routing's tables hold.
  void follow(const Network&, State&, Batch&, u64 but) const;

 private:
  struct Step {
    u64 key;           // 0: free
    u32 router, kept;  // where its memories stand in kept_
    u16 port, vc_class;
    u8 phase, nonminimal;
    u32 row;  // what it answers upstream, as in PacketDetail
    float value;
    Cycle arrived;  // likewise: a routing may start the clock anew when it decides
  };

  Step& place_of(u64 key);
  const Step* find(u64 key) const;

  std::vector<Step> steps_;  // open addressing, a power of two
  u32 used_ = 0;
  std::vector<u8> kept_;
};

}  // namespace flitgym::learning
