// Recursive bisection (Hoefler & Snir, ICS 2011). The network is cut into two halves with few links between them, and
// the ranks into two halves with few bytes between them. Each half is cut again in the same way. A rank's traffic with
// ranks outside the region pulls the rank to the half that is nearer to them (F. Pellegrini, "Static mapping by dual
// recursive bipartitioning", SHPCC 1994). So the halves are matched to each other, not just numbered.
#include "mapping/bisection.hpp"
#include "mapping/greedy.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"

namespace flitgym::mapping::recursive {

constexpr u64 kStream = u64{0x72656375} << 32;

struct Region {
  std::vector<u32> ranks, routers;
};

class Recursion {
 public:
  explicit Recursion(const MappingProblem& problem)
      : p_(problem), number_(std::max(problem.sites.fabric.vertices(), problem.application.vertices()), kNone),
        center_(problem.application.vertices(), 0) {}

  std::vector<u32> run() {
    std::vector<u32> site(p_.application.vertices(), kNone);
    std::vector<Region> regions(1), next;
    regions[0].ranks.resize(p_.application.vertices());
    regions[0].routers.resize(p_.sites.fabric.vertices());
    std::iota(regions[0].ranks.begin(), regions[0].ranks.end(), 0u);
    std::iota(regions[0].routers.begin(), regions[0].routers.end(), 0u);
    for (; !regions.empty(); regions.swap(next), next.clear())
      for (Region& region : regions) {
        if (region.ranks.empty()) continue;
        const std::vector<u32> own = sites(region);
        if (own.size() == 1)
          for (const u32 rank : region.ranks) site[rank] = own[0], center_[rank] = own[0];
        else split(region, next);
      }
    return site;
  }

 private:
  std::vector<u32> sites(const Region& region) const {
    std::vector<u32> own;
    for (const u32 router : region.routers)
      if (p_.sites.site_at[router] != kNone) own.push_back(p_.sites.site_at[router]);
    return own;
  }
  u64 room(const Region& region) const {
    u64 sum = 0;
    for (const u32 s : sites(region)) sum += p_.sites.room(s);
    return sum;
  }
  // The site with the fewest hops to all other sites of the region.
  u32 center(const Region& region) const {
    const std::vector<u32> own = sites(region);
    u32 best = own[0];
    u64 least = ~u64{0};
    for (const u32 a : own) {
      u64 sum = 0;
      for (const u32 b : own) sum += p_.sites.hops_from(a)[b];
      worked(own.size());
      if (sum < least) least = sum, best = a;
    }
    return best;
  }

  void split(Region& region, std::vector<Region>& next) {
    Region half[2];
    split_network(region, half);
    const u64 rooms[2] = {room(half[0]), room(half[1])}, wanted = region.ranks.size();
    // If a half has room for all ranks, this half gets them all; if both have, the smaller one. Ranks that stay
    // together are nearer to each other than ranks that are spread.
    const u32 small = rooms[1] < rooms[0] ? 1 : 0;
    for (const u32 h : {small, 1 - small})
      if (wanted <= rooms[h]) {
        half[h].ranks = std::move(region.ranks);
        next.push_back(std::move(half[h]));
        return;
      }
    split_ranks(region.ranks, half, rooms[0]);
    next.push_back(std::move(half[0]));
    next.push_back(std::move(half[1]));
  }

  void split_network(const Region& region, Region (&half)[2]) {
    std::vector<u32> size;
    u64 total = 0;
    for (const u32 router : region.routers) {
      size.push_back(p_.sites.site_at[router] == kNone ? 0 : p_.sites.room(p_.sites.site_at[router]));
      total += size.back();
    }
    const Halves halves = bisect(subgraph(p_.sites.fabric, region.routers, number_), size, total / 2, {},
                                 draw(p_.seed, kStream, round_++));
    for (u32 k = 0; k < region.routers.size(); k++) half[halves.side[k]].routers.push_back(region.routers[k]);
    if (halves.size0 > 0 && halves.size0 < total) return;
    // If routers differ much in size, the cut may leave all terminals on one side. Then the routers are divided in the
    // order of their numbers.
    half[0].routers.clear(), half[1].routers.clear();
    u64 seen = 0;
    for (u32 k = 0; k < region.routers.size(); k++) {
      half[seen > 0 && 2 * (seen + size[k]) > total].routers.push_back(region.routers[k]);
      seen += size[k];
    }
  }

  void split_ranks(const std::vector<u32>& ranks, Region (&half)[2], u64 first) {
    const u32 centers[2] = {center(half[0]), center(half[1])};
    const double apart = std::max<double>(1, p_.sites.hops_from(centers[0])[centers[1]]);
    for (const u32 r : ranks) number_[r] = 0;
    std::vector<double> bias;  // pull of outside partners, per hop between the halves, in the unit of the edges
    const WeightedGraph& g = p_.application;
    for (const u32 r : ranks) {
      double more = 0;
      for (u64 e = g.begin(r); e < g.end(r); e++)
        if (const u32 partner = g.peer[e]; number_[partner] == kNone)
          more += g.weight[e] *
                  (p_.sites.hops_from(centers[1])[center_[partner]] - p_.sites.hops_from(centers[0])[center_[partner]]);
      bias.push_back(more / apart);
    }
    for (const u32 r : ranks) number_[r] = kNone;
    const Halves halves = bisect(subgraph(g, ranks, number_), std::vector<u32>(ranks.size(), 1), first, bias,
                                 draw(p_.seed, kStream, round_++));
    for (u32 k = 0; k < ranks.size(); k++) {
      half[halves.side[k]].ranks.push_back(ranks[k]);
      center_[ranks[k]] = centers[halves.side[k]];
    }
  }

  const MappingProblem& p_;
  std::vector<u32> number_;  // scratch space of subgraph(), all kNone
  std::vector<u32> center_;  // [ranks] central site of each rank's region
  u64 round_ = 0;
};

Mapping recursive(const MappingProblem& p) { return slots_at(p.sites, Recursion(p).run()); }

const Register<MapperSpec> registration{
    {"recursive", "network and ranks are repeatedly cut in two, with little traffic between the halves", recursive}};

}  // namespace flitgym::mapping::recursive
