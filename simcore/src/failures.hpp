// Links, routers and terminals that are out of use: from the beginning, or for a time.
#pragma once

#include "simcore/registry.hpp"

namespace flitgym {

struct Frame;

// A link that goes down in the middle of a run, and comes up again or not.
struct Outage {
  Wiring::End a, b;
  double down_ns, up_ns;  // infinity: never
  std::string name;
};

const std::vector<ParamSpec>& failure_params();  // links, routers, terminals, seed, events; for the documentation

// Takes what has failed out of the wiring and returns the outages. Throws ConfigError: no such link, router or
// terminal. `failed_link` becomes the name of one that is missing or will be, if there are any. `failed_links`: all
// that are missing from the beginning.
std::vector<Outage> apply_failures(const Values& failures, Wiring& wiring, std::string& failed_link,
                                   std::vector<std::string>& failed_links);

u32 count_terminals(const Config& config);  // that are left of the section `topology`; checks it and `failures` alone

// The network's graphs, one for each stretch of time in which the same links are up. Throws ConfigError where one of
// them leaves terminals without a way to each other.
void make_graphs(const std::vector<Outage>& outages, Network& net);

// At the beginning of a cycle: the graph of this instant. Heads that are bound for a link that is down now, and have
// not begun to leave, ask for a route again; what has passed the switch goes out on the link as if it were on the wire
// already.
void change_graph(Frame& f);

}  // namespace flitgym
