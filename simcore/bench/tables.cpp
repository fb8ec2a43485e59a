// Speed of the engines of forwarding tables, and of the measures of a table, as one line of JSON.
//   simcore_tables FABRIC ENGINE [key=value ...]     simcore_tables --list
// The additional parameter patterns=N measures and times the effective bisection bandwidth over N patterns.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "measure.hpp"
#include "simcore/error.hpp"
#include "simcore/traffic/draws.hpp"
#include "tables/quality.hpp"

using namespace flitgym;

namespace {

using Reals = std::vector<double>;

struct Fabric {
  const char* name;
  Section topology;
};

// The first three are configs/topology/*.yaml of these names.
std::vector<Fabric> fabrics() {
  return {
      {"fat_tree_672",
       {"fat_tree", {{"children", Reals{14, 6, 8}}, {"parents", Reals{1, 6, 9}}, {"links", Reals{1, 3, 2}}}}},
      {"dragonfly_1056", {"dragonfly", {}}},
      {"hyperx_672", {"hyperx", {{"widths", Reals{12, 8}}, {"terminals_per_router", i64{7}}}}},
      {"torus_512", {"torus", {{"sizes", Reals{8, 8, 8}}}}},
      {"torus_150", {"torus", {{"sizes", Reals{5, 5, 6}}}}},
      {"torus_90", {"torus", {{"sizes", Reals{5, 3, 3, 2}}}}},
      {"random_regular_1000",
       {"random_regular", {{"routers", i64{1000}}, {"degree", i64{8}}, {"terminals_per_router", i64{1}}}}},
      {"random_regular_10000",
       {"random_regular", {{"routers", i64{10000}}, {"degree", i64{12}}, {"terminals_per_router", i64{1}}}}},
      {"torus_10000", {"torus", {{"sizes", Reals{25, 20, 20}}}}},
  };
}

Value value_of(const std::string& key, const std::string& text) {
  for (const ParamSpec& p : tables::all_engine_params()) {
    if (p.key != key) continue;
    switch (p.type) {
      case ParamSpec::Type::kBool: return text == "true";
      case ParamSpec::Type::kInt: return i64{std::atoll(text.c_str())};
      case ParamSpec::Type::kFloat: return std::atof(text.c_str());
      default: return text;
    }
  }
  return text;  // make_table() refuses an unknown key by name
}

int run(int argc, char** argv) {
  Config config;
  for (const Fabric& fabric : fabrics())
    if (std::string(argv[1]) == fabric.name) config.topology = fabric.topology;
  if (config.topology.name.empty()) {
    std::fprintf(stderr, "unknown fabric %s; --list names them\n", argv[1]);
    return 2;
  }
  tables::EngineChoice choice{argv[2], {}, nullptr};
  u32 patterns = 0;
  for (int k = 3; k < argc; k++) {
    const std::string given = argv[k];
    const std::string key = given.substr(0, given.find('='));
    const std::string text = given.substr(std::min(given.size(), key.size() + 1));
    if (key == "patterns") patterns = static_cast<u32>(std::atoi(text.c_str()));
    else choice.values[key] = value_of(key, text);
  }
  const tables::ChannelGraph g = tables::channel_graph(config);
  const double start = cpu_now();
  const tables::ForwardingTable table = tables::make_table("engine", choice, g);
  const double made = cpu_now() - start, rss = peak_rss_mb();
  const tables::Quality q = quality(g, table, {});
  double ebb = 0, ebb_seconds = 0;
  if (patterns) {
    std::vector<u32> orders(std::size_t{patterns} * g.terminals);
    const double before = cpu_now();
    for (u32 k = 0; k < patterns; k++)
      traffic::draw_order(1, k, g.terminals, orders.data() + std::size_t{k} * g.terminals);
    for (const double value : tables::bisection_bandwidth(g, table, orders, false)) ebb += value / patterns;
    ebb_seconds = cpu_now() - before;
  }
  std::printf(
      "{\"fabric\": \"%s\", \"engine\": \"%s\", \"switches\": %u, \"terminals\": %u, \"route_cpu_seconds\": %.4f, "
      "\"peak_rss_mb\": %.1f, \"layers\": %u, \"acyclic\": %s, \"minimal\": %s, \"edge_forwarding_index\": %.0f, "
      "\"load_mean\": %.4f, \"ebb_mean\": %.5f, \"ebb_cpu_seconds\": %.4f}\n",
      argv[1], argv[2], g.switches, g.terminals, made, rss, q.layers, q.cycle.empty() ? "true" : "false",
      q.minimal ? "true" : "false", q.edge_forwarding_index, q.load_mean, ebb, ebb_seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2) return run(argc, argv);
    if (argc == 2 && std::string(argv[1]) == "--list") {
      for (const Fabric& fabric : fabrics()) std::puts(fabric.name);
      return 0;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: simcore_tables FABRIC ENGINE [key=value ...] | --list\n");
  return 2;
}
