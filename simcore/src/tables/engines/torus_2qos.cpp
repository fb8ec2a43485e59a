// Torus-2QoS (OpenSM, doc/current-routing.txt): dimension order on a torus or mesh of any number of dimensions, x
// first, the shorter way round each ring, of a tie the way that does not pass its dateline, which lies between the last
// switch and the first.
//
// A packet's layer has a bit per ring: does the shorter way from its source to its destination pass the dateline? The
// lane of a channel is the bit of its ring (the SL2VL tables of InfiniBand), the same on all of the ring. In lane 0
// nobody passes the dateline, in lane 1 everybody does and goes less than half the way round: neither closes a circle,
// and dimensions come in order. A ring of up to four switches closes none in a single lane, as no way of two hops
// passes its dateline, and needs no bit.
//
// Where a ring has lost the channels between two neighbours, routes take the long way round: it is no ring any more, so
// its lanes do not matter. Torn at two places it is refused. Cables side by side are shared out as by min_hop. Left out
// is what OpenSM does about a switch that is missing, a turn out of order, and the second level of service.
#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "tables/engine.hpp"
#include "tables/spread.hpp"
#include "topology/torus.hpp"

namespace flitgym::tables::engines::torus_2qos {

namespace {

constexpr u32 kMostBits = 6;  // of a layer: a table has up to 64

class TorusTables {
 public:
  explicit TorusTables(const ChannelGraph& g)
      : g_(g), torus_(static_cast<const Torus&>(*g.topology)), bit_(torus_.dimensions, kNone) {
    for (u32 k = 0; k < torus_.dimensions; k++)
      if (torus_.ring[k] && torus_.widths[k] > 4) bit_[k] = bits_++;
    if (bits_ > kMostBits)
      throw ConfigError("engine torus_2qos: " + std::to_string(bits_) +
                        " rings of more than four switches; valid are up to " + std::to_string(kMostBits));
    free_[0].assign(std::size_t{g.switches} * torus_.dimensions, 0);
    free_[1] = free_[0];
    for (u32 k = 0; k < torus_.dimensions; k++)
      for (u32 s = 0; s < g.switches; s++)
        for (const bool up : {true, false}) count_free(s, k, up);
  }

  ForwardingTable make() {
    ForwardingTable table = empty_table(g_, "torus_2qos");
    std::vector<u32> used(g_.channels, 0);
    Candidates candidates;
    for (const u32 to : destination_switches(g_)) {
      candidates.begin();
      worked(g_.switches);
      for (u32 s = 0; s < g_.switches; s++) {
        if (s != to) next_channels(s, to, candidates);
        candidates.next_switch();
      }
      spread(g_, to, candidates, used, table);
    }
    if (bits_) set_layers(table);
    return table;
  }

 private:
  // How many hops one can go on from switch s in a direction of dimension k, less than once round.
  void count_free(u32 s, u32 k, bool up) {
    u32 hops = 0;
    for (u32 at = s; hops + 1 < torus_.widths[k]; hops++) {
      worked();
      const u32 c = first_channel(at, k, up);
      if (c == kNone) break;
      at = g_.to[c];
    }
    free_[up][std::size_t{s} * torus_.dimensions + k] = hops;
  }
  // By the parallel cable that is first of those that are there.
  u32 first_channel(u32 s, u32 k, bool up) const {
    const u32 coordinate = torus_.coordinate(s, k);
    if (torus_.widths[k] == 2 && up != (coordinate == 0)) return kNone;  // one set of ports for both directions
    for (u32 link = 0; link < torus_.links[k]; link++)
      if (const u32 c = g_.channel(s, torus_.first_port(k, up) + link); c != kNone) return c;
    return kNone;
  }
  bool passes_dateline(u32 k, u32 a, u32 b) const {
    return torus_.ring[k] && 2 * (a < b ? b - a : a - b) > torus_.widths[k];
  }
  // Hops in that direction; more than there are switches where none leads there.
  u32 hops(u32 k, u32 a, u32 b, bool up) const {
    if (torus_.ring[k]) return up ? torus_.forward(k, a, b) : torus_.forward(k, b, a);
    return up == (a < b) ? (a < b ? b - a : a - b) : torus_.widths[k];
  }

