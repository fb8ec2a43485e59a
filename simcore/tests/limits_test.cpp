// Limits of time and memory. Long work can be interrupted, cheap checks come first, and a network that needs too much
// memory is refused before it is allocated.
#include "simcore/limits.hpp"

#include <chrono>
#include <ctime>

#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "test.hpp"
#include "workload/program_totals.hpp"
#include "workload/readers/array_program.hpp"
#include "workload/readers/goal.hpp"

using namespace scenes;

namespace {

using Clock = std::chrono::steady_clock;

// CPU time of this process, so that other work of the machine does not count.
double seconds_of(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};

// Throws `ms` milliseconds after this call.
KeepGoing until(int ms) {
  return [end = Clock::now() + std::chrono::milliseconds(ms)] {
    if (Clock::now() >= end) throw Stopped();
  };
}

// Checks that `work` takes long, and that it ends soon after it is stopped.
void stops(const std::string& what, const std::function<void(const KeepGoing&)>& work) {
  const KeepGoing stop = until(300);
  bool stopped = false;
  const double seconds = seconds_of([&] {
    try {
      work(stop);
    } catch (const Stopped&) {
      stopped = true;
    }
  });
  CHECK_FOR(stopped, what);
  CHECK_FOR(seconds < 8,
            what + " took " + std::to_string(seconds) + " s to stop");  // seconds allow for sanitizers
}

Config small(Section topology, Section routing) {
  return config(std::move(topology), input_queued(), std::move(routing), {"uniform", {}});
}

Config jobs(std::vector<JobSection> list, Values values = {}, Section topology = small_network()) {
  Config c = config(std::move(topology), sc22(), {"minimal", {}}, {"", {}});
  c.workload = {std::move(values), std::move(list)};
  return c;
}

const Values kLogGops{{"host", std::string("loggops")}, {"network", std::string("none")}};

std::shared_ptr<const Program> motif(const std::string& name, Values values) {
  return motif_program({name, std::move(values)}, "motif", 0);
}

std::shared_ptr<const Program> repeated_calc(i64 repeats, i64 ns) {
  const std::vector<i64> zero{0}, size{ns}, times{repeats};
  workload::ProgramArrays arrays;
  arrays.ranks = 1;
  for (auto* column : {&arrays.op_rank, &arrays.op_block, &arrays.op_kind, &arrays.op_peer, &arrays.op_tag,
                       &arrays.op_cpu, &arrays.repeat_rank, &arrays.repeat_block})
    *column = zero;
  arrays.op_size = size;
  arrays.repeat_count = times;
  return workload::looped_program(arrays);
}

}  // namespace

TEST(builds_can_be_interrupted) {
  const auto building = [](Config c) { return [c](const KeepGoing& stop) { Simulation sim(c, stop); }; };
  stops("wiring", building(small(dragonfly_section(1, 32, 32, 1025), {"minimal", {}})));
  stops("times between routers", building(small(hyperx_section({16, 16, 8}, 1), {"agent", {}})));
  stops("tables", building(small(hyperx_section({16, 16, 8}, 1), {"q_routing", {}})));
  stops("programs",
        building(
            jobs({{"a", {"collective", {{"collective", std::string("alltoall")}, {"ranks", i64{8192}}}}, nullptr, {}}},
                 {}, dragonfly_section(16, 16, 16, 33))));
}

TEST(reading_and_checking_can_be_interrupted) {
  const auto scoped = [](const std::function<void()>& work) {
    return [work](const KeepGoing& stop) {
      const LimitScope scope(stop);
      work();
    };
  };
  const auto alltoall = motif("collective", {{"collective", std::string("alltoall")}, {"ranks", i64{1 << 20}}});
  stops("totals", scoped([&] { workload::totals(*alltoall); }));
  const auto many = motif("ur", {{"iterations", i64{1} << 30}, {"ranks", i64{64}}});
  stops("check", scoped([&] { workload::check_program(*many, "program"); }));
  stops("to_goal", scoped([&] { workload::write_goal(*many); }));
  const auto stencil = motif("stencil27", {{"ranks", i64{1 << 24}}});
  stops("stencil27", scoped([&] { workload::totals(*stencil); }));
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (u32 k = 0; k < 3000000; k++) text += "calc 1\n";
  const KeepGoing at_once = [] { throw Stopped(); };
  const LimitScope scope(at_once);
  CHECK_THROWS(Stopped, workload::read_goal(text + "}\n", "g"));
}

