// A simulation accepts its own snapshots, and refuses damaged ones and those that contradict themselves. A forged
// snapshot with a correct hash is refused, or runs without a sanitizer's report.
#include <cstring>

#include "simcore/workload.hpp"
#include "support/fuzz.hpp"
#include "support/seam.hpp"
#include "verify/verify.hpp"
#include "workload/readers/goal.hpp"

namespace snapshot_test {

using namespace scenes;

Config with_jobs(std::vector<JobSection> jobs, Values values, Section topology, const Values& router,
                 const std::string& routing = "minimal") {
  Config config = scenes::config(std::move(topology), router, {routing, {}}, {"", {}});
  config.workload = {std::move(values), std::move(jobs)};
  return config;
}
JobSection job(const std::string& motif, Values values) { return {motif, {motif, std::move(values)}, nullptr, {}}; }

// Eager and large messages, with and without tags, and computations that overlap.
const char* const kProgram = R"(num_ranks 3
rank 0 {
a: calc 300
b: send 300b to 1 tag 7
c: send 40000b to 2 tag 8
d: recv 20b from 2 tag 1
c requires a
d irequires b
}
rank 1 {
a: recv 300b from 0 tag 7
b: calc 1000
c: send 90000b to 2
c requires a
c irequires b
}
rank 2 {
a: recv 40000b from 0 tag 8
b: recv 90000b from 1
c: send 20b to 0 tag 1
c requires a
}
)";

std::vector<JobSection> two_jobs() {
  JobSection own{"own", {}, workload::read_goal(kProgram, "own"), {}};
  return {job("halo3d", {{"ranks", i64{4}}, {"iterations", i64{3}}}), std::move(own)};
}

Config in_parts(u32 partitions, Config config) {
  config.partitions = partitions;
  return config;
}

// Small networks, so that most changes affect something.
std::vector<Config> small_configs() {
  const Section df = dragonfly_section(1, 2, 1, 3), hx = hyperx_section({3, 2}, 2);
  const Values small =
      merge(hpdc21(), {{"input_buffer_flits", i64{8}}, {"output_buffer_flits", i64{8}}, {"nic_buffer_flits", i64{8}}});
  const Values aged =
      merge(sc19(), {{"input_buffer_flits", i64{12}}, {"output_buffer_flits", i64{12}}, {"vcs", i64{0}}});
  const auto traffic = [](const std::string& name, double load, i64 flits = 1, i64 most = 0) {
    return Section{name, {{"load", load}, {"packet_flits", flits}, {"packet_flits_max", most}}};
  };
  const Values recorded{{"record", i64{64}}};
  return {
      config(df, input_queued(), {"minimal", {}}, traffic("uniform", 0.9)),
      config(df, small, {"q_adaptive", {}}, traffic("adversarial", 0.9, 4)),
      config(df, small, {"q_routing", {}}, traffic("uniform", 0.9)),
      config(dragonfly_section(1, 2, 1, 3), small_wormhole(), {"ugal_group", {}}, traffic("uniform", 0.9, 5)),
      config(df, merge(small_wormhole(), {{"vc_allocation", std::string("before_switch")}}), {"par", {}},
             traffic("uniform", 0.9, 1, 5)),
      config(df, small, {"valiant_router", {}}, traffic("random_neighbors", 0.8, 2)),
      config(hx, aged, {"omni_war", {{"allocation", std::string("sequential")}}}, traffic("uniform", 0.9, 1, 8)),
      config(hx, aged, {"dal", {}}, traffic("uniform", 0.9, 1, 8)),
      config(hx, aged, {"clos_ad", {}}, traffic("uniform", 0.9, 1, 3)),
      config(hx, input_queued(), {"q_adaptive", {}}, traffic("many_to_many", 0.9)),
      config(df, small, {"agent", recorded}, traffic("uniform", 0.9)),
      config(hx, aged, {"agent", merge(recorded, {{"reward", std::string("end_to_end_delay")}})},
             traffic("uniform", 0.9, 1, 4)),
      config(df, small, {"policy", merge(recorded, {{"temperature", 0.5}, {"hidden", std::vector<double>{5}}})},
             traffic("uniform", 0.9)),
      config(df, small, {"biased", merge(recorded, {{"observation", std::string("progress+q_values")}})},
             traffic("uniform", 0.9)),
      with_jobs(two_jobs(), {{"blame", true}}, hyperx_section({3, 2}, 2), aged, "dim_war"),
      with_jobs(two_jobs(), {{"nic_order", std::string("packet")}, {"mpi_eager_bytes", i64{100}}},
                dragonfly_section(2, 2, 1, 3), small),
      with_jobs(two_jobs(), {{"host", std::string("loggops")}, {"loggops_S_bytes", i64{1000}}},
                dragonfly_section(2, 2, 1, 3), small),
      with_jobs(two_jobs(),
                {{"host", std::string("loggops")}, {"network", std::string("none")}, {"loggops_S_bytes", i64{1000}}},
                dragonfly_section(2, 2, 1, 3), small),
      config(df, packet_crossbar(small), {"q_adaptive", {}}, traffic("uniform", 0.9, 1, 4)),
      with_jobs(two_jobs(), {{"blame", true}}, dragonfly_section(2, 2, 1, 3), packet_crossbar(small)),
      in_parts(3, with_jobs(two_jobs(), {{"nic_order", std::string("packet")}, {"mpi_eager_bytes", i64{100}}},
                            dragonfly_section(2, 2, 1, 3), small)),
      with_jobs(two_jobs(),
                {{"ranks_per_node", i64{4}},
                 {"nics_per_node", i64{2}},
                 {"mpi_eager_bytes", i64{100}},
                 {"intra_node_gb_per_s", 1.0}},
                dragonfly_section(2, 2, 1, 3), small),
      in_parts(3, with_jobs(two_jobs(),
                            {{"host", std::string("loggops")},
                             {"loggops_S_bytes", i64{1000}},
                             {"ranks_per_node", i64{2}},
                             {"intra_node_gb_per_s", 1.0}},
                            dragonfly_section(2, 2, 1, 3), small)),
  };
}

