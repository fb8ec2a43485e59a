// Dimension order (OpenSM, doc/current-routing.txt, DOR): the lowest port on a shortest path, so that dimensions are
// taken in the order of port numbers. Parallel cables to the same switch share destinations as in min_hop. Where
// switches have coordinates (HyperX, torus, mesh), ports are numbered dimension by dimension, so this is
// dimension-order routing.
//
// If both directions of a ring are equally short, a route goes up, which loads one direction more than the other. With
// ties=parity the parity of the switch determines the direction. On a k-ary n-cube with k a multiple of 4, all channels
// then carry N k / 8 routes between switches (Dally & Towles, sec. 3.3.1). Free of deadlock on HyperX and mesh. Rings
// of more than three switches close a cycle.
#include "simcore/tables/engine.hpp"
#include "simcore/tables/spread.hpp"
#include "simcore/topology/torus.hpp"

namespace flitgym::tables::engines::dor {

// First channel towards `to` on a shortest path. If the parity of a tie selects the direction down: the first channel
// of that direction, if it is a candidate.
u32 first_channel(const ChannelGraph& g, const Torus* torus, u32 s, u32 to, const u32* begin, const u32* end) {
  if (!torus) return *begin;
  const u32 k = torus->dimension_of_port[g.port[*begin]];
  const u32 own = torus->coordinate(s, k);
  if (own % 2 == 0 || !torus->tie(k, own, torus->coordinate(to, k))) return *begin;
  const u32 down = torus->first_port(k, false);
  for (const u32* c = begin; c < end; c++)
    if (g.port[*c] >= down && g.port[*c] < down + torus->links[k]) return *c;
  return *begin;
}

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand&) {
  const Torus* const torus = params.text("ties") == "parity" ? dynamic_cast<const Torus*>(g.topology.get()) : nullptr;
  ForwardingTable table = empty_table(g, "dor");
  std::vector<u32> used(g.channels, 0);
  for (const u32 to : destination_switches(g)) {
    const Candidates all = shortest_candidates(g, to);
    Candidates chosen;
    for (u32 s = 0; s < g.switches; s++) {
      const u32 *const begin = all.channel.data() + all.first[s], *const end = all.channel.data() + all.first[s + 1];
      if (begin != end) {
        const u32 first = first_channel(g, torus, s, to, begin, end);
        for (const u32* c = begin; c < end; c++)
          if (g.to[*c] == g.to[first]) chosen.channel.push_back(*c);
      }
      chosen.next_switch();
    }
    spread(g, to, chosen, used, table);
  }
  return table;
}

const Register<EngineSpec> entry({
    .name = "dor",
    .summary = "a shortest path by the lowest port; this is dimension order where ports are numbered by dimension",
    .params = {choice(
        "ties", "up", {"up", "parity"},
        "direction to a destination half a torus ring away: always +, or by parity of the switch's coordinate")},
    .make = make,
});

}  // namespace flitgym::tables::engines::dor
