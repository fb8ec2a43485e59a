#include "workload/place.hpp"

namespace flitgym::workload {

static u32 nodes_of(u32 ranks, const Nodes& nodes) { return (ranks + nodes.ranks - 1) / nodes.ranks; }

// Terminals and nodes that ranks have taken.
class Places {
 public:
  Places(const Network& net, const Nodes& nodes, bool share)
      : nodes_(nodes), share_(share), ranks_on_(net.terminals, 0), job_on_(net.terminals, kNone),
        job_of_node_(nodes.count, kNone) {}

  void take(u32 terminal, u32 job) {
    ranks_on_[terminal]++;
    job_on_[terminal] = job;
    if (u32& first = job_of_node_[nodes_.of_terminal[terminal]]; first == kNone) first = job;
  }
  bool full(u32 terminal) const { return ranks_on_[terminal] == nodes_.ranks_per_nic(); }
  bool nic_of_other(u32 terminal, u32 job) const { return job_on_[terminal] != kNone && job_on_[terminal] != job; }
  // The job that has the node for itself; kNone: the given job may use it.
  u32 owner(u32 node, u32 job) const { return share_ || job_of_node_[node] == job ? kNone : job_of_node_[node]; }
  // The terminal for the job's next rank on a node; kNone: there is no room.
  u32 next_on(u32 node, u32 job) const {
    if (owner(node, job) != kNone) return kNone;
    for (u32 k = 0; k < nodes_.nics; k++)
      if (const u32 t = nodes_.terminals[std::size_t{node} * nodes_.nics + k]; !full(t) && !nic_of_other(t, job))
        return t;
    return kNone;
  }

 private:
  const Nodes& nodes_;
  const bool share_;
  std::vector<u32> ranks_on_, job_on_;  // [terminals]
  std::vector<u32> job_of_node_;        // [nodes] the first job with a rank there, kNone
};

static void check_given(const std::vector<u32>& given, u32 j, const Network& net, const Workload& w,
                        const Places& places, u32 t) {
  const std::string where = "workload.jobs." + w.jobs[j].name + ".terminals: ", which = "terminal " + std::to_string(t);
  const Nodes& nodes = w.nodes;
  if (given.size() != w.jobs[j].ranks)
    throw ConfigError(where, given.size(), " terminals for ", w.jobs[j].ranks, " ranks");
  if (t >= net.terminals)
    throw ConfigError(where, which, " does not exist; the network has ", net.terminals, " terminals");
  if (nodes.of_terminal[t] == kNone)
    throw ConfigError(where, which, " belongs to no complete node of ", nodes.nics, " terminals");
  if (places.full(t))
    throw ConfigError(where, which,
                      nodes.ranks_per_nic() == 1
                          ? " is used twice"
                          : " has more than the " + std::to_string(nodes.ranks_per_nic()) + " ranks that share a NIC");
  if (places.nic_of_other(t, j)) throw ConfigError(where, which, " is used by another job; jobs do not share a NIC");
  if (const u32 other = places.owner(nodes.of_terminal[t], j); other != kNone)
    throw ConfigError(where, which, " is on a node of job '", w.jobs[other].name,
                      "'; choose another node, or workload.share_nodes=true");
}

static void fill_nodes(const std::vector<u32>& order, Places& places, Workload& w) {
  std::size_t at = 0;
  for (u32 r = 0; r < w.ranks(); r++) {
    worked(8);
    u32& terminal = w.rank_terminal[r];
    if (terminal != kNone) continue;
    while (at < order.size() && (terminal = places.next_on(order[at], w.rank_job[r])) == kNone) at++;
    if (terminal == kNone)
      throw ConfigError("workload: job '", w.jobs[w.rank_job[r]].name, "' finds no node for its rank ",
                        r - w.jobs[w.rank_job[r]].first_rank, " of ", w.jobs[w.rank_job[r]].ranks,
                        ", because the given terminals of other jobs occupy parts of the ", w.nodes.count,
                        " nodes; use fewer ranks, or workload.share_nodes=true");
    places.take(terminal, w.rank_job[r]);
  }
}

void check_room(const Nodes& nodes, const std::vector<Job>& jobs, bool share_nodes, u32 terminals) {
  u64 ranks = 0, whole = 0, nics = 0;
  for (const Job& job : jobs) {
    ranks += job.ranks;
    whole += nodes_of(job.ranks, nodes);
    nics += (job.ranks + nodes.ranks_per_nic() - 1) / nodes.ranks_per_nic();
  }
  if (nodes.ranks == 1) {
    if (ranks > terminals)
      throw ConfigError("workload: the jobs have ", ranks, " ranks in total, but the network has only ", terminals,
                        " terminals for one rank each");
    return;
  }
  if (share_nodes ? nics > u64{nodes.count} * nodes.nics : whole > nodes.count)
    throw ConfigError("workload: the jobs have ", ranks, " ranks in total and need ", share_nodes ? nics : whole,
                      share_nodes ? " NICs" : " nodes", ", but the network has only ", nodes.count, " nodes",
                      share_nodes ? " with " + std::to_string(nodes.nics) + " NICs" : "", " for ", nodes.ranks,
                      " ranks each; use fewer ranks or more ranks per node");
}

void place(const WorkloadSection& section, const Params& params, const Network& net, Workload& w) {
  const Nodes& nodes = w.nodes;
  w.terminal_rank.assign(net.terminals, kNone);
  if (params.text("scheduler") != "none") {
    for (u32 j = 0; j < w.job_count(); j++) {
      if (!section.jobs[j].terminals.empty())
        throw ConfigError("workload.jobs.", w.jobs[j].name, ".terminals: workload.scheduler places the jobs");
      w.rank_job.insert(w.rank_job.end(), w.jobs[j].ranks, j);
    }
    w.rank_terminal.assign(w.rank_job.size(), kNone);
    w.rank_node = w.rank_terminal;
    return;
  }
  Places places(net, nodes, params.boolean("share_nodes"));
  std::vector<u32> left;  // [jobs] nodes for ranks without given terminals
  for (u32 j = 0; j < w.job_count(); j++) {
    const auto& given = section.jobs[j].terminals;
    left.push_back(given.empty() ? nodes_of(w.jobs[j].ranks, nodes) : 0);
    w.rank_job.insert(w.rank_job.end(), w.jobs[j].ranks, j);
    if (given.empty()) w.rank_terminal.insert(w.rank_terminal.end(), w.jobs[j].ranks, kNone);
    for (const u32 t : given) {
      check_given(given, j, net, w, places, t);
      places.take(t, j);
      w.rank_terminal.push_back(t);
    }
  }
  const std::string& policy = params.text("placement");
  if (policy == "least_interfering")
    throw ConfigError("workload.placement: least_interfering needs workload.scheduler");
  if (policy == "mapped") {
    w.mapping = rank_mapping()->map(params, net, nodes, w.jobs, w.rank_terminal);
  } else {
    fill_nodes(placement_order(net, nodes, policy, params.seed("placement_seed"), left), places, w);
  }
  for (u32 r = w.ranks(); r-- > 0;) w.terminal_rank[w.rank_terminal[r]] = r;
  for (const u32 t : w.rank_terminal) w.rank_node.push_back(nodes.of_terminal[t]);
}

}  // namespace flitgym::workload
