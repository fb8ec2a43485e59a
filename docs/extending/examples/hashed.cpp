// Each switch takes one of the ports on shortest paths, by a hash of the switch and the
// destination (ECMP; Hopps, RFC 2992). The loads of ports are those of balls in bins: some
// ports get more destinations than others.
#include "simcore/rng.hpp"
#include "simcore/tables/engine.hpp"
#include "simcore/tables/spread.hpp"

namespace flitgym::tables::engines::hashed {

namespace {

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand&) {
  ForwardingTable table = empty_table(g, "hashed");
  const auto seed = static_cast<u64>(params.integer("hash_seed"));
  for (const u32 to : destination_switches(g)) {
    const Candidates candidates = shortest_candidates(g, to);  // switch by switch
    for (u32 s = 0; s < g.switches; s++) {
      const u32 first = candidates.first[s], n = candidates.first[s + 1] - first;
      for (u32 k = g.first_terminal[to]; n > 0 && k < g.first_terminal[to + 1]; k++) {
        const u32 terminal = g.terminal_of[k];
        table.at(s, terminal) =
            g.port[candidates.channel[first + below(draw(seed, s, terminal), n)]];
      }
    }
  }
  return table;  // the core checks it for missing entries, loops and unconnected ports
}

const Register<EngineSpec> entry({"hashed",
                                  "one of the ports on shortest paths, by a hash (ECMP)",
                                  {},
                                  {integer("hash_seed", 1, 0, 1ll << 40, "",
                                           "seed of the hash")},
                                  make});

}  // namespace

}  // namespace flitgym::tables::engines::hashed
