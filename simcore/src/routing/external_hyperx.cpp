// Decisions from outside, on HyperX: the candidates are those of a routing that lists its relation, by its name; by default
// OmniWAR's, which are the most. Whatever an agent picks among them is as free of deadlock and livelock as that routing.
#include "simcore/error.hpp"
#include "simcore/registry.hpp"
#include "routing/any_port.hpp"
#include "routing/heard.hpp"

namespace flitgym {

namespace {

void route(const Network&, State&, Batch&) {
  throw CoreError("routing=external: decisions come from outside; call collect() and apply() instead of run()");
}

// The routings of this topology that an agent can stand in for.
std::vector<const RoutingSpec*> relations(const Network& net) {
  std::vector<const RoutingSpec*> found;
  for (const auto& [name, spec] : registry<RoutingSpec>())
    for (const std::string& topology : spec.topologies)
      if (topology == net.topology_name && spec.candidates && !spec.external && spec.agent_can_choose) found.push_back(&spec);
  return found;
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  const std::string& given = params.text("relation");
  const std::string name = given == "widest" ? "omni_war" : given;
  std::vector<std::string> valid = {"widest", "q_routing"};
  net.learns = params.boolean("feedback");
  const auto refuse_deroutes = [&] {
    if (params.integer("deroutes") >= 0) throw ConfigError("routing.external.deroutes: " + std::to_string(params.integer("deroutes")) + " means nothing to relation=" + name);
  };
  if (name == "q_routing") {
    refuse_deroutes();
    return any_port(params.count("max_hops"), net, data);
  }
  for (const RoutingSpec* spec : relations(net)) {
    valid.push_back(spec->name);
    if (spec->name != name) continue;
    Values values;
    for (const ParamSpec& p : spec->params)
      if (p.key == "deroutes") values["deroutes"] = params.integer("deroutes");
    if (values.empty()) refuse_deroutes();
    net.candidates = spec->candidates;
    return spec->setup(Params("routing.external", spec->params, values), net, data);
  }
  throw ConfigError("routing.external.relation: unknown value '" + given + "'" + did_you_mean(given, valid) + "; on topology '" + net.topology_name + "' there are " + join(valid));
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{"external", "an agent outside the core decides", {"hyperx"},
                   {choice("relation", "widest", {}, "whose candidates are offered: a routing of the topology, or the widest there is"),
                    integer("deroutes", -1, -1, kMaxVcs, "per packet", "of relation=omni_war; -1 = as many as dimensions"), any_port_param()},
                   setup, route};
  spec.external = true;
  spec.params.push_back(feedback_param());
  spec.learn = hear;
  return spec;
}());

}  // namespace

}  // namespace flitgym
