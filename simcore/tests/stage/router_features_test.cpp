// Features of routers: drawn packet sizes, injection on several VCs, credits that only take the link's time, age
// arbitration, a crossbar port per VC, ejection on any VC, VC allocation.
#include <set>

#include "simcore/rng.hpp"
#include "simcore/topology/hyperx.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace stage_router_features_test {

using namespace scenes;

const std::string kAge = "age";
const Values kSizes = {{"packet_bytes_max", bytes_of(16)}};

Config line_of_two(const Values& router, const Section& traffic, i64 terminals = 1) {
  return config(hyperx_section({2}, terminals), router, {"dimension_order", {}}, traffic);
}

// Runs one cycle and calls visit(event) for each event that entered `lines` in it.
template <class Lines, class Visit>
void run_and_visit(Simulation& sim, const Lines& lines, Visit&& visit) {
  std::vector<u32> ends;
  for (const auto& line : lines) ends.push_back(line.end);
  sim.run(1);
  for (std::size_t k = 0; k < ends.size(); k++)
    for (u32 n = ends[k]; n != lines[k].end; n++) visit(lines[k].at(n));
}

// Packets as they enter the network, taken from their first decision.
std::vector<Packet> injected(Simulation& sim, u32 cycles) {
  std::vector<Packet> out;
  std::vector<Decision> seen;
  for (u32 k = 0; k < cycles; k++) {
    seen.clear();
    observe(sim, seen);
    for (const Decision& d : seen)
      if (!sim.network().is_link(sim.network().port(d.router, d.in_port))) out.push_back(d.packet);
  }
  return out;
}

// Flits of one terminal's stream that are delivered in a window of `cycles` after `settle` cycles.
double delivered(const Values& router, u32 settle, u32 cycles) {
  std::vector<Planned> plan(6000, {0, 1});
  Simulation sim(line_of_two(router, planned(plan)));
  sim.run(settle);
  sim.begin_window();
  sim.run(cycles);
  return statistics(sim.network(), sim.state()).at("flits_delivered");
}

// ---- Packet sizes ----

// Uniform over 1..16: chi-square with 15 degrees of freedom, mean 15, standard deviation sqrt(30).
TEST(packet_sizes_are_uniform) {
  Simulation sim(
      config(hyperx_section({4, 4}, 4), sc19(), {"dimension_order", {}}, {"uniform", merge(kSizes, {{"load", 0.4}})}));
  CHECK_EQ(sim.network().mean_packet_flits(), 8.5);
  std::vector<double> count(17);
  double packets = 0;
  for (const Packet& p : injected(sim, 8000)) {
    CHECK(p.flits >= 1 && p.flits <= 16);
    count[p.flits]++;
    packets++;
  }
  double chi = 0;
  for (u32 n = 1; n <= 16; n++) chi += (count[n] - packets / 16) * (count[n] - packets / 16) / (packets / 16);
  CHECK(packets > 20000);
  CHECK_NEAR(chi, 15, 5 * std::sqrt(30));
}

TEST(a_packet_keeps_its_size) {
  // A size depends on seed, terminal and sequence number only. It is the same in another network and differs with
  // another seed.
  const auto sizes = [](const Values& router, u64 seed) {
    Simulation sim(config(hyperx_section({4}, 2), router, {"dimension_order", {}},
                          {"uniform", merge(kSizes, {{"load", 0.3}})}, seed));
    std::map<std::pair<u32, u32>, u32> out;
    for (const Packet& p : injected(sim, 2000)) out[{p.source, p.sequence}] = p.flits;
    return out;
  };
  const auto one = sizes(sc19(), 1), other = sizes(input_queued(), 1), reseeded = sizes(sc19(), 2);
  u32 common = 0, same = 0;
  for (const auto& [name, flits] : one) {
    if (const auto at = other.find(name); at != other.end()) CHECK_EQ(at->second, flits);
    if (const auto at = reseeded.find(name); at != reseeded.end()) common++, same += at->second == flits;
  }
  CHECK(common > 200 && same < common / 8);  // 1 in 16 agree by chance
}

