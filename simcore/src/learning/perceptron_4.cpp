// The policy network's loops with vectors of 4 floats. The compiler emulates them on a processor without such vectors.
#define FLITGYM_LANES 4
#include "learning/perceptron_loops.hpp"

namespace flitgym::learning {

constinit const PerceptronLoops perceptron_loops_4 = {"vectors of 4 floats", block, score_slots};

}  // namespace flitgym::learning
