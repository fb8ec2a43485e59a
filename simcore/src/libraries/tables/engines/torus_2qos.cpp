// Torus-2QoS (OpenSM, doc/current-routing.txt): dimension order on a torus or mesh of any number of dimensions, x
// first. On each ring a route takes the shorter direction. If both are equally short, it takes the direction that does
// not cross the dateline, which lies between the last switch and the first.
//
// The layer of a packet has one bit per ring, set if the shorter direction from source to destination crosses the
// dateline. The lane of a channel is the bit of its ring (the SL2VL tables of InfiniBand), the same along the whole
// ring. In lane 0 no packet crosses the dateline. In lane 1 every packet crosses it and travels less than half of the
// ring. So neither lane closes a cycle along a ring. Cycles through several rings cannot occur, because dimensions are
// taken in order. On a ring of up to four switches no two-hop path crosses the dateline, so one lane suffices and no
// bit is needed.
//
// If a ring lost the channels between two neighbours, routes take the long direction. The rest of the ring is a line,
// so its lanes do not matter. A ring that is broken at two places is refused. Parallel cables share destinations as in
// min_hop. Three features of OpenSM are left out: the handling of a missing switch, turns out of order, and the second
// level of service.
#include "simcore/tables/engine.hpp"
#include "simcore/tables/spread.hpp"
#include "simcore/topology/torus.hpp"

namespace flitgym::tables::engines::torus_2qos {

constexpr u32 kMostBits = 6;  // bits of a layer; a table has up to 64 layers

class TorusTables {
 public:
  explicit TorusTables(const ChannelGraph& g)
      : g_(g), torus_(static_cast<const Torus&>(*g.topology)), bit_(torus_.dimensions, kNone) {
    for (u32 k = 0; k < torus_.dimensions; k++)
      if (torus_.ring[k] && torus_.widths[k] > 4) bit_[k] = bits_++;
    if (bits_ > kMostBits)
      throw ConfigError("engine torus_2qos: ", bits_, " rings have more than four switches; valid are at most ",
                        kMostBits);
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
    for (const u32 to : destination_switches(g_, Ties::kNumber)) {
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
  // Counts the hops that are possible from switch s in a direction of dimension k, less than once around the ring.
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
  // First existing channel among the parallel cables.
  u32 first_channel(u32 s, u32 k, bool up) const {
    const u32 coordinate = torus_.coordinate(s, k);
    if (torus_.widths[k] == 2 && up != (coordinate == 0)) return kNone;  // both directions share one set of ports
    for (u32 link = 0; link < torus_.links[k]; link++)
      if (const u32 c = g_.channel(s, torus_.first_port(k, up) + link); c != kNone) return c;
    return kNone;
  }
  bool passes_dateline(u32 k, u32 a, u32 b) const {
    return torus_.ring[k] && 2 * (a < b ? b - a : a - b) > torus_.widths[k];
  }
  // Hops in that direction. On a mesh, the result for the wrong direction is the width, which exceeds every entry of
  // free_.
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
      if (g_.terminals_at(s) == 0) return;  // a missing entry is an error only if a route needs it
      throw ConfigError("engine torus_2qos: dimension ", k, " has no path from switch ", g_.switch_name(s),
                        " to coordinate ", b, ", on the route to switch ", g_.switch_name(to), ": failures split its ",
                        torus_.ring[k] ? "ring" : "line",
                        " into pieces; take an engine for any graph, such as up_down or dfsssp");
    }
    const u32 first = torus_.first_port(k, up);
    for (u32 link = 0; link < torus_.links[k]; link++)
      if (const u32 c = g_.channel(s, first + link); c != kNone) candidates.channel.push_back(c);
  }

  void set_layers(ForwardingTable& table) const {
    table.layers = 1u << bits_;
    table.layer_by = LayerBy::kSwitch;
    const u64 pairs = u64{g_.switches} * g_.terminals, lanes = u64{g_.switches} * g_.ports * g_.ports * table.layers;
    g_.claim(pairs + lanes, "the layers of torus_2qos between ", g_.switches, " switches");
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
  std::vector<u32> bit_;  // [dimensions] bit of the layer; kNone: needs none
  u32 bits_ = 0;
  std::vector<u32> free_[2];  // [down, up][switches, dimensions] hops possible in that direction
};

ForwardingTable make(const Params&, const ChannelGraph& g, const Demand&) { return TorusTables(g).make(); }

const Register<EngineSpec> entry({
    .name = "torus_2qos",
    .summary = "dimension order; a second lane for packets that cross the dateline of a ring",
    .topologies = {"torus", "mesh"},
    .make = make,
});

}  // namespace flitgym::tables::engines::torus_2qos