// Runs `cycles` cycles, with random choices if an agent decides.
void play(Simulation& sim, u32 cycles) {
  const Network& net = sim.network();
  if (net.workload && !net.workload->host.network) {
    sim.run_workload(cycles);
  } else if (net.decider == Decider::kRouting) {
    sim.run(cycles);
  } else {
    for (u32 k = 0; k < cycles; k++) {
      std::vector<u32> choices(sim.collect());
      for (u32 j = 0; j < choices.size(); j++) choices[j] = any_slot(sim, sim.batch(), j);
      sim.apply(choices.data(), choices.size());
    }
  }
}

// Calls the functions that read a simulation.
void look_at(Simulation& sim) {
  statistics(sim.network(), sim.state());
  sim.waiting(16);
  sim.hash();
}

// Every array and every group of scalars of a state, as bytes. Each is changed equally often, regardless of its size.
struct Fields {
  struct Bytes {
    void* at;
    std::size_t size, item;
  };
  std::vector<Bytes> all;
  template <class T> void field(T& scalars) { all.push_back({&scalars, sizeof scalars, 8}); }
  template <class T, class A> void field(std::vector<T, A>& array) {
    if (!array.empty()) all.push_back({array.data(), array.size() * sizeof(T), sizeof(T)});
  }
  template <class T> void field(Wheel<T>& wheel) {
    field(wheel.first);
    field(wheel.last);
    field(wheel.chunks);
    field(wheel.free);
  }
  void field(Memories& memories) {
    for (AlignedBytes& bytes : memories)
      if (!bytes.empty()) all.push_back({bytes.data(), bytes.size(), 4});
  }
  void field(Partition& part) {
#define FLITGYM_FIELD(type, name) field(part.name);
    FLITGYM_PARTITION(FLITGYM_FIELD)
#undef FLITGYM_FIELD
  }
  void field(std::vector<Partition>& parts) {
    for (Partition& part : parts) field(part);
  }
  void field(std::vector<Hosts>& partitions) {
    for (Hosts& hosts : partitions) {
#define FLITGYM_FIELD(type, name) field(hosts.name);
      FLITGYM_HOSTS(FLITGYM_FIELD)
#undef FLITGYM_FIELD
    }
  }
  template <class T> void field(DelayLines<T>& lines) {
    for (auto& line : lines.lines) {
      for (u32* word : {&line.delay, &line.first, &line.end, &line.mask}) all.push_back({word, 4, 4});
      field(line.items);
      field(line.marks);
    }
  }
};

// Changes one to three numbers of a state: to the end of a range, to a small number, by one, in one bit, or to another
// number of the same array.
void disturb(State& s, u64 seed) {
  u64 counter = 0;
  const auto pick = [&](std::size_t n) {
    return static_cast<std::size_t>(below(draw(seed, 3, counter++), static_cast<u32>(n)));
  };
  Fields fields;
#define FLITGYM_FIELD(type, name) fields.field(s.name);
  FLITGYM_STATE(FLITGYM_FIELD)
#undef FLITGYM_FIELD
  for (std::size_t changes = 1 + pick(3); changes > 0; changes--) {
    const auto& bytes = fields.all[pick(fields.all.size())];
    const std::size_t width = std::min<std::size_t>(std::size_t{1} << pick(4), bytes.size);
    char* const at = static_cast<char*>(bytes.at) + pick(bytes.size / width) * width;
    u64 value = 0;
    std::memcpy(&value, at, width);
    static const u64 ends[] = {0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0xfffffffe, ~u64{0} >> 1, ~u64{0}};
    switch (pick(6)) {
      case 0: value = ends[pick(std::size(ends))]; break;
      case 1: value = pick(16); break;
      case 2: value++; break;
      case 3: value--; break;
      case 4: value ^= u64{1} << pick(8 * width); break;
      default: std::memcpy(&value, static_cast<char*>(bytes.at) + pick(bytes.size / width) * width, width);
    }
    std::memcpy(at, &value, width);
  }
}

