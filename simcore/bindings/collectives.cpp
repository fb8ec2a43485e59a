#include "collectives.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "interrupt.hpp"
#include "simcore/error.hpp"
#include "workload/collectives/collectives.hpp"

namespace py = pybind11;
using namespace flitgym;
using workload::Algorithm;
using workload::Collective;

namespace {

const char* const kAuto = "auto";
constexpr u64 kBytesPerRank = 512;  // estimate of an operation, its dependencies and their copies in Python

std::vector<std::string> valid_algorithms(Collective which) {
  std::vector<std::string> names;
  for (const Algorithm a : workload::algorithms(which)) names.push_back(workload::name(a));
  if (std::find(names.begin(), names.end(), kAuto) == names.end()) names.emplace_back(kAuto);
  return names;
}

template <class Of>
py::array_t<i64> column(std::size_t entries, Of&& of) {
  py::array_t<i64> array(static_cast<py::ssize_t>(entries));
  i64* const out = array.mutable_data();
  for (std::size_t k = 0; k < entries; k++) out[k] = static_cast<i64>(of(k));
  return array;
}

// The operations of one member. Peers are positions in the group, and tags count from 0.
py::dict operations(const std::string& name, u64 bytes, const std::string& algorithm, u32 ranks, u32 rank) {
  if (rank >= ranks)
    throw ConfigError("collective " + name + ": rank " + std::to_string(rank) + " is not below " +
                      std::to_string(ranks));
  const Collective which = workload::collective_named(name);
  const Algorithm how = workload::algorithm_named(algorithm);
  Block block;
  without_gil([&] {
    claim_memory(ranks * kBytesPerRank, "ranks", "a collective of " + std::to_string(ranks) + " ranks");
    workload::Script script(block);
    workload::collective(script, workload::world(ranks, rank), which, bytes, how, 0);
  });
  const auto& ops = block.ops;
  const auto& dependencies = block.dependencies;
  py::dict d;
  d["kind"] = column(ops.size(), [&](std::size_t k) { return ops[k].kind; });
  d["size"] = column(ops.size(), [&](std::size_t k) { return ops[k].size; });
  d["peer"] = column(ops.size(), [&](std::size_t k) { return ops[k].peer; });
  d["tag"] = column(ops.size(), [&](std::size_t k) { return ops[k].tag; });
  d["before"] = column(dependencies.size(), [&](std::size_t k) { return dependencies[k].before; });
  d["after"] = column(dependencies.size(), [&](std::size_t k) { return dependencies[k].after; });
  return d;
}

}  // namespace

void bind_collectives(py::module_& m) {
  m.def("collective_operations", &operations, py::arg("name"), py::arg("size"), py::arg("algorithm"), py::arg("ranks"),
        py::arg("rank"));
  m.def("collective_algorithms", [] {
    py::dict d;
    for (const std::string& name : workload::collective_names())
      d[py::str(name)] = valid_algorithms(workload::collective_named(name));
    return d;
  });
}
