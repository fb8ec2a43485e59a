// Who decides, and how: the batch of a cycle's requests is shown to whoever is outside, and the choices are written
// into it.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

void ask_outside(const Network&, State&, Batch&);   // between the halves of a cycle: lists what may be chosen
u32 decisions_asked(const Network&, const Batch&);  // how many choices are then to be made

// Throws ConfigError where there are more or fewer choices than decisions, or one of them is outside what was offered.
void check_choices(const Network&, const Batch&, const u32* choices, std::size_t count);
// Throws ConfigError unless each of these input VCs has a packet that needs a route, in the order of the partitions.
void check_asking(const Network&, const State&, const std::vector<u32>& asking);

// Sets the feedback of each request; see Simulation::answer(). Throws ConfigError.
void set_answers(const Network&, State&, const Batch&, const float* values, const u32* rows, std::size_t count);

// Writes the choices into the batch: the routing's own, or those of whoever was asked, which have been checked.
// `log_probability`, one per choice of a seam's decisions: null, not known.
void decide(const Network&, State&, Batch&, const u32* choices = nullptr, const float* log_probability = nullptr);

// Marks the packets of the batch that leave the minimal paths by what was decided: once, here, for every routing.
void mark_nonminimal(const Network&, State&, const Batch&);

}  // namespace flitgym
