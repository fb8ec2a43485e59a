// Typed parameters. A component declares what it takes; what the user gives is checked against that once, here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "simcore/types.hpp"

namespace flitgym {

using Value = std::variant<bool, i64, double, std::string, std::vector<double>>;
using Values = std::map<std::string, Value>;

// One section of the configuration: the component's name and what the user set of its parameters.
struct Section {
  std::string name;
  Values values;
};

struct Program;
struct ForwardingTable;
struct Demand;

// One job of a workload: a registered motif with its parameters (`section`), or a program that is there already.
struct JobSection {
  std::string name;
  Section motif;
  std::shared_ptr<const Program> program;
  std::vector<u32> terminals;  // where its ranks run; empty = as the placement says
};

struct WorkloadSection {
  Values values;
  std::vector<JobSection> jobs;  // none = synthetic traffic
};

// Either traffic or jobs.
struct Config {
  Section topology, router, routing, traffic;
  u64 seed = 0;
  WorkloadSection workload = {};
  double max_memory_gb = 0;                           // 0 = what the machine has free
  Values failures = {};                               // src/failures.hpp
  std::shared_ptr<const ForwardingTable> table = {};  // of routing=table, where it is there already (src/tables)
  u32 partitions = 0;  // routers that are simulated together (src/partition.hpp); 0 = as the caches like it
  std::shared_ptr<const Demand> demand = {};          // that its engine balances for
  std::shared_ptr<const Demand> traffic_matrix = {};  // of traffic=matrix
};

struct ParamSpec {
  enum class Type { kBool, kInt, kFloat, kString, kList, kIntList };
  std::string key;
  Type type;
  Value fallback;
  double min, max;  // inclusive; numbers and list elements only
  std::string unit;
  std::vector<std::string> choices;  // strings only; empty = any
  std::string doc;
};

ParamSpec flag(std::string key, bool fallback, std::string doc);
ParamSpec integer(std::string key, i64 fallback, i64 min, i64 max, std::string unit, std::string doc);
ParamSpec real(std::string key, double fallback, double min, double max, std::string unit, std::string doc);
ParamSpec choice(std::string key, std::string fallback, std::vector<std::string> choices, std::string doc);
ParamSpec list(std::string key, std::vector<double> fallback, double min, double max, std::string unit,
               std::string doc);
ParamSpec integer_list(std::string key, std::vector<double> fallback, double min, double max, std::string unit,
                       std::string doc);

// The validated parameters of one component: every declared key has a value of its type and range.
class Params {
 public:
  Params() = default;
  // Throws ConfigError on an unknown key, a wrong type or a value out of range; `where` is e.g. "routing.q_adaptive".
  Params(const std::string& where, const std::vector<ParamSpec>& specs, const Values& given);

  bool boolean(const std::string& key) const;
  i64 integer(const std::string& key) const;
  u32 count(const std::string& key) const { return static_cast<u32>(integer(key)); }
  double real(const std::string& key) const;
  const std::string& text(const std::string& key) const;
  const std::vector<double>& reals(const std::string& key) const;  // of either kind of list
  std::vector<u32> counts(const std::string& key) const;           // a list of integers from 0 on
  const Value& value(const std::string& key) const;
  Params with(const Values& others) const;  // these, with some replaced
  const Values& values() const { return values_; }

 private:
  template <class T>
  const T& get(const std::string& key) const;
  Values values_;
};

std::string to_string(const Value& value);

}  // namespace flitgym
