// Workload: the jobs that share the network, their placement, and the cost of messages at the hosts. Built and checked
// once, then constant. Everything that changes during a run is in State.
#pragma once

#include "simcore/network.hpp"
#include "simcore/program.hpp"

namespace flitgym {

struct Job {
  std::string name, motif;
  std::shared_ptr<const Program> program;
  u32 ranks, first_rank;  // its ranks are first_rank .. first_rank + ranks - 1 of the workload
  u64 start_ps;           // with a scheduler: the submission
  u64 estimate_ps;        // run time that the scheduler expects
};

enum class HostKind : u8 { kLogGops, kMpi };

inline constexpr u32 kMostAccountedJobs = 16;  // limit for the account of delays between jobs (`blame`)

// Times in picoseconds. src/core/hosts/host.hpp describes the rules.
struct HostModel {
  HostKind kind;
  // true: messages use the simulated network; false: each message takes `latency`, independent of other messages
  bool network;
  u64 eager_bytes;  // larger messages wait for their receiver (rendezvous)
  // LogGOPS (Hoefler, Schneider, Lumsdaine, HPDC 2010)
  u64 latency, overhead, gap, gap_per_byte, overhead_per_byte;
  // MPI library and NIC
  u64 call, finish, send_setup, receive_setup, match, send_copy_per_byte, receive_copy_per_byte, registration,
      registration_page, page_bytes;
  u64 nic_send, nic_receive, nic_fetch;
};

// Results of placement=mapped.
struct MappingFacts {
  std::string mapper;
  double start_dilation = 0;  // hops between routers, averaged over bytes, before the refinement
  double dilation = 0;        // the same after the refinement
  // largest number of bytes on a channel between routers, on minimal paths (src/libraries/mapping/quality.hpp)
  double worst_congestion = 0;
  double mean_congestion = 0;
  // CPU times: the communication matrix and the distances; the mapper; the refinement
  double prepare_cpu_seconds = 0, mapper_cpu_seconds = 0, refine_cpu_seconds = 0;
};

// Memory of `workload.message_matrix` for every pair of ranks of each job: [jobs, ranks, ranks]
// (src/core/hosts/message_matrix.cpp).
struct MessageMatrix {
  u32 ranks = 0;  // ranks of the largest job; 0: not kept
  Kept<double> bytes, time, busy, since;
  Kept<u32> messages, open;
};

// Nodes with several accelerators. Each accelerator runs a rank, and each NIC is a terminal of the network.
struct Nodes {
  u32 ranks = 1, nics = 1;       // per node
  u32 count = 0;                 // nodes of the network
  std::vector<u32> terminals;    // [count, nics]
  std::vector<u32> of_terminal;  // [terminals] node, kNone: the terminal belongs to no complete node
  u64 link_latency = 0;          // intra-node link, ps
  double link_gb_per_s = 0;      // in each direction of each rank's port

