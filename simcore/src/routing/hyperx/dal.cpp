// DAL: dimensionally adaptive load balancing (Ahn et al., SC 2009). A packet may take any unaligned dimension, directly
// or by a deroute. It takes at most one deroute per dimension, and remembers its deroutes. Two methods avoid deadlock:
//   escape:    Class 0 is used in any order. A head takes a candidate that has room. If none has room, the head may
//              take class 1, on which the packet stays and follows dimension order. A head that finds no room at all
//              requests again in the next cycle. So every head can eventually leave by the escape class (Duato 1993).
//              VC classes 0 and 1.
//   distance:  VC class = hops done: 2 L classes.
#include <algorithm>

#include "routing/hyperx/incremental.hpp"
#include "simcore/registry.hpp"

namespace flitgym::routing::hyperx::dal {

namespace {

struct Dal {
  struct Rule : WeightRule {
    bool escape = true;
    Kept<u16> derouted;  // bit per dimension in which the packet has been derouted
  };
  static constexpr u32 kEscapeClass = 1;

  static bool on_escape(const Where& at, const Rule& rule) {
    return rule.escape && !at.injected() && at.in_vc % 2 == kEscapeClass;
  }
  // Dimensions in which the packet has been derouted, including the last hop.
  static u32 derouted(const Where& at, const Rule& rule) {
    const u32 k = at.derouted_in();
    return rule.derouted.of(at.s)[at.packet_id] | (k == HyperX::kNoDimension ? 0u : 1u << k);
  }
  static Hop escape_hop(const Where& at) { return {at.hx.dor_port(at.router, at.to, at.packet), kEscapeClass}; }

  static Reach reach(const Where& at, const Rule& rule) {
    const u32 vc_class = rule.escape ? 0u : at.packet.hops;
    return {at.unaligned, at.unaligned & ~derouted(at, rule), vc_class, vc_class};
  }
  // All candidates, whether they have room or not.
  template <class Out>
  static void offer(const Where& at, const Rule& rule, Out&& out) {
    if (!on_escape(at, rule)) offer_reach(at, reach(at, rule), out);
    if (rule.escape) out(escape_hop(at).port, kEscapeClass, false);
  }
};

// Does a VC of the class have room for the packet now? With wormhole flow control, room for one flit is enough.
bool has_room(const Network& net, const State& s, u32 port, u32 vc_class, u32 flits) {
  const u32 needed = net.router.flow_control == FlowControl::kWormhole ? 1 : flits;
  for (u32 vc = vc_class; vc < net.vcs; vc += net.routing_facts.classes) {
    const OutputVc& out = s.output_vcs[net.vc_id(port, vc)];
    if (out.owner == kNone &&
        (net.router.output_depth > 0 ? net.router.output_depth - out.count : u32{out.credits}) >= needed)
      return true;
  }
  return false;
}

void route(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Dal::Rule&>(*net.routing);
  if (!rule.escape) return weighted_route<Dal>(net, s, b);
  Promises promises(net, b, rule);
  for (u32 i = 0; i < b.count; i++) {
    Packet& p = s.packets[b.packet[i]];
    const u32 router = b.router[i], to = net.terminal_router[p.destination];
    if (router == to) {
      choose(b, i, ejection(net, p));
      continue;
    }
    const Where at = where(hx, s, b, i, p, to);
    Best best;
    if (!Dal::on_escape(at, rule)) {
      const u32 h = at.h;
      offer_reach(at, Dal::reach(at, rule), [&](u32 port, u32 vc_class, bool deroute) {
        const u32 id = net.port(router, port);
        if (!has_room(net, s, id, vc_class, p.flits)) return;
        const double q = promises.ahead(rule.measure, s, id, vc_class);
        best.consider({port, vc_class}, deroute ? rule.nonminimal(h, h + 1, q) : rule.minimal(h, q), deroute);
      });
    }
    const Hop hop = best.none() ? Dal::escape_hop(at) : best.pick(net, p);
    promises.add(router, hop, p.flits);
    choose(b, i, hop);
  }
}

// Records the deroute of the last hop at the router that the hop led to. With `escape` a head may request many times,
// so the record must not depend on the candidate that the head chooses.
void remember(const Network& net, State& s, Batch& b) {
  const HyperX& hx = as_hyperx(net);
  const auto& rule = static_cast<const Dal::Rule&>(*net.routing);
  u16* const derouted = rule.derouted.of(s);
  for (u32 i = 0; i < b.count; i++) {
    const Packet& p = s.packets[b.packet[i]];
    const u32 to = net.terminal_router[p.destination];
    const Where at = where(hx, s, b, i, p, to);
    derouted[b.packet[i]] = static_cast<u16>(Dal::derouted(at, rule));
  }
}

void remember_and_route(const Network& net, State& s, Batch& b) {
  remember(net, s, b);
  route(net, s, b);
}

// The most room at each output of a router, by VC class, in one VC that no packet holds.
class Room {
 public:
  Room(const Network& net, const State& s)
      : net_(net), s_(s), hx_(as_hyperx(net)), wormhole_(net.router.flow_control == FlowControl::kWormhole) {}