// The load counts flits, whatever their packets' sizes: a Poisson number of packets with mean 8.5 and variance 21.25
// (255/12).
TEST(drawn_sizes_are_offered_at_the_load) {
  for (const double load : {0.1, 0.5})
    for (const auto& [least, most] : {std::pair{1, 16}, {1, 2}, {4, 12}, {7, 7}}) {
      Simulation sim(config(
          hyperx_section({4, 4}, 4), merge(sc19(), {{"nic_buffer_flits", 4000}}), {"dimension_order", {}},
          {"uniform", {{"load", load}, {"packet_bytes", bytes_of(least)}, {"packet_bytes_max", bytes_of(most)}}}));
      const double cycles = 6000, mean = (least + most) / 2.0, width = most - least + 1, wanted = 64 * cycles * load;
      sim.run(static_cast<u64>(cycles));
      CHECK_EQ(sim.state().part.totals.backlogged, 0u);
      CHECK_NEAR(static_cast<double>(sim.state().part.totals.flits_accepted), wanted,
                 5 * std::sqrt(wanted / mean * (mean * mean + (width * width - 1) / 12)));
    }
  // Fixed intervals: one packet of 8.5 flits on average every 17 cycles at load 0.5.
  Simulation sim(config(hyperx_section({4, 4}, 4), sc19(), {"dimension_order", {}},
                        {"uniform", merge(kSizes, {{"load", 0.5}, {"injection", "fixed_interval"}})}));
  sim.begin_window();
  sim.run(1700);
  CHECK_EQ(statistics(sim.network(), sim.state()).at("packets_generated"), 64 * 100);
}

// router.buffer_total: a port has the same buffers in total, whatever the number of VCs that the routing needs.
TEST(buffer_total_is_divided_among_the_vcs) {
  const auto make = [](const std::string& routing, const Values& router, i64 flits = 1) {
    return build(config(hyperx_section({4, 4}, 1), merge(router, {{"vcs", 0}}), {routing, {}},
                        {"uniform", {{"packet_bytes", bytes_of(flits)}}}));
  };
  const auto total = [](i64 flits) { return Values{{"buffer_total", flits}}; };
  // 1 and 4 VCs without output queues; 254 flits leave two without use.
  for (const auto& [routing, vcs, depth] :
       {std::tuple{"dimension_order", 1u, 254u}, {"dim_war", 2u, 127u}, {"omni_war", 4u, 63u}}) {
    const auto net = make(routing, merge(input_queued(), total(254)));
    CHECK_EQ(net->vcs, vcs);
    CHECK_EQ(net->router.input_depth, depth);
    CHECK_EQ(net->router.output_depth, 0u);
    Simulation sim(net);
    const u32 link = net->port(0, 1);
    for (u32 vc = 0; vc < vcs; vc++) CHECK_EQ(sim.state().output_vcs[net->vc_id(link, vc)].credits, depth);
  }
  // Input and output in the ratio 160:64. 4 VCs of 112 flits: 80 and 32.
  const auto both = make("omni_war", merge(sc19(), total(448)));
  CHECK_EQ(both->router.input_depth, 80u);
  CHECK_EQ(both->router.output_depth, 32u);
  // The least total that leaves room for a packet of 10 flits: 35 flits per VC, 25 and 10.
  CHECK_EQ(make("omni_war", merge(sc19(), total(140)), 10)->router.output_depth, 10u);
  CHECK_THROWS(ConfigError, make("omni_war", merge(sc19(), total(124)), 10), "router.buffer_total", "at least 128 ");
  CHECK_EQ(make("omni_war", merge(sc19(), total(128)), 10)->router.output_depth, 10u);
}

// ---- Injection VCs ----

