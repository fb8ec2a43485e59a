// `Program`: the operations of the ranks of a job. The docstrings are in simcore/_program.py.
#include "configuration.hpp"
#include "readers/array_program.hpp"
#include "readers/goal.hpp"
#include "readers/goal_binary.hpp"
#include "simcore/grouped.hpp"
#include "simcore/mapping/communication_matrix.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/workload.hpp"

using ProgramPtr = std::shared_ptr<Program>;

struct ListedFlows : FlowProgram {
  std::vector<u64> first;    // [ranks + 1] first flow of each rank
  std::vector<u64> when_ps;  // [flows] by rank, in the order of time
  std::vector<Flow> flows;   // [flows]

  u64 flow_time(u32 rank, u64& number, u64) const override {
    return first[rank] + number < first[rank + 1] ? when_ps[first[rank] + number] : kNoFlow;
  }
  Flow flow(const Network&, u32 rank, u64 number) const override { return flows[first[rank] + number]; }
};

// Flows in the order of time; the arrays are checked by simcore/_demand.py.
static ProgramPtr program_of_flows(u32 ranks, const Integers& when_ps, const Integers& source,
                                   const Integers& destination, const Integers& bytes, const Integers& kind) {
  auto program = std::make_shared<ListedFlows>();
  const auto count = static_cast<std::size_t>(source.size());
  program->ranks = ranks;
  for (const u64 k : grouped(ranks, count, program->first, [&](u64 k) { return static_cast<u32>(source.data()[k]); })) {
    program->when_ps.push_back(static_cast<u64>(when_ps.data()[k]));
    program->flows.push_back(
        {static_cast<u64>(bytes.data()[k]), static_cast<u32>(destination.data()[k]), static_cast<i32>(kind.data()[k])});
  }
  return program;
}

// `given` holds all arrays by their names in ProgramArrays.
static ProgramPtr program_from_arrays(const py::dict& given) {
  workload::ProgramArrays arrays;
  const std::map<const char*, workload::ProgramArrays::Column*> columns = {
      {"op_rank", &arrays.op_rank},
      {"op_block", &arrays.op_block},
      {"op_kind", &arrays.op_kind},
      {"op_size", &arrays.op_size},
      {"op_peer", &arrays.op_peer},
      {"op_tag", &arrays.op_tag},
      {"op_cpu", &arrays.op_cpu},
      {"dependency_rank", &arrays.dependency_rank},
      {"dependency_block", &arrays.dependency_block},
      {"dependency_before", &arrays.dependency_before},
      {"dependency_after", &arrays.dependency_after},
      {"dependency_on_start", &arrays.dependency_on_start},
      {"repeat_rank", &arrays.repeat_rank},
      {"repeat_block", &arrays.repeat_block},
      {"repeat_count", &arrays.repeat_count}};
  const Integers ranks = integers(given["ranks"], "ranks");
  arrays.ranks = ranks.size() == 1 ? ranks.data()[0] : 0;
  std::vector<Integers> kept;
  for (const auto& [name, column] : columns) {
    const Integers& values = kept.emplace_back(integers(given[name], std::string("Program: ") + name));
    *column = {values.data(), static_cast<std::size_t>(values.size())};
  }
  return for_python(without_gil([&] {
    auto program = workload::looped_program(arrays);
    workload::check_program(*program, "Program");
    return program;
  }));
}

static py::dict totals_of(const ProgramPtr& program) {
  const workload::ProgramTotals t = without_gil([&] { return workload::totals(*program); });
  return py::dict("messages"_a = t.messages, "bytes"_a = t.bytes, "receives"_a = t.receives, "calc_ns"_a = t.calc_ns,
                  "operations"_a = t.operations);
}

// (first, peer, bytes) of the communication matrix, as arrays of sparse rows.
static py::tuple communication_of(const ProgramPtr& program) {
  const auto m = without_gil([&] { return workload::communication_matrix(*program); });
  return py::make_tuple(copied(m.first), copied(m.peer), copied(m.bytes));
}

void bind_programs(py::module_& m) {
  m.def(
      "motif_ranks",
      [](const std::string& name, u32 most) { return without_gil([&] { return motif_ranks(name, most); }); }, "name"_a,
      "available"_a);
  py::class_<Program, ProgramPtr>(m, "Program")
      .def(py::init(&program_from_arrays), "arrays"_a)
      .def(py::init([](const ProgramPtr& other) { return other; }), "other"_a)
      .def_static(
          "motif",
          [](const std::string& name, const py::dict& params) {
            const Section section{name, to_values("motif", params)};
            return for_python(without_gil([&] { return motif_program(section, "motif", 0); }));
          },
          "name"_a, "params"_a = py::dict())
      .def_static(
          "goal",
          [](const std::string& text, const std::string& name) {
            return for_python(without_gil([&] { return workload::read_goal(text, name); }));
          },
          "text"_a, "name"_a = "goal")
      .def_static("_flows", &program_of_flows, "ranks"_a, "when_ps"_a, "source"_a, "destination"_a, "size"_a, "kind"_a)
      .def_static(
          "goal_binary",
          [](const std::string& path) {
            return for_python(without_gil([&] { return workload::read_goal_binary(path); }));
          },
          "path"_a)
      .def("to_goal",
           [](const ProgramPtr& program) { return without_gil([&] { return workload::write_goal(*program); }); })
      .def("to_goal_binary",
           [](const ProgramPtr& program) {
             return py::bytes(without_gil([&] { return workload::write_goal_binary(*program); }));
           })
      .def("communication", &communication_of)
      .def("check",
           [](const ProgramPtr& program) { without_gil([&] { workload::check_program(*program, "program"); }); })
      .def("totals", &totals_of)
      .def_property_readonly("ranks", [](const ProgramPtr& program) { return program->ranks; });
}
