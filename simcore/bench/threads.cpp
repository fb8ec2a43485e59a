// A model of the speed of one run on many threads, as one line of JSON. Usage: simcore_threads SCENE [SCALE], with a
// factor for the measured window.
//
// For each number of threads n, a run on one thread does the work of all n threads in turn, and each part is timed. In
// the model, a window takes the time of its slowest thread and two barriers.
//
// A run on two threads gives the cost of moving cache lines between cores: the time that the model does not explain. It
// is proportional to the channels between partitions of different threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include "partition_runner.hpp"
#include "scenes.hpp"
#include "simcore/error.hpp"
#include "simcore/simulation.hpp"

using namespace flitgym;
using namespace flitgym::bench;

namespace {

constexpr std::array kThreads = {1u, 2u, 4u, 8u, 16u, 32u, 64u};
constexpr u32 kRepeats = 3;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void keep_least(std::vector<float>& least, const std::vector<float>& other) {
  if (least.empty()) least = other;
  for (std::size_t k = 0; k < least.size(); k++) least[k] = std::min(least[k], other[k]);
}

// Seconds of the window on some threads, the least of several runs from the same state. `times` gets the least time of
// each part.
double seconds(const Network& net, const State& begin, u32 threads, Cycle until, WindowTimes* times = nullptr) {
  double least = 1e9;
  for (u32 k = 0; k < kRepeats; k++) {
    State s = begin;
    Workspace workspace;
    prepare(net, workspace);
    PartitionRunner runner;
    WindowTimes own;
    if (times) own.threads = times->threads;
    // The copy's arrays have no room to grow, so they grow in the first windows.
    runner.run(net, s, workspace, threads, s.part.totals.now + 4 * net.lookahead);
    const double before = now();
    runner.run(net, s, workspace, threads, until, times ? &own : nullptr);
    const double taken = now() - before;
    least = std::min(least, taken);
    if (!times) continue;
    keep_least(times->advance, own.advance);
    keep_least(times->hand_over, own.hand_over);
    keep_least(times->rest, own.rest);
  }
  return least;
}

// Seconds of a barrier of two threads.
double barrier() {
  constexpr u32 kRounds = 20000;
  Team team(2);
  const std::function<void(u32)> nothing = [](u32) {};
  team.run(nothing);
  const double before = now();
  for (u32 k = 0; k < kRounds; k++) team.run(nothing);
  return (now() - before) / kRounds;
}

// Seconds in which a cache line moves to another core and back. A virtual machine may move between near and far cores.
double round_trip() {
  constexpr u32 kRounds = 50000;
  alignas(128) std::atomic<u32> there{0};
  alignas(128) std::atomic<u32> back{0};
  std::thread other([&] {
    for (u32 k = 1; k <= kRounds; k++) {
      while (there.load(std::memory_order_acquire) != k) {
      }
      back.store(k, std::memory_order_release);
    }
  });
  const double before = now();
  for (u32 k = 1; k <= kRounds; k++) {
    there.store(k, std::memory_order_release);
    while (back.load(std::memory_order_acquire) != k) {
    }
  }
  const double taken = now() - before;
  other.join();
  return taken / kRounds;
}

// Channels between routers of different threads, if all partitions have equal work.
u32 crossing(const Network& net, u32 threads) {
  std::vector<u32> thread_of(net.partitions());
  const std::vector<u32> first = divide_by_work(std::vector<u64>(net.partitions(), 1), threads);
  for (u32 i = 0; i < threads; i++) std::fill(thread_of.begin() + first[i], thread_of.begin() + first[i + 1], i);
  u32 channels = 0;
  for (u32 p = 0; p < net.router_ports; p++)
    if (net.is_link(p))
      channels += thread_of[net.partition_of(net.router_of_port(p))] != thread_of[net.partition_of(net.next_router(p))];
  return channels;
}

struct Parts {
  double even, uneven, rest;  // seconds: with equal shares; more because of the slowest thread; not divided
};

// The time of all windows on some threads, without barriers and transfers.
Parts divided(const WindowTimes& times) {
  Parts sum = {};
  for (const float ns : times.rest) sum.rest += 1e-9 * static_cast<double>(ns);
  for (const auto* work : {&times.advance, &times.hand_over})
    for (std::size_t first = 0; first < work->size(); first += times.threads) {
      const auto begin = work->begin() + static_cast<std::ptrdiff_t>(first), end = begin + times.threads;
      const double even = std::accumulate(begin, end, 0.0) / times.threads;
      sum.even += 1e-9 * even;
      sum.uneven += 1e-9 * (static_cast<double>(*std::max_element(begin, end)) - even);
    }
  return sum;
}

void model(const Scene& scene, double scale) {
  Simulation sim(config_of(scene));
  const Network& net = sim.network();
  const u32 partitions = net.partitions();
  if (partitions == 1) throw ConfigError(scene.name + ": this network is one partition, so it runs on one thread");
  sim.run(scene.warmup);
  const State begin = sim.state();
  const Cycle until = begin.part.totals.now + 4 * net.lookahead + static_cast<Cycle>(scene.cycles * scale);
  const double one = seconds(net, begin, 1, until), two = seconds(net, begin, 2, until), wait = barrier(),
               line = round_trip();
  std::map<u32, Parts> parts_of;
  double windows = 0;
  for (const u32 wanted : kThreads) {
    WindowTimes times;
    times.threads = std::min(wanted, partitions);
    if (parts_of.contains(times.threads)) continue;
    seconds(net, begin, 1, until, &times);
    parts_of[times.threads] = divided(times);
    windows = static_cast<double>(times.rest.size()) / 2;
  }
  const auto untransferred = [&](u32 threads) {
    const Parts& parts = parts_of.at(threads);
    return parts.even + parts.uneven + parts.rest + 2 * windows * wait * (threads - 1);
  };
  const double moved = std::max(two - untransferred(2), 0.0);  // of each of two threads

  std::printf(
      "{\"scene\": \"%s\", \"partitions\": %u, \"windows\": %.0f, \"round_trip_ns\": %.0f, \"barrier_us\": %.3f, "
      "\"one_thread_s\": %.4f, \"two_threads_s\": %.4f, \"model\": [",
      scene.name.c_str(), partitions, windows, 1e9 * line, 1e6 * wait, one, two);
  for (const u32 wanted : kThreads) {
    const u32 threads = std::min(wanted, partitions);
    const Parts& parts = parts_of.at(threads);
    const double transfers = threads == 1 ? 0 : moved * crossing(net, threads) / crossing(net, 2) * 2 / threads,
                 barriers = 2 * windows * wait * (threads - 1), all = untransferred(threads) + transfers;
    std::printf(
        "%s{\"threads\": %u, \"busy\": %u, \"speedup\": %.3f, \"even\": %.3f, \"uneven\": %.3f, "
        "\"transfers\": %.3f, \"barriers\": %.3f, \"rest\": %.3f}",
        wanted == 1 ? "" : ", ", wanted, threads, one / all, parts.even / all, parts.uneven / all, transfers / all,
        barriers / all, parts.rest / all);
  }
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const double scale = argc == 3 ? std::atof(argv[2]) : 1;
  if (argc < 2 || argc > 3 || !(scale > 0)) {
    std::fprintf(stderr, "usage: simcore_threads SCENE [SCALE]\n");
    return 2;
  }
  try {
    model(scene_named(argv[1]), scale);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simcore_threads: %s\n", error.what());
    return 1;
  }
}
