// Links, routers and terminals that fail, from the start or for a time.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

struct Frame;

// A link that fails during a run and may recover.
struct Outage {
  Wiring::End a, b;
  double down_ns, up_ns;  // infinity: never
  std::string name;
  bool repeats = false;  // the link fails again and again
};

u64 failure_seed(const Values& failures, u64 run_seed);  // throws ConfigError if it is not an integer from 0

const std::vector<ParamSpec>& failure_params();  // links, routers, terminals, seed, events; for the documentation

// Removes failed parts from the wiring and returns the outages during the run. Throws ConfigError if a link, router or
// terminal does not exist. `failed_links` becomes the list of all links that are missing from the start.
std::vector<Outage> apply_failures(const Values& failures, u64 run_seed, Wiring& wiring,
                                   std::vector<std::string>& failed_links);

// Builds the network's graphs, one for each interval between changes of the links. Throws ConfigError if a graph
// disconnects terminals.
void make_graphs(const std::vector<Outage>& outages, Network& net);

// Switches to the graph of this cycle, at its start. Heads that have not begun to leave for a link that is now down ask
// for a route again, and with RoutingFacts::asks_again the heads for all links. Flits that have passed the switch are
// still sent.
void change_graph(Frame& f);

}  // namespace flitgym
