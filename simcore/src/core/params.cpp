#include "simcore/params.hpp"

#include <sstream>

namespace flitgym {

using Type = ParamSpec::Type;

static const char* type_name(Type type) {
  switch (type) {
    case Type::kBool: return "true or false";
    case Type::kInt: return "an integer";
    case Type::kFloat: return "a number";
    case Type::kString: return "text";
    case Type::kList: return "a list of numbers";
    case Type::kIntList: return "a list of integers";
  }
  return "?";
}

// Converts a value to the declared type if nothing is lost (3 to a float, 3.0 to an int).
static bool convert(Type type, const Value& given, Value& out) {
  const auto* i = std::get_if<i64>(&given);
  const auto* d = std::get_if<double>(&given);
  const auto* items = std::get_if<std::vector<double>>(&given);
  const auto whole = [](double x) { return x == std::floor(x); };
  out = given;
  switch (type) {
    case Type::kBool: return std::holds_alternative<bool>(given);
    case Type::kInt:
      if (d && whole(*d) && std::abs(*d) < 9e15) out = static_cast<i64>(*d);
      return std::holds_alternative<i64>(out);
    case Type::kFloat:
      if (i) out = static_cast<double>(*i);
      return std::holds_alternative<double>(out);
    case Type::kString: return std::holds_alternative<std::string>(given);
    case Type::kList: return items;
    case Type::kIntList: return items && std::ranges::all_of(*items, whole);
  }
  return false;
}

// A value for a message; long lists and texts are cut.
static std::string shown(const Value& value) {
  constexpr std::size_t kMost = 200;
  const std::string text = to_string(value);
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

std::string to_string(const Value& value) {
  std::ostringstream out;
  if (const auto* b = std::get_if<bool>(&value)) out << (*b ? "true" : "false");
  else if (const auto* i = std::get_if<i64>(&value)) out << *i;
  else if (const auto* d = std::get_if<double>(&value)) out << Part(*d).text;
  else if (const auto* s = std::get_if<std::string>(&value)) out << *s;
  else if (std::holds_alternative<std::monostate>(value)) out << "null";
  else {
    out << '[';
    const auto& items = std::get<std::vector<double>>(value);
    for (std::size_t k = 0; k < items.size(); k++) out << (k ? ", " : "") << Part(items[k]).text;
    out << ']';
  }
  return out.str();
}

ParamSpec flag(std::string key, bool fallback, std::string doc) {
  return {std::move(key), Type::kBool, fallback, 0, 1, "", {}, std::move(doc)};
}
ParamSpec integer(std::string key, i64 fallback, i64 min, i64 max, std::string unit, std::string doc) {
  return {std::move(key),           Type::kInt,      fallback, static_cast<double>(min),
          static_cast<double>(max), std::move(unit), {},       std::move(doc)};
}
ParamSpec real(std::string key, double fallback, double min, double max, std::string unit, std::string doc) {
  return {std::move(key), Type::kFloat, fallback, min, max, std::move(unit), {}, std::move(doc)};
}
ParamSpec choice(std::string key, std::string fallback, std::vector<std::string> choices, std::string doc) {
  return {std::move(key), Type::kString, std::move(fallback), 0, 0, "", std::move(choices), std::move(doc)};
}
ParamSpec seed_of(std::string draws, std::string key, std::string needs) {
  std::string doc = "seed of " + draws + (needs.empty() ? "" : " with " + needs) + "; null = the run's seed";
  return {std::move(key), Type::kInt,       std::monostate{}, 0, 0x1p63, "", {},
          std::move(doc), std::move(draws), std::move(needs)};
}
ParamSpec list(std::string key, std::vector<double> fallback, double min, double max, std::string unit,
               std::string doc) {
  return {std::move(key), Type::kList, std::move(fallback), min, max, std::move(unit), {}, std::move(doc)};
}
ParamSpec integer_list(std::string key, std::vector<double> fallback, double min, double max, std::string unit,
                       std::string doc) {
  return {std::move(key), Type::kIntList, std::move(fallback), min, max, std::move(unit), {}, std::move(doc)};
}

void check_keys(const std::string& where, const std::vector<ParamSpec>& specs, const Values& given) {
  std::vector<std::string> valid;
  for (const ParamSpec& spec : specs) valid.push_back(spec.key);
  for (const auto& [key, value] : given)
    if (!std::ranges::count(valid, key))
      throw ConfigError(where, ".", key, ": unknown key", did_you_mean(key, valid), "; valid keys: ", join(valid));
}

Params::Params(const std::string& where, const std::vector<ParamSpec>& specs, const Values& given, u64 run_seed)
    : run_seed_(run_seed) {
  check_keys(where, specs, given);
  for (const ParamSpec& spec : specs) {
    const std::string name = where + "." + spec.key;
    Value value = spec.fallback;
    if (const auto found = given.find(spec.key); found != given.end())
      if (!(found->second == spec.fallback) && !convert(spec.type, found->second, value))
        throw ConfigError(name, ": ", shown(found->second), " is not ", type_name(spec.type));

    const auto check = [&](double x) {
      if (!(x >= spec.min && x <= spec.max))
        throw ConfigError(name, ": ", shown(value), " is outside ", spec.min, " .. ", spec.max,
                          spec.unit.empty() ? "" : " " + spec.unit);
    };
    if (const auto* whole = std::get_if<i64>(&value)) check(static_cast<double>(*whole));
    if (const auto* x = std::get_if<double>(&value)) check(*x);
    if (spec.type == Type::kList || spec.type == Type::kIntList)
      for (double x : std::get<std::vector<double>>(value)) check(x);
    if (spec.type == Type::kString && !spec.choices.empty()) {
      const std::string& word = std::get<std::string>(value);
      if (!std::ranges::count(spec.choices, word))
        throw ConfigError(name, ": unknown value '", shown(value), "'", did_you_mean(word, spec.choices),
                          "; valid values: ", join(spec.choices));
    }
    values_[spec.key] = std::move(value);
  }
}

template <class T>
const T& Params::get(const std::string& key) const {
  const T* const found = std::get_if<T>(&value(key));
  if (!found) throw CoreError("parameter '", key, "' was read with another type than declared");
  return *found;
}

bool Params::boolean(const std::string& key) const { return get<bool>(key); }
i64 Params::integer(const std::string& key) const { return get<i64>(key); }
u64 Params::seed(const std::string& key) const {
  return std::holds_alternative<std::monostate>(value(key)) ? run_seed_ : static_cast<u64>(integer(key));
}
double Params::real(const std::string& key) const { return get<double>(key); }
const std::string& Params::text(const std::string& key) const { return get<std::string>(key); }
const std::vector<double>& Params::reals(const std::string& key) const { return get<std::vector<double>>(key); }
std::vector<u32> Params::counts(const std::string& key) const {
  const auto& items = reals(key);
  return {items.begin(), items.end()};
}

const Value& Params::value(const std::string& key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) throw CoreError("parameter '", key, "' is not declared");
  return found->second;
}

Params Params::with(const Values& others) const {
  Params copy = *this;
  for (const auto& [key, value] : others) copy.values_[key] = value;
  return copy;
}

}  // namespace flitgym
