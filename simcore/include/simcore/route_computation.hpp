// Route computation, the seam between the two halves of a cycle: all requests of a cycle form a batch, and a choice
// completes each of them. A routing in the core or an agent outside (Decider) makes the choices.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

void ask_outside(const Network&, State&, Batch&);   // lists the candidates of each request for an agent outside
u32 decisions_asked(const Network&, const Batch&);  // number of choices that the agent must make

// Throws ConfigError if the number of choices is wrong or a choice is not a candidate of its request.
void check_choices(const Network&, const Batch&, const u32* choices, std::size_t count);
// Throws ConfigError unless each of these input VCs has a packet that needs a route, in the order of the partitions.
void check_asking(const Network&, const State&, const std::vector<u32>& asking);

// Sets the feedback of each request; see Simulation::answer(). Throws ConfigError.
void set_answers(const Network&, State&, const Batch&, const float* values, const u32* rows, std::size_t count);

// Completes the batch with the choices of the routing or with `choices`, which have been checked. `log_probability` has
// a value per choice of a seam's decisions; null: not known.
void decide(const Network&, State&, Batch&, const u32* choices = nullptr, const float* log_probability = nullptr);

// With links that fail repeatedly: replaces the choices of packets that have done the hops of the longest path.
void keep_to_lasting_links(const Network&, const State&, Batch&);

// Marks the packets of the batch whose choice is not minimal.
void mark_nonminimal(const Network&, State&, const Batch&);

}  // namespace flitgym
