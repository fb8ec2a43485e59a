#include "tables/layer_assignment.hpp"

#include "simcore/tables/walk.hpp"
#include "tables/layering.hpp"

namespace flitgym::tables {

constexpr u32 kMostLayers = 255;  // a layer is stored in one byte
constexpr u64 kAny = ~u64{0};

class FirstFit {
 public:
  FirstFit(const ChannelGraph& g, const ForwardingTable& table)
      : g_(g), table_(table), index_(g), destinations_(table.destinations()) {
    const u64 pairs = u64{g.switches} * destinations_;
    g.claim(pairs * 7, "the order of ", pairs, " routes");
    if (pairs > kNone)
      throw ConfigError("topology.", g.topology_name, ": ", pairs,
                        " routes cannot be assigned to layers; the maximum is ", kNone);
    length_.assign(pairs, 0);
    Tree tree(g);
    for (u32 d = 0; d < destinations_; d++) {
      tree.follow(table, d);
      for (const u32 s : tree.order)
        if (g.terminals_at(s))
          length_[std::size_t{s} * destinations_ + d] = static_cast<u8>(std::min(tree.depth[s], 255u));
    }
    for (const u8 length : length_) routes_ += length > 0;
  }

  u64 routes() const { return routes_; }
  u32 layers() const { return layers_; }
  u64 effort() const { return effort_; }  // visits of channels since the construction

  // Returns false and changes nothing if the total effort exceeds `most`.
  bool fit(RouteOrder order, u64 most = kAny) {
    arrange(order);
    layer_.assign(pair_.size(), 0);
    layers_ = 1;
    return again({0}, most);
  }
  // Starts from the layers of the table.
  void take(RouteOrder order) {
    arrange(order);
    layer_.resize(pair_.size());
    for (std::size_t i = 0; i < pair_.size(); i++) layer_[i] = table_.layer[pair_[i]];
    layers_ = table_.layers;
  }
  // Places all routes again, layer by layer. The routes of one layer fit together, so the number of layers cannot grow.
  bool again(const std::vector<u32>& order, u64 most = kAny) {
    for (AcyclicLayer& layer : made_) layer.clear();
    next_.resize(layer_.size());
    u32 used = 0;
    for (const u32 before : order) {
      worked(pair_.size());
      for (std::size_t i = 0; i < pair_.size(); i++)
        if (layer_[i] == before) {
          used = std::max(used, 1 + put(i));
          if (effort_ > most) return false;
        }
    }
    layer_.swap(next_);
    layers_ = used;
    return true;
  }
  // Order in which the layers are placed again in a round.
  std::vector<u32> orders(u32 round) const {
    std::vector<u32> order(layers_);
    std::iota(order.begin(), order.end(), 0u);
    std::vector<u64> routes(layers_);
    for (const u8 layer : layer_) routes[layer]++;
    std::reverse(order.begin(), order.end());
    if (round % 4 == 1)
      std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return routes[a] > routes[b]; });
    if (round % 4 == 3) std::rotate(order.begin(), order.begin() + round % layers_, order.end());
    return order;
  }
  void store(ForwardingTable& table) const {
    for (std::size_t i = 0; i < pair_.size(); i++) table.layer[pair_[i]] = layer_[i];
    table.layers = layers_;
  }

 private:
  void arrange(RouteOrder order) {
    pair_.clear();
    pair_.reserve(routes_);
    worked(length_.size());
    for (std::size_t pair = 0; pair < length_.size(); pair++)
      if (length_[pair]) pair_.push_back(static_cast<u32>(pair));
    const auto sort_by = [&](auto&& key) {
      std::stable_sort(pair_.begin(), pair_.end(), [&](u32 a, u32 b) { return key(a) < key(b); });
    };
    if (order == RouteOrder::kByDestination) sort_by([&](u32 pair) { return pair % destinations_; });
    if (order == RouteOrder::kShortFirst) sort_by([&](u32 pair) { return length_[pair]; });
    if (order == RouteOrder::kLongFirst) sort_by([&](u32 pair) { return -length_[pair]; });
  }

  // Places route i of the order and returns its layer.
  u32 put(std::size_t i) {
    const u32 s = pair_[i] / destinations_, d = pair_[i] % destinations_;
    route_.clear();
    each_channel(g_, table_, s, d, [&](u32 c) { route_.push_back(c); });
    worked(route_.size());
    u32 layer = 0;
    for (;; layer++) {
      if (layer == made_.size()) {
        if (layer == kMostLayers)
          throw ConfigError("table '", table_.engine, "': its routes need more than ", kMostLayers, " virtual layers");
        made_.emplace_back(index_);
      }
      const u64 before = made_[layer].effort();
      const bool fits = made_[layer].add_route(route_);
      effort_ += made_[layer].effort() - before;
      if (fits) break;
    }
    next_[i] = static_cast<u8>(layer);
    return layer;
  }

  const ChannelGraph& g_;
  const ForwardingTable& table_;
  const DependencyIndex index_;
  const u32 destinations_;
  u64 routes_ = 0, effort_ = 0;
  u32 layers_ = 0;
  // [switches * destinations] length in channels, 255 = 255 or more; 0: no route, nothing to place
  std::vector<u8> length_;
  std::vector<u32> pair_;         // [routes] switch * destinations + destination, in placing order
  std::vector<u8> layer_, next_;  // [routes] layer after the last round, and in this round
  std::vector<AcyclicLayer> made_;
  std::vector<u32> route_;
};

