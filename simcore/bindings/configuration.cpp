#include "configuration.hpp"

#include "readers/goal.hpp"
#include "simcore/tables/engine.hpp"

template <class T>
T number(const std::string& where, const py::handle& item) {
  py::detail::make_caster<T> caster;
  if (!caster.load(item, true)) throw ConfigError(where, ": ", shown(item), " is not a number of 64 bits");
  return py::detail::cast_op<T>(caster);
}

static Value to_value(const std::string& where, const py::handle& item) {
  if (item.is_none()) return std::monostate{};
  if (py::isinstance<py::bool_>(item)) return item.cast<bool>();
  if (py::isinstance<py::int_>(item)) return number<i64>(where, item);
  if (py::isinstance<py::float_>(item)) return item.cast<double>();
  if (py::isinstance<py::str>(item)) return to_text(where, item);
  // Lists of numbers or of pairs, such as the links of a graph.
  const py::array array = py::array::ensure(py::reinterpret_borrow<py::object>(item));
  const char kind = array ? array.dtype().kind() : 'O';
  if (kind != 'i' && kind != 'u' && kind != 'f') {
    PyErr_Clear();
    throw ConfigError(where, ": ", shown(item), " is not a number, text, boolean or list of numbers");
  }
  const Reals numbers(array);
  return std::vector<double>(numbers.data(), numbers.data() + numbers.size());
}

static py::dict to_mapping(const std::string& where, const py::handle& given) {
  if (!py::isinstance<py::dict>(given)) throw ConfigError(where, ": ", shown(given), " is not a mapping");
  return py::reinterpret_borrow<py::dict>(given);
}

static bool is_list(const py::handle& item) {
  return py::isinstance<py::list>(item) || py::isinstance<py::tuple>(item);
}

// Replaces a section whose name may have a default.
static void take_section(const py::dict& config, const char* where, Section& section) {
  const py::object given = config.attr("get")(where);
  if (py::isinstance<py::str>(given)) {
    section.name = to_text(where, given);
  } else if (py::isinstance<py::dict>(given)) {
    const py::dict values = given.attr("copy")();
    if (values.contains("name"))
      section.name = to_text(std::string(where) + ".name", py::str(values.attr("pop")("name")));
    section.values = to_values(where, values);
  } else if (!given.is_none()) {
    throw ConfigError(where, ": ", shown(given), " is neither a name nor a mapping");
  }
  if (section.name.empty()) throw ConfigError(where, ": missing; give {'name': ..., parameters}");
}

// Lists of names become the comma-separated text that the core reads. Keys with the value None are left out.
static Values to_failures(const py::object& given) {
  const py::dict values;
  for (const auto& [key, value] : to_mapping("failures", given)) {
    if (value.is_none() || (is_list(value) && py::len(value) == 0)) continue;
    values[key] = value;
    if (!is_list(value)) continue;
    py::list names;
    for (const py::handle& name : value) names.append(py::str(name));
    values[key] = py::str(",").attr("join")(names);
  }
  return to_values("failures", values);
}

static JobSection to_job(const py::handle& given) {
  JobSection job;
  for (const auto& [key, value] : to_mapping("workload.jobs", given)) {
    const std::string name = to_text("workload.jobs", key), where = "workload.jobs." + name;
    if (name == "name") job.name = to_text(where, py::str(value));
    else if (name == "motif") job.motif.name = to_text(where, py::str(value));
    else if (name == "terminals") job.terminals = value.is_none() ? std::vector<u32>() : integers_of<u32>(value, where);
    else if (name == "program") job.program = held<Program>(value, where);
    else if (name == "goal_file") {
      const std::string path = to_text(where, py::str(value));
      job.program = without_gil([&] { return workload::read_goal_file(path); });
    } else job.motif.values[name] = to_value(where, value);
  }
  if (job.name.empty()) job.name = job.motif.name;
  return job;
}

// Format: {parameters, 'classes': {rule: class}, 'jobs': [{'name', 'motif' or 'goal_file' or 'program', 'terminals',
// parameters of the motif}]}
static WorkloadSection to_workload(const py::object& given) {
  const py::dict values = to_mapping("workload", given).attr("copy")();
  WorkloadSection section;
  const py::object jobs = values.attr("pop")("jobs", py::tuple());
  if (!is_list(jobs) || py::len(jobs) == 0)
    throw ConfigError("workload.jobs: ", shown(jobs), " is not a list of at least one job");
  for (const py::handle& job : jobs) section.jobs.push_back(to_job(job));
  if (values.contains("classes"))
    for (const auto& [rule, name] : to_mapping("workload.classes", values.attr("pop")("classes")))
      section.classes.emplace_back(to_text("workload.classes", py::str(rule)),
                                   to_text("workload.classes", py::str(name)));
  section.values = to_values("workload", values);
  return section;
}

// Moves router.classes to the configuration. Each class has a name and parameters.
static void take_classes(const py::dict& config, std::vector<Section>& classes) {
  if (!config.contains("router") || !py::isinstance<py::dict>(config["router"])) return;
  const py::dict values = config["router"].attr("copy")();
  for (const auto& [key, given] : to_mapping("router.classes", values.attr("pop")("classes", py::dict()))) {
    const std::string name = to_text("router.classes", py::str(key));
    classes.push_back({name, to_values("router.classes." + name, given)});
  }
  config["router"] = values;
}

// Moves an object from the parameters of a section to the configuration, because a Value cannot hold it.
template <class T>
void take_object(const py::dict& config, const char* section, const char* key, std::shared_ptr<const T>& to) {
  if (!config.contains(section) || !py::isinstance<py::dict>(config[section])) return;
  const py::dict values = config[section].attr("copy")();
  if (!values.contains(key) || py::isinstance<py::str>(values[key])) return;
  to = held<T>(values.attr("pop")(key), std::string(section) + "." + key);
  config[section] = values;
}

