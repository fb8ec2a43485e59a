// Libraries that bring components of their own: the same registration lines as in this tree, compiled elsewhere. A
// library is looked at as a file before it is loaded, so that one that was built against another core is refused before
// anything of it runs. What is loaded stays: there is no unloading.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flitgym {

// By kind ("routing", "topology", ...): the names that were registered.
using Registered = std::map<std::string, std::vector<std::string>>;

// Loads the library at `path` on behalf of the plugin `name`, all of what it registers or nothing. The same file once
// more says again what it brought. Throws ConfigError: it cannot be read or loaded, was built against another core,
// registers nothing, or what it registers is incomplete or would change what is there already.
const Registered& load_plugin(const std::string& name, const std::string& path);

// What a library must have been built against, in words: version, headers, standard library.
std::string core_described();

// The plugins whose components were used while this object lives, on its thread. Objects nest.
class PluginsUsed {
 public:
  PluginsUsed();
  ~PluginsUsed();
  PluginsUsed(const PluginsUsed&) = delete;
  PluginsUsed& operator=(const PluginsUsed&) = delete;

  const std::set<std::string>& names() const { return names_; }

 private:
  friend void note_plugin(const std::string& name);
  PluginsUsed* const outer_;
  std::set<std::string> names_;
};

void note_plugin(const std::string& name);  // "" is flitgym itself, and not noted

// Whoever picks a component out of a registry says so.
template <class Spec>
const Spec& noted(const Spec& spec) {
  note_plugin(spec.plugin);
  return spec;
}

}  // namespace flitgym
