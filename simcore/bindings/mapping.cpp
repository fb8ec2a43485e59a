#include "mapping.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "exclusive.hpp"
#include "interrupt.hpp"
#include "mapping/mapped.hpp"
#include "mapping/quality.hpp"
#include "simcore/error.hpp"
#include "simcore/mapping/problem.hpp"
#include "simcore/workload.hpp"
#include "tables.hpp"
#include "views.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

using WholeNumbers = py::array_t<i64, py::array::c_style | py::array::forcecast>;
using Real = py::array_t<double, py::array::c_style | py::array::forcecast>;

template <class T>
py::array array_of(const std::vector<T>& values) {
  return copied(values.data(), {static_cast<py::ssize_t>(values.size())});
}

// Calls a function of _mapping.py with a graph. It returns an integer below `limit` for each vertex. The caller runs
// without the GIL.
template <class... More>
std::vector<u32> ask_python(const char* function, const mapping::WeightedGraph& graph, u32 limit, const More&... more) {
  const py::gil_scoped_acquire gil;
  const py::object given =
      py::module_::import("flitgym.simcore._mapping")
          .attr(function)(array_of(graph.first), array_of(graph.peer), array_of(graph.weight), more...);
  const WholeNumbers answer = py::cast<WholeNumbers>(given);
  if (answer.ndim() != 1 || answer.size() != static_cast<py::ssize_t>(graph.vertices()))
    throw CoreError(std::string(function) + ": the result must have a number for each vertex");
  std::vector<u32> values;
  for (py::ssize_t k = 0; k < answer.size(); k++) {
    if (answer.at(k) < 0 || answer.at(k) >= limit)
      throw CoreError(std::string(function) + ": " + "the result holds " + std::to_string(answer.at(k)) +
                      "; valid are numbers below " + std::to_string(limit));
    values.push_back(static_cast<u32>(answer.at(k)));
  }
  return values;
}

void load(const std::string& mapper) {
  const py::gil_scoped_acquire gil;
  py::module_::import("flitgym.simcore._mapping").attr("load")(mapper);
}

std::vector<u32> reverse_cuthill_mckee(const mapping::WeightedGraph& graph) {
  const std::vector<u32> order = ask_python("reverse_cuthill_mckee", graph, graph.vertices());
  std::vector<char> seen(order.size(), 0);
  for (const u32 v : order)
    if (seen[v]++)
      throw CoreError("reverse_cuthill_mckee: vertex " + std::to_string(v) + " occurs twice in the result");
  return order;
}

std::vector<u32> metis_partition(const mapping::WeightedGraph& graph, const std::vector<u32>& sizes, u64 seed) {
  const py::gil_scoped_acquire gil;
  return ask_python("partition", graph, static_cast<u32>(sizes.size()), array_of(sizes), seed);
}

py::object facts_of(const Simulation& s) {
  const auto& w = s.network().workload;
  if (!w || !w->mapping) return py::none();
  const MappingFacts& m = *w->mapping;
  py::dict d;
  d["mapper"] = m.mapper;
  d["start_dilation"] = m.start_dilation;
  d["dilation"] = m.dilation;
  d["worst_congestion_bytes"] = m.worst_congestion;
  d["mean_congestion_bytes"] = m.mean_congestion;
  d["prepare_cpu_seconds"] = m.prepare_cpu_seconds;
  d["mapper_cpu_seconds"] = m.mapper_cpu_seconds;
  d["refine_cpu_seconds"] = m.refine_cpu_seconds;
  return d;
}

workload::CommunicationMatrix matrix_from(u32 terminals, const WholeNumbers& first, const WholeNumbers& peer,
                                          const Real& bytes) {
  workload::CommunicationMatrix matrix;
  if (first.size() < 1 || static_cast<u64>(first.size()) > u64{terminals} + 1)
    throw ConfigError("matrix: " + std::to_string(first.size() - 1) + " ranks, but the network has only " +
                      std::to_string(terminals) + " terminals");
  matrix.ranks = static_cast<u32>(first.size() - 1);
  if (first.at(0) != 0 || first.at(matrix.ranks) != peer.size() || peer.size() != bytes.size())
    throw ConfigError("matrix: the offsets of its rows do not match its entries");
  for (u32 r = 0; r < matrix.ranks; r++) {
    if (first.at(r) > first.at(r + 1)) throw ConfigError("matrix: row " + std::to_string(r) + " ends before it begins");
    for (i64 e = first.at(r); e < first.at(r + 1); e++) {
      if (peer.at(e) < 0 || peer.at(e) >= matrix.ranks)
        throw ConfigError("matrix: rank " + std::to_string(r) + " sends to " + std::to_string(peer.at(e)) +
                          "; there are " + std::to_string(matrix.ranks) + " ranks");
      if (!(bytes.at(e) >= 0 && bytes.at(e) <= 1e300))
        throw ConfigError("matrix: rank " + std::to_string(r) + " sends " + std::to_string(bytes.at(e)) + " bytes to " +
                          std::to_string(peer.at(e)) + "; valid are finite numbers from 0");
      if (peer.at(e) == r || bytes.at(e) == 0) continue;
      matrix.peer.push_back(static_cast<u32>(peer.at(e)));
      matrix.bytes.push_back(bytes.at(e));
    }
    matrix.first.push_back(matrix.peer.size());
  }
  return matrix;
}

