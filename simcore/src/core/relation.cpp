#include "simcore/routing/relation.hpp"

#include "simcore/plugins.hpp"

namespace flitgym::routing {

static std::string widest(const Network& net) {
  std::string own, any;
  const auto look = [&](const auto& specs) {
    for (const auto& [name, spec] : specs)
      if (spec.widest && runs_on(spec, net)) (spec.topologies.empty() ? any : own) = name;
  };
  look(registry<RelationSpec>());
  look(registry<RoutingSpec>());
  return own.empty() ? any : own;
}

static std::string preferred(const Network& net) {
  for (const auto& [name, spec] : registry<RelationSpec>())
    if (spec.preferred && runs_on(spec, net)) return name;
  return widest(net);
}

// The relations that run on a network, by name. A relation for this topology hides a relation of the same name for any
// topology.
static std::map<std::string, RelationSpec> relations(const Network& net) {
  std::map<std::string, RelationSpec> all, of_routings;
  const auto add = [](auto& to, const RelationSpec& spec) {
    const auto [at, added] = to.try_emplace(spec.name, spec);
    if (!added && at->second.topologies.empty()) at->second = spec;
  };
  for (const auto& [name, spec] : registry<RoutingSpec>())
    if (spec.candidates && spec.agent_can_choose && spec.decider == Decider::kRouting && runs_on(spec, net))
      add(of_routings, {.name = name,
                        .summary = spec.summary,
                        .topologies = spec.topologies,
                        .params = params_of(spec),
                        .setup = spec.setup,
                        .candidates = spec.candidates,
                        .chosen = spec.chosen,
                        .delivered = spec.delivered,
                        .waypoint = spec.waypoint,
                        .plugin = spec.plugin});
  for (const auto& [name, spec] : registry<RelationSpec>())
    if (runs_on(spec, net)) add(all, spec);
  all.merge(of_routings);  // a registered relation takes precedence over a routing of the same name
  return all;
}

std::vector<ParamSpec> relation_params() {
  return {
      choice("relation", "widest", {},
             "relation that lists the candidates: the name of a relation or routing of this topology; widest = the "
             "relation with the most candidates; preferred = up_down_by_destination on fat trees without failures, "
             "widest elsewhere"),
      integer("deroutes", -1, -1, kMaxVcs, "per packet",
              "most hops that lead no nearer, for a relation that bounds them; -1 = the relation's default"),
      integer("max_hops", 2, 1, 16, "hops",
              "for relation=q_routing: any port at routers reached in fewer hops, then the minimal port"),
      choice("decisions", "router", {"router", "source", "both"},
             "places of the decisions: router = each router chooses a port; source = the source chooses a path for its "
             "packet, and routers follow it; both = the source chooses a path, and routers choose among its ports. "
             "source and both need relation=source_paths, which is then the default"),
      integer("most_paths", 8, 2, 16, "", "for relation=source_paths: most paths of a pair of routers"),
      integer("minimal_paths", 4, 1, 16, "", "for relation=source_paths: most minimal paths among them"),
      real("flowlet_gap_ns", 0, 0, 1e9, "ns",
           "for relation=source_paths: least time without a packet from a source to a router after which the source "
           "chooses again; 0 = for each packet"),
  };
}

RoutingFacts take_relation(const Params& params, Network& net) {
  const std::string key = "routing." + net.routing_name, given = params.text("relation");
  const std::map<std::string, RelationSpec> all = relations(net);
  const bool at_source = params.text("decisions") != "router";
  const bool automatic = given == "widest" || given == "preferred";
  const std::string name = !automatic             ? given
                           : at_source            ? "source_paths"
                           : given == "preferred" ? preferred(net)
                                                  : widest(net);
  const auto found = all.find(name);
  if (found == all.end()) {
    std::vector<std::string> valid = {"widest", "preferred"};
    for (const auto& [known, relation] : all) valid.push_back(known);
    throw ConfigError(key, ".relation: unknown value '", given, "'", did_you_mean(given, valid), "; on topology '",
                      net.topology_name, "'", net.damaged ? " with failed links" : "", " there are ", join(valid));
  }
  const RelationSpec& relation = noted(found->second);
  Values values;
  for (const ParamSpec& p : relation_params()) {
    if (p.key == "relation") continue;
    if (std::ranges::count(relation.params, p.key, &ParamSpec::key)) values[p.key] = params.value(p.key);
    else if (params.value(p.key) != p.fallback)
      throw ConfigError(key, ".", p.key, ": ", to_string(params.value(p.key)), " has no effect with relation=", name,
                        " on topology '", net.topology_name, "'; leave it out");
  }
  net.candidates = relation.candidates;
  net.chosen = relation.chosen;
  net.delivered = relation.delivered;
  net.waypoint = relation.waypoint;
  RoutingFacts facts = relation.setup(Params(key, relation.params, values, net.seed), net, net.relation);
  // A relation only lists candidates. The selection reads congestion and marks packets.
  facts.marks = false;
  facts.senses = Occupancy::kNothing;
  facts.sequential = false;
  return facts;
}

}  // namespace flitgym::routing
