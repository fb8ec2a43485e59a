#include "workload/mapped.hpp"

#include <algorithm>
#include <ctime>
#include <map>

#include "mapping/problem.hpp"
#include "mapping/quality.hpp"
#include "simcore/error.hpp"
#include "simcore/plugins.hpp"
#include "simcore/registry.hpp"

namespace flitgym::workload {

namespace {

double cpu_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Communication of all ranks of all jobs. Jobs do not communicate with each other. Jobs with the same program are read
// once.
CommunicationMatrix matrix_of(const std::vector<Job>& jobs) {
  CommunicationMatrix all;
  std::map<const Program*, CommunicationMatrix> known;
  for (const Job& job : jobs) {
    const auto [at, added] = known.try_emplace(job.program.get());
    if (added) at->second = communication_matrix(*job.program);
    for (u32 r = 0; r < job.ranks; r++) all.add_rank(at->second, r, job.first_rank);
  }
  return all;
}

// Rows and columns of the given ranks.
CommunicationMatrix among(const CommunicationMatrix& matrix, const std::vector<u32>& ranks) {
  std::vector<u32> number(matrix.ranks, kNone);
  for (u32 k = 0; k < ranks.size(); k++) number[ranks[k]] = k;
  CommunicationMatrix part;
  part.ranks = static_cast<u32>(ranks.size());
  for (const u32 r : ranks) {
    for (u64 e = matrix.first[r]; e < matrix.first[r + 1]; e++)
      if (number[matrix.peer[e]] != kNone) {
        part.peer.push_back(number[matrix.peer[e]]);
        part.bytes.push_back(matrix.bytes[e]);
      }
    part.first.push_back(part.peer.size());
  }
  return part;
}

}  // namespace

std::vector<ParamSpec> mapping_params() {
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

std::shared_ptr<const MappingFacts> map_ranks(const Params& params, const Network& net, const std::vector<Job>& jobs,
                                              std::vector<u32>& rank_terminal) {
  const double began = cpu_seconds();
  const CommunicationMatrix matrix = matrix_of(jobs);
  const auto seed = static_cast<u64>(params.integer("placement_seed"));
  std::vector<char> used(net.terminals, 0);
  for (const u32 t : rank_terminal)
    if (t != kNone) used[t] = 1;
  std::vector<u32> left;  // [jobs] ranks without a terminal
  for (const Job& job : jobs)
    left.push_back(static_cast<u32>(
        std::count(rank_terminal.begin() + job.first_rank, rank_terminal.begin() + job.first_rank + job.ranks, kNone)));
  const std::string& set = params.text("mapping_terminals");
  std::vector<u32> free;
  for (const u32 t : placement_order(net, set == "any" ? "linear" : set, seed, left))
    if (!used[t]) free.push_back(t);

  auto facts = std::make_shared<MappingFacts>();
  facts->mapper = params.text("mapping");
  if (mapping::mapping_library().load) mapping::mapping_library().load(facts->mapper);
  const mapping::MapperSpec& mapper = noted(registry<mapping::MapperSpec>().find(facts->mapper)->second);
  const bool refine = params.text("mapping_refine") == "threshold_accepting";
  const mapping::Refinement how{static_cast<u64>(params.integer("mapping_steps")), params.real("mapping_time_s")};
  double start = 0, refined = 0;  // bytes x hops
  const auto map = [&](const std::vector<u32>& ranks, const std::vector<u32>& terminals) {
    if (ranks.empty()) return;
    mapping::MappingProblem problem{mapping::application_graph(among(matrix, ranks)), mapping::sites_of(net, terminals),
                                    seed};
    const double ready = cpu_seconds();
    const mapping::Mapping first = mapper.map(problem);
    const double done = cpu_seconds();
    const mapping::Mapping chosen = refine ? mapping::threshold_accepting(problem, first, how) : first;
    facts->mapper_cpu_seconds += done - ready;
    facts->refine_cpu_seconds += cpu_seconds() - done;
    start += mapping::hop_bytes(problem, first);
    refined += mapping::hop_bytes(problem, chosen);
    for (u32 k = 0; k < ranks.size(); k++) rank_terminal[ranks[k]] = problem.sites.terminal[chosen[k]];
  };
  std::vector<u32> ranks;
  std::size_t at = 0;
  for (u32 j = 0; j < jobs.size(); j++) {
    for (u32 r = jobs[j].first_rank; r < jobs[j].first_rank + jobs[j].ranks; r++)
      if (rank_terminal[r] == kNone) ranks.push_back(r);
    if (set == "any") continue;
    map(ranks, {free.begin() + static_cast<std::ptrdiff_t>(at),
                free.begin() + static_cast<std::ptrdiff_t>(at + ranks.size())});
    at += ranks.size();
    ranks.clear();
  }
  if (set == "any") map(ranks, free);
  facts->prepare_cpu_seconds = cpu_seconds() - began - facts->mapper_cpu_seconds - facts->refine_cpu_seconds;

  const mapping::MappingQuality quality = mapping::quality_on_minimal_paths(net, matrix, rank_terminal);
  facts->dilation = quality.dilation;
  facts->start_dilation = quality.bytes > 0 ? quality.dilation + (start - refined) / quality.bytes : 0;
  facts->worst_congestion = quality.worst_congestion;
  facts->mean_congestion = quality.mean_congestion;
  return facts;
}

}  // namespace flitgym::workload
