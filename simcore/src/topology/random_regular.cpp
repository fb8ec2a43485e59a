// Jellyfish (Singla, Hong, Popa, Godfrey, NSDI 2012): a random regular graph. Random pairs of routers with free ports
// are joined if they are not yet neighbours. If as many draws as free ports find no such pair, a random link is
// replaced by two links (the paper's section 3). If this fails, or if the graph is not connected, the graph is
// discarded and the next graph is drawn. Router-local ports: terminals, then links by the number of the router to which
// they lead.
#include "simcore/graph.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "topology/finite_field.hpp"

namespace flitgym::topology::random_regular {

struct Draft {
  u64 seed, stream;
  u32 degree;
  std::vector<std::vector<u32>> next;  // [routers] neighbours
  std::vector<std::pair<u32, u32>> links;
  std::vector<u32> stubs;  // each router once per free port
  u64 draws = 0;

  u32 random(std::size_t n) { return below(draw(seed, stream, draws++), static_cast<u32>(n)); }
  bool joined(u32 a, u32 b) const { return std::find(next[a].begin(), next[a].end(), b) != next[a].end(); }
  bool can_join(u32 a, u32 b) const { return a != b && !joined(a, b); }
  void join(u32 a, u32 b) {
    next[a].push_back(b);
    next[b].push_back(a);
    links.emplace_back(a, b);
  }
  void take_stub(u32 k) {
    stubs[k] = stubs.back();
    stubs.pop_back();
  }

  Draft(u64 graph_seed, u32 attempt, u32 routers, u32 links_per_router)
      : seed(graph_seed), stream(attempt), degree(links_per_router), next(routers) {
    for (u32 r = 0; r < routers; r++) stubs.insert(stubs.end(), degree, r);
  }

  // Replaces a random link x - y by the links a - x and b - y, which use a free port of a and of b.
  bool make_room(u32 a, u32 b) {
    for (u32 tries = 0; tries < 64 * degree; tries++) {
      worked(degree);
      const u32 k = random(links.size());
      auto [x, y] = links[k];
      if (random(2)) std::swap(x, y);
      if (!can_join(a, x) || !can_join(b, y)) continue;
      links[k] = links.back();
      links.pop_back();
      std::erase(next[x], y);
      std::erase(next[y], x);
      join(a, x);
      join(b, y);
      return true;
    }
    return false;
  }
  bool fill() {
    while (!stubs.empty()) {
      // If none of n draws finds two stubs that can be joined, there are hardly any, so make_room() is faster.
      bool done = false;
      for (std::size_t tries = 0, n = stubs.size(); tries < n && !done; tries++) {
        worked(degree);
        const u32 k = random(n), l = random(n), a = stubs[k], b = stubs[l];
        if (!can_join(a, b)) continue;
        join(a, b);
        take_stub(std::max(k, l));
        take_stub(std::min(k, l));
        done = true;
      }
      if (done) continue;
      const u32 b = stubs.back(), a = stubs[stubs.size() - 2];
      if (links.empty() || !make_room(a, b)) return false;
      stubs.resize(stubs.size() - 2);
    }
    return true;
  }
  bool connected() const {
    const auto each = [&](u32 r, const auto& visit) {
      worked(degree);
      std::ranges::for_each(next[r], visit);
    };
    return std::ranges::count(hops_from(next.size(), {0}, each), kNone) == 0;
  }
};

void wire(const Params& params, Wiring& w) {
  const u32 routers = params.count("routers"), degree = params.count("degree"),
            terminals = params.count("terminals_per_router");
  const std::string key = "topology.random_regular",
                    size = std::to_string(degree) + " links at each of " + std::to_string(routers) + " routers";
  if (degree >= routers)
    throw ConfigError(key, ".degree: ", size, ", but a router has only ", routers - 1, " other routers; use at most ",
                      routers - 1);
  if (u64{degree} * routers % 2)
    throw ConfigError(key, ".degree: ", size, " give an odd number of link ends; degree or routers must be even");
  w.resize(routers, terminals + degree);
  claim_memory(u64{routers} * (degree * 24 + 32), key, "the links of ", routers, " routers");
  constexpr u32 kAttempts = 100;
  for (u32 attempt = 0; attempt < kAttempts; attempt++) {
    Draft draft(params.seed("graph_seed"), attempt, routers, degree);
    if (!draft.fill() || !draft.connected()) continue;
    for (auto& neighbors : draft.next) std::sort(neighbors.begin(), neighbors.end());
    const auto port = [&](u32 a, u32 b) { return terminals + place_in(draft.next[a], b); };
    for (u32 r = 0; r < routers; r++, worked(degree * 4)) {
      for (u32 t = 0; t < terminals; t++) w.attach_terminal({r, t});
      for (const u32 to : draft.next[r])
        if (r < to) w.connect({r, port(r, to)}, {to, port(to, r)});
    }
    return;
  }
  throw ConfigError(key, ".degree: ", kAttempts, " random graphs of ", size,
                    " were incomplete or not connected; use another degree or graph_seed");
}

const Register<TopologySpec> entry({
    .name = "random_regular",
    .summary =
        "a random graph in which every router has the same number of links (Jellyfish; Singla et al., NSDI 2012)",
    .params =
        {
            integer("routers", 32, 4, 1 << 20, "", "switches"),
            integer("degree", 6, 3, kMaxRadix, "links per router", "to other routers"),
            integer("terminals_per_router", 4, 1, kMaxRadix, "per switch", "hosts"),
            seed_of("the random graph", "graph_seed"),
        },
    .wire = wire,
    .small = {{"routers", 12}, {"degree", 3}, {"terminals_per_router", 1}},
});

}  // namespace flitgym::topology::random_regular
