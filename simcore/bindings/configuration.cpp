#include "configuration.hpp"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "core/failures.hpp"
#include "interrupt.hpp"
#include "live.hpp"
#include "readers/array_program.hpp"
#include "readers/goal.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/registry.hpp"
#include "simcore/workload.hpp"
#include "tables.hpp"

namespace py = pybind11;
using namespace flitgym;

namespace {

// A value for a message, as Python prints it: at most 200 characters, and ASCII only.
std::string shown(const py::handle& item) {
  constexpr std::size_t kMost = 200;
  std::string text;
  try {
    text = py::str(py::module_::import("builtins").attr("ascii")(item)).cast<std::string>();
  } catch (const py::error_already_set&) {  // an integer with too many digits, or a failing __repr__
    text = "a value of type " + py::str(py::type::of(item).attr("__name__")).cast<std::string>();
  }
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

i64 to_integer(const std::string& where, const py::handle& item) {
  const i64 value = PyLong_AsLongLong(item.ptr());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    throw ConfigError(where + ": " + shown(item) + " is too large; integers have 64 bits");
  }
  return value;
}

// Accepts integers, too. Throws ConfigError for an integer beyond the range of floats.
double to_real(const std::string& where, const py::handle& item) {
  const double value = PyFloat_AsDouble(item.ptr());
  if (value == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    throw ConfigError(where + ": " + shown(item) + " is too large");
  }
  return value;
}

}  // namespace

std::string to_text(const std::string& where, const py::handle& item) {
  if (!py::isinstance<py::str>(item)) throw ConfigError(where + ": " + shown(item) + " is not text");
  py::ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(item.ptr(), &size);
  if (!bytes) {
    PyErr_Clear();
    throw ConfigError(where + ": " + shown(item) + " cannot be encoded as UTF-8");
  }
  const std::string text(bytes, static_cast<std::size_t>(size));
  // Neither file names nor messages can hold a zero byte.
  if (text.find('\0') != text.npos) throw ConfigError(where + ": " + shown(item) + " contains a zero byte");
  return text;
}

Value to_value(const std::string& where, const py::handle& item) {
  if (item.is_none()) return std::monostate{};
  if (py::isinstance<py::bool_>(item)) return item.cast<bool>();
  if (py::isinstance<py::int_>(item)) return to_integer(where, item);
  if (py::isinstance<py::float_>(item)) return to_real(where, item);
  if (py::isinstance<py::str>(item)) return to_text(where, item);
  if (py::isinstance<py::list>(item) || py::isinstance<py::tuple>(item)) {
    std::vector<double> values;
    const auto add = [&](const py::handle& x) {
      if (!py::isinstance<py::int_>(x) && !py::isinstance<py::float_>(x))
        throw ConfigError(where + ": " + shown(item) + " is not a list of numbers");
      values.push_back(to_real(where, x));
    };
    for (const py::handle& x : item) {
      if (!py::isinstance<py::list>(x) && !py::isinstance<py::tuple>(x)) add(x);
      else
        for (const py::handle& y : x) add(y);  // pairs, such as the links of a graph
    }
    return values;
  }
  if (py::isinstance<py::array>(item)) {
    const auto array = py::reinterpret_borrow<py::array>(item);
    const char kind = array.dtype().kind();
    if (kind != 'i' && kind != 'u' && kind != 'f')
      throw ConfigError(where + ": an array of " + py::str(array.dtype()).cast<std::string>() + " holds no numbers");
    const auto numbers = py::array_t<double, py::array::c_style | py::array::forcecast>(array);
    return std::vector<double>(numbers.data(), numbers.data() + numbers.size());
  }
  throw ConfigError(where + ": " + shown(item) + " is not a number, text, boolean or list of numbers");
}

Section to_section(const py::dict& config, const char* key, const char* default_name) {
  Section section;
  section.name = default_name;
  if (!config.contains(key)) {
    if (!*default_name) throw ConfigError(std::string(key) + ": missing; give {'name': ..., parameters}");
    return section;
  }
  const py::object given = config[key];
  if (py::isinstance<py::str>(given)) {
    section.name = to_text(key, given);
    return section;
  }
  if (!py::isinstance<py::dict>(given))
    throw ConfigError(std::string(key) + ": " + shown(given) + " is neither a name nor a mapping");
  for (const auto& [k, v] : given.cast<py::dict>()) {
    const std::string name = to_text(key, k);
    if (name == "name") section.name = to_text(std::string(key) + ".name", py::str(v));
    else section.values[name] = to_value(std::string(key) + "." + name, v);
  }
  if (section.name.empty()) throw ConfigError(std::string(key) + ".name: missing");
  return section;
}

