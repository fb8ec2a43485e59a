#include "simcore/traffic_classes.hpp"

#include "core/hosts/engine.hpp"
#include "simcore/stats.hpp"

namespace flitgym {

static u32 number_of(const TrafficClasses& classes, const std::string& where, const std::string& name) {
  std::vector<std::string> names;
  for (const TrafficClass& one : classes.all) {
    if (one.name == name) return static_cast<u32>(names.size());
    names.push_back(one.name);
  }
  throw ConfigError(where, ": unknown class '", name, "'", did_you_mean(name, names),
                    "; router.classes has: ", join(names));
}

static ClassRule rule_of(const Network& net, const std::string& text, u32 to) {
  using enum ClassRule::Fits;
  if (text == "control" || text == "collective") return {text == "control" ? kControl : kCollective, 0, to};
  if (const std::string digits = text.starts_with("below_") ? text.substr(6) : "";
      !digits.empty() && digits.size() < 16 && digits.find_first_not_of("0123456789") == std::string::npos)
    return {kBelow, std::stoull(digits), to};
  std::vector<std::string> names;
  for (const Job& job : net.workload->jobs) {
    if (job.name == text) return {kJob, names.size(), to};
    names.push_back(job.name);
  }
  throw ConfigError("workload.classes: '", text, "' is no job", did_you_mean(text, names),
                    "; valid keys: ", join(names), ", control, collective and below_<bytes>");
}

const std::vector<ParamSpec>& class_params() {
  static const std::vector<ParamSpec> specs = {
      integer("priority", 0, 0, 255, "", "classes with a higher priority go first, beyond the shares of the others"),
      real("share", 0, 0, 1, "", "part of the bandwidth of every output that the class gets while its packets wait"),
      real("limit", 1, 0.01, 1, "", "largest part of the bandwidth of every output, also of an idle output"),
      real("sources", 0, 0, 1, "",
           "part of the terminals, drawn at random, whose traffic pattern or drawn flows belong to the class; the last "
           "class has the other terminals"),
  };
  return specs;
}

std::shared_ptr<TrafficClasses> read_classes(const Config& config, Network& net) {
  std::vector<Section> given = config.classes;
  if (given.empty() && !config.workload.classes.empty()) given = {{"high", {{"priority", i64{1}}}}, {"bulk", {}}};
  if (given.empty()) return nullptr;
  const auto classes = std::make_shared<TrafficClasses>();
  std::vector<i64> priorities;
  double shares = 0, sources = 0;
  for (const Section& section : given) {
    const std::string where = "router.classes." + section.name;
    const Params params(where, class_params(), section.values, net.seed);
    classes->all.push_back({section.name, 1, params.real("share"), params.real("limit"), params.real("sources")});
    const TrafficClass& own = classes->all.back();
    if (own.share > own.limit) throw ConfigError(where, ".share: ", own.share, " is above the limit of ", own.limit);
    priorities.push_back(params.integer("priority"));
    shares += own.share;
    sources += own.sources;
    net.config.classes.push_back({section.name, params.values()});
  }
  for (const auto& [what, sum] : {std::pair{"shares", shares}, std::pair{"sources", sources}})
    if (sum > 1 + 1e-9)
      throw ConfigError("router.classes: the ", what, " of all classes add up to ", std::round(sum * 1e6) / 1e6,
                        "; they are parts of a whole, so the sum is at most 1");
  for (std::size_t c = 0; c < priorities.size(); c++)
    classes->all[c].rank +=
        static_cast<u32>(std::ranges::count_if(priorities, [&](i64 other) { return other > priorities[c]; }));
  net.classes = classes;
  return classes;
}

void finish_classes(const Config& config, TrafficClasses& classes, Network& net) {
  if (net.router.arbiter == Arbiter::kIslip)
    throw ConfigError("router.classes: arbiter=islip knows no classes; use round_robin, least_recently_served or age");
  // Such a head looks for room in the VCs of all classes.
  if (net.routing_facts.reroutes)
    throw ConfigError(
        "router.classes: routing.", net.routing_name,
        " is not free of deadlock with classes, because it waits for room; use deadlock_avoidance=distance");
  u32 slowest = 1;
  for (const Channel& c : net.channels) slowest = std::max(slowest, c.flit_cycles);
  classes.packet = static_cast<double>(net.most_packet_flits) * slowest;
  classes.slack = 8 * classes.packet;
  for (const auto& [text, name] : config.workload.classes) {
    classes.rules.push_back(rule_of(net, text, number_of(classes, "workload.classes." + text, name)));
    net.config.workload.classes.emplace_back(text, name);
  }
  classes.listed = config.flows != nullptr;
  const u32 count = classes.count();
  classes.of_terminal.assign(net.terminals, static_cast<u8>(count - 1));
  for (u32 t = 0; t < net.terminals; t++) {
    double drawn = unit(draw(net.seed, t, kDrawClass));
    for (u32 c = 0; c + 1 < count && classes.of_terminal[t] == count - 1; c++)
      if ((drawn -= classes.all[c].sources) < 0) classes.of_terminal[t] = static_cast<u8>(c);
  }
  classes.used = declare<double>(
      net, {.name = "class_use",
            .meaning = "cycle up to which a traffic class has used its share and its limit: port and stage x class",
            .rows = net.port_count * 2,
            .columns = count * 2});
  classes.sums = declare<double>(net, {.name = "class_sums",
                                       .meaning = "packets, flits, hops, sum of latencies and longest latency in "
                                                  "cycles, of the window: partition and traffic class",
                                       .rows = net.partitions() * count,
                                       .columns = kClassSums});
  classes.histograms = declare<u32>(net, {.name = "class_latencies",
                                          .meaning = "packets of the window by latency: partition and traffic class",
                                          .rows = net.partitions() * count,
                                          .columns = kHistogramBins,
                                          .highest = kNone});
}

u32 class_of_message(const Network& net, const Message& m) {
  if (!net.classes) return 0;
  const TrafficClasses& classes = *net.classes;
  const u32 last = classes.count() - 1;
  const Transfer transfer = workload::transfer_of(m);
  if (transfer == Transfer::kFlow)
    return classes.listed ? std::min(static_cast<u32>(m.tag), last)
                          : classes.of_terminal[net.workload->rank_terminal[m.source]];
  for (const ClassRule& rule : classes.rules) {
    bool fits = false;
    switch (rule.fits) {
      case ClassRule::Fits::kJob: fits = net.workload->rank_job[m.source] == rule.value; break;
      case ClassRule::Fits::kControl: fits = !workload::carries_data(transfer); break;
      case ClassRule::Fits::kCollective: fits = m.collective; break;
      case ClassRule::Fits::kBelow: fits = m.bytes < rule.value; break;
    }
    if (fits) return rule.to;
  }
  return last;
}

void count_class(const Network& net, State& s, u32 partition, const Packet& p, u32 latency) {
  const std::size_t row = std::size_t{partition} * net.classes->count() + p.traffic_class;
  double* const sums = net.classes->sums.of(s) + row * kClassSums;
  sums[0]++;
  sums[1] += p.flits;
  sums[2] += p.hops;
  sums[3] += latency;
  sums[4] = std::max(sums[4], static_cast<double>(latency));
  net.classes->histograms.of(s)[row * kHistogramBins + histogram_bin(latency)]++;
}

void clear_class_sums(const Network& net, State& s) {
  for (const u32 memory : {net.classes->sums.memory, net.classes->histograms.memory})
    std::ranges::fill(s.memory[memory], u8{0});
}

}  // namespace flitgym
