// Builds an immutable Network from parameters. Every network that passes build() can run. Most checks are called from
// here.
#include <sstream>

#include "core/failures.hpp"
#include "core/find_component.hpp"
#include "core/partition.hpp"
#include "core/router_setup.hpp"
#include "core/traffic_setup.hpp"
#include "simcore/control.hpp"
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/plugins.hpp"
#include "simcore/registry.hpp"
#include "simcore/routing/relation.hpp"
#include "simcore/traffic/demand.hpp"
#include "simcore/traffic_classes.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

// Parameters of another topology's component of the same name are accepted if they have the default value.
static Values without_defaults_of_others(const RoutingSpec& spec, const Values& given, const Network& net) {
  Values own = given;
  const auto own_params = params_of(spec);
  const auto [first, last] = registry<RoutingSpec>().equal_range(spec.name);
  for (auto at = first; at != last; ++at)
    for (const ParamSpec& p : at->second.params) {
      const auto found = given.find(p.key);
      if (found == given.end() || std::ranges::count(own_params, p.key, &ParamSpec::key)) continue;
      if (to_string(found->second) != to_string(p.fallback))
        throw ConfigError("routing.", spec.name, ".", p.key, ": ", to_string(found->second),
                          " has no effect on topology '", net.topology_name, "'",
                          net.damaged ? " with failed links" : "", "; it is for ", join(at->second.topologies),
                          net.damaged ? " without failures" : "");
      own.erase(p.key);
    }
  return own;
}

// Returns the links that fail during the run.
static std::vector<Outage> wire(const Config& config, Network& net) {
  const auto& spec = named<TopologySpec>("topology", config.topology.name);
  const Params params("topology." + spec.name, spec.params, config.topology.values, config.seed);
  net.config.topology = {spec.name, params.values()};
  Wiring wiring;
  spec.wire(params, wiring);
  const std::vector<Outage> outages = apply_failures(config.failures, config.seed, wiring, net.failed_links);
  if (!net.failed_links.empty()) net.failed_link = net.failed_links.back();
  else if (!outages.empty()) net.failed_link = outages.back().name;
  net.damaged = !net.failed_link.empty();

  net.topology_name = spec.name;
  net.topology = wiring.data;
  static_cast<Places&>(net) = wiring;
  lay_out(wiring, net);

  std::ostringstream fingerprint;
  fingerprint << spec.name;
  for (const ParamSpec& p : spec.params) {
    const auto found = config.topology.values.find(p.key);
    Value chosen = found == config.topology.values.end() ? p.fallback : found->second;
    if (!p.draws.empty() && std::holds_alternative<std::monostate>(chosen)) {
      const auto equals = p.needs.find('=');
      const bool drawn =
          p.needs.empty() || to_string(params.value(p.needs.substr(0, equals))) == p.needs.substr(equals + 1);
      chosen = static_cast<i64>(drawn ? config.seed : 1);
    }
    fingerprint << ' ' << p.key << '=' << to_string(chosen);
  }
  // Links that fail later are no part of it, so a Q-table of the intact network fits.
  bool drawn = false;
  for (const auto& [key, value] : config.failures) {
    if (key == "events" || key == "seed" || to_string(value) == "0") continue;
    fingerprint << " failures." << key << '=' << to_string(value);
    drawn |= std::holds_alternative<i64>(value) || std::holds_alternative<double>(value);
  }
  if (drawn) fingerprint << " failures.seed=" << failure_seed(config.failures, config.seed);
  if (wiring.digest) fingerprint << " wiring=" << std::hex << wiring.digest;
  net.fingerprint = fingerprint.str();
  return outages;
}

