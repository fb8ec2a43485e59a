// Networks from arrays and files: their ports, names and link latencies, routers of different and of many ports,
// zero-load latency to the cycle, and refusals.
#include "support/crafted.hpp"
#include "support/fabrics.hpp"
#include "support/links.hpp"

namespace topology_graph_test {

using namespace scenes;
using fabrics::File;

Section from_file(const File& file, const Values& more = {}) {
  return {"graph", merge({{"file", file.path.string()}}, more)};
}
Section from_links(const std::vector<double>& links, const Values& more) {
  return {"graph", merge({{"links", links}}, more)};
}
std::shared_ptr<const Network> network(const Section& topology, const Section& routing = {"minimal", {}},
                                       const Values& router = input_queued()) {
  return build(config(topology, router, routing, {"uniform", {}}));
}

TEST(graphs_keep_names_ports_and_times) {
  const File file(
      "a,b,a_type,b_type,a_port,b_port,latency_ns,bandwidth_gb_per_s,kind\n"
      "left,right,switch,switch,5,0,70,64,global\n"
      "right,far,,,2,,,,\n"
      "h1,left,host,,,0,,,\n"
      "h2,right,host,,,1,3,,\n"  // its port lies between two links
      "h3,far,host,,,,,,\n",
      ".csv");
  const auto net = network(from_file(file));
  CHECK(net->routers == 3 && net->terminals == 3);
  CHECK(net->router_name(0) == "left" && net->router_name(2) == "far" && net->terminal_name(1) == "h2");
  CHECK(net->terminal_router == (std::vector<u32>{0, 1, 2}) && net->terminal_port == (std::vector<u32>{0, 1, 1}));
  CHECK(net->first_link == (std::vector<u16>{5, 0, 0}));
  CHECK_EQ(net->link_span, 3u);
  const u32 out = net->port(0, 5);
  CHECK_EQ(net->channels[out].peer, net->port(1, 0));
  CHECK(net->channels[out].kind == PortKind::kGlobal);
  CHECK_EQ(net->link_ns(out), 70);
  CHECK_EQ(net->hop_cycles(out), 71u);           // output latency 1 ns and the link
  CHECK_EQ(net->channels[out].flit_cycles, 2u);  // 128 bytes at 64 GB/s
  CHECK_EQ(net->link_ns(net->port(1, 2)), 10);   // the default of a local link
  CHECK_EQ(net->link_ns(net->nic(1)), 3);
  // A hop is output, link and input. The two host channels together take 2 link + 1. On an idle network switching takes
  // no time.
  const auto ns = [&](u32 from, u32 to, i64 flits = 1) {
    return lone_packet(from_file(file), {"minimal", {}}, from, to, flits, input_queued()).ns;
  };
  const double host[] = {1, 3, 1};
  CHECK_EQ(ns(0, 1), 71 + (2 * host[0] + 1 + 2 * host[1] + 1) / 2);
  CHECK_EQ(ns(0, 2), 71 + 11 + 3);
  CHECK_EQ(ns(2, 0), 71 + 11 + 3);
  // A packet of ten flits takes two cycles per flit on the slow link.
  CHECK_EQ(ns(0, 2, 10), 71 + 11 + 3 + 9 * 2);
}

TEST(graphs_take_all_shortest_ports) {
  // A square with doubled links on one side: three minimal ports from 0 to 2.
  const Section square = from_links({0, 1, 0, 1, 1, 2, 1, 2, 0, 3, 3, 2}, {{"terminals_per_router", 1}});
  for (const std::string pick : {"packet", "flow", "queue"}) {
    Lone x(network(square, {"minimal", {{"ports", pick}}}));
    std::set<u32> first;
    for (u32 sequence = 0; sequence < 12; sequence++)
      CHECK_EQ(x.walk(0, 2, sequence,
                      [&](u32 router, const Step& step) {
                        if (router == 0) first.insert(step.port);
                      }),
               2u);
    CHECK_EQ(first.size(), pick == "flow" ? 1u : 3u);
    CHECK_EQ(x.candidates(x.send(0, 2)).size(), 3u);
  }
  // The port with the shortest queue.
  Lone x(network(square, {"minimal", {{"ports", "queue"}}}));
  for (const u32 k : {0u, 1u}) congest(x, 0, k, 0, 0, 9);
  for (u32 sequence = 0; sequence < 6; sequence++) CHECK_EQ(x.ask(x.send(0, 2, sequence)).port, 2u);
}

// A switch of 300 ports in the middle has more ports than a word has bits, and is as fast as a small one.
DEEP_TEST(routers_of_many_ports_switch_like_small_ones) {
  std::vector<double> links, terminals;
  for (u32 r = 1; r <= 150; r++) links.insert(links.end(), {0, double(r)}), terminals.push_back(r);
  for (u32 t = 0; t < 150; t++) terminals.push_back(0);
  for (const Values& router : {input_queued(), hpdc21(), small_wormhole(), merge(input_queued(), {{"arbiter", "age"}}),
                               merge(sc19(), {{"vcs", 0}})}) {
    const Section star = from_links(links, {{"terminals", terminals}});
    Simulation sim(
        config(star, router, {"minimal", {}}, {"permutation", {{"load", 0.9}, {"packet_bytes", bytes_of(2)}}}));
    CHECK_EQ(sim.network().radix, 300u);
    CHECK_EQ(sim.network().asked_words, 5u);
    sim.begin_window();
    for (u32 k = 0; k < 8; k++) {
      sim.run(25);
      sim.check_conservation();
    }
    CHECK(sim.drain(100000));
    CHECK_EQ(totals(sim.state()).flits_accepted, totals(sim.state()).flits_ejected);
    CHECK(window_sums(sim.state()).delivered > 100);
    Simulation copy(sim);
    CHECK_EQ(copy.hash(), sim.hash());
  }
  // A permutation through the middle has no contention, so every terminal of the star sends in every cycle.
  Simulation sim(config(from_links(links, {{"terminals", terminals}}), input_queued(), {"minimal", {}},
                        {"permutation", {{"load", 1.0}}}));
  sim.run(500);
  sim.begin_window();
  sim.run(1000);
  sim.end_window();
  CHECK(statistics(sim.network(), sim.state()).at("accepted_load") > 0.98);
}

TEST(graphs_may_have_one_router) {
  const auto net = network({"graph", {{"terminals", std::vector<double>{0, 0, 0}}}});
  CHECK(net->routers == 1 && net->terminals == 3);
}

}  // namespace topology_graph_test
