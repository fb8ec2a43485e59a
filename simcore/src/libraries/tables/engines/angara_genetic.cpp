// Tables of the Angara interconnect (angara_graph.hpp) by a genetic algorithm. A chromosome is a table, and a gene
// selects one of the shortest routes of a pair. The first `population` tables are random. Every generation breeds the
// same number of children. Any two tables may be parents (panmixia). Children come from two-point crossover, and each
// gene mutates with a given probability. The best of parents and children survive. The search ends after `patience`
// generations without improvement.
//
// The source leaves two choices open. Here the fitness to be minimized is the sum over channels of (routes on the
// channel)^alpha, and the best tables survive. The second stop criterion of the source (the best two within 0.05) is
// left out.
#include "simcore/grouped.hpp"
#include "simcore/rng.hpp"
#include "tables/angara_routes.hpp"

namespace flitgym::tables::engines::angara_genetic {

// Pairs with more than one route, and the channels of their routes.
struct Genes {
  struct Gene {
    u32 source, target, first_route, routes, length;
    double weight;
  };
  std::vector<Gene> genes;
  std::vector<u64> first_channel;  // [routes]
  std::vector<u32> channel;
  std::vector<double> fixed;  // [channels] load of the pairs with a single route
  const u32* route(const Gene& gene, u32 k) const { return &channel[first_channel[gene.first_route + k]]; }
};

// Lists the routes to one node. If there are more than `most`, it keeps the first `most` routes that a backward search
// from the node finds.
class Listing {
 public:
  explicit Listing(const AngaraPaths& paths) : paths_(paths) {
    into_ = grouped(paths.node.size(), paths.arcs.size(), first_, [&](std::size_t a) { return paths.arcs[a].to; });
    worked(paths.arcs.size());
  }
  u32 list(u32 target, u32 most, std::vector<u32>& channels) {
    found_ = 0;
    route_.clear();
    for (u32 k = paths_.first_end[target]; k < paths_.first_end[target + 1]; k++) back(paths_.ends[k], most, channels);
    return found_;
  }

 private:
  // The depth of the recursion is the length of a route.
  void back(u32 vertex, u32 most, std::vector<u32>& channels) {
    if (found_ == most) return;
    if (vertex == 0) {
      found_++;
      channels.insert(channels.end(), route_.rbegin(), route_.rend());
      return;
    }
    for (u32 k = first_[vertex]; k < first_[vertex + 1]; k++) {
      route_.push_back(paths_.arcs[into_[k]].channel);
      back(paths_.arcs[into_[k]].from, most, channels);
      route_.pop_back();
    }
    worked();
  }
  const AngaraPaths& paths_;
  std::vector<u32> first_, into_, route_;
  u32 found_ = 0;
};

Genes list_genes(const ChannelGraph& g, const AngaraGraph& rules, AngaraRoutes& routes, u32 most) {
  Genes all;
  all.fixed.assign(g.channels, 0);
  AngaraPaths paths(g, rules);
  std::vector<u32> found;
  for (u32 source = 0; source < g.switches; source++) {
    if (g.terminals_at(source) == 0) continue;
    paths.from(source);
    Listing listing(paths);
    for (u32 to = 0; to < g.switches; to++) {
      if (to == source || g.terminals_at(to) == 0) continue;
      found.clear();
      const u32 count = listing.list(to, most, found), length = routes.length(source, to);
      const double weight = routes.weight(source, to);
      if (count == 1) {
        for (u32 k = 0; k < length; k++) {
          all.fixed[found[k]] += weight;
          routes.ports(source, to)[k] = g.port[found[k]];
        }
        continue;
      }
      all.genes.push_back({source, to, static_cast<u32>(all.first_channel.size()), count, length, weight});
      claim_memory(found.size() * sizeof(u32) + count * sizeof(u64), "routing.table.routes_per_pair",
                   "the routes to choose from");
      for (u32 k = 0; k < count; k++) all.first_channel.push_back(all.channel.size() + u64{k} * length);
      all.channel.insert(all.channel.end(), found.begin(), found.end());
    }
  }
  return all;
}

struct Chromosome {
  std::vector<u16> route;  // [genes]
  double fitness = 0;      // lower is better
};

class Population {
 public:
  Population(const Params& params, const Genes& genes)
      : genes_(genes), size_(params.count("population")), alpha_(params.count("alpha")),
        mutation_(params.real("mutation")), patience_(params.count("patience")), seed_(params.seed("seed")) {}

