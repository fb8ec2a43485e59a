// Feedback for an agent outside the core: it is told what a learning routing would be told, and answers in the same way.
#pragma once

#include "simcore/params.hpp"
#include "simcore/state.hpp"

namespace flitgym {

inline ParamSpec feedback_param() {
  return flag("feedback", false, "packets carry the agent's estimates back over each link: apply(choices, values, rows) sends them, feedback() lists what has come");
}

inline void hear(const Network&, State& s, u32 port, u32 row, float target) { s.heard.push_back({port, row, target}); }

}  // namespace flitgym
