#include "simcore/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>

#include "learning/demand.hpp"
#include "partition.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "stage/route_computation.hpp"
#include "stage/stage.hpp"
#include "team.hpp"
#include "verify/verify.hpp"
#include "workload/engine.hpp"

namespace flitgym {

Simulation::Simulation(const Config& config, const KeepGoing& keep_going)
    : Simulation(build(config, keep_going), keep_going) {}

Simulation::Simulation(std::shared_ptr<const Network> network, const KeepGoing& keep_going)
    : network_(std::move(network)) {
  const LimitScope scope(keep_going);
  initialise(*network_, state_);
  prepare(*network_, workspace_);
  tables_.resize(network_->memories.size());
}

Simulation::Simulation(const Simulation& other)
    : network_(other.network_), state_(other.state_), workspace_(other.workspace_), threads_(other.threads_),
      guarded_moves_(other.guarded_moves_), guarded_at_(other.guarded_at_), broken_(other.broken_),
      tables_(other.tables_) {
  for (WatchedTable& table : tables_) table.touched = table.exposed;
  prepare(*network_, workspace_);
  if (network_->seam) own_rows(*network_, workspace_.batch);
}

// An error in the middle of a cycle leaves half of it done: whoever went on from there would count flits twice.
template <class Work>
void Simulation::whole_or_broken(Work work) {
  try {
    work();
  } catch (const CoreError& error) {
    broken_ = error.what();
    for (u32 k = 0; k < tables_.size(); k++)
      if (tables_[k].exposed) check_table(k);  // names the entry that has led astray
    throw;
  } catch (const ConfigError& error) {
    broken_ = error.what();
    throw;
  } catch (const std::bad_alloc&) {
    broken_ = "there was no memory left";
    throw;
  }
}

void Simulation::ready(u64 cycles) {
  const u64 now = state_.part.totals.now;
  if (!broken_.empty())
    throw CoreError("this simulation stopped in the middle of cycle " + std::to_string(now) +
                    " and cannot go on; restore() a snapshot or build it anew. It had said: " + broken_);
  // A table that is looked at every so many cycles costs a run next to nothing, however often run() is called; what it
  // makes a routing choose is looked at in every cycle (Workspace::wary).
  for (u32 k = 0; k < tables_.size(); k++) {
    const WatchedTable& table = tables_[k];
    const u64 period = state_.memory[k].size() / sizeof(float) / 1024;
    if (table.exposed && (table.touched || now < table.checked_at || now + cycles - table.checked_at >= period))
      check_table(k);
  }
}

const std::vector<u64>& Simulation::used_entries(u32 memory) {
  auto& used = tables_.at(memory).used;
  if (!used) used = std::make_shared<const std::vector<u64>>(flitgym::used_entries(*network_, memory));
  return *used;
}

void Simulation::check_table(u32 memory) {
  verify_table(*network_, memory, state_.memory[memory], used_entries(memory));
  tables_[memory].touched = false;
  tables_[memory].checked_at = state_.part.totals.now;
}

void Simulation::expose_table(u32 memory) {
  used_entries(memory);
  tables_[memory].exposed = tables_[memory].touched = workspace_.wary = true;
}

void Simulation::set_table(u32 memory, const float* values) {
  const MemoryShape& t = network_->memories[memory];
  State given;
  given.memory.resize(memory + 1);
  given.memory[memory] = state_.memory[memory];
  float* const table = Kept<float>{memory}.of(given);
  for (std::size_t row = 0; row < std::size_t{network_->routers} * t.rows; row++)
    std::copy_n(values + row * t.columns, t.columns, table + row * t.stride);
  verify_table(*network_, memory, given.memory[memory], used_entries(memory));
  state_.memory[memory] = given.memory[memory];
}

void Simulation::show_progress() {
  progress_.now.store(state_.part.totals.now, std::memory_order_relaxed);
  progress_.packets_in_network.store(totals(state_).packets_in_network, std::memory_order_relaxed);
  progress_.blocks_done.store(host_totals(state_).blocks_done, std::memory_order_relaxed);
}

Simulation::~Simulation() = default;

const std::vector<double>& Simulation::accrued_delay() {
  if (!demand_) demand_ = std::make_unique<learning::DemandArea>();
  return demand_->accrued(*network_, state_);
}

void Simulation::run(u64 cycles, const std::function<void()>& keep_going) {
  ready(cycles);
  if (network_->decider != Decider::kRouting)
    throw CoreError("routing." + network_->routing_name +
                    ": decisions come from outside; call collect() and apply() instead of run()");
  if (state_.part.totals.collected && !workspace_.at_routing)
    throw CoreError("run() between collect() and apply(): apply the choices first");
  if (cycles > kEndOfTime - u64{state_.part.totals.now})
    throw CoreError("the run would pass cycle " + std::to_string(kEndOfTime) +
                    ", the end of simulated time; use a longer cycle_ns");
  const u64 stride = std::min<u64>(network_->router.watchdog_cycles, 4096);
  const u64 end = state_.part.totals.now + cycles;
  const LimitScope scope(keep_going);
  u64 steps = 0;  // a cycle's work is in proportion to what is under way
  while (state_.part.totals.now < end) {
    const u64 until = std::min(end, state_.part.totals.now + stride);
    whole_or_broken([&] {
      if (network_->partitions() > 1) return run_partitions(static_cast<Cycle>(until));
      while (state_.part.totals.now < until) {
        step(*network_, state_, workspace_);
        if (network_->workload) skip_idle(static_cast<Cycle>(until));
        steps += 32 + totals(state_).flits_in_network;
        if (steps >= 4 * kPatience) [[unlikely]] {
          steps = 0;
          worked(kPatience);
        }
      }
    });
    show_progress();
    if (keep_going) keep_going();
    guard();
  }
}

// Window by window: each partition on its own, then what they have sent each other. A watched packet's story is told in
// the order of time, so there all go cycle by cycle.
void Simulation::run_partitions(Cycle until) {
  const Network& net = *network_;
  State& s = state_;
  const u32 parts = net.partitions(), wanted = std::min(threads_, parts);
  if (!s.watched.empty()) {
    while (s.part.totals.now < until) {
      {
        const Uninterrupted whole;
        step(net, s, workspace_);
      }
      if (net.workload) skip_idle(until);
      worked(32 + totals(s).flits_in_network);
    }
    return;
  }
  if (wanted > 1 && (!team_ || team_->wanted() != wanted || !team_->here())) team_ = std::make_unique<Team>(wanted);
  const u32 size = wanted > 1 ? team_->size() : 1;
  helpers_.resize(size - 1);
  for (Workspace& helper : helpers_) {
    if (helper.batch.input_vc.empty()) {
      Workspace whole;  // or none: memory may run out half way
      prepare(net, whole);
      helper = std::move(whole);
    }
    helper.wary = workspace_.wary;
  }
  const auto share = [&](u32 i) { return static_cast<u32>(u64{parts} * i / size); };
  const auto everyone = [&](const std::function<void(u32)>& work) {
    if (size > 1) team_->run(work);
    else work(0);
  };
  while (s.part.totals.now < until) {
    const Cycle from = s.part.totals.now, end = std::min(until, window_end(net, s, from));
    {
      const Uninterrupted whole;
      begin_cycle(net, s, workspace_);
      everyone([&](u32 i) {
        for (u32 k = share(i); k < share(i + 1); k++) advance(net, s, i == 0 ? workspace_ : helpers_[i - 1], k, end);
      });
      everyone([&](u32 i) { hand_over(net, s, from, end, share(i), share(i + 1)); });
      forget_sent(net, s);
      workload::settle_outstanding(s);
    }
    if (net.workload) skip_idle(until);
    worked((end - from) * (32 + totals(s).flits_in_network) / 4);
  }
}

void Simulation::set_threads(u32 threads) {
  if (threads == 0 || threads > 1024) throw ConfigError("threads: " + std::to_string(threads) + " is not in [1, 1024]");
  threads_ = threads;
}

// While all ranks compute, nothing is on its way and nothing is due: those cycles need not be walked through. The state
// is the one that walking comes to.
void Simulation::skip_idle(Cycle until) {
  const Network& net = *network_;
  State& s = state_;
  if (totals(s).packets_in_network > 0) return;
  const Cycle now = s.part.totals.now;
  Cycle next = until;
  if (const u64 due = workload::next_host_event(s); due < u64{until} * net.workload->cycle_ps)
    next = static_cast<Cycle>((due + net.workload->cycle_ps - 1) / net.workload->cycle_ps);
  if (const u32 epoch = s.part.totals.epoch + 1; epoch < net.graphs.size())
    next = std::min<Cycle>(next, net.graphs[epoch]->from);
  if (next < now + 64) return;
  const auto quiet = [](const auto& lines) {
    return std::all_of(lines.lines.begin(), lines.lines.end(), [](const auto& line) { return line.first == line.end; });
  };
  const auto empty = [](const auto& wheel) {
    return std::all_of(wheel.first.begin(), wheel.first.end(), [](u32 chunk) { return chunk == kNone; });
  };
  for (u32 k = 0; k < net.partitions(); k++) {
    const Partition& part = partition(s, k);
    if (!quiet(part.flit_lines) || !quiet(part.credit_lines) || !quiet(part.feedback_lines)) return;
    if (!empty(part.ports_due) || !empty(part.routes_due) || !empty(part.news) || !part.route_list.empty()) return;
  }
  const bool window_begins = (next - 1) / net.lookahead * net.lookahead >= now;
  if (net.partitions() > 1 && window_begins) provide_packets(net, s);
  const auto close = [&](auto& lines) {
    for (auto& line : lines.lines) {
      const Cycle slots = static_cast<Cycle>(line.marks.size());
      for (Cycle t = next - now > slots ? next - slots : now; t != next; t++) line.close(t);
    }
  };
  for (u32 k = 0; k < net.partitions(); k++) {
    Partition& part = partition(s, k);
    close(part.flit_lines);
    close(part.credit_lines);
    close(part.feedback_lines);
    part.totals.now = next;
  }
}

bool Simulation::run_workload(u64 most_cycles, const std::function<void()>& keep_going) {
  const Network& net = *network_;
  if (!net.workload) throw CoreError("run_workload(): there is no workload; use run()");
  const u64 end = state_.part.totals.now + std::min<u64>(most_cycles, kEndOfTime - state_.part.totals.now);
  if (!net.workload->host.network) {
    ready(most_cycles);
    // Nothing but the hosts: from event to event, in whole strides so that Ctrl-C gets in.
    const LimitScope scope(keep_going);
    Frame f(net, state_, workspace_, state_.part.totals.now);
    const u64 until = end * net.workload->cycle_ps;
    while (workload::next_host_event(state_) <= until && !workload::no_host_events(state_) && !workload_finished()) {
      whole_or_broken([&] { workload::host_events(f, std::min(until, workload::next_host_event(state_) + 1000000)); });
      show_progress();
      if (keep_going) keep_going();
    }
    const u64 cycle_ps = net.workload->cycle_ps, last = (host_totals(state_).now + cycle_ps - 1) / cycle_ps;
    state_.part.totals.now = static_cast<Cycle>(workload::no_host_events(state_) ? std::min(end, last) : end);
    return workload_finished();
  }
  while (!workload_finished() && !workload_stuck() && state_.part.totals.now < end)
    run(std::min<u64>(1024, end - state_.part.totals.now), keep_going);
  return workload_finished();
}

bool Simulation::workload_finished() const {
  return network_->workload && host_totals(state_).ranks_done == network_->workload->ranks();
}

bool Simulation::workload_stuck() const {
  if (!network_->workload || workload_finished() || !workload::no_host_events(state_)) return false;
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
        "stop_sources() and drain() are for traffic patterns; the jobs of a workload end by themselves: "
        "run_workload()");
  if (state_.part.totals.sources_stopped) return;
  if (!state_.delivered_from.empty()) {
    accrued_delay();
    demand_->stop(*network_, state_);
  }
  for (u32 k = 0; k < network_->partitions(); k++) {
    partition(state_, k).totals.sources_stopped = 1;
    partition(state_, k).totals.backlogged = 0;
  }
  for (Terminal& x : state_.terminals) x.left = 0;
}