  Chromosome best() {
    claim_memory(genes_.genes.size() * sizeof(u16) * 2 * size_, "routing.table.population", 2 * size_, " tables of ",
                 genes_.genes.size(), " genes");
    for (u32 k = 0; k < size_; k++) all_.push_back(random());
    order();
    for (u32 idle = 0; idle < patience_ && !genes_.genes.empty();) {
      const double before = all_.front().fitness;
      for (u32 k = 0; k < size_; k++) all_.push_back(child());
      order();
      all_.resize(size_);
      idle = all_.front().fitness < before ? 0 : idle + 1;
    }
    return all_.front();
  }

 private:
  u64 bits() { return draw(seed_, 0, drawn_++); }
  void order() {
    std::stable_sort(all_.begin(), all_.end(),
                     [](const Chromosome& a, const Chromosome& b) { return a.fitness < b.fitness; });
  }
  void judge(Chromosome& c) {
    load_ = genes_.fixed;
    for (std::size_t i = 0; i < genes_.genes.size(); i++) {
      const Genes::Gene& gene = genes_.genes[i];
      const u32* channel = genes_.route(gene, c.route[i]);
      for (u32 k = 0; k < gene.length; k++) load_[channel[k]] += gene.weight;
      worked(gene.length);
    }
    c.fitness = 0;
    for (const double load : load_) {
      double power = load;
      for (u32 k = 1; k < alpha_; k++) power *= load;
      c.fitness += power;
    }
  }
  Chromosome random() {
    Chromosome c;
    for (const Genes::Gene& gene : genes_.genes) c.route.push_back(static_cast<u16>(below(bits(), gene.routes)));
    judge(c);
    return c;
  }
  Chromosome child() {
    const Chromosome &one = all_[below(bits(), size_)], &other = all_[below(bits(), size_)];
    const u32 genes = static_cast<u32>(genes_.genes.size());
    u32 from = below(bits(), genes + 1), to = below(bits(), genes + 1);
    if (from > to) std::swap(from, to);
    Chromosome c;
    c.route = one.route;
    std::copy(other.route.begin() + from, other.route.begin() + to, c.route.begin() + from);
    for (u32 i = 0; i < genes; i++)
      if (unit(bits()) < mutation_) c.route[i] = static_cast<u16>(below(bits(), genes_.genes[i].routes));
    judge(c);
    return c;
  }

  const Genes& genes_;
  const u32 size_, alpha_;
  const double mutation_;
  const u32 patience_;
  const u64 seed_;
  u64 drawn_ = 0;
  std::vector<Chromosome> all_;
  std::vector<double> load_;
};

ForwardingTable make(const Params& params, const ChannelGraph& g, const Demand& demand) {
  const AngaraGraph rules = angara_graph("angara_genetic", g);
  AngaraRoutes routes("angara_genetic", g, rules, demand);
  const Genes genes = list_genes(g, rules, routes, params.count("routes_per_pair"));
  const Chromosome best = Population(params, genes).best();
  for (std::size_t i = 0; i < genes.genes.size(); i++) {
    const Genes::Gene& gene = genes.genes[i];
    for (u32 k = 0; k < gene.length; k++)
      routes.ports(gene.source, gene.target)[k] = g.port[genes.route(gene, best.route[i])[k]];
  }
  return std::move(routes).table(g);
}

const Register<EngineSpec> entry({
    .name = "angara_genetic",
    .summary = "Angara: source routes picked by a genetic algorithm",
    .topologies = {"torus", "mesh"},
    .params =
        {
            seed_of("the tables that angara_genetic tries", "seed"),
            integer("population", 100, 2, 100000, "tables", "tables per generation"),
            real("mutation", 0.02, 0, 1, "", "probability that a gene is redrawn"),
            integer("patience", 30, 1, 1000000, "generations",
                    "the search ends after this many generations without gain"),
            integer("alpha", 4, 1, 16, "",
                    "exponent of the fitness, the sum over channels of (routes on the channel)^alpha"),
            integer("routes_per_pair", 64, 2, 65535, "", "maximum number of routes considered per pair"),
        },
    .make = make,
    .balances = true,
});

}  // namespace flitgym::tables::engines::angara_genetic
