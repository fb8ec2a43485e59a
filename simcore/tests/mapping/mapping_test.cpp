// Mapping: the bytes that ranks exchange, the quality of a mapping against brute force and closed forms, and the
// mappings of every mapper.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "mapping/quality.hpp"
#include "simcore/graph.hpp"
#include "simcore/mapping/communication_matrix.hpp"
#include "simcore/mapping/problem.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/registry.hpp"
#include "simcore/rng.hpp"
#include "simcore/tables/engine.hpp"
#include "simcore/tables/walk.hpp"
#include "simcore/workload.hpp"
#include "support/scenes.hpp"
#include "support/torus.hpp"
#include "test.hpp"

namespace mapping_mapping_test {

using namespace scenes;

std::shared_ptr<const Network> network(const Section& topology, Values router = input_queued()) {
  const std::string routing = topology.name == "torus" ? "dimension_order" : "q_routing";
  return build(config(topology, std::move(router), {routing, {}}, {"uniform", {}}));
}

Section torus_of(const std::vector<double>& sizes, i64 terminals = 1) {
  return torus_section({"torus", sizes, {1}, {}, terminals});
}

std::shared_ptr<const Program> halo(const std::vector<double>& grid, i64 bytes = 1000, bool periodic = true) {
  return motif_program({"halo3d", {{"grid", grid}, {"bytes", bytes}, {"iterations", i64{1}}, {"periodic", periodic}}},
                       "test", 0);
}

std::vector<u32> numbers(u32 n) {
  std::vector<u32> all(n);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

std::vector<u32> shuffled(u32 n, u64 seed) {
  std::vector<u32> all = numbers(n);
  for (u32 k = n; k > 1; k--) std::swap(all[k - 1], all[below(draw(seed, 9, k), k)]);
  return all;
}

mapping::MappingProblem problem_of(const Network& net, const Program& program, u32 terminals = 0) {
  return {mapping::application_graph(workload::communication_matrix(program)),
          mapping::sites_of(net, numbers(terminals ? terminals : net.terminals)), 1};
}

double dilation(const mapping::MappingProblem& p, const mapping::Mapping& mapping) {
  return mapping::hop_bytes(p, mapping) /
         (std::accumulate(p.application.weight.begin(), p.application.weight.end(), 0.0) / 2);
}

void check_mapping(const mapping::MappingProblem& p, const mapping::Mapping& mapping, const std::string& text) {
  CHECK_FOR(mapping.size() == p.application.vertices(), text);
  std::set<u32> used;
  for (const u32 slot : mapping) CHECK_FOR(slot < p.sites.slots() && used.insert(slot).second, text);
}

mapping::Mapping mapped(const std::string& name, const mapping::MappingProblem& p) {
  return registry<mapping::MapperSpec>().find(name)->second.map(p);
}

// A replacement for the functions from Python that only uses the order of the numbers.
struct PlainLibrary {
  const mapping::MappingLibrary before = mapping::mapping_library();
  PlainLibrary() {
    mapping::mapping_library().load = {};
    mapping::mapping_library().reverse_cuthill_mckee = [](const mapping::WeightedGraph& g) {
      std::vector<u32> order = numbers(g.vertices());
      std::reverse(order.begin(), order.end());
      return order;
    };
    mapping::mapping_library().partition = [](const mapping::WeightedGraph& g, const std::vector<u32>& sizes, u64) {
      std::vector<u32> part;  // the first parts get too many
      for (u32 v = 0; v < g.vertices(); v++)
        part.push_back(std::min(v / (sizes[0] + 1), static_cast<u32>(sizes.size()) - 1));
      return part;
    };
  }
  ~PlainLibrary() { mapping::mapping_library() = before; }
};

// Sums over all shortest paths, path by path.
struct BruteForce {
  const Network& net;
  std::vector<double> load;
  double hop_bytes = 0;

  explicit BruteForce(const Network& of) : net(of), load(of.router_ports, 0.0) {}

  void paths(u32 at, u32 to, std::vector<u32>& path, std::vector<std::vector<u32>>& all) const {
    if (at == to) return all.push_back(path);
    each_minimal(net, *net.graphs[0], at, to, [&](u32 k) {
      path.push_back(net.port(at, k));
      paths(net.next_router(net.port(at, k)), to, path, all);
      path.pop_back();
    });
  }
  void send(u32 from, u32 to, double bytes) {
    std::vector<std::vector<u32>> all;
    std::vector<u32> path;
    paths(from, to, path, all);
    for (const auto& p : all)
      for (const u32 port : p) load[port] += bytes / static_cast<double>(all.size());
    hop_bytes += bytes * static_cast<double>(all[0].size());
  }
};

TEST(communication_matrix_has_the_bytes_sent) {
  for (const std::string& name : registered_names<MotifSpec>()) {
    const auto program = motif_program({name, {{"ranks", i64{27}}, {"scale", 0.01}}}, "test", 0);
    const workload::CommunicationMatrix m = workload::communication_matrix(*program);
    CHECK_EQ(m.ranks, program->ranks);
    const std::vector<u64> sent = workload::bytes_sent(*program);
    // A second count, block by block.
    std::map<std::pair<u32, u32>, u64> all;
    Block block;
    for (u32 r = 0; r < program->ranks; r++)
      for (u64 k = 0; k < program->blocks(r); k++) {
        block.clear();
        program->block(r, k, block);
        for (const Op& op : block.ops)
          if (op.kind == OpKind::kSend && op.size > 0) all[{r, op.peer}] += op.size;
      }
    std::size_t entries = 0;
    for (u32 r = 0; r < m.ranks; r++) {
      double row = 0;
      for (u64 e = m.first[r]; e < m.first[r + 1]; e++, entries++) {
        CHECK_FOR(m.bytes[e] == static_cast<double>(all[{r, m.peer[e]}]), name);
        CHECK_FOR(e == m.first[r] || m.peer[e - 1] < m.peer[e], name);
        row += m.bytes[e];
      }
      const auto own = all.find({r, r});
      CHECK_FOR(row + (own == all.end() ? 0.0 : static_cast<double>(own->second)) == static_cast<double>(sent[r]),
                name);
    }
    for (const auto& [pair, bytes] : all) entries += pair.first == pair.second;
    CHECK_FOR(entries == all.size(), name);
  }
}

TEST(mapping_quality_is_the_sum_over_all_shortest_paths) {
  for (const Section& topology : std::vector<Section>{
           torus_of({4, 4}), torus_of({3, 2, 4}, 2), torus_section({"torus", {5, 4}, {1, 3}, {}, 1, 1}),
           small_network(), hyperx_section({3, 4}, 2), Section{"fat_tree", {}},
           Section{"random_regular", {{"routers", i64{14}}, {"degree", i64{3}}}}}) {
    const auto net = network(topology, sc22());
    const u32 ranks = net->terminals - 1;
    const auto program =
        motif_program({"ur", {{"ranks", i64{ranks}}, {"iterations", i64{3}}, {"bytes", i64{512}}}}, "test", 0);
    const workload::CommunicationMatrix m = workload::communication_matrix(*program);
    const std::vector<u32> at = shuffled(net->terminals, 3);
    const mapping::MappingQuality q = mapping::quality_on_minimal_paths(*net, m, {at.begin(), at.begin() + ranks});
    BruteForce all(*net);
    for (u32 r = 0; r < ranks; r++)
      for (u64 e = m.first[r]; e < m.first[r + 1]; e++) {
        const u32 from = net->terminal_router[at[r]], to = net->terminal_router[at[m.peer[e]]];
        if (from != to) all.send(from, to, m.bytes[e]);
      }
    CHECK_EQ(q.bytes, std::accumulate(m.bytes.begin(), m.bytes.end(), 0.0));
    CHECK_NEAR(q.dilation, all.hop_bytes / q.bytes, 1e-9);
    double worst = 0, sum = 0;
    u32 links = 0;
    for (u32 p = 0; p < net->router_ports; p++)
      if (net->is_link(p)) worst = std::max(worst, all.load[p]), sum += all.load[p], links++;
    CHECK_NEAR(q.worst_congestion, worst, 1e-6 * worst);
    CHECK_NEAR(q.mean_congestion, sum / links, 1e-6 * worst);
    CHECK_NEAR(all.load[q.worst_port], worst, 1e-6 * worst);
  }
}

TEST(mapping_congestion_is_over_the_bandwidth) {
  Values router = input_queued();
  router["link_bandwidth_gb_per_s_local"] = 64.0;  // half of a terminal's
  const auto slow = network(torus_of({4, 4, 4}), router), fast = network(torus_of({4, 4, 4}));
  const workload::CommunicationMatrix m = workload::communication_matrix(*halo({4, 4, 4}));
  CHECK_NEAR(mapping::quality_on_minimal_paths(*slow, m, numbers(64)).worst_congestion,
             2 * mapping::quality_on_minimal_paths(*fast, m, numbers(64)).worst_congestion, 1e-9);
}

TEST(mapping_quality_under_a_table) {
  for (const Section& topology :
       std::vector<Section>{torus_of({4, 4}), small_network(), hyperx_section({3, 4}, 2), Section{"fat_tree", {}}}) {
    const auto net = network(topology);
    const tables::ChannelGraph g = tables::channel_graph(*net);
    const tables::ForwardingTable table = tables::make_table("test", {"min_hop", {}, nullptr}, g);
    const auto program =
        motif_program({"ur", {{"ranks", i64{net->terminals}}, {"iterations", i64{3}}, {"bytes", i64{512}}}}, "test", 0);
    const workload::CommunicationMatrix m = workload::communication_matrix(*program);
    const std::vector<u32> at = shuffled(net->terminals, 4);
    const mapping::MappingQuality q = mapping::quality_under_table(*net, table, m, at);
    std::vector<double> load(g.channels, 0.0);
    double hops = 0;
    for (u32 r = 0; r < m.ranks; r++)
      for (u64 e = m.first[r]; e < m.first[r + 1]; e++) {
        u32 s = g.terminal_switch[at[r]];
        const u32 to = at[m.peer[e]];
        for (; s != g.terminal_switch[to]; hops += m.bytes[e]) {
          const u32 c = g.channel(s, table.at(s, to));
          load[c] += m.bytes[e];
          s = g.to[c];
        }
      }
    CHECK_NEAR(q.dilation, hops / q.bytes, 1e-9);
    CHECK_NEAR(q.worst_congestion, *std::max_element(load.begin(), load.end()), 1e-6);
    CHECK_NEAR(q.mean_congestion, hops / g.channels, 1e-6);
    if (topology.name != "dragonfly")
      CHECK_NEAR(q.dilation, mapping::quality_on_minimal_paths(*net, m, at).dilation, 1e-9);
  }
  const auto net = network(torus_of({4, 4}));
  tables::ForwardingTable table = tables::make_table("test", {"min_hop", {}, nullptr}, tables::channel_graph(*net));
  table.at(0, 5) = tables::kNoPort;
  CHECK_THROWS(ConfigError, mapping::quality_under_table(*net, table, workload::communication_matrix(*halo({4, 4, 1})),
                                                         numbers(16)));
}

TEST(mapping_numbers_of_a_torus_of_1728) {
  const auto net = network(torus_of({12, 12, 12}));
  // A stencil of the torus's own shape: one face on each channel, one hop.
  const mapping::MappingQuality own = mapping::quality_on_minimal_paths(
      *net, workload::communication_matrix(*halo({12, 12, 12}, 576000)), numbers(1728));
  CHECK_EQ(own.dilation, 1.0);
  CHECK_EQ(own.worst_congestion, 576000.0);
  CHECK_EQ(own.mean_congestion, 576000.0);
  CHECK_EQ(own.bytes, 6.0 * 1728 * 576000);

  // A random mapping has 3k/4 hops per pair of different ranks: 9 x 1728/1727.
  const auto program = motif_program({"stencil27",
                                      {{"grid", std::vector<double>{12, 12, 12}},
                                       {"periodic", true},
                                       {"phase", std::string("halo")},
                                       {"iterations", i64{1}},
                                       {"face_bytes", i64{8}},
                                       {"edge_bytes", i64{8}},
                                       {"corner_bytes", i64{8}}}},
                                     "test", 0);
  const mapping::MappingProblem p = problem_of(*net, *program);
  double sum = 0;
  for (u64 seed = 0; seed < 16; seed++) sum += dilation(p, shuffled(1728, seed));
  CHECK_NEAR(sum / 16, 9.005, 0.02);  // four standard errors

  // Mappers that use the communication beat it by far, and refinement never ends above its start.
  const double by_halves = dilation(p, mapped("recursive", p)), by_greed = dilation(p, mapped("greedy", p));
  CHECK(by_halves < 4.5);
  CHECK(by_greed < 4.5);
  const mapping::Mapping start = shuffled(1728, 1);
  CHECK(dilation(p, mapping::threshold_accepting(p, start, {100000, 0})) < 7);
  CHECK(mapping::hop_bytes(p, mapping::threshold_accepting(p, numbers(1728), {20000, 0})) <=
        mapping::hop_bytes(p, numbers(1728)));
}

TEST(mappers_give_every_rank_a_separate_slot) {
  const PlainLibrary library;
  for (const Section& topology :
       std::vector<Section>{torus_of({4, 3}), torus_of({3, 3, 3}, 2), small_network(), hyperx_section({3, 4}, 3),
                            Section{"fat_tree", {}}, Section{"mesh", {{"sizes", std::vector<double>{5, 4}}}}}) {
    const auto net = network(topology);
    const u32 n = net->terminals;
    for (const u32 ranks : {n, n - 1, n / 2 + 1, 2u, 1u})
      for (const auto& [name, mapper] : registry<mapping::MapperSpec>()) {
        const std::string text = topology.name + ", " + std::to_string(ranks) + " ranks, " + name;
        const auto program = motif_program({"ur", {{"ranks", i64{ranks}}, {"iterations", i64{4}}}}, "test", 0);
        const mapping::MappingProblem p = problem_of(*net, *program);
        const mapping::Mapping mapping = mapper.map(p);
        check_mapping(p, mapping, text);
        CHECK_FOR(mapping == mapper.map(p), text);
        const mapping::Mapping refined = mapping::threshold_accepting(p, mapping, {2000, 0});
        check_mapping(p, refined, text);
        CHECK_FOR(refined == mapping::threshold_accepting(p, mapping, {2000, 0}), text);
        CHECK_FOR(mapping::hop_bytes(p, refined) <= mapping::hop_bytes(p, mapping), text);
        // The same by another count.
        std::vector<u32> terminals;
        for (const u32 slot : refined) terminals.push_back(p.sites.terminal[slot]);
        const mapping::MappingQuality q =
            mapping::quality_on_minimal_paths(*net, workload::communication_matrix(*program), terminals);
        CHECK_FOR(std::abs(q.dilation * q.bytes - mapping::hop_bytes(p, refined)) <= 1e-9 * (1 + q.bytes), text);
      }
  }
}

TEST(mappers_find_lines_and_cliques) {
  // A line of ranks with random numbers on a ring: neighbours stay neighbours, except where the line turns back.
  const auto ring = network(torus_of({32}));
  workload::CommunicationMatrix line;
  const std::vector<u32> name = shuffled(32, 5);
  std::vector<std::vector<u32>> to(32);
  for (u32 k = 0; k + 1 < 32; k++) to[name[k]].push_back(name[k + 1]);
  for (u32 r = 0; r < 32; r++) {
    for (const u32 peer : to[r]) line.peer.push_back(peer), line.bytes.push_back(100);
    line.first.push_back(line.peer.size());
    line.ranks++;
  }
  const mapping::MappingProblem p{mapping::application_graph(line), mapping::sites_of(*ring, numbers(32)), 1};
  CHECK_EQ(dilation(p, mapped("recursive", p)), 1.0);
  CHECK_EQ(dilation(p, mapping::threshold_accepting(p, mapped("greedy", p), {200000, 0})), 1.0);
  {
    const PlainLibrary library;  // multicore makes a part of each rank here, so it needs no partition
    CHECK(dilation(p, mapped("multicore", p)) < 2 && dilation(p, numbers(32)) > 5);
  }

  // Cliques of as many ranks as a router has terminals, with scattered numbers: each ends on one router.
  const auto net = network(hyperx_section({4, 4}, 4));
  workload::CommunicationMatrix cliques;
  for (u32 r = 0; r < 64; r++) {
    for (u32 k = 0; k < 64; k++)
      if (k != r && k % 16 == r % 16) cliques.peer.push_back(k), cliques.bytes.push_back(10);
    cliques.first.push_back(cliques.peer.size());
    cliques.ranks++;
  }
  const mapping::MappingProblem q{mapping::application_graph(cliques), mapping::sites_of(*net, numbers(64)), 1};
  for (const char* name_of : {"greedy", "recursive"})
    CHECK_FOR(mapping::hop_bytes(q, mapped(name_of, q)) == 0, name_of);
}

// Twelve ranks that each send to the fifth next, on a torus of 4x3. An exchange of two ranks changes the hops of all
// their messages; the sum over the messages of one rank must not miss any.
TEST(threshold_accepting_counts_every_message) {
  const auto net = network(torus_of({4, 3}));
  workload::CommunicationMatrix shifts;
  for (u32 r = 0; r < 12; r++) {
    shifts.peer.push_back((r + 5) % 12), shifts.bytes.push_back(100 + r);
    shifts.first.push_back(shifts.peer.size());
    shifts.ranks++;
  }
  const mapping::MappingProblem p{mapping::application_graph(shifts), mapping::sites_of(*net, numbers(12)), 1};
  // No exchange of two ranks improves the result.
  const mapping::Mapping refined = mapping::threshold_accepting(p, numbers(12), {20000, 0});
  const double least = mapping::hop_bytes(p, refined);
  for (u32 a = 0; a < 12; a++)
    for (u32 b = a + 1; b < 12; b++) {
      mapping::Mapping other = refined;
      std::swap(other[a], other[b]);
      CHECK(mapping::hop_bytes(p, other) >= least);
    }
}

TEST(workload_mapped_placement) {
  const auto job = [](const std::string& name, i64 ranks, std::vector<u32> terminals = {}) {
    return JobSection{name,
                      {"halo3d", {{"ranks", ranks}, {"iterations", i64{1}}, {"bytes", i64{4000}}}},
                      nullptr,
                      std::move(terminals)};
  };
  const auto placed = [&](Values values, std::vector<u32> given = {}) {
    Config config = scenes::config(small_network(), sc22(), {"minimal", {}}, {"", {}});
    values["placement"] = std::string("mapped");
    config.workload = {std::move(values), {job("a", 24), job("b", 12, std::move(given)), job("c", 30)}};
    return Simulation(config);
  };
  const std::string in_order = "in_order", none = "none", linear = "linear";
  Simulation sim = placed({});
  const Workload& w = *sim.network().workload;
  CHECK(w.mapping != nullptr);
  CHECK_EQ(std::set<u32>(w.rank_terminal.begin(), w.rank_terminal.end()).size(), std::size_t{66});
  for (u32 r = 0; r < 66; r++) CHECK_EQ(w.terminal_rank[w.rank_terminal[r]], r);
  CHECK(w.mapping->dilation <= w.mapping->start_dilation);
  CHECK(w.rank_terminal == placed({}).network().workload->rank_terminal);
  CHECK(sim.network().identity != placed({{"placement_seed", i64{2}}}).network().identity);
  // Without refinement in_order is the linear placement. Refinement improves it.
  const Simulation plain = placed({{"mapping", in_order}, {"mapping_refine", none}});
  for (u32 r = 0; r < 66; r++) CHECK_EQ(plain.network().workload->rank_terminal[r], r);
  CHECK(placed({{"mapping", in_order}}).network().workload->mapping->dilation <
        plain.network().workload->mapping->dilation);
  // Ranks stay on the terminals of their job, whether given by name or by another placement.
  const std::vector<u32> given = {71, 3, 5, 70, 9, 11, 13, 15, 17, 19, 21, 23};
  const Simulation pinned = placed({}, given);
  for (u32 k = 0; k < 12; k++) CHECK_EQ(pinned.network().workload->rank_terminal[24 + k], given[k]);
  const Simulation apart = placed({{"mapping_terminals", linear}});
  const auto& at = apart.network().workload->rank_terminal;
  for (const auto& [first, last] : {std::pair{0u, 24u}, {24u, 36u}, {36u, 66u}})
    CHECK(std::set<u32>(at.begin() + first, at.begin() + last) == [&] {
      const auto all = numbers(72);
      return std::set<u32>(all.begin() + first, all.begin() + last);
    }());
  sim.begin_window();
  CHECK(sim.run_workload(20000000));
  const mapping::MappingLibrary before = mapping::mapping_library();
  mapping::mapping_library() = {};
  CHECK_THROWS(ConfigError, placed({{"mapping", std::string("rcm")}}), "workload.mapping", "rcm", "SciPy", "greedy");
  mapping::mapping_library() = before;
}

}  // namespace mapping_mapping_test