// With a speedup of 2, credits wait at the inputs of BookSim2's router.
Config credits_that_wait(i64 speedup) {
  return config(hyperx_section({3, 3}, 2), booksim2(speedup, 4, {{"vcs", i64{2}}}), {"dimension_order", {}},
                {"uniform", {{"load", 0.8}, {"packet_flits", i64{4}}}});
}

// A simulation in another state restores snapshots of many instants and continues as the original does.
DEEP_TEST(own_snapshots_are_accepted) {
  std::vector<Config> all = small_configs();
  for (const std::string& routing : kRoutings)
    for (const Values& router : {input_queued(), hpdc21(), sc22()})
      all.push_back(
          config(small_network(), router, {routing, {}}, {"mixed", {{"load", 0.8}, {"packet_flits_max", i64{6}}}}));
  for (const std::string& routing : kHyperXRoutings) all.push_back(seam_on_hyperx({routing, {}}));
  for (const i64 speedup : {1, 2}) all.push_back(credits_that_wait(speedup));
  for (const Config& each : all) {
    Simulation sim(each), other(each);
    for (u32 k = 0; k < 12; k++) {
      if (k == 3) sim.begin_window();
      if (k == 10 && !sim.network().workload) sim.stop_sources();
      play(sim, 1 + 67 * k);
      const std::string bytes = sim.snapshot();
      other.restore(bytes);
      CHECK_EQ(other.hash(), sim.hash());
      play(other, 100);
    }
    other.restore(sim.snapshot());
    play(sim, 50);
    play(other, 50);
    CHECK_EQ(other.hash(), sim.hash());
  }
}

TEST(a_damaged_snapshot_is_refused) {
  const Config scene = small_configs()[1];
  Simulation sim(scene);
  sim.run(500);
  const std::string bytes = sim.snapshot();
  const u64 before = sim.hash();
  for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 400) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    CHECK_THROWS(ConfigError, sim.restore(damaged), "restore()", "snapshot");
    CHECK_EQ(sim.hash(), before);
  }
}

TEST(a_snapshot_that_contradicts_itself_is_refused) {
  const auto refused = [](const Config& scene, const std::function<void(State&)>& change, const std::string& part) {
    Simulation sim(scene), forged(scene);
    play(forged, 500);
    change(forged.state());
    const u64 before = sim.hash();
    CHECK_THROWS(ConfigError, sim.restore(forged.snapshot()), "inconsistent", part);
    CHECK_EQ(sim.hash(), before);
    play(sim, 10);
  };
  const Config plain = small_configs()[0], learned = small_configs()[1], agent = small_configs()[10],
               jobs = small_configs()[15], trains = small_configs()[18];
  refused(plain, [](State& s) { s.part.free_packets.push_back(0x10000000u); }, "free packets");
  refused(plain, [](State& s) { s.part.free_packets.insert(s.part.free_packets.end(), {0, 0}); }, "free packets");
  refused(plain, [](State& s) { s.input_vcs.pop_back(); }, "an array of");
  refused(plain, [](State& s) { s.part.totals.now = kEndOfTime + 1; }, "time");
  refused(plain, [](State& s) { s.part.flit_lines.lines[0].end++; }, "delay line");
  refused(
      plain,
      [](State& s) {
        for (const u32 chunk : s.part.sources_due.first)
          if (chunk != kNone) s.part.sources_due.chunks[chunk].next = chunk;
      },
      "timing wheel");
  refused(plain, [](State& s) { s.outputs_asked[0] ^= 1; }, "requests");
  refused(plain, [](State& s) { s.part.totals.packets_in_network++; }, "packets in the network");
  refused(plain, [](State& s) { s.terminals[0].step = 1; }, "load of a source");
  refused(learned, [](State& s) { s.ports[3].next_vc = 31; }, "round-robin positions of a port");
  const u32 resting = Simulation(trains).network().resting.memory;
  refused(trains, [=](State& s) { s.memory[resting].pop_back(); }, "resting");
  refused(
      trains, [=](State& s) { std::ranges::fill(s.memory[resting], u8{0x7f}); },
      "the routers whose crossbar ports are busy");
  const Config booksim = credits_that_wait(2);
  const u32 islip = Simulation(booksim).network().islip.memory;
  refused(booksim, [=](State& s) { s.memory[islip].pop_back(); }, "islip");
  refused(booksim, [=](State& s) { std::ranges::fill(s.memory[islip], u8{0x7f}); }, "islip");
  refused(agent, [](State& s) { s.open_decisions.emplace_back(); }, "open decisions");
  refused(agent, [](State& s) { s.part.learning.temperature = -1; }, "exploration");
  refused(jobs, [](State& s) { s.hosts.at(0).events.at(0).id = 1u << 30; }, "");
  refused(jobs, [](State& s) { s.hosts.at(0).totals.blocks_done++; }, "progress");
  const auto some_pair = [](State& s) -> Pair& {
    auto& pairs = s.hosts.at(0).pairs;
    return *std::ranges::find_if(pairs, [](const Pair& pair) { return pair.sender != kNone; });
  };
  refused(jobs, [&](State& s) { some_pair(s).sent++; }, "the order of transfers");
  refused(jobs, [&](State& s) { some_pair(s).receiver ^= 1; }, "the table of sending and receiving ranks");
}

