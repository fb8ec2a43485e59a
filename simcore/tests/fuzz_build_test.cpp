// Damaged GOAL schedules and configurations. Each is refused, or it is read, built and run for a while.
#include "readers/goal.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/registry.hpp"
#include "simcore/workload.hpp"
#include "support/fuzz.hpp"
#include "support/scenes.hpp"

namespace fuzz_build_test {

using namespace scenes;

// A configuration as text with one parameter per line: "topology.widths [4, 4]". The sections of the router and of the
// workload have no name.
std::string text_of(const Config& c) {
  std::string text;
  const auto write = [&](const std::string& name, const Section& section) {
    if (!section.name.empty()) text += name + " " + section.name + "\n";
    for (const auto& [key, value] : section.values) text += name + "." + key + " " + to_string(value) + "\n";
  };
  write("topology", c.topology);
  write("router", {"", c.router.values});
  write("routing", c.routing);
  write("traffic", c.traffic);
  write("workload", {"", c.workload.values});
  for (const JobSection& job : c.workload.jobs) write("job", job.motif);
  return text;
}

Value value_of(const std::string& word) {
  if (word == "true" || word == "false") return word == "true";
  if (!word.empty() && word[0] == '[') {
    std::vector<double> items;
    std::istringstream in(word.substr(1));
    for (std::string item; std::getline(in, item, ',');) items.push_back(std::strtod(item.c_str(), nullptr));
    return items;
  }
  char* end = nullptr;
  const i64 whole = std::strtoll(word.c_str(), &end, 10);
  if (end != word.c_str() && *end == 0) return whole;
  const double number = std::strtod(word.c_str(), &end);
  if (end != word.c_str() && *end == 0) return number;
  return word;
}

Config config_of(const std::string& text) {
  Config c;
  c.router.name = "vc_router";
  c.seed = 1;
  c.max_memory_gb = 0.03;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size()), dot = std::min(line.find('.'), blank);
    const std::string name = line.substr(0, dot),
                      key = line.substr(std::min(dot + 1, blank), blank - std::min(dot + 1, blank));
    const std::string word = line.substr(std::min(blank + 1, line.size()));
    if (name == "job" && dot == blank)
      c.workload.jobs.push_back({"j" + std::to_string(c.workload.jobs.size()), {word, {}}, nullptr, {}});
    const std::map<std::string, Section*> sections = {
        {"topology", &c.topology},
        {"router", &c.router},
        {"routing", &c.routing},
        {"traffic", &c.traffic},
        {"job", c.workload.jobs.empty() ? nullptr : &c.workload.jobs.back().motif}};
    const auto found = sections.find(name);
    Section* const section = found == sections.end() ? nullptr : found->second;
    if (name == "workload" && !key.empty()) c.workload.values[key] = value_of(word);
    if (!section) continue;
    if (dot == blank && name != "router") section->name = word;
    else if (!key.empty()) section->values[key] = value_of(word);
  }
  if (c.routing.values.contains("path"))
    c.routing.values.erase("path");  // a file has its own reader and its own fuzzing
  return c;
}

void build_and_run(const std::string& text) {
  const Config c = config_of(text);
  u32 asked = 0;
  const KeepGoing patience = [&] {
    if (++asked > 20)
      throw CoreError("interrupted");  // about a second: the configuration is large, the build does not hang
  };
  Simulation sim(c, patience);
  CHECK(sim.network().memory_bytes <= 30000000);
  if ((sim.network().decider != Decider::kRouting)) return;
  sim.begin_window();
  if (sim.network().workload) sim.run_workload(200, patience);
  else sim.run(200, patience);
  sim.check_conservation();
}