  u32 ranks_per_nic() const { return ranks / nics; }
  u32 first_terminal(u32 node) const { return terminals[std::size_t{node} * nics]; }
  // Terminal of rank k of a node. Consecutive ranks share a NIC, as by the default NIC pinning of Intel MPI, and as the
  // two dies of a GPU of Frontier do.
  u32 terminal(u32 node, u32 k) const { return terminals[std::size_t{node} * nics + k / ranks_per_nic()]; }
};

// A scheduler that places jobs during the run (src/core/hosts/scheduler.cpp).
struct Scheduler {
  u64 launch_ps = 0;  // time from a decision to the start of the ranks; 0: there is no scheduler
  bool backfills = false;
  std::string placement;
  u64 placement_seed = 0;
  Kept<u32> terminal;  // [ranks] kNone: not yet placed
  Kept<u32> rank;      // [terminals] the lowest rank of a running job with this NIC; kNone: the terminal is free
  Kept<double> start;  // [jobs] ps, or one of the following
  static constexpr double kFuture = -3, kSubmitted = -2, kWaiting = -1;
  Kept<double> load;  // [router_ports] of the running jobs; with placement=least_interfering
};

// Times for which the system takes the processor of a rank. Each rank has them from a random time on, and repeatedly.
struct Detours {
  std::vector<u64> start;      // [detours] ps
  std::vector<u64> before{0};  // [detours + 1] ps, length of the earlier detours
  u64 period = 0, seed = 0;
  // Delay of the end of the `work` that a rank begins at `from`, in ps.
  u64 delay(u32 rank, u64 from, u64 work) const;
};

struct Workload {
  std::vector<Job> jobs;
  std::vector<u32> rank_terminal;  // [ranks]
  std::vector<u32> rank_job;       // [ranks]
  std::vector<u32> terminal_rank;  // [terminals] the lowest rank with this NIC; kNone: no rank
  std::vector<u32> rank_node;      // [ranks]
  Nodes nodes;
  Scheduler scheduler;  // it gives ranks their terminals; the lists of terminals and nodes above have kNone
  u64 skew_ps = 0;      // ranks start up to this time late
  Detours detours;
  HostModel host;
  u64 cycle_ps;
  u32 packet_bytes, flit_bytes;
  // by Transfer: bytes of the header, which precedes the data; requests, fetches and acknowledgements have no data;
  // flows have no header
  u32 header_bytes[6];
  bool interleave;  // the NIC takes packets from its messages in turn; false: it completes a message before it starts
                    // the next
  bool flows = false;  // some ranks send flows
  bool blame;          // account for delays between jobs on every channel
  MessageMatrix matrix;
  u32 cpus = 1, nics = 1;  // per rank
  u64 memory_bytes = 0;    // memory for the operations of all ranks: each rank's largest block, summed
  std::shared_ptr<const MappingFacts> mapping;  // null unless the placement is mapped

  u32 ranks() const { return static_cast<u32>(rank_terminal.size()); }
  bool scheduled() const { return scheduler.launch_ps > 0; }
  u32 job_count() const { return static_cast<u32>(jobs.size()); }
  bool has_links() const { return nodes.ranks > 1; }  // nodes have intra-node links
  bool shares_nics() const { return nodes.ranks > nodes.nics; }
};

// Placement of ranks by their communication (placement=mapped), which a library adds.
struct RankMapping {
  std::vector<ParamSpec> (*params)();  // in the section `workload`
  // Assigns a terminal to every rank without one (kNone in `rank_terminal`, [ranks], job after job).
  std::shared_ptr<const MappingFacts> (*map)(const Params&, const Network&, const Nodes&, const std::vector<Job>&,
                                             std::vector<u32>& rank_terminal);
  // Bytes that a job sends over each port on minimal paths, from the terminals of its ranks.
  std::vector<double> (*load)(const Network&, const Nodes&, const Program&, const std::vector<u32>& rank_terminal);
};
const RankMapping*& rank_mapping();  // null: there is none

// Builds and checks all parts of a workload. Throws ConfigError, which names key, value and valid choices.
std::shared_ptr<const Workload> build_workload(const WorkloadSection& section, Network& net, double flit_bytes);
// Groups the terminals into nodes. Throws ConfigError if the parameters do not fit each other or the network.
Nodes make_nodes(const Params& params, const Network& net);
std::vector<ParamSpec> node_params();  // in the section `workload`

// Builds the program of a registered motif. `where` is for messages. `validated` receives all parameters.
std::shared_ptr<const Program> motif_program(const Section& section, const std::string& where, u64 run_seed,
                                             Values* validated = nullptr);
// The largest number of ranks, at most `available`, that a motif supports.
u32 motif_ranks(const std::string& name, u32 available);

// The nodes in the order in which jobs take them. With one rank per node, a node is a terminal.
// `job_nodes`: number of nodes that each job takes. `used`: nodes that are left out; empty: none.
std::vector<u32> placement_order(const Network& network, const Nodes& nodes, const std::string& policy, u64 seed,
                                 const std::vector<u32>& job_nodes, const std::vector<char>& used = {});
const std::vector<std::string>& placement_policies();

const std::vector<ParamSpec>& workload_params();      // parameters of the workload
const std::vector<ParamSpec>& common_motif_params();  // parameters of every job

}  // namespace flitgym
