// Congestion controls: closed forms of single flows, fair shares of a port, and conservation of acknowledgements.
#include "simcore/control.hpp"
#include "simcore/graph.hpp"
#include "simcore/stats.hpp"
#include "support/jobs.hpp"

namespace congestion_test {

using namespace scenes;

const std::vector<std::string> kControls = {"window", "dctcp", "swift", "receiver", "dcqcn", "slingshot", "agent"};

// The least part of a shared port that each uses. Marks cut windows and rates below the fair share for a while.
const std::map<std::string, double> kUse = {{"window", 0.99}, {"swift", 0.99}, {"receiver", 0.99}, {"agent", 0.99},
                                            {"dctcp", 0.9},   {"dcqcn", 0.9},  {"slingshot", 0.65}};

// Flows of packets of four flits to terminal 0, at the full rate of their links. Each router has its own link to the
// router of terminal 0, so that the arbiter of the port treats all sources alike.
constexpr i64 kFlits = 4;
Config flows(const std::string& control, const std::vector<double>& sources, const Values& values = {},
             const Values& router = sc22()) {
  Config c = config(hyperx_section({9}, 2), packet_crossbar(router), {"minimal", {}},
                    {"flows",
                     {{"load", 1.0},
                      {"injection", "fixed_interval"},
                      {"packet_bytes", bytes_of(kFlits)},
                      {"sources", sources},
                      {"destinations", std::vector<double>(sources.size(), 0.0)}}});
  c.congestion_control = {control, values};
  return c;
}

// Sources at the eight other routers.
std::vector<double> sources_of(u32 n) {
  std::vector<double> all;
  for (u32 k = 0; k < n; k++) all.push_back(2 + 2 * (k % 8) + k / 8);
  return all;
}

u64 delivered(const Simulation& sim, double source) {
  const auto t = static_cast<u32>(source);
  u32 waiting = 0;
  for (u32 k = 0; k < sim.network().control->flows; k++)
    waiting += sim.state().sender_flows[std::size_t{t} * sim.network().control->flows + k].in_flight;
  return u64{sim.state().terminals[t].sequence} * kFlits - waiting;
}

// Flits per flit time of each source, over `cycles`.
std::vector<double> rates(Simulation& sim, const std::vector<double>& sources, u32 cycles) {
  std::vector<double> all;
  for (const double t : sources) all.push_back(-static_cast<double>(delivered(sim, t)));
  sim.run(cycles);
  for (std::size_t k = 0; k < sources.size(); k++)
    all[k] = (all[k] + static_cast<double>(delivered(sim, sources[k]))) * sim.network().flit_cycles_host / cycles;
  return all;
}

double sum(const std::vector<double>& x) {
  double all = 0;
  for (const double one : x) all += one;
  return all;
}
// Jain, Chiu, Hawe, "A quantitative measure of fairness and discrimination", DEC TR-301, 1984.
double jain(const std::vector<double>& x) {
  double squares = 0;
  for (const double one : x) squares += one * one;
  return sum(x) * sum(x) / (static_cast<double>(x.size()) * squares);
}

Values awake() { return merge(sc22(), {{"output_wake_flits", 0}}); }  // a busy NIC needs no wake-up time

// A window of w flits gives w flits per round trip, and the link's rate from the bandwidth-delay product on. The round
// trip contains the flits of an acknowledgement that is a packet.
TEST(a_window_gives_its_flits_per_round_trip) {
  for (const i64 packets : {1, 5, 10})
    for (const i64 ack : {0, 1, 3}) {
      Simulation sim(
          flows("window", {8}, {{"window_bytes", bytes_of(packets * kFlits)}, {"ack_bytes", bytes_of(ack)}}, awake()));
      const Network& net = sim.network();
      const u32 trip = idle_cycles(net, *net.graphs[0], 8, 0) + idle_cycles(net, *net.graphs[0], 0, 8) +
                       (kFlits - 1 + (ack ? static_cast<u32>(ack) - 1 : 0)) * net.flit_cycles_host;
      sim.run(20 * trip);
      const u32 before = static_cast<u32>(delivered(sim, 8));
      sim.run(50 * trip);
      CHECK_EQ(delivered(sim, 8) - before, u64(50 * packets * kFlits));
    }
}

// A rate gives its part of the link, and n rates of a part 1 / n fill a port: a packet waits for at most one of each
// other flow. The packets of a flow have equal distances up to a cycle.
TEST(rates_give_their_part_of_the_link) {
  for (const auto& [n, rate] : {std::pair{1u, 1.0}, {1u, 0.7}, {1u, 0.03}, {8u, 1.0 / 8}, {16u, 1.0 / 16}}) {
    const auto sources = n == 1 ? std::vector<double>{8} : sources_of(n);
    Simulation sim(flows("agent", sources, {{"flow_rate", rate}}, awake()));
    const Network& net = sim.network();
    const u32 turn = static_cast<u32>(kFlits * net.flit_cycles_host / rate);
    sim.run(20 * turn + 4 * net.control->round_trip);
    u64 most = 0;
    std::vector<double> share(n);
    for (u32 k = 0; k < 100; k++) {
      const auto part = rates(sim, sources, 10 * turn);
      for (u32 i = 0; i < n; i++) share[i] += part[i] / 100;
      most = std::max(most, totals(sim.state()).flits_in_network);
    }
    for (const double own : share) CHECK_NEAR(own, rate, 0.0015 * rate);
    CHECK_FOR(static_cast<float>(most) <= rate * n * net.control->product + n * kFlits, std::to_string(most));
  }
  CHECK_THROWS(ConfigError, build(flows("agent", {8}, {{"flow_rate", 0.5}, {"window_bytes", 4096}})), "window_bytes");
  CHECK_THROWS(ConfigError, build(flows("agent", {8}, {{"flow_rate", 1e-9}})), "a thousandth");
}

// On an idle way back, acknowledgements of one flit change no statistic but the flits on channels: a flit per packet.
TEST(acknowledgements_are_no_delivered_traffic) {
  std::map<std::string, double> free, packets;
  for (const i64 ack : {0, 1}) {
    Simulation sim(flows("swift", {8}, {{"ack_bytes", bytes_of(ack)}}, awake()));
    const Network& net = sim.network();
    sim.run(4 * net.control->round_trip);
    sim.begin_window();
    sim.run(10'000 * kFlits * net.flit_cycles_host);
    (ack ? packets : free) = statistics(net, sim.state());
    CHECK_EQ(sim.state().ports[net.nic(0)].flits, u64(ack) * 10'000);
    CHECK_EQ(sim.state().ports[net.nic(8)].flits, u64{10'000 * kFlits});
  }
  CHECK_EQ(packets.at("flit_hops") - free.at("flit_hops"), 10'000.0 * 2);
  packets["flit_hops"] = free["flit_hops"];
  CHECK(packets == free);
  CHECK_THROWS(ConfigError, build(flows("swift", {8}, {{"ack_bytes", bytes_of(kFlits + 1)}})), "ack_bytes: 640",
               "512 bytes");
}

// Acknowledgements wait behind the data of their NIC, so Swift measures a longer round trip.
TEST(acknowledgements_queue_behind_data) {
  std::vector<double> trips;
  for (const i64 ack : {0, 1}) {
    Config c = flows("swift", {8, 0}, {{"ack_bytes", bytes_of(ack)}}, awake());
    c.traffic.values["destinations"] = std::vector<double>{0, 8};
    Simulation sim(c);
    double sum = 0;
    sim.run(20 * sim.network().control->round_trip);
    for (u32 k = 0; k < 100; k++) {
      sim.run(sim.network().control->round_trip / 3);
      sum += static_cast<double>(sim.state().sender_flows[std::size_t{8} * sim.network().control->flows].target) / 100;
    }
    trips.push_back(sum);
  }
  CHECK_FOR(trips[1] > trips[0] + 10, std::to_string(trips[0]) + " " + std::to_string(trips[1]));
}

TEST(a_single_flow_reaches_the_rate_of_its_link) {
  for (const std::string& control : kControls)
    for (const Values& router : {sc22(), hpdc21(), input_queued()}) {
      Simulation sim(flows(control, {8}, {}, router));
      sim.run(10 * sim.network().control->round_trip);
      const double rate = rates(sim, {8}, 20 * sim.network().control->round_trip)[0];
      CHECK_FOR(rate > 0.98 && rate < 1.02, control + ": " + std::to_string(rate));
    }
}

// Links so long that each of 16 flows has more than two packets on the way.
Values long_links() { return merge(sc22(), {{"link_latency_ns_local", 300.0}, {"input_buffer_flits", 240}}); }

// The flits in the network are those on the way, at most a bandwidth-delay product, and those in queues.
TEST(flows_into_one_port_share_it) {
  for (const std::string& control : kControls)
    for (const auto& [n, ack] : {std::pair{2u, i64{0}}, {8u, i64{0}}, {16u, i64{0}}, {8u, bytes_of(1)}}) {
      const auto sources = sources_of(n);
      Simulation sim(flows(control, sources, {{"ack_bytes", ack}}, long_links()));
      const Control& c = *sim.network().control;
      // A rate of 1 is cut by half, and recovers in 500 increases, one in two round trips (Zhu et al., SIGCOMM 2015).
      sim.run((control == "dcqcn" ? 1000 : 100) * c.round_trip);
      u64 most = 0;
      std::vector<double> share(n);
      for (u32 k = 0; k < 60; k++) {
        const auto part = rates(sim, sources, c.round_trip);
        for (u32 i = 0; i < n; i++) share[i] += part[i] / 60;
        most = std::max(most, totals(sim.state()).flits_in_network);
      }
      const std::string text = control + ", " + std::to_string(n) + ": Jain " + std::to_string(jain(share)) + ", sum " +
                               std::to_string(sum(share)) + ", flits " + std::to_string(most) + " of product " +
                               std::to_string(c.product);
      // With 16 flows, windows of DCTCP have two or three packets, and whole packets round them unequally.
      CHECK_FOR(jain(share) > (control == "dctcp" && n == 16 ? 0.8 : 0.95) && sum(share) > kUse.at(control), text);
      if (control == "window" || control == "agent")
        CHECK_FOR(static_cast<float>(most) <= static_cast<float>(n) * c.product, text);
      else CHECK_FOR(static_cast<float>(most) < 2 * c.product, text);
    }
}

// A second flow joins and leaves. A source whose NIC is held loses its packets, so nothing is left after it leaves.
TEST(shares_converge_after_a_join_and_a_leave) {
  for (const std::string& control : kControls) {
    Config c = flows(control, {8}, {}, merge(sc22(), {{"source_backlog", "lost"}}));
    c.traffic = {"phases",
                 {{"load", 1.0},
                  {"injection", "fixed_interval"},
                  {"packet_bytes", bytes_of(kFlits)},
                  {"repeat", false},
                  {"phases",
                   "flows sources=[8] destinations=[0] duration_ns=100000; flows sources=[8,16] destinations=[0,0] "
                   "duration_ns=400000; flows sources=[8] destinations=[0] duration_ns=1000000"}}};
    Simulation sim(c);
    const auto ns = [&](double x) { return static_cast<u32>(x / sim.network().cycle_ns); };
    sim.run(ns(50000));
    CHECK_FOR(rates(sim, {8}, ns(40000))[0] > 0.95, control);
    sim.run(ns(210000));  // 200 us after the join
    const auto both = rates(sim, {8, 16}, ns(150000));
    const std::string text = control + ": " + std::to_string(both[0]) + ", " + std::to_string(both[1]);
    CHECK_FOR(jain(both) > 0.95 && sum(both) > kUse.at(control), text);
    sim.run(ns(250000));  // 200 us after the leave
    CHECK_FOR(rates(sim, {8}, ns(100000))[0] > 0.95, control);
  }
}

// Every packet is acknowledged once, and a snapshot in between changes nothing.
TEST(acknowledgements_are_conserved) {
  for (const std::string& control : kControls)
    for (const auto& [routing, ack] : {std::pair{"par", 0}, {"valiant_router", 0}, {"valiant_router", 30}}) {
      Config c = config(small_network(), hpdc21(), {routing, {}}, {"hotspot", {{"load", 0.6}, {"hot_terminals", 2}}});
      c.congestion_control = {control, {{"flows", 20}, {"ack_bytes", i64{ack}}}};
      Simulation sim(c), other(c);
      for (u32 k = 0; k < 40; k++) {
        sim.run(100);
        sim.check_conservation();
      }
      other.restore(sim.snapshot());
      for (Simulation* one : {&sim, &other}) {
        one->begin_window();
        one->run(4000);
        CHECK_FOR(one->drain(400000), control);
        one->run(2 * sim.network().longest_delay + sim.network().control->longest_return);
        for (const SenderFlow& flow : one->state().sender_flows) CHECK_EQ(flow.in_flight, 0u);
        CHECK(statistics(one->network(), one->state()).at("packets_delivered") > 1000);
      }
      CHECK_FOR(sim.hash() == other.hash(), control);
    }
}

// Jobs end, also those whose NICs hold transfers to several destinations, or whose acknowledgements are packets of the
// highest class.
TEST(jobs_end_under_every_control) {
  for (const std::string& control : kControls)
    for (const std::string order : {"message", "packet"}) {
      Config c = with_jobs(
          {motif("ur", {{"ranks", 40}, {"scale", 0.002}}), motif("halo3d", {{"ranks", 27}, {"scale", 0.002}})},
          {{"nic_order", order}}, small_network(), "par");
      c.congestion_control = {control, {}};
      if (control == "dctcp") {
        c.congestion_control.values["ack_bytes"] = i64{30};
        c.workload.classes = {{"ur", "high"}};
      }
      Simulation sim(c);
      finish(sim);
      sim.check_conservation();
      for (const JobTotals& job : job_sums(sim.state())) {
        CHECK_EQ(job.messages_sent, job.messages_received);
        CHECK_EQ(job.bytes_sent, job.bytes_received);
      }
    }
}

TEST(impossible_controls_are_refused) {
  CHECK_THROWS(ConfigError, build(flows("dctpc", {8})), "congestion_control", "did you mean 'dctcp'");
  CHECK_THROWS(ConfigError, build(flows("swift", {8}, {{"mark_bytes", 512}})), "congestion_control.swift.mark_bytes");
  CHECK_THROWS(ConfigError, build(flows("window", {8}, {{"window_bytes", 500}})), "window_bytes: 500", "512 bytes");
  CHECK_THROWS(ConfigError, build(flows("dctcp", {8}, {{"mark_bytes", 1 << 29}})), "mark_bytes", "longest queue");
  Config hosts = with_jobs({motif("ur", {{"ranks", 10}, {"scale", 0.01}})}, {{"host", "loggops"}, {"network", "none"}});
  hosts.congestion_control = {"window", {}};
  CHECK_THROWS(ConfigError, build(hosts), "congestion_control", "workload.network=none");
}

}  // namespace congestion_test
