// Libraries that are refused before they are loaded, and the record of the plugins that a network uses. tests/plugins
// loads the example plugin of docs/extending.
#include "simcore/plugins.hpp"

#include "simcore/registry.hpp"
#include "support/file.hpp"

namespace plugins_test {

using namespace flitgym;

void refused(const std::string& bytes, const std::string& part, const std::string& also = "") {
  const fabrics::File file(bytes, ".so");
  CHECK_THROWS(ConfigError, load_plugin("other", file.path.string()), "plugin 'other': ", part, also);
}

TEST(plugins_of_another_core_are_refused_with_both_versions) {
  refused("\177ELF flitgym-plugin|0123456789ab|libstdc++ cxx11|9.9.9+abc\n and more",
          "was built against flitgym 9.9.9+abc (headers 0123456789ab, libstdc++ cxx11)", "this is " + core_described());
}

TEST(libraries_without_a_complete_mark_are_no_plugins) {
  for (const char* bytes : {"", "\177ELF", "flitgym-plugin|", "flitgym-plugin|a|b", "flitgym-plugin|a\n|b|c\n"})
    refused(bytes, *bytes ? "is not a plugin of flitgym" : "is empty");
}

TEST(plugins_used_are_noted_for_the_network_they_were_used_for) {
  TopologySpec spec = registry<TopologySpec>().find("slim_fly")->second;
  spec.name = "of_a_plugin";
  spec.plugin = "a_plugin";
  registry<TopologySpec>().emplace(spec.name, spec);
  const auto built = [](const std::string& topology) {
    Config config;
    config.topology = {topology, registry<TopologySpec>().find(topology)->second.small};
    config.router.name = "vc_router";
    config.routing.name = "minimal";
    config.traffic.name = "uniform";
    return build(config)->plugins;
  };
  const PluginsUsed all;
  CHECK(built("slim_fly").empty());
  CHECK(built("of_a_plugin") == std::vector<std::string>{"a_plugin"});
  CHECK(built("slim_fly").empty());
  CHECK(all.names().count("a_plugin") == 1);
  registry<TopologySpec>().erase("of_a_plugin");
}

}  // namespace plugins_test
