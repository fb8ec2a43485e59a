#include "simcore/plugins.hpp"

#include <dlfcn.h>

#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>
#include <type_traits>

#include "loading.hpp"
#include "mapping/problem.hpp"
#include "plain_file.hpp"
#include "simcore/abi.hpp"
#include "simcore/error.hpp"
#include "simcore/learning.hpp"
#include "simcore/registry.hpp"
#include "tables/engine.hpp"

extern "C" {
extern const char FLITGYM_CORE_SYMBOL;
const char FLITGYM_CORE_SYMBOL = 0;
}

namespace flitgym {

namespace {

thread_local PluginsUsed* used = nullptr;

std::string described(const std::string& version, const std::string& headers, const std::string& library) {
  return "flitgym " + version + " (headers " + headers + ", " + library + ")";
}

// ---- Before loading: check the mark that the build has left in the file ----

struct Mark {
  std::string headers, library, version;
};

std::optional<Mark> mark_in(const std::string& bytes) {
  const std::string begin = FLITGYM_PLUGIN_MARK;
  for (std::size_t at = bytes.find(begin); at != std::string::npos; at = bytes.find(begin, at + 1)) {
    const std::string line = bytes.substr(at + begin.size(), bytes.substr(at + begin.size(), 400).find('\n'));
    const std::size_t first = line.find('|'), second = first == line.npos ? first : line.find('|', first + 1);
    if (second != line.npos)
      return Mark{line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
  }
  return std::nullopt;
}

constexpr const char* kOutOf = "; FLITGYM_PLUGINS=none ignores installed plugins";

void check_file(const std::string& who, const std::string& path) {
  const std::string bytes = read_plain_file(path, who + "cannot be read", kOutOf, 1);
  if (bytes.empty()) throw ConfigError(who + "is empty" + kOutOf);
  const auto mark = mark_in(bytes);
  if (!mark)
    throw ConfigError(who + "is not a plugin of flitgym, because it does not name a core; build it with " +
                      "flitgym_add_plugin() (docs/extending/plugins.md)" + kOutOf);
  const std::string own = FLITGYM_ABI;
  if (mark->headers + "|" + mark->library + "|" != own)
    throw ConfigError(who + "was built against " + described(mark->version, mark->headers, mark->library) +
                      ", but this is " + core_described() + "; rebuild it for this core" + kOutOf);
}

// ---- While loading: components are held back until all of them have been checked ----

const std::string* loading = nullptr;  // name of the plugin whose library is being loaded

template <class Spec>
std::vector<Spec>& waiting() {
  static std::vector<Spec> entries;
  return entries;
}

template <class... Specs>
struct Kinds {
  template <class Work>
  static void each(Work work) {
    (work.template operator()<Specs>(), ...);
  }
};
using All = Kinds<TopologySpec, RoutingSpec, RelationSpec, TrafficSpec, MotifSpec, ObservationSpec, RewardSpec,
                  tables::EngineSpec, mapping::MapperSpec>;

template <class Spec> constexpr const char* kKind = "";
template <> constexpr const char* kKind<TopologySpec> = "topology";
template <> constexpr const char* kKind<RoutingSpec> = "routing";
template <> constexpr const char* kKind<RelationSpec> = "relation";
template <> constexpr const char* kKind<TrafficSpec> = "traffic";
template <> constexpr const char* kKind<MotifSpec> = "motif";
template <> constexpr const char* kKind<ObservationSpec> = "observation";
template <> constexpr const char* kKind<RewardSpec> = "reward";
template <> constexpr const char* kKind<tables::EngineSpec> = "engine";
template <> constexpr const char* kKind<mapping::MapperSpec> = "mapper";

bool whole(const TopologySpec& s) { return s.wire; }
bool whole(const RoutingSpec& s) { return s.setup && s.route; }
bool whole(const RelationSpec& s) { return s.setup && s.candidates; }
bool whole(const TrafficSpec& s) { return s.schedule || (s.setup && s.destination); }
bool whole(const MotifSpec& s) { return s.build; }
bool whole(const ObservationSpec& s) { return s.write; }
bool whole(const RewardSpec& s) { return s.reward; }
bool whole(const tables::EngineSpec& s) { return s.make; }
bool whole(const mapping::MapperSpec& s) { return s.map; }

std::string owner(const std::string& plugin) { return plugin.empty() ? "flitgym" : "plugin '" + plugin + "'"; }

// Whether a topology belongs to the plugin. Components for it do not affect others.
bool own_topology(const std::string& topology, const std::string& plugin) {
  for (const TopologySpec& spec : waiting<TopologySpec>())
    if (spec.name == topology) return true;
  const auto found = registry<TopologySpec>().find(topology);
  return found != registry<TopologySpec>().end() && found->second.plugin == plugin;
}

template <class Spec>
bool for_own_topologies(const Spec& spec) {
  bool own = !spec.topologies.empty();
  for (const std::string& topology : spec.topologies) own &= own_topology(topology, spec.plugin);
  return own;
}

template <class Spec>
void check_taken(const std::string& where, const Spec& spec, const std::vector<Spec>& before) {
  const auto taken = [&](const std::string& by, const std::string& what) {
    throw ConfigError(where + ": the name is taken by " + by + what + "; choose another name");
  };
  const auto [first, last] = registry<Spec>().equal_range(spec.name);
  if constexpr (requires { spec.topologies; } && !std::is_same_v<Spec, tables::EngineSpec>) {
    // Several files may share a name if they are for different topologies.
    for (auto at = first; at != last; ++at)
      if (!for_own_topologies(spec))
        taken(owner(at->second.plugin), ", and a plugin may only extend it to topologies of its own");
    const auto overlaps = [&](const Spec& other) {
      if (other.name != spec.name) return false;
      bool both = other.topologies.empty() && spec.topologies.empty();
      for (const std::string& topology : spec.topologies)
        for (const std::string& of_other : other.topologies) both |= topology == of_other;
      return both;
    };
    for (auto at = first; at != last; ++at)
      if (overlaps(at->second)) taken(owner(at->second.plugin), " on the same topology");
    for (const Spec& other : before)
      if (overlaps(other)) taken("another file of the same library", " on the same topology");
  } else {
    if (first != last) taken(owner(first->second.plugin), "");
    for (const Spec& other : before)
      if (other.name == spec.name) taken("another file of the same library", "");
  }
}

// Relations share their names with routings that list candidates, and relation=widest and =preferred select among them.
template <class Spec, class Other>
void check_relation(const std::string& where, const Spec& spec) {
  const auto [first, last] = registry<Other>().equal_range(spec.name);
  for (auto at = first; at != last; ++at)
    if (at->second.plugin != spec.plugin && !for_own_topologies(spec))
      throw ConfigError(where + ": the name is taken by a " + kKind<Other> + " of " + owner(at->second.plugin) +
                        "; choose another name");
  const auto own_only = [&](bool flag, const std::string& name) {
    if (flag && !for_own_topologies(spec))
      throw ConfigError(where + ": " + name + " = true would change routing.relation=" + name +
                        " on topologies that do not belong to the plugin");
  };
  own_only(spec.widest, "widest");
  if constexpr (requires { spec.preferred; }) own_only(spec.preferred, "preferred");
}

void check_params(const std::string& where, const tables::EngineSpec& spec) {
  for (const ParamSpec& p : spec.params)
    for (const ParamSpec& other : tables::all_engine_params())
      if (p.key == other.key && p.type != other.type)
        throw ConfigError(where + "." + p.key + ": another engine has a parameter with this key and another type");
}

template <class Spec>
void check_waiting(const std::string& who) {
  std::vector<Spec> before;
  for (const Spec& spec : waiting<Spec>()) {
    const std::string where = who + "registers " + kKind<Spec> + " '" + spec.name + "'";
    bool name = !spec.name.empty() && !std::isdigit(static_cast<unsigned char>(spec.name[0]));
    for (const char c : spec.name) name &= std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (!name) throw ConfigError(where + ": a name consists of letters, digits and _, and does not start with a digit");
    if (!whole(spec)) throw ConfigError(where + ": a function that every " + kKind<Spec> + " must have is missing");
    if constexpr (std::is_same_v<Spec, RoutingSpec>) check_relation<RoutingSpec, RelationSpec>(where, spec);
    if constexpr (std::is_same_v<Spec, RelationSpec>) check_relation<RelationSpec, RoutingSpec>(where, spec);
    if constexpr (std::is_same_v<Spec, tables::EngineSpec>) check_params(where, spec);
    check_taken(where, spec, before);
    before.push_back(spec);
  }
}

struct Loaded {
  Registered brought;
  std::string refused;  // reason of a refusal; its components cannot be registered a second time
};

std::map<std::string, Loaded>& libraries() {
  static std::map<std::string, Loaded> all;
  return all;
}

void load(const std::string& name, const std::string& who, const std::string& path, Loaded& library) {
  loading = &name;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  loading = nullptr;
  if (!handle) {
    const char* const reason = dlerror();
    throw ConfigError(who + "cannot be loaded: " + (reason ? reason : "for an unknown reason") + kOutOf);
  }
  All::each([&]<class Spec>() { check_waiting<Spec>(who); });
  All::each([&]<class Spec>() {
    for (Spec& spec : waiting<Spec>()) {
      library.brought[kKind<Spec>].push_back(spec.name);
      std::string key = spec.name;
      registry<Spec>().emplace(std::move(key), std::move(spec));
    }
  });
  if (library.brought.empty()) throw ConfigError(who + "registers nothing" + kOutOf);
}

}  // namespace

template <class Spec>
bool wait_for_check(Spec& spec) {
  if (!loading) return false;
  spec.plugin = *loading;
  waiting<Spec>().push_back(std::move(spec));
  return true;
}

#define FLITGYM_WAITS(Spec) template bool wait_for_check(Spec&);
FLITGYM_WAITS(TopologySpec)
FLITGYM_WAITS(RoutingSpec)
FLITGYM_WAITS(RelationSpec)
FLITGYM_WAITS(TrafficSpec)
FLITGYM_WAITS(MotifSpec)
FLITGYM_WAITS(ObservationSpec)
FLITGYM_WAITS(RewardSpec)
FLITGYM_WAITS(tables::EngineSpec)
FLITGYM_WAITS(mapping::MapperSpec)
#undef FLITGYM_WAITS

const Registered& load_plugin(const std::string& name, const std::string& path) {
  const std::string who = "plugin '" + name + "': " + path + " ";
  const auto known = libraries().find(path);
  if (known != libraries().end()) {
    if (!known->second.refused.empty()) throw ConfigError(known->second.refused);
    return known->second.brought;
  }
  check_file(who, path);
  Loaded library;
  try {
    load(name, who, path, library);
  } catch (const ConfigError& error) {
    library.refused = error.what();
  }
  All::each([]<class Spec>() { waiting<Spec>().clear(); });
  const Loaded& kept = libraries()[path] = std::move(library);
  if (!kept.refused.empty()) throw ConfigError(kept.refused);
  return kept.brought;
}

std::string core_described() {
  return described(FLITGYM_CORE_VERSION, FLITGYM_HEADERS, std::string(FLITGYM_STDLIB) + FLITGYM_CHECKED);
}

PluginsUsed::PluginsUsed() : outer_(used) { used = this; }
PluginsUsed::~PluginsUsed() { used = outer_; }

void note_plugin(const std::string& name) {
  if (!name.empty())
    for (PluginsUsed* scope = used; scope; scope = scope->outer_) scope->names_.insert(name);
}

}  // namespace flitgym
