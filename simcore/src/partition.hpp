#pragma once

#include "simcore/network.hpp"

namespace flitgym {

void choose_partitions(Network& net);

}  // namespace flitgym
