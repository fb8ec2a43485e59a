// A hash of the behaviour of a simulation, independent of the layout of its state. It covers the packets delivered in
// each cycle, the flits on each link, and every sum of the measurement window.
#pragma once

#include <cstdio>

#include "simcore/learning.hpp"
#include "simcore/rng.hpp"
#include "simcore/simulation.hpp"
#include "simcore/workload.hpp"

namespace scenes {

using namespace flitgym;

class Trace {
 public:
  void add(u64 value) { hash_ = mix64(hash_ ^ value) + 0x9e3779b97f4a7c15ull; }
  u64 hash() const { return hash_; }

  // After a cycle: adds the packets that left the network in it.
  void deliveries(const State& s) {
    std::vector<u8> free(s.packets.size(), 0);
    for (const u32 id : s.part.free_packets) free[id] = 1;
    for (std::size_t id = 0; id < s.packets.size(); id++) {
      const Packet& p = s.packets[id];
      const Name now{p.source, p.sequence, !free[id]};
      if (id >= before_.size()) before_.push_back({0, 0, false});
      Name& was = before_[id];
      if (was.present && (!now.present || was.source != now.source || was.sequence != now.sequence))
        add(s.part.totals.now), add(u64{was.source} << 32 | was.sequence);
      was = now;
    }
  }
  void statistics(const Network& net, const State& s) {
    const Window& w = s.part.window;
    for (const u64 x : {w.generated, w.accepted, w.delivered, w.flits, w.hops, w.latency_nic, w.latency_generation,
                        w.max_nic, w.max_generation})
      add(x);
    add(static_cast<u64>(w.missed));
    for (const auto* histogram : {&s.part.histogram_nic, &s.part.histogram_generation})
      for (const u32 n : *histogram) add(n);
    for (u32 p = 0; p < net.port_count; p++)
      if (net.channels[p].peer != kNone) add(s.ports[p].flits), add(s.ports[p].stall);
    for (const JobTotals& j : job_sums(s))
      add(j.packets), add(j.latency), add(j.hops), add(j.finished), add(j.message_latency);
    add(s.part.learning.decisions), add(s.part.learning.transitions);
    for (const float x : s.ring_observation) add(std::bit_cast<u32>(x));
    for (const float x : s.ring_reward) add(std::bit_cast<u32>(x));
    for (const i64 x : s.ring_action) add(static_cast<u64>(x));
  }

 private:
  struct Name {
    u32 source, sequence;
    bool present;
  };
  std::vector<Name> before_;
  u64 hash_ = 0;
};

inline u64 trace_of(const Config& config, u32 cycles) {
  Simulation sim(config);
  Trace trace;
  const bool asks = (sim.network().decider != Decider::kRouting);
  for (u32 k = 0; k < cycles; k++) {
    if (k == cycles / 4) sim.begin_window();
    if (!asks) {
      sim.run(1);
    } else {
      // An agent that takes a random candidate.
      const u32 n = sim.collect();
      const Batch& b = sim.batch();
      std::vector<u32> choices(n);
      for (u32 i = 0; i < n; i++) {
        const u32 all = sim.network().seam ? b.decisions.slot_count[i] : b.offsets[i + 1] - b.offsets[i];
        choices[i] = below(draw(5, k, i), all);
      }
      sim.apply(choices.data(), choices.size());
    }
    trace.deliveries(sim.state());
  }
  sim.end_window();
  trace.statistics(sim.network(), sim.state());
  return trace.hash();
}

// Compares hashes with recorded hashes of the same names. Returns the lines of the hashes that differ.
template <class Recorded>
std::string changed_hashes(const std::vector<std::pair<std::string, u64>>& found, const Recorded& recorded) {
  std::string changed;
  for (const auto& [name, hash] : found) {
    const auto known = std::ranges::find_if(recorded, [&](const auto& r) { return name == r.first; });
    if (known != std::end(recorded) && known->second == hash) continue;
    char line[64];
    std::snprintf(line, sizeof line, "\", 0x%016llxull},", static_cast<unsigned long long>(hash));
    changed += "\n{\"" + name + line;
  }
  if (found.size() != std::size(recorded)) changed += "\n" + std::to_string(found.size()) + " hashes";
  return changed;
}

}  // namespace scenes