static void choose_routing(const Config& config, const Params& router, Network& net) {
  const auto& spec = find<RoutingSpec>("routing", config.routing.name, net);
  const Params params("routing." + spec.name, params_of(spec),
                      without_defaults_of_others(spec, config.routing.values, net), config.seed);
  net.routing_name = spec.name;
  net.config.routing = {spec.name, params.values()};
  net.given_table = config.table;
  net.given_demand = config.demand;
  net.flit_bytes = router.real("flit_bytes");
  if (net.damaged && spec.topologies.empty()) {
    const auto [first, last] = registry<RoutingSpec>().equal_range(spec.name);
    for (auto at = first; at != last; ++at)
      net.replaced |= std::count(at->second.topologies.begin(), at->second.topologies.end(), net.topology_name) > 0;
  }
  net.route = spec.route;
  net.learn = spec.learn;
  net.candidates = spec.candidates;
  net.decider = spec.decider;
  net.operations = spec.operations;
  net.chosen = spec.chosen;
  net.delivered = spec.delivered;
  net.waypoint = spec.waypoint;
  net.routing_facts = spec.setup(params, net, net.routing);
  if (!net.relation) net.relation = net.routing;
  if (!net.routing_facts.minimal) need_distances(net);  // to detect packets that leave the minimal paths

  // On a single router, a routing needs no VC class, but terminals still need a VC.
  const u32 needed = std::max(1u, net.routing_facts.classes), given = router.count("vcs");
  net.class_vcs = given == 0 ? needed : given;
  net.vcs = net.class_vcs * class_count(net);
  if (net.class_vcs < needed)
    throw ConfigError("router.vcs: ", given, " VCs are too few for routing.", spec.name, ", which needs ", needed,
                      " to be free of deadlock");
  if (net.class_vcs % needed > 0 && net.classes)
    throw ConfigError("router.vcs: ", given, "; with router.classes, use a multiple of the ", needed,
                      " VCs that routing.", spec.name, " needs");
  if (net.vcs > kMaxVcs && net.class_vcs <= kMaxVcs)
    throw ConfigError("router.classes: ", class_count(net), " classes with ", net.class_vcs, " VCs each need ", net.vcs,
                      " VCs; the core supports at most ", kMaxVcs);
  if (net.vcs > kMaxVcs)
    throw ConfigError(
        given == 0
            ? "routing." + spec.name + ": it needs " + std::to_string(net.vcs) +
                  " VC classes on this topology to be free of deadlock (its paths have up to " +
                  std::to_string(net.routing_facts.max_hops) + " hops" +
                  (net.graphs.size() > 1 ? "; each change in failures.events may lengthen a path by another diameter)"
                                         : ")")
            : "router.vcs: " + std::to_string(net.vcs) + " VCs",
        "; the core supports at most ", kMaxVcs);
  while ((1u << net.vc_shift) < net.vcs) net.vc_shift++;
  if (net.routing_facts.reroutes && net.router.separate_vc_allocation)
    throw ConfigError("router.vc_allocation: ", router.text("vc_allocation"),
                      " reserves an output VC for a head that may still choose another one, as in routing.", spec.name,
                      "; use with_switch");
  const u32 injection = router.count("injection_vcs");
  if (injection > net.class_vcs)
    throw ConfigError("router.injection_vcs: ", injection, "; a port has only ", net.class_vcs, " VCs",
                      net.classes ? " of a traffic class" : "");
  net.router.injection_vcs = injection ? injection : net.class_vcs;
  net.request_words = std::max(1u, (1u << (net.radix_shift + net.vc_shift)) / 64);
  size_vcs(router, net);
}

static void choose_workload(const WorkloadSection& section, const std::string& kind, const Params& router,
                            Network& net) {
  const auto workload = build_workload(section, net, router.real("flit_bytes"));
  net.least_packet_flits = 1;
  net.most_packet_flits = flits_of(kind + ".packet_bytes", workload->packet_bytes, net);
  fit_packets(kind + ".packet_bytes", router, net);
  net.traffic_name = kind;
  net.load_values = {0};
  net.load_from = {0};
  net.gap_scale = {0};
  net.gap_fixed = {~u64{0}};
  // Without a simulated network, other jobs cause no delay.
  net.accounts_per_job = class_count(net);
  net.accounted_jobs = workload->blame && workload->host.network ? workload->job_count() * class_count(net) : 0;
  net.workload = workload;
  if (workload->flows) need_flights(net);  // for ideal times
}

