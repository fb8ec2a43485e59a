// The scheduler: submitted jobs wait in a queue for nodes, and the nodes of a finished job are free again.
//
// It acts at every submission and every end of a job, in the order of time. At equal times, ends come first. The ranks
// of a job start `launch_ps` after the decision. No partition window is longer than this time. So decisions can wait
// for the end of the window, and their results do not depend on its length.
//
// First come: jobs start in the order of their submission. Backfilling: a job may overtake if it does not delay the
// first job of the queue by the estimates (EASY: Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 12(6), 2001). The first
// job has a reservation: the time at which the running jobs will have left enough nodes. An overtaking job ends before
// this time, or takes nodes that the first job leaves.
#include "core/hosts/engine.hpp"
#include "simcore/stats.hpp"

namespace flitgym::workload {

namespace {

constexpr u64 kStream = u64{0x71756575} << 32;  // of placements, separate from the draws of packets
constexpr double kUnits = 1048576.0 * 4096;     // of the load, per byte and ps; whole numbers add up exactly

class Queue {
 public:
  Queue(const Network& net, State& s) : net_(net), s_(s) {
    for (u32 n = 0; n < w_.nodes.count; n++) free_ += !(used_[n] = rank_[w_.nodes.first_terminal(n)] != kNone);
  }

  void run() {
    std::map<u64, std::vector<u32>> ends;  // by time; submissions add times without ends
    for (u32 j = 0; j < w_.job_count(); j++) {
      if (start_[j] == Scheduler::kSubmitted) {
        start_[j] = Scheduler::kWaiting;
        ends[w_.jobs[j].start_ps];
      } else if (running(j) && sums_[j].ranks_done == w_.jobs[j].ranks) {
        ends[sums_[j].finished].push_back(j);
      }
    }
    for (const auto& [now, jobs] : ends) {
      for (const u32 j : jobs) leave(j);
      start_jobs(now);
    }
  }

 private:
  u32 nodes_of(u32 j) const { return (w_.jobs[j].ranks + w_.nodes.ranks - 1) / w_.nodes.ranks; }
  bool running(u32 j) const {
    const u32 first = w_.jobs[j].first_rank;
    return start_[j] >= 0 && rank_[terminal_[first]] == first;
  }
  u64 begin(u64 now) const { return now + own_.launch_ps; }

  void start_jobs(u64 now) {
    std::vector<u32> queue;
    for (u32 j = 0; j < w_.job_count(); j++)
      if (start_[j] == Scheduler::kWaiting && w_.jobs[j].start_ps <= now) queue.push_back(j);
    std::stable_sort(queue.begin(), queue.end(),
                     [&](u32 a, u32 b) { return w_.jobs[a].start_ps < w_.jobs[b].start_ps; });
    auto next = queue.begin();
    for (; next != queue.end() && nodes_of(*next) <= free_; ++next) enter(*next, now);
    if (next == queue.end() || !own_.backfills) return;

    std::map<u64, u32> ends;  // nodes that running jobs leave, by the estimated time
    for (u32 j = 0; j < w_.job_count(); j++)
      if (running(j)) ends[std::max(now, static_cast<u64>(start_[j]) + w_.jobs[j].estimate_ps)] += nodes_of(j);
    u32 then_free = free_;
    auto reserved = ends.begin();
    for (; then_free + reserved->second < nodes_of(*next); ++reserved) then_free += reserved->second;
    u32 spare = then_free + reserved->second - nodes_of(*next);
    while (++next != queue.end()) {
      const u32 nodes = nodes_of(*next);
      const bool in_time = begin(now) + w_.jobs[*next].estimate_ps <= reserved->first;
      if (nodes > free_ || (!in_time && nodes > spare)) continue;
      enter(*next, now);
      if (!in_time) spare -= nodes;
    }
  }

  void enter(u32 j, u64 now) {
    const Job& job = w_.jobs[j];
    const std::vector<u32> terminals = own_.load.kept() ? least_interfering(j) : terminals_by(j, own_.placement);
    std::copy(terminals.begin(), terminals.end(), terminal_ + job.first_rank);
    for (u32 r = job.first_rank; r < job.first_rank + job.ranks; r++) {
      if (rank_[terminal_[r]] == kNone) rank_[terminal_[r]] = r;
      used_[w_.nodes.of_terminal[terminal_[r]]] = 1;
      start_rank(net_, s_, r, begin(now));
    }
    free_ -= nodes_of(j);
    start_[j] = static_cast<double>(begin(now));
    if (own_.load.kept()) add_load(load_of(j, terminals), 1);
  }

  void leave(u32 j) {
    const Job& job = w_.jobs[j];
    for (u32 r = job.first_rank; r < job.first_rank + job.ranks; r++) {
      rank_[terminal_[r]] = kNone;
      used_[w_.nodes.of_terminal[terminal_[r]]] = 0;
    }
    free_ += nodes_of(j);
    const u32* const first = terminal_ + job.first_rank;
    if (own_.load.kept()) add_load(load_of(j, {first, first + job.ranks}), -1);
  }

