// The example of docs/extending in C++ is compiled into these tests, so the tests of the registry find it. The case
// here checks its purpose against a number worked out by hand, and the error that the page shows.
#include "support/crafted.hpp"

namespace examples_test {

using namespace scenes;

std::shared_ptr<const Network> uniform_network(const Section& topology, const Section& routing) {
  return build(config(topology, input_queued(), routing, {"uniform", {}}));
}

// One of n minimal ports is full. A packet takes it if both draws name it, with probability 1 / n^2.
TEST(example_two_choices_take_the_full_port_once_in_n_squared) {
  for (const u32 n : {2u, 3u, 4u}) {
    Lone x(uniform_network(hyperx_section(std::vector<double>(n, 2.0), 1), {"two_choices", {}}));
    const u32 across = (1u << n) - 1, full = 1;  // the opposite corner of a hypercube: all n links lead closer
    congest(x, 0, full, 0, 0, 7);
    const double packets = 20000;
    double taken = 0;
    for (u32 k = 0; k < packets; k++) taken += x.ask(x.send(0, across, k)).port == full;
    const double part = 1.0 / (n * n);
    CHECK_NEAR(taken / packets, part, 4 * std::sqrt(part * (1 - part) / packets));
  }
  CHECK_THROWS(ConfigError, uniform_network(small_network(), {"two_choices", {{"congestion", "output_queue"}}}),
               "routing.two_choices.congestion: output_queue is always 0");
}

}  // namespace examples_test
