// The inner loops of the policy network. Three files compile them for vectors of 4, 8 and 16 floats, and perceptron.cpp
// selects one at run time. Each output is summed over the inputs in order and without fused operations, so all of them
// give the same bits.
#pragma once

#include "simcore/types.hpp"

namespace flitgym::learning {

// Units are computed in blocks of this size. The layout of the weights does not depend on the vector width.
inline constexpr u32 kUnitBlock = 16;
inline constexpr u32 kMostUnits = 4096;  // maximum size of a hidden layer

enum class Units : u32 { kLinear, kRectified, kTanh };

// A network that scores the slots of a decision. The slots share the general features.
struct SlotNetwork {
  const float* weights;
  // [hidden + 1] A layer begins at its offset. It has a row of weights for each input, then a row of biases.
  const std::size_t* offsets;
  // [hidden + 2] The inputs, the units of each hidden layer, and the one output. A row of weights has whole blocks.
  const u32* sizes;
  u32 hidden;  // Number of hidden layers.
  // [units of the last hidden layer, in whole blocks] The weights of the output.
  const float* last_weight;
  u32 general, per_slot;  // Features of a decision, and of each slot.
  Units activation;       // The hidden units have this activation.
  // [slots, width] The width is that of the widest layer in whole blocks.
  float* scratch[2];
  // [width, or inputs if there are more] The numbers of the inputs that are not 0 in some slot.
  u32* lists[2];
  void (*worked)(u64 steps);  // The loops call it before each layer. It may throw.
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
// The loops that this processor can run, those with the longest vectors first.
const std::vector<const PerceptronLoops*>& perceptron_loops();

}  // namespace flitgym::learning
