#include "workload/collectives/collectives.hpp"

#include <set>

#include "bindings.hpp"

constexpr u64 kBytesPerRank = 512;  // estimate of an operation, its dependencies and their copies in Python

struct OperationRow {
  i64 kind, size, peer, tag;
};
struct DependencyRow {
  i64 before, after;
};

// The operations of one member. Peers are positions in the group, and tags count from 0.
static py::dict operations(const std::string& name, u64 bytes, const std::string& algorithm, u32 ranks, u32 rank) {
  const workload::Collective which = workload::collective_named(name);
  const workload::Algorithm how = workload::algorithm_named(algorithm);
  Block block;
  without_gil([&] {
    claim_memory(ranks * kBytesPerRank, "ranks", "a collective of " + std::to_string(ranks) + " ranks");
    workload::Script script(block);
    workload::collective(script, workload::world(ranks, rank), which, bytes, how, 0);
  });
  std::vector<OperationRow> ops;
  for (const Op& op : block.ops) ops.push_back({static_cast<i64>(op.kind), static_cast<i64>(op.size), op.peer, op.tag});
  std::vector<DependencyRow> dependencies;
  for (const Dependency& d : block.dependencies) dependencies.push_back({d.before, d.after});
  const py::dict out = columns(ops);
  out.attr("update")(columns(dependencies));
  return out;
}

void bind_collectives(py::module_& m) {
  PYBIND11_NUMPY_DTYPE(OperationRow, kind, size, peer, tag);
  PYBIND11_NUMPY_DTYPE(DependencyRow, before, after);
  m.def("collective_operations", &operations, "name"_a, "size"_a, "algorithm"_a, "ranks"_a, "rank"_a);
  m.def("collective_algorithms", [] {
    std::map<std::string, std::set<std::string>> all;
    for (const std::string& name : workload::collective_names()) {
      all[name] = {"auto"};
      for (const auto a : workload::algorithms(workload::collective_named(name))) all[name].insert(workload::name(a));
    }
    return all;
  });
}