  // The ranks fill one free node after the other, in the order of a placement.
  std::vector<u32> terminals_by(u32 j, const std::string& placement) const {
    const u64 seed = draw(own_.placement_seed, kStream, j);
    const auto order = placement_order(net_, w_.nodes, placement, seed, {nodes_of(j)}, used_);
    std::vector<u32> terminals;
    for (u32 r = 0; r < w_.jobs[j].ranks; r++)
      terminals.push_back(w_.nodes.terminal(order[r / w_.nodes.ranks], r % w_.nodes.ranks));
    return terminals;
  }

  // The placement whose load on minimal paths has the least in common with that of the running jobs. The common load
  // is the smaller one of the two on each channel, summed over the channels.
  std::vector<u32> least_interfering(u32 j) const {
    std::vector<u32> best;
    double least = INFINITY;
    for (const char* placement : {"linear", "clustered", "clustered_router", "random"}) {
      const std::vector<u32> terminals = terminals_by(j, placement);
      const std::vector<double> load = load_of(j, terminals);
      double common = 0;
      for (u32 p = 0; p < load.size(); p++) common += std::min(load[p], own_.load.of(s_)[p]);
      if (common >= least) continue;
      least = common;
      best = terminals;
    }
    return best;
  }
  std::vector<double> load_of(u32 j, const std::vector<u32>& terminals) const {
    std::vector<double> load = rank_mapping()->load(net_, w_.nodes, *w_.jobs[j].program, terminals);
    const double unit = kUnits / static_cast<double>(std::max<u64>(1, w_.jobs[j].estimate_ps));
    for (double& x : load) x = std::round(x * unit);
    return load;
  }
  void add_load(const std::vector<double>& load, double sign) {
    for (u32 p = 0; p < load.size(); p++) own_.load.of(s_)[p] += sign * load[p];
  }

  const Network& net_;
  State& s_;
  const Workload& w_ = *net_.workload;
  const Scheduler& own_ = w_.scheduler;
  double* const start_ = own_.start.of(s_);
  u32 *const terminal_ = own_.terminal.of(s_), *const rank_ = own_.rank.of(s_);
  const std::vector<JobTotals> sums_ = job_sums(s_);
  std::vector<char> used_ = std::vector<char>(w_.nodes.count);  // [nodes]
  u32 free_ = 0;                                                // nodes
};

}  // namespace

Scheduler declare_scheduler(const Params& params, Network& net, const Workload& w) {
  Scheduler own;
  own.backfills = params.text("scheduler") == "backfilling";
  own.placement = params.text("placement");
  own.placement_seed = params.seed("placement_seed");
  own.launch_ps = static_cast<u64>(params.real("launch_ns") * 1000);
  const std::string where = "workload.scheduler: ", launch = to_string(Value{params.real("launch_ns")});
  if (own.launch_ps < w.cycle_ps)
    throw ConfigError("workload.launch_ns: ", launch, " ns is shorter than a cycle, router.cycle_ns");
  if (own.placement == "mapped" || params.boolean("share_nodes") || w.flows)
    throw ConfigError(where, "a scheduler does not support placement=mapped, share_nodes=true or flows");
  for (const Job& job : w.jobs)
    if (own.backfills && job.estimate_ps == 0)
      throw ConfigError("workload.jobs.", job.name, ".estimate_ns: backfilling needs the run times that users expect");
  const auto shape = [](const char* name, const char* meaning, Per per, u32 columns, double fill) {
    return MemoryShape{.name = name,
                       .meaning = meaning,
                       .per = per,
                       .columns = columns,
                       .fill = fill,
                       .lowest = Scheduler::kFuture,
                       .or_none = true,
                       .between_windows = true};
  };
  own.terminal = declare<u32>(net, shape("queue_terminal", "terminal of each rank", Per::kNetwork, w.ranks(), kNone));
  own.rank =
      declare<u32>(net, shape("queue_rank", "lowest rank at each terminal", Per::kNetwork, net.terminals, kNone));
  own.start = declare<double>(net, shape("queue_start", "start of the job in ps; -3: not submitted, -1: it waits",
                                         Per::kJob, 1, Scheduler::kFuture));
  if (own.placement == "least_interfering")
    own.load =
        declare<double>(net, shape("queue_load", "load of the running jobs", Per::kNetwork, net.router_ports, 0));
  return own;
}

void schedule(const Network& net, State& s) {
  if (!net.workload || !net.workload->scheduled()) return;
  u32 news = 0;
  for (Hosts& hosts : s.hosts) news |= std::exchange(hosts.totals.news, 0);
  if (!news) return;
  const Uninterrupted whole;
  Queue(net, s).run();
}

}  // namespace flitgym::workload
