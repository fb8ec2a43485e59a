// Who sent how much to whom, and how long it was under way: the account of `workload.message_matrix`, by pairs of ranks
// of a job.
#pragma once

#include "simcore/state.hpp"
#include "simcore/workload.hpp"

namespace flitgym::workload {

// Declares the memories `message_*`; throws ConfigError where a job has too many ranks for a table of all pairs.
MessageMatrix declare_message_matrix(Network& net, const std::vector<Job>& jobs);

// A rank has called its send; the last byte of a message is there, at `when` in ps. A message without a byte, as
// barriers send, does not count.
void message_begun(const Workload& w, State& s, const Message& m);
void message_complete(const Workload& w, State& s, const Message& m, u64 when);

}  // namespace flitgym::workload
