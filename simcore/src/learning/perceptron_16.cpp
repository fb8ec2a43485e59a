// The policy network with the 16 numbers of a vector of AVX-512. Compiled for such processors (CMakeLists.txt).
#if defined(__x86_64__)
#include "simcore/types.hpp"

namespace flitgym::learning {
namespace {
constexpr u32 kLanes = 16;
}
}  // namespace flitgym::learning

#include "learning/perceptron_loops.inc"

namespace flitgym::learning {

const PerceptronLoops perceptron_loops_16 = {"AVX-512", [] { return __builtin_cpu_supports("avx512f") != 0; }, block,
                                             score_slots};

}  // namespace flitgym::learning
#endif
