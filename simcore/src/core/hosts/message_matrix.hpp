// Bytes and times of messages between each pair of ranks of a job, recorded with `workload.message_matrix`.
#pragma once

#include "simcore/state.hpp"
#include "simcore/workload.hpp"

namespace flitgym::workload {

// Declares the memories `message_*`. Throws ConfigError if a job has too many ranks for a table of all pairs.
MessageMatrix declare_message_matrix(Network& net, const std::vector<Job>& jobs);

// Called when a rank calls its send, and when the last byte has arrived, at `when` in ps. Messages of zero bytes, as in
// barriers, do not count.
void message_begun(const Workload& w, State& s, const Message& m);
void message_complete(const Workload& w, State& s, const Message& m, u64 when);

}  // namespace flitgym::workload
