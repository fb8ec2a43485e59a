// Traffic classes: shares of a saturated link, the delay of a high class, separate VCs, rules for messages, and errors.
#include "core/hosts/engine.hpp"
#include "readers/goal.hpp"
#include "simcore/stats.hpp"
#include "simcore/traffic_classes.hpp"
#include "support/dependencies.hpp"
#include "support/jobs.hpp"

namespace classes_test {

using namespace scenes;

using Classes = std::vector<Section>;

Config with_classes(Config c, Classes classes) {
  c.classes = std::move(classes);
  return c;
}

const std::map<std::string, Values> kRouters = {
    {"input_queued", input_queued()},
    {"input_queued age", merge(input_queued(), {{"arbiter", "age"}})},
    {"wormhole", merge(input_queued(), {{"flow_control", "wormhole"}})},
    {"parallel", merge(input_queued(), {{"vc_allocation", "parallel"}, {"vcs", 4}})},
    {"hpdc21", hpdc21()},
    {"sc19 per_vc", sc19()},
    {"sc22", sc22()},
    {"sc22 packet", packet_crossbar(sc22())},
    {"sc22 slow crossbar", merge(packet_crossbar(sc22()), {{"crossbar_bandwidth_gb_per_s", 25.0}})},
};

double class_sum(const Simulation& sim, u32 c, u32 column) {
  double sum = 0;
  for (u32 k = 0; k < sim.network().partitions(); k++)
    sum += sim.network().classes->sums.of(sim.state())[(k * class_count(sim.network()) + c) * kClassSums + column];
  return sum;
}

// Eight terminals, four of each class, send packets of four flits over the link between two routers.
Config one_link(const Values& router, Classes classes) {
  std::vector<double> sources, destinations;
  for (u32 t = 0; t < 8; t++) sources.push_back(t), destinations.push_back(8 + t);
  u64 seed = 0;
  for (u32 of_a = 0; of_a != 4;) {
    seed++, of_a = 0;
    for (u32 t = 0; t < 8; t++) of_a += unit(draw(seed, t, kDrawClass)) < 0.5;
  }
  return with_classes(config(hyperx_section({2}, 8), router, {"minimal", {}},
                             {"flows",
                              {{"load", 1.0},
                               {"injection", "fixed_interval"},
                               {"packet_bytes", bytes_of(4)},
                               {"sources", sources},
                               {"destinations", destinations}}},
                             seed),
                      std::move(classes));
}

TEST(classes_share_a_saturated_link) {
  struct Case {
    Values a, b;
    double of_a, of_b;
  };
  const std::vector<Case> all = {{{{"share", 0.7}}, {{"share", 0.3}}, 0.7, 0.3},
                                 {{{"priority", 1}}, {{"share", 0.2}}, 0.8, 0.2},
                                 {{{"priority", 1}}, {}, 1, 0},
                                 {{{"priority", 1}, {"limit", 0.6}}, {}, 0.6, 0.4},
                                 {{{"limit", 0.3}}, {{"priority", 1}, {"limit", 0.45}}, 0.3, 0.45},
                                 {{}, {}, 0.5, 0.5}};
  for (const auto& [name, router] : kRouters)
    for (const Case& x : all) {
      Simulation sim(one_link(router, {{"a", merge(x.a, {{"sources", 0.5}})}, {"b", x.b}}));
      const Network& net = sim.network();
      const u32 flit_cycles = net.channels[net.port(0, net.first_link[0])].flit_cycles;
      sim.run(2000 * flit_cycles);
      sim.begin_window();
      sim.run(10000 * flit_cycles);
      sim.check_conservation();
      const double a = class_sum(sim, 0, 1) / 10000, b = class_sum(sim, 1, 1) / 10000;
      CHECK_FOR(std::abs(a - x.of_a) < 0.01 && std::abs(b - x.of_b) < 0.01,
                name + ": " + std::to_string(a) + " instead of " + std::to_string(x.of_a) + ", " + std::to_string(b) +
                    " instead of " + std::to_string(x.of_b));
    }
}

// One rank sends single packets to the other, with pauses.
JobSection pings() {
  std::string text = "num_ranks 2\nrank 0 {\n";
  for (u32 k = 0; k < 60; k++) {
    const std::string n = std::to_string(k);
    text += "c" + n + ": calc " + std::to_string(3001 + 7 * k) + "\ns" + n + ": send 400b to 1 tag 0\ns" + n +
            " requires c" + n + "\n";
    if (k > 0) text += "c" + n + " requires s" + std::to_string(k - 1) + "\n";
  }
  text += "}\nrank 1 {\n";
  for (u32 k = 0; k < 60; k++) text += "r" + std::to_string(k) + ": recv 400b from 0 tag 0\n";
  return given("pings", workload::read_goal(text + "}\n", "pings"), {0, 70});
}
// The other terminals of a group send to the group before it, over the link that the pings take.
JobSection bulk() {
  const auto takes_part = [](u32 t) { return t != 0 && t != 70; };
  const auto rank_of = [](u32 t) { return std::to_string(t - 1 - (t > 70)); };
  std::string text = "num_ranks 70\n";
  std::vector<u32> terminals;
  for (u32 t = 0; t < 72; t++) {
    if (!takes_part(t)) continue;
    terminals.push_back(t);
    const u32 to = (t + 64) % 72, from = (t + 8) % 72;
    text += "rank " + rank_of(t) + " {\n";
    if (takes_part(to)) text += "a: send 9000000b to " + rank_of(to) + " tag 0\n";
    if (takes_part(from)) text += "b: recv 9000000b from " + rank_of(from) + " tag 0\n";
    text += "}\n";
  }
  return given("bulk", workload::read_goal(text, "bulk"), terminals);
}

// Each packet waits at an output for at most the packet that passes there: at the crossbar and on the channel.
TEST(a_high_class_waits_for_one_packet_per_hop) {
  for (const auto& [name, router] : kRouters) {
    double longest[2], hops = 0;
    u32 packet = 0, crossbar = 0;
    for (const bool loaded : {false, true}) {
      Config c = with_jobs({pings()}, {}, small_network(), "minimal", router);
      if (loaded) c.workload.jobs.push_back(bulk());
      c.workload.classes = {{"pings", "high"}};
      Simulation sim(with_classes(c, {{"high", {{"priority", 1}}}, {"low", {}}}));
      sim.begin_window();
      while (job_sums(sim.state())[0].ranks_done < 2) sim.run(1000);
      const JobTotals job = job_sums(sim.state())[0];
      longest[loaded] = static_cast<double>(job.latency_max);
      hops = static_cast<double>(job.hops) / static_cast<double>(job.packets);
      packet = 4 * sim.network().flit_cycles_host;
      crossbar = sim.network().router.output_depth > 0 ? 4 * sim.network().router.crossbar_cycles : 0;
      if (loaded) CHECK_FOR(statistics(sim.network(), sim.state())["accepted_load"] > 0.05, name);
    }
    const double most = (hops + 1) * (packet + crossbar);
    CHECK_FOR(longest[1] - longest[0] <= most,
              name + ": " + std::to_string(longest[0]) + " to " + std::to_string(longest[1]) + " cycles; at most " +
                  std::to_string(most) + " more over " + std::to_string(hops) + " hops");
  }
}

// Observed dependencies of (channel, VC): none between classes, and none in a cycle. Small buffers fill up.
TEST(classes_do_not_depend_on_each_other) {
  const Values small = merge(input_queued(), {{"input_buffer_flits", 2}});
  for (const auto& [topology, routing] : {std::pair{small_network(), "par"},
                                          {small_network(), "valiant_router"},
                                          {hyperx_section({3, 3}, 3), "omni_war"},
                                          {torus({4, 4}, 2), "dimension_order"},
                                          {tree({4, 4}, {1, 4}), "up_down"},
                                          {torus({4, 4}, 2), "ugal"}}) {
    Simulation sim(with_classes(config(topology, small, {routing, {}}, {"uniform", {{"load", 0.9}}}),
                                {{"a", {{"sources", 0.5}, {"priority", 1}}}, {"b", {}}}));
    const Network& net = sim.network();
    Edges edges;
    std::map<std::pair<u32, u32>, u32> last;  // by source and sequence
    std::vector<Decision> seen;
    for (u32 cycle = 0; cycle < 3000; cycle++) observe(sim, seen);
    for (const Decision& d : seen) {
      CHECK_EQ(u32{d.packet.traffic_class}, class_of_vc(net, d.in_vc));
      const u32 input = net.port(d.router, d.in_port);
      if (net.channels[input].kind == PortKind::kTerminal) continue;
      const u32 node = channel_class(net.channels[input].peer, d.in_vc);
      const auto [at, fresh] = last.try_emplace({d.packet.source, d.packet.sequence}, node);
      if (!fresh) edges[at->second].insert(node);
      at->second = node;
    }
    CHECK_FOR(edge_count(edges) > 20 && acyclic(edges), routing);
    sim.check_conservation();
    CHECK_FOR(sim.drain(200000), routing);
  }
}

TEST(rules_choose_the_class_of_a_message) {
  Config c = with_jobs({motif("fft3d", {{"ranks", 16}, {"n", 16}, {"iterations", 1}}),
                        motif("halo3d", {{"ranks", 8}, {"scale", 0.01}, {"size_scale", 0.1}})});
  c.workload.classes = {{"control", "a"}, {"below_100", "b"}, {"collective", "c"}, {"halo3d", "d"}};
  const auto net = build(with_classes(c, {{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}, {"e", {}}}));
  const auto of = [&](u32 rank, u64 bytes, Transfer transfer, bool collective) {
    Message m{};
    m.source = rank, m.bytes = bytes, m.transfer = static_cast<u8>(transfer), m.collective = collective;
    return class_of_message(*net, m);
  };
  CHECK_EQ(of(0, 50, Transfer::kRequest, true), 0u);
  CHECK_EQ(of(0, 99, Transfer::kEager, true), 1u);
  CHECK_EQ(of(16, 100, Transfer::kData, true), 2u);
  CHECK_EQ(of(16, 100, Transfer::kData, false), 3u);
  CHECK_EQ(of(0, 100, Transfer::kData, false), 4u);
  Simulation sim(with_classes(c, {{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}, {"e", {}}}));
  finish(sim);
  CHECK(class_sum(sim, 2, 0) > 0 && class_sum(sim, 3, 0) > 0);
  CHECK_EQ(class_sum(sim, 4, 0), 0.0);  // every message of fft3d is part of a collective
  double packets = 0;
  for (u32 k = 0; k < 5; k++) packets += class_sum(sim, k, 0);
  CHECK_EQ(packets, statistics(sim.network(), sim.state())["packets_delivered"]);
}

TEST(impossible_classes_are_refused) {
  const auto refused = [](Classes classes, const std::string& part, const std::string& other = "",
                          Values router = input_queued()) {
    CHECK_THROWS(ConfigError, build(one_link(router, std::move(classes))), part, other);
  };
  refused({{"a", {{"share", 0.7}}}, {"b", {{"share", 0.5}}}}, "router.classes: the shares", "1.2");
  refused({{"a", {{"share", 0.7}, {"limit", 0.5}}}}, "router.classes.a.share: 0.7", "limit of 0.5");
  refused({{"a", {{"prority", 1}}}}, "router.classes.a", "did you mean 'priority'");
  refused({{"a", {}}, {"b", {}}}, "router.classes", "islip",
          merge(input_queued(), {{"arbiter", "islip"}, {"vc_allocation", "parallel"}}));
  refused(Classes(33, {"a", {}}), "router.classes: 33 classes with 1 VCs each");
  refused({{"a", {}}, {"b", {}}}, "router.buffer_total: 1 flits", "2 VCs",
          merge(input_queued(), {{"buffer_total", 1}}));
  Config c = with_jobs({motif("halo3d", {{"ranks", 8}})});
  c.workload.classes = {{"halo", "a"}};
  CHECK_THROWS(ConfigError, build(c), "workload.classes.halo: unknown class 'a'", "high, bulk");
  c.classes = {{"a", {}}, {"b", {}}};
  CHECK_THROWS(ConfigError, build(c), "'halo' is no job", "did you mean 'halo3d'");
  c.workload.classes = {{"halo3d", "c"}};
  CHECK_THROWS(ConfigError, build(c), "workload.classes.halo3d: unknown class 'c'", "a, b");
  c = config(hyperx_section({3, 3}, 2), sc19(), {"dal", {}}, {"uniform", {}});
  c.classes = {{"a", {}}, {"b", {}}};
  CHECK_THROWS(ConfigError, build(c), "routing.dal", "deadlock_avoidance=distance");
}

}  // namespace classes_test