// Halves the fullest layer until there are `layers` layers. Removing dependencies cannot close a cycle.
static void spread_layers(const ChannelGraph& g, u32 layers, ForwardingTable& table) {
  if (table.layer.empty()) give_layers(g, table);
  const u32 destinations = table.destinations();
  std::vector<u64> routes(layers);
  const auto each = [&](auto&& visit) {
    for (u32 s = 0; s < g.switches; s++) {
      worked(destinations);
      for (u32 d = 0; g.terminals_at(s) && d < destinations; d++)
        if (g.terminal_switch[d >> table.lmc] != s) visit(table.layer[std::size_t{s} * destinations + d]);
    }
  };
  each([&](u8 layer) { routes[layer]++; });
  for (; table.layers < layers; table.layers++) {
    const auto fullest = static_cast<u8>(std::max_element(routes.begin(), routes.end()) - routes.begin());
    bool second = false;
    each([&](u8& layer) {
      if (layer != fullest) return;
      if (second) layer = static_cast<u8>(table.layers);
      second = !second;
    });
    routes[table.layers] = routes[fullest] / 2;
    routes[fullest] -= routes[table.layers];
  }
}

void give_layers(const ChannelGraph& g, ForwardingTable& table) {
  const u64 pairs = u64{g.switches} * table.destinations();
  g.claim(pairs, "the layers of ", pairs, " routes");
  table.layer_by = LayerBy::kSwitch;
  table.layer.assign(pairs, 0);
}

void first_fit(const ChannelGraph& g, RouteOrder order, ForwardingTable& table) {
  FirstFit fit(g, table);
  fit.fit(order);
  give_layers(g, table);
  fit.store(table);
}

void save_layers(const ChannelGraph& g, ForwardingTable& table) {
  constexpr u32 kLeast = 2, kRounds = 16;
  if (table.layers <= kLeast) return;
  FirstFit fit(g, table);
  const auto keep = [&] {
    if (fit.layers() < table.layers) fit.store(table);
    return table.layers <= kLeast;
  };
  // The limit corresponds to seconds, or to a minute for many routes. It does not apply while the table has more layers
  // than there are VC classes, because such a table cannot be used.
  const u64 patience = std::clamp<u64>(256 * fit.routes(), 50'000'000, 2'000'000'000);
  const auto most = [&] { return table.layers > kMaxVcs ? kAny : patience; };
  for (const RouteOrder order : {RouteOrder::kShortFirst, RouteOrder::kLongFirst, RouteOrder::kBySource})
    if (!fit.fit(order, most()) || keep()) return;
  fit.take(RouteOrder::kLongFirst);
  for (u32 round = 0; round < kRounds; round++)
    if (!fit.again(fit.orders(round), most()) || keep()) return;
}

std::vector<ParamSpec> layer_params() {
  return {
      layers_param(),
      flag("fewest", true, "search for fewer virtual layers than the published rule needs; the routes do not change"),
      flag("spread", false, "spread the routes over all `layers`, even if the routes fit into fewer"),
  };
}

void finish_layers(const Params& params, const ChannelGraph& g, ForwardingTable& table) {
  const u32 most = params.count("layers"), limit = most ? most : kMaxVcs;
  if (params.boolean("spread") && most == 0)
    throw ConfigError("spread: engine ", table.engine,
                      " needs the number of layers to spread over; set layers=2 or more, or spread=false");
  if (params.boolean("fewest")) save_layers(g, table);
  if (table.layers > limit)
    throw ConfigError("layers: engine ", table.engine, " needs ", table.layers,
                      " virtual layers for this network, but may use ", limit,
                      "; raise layers (0 = the number that the engine needs, up to ", kMaxVcs,
                      ") or take engine nue, which works with any number");
  if (params.boolean("spread") && table.layers < most) spread_layers(g, most, table);
  if (table.layers == 1) {
    table.layer_by = LayerBy::kOne;
    table.layer = {};
  }
}

}  // namespace flitgym::tables