static u64 to_count(const std::string& key, const py::object& given, u64 most, const std::string& range) {
  const bool integer = py::isinstance<py::int_>(given) && !py::isinstance<py::bool_>(given);
  if (!integer || given < py::int_(0) || given > py::int_(most))
    throw ConfigError(key, ": ", shown(given), " is not an integer from 0 to ", range);
  return given.cast<u64>();
}

std::string to_text(const std::string& where, const py::handle& item) {
  py::detail::make_caster<std::string> caster;
  if (!py::isinstance<py::str>(item) || !caster.load(item, false))
    throw ConfigError(where, ": ", shown(item), " is not text that can be encoded as UTF-8");
  return py::detail::cast_op<std::string>(caster);
}

Values to_values(const std::string& where, const py::handle& given) {
  Values values;
  for (const auto& [key, value] : to_mapping(where, given)) {
    const std::string name = to_text(where, key);
    values[name] = to_value(where + "." + name, value);
  }
  return values;
}

u64 to_seed(const py::object& given) { return to_count("seed", given, (u64{1} << 63) - 1, "2^63 - 1"); }

Config to_network(const py::object& topology, const py::object& failures, const py::object& seed) {
  Config config;
  take_section(py::dict("topology"_a = topology), "topology", config.topology);
  if (!failures.is_none()) config.failures = to_failures(failures);
  config.seed = to_seed(seed);
  return config;
}

Config to_config(const py::object& mapping) {
  const py::dict given = to_mapping("the configuration", mapping).attr("copy")();
  const std::vector<std::string> valid = {"topology",           "router", "routing",       "traffic",    "workload",
                                          "congestion_control", "seed",   "max_memory_gb", "partitions", "threads",
                                          "failures",           "record"};
  for (const auto& item : given) {
    const std::string key = to_text("the configuration", item.first);
    if (std::find(valid.begin(), valid.end(), key) == valid.end())
      throw ConfigError(key, ": unknown section", did_you_mean(key, valid), "; valid sections: ", join(valid));
  }
  Config config;
  take_object(given, "routing", "table", config.table);
  take_object(given, "routing", "demand", config.demand);
  take_object(given, "traffic", "matrix", config.traffic_matrix);
  take_object(given, "traffic", "flows", config.flows);
  take_classes(given, config.classes);
  config.router.name = "vc_router";
  take_section(given, "topology", config.topology);
  take_section(given, "router", config.router);
  take_section(given, "routing", config.routing);
  const auto has = [&](const char* key) { return given.contains(key) && !given[key].is_none(); };
  if (has("workload")) config.workload = to_workload(given["workload"]);
  if (has("traffic") || !has("workload")) take_section(given, "traffic", config.traffic);
  if (has("congestion_control")) take_section(given, "congestion_control", config.congestion_control);
  if (has("seed")) config.seed = to_seed(given["seed"]);
  if (has("partitions"))
    config.partitions =
        static_cast<u32>(to_count("partitions", given["partitions"], kMostPartitions, "1024; 0 = the core chooses"));
  if (has("threads")) config.threads = static_cast<u32>(to_count("threads", given["threads"], kMostPartitions, "1024"));
  if (has("failures")) config.failures = to_failures(given["failures"]);
  if (has("record")) config.record = to_values("record", given["record"]);
  if (has("max_memory_gb")) config.max_memory_gb = number<double>("max_memory_gb", given["max_memory_gb"]);
  return config;
}

py::object from_value(const Value& value) {
  return std::visit([](const auto& x) -> py::object { return py::cast(x); }, value);
}

static py::dict from_values(const Values& values) {
  py::dict d;
  for (const auto& [key, value] : values) d[py::str(key)] = from_value(value);
  return d;
}

static py::dict from_section(const Section& section) {
  py::dict d("name"_a = section.name);
  d.attr("update")(from_values(section.values));
  return d;
}

py::dict from_config(const Config& config) {
  py::dict d("topology"_a = from_section(config.topology), "router"_a = from_section(config.router),
             "routing"_a = from_section(config.routing));
  if (!config.classes.empty()) {
    py::dict classes;
    for (const Section& one : config.classes) classes[py::str(one.name)] = from_values(one.values);
    d["router"]["classes"] = classes;
  }
  if (config.workload.jobs.empty()) {
    d["traffic"] = from_section(config.traffic);
  } else {
    py::list jobs;
    for (const JobSection& job : config.workload.jobs) {
      py::dict one("name"_a = job.name, "motif"_a = job.motif.name);
      one.attr("update")(from_values(job.motif.values));
      if (!job.terminals.empty()) one["terminals"] = job.terminals;
      jobs.append(one);
    }
    py::dict workload = from_values(config.workload.values);
    workload["jobs"] = jobs;
    py::dict classes;
    for (const auto& [rule, name] : config.workload.classes) classes[py::str(rule)] = name;
    if (!config.workload.classes.empty()) workload["classes"] = classes;
    d["workload"] = workload;
  }
  if (!config.congestion_control.name.empty()) d["congestion_control"] = from_section(config.congestion_control);
  if (!config.failures.empty()) d["failures"] = from_values(config.failures);
  if (config.record) d["record"] = from_values(*config.record);
  d["seed"] = config.seed;
  if (config.partitions > 0) d["partitions"] = config.partitions;
  if (config.threads > 1) d["threads"] = config.threads;
  return d;
}
