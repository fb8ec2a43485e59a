// Libraries with additional components. They register components in the same way as flitgym's own files. The mark in
// the file of a library is checked before it is loaded. A library that was built against another core is therefore
// refused before its code runs. Loaded libraries cannot be unloaded.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace flitgym {

// Registered names by kind ("routing", "topology", ...).
using Registered = std::map<std::string, std::vector<std::string>>;

// Loads the library at `path` for the plugin `name`, and registers all its components or none. Returns the names of the
// components of this plugin. A second call with the same file returns the same result. Throws ConfigError if the
// library cannot be read or loaded, was built against another core or registers nothing. Also throws it if a component
// is incomplete or would change an existing component.
const Registered& load_plugin(const std::string& name, const std::string& path);

// Describes the core that a library must have been built against: version, headers, standard library.
std::string core_described();

// Plugins whose components were used on this thread while the object exists. Objects can be nested.
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

void note_plugin(const std::string& name);  // "" means flitgym itself and is not noted

// Notes the plugin of a component that is taken from a registry.
template <class Spec>
const Spec& noted(const Spec& spec) {
  note_plugin(spec.plugin);
  return spec;
}

}  // namespace flitgym
