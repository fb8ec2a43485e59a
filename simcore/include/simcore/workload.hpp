// Workload: the jobs that share the network, who runs where, and what a message costs its hosts. Built and checked
// once, then const. What changes while it runs stands in State.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simcore/memory.hpp"
#include "simcore/network.hpp"
#include "simcore/program.hpp"

namespace flitgym {

struct Job {
  std::string name, motif;
  std::shared_ptr<const Program> program;
  u32 ranks, first_rank;  // its ranks are numbers first_rank .. first_rank + ranks - 1 of the workload
  u64 start_ps;
};

enum class HostKind : u8 { kLogGops, kMpi };

inline constexpr u32 kMostAccountedJobs = 16;  // with who delays whom (`blame`)

// Times in picoseconds. The rules stand in src/workload/host.hpp.
struct HostModel {
  HostKind kind;
  // messages go through the simulated network; else each takes `latency`, whatever else is on the way
  bool network;
  u64 eager_bytes;  // larger messages wait for their receiver (rendezvous)
  // LogGOPS (Hoefler, Schneider, Lumsdaine, HPDC 2010)
  u64 latency, overhead, gap, gap_per_byte, overhead_per_byte;
  // MPI library and NIC
  u64 call, finish, send_setup, receive_setup, match, send_copy_per_byte, receive_copy_per_byte, registration,
      registration_page, page_bytes;
  u64 nic_send, nic_receive, nic_fetch;
};

// What placement=mapped came to (src/mapping).
struct MappingFacts {
  std::string mapper;
  double start_dilation = 0;  // hops between routers, the mean over bytes, before it was refined
  double dilation = 0;        // and after
  // bytes over the busiest channel between routers, on minimal paths (src/mapping/quality.hpp)
  double worst_congestion = 0;
  double mean_congestion = 0;
  // who talks to whom and what is how far; the rest
  double prepare_cpu_seconds = 0, mapper_cpu_seconds = 0, refine_cpu_seconds = 0;
};

// What `workload.message_matrix` keeps for every pair of ranks of each job: [jobs, ranks, ranks], see
// src/workload/message_matrix.cpp.
struct MessageMatrix {
  u32 ranks = 0;  // of the largest job; 0: not kept
  Kept<double> bytes, time, busy, since;
  Kept<u32> messages, open;
};

struct Workload {
  std::vector<Job> jobs;
  std::vector<u32> rank_terminal;  // [ranks]
  std::vector<u32> rank_job;       // [ranks]
  std::vector<u32> terminal_rank;  // [terminals] kNone without a rank
  HostModel host;
  u64 cycle_ps;
  u32 packet_bytes, flit_bytes;
  // by Transfer, in its first packet; requests, fetches and acknowledgements are nothing else
  u32 header_bytes[5];
  bool interleave;  // the NIC takes packets from its messages in turn; else one message after the other
  bool blame;       // account for who delays whom on every channel
  MessageMatrix matrix;
  u32 cpus = 1, nics = 1;                       // per rank
  u64 memory_bytes = 0;                         // of the largest block of each rank, all at once
  std::shared_ptr<const MappingFacts> mapping;  // null: the placement is not mapped

  u32 ranks() const { return static_cast<u32>(rank_terminal.size()); }
  u32 job_count() const { return static_cast<u32>(jobs.size()); }
};

// The program of a registered motif; `where` is for messages.
std::shared_ptr<const Program> motif_program(const Section& section, const std::string& where,
                                             Values* validated = nullptr);
// The largest number of ranks, at most `available`, that a motif can be given.
u32 motif_ranks(const std::string& name, u32 available);

// The terminals in the order in which jobs take them; not for `mapped`, which is src/workload/mapped.hpp.
std::vector<u32> placement_order(const Network& network, const std::string& policy, u64 seed,
                                 const std::vector<u32>& job_ranks);
const std::vector<std::string>& placement_policies();

const std::vector<ParamSpec>& workload_params();      // of the whole workload
const std::vector<ParamSpec>& common_motif_params();  // of every job

}  // namespace flitgym