TEST(host_operations_that_take_no_time_can_be_interrupted) {
  for (const Values& values : {Values{}, kLogGops}) {
    Simulation sim(jobs({{"a", {}, repeated_calc(i64{0xffffffff}, 0), {}}}, values));
    stops("calc 0", [&](const KeepGoing& stop) { sim.run_workload(1000, stop); });
    const u64 done = host_totals(sim.state()).blocks_done;
    CHECK(done > 0);
    stops("and on", [&](const KeepGoing& stop) { sim.run_workload(1000, stop); });  // continues from there
    CHECK(host_totals(sim.state()).blocks_done > done);
  }
}

TEST(interrupted_runs_end_in_the_same_bits) {
  // Interrupts both among the host events of a cycle and between cycles.
  const auto both = jobs({{"a", {}, repeated_calc(500000, 0), {}},
                          {"b", {"ur", {{"ranks", i64{40}}, {"iterations", i64{20}}}}, nullptr, {}}});
  constexpr u32 kCycles = 40000;
  Simulation whole(both), parts(both);
  whole.run(kCycles);
  CHECK(whole.workload_finished());
  u32 interrupted = 0;
  while (parts.state().part.totals.now < kCycles) {
    const auto began = Clock::now();
    try {
      parts.run(kCycles - parts.state().part.totals.now, [&] {
        if (Clock::now() - began > std::chrono::milliseconds(5)) throw Stopped();
      });
    } catch (const Stopped&) {
      interrupted++;
      parts.check_conservation();
    }
  }
  CHECK(interrupted > 0);
  CHECK_EQ(parts.hash(), whole.hash());
}

TEST(interrupted_decisions_are_made_again) {
  // The policy is so wide that its decisions are interrupted, too.
  Config c = config(small_network(), input_queued(),
                    {"policy", {{"hidden", std::vector<double>{256, 256}}, {"record", i64{256}}}},
                    {"uniform", {{"load", 0.2}}});
  Simulation whole(c), parts(c);
  for (Simulation* sim : {&whole, &parts})
    for (std::size_t k = 0; k < sim->state().weights.size(); k++)
      sim->state().weights[k] = static_cast<float>((k * 2654435761u >> 8) % 1000) * 1e-4f - 0.05f;
  whole.run(12);
  u32 in_decisions = 0;
  while (parts.state().part.totals.now < 12) {
    try {
      parts.run(12 - parts.state().part.totals.now, [&] {
        if (in_decisions < 5 && parts.state().part.totals.collected) throw Stopped();
      });
    } catch (const Stopped&) {
      in_decisions++;
    }
  }
  CHECK(in_decisions > 0);
  CHECK_EQ(parts.hash(), whole.hash());
}

TEST(ports_are_counted_before_they_are_wired) {
  const double seconds = seconds_of([] {
    CHECK_THROWS(ConfigError, build(small(dragonfly_section(2, 64, 64, 4097), {"minimal", {}})), "262208 routers",
                 "129 ports");
    CHECK_THROWS(
        ConfigError,
        build(small(hyperx_section({64, 64}, 8, {{"links", std::vector<double>{5}}}), {"dimension_order", {}})),
        "638 ports", "512");
  });
  CHECK(seconds < 2);
}

TEST(memory_is_counted_before_it_is_taken) {
  const auto refused = [](Config c, double gb, const std::vector<std::string>& parts) {
    c.max_memory_gb = gb;
    testing::thrown<ConfigError>(__FILE__, __LINE__, "build", [&] { build(c); }, parts);
  };
  const std::string most = "max_memory_gb allows 2 GB";
  refused(small(dragonfly_section(1, 32, 32, 1025), {"agent", {{"observation", std::string("queues+path")}}}), 2,
          {"topology.dragonfly", "the times between any two of 32800 routers", "4.3", most});
  refused(small(hyperx_section(std::vector<double>(16, 2), 1), {"agent", {}}), 2,
          {"routing.agent", "65536 rows each", "275 GB", most});
  refused(small(hyperx_section(std::vector<double>(16, 2), 1), {"q_routing", {}}), 2,
          {"routing.q_routing", "65536 routers", most});
  refused(small(hyperx_section(std::vector<double>(20, 2), 1), {"dimension_order", {}}), 2,
          {"topology.hyperx", "1048576 routers", most});
  refused(small(small_network(), {"agent", {{"record", i64{1} << 24}}}), 2,
          {"routing.agent.record", "16777216 transitions", most});
  refused(small(small_network(), {"policy", {{"hidden", std::vector<double>(16, 4096)}}}), 0.5,
          {"routing.policy", "weights", "allows 0.5 GB"});
  refused(small(small_network(), {"minimal", {}}), 1e-4, {"max_memory_gb allows 0.0001 GB"});
  refused(small(small_network(), {"minimal", {}}), -1, {"max_memory_gb", "-1"});

  const u64 free = available_memory();
  CHECK(free > 100 << 20 && free < u64{1} << 60);
  const KeepGoing on;
  const LimitScope scope(on);
  CHECK_THROWS(ConfigError, claim_memory(free + (u64{1} << 34), "routing.x", "tables"), "routing.x: tables take",
               "GB free");
}

