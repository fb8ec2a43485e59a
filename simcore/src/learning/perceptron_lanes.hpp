// The loops of the policy network over whole vectors. Several files compile them, each for other vectors, and the
// processor decides at run time which of them are used (perceptron.cpp). Each output is summed over the inputs in order
// and without fused operations, so all of them give the same bits.
#pragma once

#include "simcore/types.hpp"

namespace flitgym::learning {

// Units are computed in blocks of this size. The layout of the weights does not depend on the vectors.
inline constexpr u32 kUnitBlock = 16;

// A network that scores the slots of a decision. The slots share the general features.
struct SlotNetwork {
  struct Layer {
    const float* weight;  // [inputs + 1, width]. The last row holds the biases.
    u32 inputs, width;    // The width is a multiple of kUnitBlock. Surplus units are not used.
  };
  const Layer* layers;  // [hidden + 1]
  u32 hidden;           // Number of hidden layers.
  // [width of the last hidden layer] Weights of the only unit of the last layer.
  const float* last_weight;
  u32 general, per_slot;  // Features of a decision, and of each slot.
  bool tanh;              // Activation of hidden units. Otherwise they are rectified linear units.
  float* scratch[2];      // [slots, widest layer]
  u32* lists[2];          // [kUnitBlock + units of the widest layer, or features if there are more]
};

struct PerceptronLoops {
  const char* vectors;
  bool (*available)();  // on this processor
  // A block of units for some rows: out = activation(bias + in * weight). `activation`: 0 none, 1 rectified linear,
  // 2 tanh.
  void (*block)(const float* in, u32 in_stride, u32 rows, u32 inputs, const float* weight, u32 width, const float* bias,
                float* out, u32 out_stride, u32 activation);
  // Scores the first `count` slots of an observation row.
  void (*score_slots)(const SlotNetwork& network, const float* row, u32 count, float* scores);
};

// Compiled for vectors of 4, 8 and 16 numbers; the last two exist only on x86-64.
extern const PerceptronLoops perceptron_loops_4, perceptron_loops_8, perceptron_loops_16;

}  // namespace flitgym::learning