bool Simulation::empty() const { return totals(state_).packets_in_network == 0; }

u32 Simulation::collect() {
  ready(1);
  if (state_.part.totals.collected) throw CoreError("collect() was called twice without apply()");
  if (state_.part.totals.now >= kEndOfTime)
    throw CoreError("the run has reached cycle " + std::to_string(kEndOfTime) + ", the end of simulated time");
  whole_or_broken([&] {
    if (network_->partitions() == 1) return flitgym::collect(*network_, state_, workspace_);
    const Uninterrupted whole;
    flitgym::collect(*network_, state_, workspace_);
  });
  return decisions_asked(*network_, workspace_.batch);
}

void Simulation::apply(const u32* choices, std::size_t count, const float* log_probability) {
  ready(0);
  if (!state_.part.totals.collected) throw CoreError("apply() without collect()");
  check_choices(*network_, workspace_.batch, choices, count);
  whole_or_broken([&] { decide(*network_, state_, workspace_.batch, choices, log_probability); });
  workspace_.at_routing = false;
  whole_or_broken([&] { flitgym::apply(*network_, state_, workspace_); });
  guard();
}

void Simulation::resume(const std::vector<u32>& asking) {
  if (state_.part.totals.collected) throw CoreError("resume() between collect() and apply()");
  std::vector<bool> seen(state_.input_vcs.size());
  for (const u32 v : asking) {
    if (v >= seen.size() || seen[v] || state_.input_vcs[v].front == kNone || state_.input_vcs[v].routed)
      throw ConfigError("resume(): input VC " + std::to_string(v) + " has no packet that asks for a route");
    seen[v] = true;
  }
  // The halves of a cycle go through the partitions in their order.
  const auto part_of = [&](u32 v) { return network_->partition_of(network_->router_of_port(network_->port_of_vc(v))); };
  if (!std::is_sorted(asking.begin(), asking.end(), [&](u32 a, u32 b) { return part_of(a) < part_of(b); }))
    throw ConfigError("resume(): the input VCs that ask are not in the order of the partitions");
  workspace_.routes = asking;
  flitgym::resume(*network_, state_, workspace_);
}

