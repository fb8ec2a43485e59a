// Routes that packets take in a run: the decision for each packet at its n-th router, and the packet's memories of the
// routing.
#pragma once

#include <unordered_map>

#include "simcore/state.hpp"

namespace flitgym::learning {

class RecordedRoutes {
 public:
  // Identifies a packet after this number of hops. Never 0.
  static u64 key_of(const Packet& p) { return (u64{p.source} << 40 | u64{p.sequence} << 8 | p.hops) + 1; }

  u32 noted() const { return noted_; }
  // Records the decisions of a batch after they were applied. If a packet finds no space, it requests again at the same
  // router, and the last decision replaces earlier ones.
  void note(const Network&, const State&, const Batch&);
  // Decides on a batch as the run did. The routing itself decides for the packet with key `but` (0: none). It also
  // decides for packets that the run has not seen at that router after the same number of hops. If the packet whose
  // route was forced reaches a router as in the run, it continues as in the run. So once a fork equals the run, its
  // decisions are those of the run and do not depend on the routing's tables.
  void follow(const Network&, State&, Batch&, u64 but) const;

 private:
  struct Step {
    u32 router, kept;  // kept: offset of the packet's memories in kept_
    u16 port, vc_class;
    u8 phase, nonminimal;
    PacketDetail detail;  // its feedback is sent upstream; a routing may restart its clock `arrived` when it decides
  };

  std::unordered_map<u64, Step> steps_;  // by key_of()
  u32 noted_ = 0;
  std::vector<u8> kept_;
};

}  // namespace flitgym::learning
