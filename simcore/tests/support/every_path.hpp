// The channel dependencies of a relation, by exhaustion over all pairs of terminals.
#pragma once

#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "simcore/error.hpp"
#include "support/crafted.hpp"
#include "support/dependencies.hpp"

namespace scenes {

// For relations whose candidates depend only on the place of a packet and on its hops. `visit` sees each step. Throws
// CoreError if a packet exceeds the hops that the routing declares, or is ejected elsewhere than at its destination.
inline Edges dependencies_of(std::shared_ptr<const Network> network, u32 sequences,
                             const std::function<void(const Lone&, const Place&, const Step&)>& visit = {}) {
  Lone x(std::move(network));
  Edges edges;
  struct Visit {
    Place at;
    Packet packet;
  };
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 destination = 0; destination < x.net.terminals; destination++)
      for (u32 n = 0; n < sequences; n++) {
        std::set<std::tuple<u32, u32, u32, u32>> seen;
        const Place first = x.send(source, destination, n);
        std::vector<Visit> nodes = {{first, x.packet()}};
        for (std::size_t k = 0; k < nodes.size(); k++) {
          const auto [at, packet] = nodes[k];
          x.packet() = packet;
          for (const Step& step : x.candidates(at)) {
            if (visit) visit(x, at, step);
            if (x.ejects(at.router, step)) {
              if (at.router != x.net.terminal_router[destination]) throw CoreError("ejected at a wrong router");
              continue;
            }
            add(edges, x.net, at.router, at.in_port, at.in_class, step.port, step.vc_class);
            Visit next{x.behind(at.router, step), packet};
            if (++next.packet.hops > x.net.routing_facts.max_hops) throw CoreError("more hops than declared");
            if (seen.insert({next.at.router, next.at.in_port, next.at.in_class, next.packet.hops}).second)
              nodes.push_back(next);
          }
        }
      }
  return edges;
}

}  // namespace scenes