TEST(packets_enter_on_the_vcs_they_may) {
  for (const auto& [given, used] : {std::pair{0, 8u}, {1, 1u}, {3, 3u}, {8, 8u}}) {
    Simulation sim(
        config(hyperx_section({4}, 4),
               merge(sc19(), {{"injection_vcs", given}, {"input_buffer_flits", 4}, {"link_latency_ns_host", 20.0}}),
               {"dim_war", {}}, {"uniform", {{"load", 1.0}}}));
    std::map<u32, u32> count;
    std::vector<Decision> seen;
    for (u32 k = 0; k < 1000; k++) observe(sim, seen);
    double all = 0;
    for (const Decision& d : seen)
      if (d.in_port < 4) count[d.in_vc]++, all++;
    CHECK_EQ(count.size(), std::size_t{used});
    CHECK_EQ(count.rbegin()->first, used - 1);  // the VCs below it
    for (const auto& [vc, n] : count)
      CHECK_NEAR(n / all, 1.0 / used, 0.2 / used);  // each packet takes the VC with the most room
  }
}

// ---- Credits ----

// One VC of depth d and a round trip r move d flits in r cycles. Input-queued: a flit is granted at t, arrives at t +
// 51 (50 ns of link and 1 ns of output) and is granted there at once. Its credit returns after 51 cycles more, or after
// the link's 50 alone: r = 102 or 101. With output buffers: 55 + 50 cycles there, granted at once, and 105 or 50 back:
// r = 210 or 155.
TEST(throughput_of_a_vc_is_depth_over_round_trip) {
  const Values queued = merge(input_queued(), {{"link_latency_ns_local", 50.0}, {"nic_buffer_flits", 4000}});
  const Values buffered = merge(sc19(), {{"vcs", 1}, {"nic_buffer_flits", 4000}});
  for (const i64 depth : {1, 7, 20, 100}) {
    const Values size = {{"input_buffer_flits", depth}};
    const auto d = static_cast<double>(depth);
    CHECK_EQ(delivered(merge(queued, size), 2000, 102 * 10), 10 * d);
    CHECK_EQ(delivered(merge(queued, merge(size, {{"credit_latency", "link"}})), 2000, 101 * 10), 10 * d);
    CHECK_EQ(delivered(merge(buffered, merge(size, {{"credit_latency", "hop"}})), 2000, 210 * 5), 5 * d);
    CHECK_EQ(delivered(merge(buffered, size), 2000, 155 * 5), 5 * d);
  }
  // From depth r on the link is fully used.
  for (const i64 depth : {154, 155, 160})
    CHECK_EQ(delivered(merge(buffered, {{"input_buffer_flits", depth}}), 2000, 155 * 5),
             5 * std::min<double>(155, static_cast<double>(depth)));
}

// ---- Age ----

// All terminals send to one terminal. The oldest head that requests its port is served first: a departing flit is not
// younger than any head that requested and stayed. Round robin violates this rule.
TEST(the_oldest_is_served_first) {
  for (const auto& [arbiter, vcs] :
       {std::pair{kAge, i64{1}}, {kAge, i64{4}}, {"round_robin", i64{1}}, {"least_recently_served", i64{4}}}) {
    const Values router =
        merge(input_queued(), {{"arbiter", arbiter}, {"vcs", vcs}, {"injection_vcs", 0}, {"input_buffer_flits", 8}});
    Simulation sim(config(hyperx_section({3}, 6), router, {"dimension_order", {}},
                          {"hotspot", {{"hot_terminals", 1}, {"fraction", 1.0}, {"load", 0.3}}}));
    const Network& net = sim.network();
    const u32 hot = net.destination(1, 0, 0, 0, 0), router_of_hot = net.terminal_router[hot];
    u32 out_of_order = 0, served = 0;
    for (u32 now = 0; now < 3000; now++) {
      std::vector<Cycle> sent;  // times of generation of the packets whose flits leave
      run_and_visit(sim, sim.state().part.flit_lines.lines, [&](const FlitEvent& flit) {
        if (net.port_of_vc(flit.vc) == net.nic(hot))
          sent.push_back(sim.state().packets[packet_of(flit.flit)].generated);
      });
      const State& s = sim.state();
      Cycle oldest = kNone;  // of the heads that requested and stayed
      for (u32 port = 0; port < net.radix; port++)
        for (u32 vc = 0; vc < net.vcs; vc++) {
          const InputVc& in = s.input_vcs[net.vc_id(net.port(router_of_hot, port), vc)];
          if (in.count > 0 && in.routed() && in.out_port == net.terminal_port[hot])
            oldest = std::min(oldest, s.packets[packet_of(in.front)].generated);
        }
      for (const Cycle generated : sent) served++, out_of_order += generated > oldest;
    }
    CHECK(served > 2500);
    CHECK_FOR(arbiter == kAge ? out_of_order == 0 : out_of_order > 200, arbiter + ": " + std::to_string(out_of_order));
  }
}

