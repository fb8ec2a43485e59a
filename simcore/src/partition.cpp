// Partitions: routers that are simulated together.
#include "partition.hpp"

namespace flitgym {

void choose_partitions(Network& net) {
  net.ranges = {{0, net.routers, 0, (net.routers + 63) / 64}};
}

}  // namespace flitgym
