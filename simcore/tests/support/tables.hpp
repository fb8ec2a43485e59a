// Shared by the tests of forwarding tables: the network as engines see it, and tables of a named engine.
#pragma once

#include "simcore/tables/engine.hpp"
#include "simcore/tables/walk.hpp"
#include "support/scenes.hpp"
#include "tables/quality.hpp"

namespace scenes {

inline tables::ChannelGraph graph_of(const Section& topology, const Values& failures = {}) {
  Config c;
  c.seed = 1;
  c.topology = topology;
  c.failures = failures;
  return tables::channel_graph(c);
}

inline tables::ForwardingTable made(const tables::ChannelGraph& g, const std::string& engine, const Values& values = {},
                                    std::shared_ptr<const Demand> demand = nullptr) {
  return tables::make_table("engine", {engine, values, std::move(demand), 1}, g);
}

// The entries weight(source, destination) that are above 0.
inline std::shared_ptr<const Demand> demand_of(u32 terminals, const std::function<double(u32, u32)>& weight) {
  auto demand = std::make_shared<Demand>();
  demand->terminals = terminals;
  demand->first = {0};
  for (u32 d = 0; d < terminals; d++) {
    for (u32 s = 0; s < terminals; s++)
      if (const double w = weight(s, d); w > 0) demand->source.push_back(s), demand->weight.push_back(w);
    demand->first.push_back(demand->source.size());
  }
  return demand;
}

// The load of the fullest channel.
inline double highest_load(const tables::ChannelGraph& g, const tables::ForwardingTable& table,
                           const Demand& demand = {}) {
  return std::ranges::max(tables::loads(g, table, demand).channel);
}

// The same table as complete routes of every pair.
inline tables::ForwardingTable as_routes(const tables::ChannelGraph& g, const tables::ForwardingTable& table) {
  tables::ForwardingTable routes = table;
  routes.port.clear();
  routes.route_first = {0};
  for (u32 s = 0; s < g.switches; s++)
    for (u32 d = 0; d < table.destinations(); d++) {
      tables::each_channel(g, table, s, d, [&](u32 c) { routes.route_port.push_back(g.port[c]); });
      routes.route_first.push_back(routes.route_port.size());
    }
  return routes;
}

inline Section random_regular(i64 routers, i64 degree, i64 seed, i64 terminals = 2) {
  return {"random_regular",
          {{"routers", routers}, {"degree", degree}, {"graph_seed", seed}, {"terminals_per_router", terminals}}};
}

}  // namespace scenes
