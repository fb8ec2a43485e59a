#include <optional>

#include "exclusive.hpp"
#include "mapping/quality.hpp"
#include "simcore/mapping/problem.hpp"
#include "simcore/tables/engine.hpp"
#include "simcore/workload.hpp"

// Calls a function of _mapping.py with a graph. It returns an integer below `limit` for each vertex. The caller runs
// without the GIL.
template <class... More>
std::vector<u32> ask_python(const char* function, const mapping::WeightedGraph& graph, u32 limit, const More&... more) {
  const py::gil_scoped_acquire gil;
  const py::object answer = py::module_::import("flitgym.simcore._mapping")
                                .attr(function)(copied(graph.first), copied(graph.peer), copied(graph.weight), more...);
  return integers_of<u32>(answer, function, limit - 1);
}

static void load(const std::string& mapper) {
  const py::gil_scoped_acquire gil;
  py::module_::import("flitgym.simcore._mapping").attr("load")(mapper);
}

static std::vector<u32> reverse_cuthill_mckee(const mapping::WeightedGraph& graph) {
  return ask_python("reverse_cuthill_mckee", graph, graph.vertices());
}

static std::vector<u32> metis_partition(const mapping::WeightedGraph& graph, const std::vector<u32>& sizes, u64 seed) {
  const py::gil_scoped_acquire gil;
  return ask_python("partition", graph, static_cast<u32>(sizes.size()), copied(sizes), seed);
}

static py::object facts_of(const Simulation& s) {
  const auto& w = s.network().workload;
  if (!w || !w->mapping) return py::none();
  const MappingFacts& m = *w->mapping;
  return py::dict("mapper"_a = m.mapper, "start_dilation"_a = m.start_dilation, "dilation"_a = m.dilation,
                  "worst_congestion_bytes"_a = m.worst_congestion, "mean_congestion_bytes"_a = m.mean_congestion,
                  "prepare_cpu_seconds"_a = m.prepare_cpu_seconds, "mapper_cpu_seconds"_a = m.mapper_cpu_seconds,
                  "refine_cpu_seconds"_a = m.refine_cpu_seconds);
}

static workload::CommunicationMatrix matrix_from(u32 terminals, const Integers& first, const Integers& peer,
                                                 const Reals& bytes) {
  workload::CommunicationMatrix matrix;
  if (first.size() < 1 || static_cast<u64>(first.size()) > u64{terminals} + 1)
    throw ConfigError("matrix: ", first.size() - 1, " ranks, but the network has only ", terminals, " terminals");
  matrix.ranks = static_cast<u32>(first.size() - 1);
  for (u32 r = 0; r < matrix.ranks; r++) {
    for (i64 e = first.at(r); e < first.at(r + 1); e++) {
      if (!(bytes.at(e) >= 0 && bytes.at(e) <= 1e300))
        throw ConfigError("matrix: rank ", r, " sends ", bytes.at(e), " bytes to ", peer.at(e),
                          "; valid are finite numbers from 0");
      if (peer.at(e) == r || bytes.at(e) == 0) continue;
      matrix.peer.push_back(static_cast<u32>(peer.at(e)));
      matrix.bytes.push_back(bytes.at(e));
    }
    matrix.first.push_back(matrix.peer.size());
  }
  return matrix;
}

static std::vector<u32> terminals_from(const Network& net, u32 ranks, const py::object& given) {
  const std::vector<u32> terminals = integers_of<u32>(given, "terminals", net.terminals - 1);
  if (terminals.size() != ranks) throw ConfigError("terminals: ", terminals.size(), " terminals for ", ranks, " ranks");
  std::vector<char> used(net.terminals, 0);
  for (const u32 t : terminals)
    if (used[t]++) throw ConfigError("terminals: terminal ", t, " occurs twice");
  return terminals;
}

using SparseMatrix = std::tuple<Integers, Integers, Reals>;

static py::dict quality_of(Simulation& s, const std::optional<SparseMatrix>& matrix, const py::object& terminals,
                           const std::shared_ptr<tables::ForwardingTable>& table) {
  const Network& net = s.network();
  if (!net.workload && (!matrix || terminals.is_none()))
    throw ConfigError("mapping_quality(): the simulation has no workload; give a matrix and terminals");
  workload::CommunicationMatrix given;
  if (matrix) {
    const auto& [first, peer, bytes] = *matrix;
    const u32 most = net.workload ? std::max(net.terminals, net.workload->ranks()) : net.terminals;
    given = matrix_from(most, first, peer, bytes);
  } else {
    given = without_gil([&] { return workload::communication_matrix(net.workload->jobs); });
  }
  std::vector<u32> at;
  if (!terminals.is_none()) at = terminals_from(net, given.ranks, terminals);
  else if (given.ranks != net.workload->ranks())
    throw ConfigError("mapping_quality(): the matrix has ", given.ranks, " ranks, but the workload has ",
                      net.workload->ranks(), "; give the terminals, too");
  else if (net.workload->scheduled())
    throw ConfigError("mapping_quality(): the jobs of workload.scheduler have no fixed terminals; give the terminals");
  else at = net.workload->rank_terminal;
  if (terminals.is_none() && net.workload->has_links()) given = mapping::between_nodes(given, net.workload->nodes, at);
  const mapping::MappingQuality q = without_gil([&] {
    return table ? mapping::quality_under_table(net, *table, given, at)
                 : mapping::quality_on_minimal_paths(net, given, at);
  });
  return py::dict("bytes"_a = q.bytes, "dilation"_a = q.dilation, "worst_congestion_bytes"_a = q.worst_congestion,
                  "mean_congestion_bytes"_a = q.mean_congestion,
                  "worst_channel"_a =
                      q.worst_port == kNone
                          ? py::object(py::none())
                          : py::object(py::make_tuple(net.router_of_port(q.worst_port), net.local_port(q.worst_port))));
}

void bind_mapping(PySimulation& simulation) {
  mapping::mapping_library() = {&load, &reverse_cuthill_mckee, &metis_partition};
  simulation.def("mapping", alone(facts_of))
      .def("_mapping_quality", alone(quality_of), "matrix"_a.none(true), "terminals"_a, "table"_a.none(true));
}