DEEP_TEST(fuzz_configuration) {
  std::vector<std::string> corpus = {
      text_of(config(small_network(), hpdc21(), {"q_adaptive", {{"alpha", 0.2}}}, {"adversarial", {{"load", 0.4}}})),
      text_of(config(hyperx_section({4, 4}, 2, {{"links", std::vector<double>{2}}}), sc19(), {"omni_war", {}},
                     {"uniform", {{"packet_bytes", bytes_of(16)}}})),
      text_of(config(
          dragonfly_section(2, 4, 2, 5, {{"arrangement", "palmtree"}, {"links_per_group_pair", 2}}), small_wormhole(),
          {"policy", {{"hidden", std::vector<double>{8, 8}}, {"record", 100}, {"observation", "path+queues"}}},
          {"mixed",
           {{"load", 0.3},
            {"load_step_times_ns", std::vector<double>{50}},
            {"load_step_loads", std::vector<double>{0.9}}}})),
  };
  for (const char* name : {"halo3d", "ur", "collective", "lulesh"}) {
    Config c = config(small_network(), sc22(), {"par", {}}, {"", {}});
    c.workload = {{{"host", std::string(corpus.size() % 2 ? "mpi" : "loggops")}, {"packet_bytes", 512}},
                  {{"a", {name, {{"ranks", 27}, {"iterations", 2}}}, nullptr, {}},
                   {"b", {"dl", {{"ranks", 8}, {"bytes", 3000}}}, nullptr, {}}}};
    corpus.push_back(text_of(c));
  }
  auto words = testing::words_of(
      "0~1~-1~63~64~65~4096~16777216~4294967296~1e300~nan~inf~0.001~[]~[2, 2, 2, 2, 2, 2, 2]~true~\nrouting ~\ntraffic "
      "~"
      "\njob ~\ntopology ");
  for (const auto& kind : {registered_names<RoutingSpec>(), registered_names<TrafficSpec>(),
                           registered_names<MotifSpec>(), registered_names<TopologySpec>()})
    for (const std::string& name : kind) words.push_back(name);
  for (const auto& specs : {router_params(), common_traffic_params(), workload_params(), common_motif_params()})
    for (const ParamSpec& spec : specs)
      words.push_back("\nrouter." + spec.key + " "), words.push_back("." + spec.key + " ");
  u32 ran = 0;
  testing::fuzz(corpus, words, 600, [&](const std::string& text) {
    build_and_run(text);
    ran++;
  });
  CHECK(ran > 20);
}

DEEP_TEST(fuzz_goal) {
  const std::vector<std::string> corpus = {
      "num_ranks 2\nrank 0 {\nc: calc 4000\ns: send 1000b to 1 tag 7\nr: recv 1000b from 1 tag 9\ns requires c\n}\n"
      "rank 1 {\nr: recv 1000b from 0 tag 7\nk: calc 500\nk requires r\ns: send 1000b to 0 tag 9\ns requires k\n}\n",
      "num_ranks 3 // a comment\nrank 0 {\na: recv 70000b from -1 tag -1\nb: calc 1 cpu 2\nb irequires a\n}\nrank 1 { "
      "/* two */\n"
      "a: send 70000b to 0 nic 1\n}\nrank 2 {\n}\n",
      workload::write_goal(*motif_program({"collective", {{"ranks", 6}, {"collective", "alltoall"}}}, "motif", 0)),
  };
  const auto words = testing::words_of(
      "num_ranks~rank~calc~send~recv~requires~irequires~b~to~from~tag~cpu~nic~{~}~-1~0~255~256~4294967295~"
      "18446744073709551615~/*~*/~//~\n~:~o1~a~s");
  u32 ran = 0;
  testing::fuzz(corpus, words, 2500, [&](const std::string& text) {
    const auto program = workload::read_goal(text, "fuzz.goal");
    workload::check_program(*program, "program");
    CHECK(workload::read_goal(workload::write_goal(*program), "again")->ranks == program->ranks);
    if (program->ranks > 72) return;
    for (const char* host : {"mpi", "loggops"}) {
      Config c = config(small_network(), sc22(), {"minimal", {}}, {"", {}});
      c.workload = {{{"host", host}}, {{"a", {}, program, {}}}};
      Simulation sim(c);
      sim.run_workload(3000);
      ran++;
    }
  });
  CHECK(ran > 6);
}

}  // namespace fuzz_build_test
