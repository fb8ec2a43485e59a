// Links, routers and terminals that are out of use: the meaning of the names, refusals, and no loss when a link goes
// down under load, on every router and every routing that supports failures.
#include "simcore/registry.hpp"
#include "support/crafted.hpp"
#include "support/failing.hpp"
#include "support/links.hpp"

namespace failures_test {

using namespace scenes;

Section ring(u32 routers) {
  std::vector<double> links;
  for (u32 r = 0; r < routers; r++) links.insert(links.end(), {double(r), double((r + 1) % routers)});
  return {"graph", {{"links", links}, {"terminals_per_router", 2}}};
}

Config damaged(const Section& topology, const Section& routing, const Values& failures,
               const Values& router = input_queued(), double load = 0.3, i64 flits = 1) {
  Config c = config(topology, router, routing, {"uniform", {{"load", load}, {"packet_bytes_max", bytes_of(flits)}}});
  c.failures = failures;
  return c;
}
std::shared_ptr<const Network> broken(const Section& topology, const Values& failures) {
  return build(damaged(topology, {"minimal", {}}, failures));
}

bool joined(const Network& net, u32 a, u32 b) {
  bool found = false;
  each_link(net, *net.graphs[0], a, [&](u32 k) { found |= net.next_router(net.port(a, k)) == b; });
  return found;
}

TEST(failures_remove_the_named_parts) {
  const Section df = small_network();  // 36 routers, 72 terminals, 54 local and 36 global links
  CHECK_EQ(count_links(*broken(df, {})), 90u);
  const auto net = broken(df, {{"links", "0-1, 2-3"}});
  CHECK_EQ(count_links(*net), 88u);
  CHECK(!joined(*net, 0, 1) && !joined(*net, 3, 2) && joined(*net, 0, 2) && net->damaged);
  CHECK_EQ(count_links(*broken(df, {{"links", 0.1}})), 81u);
  CHECK_EQ(count_links(*broken(df, {{"links", 7}})), 83u);
  CHECK(!broken(df, {{"links", 0.0}})->damaged);
  // A link by its port, and the second of two parallel links.
  CHECK_EQ(count_links(*broken(df, {{"links", "0:2"}})), 89u);
  const Section box = hyperx_section({3, 3}, 1, {{"links", std::vector<double>{2, 1}}});  // 18 + 9 links
  CHECK_EQ(count_links(*broken(box, {{"links", "0-1#2"}})), 26u);
  CHECK_EQ(count_links(*broken(box, {{"links", "0-1"}})), 25u);
  // The seed of the failures determines which links fail.
  const auto drawn = [&](i64 seed) { return broken(df, {{"links", 0.1}, {"seed", seed}}); };
  CHECK_EQ(drawn(1)->channels.size(), drawn(2)->channels.size());
  const auto wiring = [](const Network& n) {
    std::vector<u32> peers;
    for (const Channel& c : n.channels) peers.push_back(c.peer);
    return peers;
  };
  CHECK(wiring(*drawn(1)) == wiring(*drawn(1)) && wiring(*drawn(1)) != wiring(*drawn(2)));
  // A failed router takes its links and terminals along. The other terminals are numbered without gaps and keep their
  // names.
  const auto less = broken(df, {{"routers", std::vector<double>{1}}, {"terminals", "0,71"}});
  CHECK_EQ(less->terminals, 68u);
  CHECK_EQ(count_links(*less), 85u);
  CHECK(less->terminal_name(0) == "1" && less->terminal_name(1) == "4" && less->terminal_name(67) == "70");
  CHECK_EQ(less->terminal_router[1], 2u);
  for (u32 t = 0; t < less->terminals; t++)
    CHECK_EQ(less->channels[less->nic(t)].peer, less->port(less->terminal_router[t], less->terminal_port[t]));
  CHECK(!broken(df, {{"terminals", "0"}})->damaged);  // no link is missing
}

TEST(failures_that_make_no_sense_are_refused) {
  const Section df = small_network();
  CHECK_THROWS(ConfigError, broken(df, {{"links", "0-99"}}), "failures.links", "0-99");
  CHECK_THROWS(ConfigError, broken(df, {{"links", 91}}), "failures.links", "91", "90");
  CHECK_THROWS(ConfigError, broken(df, {{"links", 0.001}}), "failures.links: 0.001 of 90");
  CHECK_THROWS(ConfigError, broken(df, {{"events", "0-1@500-400"}}), "failures.events", "before");
  // A disconnected network, now or later. The error names two terminals that cannot reach each other.
  CHECK_THROWS(ConfigError, broken(ring(6), {{"links", "0-1,3-4"}}), "terminal 0", "router 0", "terminal 2",
               "router 1");
  CHECK_THROWS(ConfigError, broken(ring(6), {{"links", "0-1"}, {"events", "3-4@1000"}}), "from 1000 ns");
  // Routings that rely on the undamaged topology.
  CHECK_THROWS(ConfigError, build(damaged(df, {"par", {}}, {{"links", "0-1"}})), "routing.par", "0-1", "minimal",
               "ugal", "q_adaptive", "agent", "policy");
  CHECK(build(damaged(df, {"par", {}}, {{"terminals", "0"}})) != nullptr);
}

// Routings that support failures avoid failed links, and every accepted packet is delivered.
TEST(routings_go_around_failed_links) {
  for (const Section& topology : {small_network(), hyperx_section({3, 3}, 2), ring(7)})
    for (const std::string routing :
         {"minimal", "valiant", "ugal", "q_routing", "q_adaptive", "random", "policy", "biased"}) {
      const Values failures = topology.name == "graph" ? Values{{"links", "2-3"}} : Values{{"links", 0.15}};
      Simulation sim(damaged(topology, {routing, {}}, failures, input_queued(), 0.2, 4));
      run_without_loss(sim, 1500, topology.name + " " + routing);
    }
}

// A link goes down under load and comes up again. Flits that have passed the switch still leave on it. Then no flit
// leaves until the link is up, and afterwards it is used as before.
TEST(nothing_is_lost_when_a_link_goes_down) {
  struct Router {
    const char* name;
    Values values;
    i64 flits;
  };
  const std::vector<Router> routers = {
      {"input_queued", input_queued(), 1},
      {"sc22", sc22(), 4},
      {"sc19", sc19(), 8},
      {"wormhole", small_wormhole(), 5},
      {"before_switch", merge(input_queued(), {{"vc_allocation", "before_switch"}, {"arbiter", "age"}}), 4}};
  u32 turn = 0;
  for (const Router& router : routers)
    for (const std::string routing : {"minimal", "ugal", "q_routing", "q_adaptive", "random", "table"}) {
      const Section topology = (turn / 6 + turn % 6) % 2 ? small_network() : hyperx_section({4, 3}, 2);
      turn++;
      if (router.name == std::string("wormhole") && routing == "table") continue;  // refused
      Values values = router.values;
      values.erase("vcs");
      const std::string name = topology.name + " " + router.name + " " + routing;
      Config c = damaged(topology, {routing, {}}, {{"events", "0.2@300-700"}}, values, 0.4, router.flits);
      Simulation sim(c), again(c);
      const Network& net = sim.network();
      CHECK_EQ(net.graphs.size(), 3u);
      const Graph& during = *net.graphs[1];
      const Cycle down = during.from, up = net.graphs[2]->from;
      const auto sent = [&](const Simulation& s) {
        u64 flits = 0;
        for (u32 p = 0; p < net.router_ports; p++)
          if (during.down[p]) flits += s.state().ports[p].flits;
        return flits;
      };
      const auto busy = [&](const Simulation& s) {  // flits have passed the switch, or a packet is part-way through it
        for (u32 p = 0; p < net.router_ports; p++)
          if (during.down[p])
            for (u32 vc = 0; vc < net.vcs; vc++) {
              const OutputVc& out = s.state().output_vcs[net.vc_id(p, vc)];
              if (out.count > 0 || s.state().owners[net.vc_id(p, vc)] != kNone) return true;
            }
        return false;
      };
      u64 before = 0, last = 0;
      std::string bytes;
      for (Cycle t = 0; t < up + 500; t++) {
        if (t == down) before = sent(sim);
        sim.run(1);
        if (t % 64 == 0 || (t >= down && t < down + 8)) sim.check_conservation();
        if (t == down + 5) bytes = sim.snapshot();
        if (t > down && t < up && !busy(sim)) {
          if (last == 0) last = sent(sim);
          CHECK_FOR(sent(sim) == last, name + ": a flit goes out on a link that is down");
        }
      }
      CHECK_FOR(before > 0 && last > 0, name + ": the links are unused before the failure, or busy until the repair");
      CHECK_FOR(sent(sim) > last + 10, name + ": the links are not used again");
      again.restore(bytes);
      again.run(up + 500 - again.state().part.totals.now);
      CHECK_FOR(again.hash() == sim.hash(), name + ": a run restored while links are down differs");
      CHECK_FOR(sim.drain(100000), name);
      CHECK_EQ(sim.state().part.totals.flits_accepted, sim.state().part.totals.flits_ejected);
    }
}

// Packets that wait for a failed link are routed again at once. Only the other direction of the ring is open, and the
// packets arrive while the link is down.
TEST(packets_that_wait_for_a_failed_link_are_routed_again) {
  Config c = config(ring(5), input_queued(), {"minimal", {}}, planned({{0, 2}, {1, 3}, {0, 3}, {1, 2}}, 30));
  c.router.values["link_latency_ns_local"] = 20.0;
  c.failures = {{"events", "0-1@25"}};  // in the middle of the 30 flits of the first packet
  Simulation sim(c);
  sim.begin_window();
  sim.run(2000);
  CHECK_EQ(sim.state().part.window.delivered, 4u);
  sim.check_conservation();
  // The first packet uses the link and the others take the other direction: 1 + 3 * 4 hops.
  CHECK_EQ(sim.state().part.window.hops, 13u);
}

}  // namespace failures_test