// The communication matrix of all ranks of the workload.
workload::CommunicationMatrix matrix_of(const Workload& w) {
  workload::CommunicationMatrix all;
  for (const Job& job : w.jobs) {
    const workload::CommunicationMatrix own = workload::communication_matrix(*job.program);
    for (u32 r = 0; r < job.ranks; r++) all.add_rank(own, r, job.first_rank);
  }
  return all;
}

std::vector<u32> terminals_from(const Network& net, u32 ranks, const WholeNumbers& given) {
  if (given.ndim() != 1 || given.size() != static_cast<py::ssize_t>(ranks))
    throw ConfigError("terminals: " + std::to_string(given.size()) + " terminals for " + std::to_string(ranks) +
                      " ranks");
  std::vector<u32> terminals;
  std::vector<char> used(net.terminals, 0);
  for (py::ssize_t k = 0; k < given.size(); k++) {
    if (given.at(k) < 0 || given.at(k) >= net.terminals)
      throw ConfigError("terminals: terminal " + std::to_string(given.at(k)) + " does not exist; the network has " +
                        std::to_string(net.terminals) + " terminals");
    const auto t = static_cast<u32>(given.at(k));
    if (used[t]++) throw ConfigError("terminals: terminal " + std::to_string(t) + " occurs twice");
    terminals.push_back(t);
  }
  return terminals;
}

py::dict quality(Simulation& s, const py::object& matrix, const py::object& terminals, const py::object& table) {
  const Network& net = s.network();
  if (!net.workload && (matrix.is_none() || terminals.is_none()))
    throw ConfigError("mapping_quality(): the simulation has no workload; give a matrix and terminals");
  workload::CommunicationMatrix given;
  if (!matrix.is_none()) {
    const py::tuple parts = matrix;
    given = matrix_from(net.workload ? std::max(net.terminals, net.workload->ranks()) : net.terminals,
                        py::cast<WholeNumbers>(parts[0]), py::cast<WholeNumbers>(parts[1]), py::cast<Real>(parts[2]));
  } else {
    given = without_gil([&] { return matrix_of(*net.workload); });
  }
  std::vector<u32> at;
  if (!terminals.is_none()) at = terminals_from(net, given.ranks, py::cast<WholeNumbers>(terminals));
  else if (given.ranks != net.workload->ranks())
    throw ConfigError("mapping_quality(): the matrix has " + std::to_string(given.ranks) +
                      " ranks, but the workload has " + std::to_string(net.workload->ranks()) +
                      "; give the terminals, too");
  else at = net.workload->rank_terminal;
  if (terminals.is_none() && net.workload->has_links()) given = workload::between_nodes(given, net.workload->nodes, at);
  const std::shared_ptr<const tables::ForwardingTable> routes =
      table.is_none() ? nullptr : built<PyTable>(table, "table").table;
  const mapping::MappingQuality q = without_gil([&] {
    return routes ? mapping::quality_under_table(net, *routes, given, at)
                  : mapping::quality_on_minimal_paths(net, given, at);
  });
  py::dict d;
  d["bytes"] = q.bytes;
  d["dilation"] = q.dilation;
  d["worst_congestion_bytes"] = q.worst_congestion;
  d["mean_congestion_bytes"] = q.mean_congestion;
  d["worst_channel"] = q.worst_port == kNone
                           ? py::object(py::none())
                           : py::object(py::make_tuple(net.router_of_port(q.worst_port), net.local_port(q.worst_port)));
  return d;
}

}  // namespace

py::tuple communication_of(const PyProgram& program) {
  const workload::CommunicationMatrix m = without_gil([&] { return workload::communication_matrix(*program.program); });
  return py::make_tuple(array_of(m.first), array_of(m.peer), array_of(m.bytes));
}

void bind_mapping(py::class_<Simulation>& simulation) {
  mapping::mapping_library() = {&load, &reverse_cuthill_mckee, &metis_partition};
  simulation.def("mapping", alone([](Simulation& s) { return facts_of(s); }))
      .def("_mapping_quality",
           alone([](Simulation& s, const py::object& matrix, const py::object& terminals, const py::object& table) {
             return quality(s, matrix, terminals, table);
           }),
           py::arg("matrix"), py::arg("terminals"), py::arg("table"));
}