// Packets that wait for room are also woken in this order. Four terminals share a link whose far buffer is full. Every
// grant goes to the oldest head that was there, for single flits and for packets.
TEST(the_oldest_packet_that_waits_for_room_is_woken_first) {
  for (const i64 flits : {1, 4})
    for (const i64 output : {0, 8}) {
      const Values router = merge(input_queued(), {{"arbiter", kAge},
                                                   {"input_buffer_flits", 8},
                                                   {"output_buffer_flits", output},
                                                   {"link_latency_ns_local", 5.0}});
      Simulation sim(line_of_two(router, {"bit_complement", {{"load", 1.0}, {"packet_bytes", bytes_of(flits)}}}, 4));
      const Network& net = sim.network();
      std::vector<u32> served;  // packets whose heads leave their input buffers at router 0
      u32 out_of_order = 0, parked = 0;
      for (u32 now = 0; now < 3000; now++) {
        std::vector<Flit> fronts;
        std::vector<u32> sent;
        Cycle oldest = kNone;
        bool held = false;  // a packet holds the output
        for (u32 port = 0; port < 4; port++) {
          const InputVc& in = sim.state().input_vcs[net.vc_id(net.port(0, port), 0)];
          fronts.push_back(in.front);
          sent.push_back(in.sent);
          parked += sim.state().park_next[&in - sim.state().input_vcs.data()] != kNotParked;
          held |= in.sent > 0;
          if (in.count > 0 && in.routed())
            oldest = std::min(oldest, sim.state().packets[packet_of(in.front)].generated);
        }
        const auto packets = sim.state().packets;
        sim.run(1);
        for (u32 port = 0; port < 4; port++) {
          const InputVc& in = sim.state().input_vcs[net.vc_id(net.port(0, port), 0)];
          const bool head_left = fronts[port] != kNone && sent[port] == 0 && (in.front != fronts[port] || in.sent > 0);
          if (!head_left) continue;
          served.push_back(packet_of(fronts[port]));
          CHECK(!held);
          out_of_order += packets[packet_of(fronts[port])].generated > oldest;
        }
      }
      CHECK(parked > 1000);
      CHECK(served.size() > 200);
      CHECK_EQ(out_of_order, 0u);
    }
}

// ---- A crossbar port per VC, ejection on any VC ----

