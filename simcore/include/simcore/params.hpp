// Typed parameters. A component declares its parameters, and Params checks the given values once.
#pragma once

#include <optional>
#include <variant>

#include "simcore/error.hpp"
#include "simcore/types.hpp"

namespace flitgym {

// std::monostate (null in YAML) is the default of a seed.
using Value = std::variant<bool, i64, double, std::string, std::vector<double>, std::monostate>;
using Values = std::map<std::string, Value>;

// A section of the configuration: a component's name and the given values of its parameters.
struct Section {
  std::string name;
  Values values;
};

struct Program;
struct Demand;
namespace tables {
struct ForwardingTable;
}

// A job of a workload: a registered motif with its parameters, or a program.
struct JobSection {
  std::string name;
  Section motif;
  std::shared_ptr<const Program> program;
  std::vector<u32> terminals;  // terminals of its ranks; empty: the placement decides
};

struct WorkloadSection {
  Values values;
  std::vector<JobSection> jobs;                                   // empty: synthetic traffic
  std::vector<std::pair<std::string, std::string>> classes = {};  // message rule and traffic class, in order
};

inline constexpr u64 kMostPartitions = 1024;  // a partition has its own histograms, wheels and delay lines, some 50 KB

// The configuration. Either traffic or jobs are given.
struct Config {
  Section topology, router, routing, traffic;
  u64 seed = 0;
  WorkloadSection workload = {};
  double max_memory_gb = 0;                                   // 0: the free memory of the machine
  Values failures = {};                                       // src/core/failures.hpp
  std::shared_ptr<const tables::ForwardingTable> table = {};  // for routing=table: used instead of an engine
  // Number of partitions (src/core/partition.hpp), at most kMostPartitions. 0: the core chooses it from state size,
  // terminals and flits per cycle, and at least one per thread.
  u32 partitions = 0;
  u32 threads = 1;                                    // Simulation::threads() at first
  std::shared_ptr<const Demand> demand = {};          // for routing=table: traffic whose load the engine balances
  std::shared_ptr<const Demand> traffic_matrix = {};  // for traffic=matrix
  std::shared_ptr<const Program> flows = {};          // for traffic=flows, from a file
  Section congestion_control = {};                    // without a name: none
  std::vector<Section> classes = {};                  // router.classes (traffic_classes.hpp)
  std::optional<Values> record = {};                  // records the decisions of the routing (record_params())
};

struct ParamSpec {
  enum class Type { kBool, kInt, kFloat, kString, kList, kIntList };
  std::string key;
  Type type;
  Value fallback;
  double min, max;  // inclusive; only for numbers and list elements
  std::string unit;
  std::vector<std::string> choices;  // only for strings; empty: any
  std::string doc;
  std::string draws = {};  // only for seeds: the random choice that it draws
  std::string needs = {};  // only for seeds: "key=value", without which nothing is drawn; empty: always drawn
};

ParamSpec flag(std::string key, bool fallback, std::string doc);
ParamSpec integer(std::string key, i64 fallback, i64 min, i64 max, std::string unit, std::string doc);
ParamSpec real(std::string key, double fallback, double min, double max, std::string unit, std::string doc);
ParamSpec choice(std::string key, std::string fallback, std::vector<std::string> choices, std::string doc);
ParamSpec list(std::string key, std::vector<double> fallback, double min, double max, std::string unit,
               std::string doc);
// The seed of a random choice. Without a value, the run's seed draws it.
ParamSpec seed_of(std::string draws, std::string key, std::string needs = {});
ParamSpec integer_list(std::string key, std::vector<double> fallback, double min, double max, std::string unit,
                       std::string doc);

// Throws ConfigError for a given key that is not declared.
void check_keys(const std::string& where, const std::vector<ParamSpec>& specs, const Values& given);

// Validated parameters of a component. Every declared key has a value of its type within its range.
class Params {
 public:
  Params() = default;
  // Throws ConfigError for an unknown key, a wrong type or a value out of range. `where` is for example
  // "routing.q_adaptive".
  Params(const std::string& where, const std::vector<ParamSpec>& specs, const Values& given, u64 run_seed);

  bool boolean(const std::string& key) const;
  i64 integer(const std::string& key) const;
  u32 count(const std::string& key) const { return static_cast<u32>(integer(key)); }
  u64 seed(const std::string& key) const;  // of seed_of(): the given value, or the run's seed
  u64 run_seed() const { return run_seed_; }
  double real(const std::string& key) const;
  const std::string& text(const std::string& key) const;
  const std::vector<double>& reals(const std::string& key) const;  // either type of list
  std::vector<u32> counts(const std::string& key) const;           // a list of integers of at least 0
  const Value& value(const std::string& key) const;
  Params with(const Values& others) const;  // a copy with some values replaced
  const Values& values() const { return values_; }

 private:
  template <class T>
  const T& get(const std::string& key) const;
  Values values_;
  u64 run_seed_ = 0;
};

std::string to_string(const Value& value);

// The lists of components that share most parameters.
inline std::vector<ParamSpec> joined(std::vector<ParamSpec> specs, const std::vector<ParamSpec>& more) {
  specs.insert(specs.end(), more.begin(), more.end());
  return specs;
}
inline std::vector<ParamSpec> without(std::vector<ParamSpec> specs, const std::string& key) {
  std::erase_if(specs, [&](const ParamSpec& p) { return p.key == key; });
  return specs;
}

}  // namespace flitgym
