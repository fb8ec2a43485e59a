// placement=mapped: places ranks so that their communication takes few hops.

#include <ctime>

#include "mapping/quality.hpp"
#include "simcore/mapping/problem.hpp"
#include "simcore/plugins.hpp"
#include "simcore/registry.hpp"

namespace flitgym::workload {

static double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Consecutive ranks of a job, which stay together on a node. With one rank per node, a set is a rank.
struct RankSet {
  u32 job, first, ranks;
};
struct RankSets {
  std::vector<RankSet> all;
  std::vector<u32> of_rank;  // [ranks]

  RankSets(const std::vector<Job>& jobs, u32 most) {
    for (u32 j = 0; j < jobs.size(); j++)
      for (u32 r = 0; r < jobs[j].ranks; r++) {
        if (r % most == 0) all.push_back({j, jobs[j].first_rank + r, 0});
        all.back().ranks++;
        of_rank.push_back(static_cast<u32>(all.size()) - 1);
      }
  }
};

static std::vector<ParamSpec> mapping_params() {
  std::vector<std::string> sets = {"any"};
  for (const std::string& policy : placement_policies())
    if (policy != "mapped") sets.push_back(policy);
  return {
      choice("mapping", "greedy", registered_names<mapping::MapperSpec>(),
             "for placement=mapped: how ranks are mapped to terminals by the bytes they exchange; in_order keeps their "
             "order and serves as a start for mapping_refine"),
      choice("mapping_refine", "threshold_accepting", {"threshold_accepting", "none"},
             "how the mapping is improved afterwards"),
      integer("mapping_steps", 1000000, 0, i64{1} << 50, "", "number of trials of threshold accepting"),
      real(
          "mapping_time_s", 0, 0, 1e6, "s",
          "time limit of threshold accepting instead of mapping_steps, which makes the result depend on the machine; 0 "
          "= use mapping_steps"),
      choice("mapping_terminals", "any", sets,
             "terminals that ranks may be mapped to: any = all free ones, all jobs together; or for each job the ones "
             "that the named placement would give it"),
  };
}

// All jobs are mapped together onto all free terminals, or each job onto the terminals that another placement would
// give it (`mapping_terminals`). With several ranks per node, the ranks of a job are divided into sets of consecutive
// ranks, and sets are mapped to nodes by the bytes between them.
static std::shared_ptr<const MappingFacts> map_ranks(const Params& params, const Network& net, const Nodes& nodes,
                                                     const std::vector<Job>& jobs, std::vector<u32>& rank_terminal) {
  const double began = cpu_seconds();
  const CommunicationMatrix of_ranks = communication_matrix(jobs);
  const RankSets sets(jobs, nodes.ranks);
  // Bytes between the sets.
  mapping::WeightedGraph application = mapping::application_graph(of_ranks);
  if (nodes.ranks > 1) application = mapping::quotient(application, sets.of_rank, static_cast<u32>(sets.all.size()));
  std::vector<u32> scratch(application.vertices(), kNone);
  const auto seed = params.seed("placement_seed");
  std::vector<char> used(nodes.count, 0);
  for (const u32 t : rank_terminal)
    if (t != kNone) used[nodes.of_terminal[t]] = 1;
  std::vector<u32> left(jobs.size(), 0);  // sets without a node
  for (const RankSet& one : sets.all) left[one.job] += rank_terminal[one.first] == kNone;
  const std::string& set = params.text("mapping_terminals");
  std::vector<u32> free;  // the first terminals of free nodes
  for (const u32 n : placement_order(net, nodes, set == "any" ? "linear" : set, seed, left))
    if (!used[n]) free.push_back(nodes.first_terminal(n));
  if (const auto wanted = std::accumulate(left.begin(), left.end(), u64{0}); wanted > free.size())
    throw ConfigError("workload.placement: mapped needs ", wanted, " free nodes, but only ", free.size(),
                      " are free of the terminals given to jobs; use fewer ranks");

  auto facts = std::make_shared<MappingFacts>();
  facts->mapper = params.text("mapping");
  if (mapping::mapping_library().load) mapping::mapping_library().load(facts->mapper);
  const mapping::MapperSpec& mapper = noted(registry<mapping::MapperSpec>().find(facts->mapper)->second);
  const bool refine = params.text("mapping_refine") == "threshold_accepting";
  const mapping::Refinement how{static_cast<u64>(params.integer("mapping_steps")), params.real("mapping_time_s")};
  double start = 0, refined = 0;  // bytes x hops
  const auto map = [&](const std::vector<u32>& mapped, const std::vector<u32>& terminals) {
    if (mapped.empty()) return;
    mapping::MappingProblem problem{mapping::subgraph(application, mapped, scratch), mapping::sites_of(net, terminals),
                                    seed};
    const double ready = cpu_seconds();
    const mapping::Mapping first = mapper.map(problem);
    const double done = cpu_seconds();
    const mapping::Mapping chosen = refine ? mapping::threshold_accepting(problem, first, how) : first;
    facts->mapper_cpu_seconds += done - ready;
    facts->refine_cpu_seconds += cpu_seconds() - done;
    start += mapping::hop_bytes(problem, first);
    refined += mapping::hop_bytes(problem, chosen);
    for (u32 k = 0; k < mapped.size(); k++) {
      const u32 node = nodes.of_terminal[problem.sites.terminal[chosen[k]]];
      const RankSet& one = sets.all[mapped[k]];
      for (u32 i = 0; i < one.ranks; i++) rank_terminal[one.first + i] = nodes.terminal(node, i);
    }
  };
  std::vector<u32> chosen_sets;
  std::size_t at = 0;
  for (u32 j = 0; j < jobs.size(); j++) {
    for (u32 k = 0; k < sets.all.size(); k++)
      if (sets.all[k].job == j && rank_terminal[sets.all[k].first] == kNone) chosen_sets.push_back(k);
    if (set == "any") continue;
    map(chosen_sets, {free.begin() + static_cast<std::ptrdiff_t>(at),
                      free.begin() + static_cast<std::ptrdiff_t>(at + chosen_sets.size())});
    at += chosen_sets.size();
    chosen_sets.clear();
  }
  if (set == "any") map(chosen_sets, free);
  facts->prepare_cpu_seconds = cpu_seconds() - began - facts->mapper_cpu_seconds - facts->refine_cpu_seconds;

  const mapping::MappingQuality quality =
      nodes.ranks == 1 ? mapping::quality_on_minimal_paths(net, of_ranks, rank_terminal)
                       : mapping::quality_on_minimal_paths(net, mapping::between_nodes(of_ranks, nodes, rank_terminal),
                                                           rank_terminal);
  facts->dilation = quality.dilation;
  facts->start_dilation = quality.bytes > 0 ? quality.dilation + (start - refined) / quality.bytes : 0;
  facts->worst_congestion = quality.worst_congestion;
  facts->mean_congestion = quality.mean_congestion;
  return facts;
}

static std::vector<double> load_of(const Network& net, const Nodes& nodes, const Program& program,
                                   const std::vector<u32>& rank_terminal) {
  mapping::MappingQuality unused;
  const CommunicationMatrix between = mapping::between_nodes(communication_matrix(program), nodes, rank_terminal);
  return mapping::load_on_minimal_paths(net, between, rank_terminal, unused);
}

static const RankMapping mapping_of_ranks{mapping_params, map_ranks, load_of};
const bool added = (rank_mapping() = &mapping_of_ranks, true);

}  // namespace flitgym::workload
