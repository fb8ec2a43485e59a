// Configurations that the tests share: small networks, and the router presets of configs/router.
#pragma once

#include <span>

#include "../bench/presets.hpp"
#include "simcore/simulation.hpp"

namespace scenes {

using namespace flitgym;

inline const std::vector<std::string> kRoutings = {"minimal",    "valiant_group", "valiant_router",
                                                   "ugal_group", "ugal_router",   "ugal_global",
                                                   "par",        "q_routing",     "q_adaptive"};

inline const std::vector<std::string> kHyperXRoutings = {
    "dimension_order", "minimal_adaptive", "valiant",   "ugal",      "clos_ad", "dal",
    "dim_war",         "omni_war",         "q_routing", "q_adaptive"};

inline Values merge(Values values, const Values& changes) {
  for (const auto& [key, value] : changes) values[key] = value;
  return values;
}

inline Section dragonfly_section(i64 p, i64 a, i64 h, i64 g, const Values& more = {}) {
  return {"dragonfly",
          merge({{"terminals_per_router", p}, {"routers_per_group", a}, {"global_ports", h}, {"groups", g}}, more)};
}
inline Section small_network() { return dragonfly_section(2, 4, 2, 9); }  // 72 terminals
inline Section network_1056() { return dragonfly_section(4, 8, 4, 33); }

inline Section hyperx_section(const std::vector<double>& widths, i64 terminals, const Values& more = {}) {
  return {"hyperx", merge({{"widths", widths}, {"terminals_per_router", terminals}}, more)};
}

inline Section torus(const std::vector<double>& sizes, i64 terminals = 1, const std::vector<double>& links = {1}) {
  return {"torus", {{"sizes", sizes}, {"terminals_per_router", terminals}, {"links", links}}};
}
inline Section mesh(const std::vector<double>& sizes) { return {"mesh", {{"sizes", sizes}}}; }
inline Section tree(const std::vector<double>& children, const std::vector<double>& parents,
                    const std::vector<double>& links = {1}) {
  return {"fat_tree", {{"children", children}, {"parents", parents}, {"links", links}}};
}

inline Values input_queued() { return bench::router_preset("input_queued"); }
inline Values hpdc21() { return bench::router_preset("hpdc21"); }
inline Values sc19() { return bench::router_preset("sc19"); }

// The router of configs/router/sc22.yaml, but flits of several packets take turns at the crossbar. The preset itself is
// packet_crossbar(sc22()).
inline Values sc22() { return merge(bench::router_preset("sc22"), {{"crossbar_sharing", "flit"}}); }

// The same router with a crossbar that carries whole packets, so packets move as trains.
inline Values packet_crossbar(const Values& router) {
  return merge(router, {{"crossbar_sharing", "packet"}, {"credit_granularity", "packet"}});
}

// configs/router/booksim2.yaml with one VC, for steps of 1 / speedup ns.
inline Values booksim2(i64 speedup, i64 slots, const Values& more = {}) {
  const double step = 1.0 / static_cast<double>(speedup);
  return merge(input_queued(), merge({{"cycle_ns", step},
                                      {"crossbar_bandwidth_gb_per_s", 128.0 * static_cast<double>(speedup)},
                                      {"link_latency_ns_host", 1 + step / 2},
                                      {"link_latency_ns_local", 1.0},
                                      {"input_latency_ns", step / 2},
                                      {"output_latency_ns", step / 2},
                                      {"input_buffer_flits", slots},
                                      {"output_buffer_flits", 256},
                                      {"nic_buffer_flits", 0},
                                      {"flow_control", "wormhole"},
                                      {"vc_allocation", "parallel"},
                                      {"arbiter", "islip"},
                                      {"link_clock", "flit"},
                                      {"credit_charged", "switch"},
                                      {"credit_delay_ns", 1.0},
                                      {"terminal_buffers", "input_buffer_flits"}},
                                     more));
}

// The router of input_queued() with buffers of a few flits, so that packets stretch over several buffers.
inline Values small_wormhole() {
  return merge(input_queued(), {{"flow_control", "wormhole"},
                                {"input_buffer_flits", 3},
                                {"nic_buffer_flits", 8},
                                {"link_latency_ns_global", 20.0},
                                {"link_latency_ns_local", 3.0}});
}

inline Config config(Section topology, Values router, Section routing, Section traffic, u64 seed = 1) {
  return {std::move(topology), {"vc_router", std::move(router)}, std::move(routing), std::move(traffic), seed};
}

inline std::string text(const Section& routing) {
  std::string out = routing.name;
  for (const auto& [name, value] : routing.values) out += " " + name + "=" + to_string(value);
  return out;
}

// The memory of a component, by its declared name.
template <class T>
T* kept(const Network& net, State& s, const std::string& name) {
  return Kept<T>{find_memory(net, name)}.of(s);
}
// The learned table of the routing.
inline LearnedTable learned_table(const Network& net) {
  const MemoryShape& t = net.memories.at(net.table);
  return {net.table, t.rows, t.columns, t.stride};
}
inline std::span<float> all_values(const Network& net, State& s) {
  return {Kept<float>{net.table}.of(s), s.memory.at(net.table).size() / sizeof(float)};
}

// One decision, from the batch after collect() and apply().
struct Decision {
  Cycle now;
  u32 id, router;
  u32 in_port, in_vc, out_port, out_class;  // router-local
  Packet packet;
  u32 intermediate;  // kNone if the routing keeps none
};
// Runs one cycle and appends its decisions.
inline void observe(Simulation& sim, std::vector<Decision>& out) {
  const Cycle now = sim.state().part.totals.now;
  sim.collect();
  sim.apply(nullptr, 0);
  const Batch& b = sim.batch();
  const auto& memories = sim.network().memories;
  const bool legs = std::ranges::any_of(memories, [](const MemoryShape& m) { return m.name == "intermediate"; });
  const u32* const intermediates = legs ? kept<u32>(sim.network(), sim.state(), "intermediate") : nullptr;
  for (u32 i = 0; i < b.count; i++)
    out.push_back({now, b.packet[i], b.router[i], b.in_port[i], b.in_vc[i], b.out_port[i], b.out_class[i],
                   sim.state().packets[b.packet[i]], legs ? intermediates[b.packet[i]] : kNone});
}

// The size of a packet; all routers of the tests have flits of 128 bytes.
constexpr i64 bytes_of(i64 flits) { return 128 * flits; }

// A network that carries only the packets of `plan`, which are all sent at cycle 0. The pattern is "test_planned"
// (support/traffic_plan.cpp).
struct Planned {
  u32 source, destination;
};
Section planned(std::vector<Planned> plan, i64 packet_flits = 1);

}  // namespace scenes