// A table with invalid values is refused with the place of the value, in a snapshot and when a user writes it.
TEST(a_table_of_nonsense_is_refused) {
  for (const float nonsense : {std::numeric_limits<float>::quiet_NaN(), -1.0f, std::numeric_limits<float>::infinity()})
    for (const u32 index : {1u, 2u, 9u}) {
      const Config scene = small_configs()[index];
      Simulation sim(scene), forged(scene);
      const auto used = used_entries(sim.network(), sim.network().table);
      const auto table = [](Simulation& of) { return all_values(of.network(), of.state()); };
      u32 column = 0;
      while (!(used[0] >> column & 1)) column++;
      table(forged)[column] = nonsense;
      CHECK_THROWS(ConfigError, sim.restore(forged.snapshot()), "q_table[0, 0, " + std::to_string(column) + "]",
                   "finite");
      sim.expose_table(sim.network().table);
      table(sim)[column] = nonsense;
      const std::string message = CHECK_THROWS(ConfigError, sim.run(1), "q_table[0, 0, ");
      CHECK(message.find("valid are") != std::string::npos);
      table(sim)[column] = 5;
      sim.run(100);
    }
  // The entry belongs to a port without a channel.
  Simulation sim(config(dragonfly_section(2, 4, 2, 5, {{"links_per_group_pair", i64{1}}}), hpdc21(), {"q_routing", {}},
                        {"uniform", {{"load", 0.5}}}));
  sim.expose_table(sim.network().table);
  std::ranges::fill(all_values(sim.network(), sim.state()), 0.0f);
  CHECK_THROWS(ConfigError, sim.run(1), "q_table[", "must stay infinite");
}

DEEP_TEST(fuzz_snapshot_bytes) {
  std::vector<std::string> corpus;
  const std::vector<Config> all = small_configs();
  std::vector<std::unique_ptr<Simulation>> owners;
  for (const Config& each : all) {
    owners.push_back(std::make_unique<Simulation>(each));
    play(*owners.back(), 200);
    corpus.push_back(owners.back()->snapshot());
  }
  testing::fuzz(corpus, {}, 400, [&](const std::string& bytes) {
    for (std::size_t k = 0; k < owners.size(); k++) try {
        owners[k]->restore(bytes);
        CHECK(bytes == corpus[k]);
      } catch (const ConfigError&) {
      }
  });
}

DEEP_TEST(fuzz_snapshot_forged) {
  struct Target {
    std::unique_ptr<Simulation> victim;
    std::vector<std::unique_ptr<Simulation>> instants;
  };
  std::vector<Target> all;
  for (const Config& each : small_configs()) {
    Target w{std::make_unique<Simulation>(each), {}};
    Simulation sim(each);
    for (const u32 cycles : {90u, 400u, 1500u}) {
      if (cycles == 400) sim.begin_window();
      play(sim, cycles);
      w.instants.push_back(std::make_unique<Simulation>(sim));
    }
    all.push_back(std::move(w));
  }
  Simulation* victim = nullptr;
  const auto forge = [&](u64 seed) {
    Target& w = all[seed % all.size()];
    victim = w.victim.get();
    Simulation forged(*w.instants[seed / all.size() % w.instants.size()]);
    disturb(forged.state(), seed);
    forged.state().part.totals.collected = 0;
    return forged.snapshot();
  };
  testing::fuzz(forge, 1500, [&](const std::string& bytes) {
    victim->restore(bytes);
    play(*victim, 2000);
    look_at(*victim);
  });
}

}  // namespace snapshot_test