// Flows are the messages of a job with a rank on every terminal.
static void choose_flows(const std::shared_ptr<const Program>& flows, const Params& router, Network& net) {
  const Values& given = net.config.traffic.values;
  const auto bytes = std::get<i64>(given.at("packet_bytes"));
  WorkloadSection section{{{"packet_bytes", bytes ? bytes : static_cast<i64>(net.flit_bytes)},
                           {"nic_order", given.at("nic_order")},
                           {"blame", false}},
                          {{"flows", {}, flows, {}}}};
  for (u32 t = 0; t < net.terminals; t++) section.jobs[0].terminals.push_back(t);
  choose_workload(section, "traffic", router, net);
  net.config.workload = {};
  net.traffic_name = net.config.traffic.name;
  net.load_values = {std::get<double>(given.at("load"))};
}

// Programs that are given, not generated, are identified by their operations.
static u64 digest(const Program& program, const Network& net) {
  u64 value = program.ranks;
  const auto word = [&](u64 x) { value = mix64(value ^ x) + 0x9e3779b97f4a7c15ull; };
  Block block;
  for (u32 r = 0; r < program.ranks; r++) {
    for (u64 number = 0, when = 0; (when = program.flow_time(r, number, when)) != kNoFlow; number++, worked()) {
      const Flow flow = program.flow(net, r, number);
      word(when), word(flow.bytes), word(u64{flow.to} << 32 | static_cast<u32>(flow.kind));
    }
    for (u64 k = 0, n = program.blocks(r); k < n; k += program.repeats(r, k)) {
      block.clear();
      program.block(r, k, block);
      worked(1 + block.ops.size() + block.dependencies.size());
      word(program.repeats(r, k));
      for (const Op& op : block.ops)
        word(op.size), word(u64{op.peer} << 32 | static_cast<u32>(op.tag)),
            word(u64{static_cast<u8>(op.kind)} << 16 | op.cpu << 8 | op.nic);
      for (const Dependency& d : block.dependencies) word(u64{d.before} << 32 | d.after), word(d.on_start);
    }
  }
  return value;
}

static void identify_workload(const WorkloadSection& section, Network& net) {
  std::ostringstream text;
  const bool mapped = net.workload && net.workload->mapping;
  for (const auto& [key, value] : section.values) text << key << '=' << to_string(value) << ' ';
  for (const JobSection& job : section.jobs) {
    text << "\njob " << job.name << ' ' << job.motif.name;
    if (job.program) text << digest(*job.program, net);
    for (const auto& [key, value] : job.motif.values) text << ' ' << key << '=' << to_string(value);
    if (!mapped)
      for (const u32 t : job.terminals) text << ' ' << t;
  }
  // The placement is part of the identity only if it is mapped, because a mapper's library or time limit may change it.
  if (mapped)
    for (const u32 t : net.workload->rank_terminal) text << ' ' << t;
  net.identity += text.str();
}

Network wired(const Config& config, bool* links_change) {
  Network net;
  const std::vector<Outage> outages = wire(config, net);
  if (links_change) *links_change = !outages.empty();
  return net;
}

u32 count_nodes(const Config& config) {
  return make_nodes(Params("workload", workload_params(), config.workload.values, config.seed), wired(config)).count;
}