// Builds a program from NumPy arrays by the names of ProgramArrays. Missing arrays are empty.
std::shared_ptr<const Program> program_from_arrays(const py::dict& given) {
  using Column = py::array_t<i64, py::array::c_style>;
  std::map<std::string, Column> held;
  workload::ProgramArrays arrays;
  const std::map<std::string, workload::ProgramArrays::Column*> columns = {
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
  std::vector<std::string> valid = {"ranks"};
  for (const auto& [name, column] : columns) valid.push_back(name);
  for (const auto& [key, value] : given) {
    const std::string name = to_text("Program", key);
    if (name == "ranks") {
      if (!PyIndex_Check(value.ptr())) throw ConfigError("ranks: " + shown(value) + " is not an integer");
      arrays.ranks = to_integer("ranks", py::reinterpret_borrow<py::object>(value).attr("__index__")());
      continue;
    }
    const auto found = columns.find(name);
    if (found == columns.end())
      throw ConfigError("Program: unknown array '" + name + "'" + did_you_mean(name, valid) +
                        "; valid names: " + join(valid));
    const py::array array = py::array::ensure(value);
    if (!array || array.ndim() != 1 ||
        (array.dtype().kind() != 'i' && array.dtype().kind() != 'u' && array.dtype().kind() != 'b' && array.size() > 0))
      throw ConfigError("Program: " + name + " is not a one-dimensional array of integers");
    const Column column = Column(array.attr("astype")("int64"));
    held[name] = column;
    *found->second = {column.data(), static_cast<std::size_t>(column.size())};
  }
  return without_gil([&] {
    auto program = workload::looped_program(arrays);
    workload::check_program(*program, "Program");
    return program;
  });
}

namespace {

std::vector<u32> to_terminals(const std::string& where, const py::handle& item) {
  std::vector<u32> terminals;
  if (!PySequence_Check(item.ptr()) || py::isinstance<py::str>(item))
    throw ConfigError(where + ": " + shown(item) + " is not a list of terminals");
  for (const py::handle& t : py::list(py::reinterpret_borrow<py::object>(item))) {
    if (!PyIndex_Check(t.ptr())) throw ConfigError(where + ": " + shown(t) + " is not a terminal");
    const i64 value = to_integer(where, py::reinterpret_borrow<py::object>(t).attr("__index__")());
    if (value < 0 || value > 0xffffffff) throw ConfigError(where + ": " + std::to_string(value) + " is not a terminal");
    terminals.push_back(static_cast<u32>(value));
  }
  return terminals;
}

// Format: {parameters, 'jobs': [{'name', 'motif' or 'goal_file' or 'program', 'terminals', parameters of the motif}]}
WorkloadSection to_workload(const py::object& given) {
  if (!py::isinstance<py::dict>(given)) throw ConfigError("workload: " + shown(given) + " is not a mapping");
  WorkloadSection section;
  for (const auto& [k, v] : given.cast<py::dict>()) {
    const std::string key = to_text("workload", k);
    if (key != "jobs") {
      section.values[key] = to_value("workload." + key, v);
      continue;
    }
    if (!py::isinstance<py::list>(v) && !py::isinstance<py::tuple>(v))
      throw ConfigError("workload.jobs: " + shown(v) + " is not a list of jobs");
    for (const py::handle& item : v) {
      if (!py::isinstance<py::dict>(item)) throw ConfigError("workload.jobs: " + shown(item) + " is not a mapping");
      JobSection job;
      for (const auto& [jk, jv] : py::reinterpret_borrow<py::dict>(item)) {
        const std::string name = to_text("workload.jobs", jk), where = "workload.jobs." + name;
        if (name == "name") job.name = to_text(where, py::str(jv));
        else if (name == "motif") job.motif.name = to_text(where, py::str(jv));
        else if (name == "terminals") job.terminals = jv.is_none() ? std::vector<u32>() : to_terminals(where, jv);
        else if (name == "goal_file") {
          const std::string path = to_text(where, py::str(jv));
          job.program = without_gil([&] { return workload::read_goal_file(path); });
        } else if (name == "program") job.program = built<PyProgram>(jv, where).program;
        else job.motif.values[name] = to_value(where, jv);
      }
      if (job.name.empty()) job.name = job.motif.name;
      section.jobs.push_back(std::move(job));
    }
  }
  if (section.jobs.empty()) throw ConfigError("workload.jobs: the list is empty");
  return section;
}

}  // namespace

static Values to_values(const std::string& section, const py::object& given) {
  if (!py::isinstance<py::dict>(given)) throw ConfigError(section + ": " + shown(given) + " is not a mapping");
  Values values;
  for (const auto& [k, v] : given.cast<py::dict>()) {
    const std::string key = to_text(section, k);
    values[key] = to_value(section + "." + key, v);
  }
  return values;
}

Values to_failures(const py::object& given) {
  if (!py::isinstance<py::dict>(given))
    throw ConfigError("failures: " + shown(given) + " is not a mapping of links, routers, terminals, seed and events");
  Values values;
  for (const auto& [k, v] : given.cast<py::dict>()) {
    const std::string key = to_text("failures", k), where = "failures." + key;
    if (v.is_none()) continue;
    if (!py::isinstance<py::list>(v) && !py::isinstance<py::tuple>(v)) {
      values[key] = to_value(where, v);
      continue;
    }
    if (py::len(v) == 0) continue;
    std::string names;
    for (const py::handle& item : v) names += (names.empty() ? "" : ",") + to_text(where, py::str(item));
    values[key] = names;
  }
  return values;
}

namespace {

// Moves tables and matrices from the parameters to the configuration, because a Value cannot hold them.
py::dict without_objects(const py::dict& given, Config& config) {
  const py::dict out = given.attr("copy")().cast<py::dict>();
  for (const char* section : {"routing", "traffic"})
    if (out.contains(section) && py::isinstance<py::dict>(out[section])) out[section] = out[section].attr("copy")();
  if (out.contains("routing") && py::isinstance<py::dict>(out["routing"])) {
    const py::dict routing = out["routing"];
    if (routing.contains("table")) config.table = built<PyTable>(routing.attr("pop")("table"), "routing.table").table;
    if (routing.contains("demand") && py::isinstance<PyDemand>(routing["demand"]))
      config.demand = built<PyDemand>(routing.attr("pop")("demand"), "routing.demand").demand;
  }
  if (out.contains("traffic") && py::isinstance<py::dict>(out["traffic"])) {
    const py::dict traffic = out["traffic"];
    if (traffic.contains("matrix"))
      config.traffic_matrix = built<PyDemand>(traffic.attr("pop")("matrix"), "traffic.matrix").demand;
  }
  return out;
}

u64 to_count(const std::string& key, const py::object& given, u64 most, const std::string& range) {
  const bool integer = py::isinstance<py::int_>(given) && !py::isinstance<py::bool_>(given);
  if (!integer || given < py::int_(0) || given > py::int_(most))
    throw ConfigError(key + ": " + shown(given) + " is not an integer from 0 to " + range);
  return given.cast<u64>();
}

}  // namespace

u64 to_seed(const py::object& given) { return to_count("seed", given, (u64{1} << 63) - 1, "2^63 - 1"); }

Config to_config(const py::object& mapping) {
  if (!PyMapping_Check(mapping.ptr()) || py::isinstance<py::str>(mapping))
    throw ConfigError("the configuration: " + shown(mapping) + " is not a mapping of sections");
  Config config;
  const py::dict given = without_objects(py::dict(mapping), config);
  const std::vector<std::string> valid = {"topology", "router",        "routing",    "traffic",  "workload",
                                          "seed",     "max_memory_gb", "partitions", "failures", "record"};
  for (const auto& item : given) {
    const std::string key = to_text("the configuration", item.first);
    if (std::find(valid.begin(), valid.end(), key) == valid.end())
      throw ConfigError(key + ": unknown section" + did_you_mean(key, valid) + "; valid sections: " + join(valid));
  }
  config.topology = to_section(given, "topology", "");
  config.router = to_section(given, "router", "vc_router");
  config.routing = to_section(given, "routing", "");
  if (given.contains("workload") && !given["workload"].is_none()) {
    config.workload = to_workload(given["workload"]);
    if (given.contains("traffic") && !given["traffic"].is_none()) config.traffic = to_section(given, "traffic", "");
  } else {
    config.traffic = to_section(given, "traffic", "");
  }
  if (given.contains("seed")) config.seed = to_seed(given["seed"]);
  if (given.contains("partitions"))
    config.partitions =
        static_cast<u32>(to_count("partitions", given["partitions"], kMostPartitions, "1024; 0 = the core chooses"));
  if (given.contains("failures") && !given["failures"].is_none()) config.failures = to_failures(given["failures"]);
  if (given.contains("record") && !given["record"].is_none()) config.record = to_values("record", given["record"]);
  if (given.contains("max_memory_gb")) {
    const py::object most = given["max_memory_gb"];
    const bool number =
        (py::isinstance<py::int_>(most) && !py::isinstance<py::bool_>(most)) || py::isinstance<py::float_>(most);
    if (!number) throw ConfigError("max_memory_gb: " + shown(most) + " is not a number from 0; 0 = all free memory");
    config.max_memory_gb = to_real("max_memory_gb", most);
  }
  return config;
}

namespace {

py::object from_value(const Value& value) {
  return std::visit([](const auto& x) -> py::object { return py::cast(x); }, value);
}

py::dict describe(const ParamSpec& spec) {
  static const char* const types[] = {"bool", "int", "float", "str", "list_float", "list_int"};
  py::dict d;
  d["type"] = types[static_cast<int>(spec.type)];
  if (spec.type == ParamSpec::Type::kIntList) {
    py::list items;
    for (const double x : std::get<std::vector<double>>(spec.fallback)) items.append(static_cast<i64>(x));
    d["default"] = items;
  } else {
    d["default"] = from_value(spec.fallback);
  }
  const bool number = spec.type == ParamSpec::Type::kInt || spec.type == ParamSpec::Type::kFloat ||
                      spec.type == ParamSpec::Type::kList || spec.type == ParamSpec::Type::kIntList;
  d["min"] = number ? py::object(py::float_(spec.min)) : py::none();
  d["max"] = number ? py::object(py::float_(spec.max)) : py::none();
  d["unit"] = spec.unit;
  d["choices"] = spec.choices;
  d["doc"] = spec.doc;
  d["draws"] = spec.draws;
  d["needs"] = spec.needs;
  return d;
}

py::dict describe(const std::string& summary, const std::vector<ParamSpec>& params, const py::dict& facts,
                  const std::string& plugin = "") {
  py::dict d, p;
  for (const ParamSpec& spec : params) p[py::str(spec.key)] = describe(spec);
  d["summary"] = summary;
  d["params"] = p;
  d["facts"] = facts;
  d["plugin"] = plugin;  // plugin of the component; "" if it is built in
  return d;
}

// Adds the parameters that are missing, and the choices of those that exist.
void merge(std::vector<ParamSpec>& params, const std::vector<ParamSpec>& more) {
  for (const ParamSpec& spec : more) {
    const auto found =
        std::find_if(params.begin(), params.end(), [&](const ParamSpec& p) { return p.key == spec.key; });
    if (found == params.end()) {
      params.push_back(spec);
      continue;
    }
    if (found->choices.empty() || spec.choices.empty()) found->choices.clear();  // any text is valid
    else
      for (const std::string& word : spec.choices)
        if (std::find(found->choices.begin(), found->choices.end(), word) == found->choices.end())
          found->choices.push_back(word);
  }
}

}  // namespace

py::dict registered(const std::string& kind) {
  py::dict out;
  if (kind == "topology") {
    for (const auto& [name, spec] : registry<TopologySpec>())
      out[py::str(name)] = describe(spec.summary, spec.params, py::dict(), spec.plugin);
  } else if (kind == "routing") {
    // Several files may register a routing of the same name for different topologies. They are listed as one.
    for (const std::string& name : registered_names<RoutingSpec>()) {
      std::vector<std::string> topologies;
      std::vector<ParamSpec> params;
      std::string summary;
      bool learns = false, external = false;
      const auto [first, last] = registry<RoutingSpec>().equal_range(name);
      for (auto at = first; at != last; ++at) {
        const RoutingSpec& spec = at->second;
        const auto& accepted = spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
        topologies.insert(topologies.end(), accepted.begin(), accepted.end());
        merge(params, params_of(spec));
        learns |= spec.learn != nullptr;
        external |= spec.decider != Decider::kRouting;
        summary = at == first || spec.summary == summary ? spec.summary : summary + "; " + spec.summary;
      }
      std::sort(topologies.begin(), topologies.end());
      topologies.erase(std::unique(topologies.begin(), topologies.end()), topologies.end());
      py::dict facts;
      facts["topologies"] = topologies;
      facts["learns"] = learns;
      facts["external"] = external;
      out[py::str(name)] = describe(summary, params, facts, first->second.plugin);
    }
  } else if (kind == "traffic") {
    for (const auto& [name, spec] : registry<TrafficSpec>()) {
      std::vector<ParamSpec> params = common_traffic_params();
      params.insert(params.end(), spec.params.begin(), spec.params.end());
      py::dict facts;
      facts["topologies"] = spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
      out[py::str(name)] = describe(spec.summary, params, facts, spec.plugin);
    }
  } else if (kind == "motif") {
    for (const auto& [name, spec] : registry<MotifSpec>()) {
      std::vector<ParamSpec> params = common_motif_params();
      params.insert(params.end(), spec.params.begin(), spec.params.end());
      out[py::str(name)] = describe(spec.summary, params, py::dict(), spec.plugin);
    }
  } else if (kind == "workload") {
    out["workload"] =
        describe("jobs that share the network, with their placement, hosts and packets", workload_params(), py::dict());
  } else if (kind == "observation") {
    for (const auto& [name, spec] : registry<ObservationSpec>()) {
      py::dict facts;
      for (const auto& [key, features] : {std::pair{"general", &spec.general}, std::pair{"per_slot", &spec.per_slot}}) {
        py::dict docs;
        for (const Feature& f : *features) docs[py::str(f.name)] = f.doc;
        facts[key] = docs;
      }
      out[py::str(name)] = describe(spec.summary, {}, facts, spec.plugin);
    }
  } else if (kind == "reward") {
    for (const auto& [name, spec] : registry<RewardSpec>()) {
      py::dict facts;
      facts["at_next_decision"] = spec.at_next_decision;
      out[py::str(name)] = describe(spec.summary, {}, facts, spec.plugin);
    }
  } else if (kind == "relation") {
    for (const auto& [name, spec] : registry<RelationSpec>()) {
      py::dict facts;
      facts["topologies"] = spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
      out[py::str(name)] = describe(spec.summary, spec.params, facts, spec.plugin);
    }
  } else if (kind == "engine") {
    for (const auto& [name, spec] : registry<tables::EngineSpec>()) {
      py::dict facts;
      facts["topologies"] = spec.topologies.empty() ? registered_names<TopologySpec>() : spec.topologies;
      facts["balances"] = spec.balances;
      out[py::str(name)] =
          describe(spec.summary, spec.passes_on ? tables::all_engine_params() : spec.params, facts, spec.plugin);
    }
  } else if (kind == "failures") {
    out["failures"] = describe("links, routers and terminals that are out of use", failure_params(), py::dict());
  } else if (kind == "record") {
    out["record"] = describe("decisions of the routing as transitions", record_params(), py::dict());
  } else if (kind == "router") {
    out["vc_router"] =
        describe("virtual-channel router: input-queued, or combined input- and output-queued with crossbar speedup",
                 router_params(), py::dict());
  } else {
    const std::vector<std::string> kinds = {"topology",    "router", "routing",  "traffic",  "motif",  "workload",
                                            "observation", "reward", "relation", "failures", "engine", "record"};
    throw ConfigError("registered(): unknown kind '" + kind + "'" + did_you_mean(kind, kinds) +
                      "; valid kinds: " + join(kinds));
  }
  return out;
}

namespace {

py::dict from_values(const Values& values) {
  py::dict d;
  for (const auto& [key, value] : values) d[py::str(key)] = from_value(value);
  return d;
}

py::dict from_section(const Section& section) {
  py::dict d;
  d["name"] = section.name;
  d.attr("update")(from_values(section.values));
  return d;
}

}  // namespace

py::dict from_config(const Config& config) {
  py::dict d;
  d["topology"] = from_section(config.topology);
  d["router"] = from_section(config.router);
  d["routing"] = from_section(config.routing);
  if (config.workload.jobs.empty()) {
    d["traffic"] = from_section(config.traffic);
  } else {
    py::list jobs;
    for (const JobSection& job : config.workload.jobs) {
      py::dict one;
      one["name"] = job.name;
      one["motif"] = job.motif.name;
      one.attr("update")(from_values(job.motif.values));
      if (!job.terminals.empty()) one["terminals"] = job.terminals;
      jobs.append(one);
    }
    py::dict workload = from_values(config.workload.values);
    workload["jobs"] = jobs;
    d["workload"] = workload;
  }
  if (!config.failures.empty()) d["failures"] = from_values(config.failures);
  if (config.record) d["record"] = from_values(*config.record);
  d["seed"] = config.seed;
  if (config.partitions > 0) d["partitions"] = config.partitions;
  return d;
}
