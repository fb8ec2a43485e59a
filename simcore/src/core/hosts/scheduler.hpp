// The scheduler: submitted jobs wait in a queue for nodes, and the nodes of a finished job are free again.
//
// It acts at every submission and every end of a job, in the order of time. At equal times, ends come first. The ranks
// of a job start `launch_ps` after the decision. No partition window is longer than this time. So decisions can wait
// for the end of the window, and their results do not depend on its length.
//
// First come: jobs start in the order of their submission. Backfilling: a job may overtake if it does not delay the
// first job of the queue by the estimates (EASY: Lifka, JSSPP 1995; Mu'alem and Feitelson, TPDS 12(6), 2001). The first
// job has a reservation: the time at which the running jobs will have left enough nodes. An overtaking job ends before
// this time, or takes nodes that the first job leaves.
#pragma once

#include "simcore/workload.hpp"

namespace flitgym::workload {

// Declares the memories of the scheduler. Throws ConfigError if it cannot schedule the jobs.
Scheduler declare_scheduler(const Params& params, Network& net, const Workload& w);

void schedule(const Network& net, State& s);  // call after host events, at the end of a partition window

}  // namespace flitgym::workload