void Simulation::answer(const float* values, const u32* rows, std::size_t count) {
  if (!state_.part.totals.collected) throw CoreError("answer() without collect()");
  const Batch& b = workspace_.batch;
  if (network_->decider != Decider::kCandidates || !network_->learns)
    throw ConfigError("apply(): values and rows are for routing=external with routing.feedback=true");
  if (count != b.count)
    throw ConfigError("apply(): " + std::to_string(count) + " values for " + std::to_string(b.count) + " requests");
  for (u32 i = 0; i < b.count; i++)
    if (!std::isfinite(values[i]))
      throw ConfigError("apply(): the value of request " + std::to_string(i) + " is not a finite number (of 32 bits)");
  for (u32 i = 0; i < b.count; i++) {
    PacketDetail& detail = state_.details[b.packet[i]];
    detail.value =
        network_->channels[network_->port(b.router[i], b.in_port[i])].kind == PortKind::kTerminal ? -1.0f : values[i];
    detail.row = rows[i];
  }
}

void Simulation::set_series_interval(u32 cycles) {
  if (state_.part.totals.now > 0 && cycles != state_.series_interval[0])
    throw ConfigError("set_series_interval(): a series runs from cycle 0; set its interval before the first");
  state_.series_interval[0] = cycles;
}

void Simulation::watch(u32 terminal, u32 sequence) {
  if (terminal >= network_->terminals)
    throw ConfigError("watch(): terminal " + std::to_string(terminal) + " of a network of " +
                      std::to_string(network_->terminals));
  state_.watched.push_back(terminal);
  state_.watched.push_back(sequence);
}

