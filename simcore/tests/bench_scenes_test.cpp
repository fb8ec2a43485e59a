// The scenes of the benchmark: their networks build, and their names are unique. Results of other commits are compared
// by these names, and the goals refer to them.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "../bench/scenes.hpp"
#include "simcore/simulation.hpp"
#include "test.hpp"

using namespace flitgym;

namespace {

bool is_number(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The number of terminals in a scene's name: after hyperx_ or torus_, or before _terminals. 0: the name has none.
u32 terminals_in(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '_') words.emplace_back();
    else words.back() += c;
  }
  for (std::size_t k = 1; k < words.size(); k++)
    if (is_number(words[k]) && ((k == 1 && (words[0] == "hyperx" || words[0] == "torus")) ||
                                (k + 1 < words.size() && words[k + 1] == "terminals")))
      return static_cast<u32>(std::stoul(words[k]));
  return 0;
}

// Quoted words that contain an underscore and only lower-case letters, digits, '_' and '.'.
std::vector<std::string> quoted_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t from = text.find('"'); from != std::string::npos;) {
    const std::size_t to = text.find('"', from + 1);
    if (to == std::string::npos) break;
    const std::string word = text.substr(from + 1, to - from - 1);
    const auto plain = [](unsigned char c) { return std::islower(c) || std::isdigit(c) || c == '_' || c == '.'; };
    const bool name = !word.empty() && std::islower(static_cast<unsigned char>(word[0])) &&
                      word.find('_') != std::string::npos && std::all_of(word.begin(), word.end(), plain);
    if (name) names.push_back(word);
    from = text.find('"', to + 1);
  }
  return names;
}

std::set<std::string> scene_names() {
  std::set<std::string> names;
  for (const bench::Scene& scene : bench::scenes()) CHECK_FOR(names.insert(scene.name).second, scene.name);
  return names;
}

}  // namespace

// Builds the small scenes. Building a large scene would only take longer.
TEST(scenes_of_the_benchmark_build) {
  for (const bench::Scene& scene : bench::scenes()) {
    CHECK_FOR(scene.groups, scene.name);
    CHECK_FOR(scene.cycles > 0, scene.name);
    const Config config = bench::config_of(scene);
    if (count_terminals(config.topology) > 9999) continue;  // takes long
    const Simulation sim(config);
    if (const u32 named = terminals_in(scene.name)) CHECK_EQ(sim.network().terminals, named);
  }
}

TEST(scenes_of_the_benchmark_have_unique_names) { CHECK(scene_names().size() > 30); }

// Every name in simcore/bench/goals.py belongs to a scene.
TEST(goals_of_the_benchmark_are_scenes) {
  std::ifstream file(FLITGYM_BENCH_DIR "/goals.py");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::set<std::string> names = scene_names();
  u32 found = 0;
  for (const std::string& name : quoted_names(text)) {
    if (name.ends_with("yardstick") || name.ends_with("json")) continue;  // results/before.json, and a key of its rows
    CHECK_FOR(names.count(name), name);
    found++;
  }
  CHECK(found >= 16);  // nine goals and seven scenes for threads
}