namespace {

// The most grants in one cycle from one input port and from one input VC, counted by the credits sent upstream.
struct Grants {
  u32 by_input = 0, by_input_vc = 0;
};
Grants most_grants(const Values& router) {
  Simulation sim(config(hyperx_section({4}, 4), merge(router, {{"link_latency_ns_local", 60.0}}), {"dim_war", {}},
                        {"uniform", {{"load", 1.0}}}, 3));
  const Network& net = sim.network();
  Grants most;
  for (u32 now = 0; now < 1200; now++) {
    std::map<u32, u32> by_port, by_vc;
    run_and_visit(sim, sim.state().part.credit_lines.lines, [&](const CreditEvent& credit) {
      most.by_input = std::max(most.by_input, by_port[net.port_of_vc(credit.vc)] += credit.flits);
      most.by_input_vc = std::max(most.by_input_vc, by_vc[credit.vc] += credit.flits);
    });
  }
  CHECK(sim.drain(100000));
  sim.run(200);
  sim.check_conservation();
  return most;
}

}  // namespace

TEST(crossbar_ports_by_port_or_by_vc) {
  const Values small = merge(sc19(), {{"output_buffer_flits", 8}});
  for (const std::string arbiter : {"age", "least_recently_served"}) {
    const Grants per_vc = most_grants(merge(small, {{"arbiter", arbiter}})),
                 per_port = most_grants(merge(small, {{"arbiter", arbiter}, {"crossbar_ports", "per_port"}}));
    CHECK_EQ(per_port.by_input, 1u);
    CHECK(per_vc.by_input > 2);
    CHECK_EQ(per_vc.by_input_vc, 1u);
  }
}

// A packet of either class leaves on any VC of the terminal's port that has room and that no other packet holds.
TEST(ejection_uses_every_vc) {
  Simulation sim(
      config(hyperx_section({4}, 4), sc19(), {"dim_war", {}},
             {"hotspot", {{"hot_terminals", 2}, {"fraction", 1.0}, {"load", 1.0}, {"packet_bytes", bytes_of(4)}}}));
  const Network& net = sim.network();
  std::set<u32> vcs;
  for (u32 now = 0; now < 1500; now++) {
    sim.collect();
    sim.apply(nullptr, 0);
    const Batch& b = sim.batch();
    for (u32 i = 0; i < b.count; i++)
      if (b.out_port[i] < 4) {
        CHECK_EQ(b.out_class[i], kAnyClass);
        for (u32 vc = 0; vc < 8; vc++)
          if (sim.state().output_vcs[net.vc_id(net.port(b.router[i], b.out_port[i]), vc)].count > 0) vcs.insert(vc);
      }
  }
  CHECK_EQ(vcs.size(), 8u);
}

// ---- Links shared by flits or by packets ----

// Every terminal's link carries packets of 4 flits on 8 VCs. Shared by packets, a packet begins only after the previous
// one has ended. A NIC holds whole packets, so no packet stalls part-way. Shared by flits, packets mix.
TEST(links_shared_by_flits_or_by_packets) {
  for (const auto& [sharing, granularity, mix] :
       {std::tuple{"flit", "flit", true}, {"packet", "flit", false}, {"flit", "packet", false}}) {
    Simulation sim(config(hyperx_section({3}, 3),
                          merge(sc19(), {{"link_sharing", sharing}, {"credit_granularity", granularity}}),
                          {"dim_war", {}}, {"uniform", {{"load", 1.0}, {"packet_bytes", bytes_of(4)}}}));
    const Network& net = sim.network();
    std::map<u32, u32> open;  // [channel] the packet part-way through
    u32 mixed = 0, whole = 0;
    for (u32 now = 0; now < 1500; now++)
      run_and_visit(sim, sim.state().part.flit_lines.lines, [&](const FlitEvent& event) {
        const u32 channel = net.port_of_vc(event.vc);
        // Only channels from a terminal to a router.
        if (net.is_nic(channel) || net.channels[channel].kind != PortKind::kTerminal) return;
        const auto at = open.find(channel);
        mixed += at != open.end() && at->second != packet_of(event.flit);
        if (event.flit & kTail) whole++, open.erase(channel);
        else open[channel] = packet_of(event.flit);
      });
    CHECK(whole > 1000);
    CHECK_FOR(mix ? mixed > 1000 : mixed == 0, std::string(sharing) + " " + granularity + ": " + std::to_string(mixed));
  }
}