TEST(memory_estimates_fit_states) {
  const auto fits = [](const Config& c) {
    const auto net = build(c);
    Simulation sim(net);
    const u64 held = state_bytes(sim.state()) + net->channels.size() * sizeof(Channel);
    CHECK_FOR(net->memory_bytes >= held * 0.9, std::to_string(net->memory_bytes) + " for " + std::to_string(held));
  };
  fits(small(network_1056(), {"minimal", {}}));
  fits(config(network_1056(), sc22(), {"q_adaptive", {}}, {"uniform", {}}));
  fits(small(network_1056(), {"agent", {{"record", i64{100000}}}}));
}

TEST(host_chains_of_any_length) {
  constexpr u32 n = 300000;
  std::string text = "num_ranks 1\nrank 0 {\nc0: calc 0\n";
  for (u32 k = 1; k < n; k++)
    text += "c" + std::to_string(k) + ": calc 0\nc" + std::to_string(k) + " irequires c" + std::to_string(k - 1) + "\n";
  const auto chain = workload::read_goal(text + "}\n", "chain");
  for (const Values& values : {Values{}, kLogGops}) {
    Simulation sim(jobs({{"a", {}, chain, {}}}, values));
    CHECK(sim.run_workload(10));
    CHECK_EQ(sim.state().ranks[0].finished, 0u);
  }
}

// Operations that wait for the same processor run one after the other, however many they are.
TEST(loggops_many_calcs_at_once) {
  constexpr u32 n = 200000;
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (u32 k = 0; k < n; k++) text += "calc " + std::to_string(1 + k % 7) + "\n";
  u64 sum = 0;
  for (u32 k = 0; k < n; k++) sum += 1 + k % 7;
  Simulation sim(jobs({{"a", {}, workload::read_goal(text + "}\n", "many"), {}}}, kLogGops));
  const double seconds = seconds_of([&] { CHECK(sim.run_workload(10000000)); });
  CHECK_EQ(sim.state().ranks[0].finished, sum * 1000);
  CHECK_EQ(sim.state().hosts[0].free_waiting.size(), sim.state().hosts[0].waiting.size());
  CHECK(seconds < 20);
}

TEST(empty_iterations_are_passed_over) {
  const auto alone = JobSection{"a", {"halo3d", {{"ranks", i64{1}}, {"iterations", i64{1} << 30}}}, nullptr, {}};
  Simulation sim(jobs({alone}));
  CHECK(sim.run_workload(1000));
  CHECK_EQ(host_totals(sim.state()).blocks_done, u64{1} << 30);
}

TEST(scaled_iterations_do_not_wrap_around) {
  const Values many{{"ranks", i64{2}}, {"iterations", i64{1} << 20}, {"scale", 4096.0}};
  CHECK_EQ(motif("ur", many)->blocks(0), u64{1} << 32);
  CHECK_EQ(motif("halo3d", many)->blocks(0), u64{1} << 32);
  CHECK_EQ(workload::totals(*motif("halo3d", many)).messages, u64{2} << 32);
  const Values most{{"ranks", i64{2}}, {"iterations", i64{1} << 30}, {"scale", 1e6}, {"bytes", i64{1} << 40}};
  CHECK_EQ(workload::totals(*motif("halo3d", most)).bytes, ~u64{0});
}

TEST(jobs_are_counted_before_their_programs_are_read) {
  for (const char* name : {"stencil27", "collective"}) {
    const double seconds = seconds_of([&] {
      CHECK_THROWS(ConfigError, build(jobs({{"a", {name, {{"ranks", i64{1} << 24}}}, nullptr, {}}})), "16777216 ranks",
                   "72 terminals");
    });
    CHECK_FOR(seconds < 5, name);
  }
}

TEST(spelling_suggestions_take_little_time) {
  const std::string letters(40000, 'a');
  const double seconds = seconds_of([&] {
    CHECK_EQ(did_you_mean(letters, {letters + "b", "x"}), "");
    CHECK_EQ(did_you_mean("calx", std::vector<std::string>(100000, std::string(190, 'x'))), "");
    CHECK_THROWS(
        ConfigError,
        workload::read_goal(
            "num_ranks 1\nrank 0 {\n" + letters + "b: calc 1\n" + letters + "c requires " + letters + "b\n}\n", "g"),
        "unknown label", "aaa...'");
  });
  CHECK(seconds < 10);
  CHECK_EQ(did_you_mean("topolgoy", {"router", "topology"}), " (did you mean 'topology'?)");
  CHECK_EQ(did_you_mean("uniforn", {"unicorn", "uniform", "mixed"}), " (did you mean 'unicorn'?)");
}
