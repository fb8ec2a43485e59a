#include "hindsight/recorded_routes.hpp"

#include "simcore/learning.hpp"
#include "simcore/route_computation.hpp"

namespace flitgym::learning {

void RecordedRoutes::note(const Network& net, const State& s, const Batch& b) {
  noted_ += b.count;
  for (u32 i = 0; i < b.count; i++) {
    const u32 id = b.packet[i];
    const Packet& p = s.packets[id];
    steps_[key_of(p)] = {b.router[i],
                         static_cast<u32>(kept_.size()),
                         b.out_port[i],
                         b.out_class[i],
                         p.phase,
                         p.nonminimal,
                         net.learns ? s.details[id] : PacketDetail{}};
    save_memories(net, s, id, kept_);
  }
}

void RecordedRoutes::follow(const Network& net, State& s, Batch& b, u64 but) const {
  constexpr u32 kAtOnce = 64;
  const Step* found[kAtOnce];
  const auto look_up = [&](u32 i) -> const Step* {
    const u64 key = key_of(s.packets[b.packet[i]]);
    const auto step = steps_.find(key);
    return key != but && step != steps_.end() && step->second.router == b.router[i] ? &step->second : nullptr;
  };
  bool all = b.count <= kAtOnce;
  for (u32 i = 0; i < b.count && i < kAtOnce; i++) all &= (found[i] = look_up(i)) != nullptr;
  if (!all) decide(net, s, b);
  for (u32 i = 0; i < b.count; i++) {
    const Step* const step = i < kAtOnce ? found[i] : look_up(i);
    if (!step) continue;
    const u32 id = b.packet[i];
    b.out_port[i] = step->port;
    b.out_class[i] = step->vc_class;
    s.packets[id].phase = static_cast<Phase>(step->phase);
    s.packets[id].nonminimal = step->nonminimal;
    if (net.learns) {
      PacketDetail& detail = s.details[id];
      detail = {step->detail.arrived, detail.reward, step->detail.value, step->detail.row};
    }
    load_memories(net, s, id, kept_.data() + step->kept);
  }
}

}  // namespace flitgym::learning
