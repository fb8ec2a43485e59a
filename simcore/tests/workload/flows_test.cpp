// Flows: the published sizes, and the order of the packets of a flow.
#include "core/hosts/engine.hpp"
#include "support/jobs.hpp"
#include "traffic/flow_sizes.hpp"

namespace flows_test {

using namespace scenes;

// Means and quantiles of the points, by hand. The mean number of flits is that of drawn sizes.
TEST(drawn_sizes_have_the_published_mean_and_quantiles) {
  struct Published {
    const char* name;
    double mean, quantile, bytes;
  };
  for (const auto& [name, mean, quantile, bytes] : {Published{"websearch", 1711250, 0.7, 1e6},
                                                    {"hadoop", 120420.75, 0.5, 700},
                                                    {"storage", 40869.8, 0.9047, 32e3}}) {
    const traffic::FlowSizes sizes = traffic::flow_sizes(name);
    constexpr u32 kDraws = 400000;
    double sum = 0, flits = 0, below = 0;
    for (u32 k = 0; k < kDraws; k++) {
      const u64 drawn = sizes.drawn(unit(draw(1, 2, k)));
      sum += static_cast<double>(drawn);
      below += static_cast<double>(drawn) <= bytes;
      // Packets of 1,000 bytes in flits of 128 bytes: a whole one has 8.
      flits += static_cast<double>(drawn / 1000 * 8 + (drawn % 1000 + 127) / 128);
    }
    CHECK_NEAR(sum / kDraws, mean, 0.01 * mean);
    CHECK_NEAR(below / kDraws, quantile, 0.003);
    const double exact = sizes.mean_flits(1000, 128);
    CHECK_NEAR(flits / kDraws, exact, 0.01 * exact);
  }
}

// Against the definitions: packets that follow a higher number, the largest gap to it, and the packets that wait.
TEST(order_of_packets) {
  struct One : FlowProgram {
    One() { ranks = 2; }
    u64 flow_time(u32 rank, u64& number, u64) const override { return rank + number == 0 ? 0 : kNoFlow; }
    Flow flow(const Network&, u32, u64) const override { return {1, 1, 0}; }
  };
  Simulation sim(with_jobs({given("one", std::make_shared<One>())}));
  State& s = sim.state();
  Workspace workspace;
  Frame f{sim.network(), s, workspace, 0};
  Flows& flows = s.flows[0];
  for (u32 seed = 0; seed < 300; seed++) {
    const u32 n = 1 + below(draw(seed, 0, 0), 12);
    std::vector<u32> order(n);
    for (u32 k = 0; k < n; k++) order[k] = k;
    for (u32 k = n; k > 1; k--) std::swap(order[k - 1], order[below(draw(seed, 1, k), k)]);
    flows.arrivals.assign(1, {});
    Message m{.receive_op = 0};
    m.bytes = u64{n} * sim.network().workload->packet_bytes;
    m.packets = n;
    u32 late = 0, distance = 0, held = 0, end = 0, in_order = 0;
    std::vector<u8> here(n + 1, 0);
    for (u32 k = 0; k < n; k++) {
      if (order[k] < end) late++, distance = std::max(distance, end - 1 - order[k]);
      end = std::max(end, order[k] + 1);
      here[order[k]] = 1;
      while (here[in_order]) in_order++;
      held = std::max(held, k + 1 - in_order);
      m.packets--;
      workload::flow_packet(f, m, order[k]);
    }
    const FlowArrival& a = flows.arrivals[0];
    CHECK_EQ(a.late, late);
    CHECK_EQ(a.distance, distance);
    CHECK_EQ(a.held, held);
    CHECK_EQ(a.missing, kNone);
    CHECK_EQ(flows.missing.size(), flows.free_missing.size());
  }
}

}  // namespace flows_test
