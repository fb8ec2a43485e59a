// Memory of components. A routing of this file declares it, and State carries it like any other array. Also two learned
// tables in one network.
#include "simcore/graph.hpp"
#include "simcore/registry.hpp"
#include "support/seam.hpp"

namespace memory_test {

using namespace scenes;

// Memory of minimal routing whose VC class is the number of hops. One array for each kind of owner (Per).
struct Diary : ComponentData {
  Kept<u32> first;     // [pool] router
  Kept<u8> hops;       // [pool, 2, 3]
  Kept<u32> seen;      // [routers, 2] packets, and cycle of the last one
  Kept<float> load;    // [router_ports]
  Kept<double> share;  // [jobs]
  Kept<u16> wrong;     // new packets whose entries did not hold the fill value
};

MemoryShape shape(const std::string& name, Per per, double fill, double highest) {
  return {.name = name, .meaning = "of a test", .per = per, .fill = fill, .highest = highest};
}

RoutingFacts setup(const Params&, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto diary = std::make_shared<Diary>();
  MemoryShape first = shape("test_first", Per::kPacket, kNone, net.routers - 1),
              hops = shape("test_hops", Per::kPacket, 9, 9), seen = shape("test_seen", Per::kRouter, 0, kNone);
  first.or_none = true;
  hops.rows = 2, hops.columns = 3;
  seen.columns = 2;
  diary->first = declare<u32>(net, first);
  diary->hops = declare<u8>(net, hops);
  diary->seen = declare<u32>(net, seen);
  diary->load = declare<float>(net, shape("test_load", Per::kPort, 0.5, 1));
  diary->share = declare<double>(net, shape("test_share", Per::kJob, 1, 1e9));
  diary->wrong = declare<u16>(net, shape("test_wrong", Per::kNetwork, 0, 0));
  data = diary;
  need_distances(net);
  return {net.graphs[0]->diameter + 1, net.graphs[0]->diameter, false, true};
}

void route(const Network& net, State& s, Batch& b) {
  const auto& diary = static_cast<const Diary&>(*net.routing);
  u32 *const first = diary.first.of(s), *const seen = diary.seen.of(s);
  u8* const hops = diary.hops.of(s);
  for (u32 i = 0; i < b.count; i++) {
    const u32 id = b.packet[i], router = b.router[i];
    const Packet& p = s.packets[id];
    if (p.hops == 0) {
      *diary.wrong.of(s) += first[id] != kNone || hops[id * 6] != 9 || hops[id * 6 + 5] != 9;
      first[id] = router;
    }
    hops[id * 6] = hops[id * 6 + 5] = p.hops;
    seen[2 * router]++;
    seen[2 * router + 1] = s.part.totals.now;
    diary.share.of(s)[p.job]++;
    b.out_port[i] = static_cast<u16>(net.topology->minimal_port(net, *net.graphs[0], router, p));
    b.out_class[i] = p.hops;
    diary.load.of(s)[net.port(router, b.out_port[i])] = 0.25f;
  }
}

const Register<RoutingSpec> entry({"test_diary", "minimal, and it keeps a diary", {}, {}, setup, route});

Config diary(double load = 0.9) {
  return config(small_network(), input_queued(), {"test_diary", {}}, {"uniform", {{"load", load}}});
}

template <class T>
std::span<T> all_of(Simulation& sim, const std::string& name) {
  return {kept<T>(sim.network(), sim.state(), name),
          sim.state().memory[find_memory(sim.network(), name)].size() / sizeof(T)};
}

TEST(memory_begins_as_declared) {
  Simulation sim(diary());
  CHECK_EQ(all_of<u32>(sim, "test_first").size(), 0u);
  CHECK_EQ(all_of<u32>(sim, "test_seen").size(), 2 * sim.network().routers);
  CHECK_EQ(all_of<float>(sim, "test_load").size(), sim.network().router_ports);
  CHECK(std::ranges::all_of(all_of<float>(sim, "test_load"), [](float x) { return x == 0.5f; }));
  CHECK(all_of<double>(sim, "test_share").size() == 1 && all_of<double>(sim, "test_share")[0] == 1);
  Network net;
  declare<u32>(net, shape("twice", Per::kNetwork, 0, 1));
  CHECK_THROWS(CoreError, declare<u8>(net, shape("twice", Per::kRouter, 0, 1)), "twice");
}

// The memory grows with the pool of packets. A reused id has nothing of the packet before.
TEST(memory_grows_with_the_packets) {
  Simulation sim(diary(0.5));
  std::size_t before = 0, grown = 0;
  for (u32 k = 0; k < 60; k++) {
    sim.run(25);
    const State& s = sim.state();
    const auto first = all_of<u32>(sim, "test_first");
    CHECK_EQ(first.size(), s.packets.size());
    CHECK_EQ(all_of<u8>(sim, "test_hops").size(), 6 * s.packets.size());
    grown += first.size() > before;
    before = first.size();
    for (std::size_t id = 0; id < first.size(); id++)
      CHECK(first[id] == sim.network().terminal_router[s.packets[id].source] ||
            (first[id] == kNone && s.packets[id].hops == 0));
  }
  CHECK_FOR(grown > 2 && sim.state().part.totals.flits_ejected > 5 * before,  // ids were reused
            std::to_string(grown) + " " + std::to_string(sim.state().part.totals.flits_ejected) + " " +
                std::to_string(before));
  CHECK_EQ(all_of<u16>(sim, "test_wrong")[0], 0u);
  u64 routed = 0;
  for (u32 r = 0; r < sim.network().routers; r++) routed += all_of<u32>(sim, "test_seen")[2 * r];
  CHECK(static_cast<double>(routed) + 1 == all_of<double>(sim, "test_share")[0]);
}

TEST(memory_is_forked_hashed_and_saved) {
  Simulation sim(diary());
  sim.run(400);
  Simulation other(diary());
  other.restore(sim.snapshot());
  CHECK(std::ranges::equal(all_of<u32>(other, "test_seen"), all_of<u32>(sim, "test_seen")));
  // Every memory counts in the hash, and a fork has its own copy.
  for (const MemoryShape& m : sim.network().memories) {
    Simulation changed(sim);
    u8& byte = changed.state().memory[find_memory(sim.network(), m.name)][0];
    byte ^= 1;
    CHECK_FOR(changed.hash() != sim.hash(), m.name);
    byte ^= 1;
    CHECK_FOR(changed.hash() == sim.hash(), m.name);
  }
}

// ---- Two learned tables ----

namespace {

Config two_tables(const std::string& observation = "progress+q_values") {
  return seam_on_dragonfly({"biased", {{"observation", observation}}});
}

}  // namespace

// The user sets the biases, and neighbours report the Q values. Neither table affects the other.
TEST(two_tables_stand_side_by_side) {
  Simulation sim(two_tables()), alone(two_tables("progress"));
  const Network& net = sim.network();
  CHECK(net.memories.at(net.table).name == "biases" && net.memories.at(net.feedback.memory).name == "q_values" &&
        net.learns);
  sim.run(2000);
  alone.run(2000);
  const auto biases = all_of<float>(sim, "biases"), values = all_of<float>(sim, "q_values");
  CHECK(std::ranges::all_of(biases, [](float x) { return x == 0; }));
  CHECK(std::ranges::max(values) > 10);
  const auto sums = [](const Simulation& x) {
    const Totals& t = x.state().part.totals;
    return std::vector<u64>{t.moves, t.flits_accepted, t.flits_ejected, x.state().part.learning.decisions};
  };
  CHECK(sums(sim) == sums(alone));
  // Both tables are saved and restored, and biases that the user writes take effect.
  Simulation other(two_tables());
  other.restore(sim.snapshot());
  CHECK_EQ(other.hash(), sim.hash());
  std::ranges::fill(all_of<float>(other, "biases"), 1e6f);
  sim.run(500);
  other.run(500);
  CHECK(sums(sim) != sums(other) && other.hash() != sim.hash());
}

// A router of 75 links has more columns than a word has bits.
TEST(tables_of_many_columns) {
  Simulation sim(config(hyperx_section({16}, 1, {{"links", std::vector<double>{5}}}), input_queued(), {"q_routing", {}},
                        {"uniform", {{"load", 0.3}}}));
  const Network& net = sim.network();
  const LearnedTable t = learned_table(net);
  CHECK_EQ(t.columns, 75u);
  sim.expose_table(net.table);
  sim.run(200);
  for (const u32 column : {3u, 63u, 64u, 74u}) {
    float& value = t.row(sim.state(), 5, 7)[column];
    const float was = value;
    value = std::numeric_limits<float>::quiet_NaN();
    sim.expose_table(net.table);
    CHECK_THROWS(ConfigError, sim.run(1), "q_table[5, 7, " + std::to_string(column) + "]", "not finite");
    value = was;
    sim.run(1);
  }
}

}  // namespace memory_test
