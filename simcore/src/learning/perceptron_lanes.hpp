// The inner loops of the policy network. Three files compile them for vectors of 4, 8 and 16 floats, and perceptron.cpp
// selects one at run time. Each output is summed over the inputs in order and without fused operations, so all of them
// give the same bits.
#pragma once

#include "simcore/types.hpp"

namespace flitgym::learning {

// Units are computed in blocks of this size. The layout of the weights does not depend on the vector width.
inline constexpr u32 kUnitBlock = 16;

enum class Units : u32 { kLinear, kRectified, kTanh };

// A network that scores the slots of a decision. The slots share the general features.
struct SlotNetwork {
  const float* weights;
  const std::size_t*
      offsets;       // [hidden + 1] Where a layer begins: a row of weights for each input, then a row of biases.
  const u32* sizes;  // [hidden + 2] Inputs, units of each hidden layer, and the one output. A row has whole blocks.
  u32 hidden;        // Number of hidden layers.
  // [units of the last hidden layer, in whole blocks] Weights of the output.
  const float* last_weight;
  u32 general, per_slot;      // Features of a decision, and of each slot.
  Units activation;           // Of hidden units.
  float* scratch[2];          // [slots, widest layer in whole blocks]
  u32* lists[2];              // [the same width, or features if there are more]
  void (*worked)(u64 steps);  // Called before each layer. May throw.
};

struct PerceptronLoops {
  const char* name;
  // Computes a block of units for some rows: activation(bias + in * weight).
  void (*block)(const float* in, u32 in_stride, u32 rows, u32 inputs, const float* weight, u32 width, const float* bias,
                float* out, u32 out_stride, Units activation);
  // Scores the first `count` slots of an observation row.
  void (*score_slots)(const SlotNetwork& network, const float* row, u32 count, float* scores);
};

// The last two exist only if FLITGYM_X86_64 is defined.
extern const PerceptronLoops perceptron_loops_4, perceptron_loops_8, perceptron_loops_16;

}  // namespace flitgym::learning
