// HyperX traffic patterns: their formulas (SC'19: McDonald et al.; SuperSim's code) on every terminal, permutations,
// and refusals.
#include <set>

#include "simcore/rng.hpp"
#include "simcore/topology/hyperx.hpp"
#include "support/scenes.hpp"
#include "test.hpp"

namespace traffic_hyperx_test {

using namespace scenes;

std::shared_ptr<const Network> network(const Section& traffic, const std::vector<double>& widths = {8, 8, 8},
                                       i64 terminals = 8) {
  return build(config(hyperx_section(widths, terminals), input_queued(), {"dimension_order", {}}, traffic));
}
std::shared_ptr<const Network> on_dragonfly(const Section& traffic, const Section& topology = small_network()) {
  return build(config(topology, input_queued(), {"minimal", {}}, traffic));
}
u32 to(const Network& net, u32 terminal, u32 sequence = 0) {
  return net.destination(net.seed, terminal, sequence, 0, 0);
}

// 8x8x8, T=8: terminal = slot + 8 (x + 8 (y + 8 z)).
struct At {
  u32 slot, x, y, z;
  explicit At(u32 terminal) : slot(terminal % 8), x(terminal / 8 % 8), y(terminal / 64 % 8), z(terminal / 512) {}
};
u32 terminal_at(u32 slot, u32 x, u32 y, u32 z) { return slot + 8 * (x + 8 * (y + 8 * z)); }

template <class Formula>
void check_everywhere(const Section& traffic, Formula formula) {
  const auto net = network(traffic);
  for (u32 t = 0; t < 4096; t++)
    CHECK_FOR(to(*net, t) == formula(At(t)) && to(*net, t, 17) == to(*net, t), traffic.name + " " + std::to_string(t));
}

void check_permutation(const Network& net, bool involution) {
  std::set<u32> reached;
  for (u32 t = 0; t < net.terminals; t++) {
    CHECK_FOR(to(net, t) < net.terminals, net.traffic_name);
    reached.insert(to(net, t));
    if (involution) CHECK_FOR(to(net, to(net, t)) == t, net.traffic_name + " on " + net.fingerprint);
  }
  CHECK_FOR(reached.size() == net.terminals, net.traffic_name + " on " + net.fingerprint);
}

// BC: (7-t; 7-x, 7-y, 7-z). S2: even terminals to x +- 4, odd terminals to y +- 4. DCR: (t; 7-z, 7-y, 7-x). Tornado: x
// + floor(7/2).
TEST(patterns_by_their_formulas) {
  check_everywhere({"bit_complement", {}}, [](const At& a) { return ~terminal_at(a.slot, a.x, a.y, a.z) & 4095; });
  check_everywhere({"swap2", {}}, [](const At& a) {
    const auto half = [](u32 c) { return c < 4 ? c + 4 : c - 4; };
    return a.slot % 2 == 0 ? terminal_at(a.slot, half(a.x), a.y, a.z) : terminal_at(a.slot, a.x, half(a.y), a.z);
  });
  check_everywhere({"dimension_complement_reverse", {}},
                   [](const At& a) { return terminal_at(a.slot, 7 - a.z, 7 - a.y, 7 - a.x); });
  check_everywhere({"tornado", {}}, [](const At& a) { return terminal_at(a.slot, (a.x + 3) % 8, a.y, a.z); });
  check_everywhere({"tornado", {{"dimensions", std::vector<double>{2, 1}}}},
                   [](const At& a) { return terminal_at(a.slot, a.x, (a.y + 3) % 8, (a.z + 3) % 8); });
  check_everywhere({"transpose", {}}, [](const At& a) { return terminal_at(a.slot, a.y, a.x, a.z); });
  // 12 bits rotated left by one.
  check_everywhere({"shuffle", {}}, [](const At& a) {
    const u32 t = terminal_at(a.slot, a.x, a.y, a.z);
    return t * 2 % 4096 + t / 2048;
  });
  check_everywhere({"bit_rotation", {}}, [](const At& a) {
    const u32 t = terminal_at(a.slot, a.x, a.y, a.z);
    return t / 2 + t % 2 * 2048;
  });
}

TEST(patterns_by_hand) {
  CHECK_EQ(to(*network({"bit_reversal", {}}), 0b100000001101), 0b101100000001u);
  // Four dimensions, 2x4x4x2: 0 and 3, 1 and 2 are exchanged.
  // (1, 3, 0, 0) = 1 + 2*3 = 7 goes to (1-0, 3-0, 3-3, 1-1) = 1 + 2*3 = 7.
  // (0, 1, 2, 1) = 0 + 2 (1 + 4 (2 + 4 * 1)) = 50 goes to itself.
  // (1, 1, 0, 0) = 3 goes to (1, 3, 2, 0) = 23.
  const auto four = network({"dimension_complement_reverse", {}}, {2, 4, 4, 2}, 1);
  CHECK_EQ(to(*four, 7), 7u);
  CHECK_EQ(to(*four, 50), 50u);
  CHECK_EQ(to(*four, 3), 23u);
  // One dimension is mirrored. Two are exchanged and mirrored: (1, 0) = 1 of 3x3 goes to (2, 1) = 5.
  CHECK_EQ(to(*network({"dimension_complement_reverse", {}}, {5}, 1), 1), 3u);
  CHECK_EQ(to(*network({"dimension_complement_reverse", {}}, {3, 3}, 1), 1), 5u);
  // An odd width: floor((5 - 1) / 2) = 2. At width 2 every packet would stay.
  CHECK_EQ(to(*network({"tornado", {}}, {5, 3}, 1), 4), 1u);
  CHECK_THROWS(ConfigError, network({"tornado", {}}, {2, 3}, 1), "traffic.tornado.dimensions", "width", "itself");
  CHECK_EQ(to(*network({"swap2", {}}, {4, 2, 3}, 1), 9), 11u);  // one terminal per router, even: (1, 0, 1) to (3, 0, 1)
}

TEST(patterns_are_permutations) {
  for (const auto& [name, involution] : {std::pair{"bit_complement", true},
                                         {"swap2", true},
                                         {"dimension_complement_reverse", true},
                                         {"transpose", true},
                                         {"tornado", false},
                                         {"shuffle", false}}) {
    check_permutation(*network({name, {}}), involution);
    check_permutation(*network({name, {}}, {4, 4}, 2), involution);
    if (name != std::string("tornado")) check_permutation(*network({name, {}}, {2, 2, 2, 2}, 4), involution);
  }
  for (const std::string name : {"dimension_complement_reverse", "transpose", "tornado"})
    check_permutation(*network({name, {}}, {3, 3, 3}, 2), name[0] != 't' || name[1] == 'r');
  check_permutation(*network({"swap2", {}}, {6, 4, 3}, 3), true);
  // Patterns of bits run on any topology, such as a Dragonfly of 2 * 4 * 8 terminals.
  for (const std::string name : {"bit_complement", "shuffle"}) {
    const auto net = on_dragonfly({name, {}}, dragonfly_section(2, 4, 2, 8));
    check_permutation(*net, name == "bit_complement");
    CHECK_EQ(to(*net, 33), name == "bit_complement" ? 30u : 3u);
  }
}

// If the number of terminals is no power of two, the complement is the mirrored number. On a HyperX every coordinate
// and the terminal's place are mirrored.
TEST(bit_complement_mirrors_where_there_are_no_bits) {
  const auto hx = network({"bit_complement", {}}, {12, 8}, 7);
  check_permutation(*hx, true);
  for (u32 t = 0; t < 672; t++) CHECK_EQ(to(*hx, t), 6 - t % 7 + 7 * (11 - t / 7 % 12 + 12 * (7 - t / 84)));
  const auto df = on_dragonfly({"bit_complement", {}});
  check_permutation(*df, true);
  CHECK_EQ(to(*df, 0), 71u);
  CHECK_EQ(to(*df, 40), 31u);
  // With a power of two every bit is inverted.
  const auto bits = network({"bit_complement", {}}, {4, 4}, 4);
  for (u32 t = 0; t < 64; t++) CHECK_EQ(to(*bits, t), (~t & 63));
}

// URB(d) mirrors coordinate d and the terminal's place T-1-t. It draws the coordinates of the other dimensions
// uniformly: 64 routers, 500 packets each. Chi-square with 63 degrees of freedom: mean 63, standard deviation 11.2.
TEST(bisection_traffic_is_uniform_in_the_other_dimensions) {
  for (const auto& [word, number, k] : {std::tuple{"x", "0", 0u}, {"y", "1", 1u}, {"z", "2", 2u}}) {
    const auto net = network({"uniform_random_bisection", {{"dimension", word}}}),
               same = network({"uniform_random_bisection", {{"dimension", number}}});
    for (const u32 terminal : {0u, 1234u, 4095u}) {
      const At from(terminal);
      std::map<u32, u32> count;
      for (u32 n = 0; n < 32000; n++) {
        const u32 there = to(*net, terminal, n);
        CHECK_EQ(there, to(*same, terminal, n));
        const At at(there);
        CHECK_EQ(at.slot, 7 - from.slot);
        const u32 c[] = {at.x, at.y, at.z}, own[] = {from.x, from.y, from.z};
        CHECK_EQ(c[k], 7 - own[k]);
        count[c[(k + 1) % 3] * 8 + c[(k + 2) % 3]]++;
      }
      CHECK_EQ(count.size(), 64u);
      double chi = 0;
      for (const auto& [router, n] : count) chi += (n - 500.0) * (n - 500.0) / 500.0;
      CHECK_NEAR(chi, 63, 5 * 11.2);
    }
  }
  // The other widths may be odd. In one dimension it is a permutation.
  const auto uneven = network({"uniform_random_bisection", {{"dimension", "y"}}}, {3, 4, 5}, 1);
  for (u32 n = 0; n < 100; n++) CHECK_EQ(to(*uneven, 4, n) / 3 % 4, 2u);  // (1, 1, 0)
  check_permutation(*network({"uniform_random_bisection", {}}, {6}, 4), true);
}

}  // namespace traffic_hyperx_test
