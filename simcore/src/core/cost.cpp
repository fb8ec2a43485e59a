#include "simcore/cost.hpp"

#include "simcore/learning.hpp"

namespace flitgym {

// Bits of a number from 0 to `most`.
static double bits(double most) { return std::bit_width(static_cast<u64>(most)); }

// Memories that speed up the simulation, or belong to the arbiter. Routers need what they mirror in any case.
static bool mirrors(const Network& net, u32 memory) {
  return memory == net.sensed.memory.memory || memory == net.resting.memory || memory == net.islip.memory;
}

HardwareCost hardware_cost(const Network& net, double candidates) {
  HardwareCost cost;
  const Seam* const seam = net.seam && !net.seam->witness ? net.seam.get() : nullptr;
  if (net.operations) {
    cost.counted = true;
    cost.decision = net.operations(net, candidates);
  }
  if (seam) {
    cost.inputs = seam->general + seam->per_slot * candidates;
    for (const ObservationSpec* block : seam->blocks) {
      cost.decision += block->per_candidate * candidates;
      cost.update += block->update;
    }
    const PolicyShape& shape = seam->policy;
    for (std::size_t l = 0; l + 1 < shape.layers.size(); l++) {
      cost.weights += double{1} * shape.layers[l] * shape.layers[l + 1];
      cost.biases += shape.layers[l + 1];
    }
    // An 8-bit layer has a byte per weight, and a byte per unit for the exponent of its scale.
    cost.weight_bytes = 4 * cost.biases + (shape.eight_bit ? cost.weights + cost.biases : 4 * cost.weights);
  } else if (net.learns) {
    cost.update = net.update;
  }
  for (u32 k = 0; k < net.memories.size(); k++) {
    const MemoryShape& m = net.memories[k];
    if (m.per == Per::kPacket && !mirrors(net, k)) cost.header_bits += m.rows * m.columns * bits(m.highest);
    if ((m.per != Per::kRouter && m.per != Per::kPort) || mirrors(net, k)) continue;
    const double entries = m.per == Per::kPort ? net.radix : 1;
    cost.memories.push_back({m.name, m.learned, entries * m.rows * m.columns * m.cell_bytes()});
  }
  if (net.learns && net.feedback.rows > 0) {
    cost.row_bits = bits(net.feedback.rows - 1);
    cost.value_bits = 8 * sizeof(float);
  }
  return cost;
}

}  // namespace flitgym
