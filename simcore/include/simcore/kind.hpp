// Kinds of components. FLITGYM_KIND(Spec, "name", needed) in one source file makes the registry of a kind. The
// templates below check the components of a plugin (src/core/plugins.cpp).
#pragma once

#include <cctype>

#include "simcore/plugins.hpp"
#include "simcore/registry.hpp"

namespace flitgym {

struct Kind {
  const char* name;
  // Returns the names of a plugin's components. Throws ConfigError, which begins with `who`, if one is invalid.
  std::vector<std::string> (*check)(const std::string& who, const std::string& plugin);
  void (*forget)(const std::string& plugin);
};
std::vector<Kind>& kinds();

const std::string* loading_plugin();  // name of the plugin whose library is being loaded; null: none

template <class Spec>
const char* kind_name();
template <class Spec>
bool complete(const Spec& spec);  // has it all functions that a component of the kind must have?
template <class Spec>
void check_more(const std::string&, const Spec&) {}  // further checks of one kind

template <class Spec>
std::multimap<std::string, Spec>& registry() {
  static std::multimap<std::string, Spec> entries;  // created by the first file that registers a component
  return entries;
}

template <class Spec>
Register<Spec>::Register(Spec spec) {
  if (const std::string* const plugin = loading_plugin()) spec.plugin = *plugin;
  std::string name = spec.name;
  registry<Spec>().emplace(std::move(name), std::move(spec));
}

template <class Spec>
std::vector<std::string> registered_names() {
  std::vector<std::string> names;
  for (const auto& entry : registry<Spec>())
    if (names.empty() || names.back() != entry.first) names.push_back(entry.first);
  return names;
}

// Throws ConfigError, which begins with `where`, if no component has this name.
template <class Spec>
void check_name(const std::string& where, const std::string& name) {
  const auto valid = registered_names<Spec>();
  if (std::find(valid.begin(), valid.end(), name) == valid.end())
    throw ConfigError(where, ": unknown name '", name, "'", did_you_mean(name, valid), "; valid names: ", join(valid));
}
// The component of this name, of a kind whose names have one component each.
template <class Spec>
const Spec& named(const std::string& where, const std::string& name) {
  check_name<Spec>(where, name);
  return noted(registry<Spec>().find(name)->second);
}

inline std::string owner(const std::string& plugin) { return plugin.empty() ? "flitgym" : "plugin '" + plugin + "'"; }

bool own_topology(const std::string& topology, const std::string& plugin);
// Whether a component is for topologies of its own plugin only, so that it changes no other run.
template <class Spec>
bool for_own_topologies(const Spec& spec) {
  bool own = !spec.topologies.empty();
  for (const std::string& topology : spec.topologies) own &= own_topology(topology, spec.plugin);
  return own;
}

// Several files may share a name if they are for different topologies and the kind selects by topology.
template <class Spec>
concept SharesNames = requires(const Spec& spec) { spec.topologies; } && !requires { typename Spec::OneNameEach; };

template <class Spec>
void check_taken(const std::string& where, const Spec& spec) {
  const auto [first, last] = registry<Spec>().equal_range(spec.name);
  for (auto at = first; at != last; ++at) {
    const Spec& other = at->second;
    if (&other == &spec) continue;
    std::string why;
    if constexpr (SharesNames<Spec>) {
      bool both = other.topologies.empty() && spec.topologies.empty();
      for (const std::string& topology : spec.topologies)
        both |= std::find(other.topologies.begin(), other.topologies.end(), topology) != other.topologies.end();
      if (both) why = " on the same topology";
      else if (other.plugin == spec.plugin || for_own_topologies(spec)) continue;
      else why = ", and a plugin may only extend it to topologies of its own";
    }
    throw ConfigError(where, ": the name is taken by ", owner(other.plugin), why, "; choose another name");
  }
}

template <class Spec>
std::vector<std::string> check_plugin(const std::string& who, const std::string& plugin) {
  std::vector<std::string> names;
  for (const auto& [key, spec] : registry<Spec>()) {
    if (spec.plugin != plugin) continue;
    const std::string kind = kind_name<Spec>(), where = who + "registers " + kind + " '" + spec.name + "'";
    bool name = !spec.name.empty() && !std::isdigit(static_cast<unsigned char>(spec.name[0]));
    for (const char c : spec.name) name &= std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (!name) throw ConfigError(where, ": a name consists of letters, digits and _, and does not start with a digit");
    if (!complete(spec)) throw ConfigError(where, ": a function that every ", kind, " must have is missing");
    check_more(where, spec);
    check_taken(where, spec);
    names.push_back(spec.name);
  }
  return names;
}

template <class Spec>
void forget_plugin(const std::string& plugin) {
  std::erase_if(registry<Spec>(), [&](const auto& entry) { return entry.second.plugin == plugin; });
}

template <class Spec>
const bool kind_added = (kinds().push_back({kind_name<Spec>(), check_plugin<Spec>, forget_plugin<Spec>}), true);

}  // namespace flitgym

// In namespace flitgym. `needed` is true if a component `s` has all functions of its kind.
#define FLITGYM_KIND(Spec, name, needed)                      \
  template <>                                                 \
  bool complete(const Spec& s) {                              \
    return needed;                                            \
  }                                                           \
  template <>                                                 \
  const char* kind_name<Spec>() {                             \
    return name;                                              \
  }                                                           \
  template std::multimap<std::string, Spec>& registry();      \
  template struct Register<Spec>;                             \
  template std::vector<std::string> registered_names<Spec>(); \
  template const bool kind_added<Spec>;
