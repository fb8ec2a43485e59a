// Simulation: one Network, one State, and the loop around step(). What the Python binding and the C++ tests drive.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simcore/limits.hpp"
#include "simcore/state.hpp"
#include "simcore/stats.hpp"

namespace flitgym {

namespace learning {
class DemandArea;
}

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
  const std::string& watch_log() const { return workspace_.log; }

  // `keep_going` is asked now and then and may throw; it is how Ctrl-C gets in. The next call goes on where it was.
  void run(u64 cycles, const std::function<void()>& keep_going = {});
  // So many threads run the partitions of the network (src/partition.hpp); the state they come to is the same. With one
  // partition, and between collect() and apply(), there is one.
  void set_threads(u32 threads);  // throws ConfigError
  u32 threads() const { return threads_; }
  bool drain(u64 most_cycles, const std::function<void()>& keep_going = {});
  // Runs a workload until every rank has finished, none can go on, or `most_cycles` have passed. Returns true when
  // finished.
  bool run_workload(u64 most_cycles, const std::function<void()>& keep_going = {});
  bool workload_finished() const;
  bool workload_stuck() const;          // ranks wait for what will never come
  std::string waiting(u32 most) const;  // which ranks, and for what
  void stop_sources();
  bool empty() const;

  // The two halves of a cycle. Between them, batch() holds the requests; choices[i] is an index into the candidates of
  // request i. Throws ConfigError on a choice outside its candidates and leaves the batch as it was.
  u32 collect();
  // `log_probability`, one per choice of a seam's decisions, goes into the transitions; none: not a number.
  void apply(const u32* choices, std::size_t count, const float* log_probability = nullptr);
  // Before apply(), with routing=external and feedback: the estimate in ns that goes back upstream with the packet of
  // each request (negative: none), and the row of the upstream router's table that it belongs to.
  void answer(const float* values, const u32* rows, std::size_t count);

  void begin_window() { flitgym::begin_window(state_); }
  void end_window() { flitgym::end_window(*network_, state_); }
  void set_series_interval(u32 cycles);
  void watch(u32 terminal, u32 sequence);

  // Delay of all packets up to now, per terminal by source, in packet-cycles; see src/learning/demand.hpp.
  const std::vector<double>& accrued_delay();

  u64 hash() const;        // of all of State
  std::string snapshot();  // State as bytes
  // Takes bytes from anywhere: whole or not at all, and only if the state in them holds together (src/verify).
  // `asking`: the input VCs whose heads ask for a route, of a state that was taken between collect() and apply().
  void restore(const std::string& bytes, const std::vector<u32>* asking = nullptr);
  // A simulation between collect() and apply() is its State and the list of input VCs that ask; the batch follows.
  const std::vector<u32>& asking() const { return workspace_.routes; }
  void resume(const std::vector<u32>& asking);  // after collect() has been done elsewhere

  // A user is about to write into a learned table, and may keep on doing so: it is checked before the simulation goes
  // on.
  void expose_table(u32 memory);
  // [routers, rows, columns]; throws ConfigError and leaves the table as it was
  void set_table(u32 memory, const float* values);

  // Who holds this simulation while other threads run: 0 nobody, else the number of that process
  // (bindings/exclusive.hpp).
  std::atomic<u32>& holder() { return holder_; }
  // How far it is, for other threads to see while it runs.
  struct Progress {
    std::atomic<u64> now{0}, packets_in_network{0}, blocks_done{0};
  };
  const Progress& progress() const { return progress_; }

  // Throws CoreError if flits, credits and buffer slots do not add up (tests call it every cycle).
  void check_conservation() const;

 private:
  void guard();
  void ready(u64 cycles);  // throws if this simulation must not go on for so many cycles
  void check_table(u32 memory);
  const std::vector<u64>& used_entries(u32 memory);
  void show_progress();
  template <class Work>
  void whole_or_broken(Work work);
  void skip_idle(Cycle until);
  void run_partitions(Cycle until);
  std::string deadlock_report() const;

  std::shared_ptr<const Network> network_;
  State state_;
  Workspace workspace_;
  std::atomic<u32> holder_{0};
  Progress progress_;
  std::unique_ptr<learning::DemandArea> demand_;  // counted so far; not state
  u32 threads_ = 1;
  std::unique_ptr<class Team> team_;        // made when it is first needed
  std::vector<Workspace> helpers_;          // of its other threads
  u64 guarded_moves_ = 0, guarded_at_ = 0;  // the watchdog
  std::string broken_;                      // why it stopped in the middle of a cycle; empty: it did not
  struct WatchedTable {
    std::shared_ptr<const std::vector<u64>> used;  // made when it is first asked for
    // views of the table are about; one was given out since the last check
    bool exposed = false, touched = false;
    u64 checked_at = 0;  // cycle
  };
  std::vector<WatchedTable> tables_;  // [memories] means something for those that are learned tables
};

u64 state_bytes(const State& state);  // memory held by its arrays

}  // namespace flitgym