// ---- VC allocation. All packets are generated at cycle 0 and reach their router at cycle 1 ----

Values with(const std::string& allocation, i64 vcs, const Values& more = {}) {
  return merge(input_queued(), merge({{"vc_allocation", allocation}, {"vcs", vcs}}, more));
}

// The cycles in which the first packets of terminals 0 .. n-1 of a router win the switch.
std::vector<u32> grants(const Values& router, const std::vector<u32>& destinations) {
  std::vector<Planned> plan;
  for (u32 t = 0; t < destinations.size(); t++) plan.push_back({t, destinations[t]});
  std::vector<u32> cycles;
  for (u32 t = 0; t < destinations.size(); t++) {
    Simulation sim(config(hyperx_section({2}, 3), router, {"dimension_order", {}}, planned(plan)));
    sim.watch(t, 0);
    sim.run(50);
    const std::string log = sim.watch_log();
    cycles.push_back(static_cast<u32>(std::stoul(log.substr(log.rfind('\n', log.find("wins the switch")) + 1))));
  }
  return cycles;
}

using Cycles = std::vector<u32>;

// Two heads choose the same output VC with their routes. With before_switch, the second head waits until the first has
// released the VC at cycle 2. With parallel, it wins the other VC at cycle 1.
TEST(vc_allocation_2x2) {
  CHECK(grants(with("before_switch", 2), {2, 2}) == (Cycles{2, 4}));
  CHECK(grants(with("parallel", 2), {2, 2}) == (Cycles{2, 3}));
  CHECK(grants(with("with_switch", 2), {2, 2}) == (Cycles{1, 2}));
  for (const std::string allocation : {"before_switch", "parallel"})  // different outputs: no conflict
    CHECK(grants(with(allocation, 2), {1, 0}) == (Cycles{2, 2}));
  CHECK(grants(with("parallel", 1), {2, 2}) == (Cycles{2, 4}));  // a single VC is held for two cycles per packet
}

// Three heads for two VCs. The third head wins the VC that the first has released, at cycle 3.
TEST(vc_allocation_3x3) {
  CHECK(grants(with("before_switch", 2), {2, 2, 2}) == (Cycles{2, 4, 6}));
  CHECK(grants(with("parallel", 2), {2, 2, 2}) == (Cycles{2, 3, 4}));
  CHECK(grants(with("parallel", 2), {1, 1, 0}) == (Cycles{2, 3, 2}));
  CHECK(grants(with("with_switch", 2, {{"pipeline_ns", 1.0}}), {2, 2, 2}) == (Cycles{2, 3, 4}));
}

// On a torus with datelines, a packet may change its VC but not its class. Terminals may use every VC.
TEST(parallel_vc_allocation_keeps_the_class) {
  for (const i64 flits : {1, 3}) {
    Simulation sim(config(torus({5, 5}), with("parallel", 6, {{"injection_vcs", 0}}),
                          {"dimension_order", {{"deadlock_avoidance", "dateline"}}},
                          {"uniform", {{"load", 0.9}, {"packet_bytes", bytes_of(flits)}}}));
    CHECK_EQ(sim.network().routing_facts.classes, 2u);
    std::map<std::pair<u32, u32>, u32> given;  // class by source and sequence number
    std::vector<Decision> seen;
    for (u32 k = 0; k < 1500; k++) observe(sim, seen);
    u32 checked = 0, vcs = 0;
    for (const Decision& d : seen) {
      const std::pair id{d.packet.source, d.packet.sequence};
      if (d.packet.hops > 0) checked++, CHECK_EQ(d.in_vc % 2, given.at(id));
      vcs |= 1u << d.in_vc;
      given[id] = d.out_class;
    }
    CHECK(checked > 5000);
    CHECK_EQ(vcs, 63u);
    CHECK(sim.drain(20000));
  }
}

}  // namespace stage_router_features_test
