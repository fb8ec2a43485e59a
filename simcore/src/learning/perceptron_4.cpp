// The policy network with vectors of 4 numbers, which every processor of 64 bits has.
#include "simcore/types.hpp"

namespace flitgym::learning {
namespace {
constexpr u32 kLanes = 4;
}
}  // namespace flitgym::learning

#include "learning/perceptron_loops.inc"

namespace flitgym::learning {

const PerceptronLoops perceptron_loops_4 = {"4 numbers", [] { return true; }, block, score_slots};

}  // namespace flitgym::learning
