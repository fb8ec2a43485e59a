// Shared by the exhaustive proofs of freedom from deadlock. Enumerates every state that a packet can reach, every hop
// that it may take from there, and the resulting channel dependencies.
#pragma once

#include <cstring>
#include <functional>
#include <tuple>

#include "simcore/rng.hpp"
#include "support/crafted.hpp"
#include "support/dependencies.hpp"

namespace scenes {

// A packet at a router.
struct Node {
  Place at;
  Packet packet;
  std::vector<u8> kept;  // the routing's memory of the packet
};
// A hop that the packet may take, and the packet after the hop.
struct Option {
  Step step;
  Packet packet;
  std::vector<u8> kept;
  u32 intermediate() const {  // for routings that keep only this number
    u32 value;
    std::memcpy(&value, kept.data(), sizeof value);
    return value;
  }
};
using Options = std::function<std::vector<Option>(Lone&, const Node&)>;

// The part of a state that a packet's further path can depend on. The source matters only on a Dragonfly, by its group.
inline auto key(const Node& n, bool by_source) {
  const Packet& p = n.packet;
  return std::tuple{n.at.router, n.at.in_port, n.at.in_class, p.destination, by_source ? p.source : 0,
                    p.sequence,  u32{p.hops},  u32{p.phase},  n.kept};
}

// Starts from every terminal to every other terminal, on every VC class that the routing reads. Sequence numbers that
// differ by `turns` use the same parallel links. visit(node, options) is called once per reachable state.
template <class Visit>
Edges explore(Lone& x, const Options& options, Visit&& visit, u32 turns = 1) {
  const bool by_source = x.net.topology_name == "dragonfly" || turns > 1;
  Edges edges;
  std::vector<Node> nodes;
  std::set<decltype(key(Node{}, true))> seen;
  // A routing without candidates ignores the class on which a head arrived.
  const u32 entered = x.net.candidates ? x.net.routing_facts.classes : 1;
  for (u32 source = 0; source < x.net.terminals; source++)
    for (u32 destination = 0; destination < x.net.terminals; destination++)
      for (u32 sequence = 0; sequence < turns; sequence++)
        for (u32 vc_class = 0; vc_class < entered; vc_class++) {
          Place at = x.send(source, destination, sequence);
          at.in_class = vc_class;
          nodes.push_back({at, x.packet(), x.kept()});
          seen.insert(key(nodes.back(), by_source));
        }
  for (std::size_t k = 0; k < nodes.size(); k++) {
    const Node node = nodes[k];
    const auto found = options(x, node);
    CHECK(!found.empty());
    visit(node, found);
    for (const Option& option : found) {
      if (x.ejects(node.at.router, option.step)) {
        CHECK_EQ(node.at.router, x.net.terminal_router[node.packet.destination]);
        continue;
      }
      CHECK(option.step.vc_class < x.net.routing_facts.classes);
      add(edges, x.net, node.at.router, node.at.in_port, node.at.in_class, option.step.port, option.step.vc_class);
      Node next{x.behind(node.at.router, option.step), option.packet, option.kept};
      CHECK_FOR(++next.packet.hops <= x.net.routing_facts.max_hops, x.net.routing_name + ": more hops than it says");
      if (seen.insert(key(next, by_source)).second) nodes.push_back(next);
    }
  }
  return edges;
}
inline Edges explore(Lone& x, const Options& options) {
  return explore(x, options, [](const Node&, const std::vector<Option>&) {});
}

inline Section cube() { return hyperx_section({3, 3, 3}, 1); }  // 27 routers, 162 directed channels

// All candidates of a routing that lists them. The routing runs first because it writes the packet's memory.
inline std::vector<Option> listed(Lone& x, const Node& node) {
  x.packet() = node.packet;
  x.keep(node.kept);
  if (x.net.decider == Decider::kRouting) x.ask(node.at);
  const std::vector<u8> after = x.kept();
  std::vector<Option> out;
  for (const Step& step : x.candidates(node.at)) out.push_back({step, node.packet, after});
  return out;
}

// The choices of a routing that lists no candidates, under artificial congestion and random draws. craft(x, node, ask)
// sets the congestion and calls ask() any number of times.
using Craft = std::function<void(Lone&, const Node&, const std::function<void()>&)>;
inline Options chosen(u32 draws, u32 turns, Craft craft) {
  return [=](Lone& x, const Node& node) {
    std::vector<Option> out;
    std::set<std::tuple<Step, u32, std::vector<u8>>> seen;
    const auto ask = [&] {
      for (u32 n = 0; n < draws; n++) {
        x.packet() = node.packet;
        x.keep(node.kept);
        x.packet().sequence += turns * n;
        const Step step = x.ask(node.at);
        x.packet().sequence = node.packet.sequence;
        if (seen.insert({step, x.packet().phase, x.kept()}).second) out.push_back({step, x.packet(), x.kept()});
      }
    };
    craft(x, node, ask);
    return out;
  };
}
inline void idle(Lone&, const Node&, const std::function<void()>& ask) { ask(); }

// Asks the routing on an idle network, and then with one VC of the given ports full, for each such VC.
inline void each_full(Lone& x, const std::function<void()>& ask, const std::vector<u32>& routers, u32 first_port,
                      u32 end_port) {
  ask();
  for (u32 router : routers)
    for (u32 port = first_port; port < end_port; port++)
      for (u32 vc = 0; vc < x.net.vcs; vc++) {
        congest(x, router, port, vc, 0, 100);
        ask();
        congest(x, router, port, vc, 0, 0);
      }
}

// Asks twice with a new random table in the router, with many packets. Half of the packets explore.
inline Options learned(u32 turns = 1) {
  return chosen(150, turns, [](Lone& x, const Node& node, const std::function<void()>& ask) {
    const LearnedTable t = learned_table(x.net);
    for (u32 n = 0; n < 2; n++) {
      for (u32 row = 0; row < t.rows; row++)
        for (u32 c = 0; c < t.columns; c++) {
          float& value = t.row(x.state, node.at.router, row)[c];
          if (value < 1e30f) value = static_cast<float>(1 + below(draw(n, row, c), 1000));
        }
      ask();
    }
  });
}
inline std::set<u32> ports_of(const std::vector<Option>& options) {
  std::set<u32> ports;
  for (const Option& option : options) ports.insert(option.step.port);
  return ports;
}

}  // namespace scenes