// The watchdog remembers the last cycle at which something had moved, across calls of run() and drain().
void Simulation::guard() {
  const Totals t = totals(state_);
  if (t.moves != guarded_moves_ || empty() || t.now < guarded_at_) {
    guarded_moves_ = t.moves;
    guarded_at_ = t.now;
  } else if (t.now - guarded_at_ >= network_->router.watchdog_cycles) {
    throw CoreError(deadlock_report());
  }
}

// Follows the waits: an input VC waits for an output VC, that one for room in the next router's input VC, and so on.
std::string Simulation::deadlock_report() const {
  const Network& net = *network_;
  const auto name = [&](u32 v) {
    const u32 port = net.port_of_vc(v), router = net.router_of_port(port);
    return "router " + std::to_string(router) + " port " + std::to_string(net.local_port(port)) + " vc " +
           std::to_string(net.vc_of(v));
  };
  std::string text = "deadlock: nothing has moved for " + std::to_string(net.router.watchdog_cycles) + " cycles with " +
                     std::to_string(totals(state_).flits_in_network) + " flits in flight (routing." + net.routing_name +
                     ", " + std::to_string(net.vcs) + " VCs). Input VCs that wait on each other:";
  u32 start = kNone;
  for (u32 v = 0; v < state_.input_vcs.size() && start == kNone; v++)
    if (state_.input_vcs[v].count > 0 && state_.input_vcs[v].routed) start = v;
  std::vector<u32> seen;
  for (u32 v = start; v != kNone && seen.size() < 64;) {
    const InputVc& in = state_.input_vcs[v];
    if (std::find(seen.begin(), seen.end(), v) != seen.end()) {
      text += "\n  and so back to " + name(v);
      break;
    }
    seen.push_back(v);
    const u32 out = net.port(net.router_of_port(net.port_of_vc(v)), in.out_port), peer = net.channels[out].peer;
    text += "\n  " + name(v) + " (" + std::to_string(in.count) + " flits) waits for port " +
            std::to_string(in.out_port) + " vc " + std::to_string(in.out_vc) + ", " +
            std::to_string(state_.output_vcs[net.vc_id(out, in.out_vc)].credits) + " credits";
    if (net.is_nic(peer) || !in.routed || in.count == 0) break;
    v = net.vc_id(peer, in.out_vc);
  }
  return text;
}

void Simulation::check_conservation() const { flitgym::check_conservation(*network_, state_); }

}  // namespace flitgym
