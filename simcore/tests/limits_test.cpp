// Limits of time and memory. Long work can be interrupted, cheap checks come first, and a network that needs too much
// memory is refused before it is allocated.

#include <ctime>

#include "readers/array_program.hpp"
#include "readers/goal.hpp"
#include "support/jobs.hpp"

namespace limits_test {

using namespace scenes;

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

Config small(Section topology, Section routing) {
  return config(std::move(topology), input_queued(), std::move(routing), {"uniform", {}});
}

const Values kLogGops{{"host", "loggops"}, {"network", "none"}};

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

TEST(interrupted_runs_end_in_the_same_bits) {
  // Interrupts both among the host events of a cycle and between cycles.
  auto both = with_jobs(
      {{"a", {}, repeated_calc(500000, 0), {}}, {"b", {"ur", {{"ranks", 40}, {"iterations", 20}}}, nullptr, {}}});
  both.congestion_control = {"dctcp", {{"ack_bytes", i64{1}}}};
  constexpr u32 kCycles = 60000;
  Simulation whole(both), parts(both);
  whole.run(kCycles);
  CHECK(whole.workload_finished());
  u32 interrupted = 0;
  const std::string begin = parts.snapshot();
  while (parts.state().part.totals.now < kCycles) {
    const auto began = Clock::now();
    try {
      parts.run(kCycles - parts.state().part.totals.now, [&] {
        if (Clock::now() - began > std::chrono::milliseconds(5)) throw Stopped();
      });
    } catch (const Stopped&) {
      parts.check_conservation();
      if (++interrupted == 3) parts.restore(begin);
    }
  }
  CHECK(interrupted > 3);
  CHECK_EQ(parts.hash(), whole.hash());
}

TEST(interrupted_decisions_are_made_again) {
  // The policy is so wide that its decisions are interrupted, too.
  Config c =
      config(small_network(), input_queued(), {"policy", {{"hidden", std::vector<double>{256, 256}}, {"record", 256}}},
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

TEST(memory_estimates_fit_states) {
  const auto fits = [](const Config& c) {
    const auto net = build(c);
    Simulation sim(net);
    const u64 held = state_bytes(sim.state()) + net->channels.size() * sizeof(Channel);
    CHECK_FOR(net->memory_bytes >= held * 0.9, std::to_string(net->memory_bytes) + " for " + std::to_string(held));
  };
  fits(small(network_1056(), {"minimal", {}}));
  fits(config(network_1056(), sc22(), {"q_adaptive", {}}, {"uniform", {}}));
  fits(small(network_1056(), {"agent", {{"record", 100000}}}));
}

TEST(host_chains_of_any_length) {
  constexpr u32 n = 300000;
  std::string text = "num_ranks 1\nrank 0 {\nc0: calc 0\n";
  for (u32 k = 1; k < n; k++)
    text += "c" + std::to_string(k) + ": calc 0\nc" + std::to_string(k) + " irequires c" + std::to_string(k - 1) + "\n";
  const auto chain = workload::read_goal(text + "}\n", "chain");
  for (const Values& values : {Values{}, kLogGops}) {
    Simulation sim(with_jobs({{"a", {}, chain, {}}}, values));
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
  Simulation sim(with_jobs({{"a", {}, workload::read_goal(text + "}\n", "many"), {}}}, kLogGops));
  const double seconds = seconds_of([&] { CHECK(sim.run_workload(10000000)); });
  CHECK_EQ(sim.state().ranks[0].finished, sum * 1000);
  CHECK_EQ(sim.state().hosts[0].free_waiting.size(), sim.state().hosts[0].waiting.size());
  CHECK(seconds < 20);
}

}  // namespace limits_test
