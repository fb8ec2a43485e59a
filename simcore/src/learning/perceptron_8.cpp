// The policy network's loops with AVX2 (8 floats). CMakeLists.txt sets the flags.
#if defined(FLITGYM_X86_64)
#define FLITGYM_LANES 8
#include "learning/perceptron_loops.hpp"

namespace flitgym::learning {

constinit const PerceptronLoops perceptron_loops_8 = {"AVX2", block, score_slots};

}  // namespace flitgym::learning
#endif
