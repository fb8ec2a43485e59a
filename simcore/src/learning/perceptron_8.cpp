// The policy network with the 8 numbers of a vector of AVX2. Compiled for such processors (CMakeLists.txt).
#if defined(__x86_64__)
#include "simcore/types.hpp"

namespace flitgym::learning {
namespace {
constexpr u32 kLanes = 8;
}
}  // namespace flitgym::learning

#include "learning/perceptron_loops.inc"

namespace flitgym::learning {

const PerceptronLoops perceptron_loops_8 = {"AVX2", [] { return __builtin_cpu_supports("avx2") != 0; }, block,
                                            score_slots};

}  // namespace flitgym::learning
#endif
