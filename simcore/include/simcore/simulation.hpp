// Simulation: a Network, its State and the loop around step(). The Python binding and the C++ tests use this class.
// Each method checks that the call is allowed now.
#pragma once

#include <atomic>
#include <functional>

#include "simcore/stats.hpp"
#include "simcore/table_guard.hpp"

namespace flitgym {

class PartitionRunner;
namespace learning {
class DemandArea;
}

// Throws CoreError if the counts of flits, credits and buffer slots are inconsistent (src/core/conservation.cpp).
void check_conservation(const Network& net, const State& s);

// Ends a run in which no flit has moved for router.watchdog_ns while flits are in flight.
class Watchdog {
 public:
  void check(const Network& net, const State& s);  // throws CoreError with the deadlock report

 private:
  u64 moves_ = ~u64{0}, moved_at_ = 0;  // moves so far (at first unknown), and cycle of the last one
};

class Simulation {
 public:
  explicit Simulation(const Config& config, const KeepGoing& keep_going = {});
  explicit Simulation(std::shared_ptr<const Network> network, const KeepGoing& keep_going = {});
  Simulation(const Simulation& other);  // a fork: the state is copied, the network shared
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  const Network& network() const { return *network_; }
  State& state() { return state_; }
  const State& state() const { return state_; }
  Batch& batch() { return workspace_.batch; }
  const std::string& watch_log() const { return workspace_.batch.log; }

  // `keep_going` is called about 20 times a second and may throw, so that Ctrl-C works. The next call of run()
  // continues the interrupted cycle.
  void run(u64 cycles, const std::function<void()>& keep_going = {});
  // Number of threads that run the partitions of the network (src/core/partition.hpp). The resulting state does not
  // depend on it. A single partition uses one thread.
  void set_threads(u32 threads);  // throws ConfigError
  u32 threads() const { return threads_; }
  bool drain(u64 most_cycles, const std::function<void()>& keep_going = {});
  // Runs a workload until every rank has finished, no rank can continue, or `most_cycles` cycles have passed. Returns
  // whether every rank has finished.
  bool run_workload(u64 most_cycles, const std::function<void()>& keep_going = {});
  bool workload_finished() const;
  bool workload_stuck() const;          // ranks wait for messages that no rank will send
  std::string waiting(u32 most) const;  // the operations for which the first `most` unfinished ranks wait
  void stop_sources();
  bool empty() const;

  // From here on an agent decides instead of the routing, among the candidates of the routing. The section `record`
  // says what the agent sees.
  void hand_over();

  // The two halves of a cycle. Between them, batch() holds the requests. In apply(), choices[i] is an index into the
  // candidates of request i. apply() throws ConfigError on a choice outside its candidates and leaves the batch
  // unchanged.
  u32 collect();
  // `log_probability`: with a seam, a value per decision, which the transitions store; null: they store NaN.
  void apply(const u32* choices, std::size_t count, const float* log_probability = nullptr);
  // Call before apply(), with routing=external and routing.feedback=true: sets the feedback of each request. `values`
  // are estimates in ns for the upstream router (negative: no feedback). `rows` are the rows of its table that the
  // estimates update.
  void answer(const float* values, const u32* rows, std::size_t count);

  void begin_window() { flitgym::begin_window(*network_, state_); }
  void end_window() { flitgym::end_window(*network_, state_); }
  void set_series_interval(u32 cycles);
  void watch(u32 terminal, u32 sequence);

  // Delay of all packets so far by source terminal, in packet-cycles (src/core/demand.hpp).
  const std::vector<double>& accrued_delay();

  u64 hash() const;        // of all of State
  std::string snapshot();  // State as bytes
  // Restores a snapshot from a trusted source. Throws ConfigError and leaves the state unchanged if the snapshot is
  // damaged, of another version or of another network.
  void restore(const std::string& bytes);
  // Between collect() and apply(), the complete state of a simulation is State and the input VCs whose heads request a
  // route. The batch can be computed from them.
  const std::vector<u32>& asking() const { return workspace_.routes; }
  void resume(const std::vector<u32>& asking);  // continues after the collect() of another simulation

  // Call before a user gets a writable view of a learned table. The table is checked before the simulation continues.
  void expose_table(u32 memory);
  // [routers, rows, columns]; throws ConfigError and leaves the table unchanged
  void set_table(u32 memory, const float* values);

  // Number of the process that uses this simulation while other Python threads run; 0: none (bindings/exclusive.hpp).
  std::atomic<u32>& holder() { return holder_; }
  // Progress of a run, for other threads to read.
  struct Progress {
    std::atomic<u64> now{0}, packets_in_network{0}, blocks_done{0};
  };
  const Progress& progress() const { return progress_; }

  void check_conservation() const { flitgym::check_conservation(*network_, state_); }

 private:
  void ready(u64 cycles);  // throws unless the simulation may continue for this many cycles
  void show_progress();
  template <class Work>
  void whole_or_broken(Work work);

  std::shared_ptr<const Network> network_;
  State state_;
  Workspace workspace_;
  std::atomic<u32> holder_{0};
  Progress progress_;
  std::unique_ptr<learning::DemandArea> demand_;  // counts up to now; not part of the state
  u32 threads_ = 1;
  const std::unique_ptr<PartitionRunner> partition_runner_;
  Watchdog watchdog_;
  TableGuard tables_;
  std::string broken_;  // the error that stopped a cycle halfway; empty: none
};

u64 state_bytes(const State& state);  // memory of its arrays

}  // namespace flitgym