std::shared_ptr<const Network> build(const Config& config, const KeepGoing& keep_going) {
  if (!(config.max_memory_gb >= 0 && config.max_memory_gb <= std::numeric_limits<double>::max()))
    throw ConfigError("max_memory_gb: ", config.max_memory_gb, " is not a number from 0; 0 = all free memory");
  const LimitScope scope(keep_going, config.max_memory_gb);
  const PluginsUsed used;
  auto net = std::make_shared<Network>();
  net->seed = config.seed;
  if (config.router.name != "vc_router")
    throw ConfigError("router: unknown name '", config.router.name, "'",
                      did_you_mean(config.router.name, {"vc_router"}), "; valid names: vc_router");
  const Params router("router", router_params(), config.router.values, config.seed);
  net->config.router = {config.router.name, router.values()};
  net->config.seed = config.seed;
  net->config.failures = config.failures;
  net->config.record = config.record;
  net->config.partitions = config.partitions;
  net->config.threads = config.threads;
  const std::vector<Outage> outages = wire(config, *net);
  time_channels(router, *net);
  size_router(router, *net);
  make_graphs(outages, *net);
  const auto classes = read_classes(config, *net);
  choose_routing(config, router, *net);
  if (config.workload.jobs.empty()) {
    if (const auto flows = choose_traffic(config, router, *net)) choose_flows(flows, router, *net);
  } else {
    if (!config.traffic.name.empty())
      throw ConfigError("traffic: '", config.traffic.name,
                        "' cannot be combined with a workload, whose jobs are the only traffic");
    choose_workload(config.workload, "workload", router, *net);
  }
  choose_control(config, *net);
  if (config.record) build_witness(*config.record, *net);
  choose_partitions(*net, config.partitions, config.threads);
  if (classes) finish_classes(config, *classes, *net);
  // The identity is everything that determines the course of a run; a snapshot must match it.
  const auto identify = [&](const std::string& kind, const Section& section) {
    net->identity += kind + section.name;
    for (const auto& [key, value] : section.values) net->identity += " " + key + "=" + to_string(value);
    net->identity += '\n';
  };
  for (const Section* section :
       {&net->config.topology, &net->config.router, &net->config.routing, &net->config.traffic})
    identify("", *section);
  for (const auto& [key, value] : config.failures) net->identity += "failures." + key + "=" + to_string(value) + '\n';
  net->identity += net->fingerprint + '\n';
  identify_workload(config.workload, *net);
  if (config.table) net->identity += "table=" + std::to_string(net->table_digest) + '\n';
  if (config.demand) net->identity += "demand=" + std::to_string(digest(*config.demand)) + '\n';
  if (config.traffic_matrix) net->identity += "traffic=" + std::to_string(digest(*config.traffic_matrix)) + '\n';
  if (config.flows) net->identity += "flows=" + std::to_string(digest(*config.flows, *net)) + '\n';
  if (config.record)
    for (const auto& [key, value] : *config.record) net->identity += "record." + key + "=" + to_string(value) + '\n';
  if (net->control) identify("congestion_control=", net->config.congestion_control);
  for (const Section& one : net->config.classes) identify("class ", one);
  for (const auto& [rule, name] : net->config.workload.classes) net->identity += rule + ": " + name + '\n';
  if (net->partitions() > 1) net->identity += "partitions=" + std::to_string(net->partitions()) + '\n';
  net->identity += "seed=" + std::to_string(config.seed);
  u64 learning = 0;
  if (net->seam) {
    State state;
    Shaper count(true);
    shape_record(*net, state, count);
    learning = count.bytes();
    const u32 capacity = net->seam->capacity;
    claim_memory(learning, net->seam->witness ? "record" : "routing." + net->routing_name + (capacity ? ".record" : ""),
                 capacity, " transitions and ", net->seam->policy.size, " weights");
  }
  claim_memory(memory_to_run(*net) - learning, "topology." + net->topology_name, "the buffers of ", net->routers,
               " routers and ", net->terminals, " terminals");
  net->memory_bytes = scope.claimed();
  net->plugins.assign(used.names().begin(), used.names().end());
  return net;
}

}  // namespace flitgym
