#include "hindsight/recorded_routes.hpp"

#include <algorithm>

#include "simcore/learning.hpp"
#include "simcore/rng.hpp"
#include "simcore/route_computation.hpp"

namespace flitgym::learning {

void RecordedRoutes::clear() {
  steps_.assign(std::max<std::size_t>(steps_.size(), 1024), Step{});
  used_ = 0;
  kept_.clear();
}

void RecordedRoutes::note(const Network& net, const State& s, const Batch& b) {
  for (u32 i = 0; i < b.count; i++) {
    if (2 * ++used_ > steps_.size()) {
      std::vector<Step> fewer(2 * steps_.size());
      fewer.swap(steps_);
      for (const Step& one : fewer)
        if (one.key) place_of(one.key) = one;
    }
    const u32 id = b.packet[i];
    const Packet& p = s.packets[id];
    place_of(key_of(p)) = {key_of(p),
                           b.router[i],
                           static_cast<u32>(kept_.size()),
                           b.out_port[i],
                           b.out_class[i],
                           p.phase,
                           p.nonminimal,
                           net.learns ? s.details[id].row : 0,
                           net.learns ? s.details[id].value : 0,
                           net.learns ? s.details[id].arrived : 0};
    save_memories(net, s, id, kept_);
  }
}

RecordedRoutes::Step& RecordedRoutes::place_of(u64 key) {
  const std::size_t mask = steps_.size() - 1;
  std::size_t at = mix64(key) & mask;
  while (steps_[at].key && steps_[at].key != key) at = (at + 1) & mask;
  return steps_[at];
}

const RecordedRoutes::Step* RecordedRoutes::find(u64 key) const {
  const std::size_t mask = steps_.size() - 1;
  for (std::size_t at = mix64(key) & mask; steps_[at].key; at = (at + 1) & mask)
    if (steps_[at].key == key) return &steps_[at];
  return nullptr;
}

void RecordedRoutes::follow(const Network& net, State& s, Batch& b, u64 but) const {
  constexpr u32 kAtOnce = 64;
  const Step* found[kAtOnce];
  const auto look_up = [&](u32 i) -> const Step* {
    const u64 key = key_of(s.packets[b.packet[i]]);
    const Step* const step = key == but ? nullptr : find(key);
    return step && step->router == b.router[i] ? step : nullptr;
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
      s.details[id].row = step->row;
      s.details[id].value = step->value;
      s.details[id].arrived = step->arrived;
    }
    load_memories(net, s, id, kept_.data() + step->kept);
  }
}

}  // namespace flitgym::learning
