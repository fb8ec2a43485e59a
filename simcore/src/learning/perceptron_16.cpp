// The policy network's loops with AVX-512 (16 floats). CMakeLists.txt sets the flags.
#if defined(FLITGYM_X86_64)
#define FLITGYM_LANES 16
#include "learning/perceptron_loops.hpp"

namespace flitgym::learning {

constinit const PerceptronLoops perceptron_loops_16 = {"AVX-512", block, score_slots};

}  // namespace flitgym::learning
#endif