  void next_channels(u32 s, u32 to, Candidates& candidates) {
    u32 k = 0;
    while (torus_.coordinate(s, k) == torus_.coordinate(to, k)) k++;
    const u32 a = torus_.coordinate(s, k), b = torus_.coordinate(to, k);
    bool up = (a < b) != passes_dateline(k, a, b);
    const auto open = [&](bool direction) {
      return hops(k, a, b, direction) <= free_[direction][std::size_t{s} * torus_.dimensions + k];
    };
    if (!open(up)) up = !up;
    if (!open(up)) {
      if (g_.terminals_at(s) == 0) return;  // a hole, which nobody minds unless a route passes it
      throw ConfigError("engine torus_2qos: in dimension " + std::to_string(k) + " no way leads from switch " +
                        g_.switch_name(s) + " to coordinate " + std::to_string(b) + ", on the way to switch " +
                        g_.switch_name(to) + ": what has failed tears its " + (torus_.ring[k] ? "ring" : "line") +
                        " into pieces; routings of any graph go round, such as up_down or dfsssp");
    }
    const u32 first = torus_.first_port(k, up);
    for (u32 link = 0; link < torus_.links[k]; link++)
      if (const u32 c = g_.channel(s, first + link); c != kNone) candidates.channel.push_back(c);
  }

  void set_layers(ForwardingTable& table) const {
    table.layers = 1u << bits_;
    table.layer_by = LayerBy::kSwitch;
    const u64 pairs = u64{g_.switches} * g_.terminals, lanes = u64{g_.switches} * g_.ports * g_.ports * table.layers;
    claim_memory(pairs + lanes, "topology." + g_.topology_name,
                 "the layers of torus_2qos between " + std::to_string(g_.switches) + " switches");
    table.layer.assign(pairs, 0);
    for (u32 s = 0; s < g_.switches; s++)
      for (u32 t = 0; t < g_.terminals; t++, worked(torus_.dimensions)) {
        const u32 to = g_.terminal_switch[t];
        u32 layer = 0;
        for (u32 k = 0; k < torus_.dimensions; k++)
          if (bit_[k] != kNone && passes_dateline(k, torus_.coordinate(s, k), torus_.coordinate(to, k)))
            layer |= 1u << bit_[k];
        table.layer[std::size_t{s} * g_.terminals + t] = static_cast<u8>(layer);
      }
    table.lanes = 2;
    table.lane_ports = g_.ports;
    table.lane.assign(lanes, 0);
    std::size_t at = 0;
    for (u32 s = 0; s < g_.switches; s++)
      for (u32 in = 0; in < g_.ports; in++)
        for (u32 out = 0; out < g_.ports; out++, worked(table.layers)) {
          const u32 k = torus_.dimension_of_port[out];
          for (u32 layer = 0; layer < table.layers; layer++, at++)
            if (k != Torus::kNoDimension && bit_[k] != kNone) table.lane[at] = layer >> bit_[k] & 1;
        }
  }

  const ChannelGraph& g_;
  const Torus& torus_;
  std::vector<u32> bit_;  // [dimensions] of the layer; kNone: it needs none
  u32 bits_ = 0;
  std::vector<u32> free_[2];  // [down, up][switches, dimensions] hops that can be gone
};

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) { return TorusTables(g).make(); }

const Register<EngineSpec> entry({
    .name = "torus_2qos",
    .summary = "dimension order with a lane on either side of each ring's dateline",
    .topologies = {"torus", "mesh"},
    .make = make,
});

}  // namespace

}  // namespace flitgym::tables::engines::torus_2qos
