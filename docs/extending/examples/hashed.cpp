// Of the ports on shortest paths each switch takes one by a hash of itself and the destination,
// as switches do that spread flows without counting them (ECMP; Hopps, RFC 2992). What balance
// that gives is what balls in bins have: some ports get more than others.
#include "simcore/rng.hpp"
#include "tables/engine.hpp"
#include "tables/spread.hpp"

namespace flitgym::tables::engines::hashed {

namespace {

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand&) {
  ForwardingTable table = empty_table(g, "hashed");
  const auto seed = static_cast<u64>(params.integer("hash_seed"));
  std::vector<u32> hops;
  Candidates candidates;  // the channels on shortest paths, switch after switch
  for (const u32 to : destination_switches(g)) {
    shortest_candidates(g, to, hops, candidates);
    for (u32 s = 0; s < g.switches; s++) {
      const u32 first = candidates.first[s], n = candidates.first[s + 1] - first;
      for (u32 k = g.first_terminal[to]; n > 0 && k < g.first_terminal[to + 1]; k++) {
        const u32 terminal = g.terminal_of[k];
        table.at(s, terminal) =
            g.port[candidates.channel[first + below(draw(seed, s, terminal), n)]];
      }
    }
  }
  return table;  // checked by whoever asked for it: holes, loops, ports that lead nowhere
}

const Register<EngineSpec> entry({"hashed",
                                  "of the ports on shortest paths one by a hash (ECMP)",
                                  {},
                                  {integer("hash_seed", 1, 0, 1ll << 40, "", "of the hash")},
                                  make});

}  // namespace

}  // namespace flitgym::tables::engines::hashed
