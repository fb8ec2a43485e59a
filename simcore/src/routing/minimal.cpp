// MIN: the unique minimal path, at most three hops (local, global, local). VC 0 up to and with the global hop, VC 1 in
// the destination group: each VC's channels are used in the order local < global, and VC 1 never leads back to VC 0.
#include "routing/one_by_one.hpp"
#include "routing/relation.hpp"
#include "simcore/state.hpp"
#include "topology/dragonfly.hpp"

namespace flitgym {

namespace {

struct Rule {
  Rule(const Network& net, const State& s)
      : df(dragonfly(net)),
        packets(s.packets.data()),
        terminal_router(net.terminal_router.data()),
        terminal_port(net.terminal_port.data()),
        group_of(df.group_of.data()),
        place_of(df.place_of.data()),
        exit_port(df.exit_port.data()),
        p(df.p),
        g(df.g),
        links(df.links) {}
  FLITGYM_RULE Hop operator()(const Asking& who) const {
    const Packet& packet = packets[who.packet];
    const u32 destination = packet.destination, router = who.router, to = terminal_router[destination];
    // All three cases are looked up and one is kept: which it is cannot be predicted, so a branch would cost more.
    const u32 group_to = group_of[to], eject = terminal_port[destination], local = p + place_of[to] - (to > router);
    const u32 away = exit_port[(std::size_t{router} * g + group_to) * links + df.link_of(packet)];
    const bool there = group_of[router] == group_to, here = to == router;
    const u32 port = there ? local : away;
    return {here ? eject : port, there};
  }
  const Dragonfly& df;
  const Packet* const packets;
  const u32* const terminal_router;
  const u32* const terminal_port;
  const u16* const group_of;
  const u16* const place_of;
  const u8* const exit_port;
  const u32 p, g, links;
};

RoutingFacts setup(const Params&, Network&, std::shared_ptr<const ComponentData>&) {
  RoutingFacts facts{2, 3};
  facts.minimal = true;
  return facts;
}

const Register<RoutingSpec> entry([] {
  RoutingSpec spec{"minimal", "the minimal path, always (MIN)", {"dragonfly"}, {}, setup, route_batch<Rule>};
  spec.at_once = route_at_once<Rule>;
  spec.candidates = only_candidate<route_batch<Rule>>;
  return spec;
}());

}  // namespace

}  // namespace flitgym