  // Whether a head finds no room at any of its candidates, whatever it chooses.
  bool lacking(u32 input_vc, const Dal::Rule& rule) {
    const u32 port = net_.port_of_vc(input_vc), id = packet_of(s_.input_vcs[input_vc].front);
    const Packet& p = s_.packets[id];
    const u32 router = net_.router_of_port(port), to = net_.terminal_router[p.destination];
    const u32 needed = wormhole_ ? 1 : p.flits;
    read(router);
    if (router == to) {
      const u32 out = net_.terminal_port[p.destination];
      return most_[0][out] < needed && most_[1][out] < needed;
    }
    Where at{hx_, p, router, to, net_.local_port(port), net_.vc_of(input_vc), hx_.difference(router, to), 0, 0, s_, id};
    at.unaligned = hx_.unaligned_in(at.difference, at.h);
    if (most_[Dal::kEscapeClass][Dal::escape_hop(at).port] >= needed) return false;
    if (Dal::on_escape(at, rule)) return true;
    const Reach reach = Dal::reach(at, rule);
    bool found = false;
    each_dimension(reach.direct, [&](u32 k) {
      if (reach.deroute >> k & 1) found |= of_dimension_[k] >= needed;
      else offer_direct(at, k, 0, [&](u32 out, u32, bool) { found |= most_[0][out] >= needed; });
    });
    return !found;
  }

 private:
  void read(u32 router) {
    if (router == router_) return;
    router_ = router;
    const OutputVc* out = &s_.output_vcs[net_.vc_id(net_.port(router, 0), 0)];
    const u32 depth = net_.router.output_depth;
    for (u32 port = 0; port < net_.radix; port++, out += std::size_t{1} << net_.vc_shift) {
      u32 most[2] = {0, 0};
      for (u32 vc = 0; vc < net_.vcs; vc++)
        if (out[vc].owner == kNone)
          most[vc % 2] = std::max<u32>(most[vc % 2], depth > 0 ? depth - out[vc].count : u32{out[vc].credits});
      most_[0][port] = most[0], most_[1][port] = most[1];
    }
    for (u32 k = 0; k < hx_.dimensions; k++)
      of_dimension_[k] = *std::max_element(&most_[0][hx_.base[k]], &most_[0][hx_.end_of(k)]);
  }

  const Network& net_;
  const State& s_;
  const HyperX& hx_;
  const bool wormhole_;
  u32 router_ = kNone;
  u32 most_[2][kMaxRadix];
  u32 of_dimension_[16];  // the most of class 0 in a dimension
};

// With sequential allocation, the choice of a head that finds no room affects later choices.
void hold(const Network& net, const State& s, std::vector<u32>& heads, std::vector<u32>& held) {
  const auto& rule = static_cast<const Dal::Rule&>(*net.routing);
  if (!rule.escape || rule.sequential) return;
  Room room(net, s);
  std::size_t kept = 0;
  for (const u32 v : heads) {
    if (room.lacking(v, rule)) held.push_back(v);
    else heads[kept++] = v;
  }
  heads.resize(kept);
}

RoutingFacts setup(const Params& params, Network& net, std::shared_ptr<const ComponentData>& data) {
  auto rule = std::make_shared<Dal::Rule>();
  read_weight(params, net, *rule);
  rule->escape = params.text("deadlock_avoidance") == "escape";
  data = rule;
  const u32 dimensions = as_hyperx(net).dimensions;
  if (dimensions > 16)
    throw ConfigError(
        "routing.dal: a packet remembers its deroutes in at most 16 dimensions, but topology.hyperx.widths has " +
        std::to_string(dimensions));
  MemoryShape shape;
  shape.name = "derouted";
  shape.meaning = "bit per dimension in which the packet has been derouted";
  shape.per = Per::kPacket;
  shape.highest = (1u << dimensions) - 1;
  rule->derouted = declare<u16>(net, shape);
  return weighing(rule->escape ? RoutingFacts{2, 2 * dimensions, true} : RoutingFacts{2 * dimensions, 2 * dimensions},
                  *rule);
}

std::vector<ParamSpec> params() {
  auto specs = weight_params();
  specs.push_back(choice("deadlock_avoidance", "escape", {"escape", "distance"},
                         "escape = an escape VC class in dimension order; distance = a VC class per hop"));
  return specs;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec =
      incremental<Dal>("dal", "any unaligned dimension, with one weighted deroute in each (DAL)", params(), setup);
  spec.route = remember_and_route;
  spec.hold = hold;
  spec.agent_can_choose = false;  // only remember() records the deroutes
  return spec;
}());

}  // namespace

}  // namespace flitgym::routing::hyperx::dal
