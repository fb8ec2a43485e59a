// Builds a checked Workload from the `workload` section.
#include <set>

#include "core/hosts/engine.hpp"
#include "simcore/kind.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/traffic_classes.hpp"
#include "workload/noise.hpp"
#include "workload/place.hpp"

namespace flitgym {

// Converts to whole picoseconds. A time that rounding changes by more than 1 % is refused.
static u64 ps(const Params& params, const std::string& key) {
  const double exact = params.real(key) * 1000, rounded = std::round(exact);
  if (std::abs(rounded - exact) > 0.01 * exact)
    throw ConfigError("workload.", key, ": ", params.real(key), " ns would be rounded to ", rounded / 1000,
                      " ns, more than 1 % off, because hosts count in whole picoseconds");
  return static_cast<u64>(rounded);
}

static HostModel host_of(const Params& params) {
  HostModel h{};
  h.kind = params.text("host") == "mpi" ? HostKind::kMpi : HostKind::kLogGops;
  h.network = params.text("network") == "simulated";
  if (!h.network && h.kind == HostKind::kMpi)
    throw ConfigError(
        "workload.network: none needs workload.host=loggops, whose parameters give the latency of messages; "
        "workload.host is mpi");
  if (h.kind == HostKind::kLogGops) {
    h.eager_bytes = static_cast<u64>(params.integer("loggops_S_bytes"));
    h.latency = ps(params, "loggops_L_ns");
    h.overhead = ps(params, "loggops_o_ns");
    h.gap = ps(params, "loggops_g_ns");
    h.gap_per_byte = ps(params, "loggops_G_ns_per_byte");
    h.overhead_per_byte = ps(params, "loggops_O_ns_per_byte");
    return h;
  }
  h.eager_bytes = static_cast<u64>(params.integer("mpi_eager_bytes"));
  h.call = ps(params, "mpi_enter_ns");
  h.finish = ps(params, "mpi_return_ns");
  h.send_setup = ps(params, "mpi_send_setup_ns");
  h.receive_setup = ps(params, "mpi_receive_setup_ns");
  h.match = ps(params, "mpi_match_ns");
  h.send_copy_per_byte = ps(params, "mpi_send_copy_ns_per_byte");
  h.receive_copy_per_byte = ps(params, "mpi_receive_copy_ns_per_byte");
  h.registration = ps(params, "mpi_registration_ns");
  h.registration_page = ps(params, "mpi_registration_ns_per_page");
  h.page_bytes = static_cast<u64>(params.integer("mpi_page_bytes"));
  h.nic_send = ps(params, "nic_send_ns");
  h.nic_receive = ps(params, "nic_receive_ns");
  h.nic_fetch = ps(params, "nic_fetch_ns");
  return h;
}

// A program with scaled message sizes.
struct Resized : Program {
  std::shared_ptr<const Program> inner;
  double factor;
  Resized(std::shared_ptr<const Program> program, double by) : inner(std::move(program)), factor(by) {
    ranks = inner->ranks;
  }
  u64 blocks(u32 rank) const override { return inner->blocks(rank); }
  u64 repeats(u32 rank, u64 index) const override { return inner->repeats(rank, index); }
  std::string where(u32 rank, u64 block_index, u32 op) const override { return inner->where(rank, block_index, op); }
  void block(u32 rank, u64 index, Block& out) const override {
    inner->block(rank, index, out);
    for (Op& op : out.ops)
      if (op.kind != OpKind::kCalc && op.size > 0)
        op.size =
            std::max<u64>(1, static_cast<u64>(std::llround(std::min(9e18, static_cast<double>(op.size) * factor))));
  }
};

// Upper limit of one operation, 12 days. Times of host events stay within 64 bits, and messages are limited, too.
constexpr u64 kLongestNs = 1000000000000000;  // maximum of start_ns

// Finds the numbers of processors and NICs that a program uses, and checks the sizes of its operations.
static void examine(const Program& program, const std::string& where, Workload& w) {
  const u64 most = std::min<u64>(kLongestNs, u64{0xffff0000} * w.packet_bytes);
  Block block;
  for (u32 r = 0; r < program.ranks; r++) {
    u64 largest = 0, number = 0;
    w.flows |= program.flow_time(r, number, 0) != kNoFlow;
    workload::each_block(program, r, block, [&](u64 k, u64) {
      largest = std::max(largest, std::bit_ceil(block.ops.size()) * sizeof(ActiveOp) +
                                      std::bit_ceil(block.dependencies.size()) * sizeof(u32));
      for (const Op& op : block.ops) {
        const bool calc = op.kind == OpKind::kCalc;
        if (op.size > (calc ? kLongestNs : most)) {
          const std::string at = program.where(r, k, static_cast<u32>(&op - block.ops.data()));
          throw ConfigError(at.empty() ? where : at, ": ", op.size, calc ? " ns of computation" : " bytes",
                            " exceed the maximum of ", calc ? kLongestNs : most,
                            calc ? " ns" : " bytes for this packet size");
        }
        w.cpus = std::max(w.cpus, u32{op.cpu} + 1);
        w.nics = std::max(w.nics, u32{op.nic} + 1);
      }
    });
    w.memory_bytes += largest;
  }
}

static std::vector<ParamSpec> all_workload_params() {
  const double many = std::numeric_limits<u32>::max();
  std::vector<std::string> placements = placement_policies();
  if (rank_mapping()) placements.push_back("least_interfering");
  std::vector<ParamSpec> all = {
      choice(
          "placement", "random", placements,
          "order in which jobs take nodes (terminals with one rank per node): linear = as numbered; random; "
          "random_router, random_group = whole routers or groups at random; clustered, clustered_router = each job in "
          "separate groups or routers; fragmented = as numbered with gaps; mapped = by the communication between "
          "ranks, see mapping; least_interfering = with a scheduler: linear, clustered, clustered_router or random, "
          "whichever shares the least load on minimal paths with the running jobs"),
      seed_of("the placement", "placement_seed"),
      choice(
          "scheduler", "none", {"none", "first_come", "backfilling"},
          "none = all jobs have nodes of their own; first_come = a job waits for free nodes from its start_ns on, in "
          "this order; backfilling = EASY: a job may overtake if it does not delay the first one in the queue"),
      real("launch_ns", 1000, 1e-3, 1e12, "ns", "with a scheduler: time from its decision to the start of the ranks"),
      choice(
          "network", "simulated", {"simulated", "none"},
          "simulated = messages go through the network; none = messages take the LogGOPS latency, without congestion"),
      choice("host", "mpi", {"mpi", "loggops"},
             "cost model of sending and receiving: mpi = an MPI library and its NIC, or loggops"),
      integer("packet_bytes", 512, 1, 1 << 20, "bytes",
              "size of a packet; a message and its header are cut into packets of this size, the last one shorter"),
      choice("nic_order", "message", {"message", "packet"},
             "order in which a NIC sends: message = one message after the other, packet = packets of all messages in "
             "turn"),
      flag("blame", true, "record on every channel which job delays which"),
      flag("message_matrix", false, "record bytes and times of messages between all pairs of ranks of a job"),
      integer("loggops_S_bytes", 65535, 0, i64{1} << 40, "bytes",
              "largest eager message; larger messages wait for their receiver (rendezvous)"),
      real("loggops_L_ns", 2500, 0, 1e9, "ns", "LogGOPS L: latency (only without a simulated network)"),
      real("loggops_o_ns", 1500, 0, 1e9, "ns", "LogGOPS o: processor overhead of a message, at each end"),
      real("loggops_g_ns", 1000, 0, 1e9, "ns", "LogGOPS g: gap between messages at a NIC"),
      real("loggops_G_ns_per_byte", 6, 0, 1e6, "ns/byte", "LogGOPS G: gap per byte (only without a simulated network)"),
      real("loggops_O_ns_per_byte", 0, 0, 1e6, "ns/byte", "LogGOPS O: processor overhead per byte"),
      integer("mpi_eager_bytes", 12000, 0, i64{1} << 40, "bytes",
              "largest eager message; larger messages wait for their receiver (rendezvous)"),
      real("mpi_enter_ns", 30, 0, 1e9, "ns", "time to enter a call"),
      real("mpi_return_ns", 30, 0, 1e9, "ns", "time to return from a call"),
      real("mpi_send_setup_ns", 24, 0, 1e9, "ns", "setup of a send (13) and its match header (32 bytes, 11)"),
      real("mpi_receive_setup_ns", 10, 0, 1e9, "ns", "setup for a message that has arrived"),
      real("mpi_match_ns", 15, 0, 1e9, "ns", "matching time per queue entry searched"),
      real("mpi_send_copy_ns_per_byte", 0.344, 0, 1e6, "ns/byte", "copy of an eager message by the sender"),
      real("mpi_receive_copy_ns_per_byte", 0, 0, 1e6, "ns/byte",
           "copy of an eager message by the receiver (0 in the study's platform file)"),
      real("mpi_registration_ns", 300, 0, 1e9, "ns",
           "registration of the memory of a rendezvous message: once at the sender, twice at the receiver"),
      real("mpi_registration_ns_per_page", 10, 0, 1e9, "ns", "registration per page"),
      integer("mpi_page_bytes", 4096, 1, 1 << 30, "bytes", "size of a memory page"),
      real("nic_send_ns", 10, 0, 1e9, "ns", "transfer from host to NIC (5) and transmit engine (5)"),
      real("nic_receive_ns", 15, 0, 1e9, "ns", "matching at the NIC (10) and transfer from NIC to host (5)"),
      real("nic_fetch_ns", 205, 0, 1e9, "ns",
           "answer of a NIC to a fetch: reading from the host (200) and sending (5)"),
      integer("header_bytes_eager", 45, 0, many, "bytes",
              "header of an eager message, and of the request of a rendezvous message"),
      integer("header_bytes_rendezvous", 13, 0, many, "bytes",
              "header of the fetch and of the data of a rendezvous message"),
      integer("header_bytes_acknowledge", 15, 0, many, "bytes",
              "header of the acknowledgement of a rendezvous message"),
  };
  // Listed next to the other placement parameters.
  const std::vector<ParamSpec> of_mapping = rank_mapping() ? rank_mapping()->params() : std::vector<ParamSpec>{};
  for (const std::vector<ParamSpec>& some : {workload::noise_params(), node_params(), of_mapping})
    all.insert(all.begin() + 4, some.begin(), some.end());
  return all;
}

std::shared_ptr<const Program> motif_program(const Section& section, const std::string& where, u64 run_seed,
                                             Values* validated) {
  const MotifSpec& spec = named<MotifSpec>(where + ".motif", section.name);
  const Params params(where + "." + spec.name, joined(common_motif_params(), spec.params), section.values, run_seed);
  if (validated) *validated = params.values();
  auto program = spec.build(params, params.count("ranks"), params.real("scale"));
  const double size = params.real("size_scale");
  if (size == 1) return program;
  return std::make_shared<Resized>(std::move(program), size);
}

u32 motif_ranks(const std::string& name, u32 available) {
  const auto found = registry<MotifSpec>().find(name);
  const bool cubic = found != registry<MotifSpec>().end() && found->second.cubic;
  for (u32 ranks = available; ranks > 1; ranks--) {
    worked(1000);
    if (const long side = std::lround(std::cbrt(ranks)); cubic && side * side * side != ranks) continue;
    try {
      return motif_program({name, {{"ranks", i64{ranks}}}}, "workload", 0)->ranks;
    } catch (const ConfigError&) {
      if (found == registry<MotifSpec>().end()) throw;
    }
  }
  return std::min(available, 1u);
}

std::shared_ptr<const Workload> build_workload(const WorkloadSection& section, Network& net, double flit_bytes) {
  const Params params("workload", workload_params(), section.values, net.seed);
  net.config.workload.values = params.values();
  auto w = std::make_shared<Workload>();
  w->host = host_of(params);
  w->cycle_ps = static_cast<u64>(std::llround(net.cycle_ns * 1000));
  if (std::abs(static_cast<double>(w->cycle_ps) - net.cycle_ns * 1000) > 1e-6)
    throw ConfigError("router.cycle_ns: ", net.cycle_ns,
                      " ns is not a whole number of picoseconds, as a workload needs");
  w->packet_bytes = params.count("packet_bytes");
  w->flit_bytes = static_cast<u32>(flit_bytes);
  if (w->flit_bytes != flit_bytes)
    throw ConfigError("router.flit_bytes: ", flit_bytes, " is not a whole number, as a workload needs");
  const bool mpi = w->host.kind == HostKind::kMpi;
  const u32 eager = params.count("header_bytes_eager"), rendezvous = params.count("header_bytes_rendezvous");
  const u32 headers[6] = {eager, eager, rendezvous, rendezvous, params.count("header_bytes_acknowledge"), 0};
  for (u32 k = 0; k < 6; k++) w->header_bytes[k] = mpi ? headers[k] : 0;
  w->interleave = params.text("nic_order") == "packet";
  w->blame = params.boolean("blame");

  std::set<std::string> names;
  u32 ranks = 0;
  u64 wanted = 0;
  for (const JobSection& job : section.jobs) {
    const std::string where = "workload.jobs." + job.name;
    if (!job.program && job.motif.name.empty())
      throw ConfigError("workload.jobs: a job", job.name.empty() ? "" : " named '" + job.name + "'",
                        " has no motif, goal_file or program; set one of them");
    if (job.name.empty() ||
        job.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            std::string::npos)
      throw ConfigError("workload.jobs: '", job.name, "' is not a valid job name; use letters, digits, _ and -");
    if (!names.insert(job.name).second)
      throw ConfigError("workload.jobs: two jobs are named '", job.name, "'; names must be unique");
    JobSection validated{job.name, {job.program ? "program" : job.motif.name, {}}, nullptr, job.terminals};
    const auto program = job.program ? job.program : motif_program(job.motif, where, net.seed, &validated.motif.values);
    if (program->ranks == 0) throw ConfigError(where, ": the job has no ranks");
    std::vector<ParamSpec> common = common_motif_params();
    const auto is_time = [](const std::string& key) { return key == "start_ns" || key == "estimate_ns"; };
    if (job.program) {  // a program has its own ranks and sizes
      std::erase_if(common, [&](const ParamSpec& spec) { return !is_time(spec.key); });
    }
    Values own;
    for (const auto& [key, value] : job.motif.values)
      if (job.program || is_time(key)) own[key] = value;
    const Params times(where, common, own, net.seed);
    validated.motif.values["ranks"] = i64{program->ranks};
    const auto ps_of = [&](const char* key) {
      validated.motif.values[key] = times.real(key);
      return static_cast<u64>(std::llround(times.real(key) * 1000));
    };
    w->jobs.push_back({job.name, validated.motif.name, workload::with_noise(program, params, ranks), program->ranks,
                       ranks, ps_of("start_ns"), ps_of("estimate_ns")});
    net.config.workload.jobs.push_back(std::move(validated));
    ranks += program->ranks;
    wanted += program->ranks;
  }
  w->nodes = make_nodes(params, net);
  if (w->has_links() && !w->host.network)
    throw ConfigError("workload.ranks_per_node: ", w->nodes.ranks,
                      " needs workload.network=simulated; with network=none, every message takes the LogGOPS latency");
  const bool scheduled = params.text("scheduler") != "none";
  for (const Job& job : w->jobs)
    if (scheduled) workload::check_room(w->nodes, {job}, false, net.terminals);
  if (!scheduled) workload::check_room(w->nodes, w->jobs, params.boolean("share_nodes"), net.terminals);
  for (const Job& job : w->jobs) examine(*job.program, "workload.jobs." + job.name, *w);
  if (w->job_count() > 255) throw ConfigError("workload.jobs: ", w->job_count(), " jobs; valid are at most 255");
  if (const u32 accounts = w->job_count() * class_count(net); w->blame && accounts > kMostAccountedJobs)
    throw ConfigError("workload.blame: ", accounts, net.classes ? " jobs x classes" : " jobs",
                      "; blame supports at most ", kMostAccountedJobs, " jobs; use workload.blame=false");
  if (scheduled)  // not all ranks run at the same time
    w->memory_bytes = w->memory_bytes / wanted * std::min(wanted, u64{w->nodes.count} * w->nodes.ranks);
  claim_memory(w->memory_bytes, "workload.jobs", "the operations of ", wanted, " ranks");
  if (params.boolean("message_matrix")) w->matrix = workload::declare_message_matrix(net, w->jobs);
  w->skew_ps = static_cast<u64>(std::llround(params.real("noise_skew_ns") * 1000));
  w->detours = workload::detours_of(params);
  workload::place(section, params, net, *w);
  if (scheduled) w->scheduler = workload::declare_scheduler(params, net, *w);
  return w;
}

const std::vector<ParamSpec>& common_motif_params() {
  static const std::vector<ParamSpec> specs = {
      integer("ranks", 0, 0, 1 << 24, "", "number of ranks of the job; 0 = the motif's default"),
      real("scale", 1.0, 1e-6, 1e6, "", "factor on the number of iterations (at least one remains)"),
      real("size_scale", 1.0, 1e-9, 1e6, "", "factor on the size of every message (rounded, at least one byte)"),
      real("start_ns", 0, 0, 1e15, "ns", "time at which the ranks start; with a scheduler: submission of the job"),
      real("estimate_ns", 0, 0, 1e15, "ns", "with a scheduler: run time that the user of the job expects"),
  };
  return specs;
}

const std::vector<ParamSpec>& workload_params() {
  static const std::vector<ParamSpec> specs = all_workload_params();
  return specs;
}

}  // namespace flitgym
