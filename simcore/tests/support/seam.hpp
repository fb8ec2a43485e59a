// Shared by the tests of the learning seam: runs in which the test makes the decisions, and a decision on a single
// packet.
#pragma once

#include "simcore/learning.hpp"
#include "simcore/rng.hpp"
#include "support/crafted.hpp"

namespace scenes {

// The Dragonfly of 72 terminals, and a HyperX 4x3 with two links in y and T=3. The traffic of both fills queues.
inline Config seam_on_dragonfly(const Section& routing, const Values& router = hpdc21(), double load = 0.9,
                                u64 seed = 1) {
  return config(small_network(), router, routing, {"mixed", {{"load", load}}}, seed);
}
inline Config seam_on_hyperx(const Section& routing, const Values& router = sc19(), double load = 0.9, u64 seed = 1) {
  return config(hyperx_section({4, 3}, 3, {{"links", std::vector<double>{1, 2}}}), router, routing,
                {"mixed", {{"load", load}, {"packet_bytes_max", bytes_of(8)}}}, seed);
}

// Both networks at full load, each with both kinds of router.
inline std::vector<std::pair<std::string, Config>> loaded(const Section& routing) {
  return {
      {"dragonfly, input-queued",
       seam_on_dragonfly(routing, merge(input_queued(), {{"input_buffer_flits", i64{16}}}), 1.0)},
      {"dragonfly, output queues", seam_on_dragonfly(routing, hpdc21(), 1.0)},
      {"hyperx, input-queued", seam_on_hyperx(routing, merge(input_queued(), {{"input_buffer_flits", i64{16}}}), 1.0)},
      {"hyperx, output queues",
       seam_on_hyperx(routing, merge(sc19(), {{"input_buffer_flits", i64{24}}, {"output_buffer_flits", i64{16}}}),
                      1.0)}};
}

// Runs one cycle. choose(j) returns the slot of decision j.
template <class Choose>
void advance(Simulation& sim, Choose&& choose) {
  std::vector<u32> choices(sim.collect());
  for (u32 j = 0; j < choices.size(); j++) choices[j] = choose(j);
  sim.apply(choices.data(), choices.size());
}
// A random slot that depends only on cycle and decision, so two runs with the same decisions choose the same slots.
inline u32 any_slot(const Simulation& sim, const Batch& b, u32 j) {
  return below(draw(99, sim.state().part.totals.now, j), b.decisions.slot_count[j]);
}
inline void advance_at_random(Simulation& sim, u32 cycles) {
  for (u32 k = 0; k < cycles; k++) advance(sim, [&](u32 j) { return any_slot(sim, sim.batch(), j); });
}
inline void drain_at_random(Simulation& sim, u32 most = 200000) {
  sim.stop_sources();
  for (u32 k = 0; k < most && !sim.empty(); k++) advance_at_random(sim, 1);
  CHECK(sim.empty());
}

// The decision on a single packet. Its row stays in the batch.
struct Shown {
  u32 count = 0;  // 0: the agent has no decision to make
  std::vector<Step> slots;
  std::vector<u8> mask;
  std::map<std::string, float> general;
  std::vector<std::map<std::string, float>> per_slot;
};
inline Shown show(Lone& x, const Place& at) {
  const Seam& seam = *x.net.seam;
  x.request(0, at);
  make_decisions(x.net, x.state, x.batch);
  const Decisions& d = x.batch.decisions;
  Shown out;
  if (d.count == 0) return out;
  out.count = d.slot_count[0];
  for (u32 k = 0; k < out.count; k++) out.slots.push_back({d.ports[k], d.classes[k]});
  out.mask.assign(d.mask, d.mask + seam.slots);
  const float* from = d.observation;
  for (const ObservationSpec* block : seam.blocks)
    for (const Feature& f : block->general) out.general[f.name] = *from++;
  out.per_slot.resize(seam.slots);
  for (auto& slot : out.per_slot)
    for (const ObservationSpec* block : seam.blocks)
      for (const Feature& f : block->per_slot) slot[f.name] = *from++;
  return out;
}

}  // namespace scenes
