#include "simcore/simulation.hpp"

#include <new>

#include "core/demand.hpp"
#include "core/hosts/engine.hpp"
#include "core/partition.hpp"
#include "core/partition_runner.hpp"
#include "core/stage/stage.hpp"
#include "simcore/learning.hpp"
#include "simcore/route_computation.hpp"

namespace flitgym {

Simulation::Simulation(const Config& config, const KeepGoing& keep_going)
    : Simulation(build(config, keep_going), keep_going) {}

Simulation::Simulation(std::shared_ptr<const Network> network, const KeepGoing& keep_going)
    : network_(std::move(network)), demand_(std::make_unique<learning::DemandArea>()),
      partition_runner_(std::make_unique<PartitionRunner>()), tables_(*network_) {
  const LimitScope scope(keep_going);
  set_threads(network_->config.threads);
  initialise(*network_, state_);
  prepare(*network_, workspace_);
}

Simulation::Simulation(const Simulation& other)
    : network_(other.network_), state_(other.state_), workspace_(other.workspace_),
      demand_(std::make_unique<learning::DemandArea>()), threads_(other.threads_),
      partition_runner_(std::make_unique<PartitionRunner>()), watchdog_(other.watchdog_), tables_(other.tables_),
      broken_(other.broken_) {
  prepare(*network_, workspace_);
}

Simulation::~Simulation() = default;

// An error in the middle of a cycle leaves the cycle half done. A run that continued from there would count flits
// twice.
template <class Work>
void Simulation::whole_or_broken(Work work) {
  try {
    work();
  } catch (const CoreError& error) {
    broken_ = error.what();
    // Throws with the table entry that caused the error, if there is one.
    tables_.check_due(*network_, state_, kEndOfTime);
    throw;
  } catch (const ConfigError& error) {
    broken_ = error.what();
    throw;
  } catch (const std::bad_alloc&) {
    broken_ = "the memory was exhausted";
    throw;
  }
}

void Simulation::ready(u64 cycles) {
  if (!broken_.empty())
    throw CoreError("this simulation stopped in the middle of cycle ", state_.part.totals.now,
                    " and cannot continue; restore() a snapshot or build it again. The error was: ", broken_);
  tables_.check_due(*network_, state_, cycles);
}

void Simulation::expose_table(u32 memory) {
  make_dense(state_, memory);
  tables_.expose(*network_, memory);
  workspace_.verify_choices = true;
}

void Simulation::set_table(u32 memory, const float* values) {
  make_dense(state_, memory);
  tables_.set(*network_, state_, memory, values);
}

void Simulation::show_progress() {
  progress_.now.store(workload::present(*network_, state_), std::memory_order_relaxed);
  progress_.packets_in_network.store(totals(state_).packets_in_network, std::memory_order_relaxed);
  progress_.blocks_done.store(host_totals(state_).blocks_done, std::memory_order_relaxed);
}

const std::vector<double>& Simulation::accrued_delay() { return demand_->accrued(*network_, state_); }

void Simulation::run(u64 cycles, const std::function<void()>& keep_going) {
  ready(cycles);
  if (network_->decider != Decider::kRouting)
    throw CoreError("routing.", network_->routing_name,
                    ": decisions come from outside; call collect() and apply() instead of run()");
  if (state_.part.totals.collected && !workspace_.at_routing)
    throw CoreError("run() between collect() and apply(): apply the choices first");
  if (cycles > kEndOfTime - u64{state_.part.totals.now})
    throw CoreError("the run would pass cycle ", kEndOfTime, ", the end of simulated time; use a longer cycle_ns");
  const u64 stride = std::min<u64>(network_->router.watchdog_cycles, 4096);
  const u64 end = state_.part.totals.now + cycles;
  const LimitScope scope(keep_going);
  u64 steps = 0;  // estimated work since the last look at the clock; a cycle's work is proportional to its flits
  while (state_.part.totals.now < end) {
    const u64 until = std::min(end, state_.part.totals.now + stride);
    whole_or_broken([&] {
      if (network_->partitions() > 1)
        return partition_runner_->run(*network_, state_, workspace_, threads_, static_cast<Cycle>(until));
      while (state_.part.totals.now < until) {
        step(*network_, state_, workspace_);
        if (network_->workload) skip_idle(*network_, state_, static_cast<Cycle>(until));
        steps += 32 + totals(state_).flits_in_network;
        if (steps >= 4 * kPatience) [[unlikely]] {
          steps = 0;
          worked(kPatience);
        }
      }
    });
    show_progress();
    if (keep_going) keep_going();
    watchdog_.check(*network_, state_);
  }
}

void Simulation::set_threads(u32 threads) {
  if (threads == 0 || threads > 1024) throw ConfigError("threads: ", threads, " is not in [1, 1024]");
  threads_ = threads;
}

bool Simulation::run_workload(u64 most_cycles, const std::function<void()>& keep_going) {
  const Network& net = *network_;
  if (!net.workload) throw CoreError("run_workload(): there is no workload; use run()");
  if (!net.workload->host.network) {
    const u64 begin = workload::present(net, state_), cycle_ps = net.workload->cycle_ps;
    const u64 cycles = std::min(most_cycles, workload::end_of_time(net) - begin), until = (begin + cycles) * cycle_ps;
    ready(cycles);
    // Only the hosts are simulated. Their events are processed in strides of 1 us, so that Ctrl-C works.
    const u64 launch = net.workload->scheduler.launch_ps, stride = launch ? std::min<u64>(launch, 1000000) : 1000000;
    const LimitScope scope(keep_going);
    Frame f{net, state_, workspace_, state_.part.totals.now};
    while (workload::next_host_event(state_) <= until && !workload_finished()) {
      whole_or_broken([&] {
        workload::host_events(f, std::min(until, workload::next_host_event(state_) + stride));
        workload::schedule(net, state_);
      });
      show_progress();
      if (keep_going) keep_going();
    }
    if (workload::next_host_event(state_) != workload::kNoHostEvent) state_.hosts[0].totals.now = until;
    state_.part.totals.now = static_cast<Cycle>(std::min<u64>(kEndOfTime, workload::present(net, state_)));
    show_progress();
    return workload_finished();
  }
  const u64 end = state_.part.totals.now + std::min<u64>(most_cycles, kEndOfTime - state_.part.totals.now);
  while (!workload_finished() && !workload_stuck() && state_.part.totals.now < end)
    run(std::min<u64>(1024, end - state_.part.totals.now), keep_going);
  return workload_finished();
}

bool Simulation::workload_finished() const {
  const Workload* const w = network_->workload.get();
  if (!w || host_totals(state_).ranks_done < w->ranks()) return false;
  // No rank waits for the flows that are still in transit.
  return !w->flows || (host_totals(state_).messages_open == 0 && totals(state_).packets_in_network == 0);
}

bool Simulation::workload_stuck() const {
  if (!network_->workload || workload_finished()) return false;
  if (workload::next_host_event(state_) != workload::kNoHostEvent) return false;
  const Totals t = totals(state_);
  return t.packets_in_network == 0 && t.backlogged == 0;
}

std::string Simulation::waiting(u32 most) const {
  return network_->workload ? workload::waiting_report(*network_, state_, most) : std::string();
}

bool Simulation::drain(u64 most_cycles, const std::function<void()>& keep_going) {
  ready(1);
  stop_sources();
  const u64 end = state_.part.totals.now + std::min<u64>(most_cycles, kEndOfTime - state_.part.totals.now);
  while (!empty() && state_.part.totals.now < end) run(std::min<u64>(256, end - state_.part.totals.now), keep_going);
  return empty();
}

void Simulation::stop_sources() {
  if (network_->workload)
    throw CoreError(
        "stop_sources() and drain() are for traffic patterns; the jobs of a workload end by themselves, so use "
        "run_workload()");
  if (state_.part.totals.sources_stopped) return;
  if (!state_.delivered_from.empty()) {
    accrued_delay();
    demand_->stop(*network_, state_);
  }
  flitgym::stop_sources(*network_, state_);
}

bool Simulation::empty() const { return totals(state_).packets_in_network == 0; }

void Simulation::hand_over() {
  if (state_.part.totals.collected) throw CoreError("hand_over() between collect() and apply()");
  network_ = with_agent(network_);
}

u32 Simulation::collect() {
  ready(1);
  if (state_.part.totals.collected) throw CoreError("collect() was called twice without apply()");
  if (state_.part.totals.now >= kEndOfTime)
    throw CoreError("the run has reached cycle ", kEndOfTime, ", the end of simulated time");
  whole_or_broken([&] {
    if (network_->partitions() == 1) return flitgym::collect(*network_, state_, workspace_);
    const Uninterrupted whole;
    flitgym::collect(*network_, state_, workspace_,
                     partition_runner_->threads_of(*network_, state_, workspace_, threads_));
  });
  return decisions_asked(*network_, workspace_.batch);
}

void Simulation::apply(const u32* choices, std::size_t count, const float* log_probability) {
  ready(0);
  if (!state_.part.totals.collected) throw CoreError("apply() without collect()");
  check_choices(*network_, workspace_.batch, choices, count);
  whole_or_broken([&] { decide(*network_, state_, workspace_.batch, choices, log_probability); });
  workspace_.at_routing = false;
  whole_or_broken([&] {
    flitgym::apply(*network_, state_, workspace_,
                   partition_runner_->threads_of(*network_, state_, workspace_, threads_));
  });
  watchdog_.check(*network_, state_);
}

void Simulation::resume(const std::vector<u32>& asking) {
  if (state_.part.totals.collected) throw CoreError("resume() between collect() and apply()");
  check_asking(*network_, state_, asking);
  workspace_.routes = asking;
  flitgym::resume(*network_, state_, workspace_);
}

void Simulation::answer(const float* values, const u32* rows, std::size_t count) {
  if (!state_.part.totals.collected) throw CoreError("answer() without collect()");
  set_answers(*network_, state_, workspace_.batch, values, rows, count);
}

void Simulation::set_series_interval(u32 cycles) {
  if (state_.part.totals.now > 0 && cycles != state_.series_interval[0])
    throw ConfigError("set_series_interval(): a series starts at cycle 0; set its interval before the first cycle");
  state_.series_interval[0] = cycles;
}

void Simulation::watch(u32 terminal, u32 sequence) {
  if (terminal >= network_->terminals)
    throw ConfigError("watch(): terminal ", terminal, " is not below the number of terminals, ", network_->terminals);
  state_.watched.push_back(terminal);
  state_.watched.push_back(sequence);
}

}  // namespace flitgym
