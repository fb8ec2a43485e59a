// From the `workload` section to a checked Workload.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"
#include "simcore/plugins.hpp"
#include "simcore/registry.hpp"
#include "simcore/state.hpp"
#include "workload/build.hpp"
#include "workload/mapped.hpp"
#include "workload/message_matrix.hpp"

namespace flitgym {

namespace {

// Whole picoseconds; a time that these do not tell to 1 % is refused.
u64 ps(const Params& params, const std::string& key) {
  const double exact = params.real(key) * 1000, rounded = std::round(exact);
  if (std::abs(rounded - exact) > 0.01 * exact)
    throw ConfigError("workload." + key + ": " + to_string(Value{params.real(key)}) + " ns becomes " +
                      to_string(Value{rounded / 1000}) +
                      " ns: hosts count in whole picoseconds, and this is more than 1 % off");
  return static_cast<u64>(rounded);
}

HostModel host_of(const Params& params) {
  HostModel h{};
  h.kind = params.text("host") == "mpi" ? HostKind::kMpi : HostKind::kLogGops;
  h.network = params.text("network") == "simulated";
  if (!h.network && h.kind == HostKind::kMpi)
    throw ConfigError(
        "workload.network: none (messages take a latency and nothing else) needs workload.host=loggops, whose "
        "parameters say which; the host is mpi");
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

// Another program with messages of another size.
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

// Simulated time ends after hours at most; nothing in a program may take longer, nor may a message take more.
constexpr u64 kLongestNs = 1000000000000000;  // as start_ns

// Processors and NICs that a program names, and the sizes of what it does.
void examine(const Program& program, const std::string& where, Workload& w) {
  const u64 most = std::min<u64>(kLongestNs, u64{0xffff0000} * w.packet_bytes);
  Block block;
  for (u32 r = 0; r < program.ranks; r++) {
    u64 largest = 0;
    for (u64 k = 0, n = program.blocks(r); k < n; k += program.repeats(r, k)) {
      block.clear();
      program.block(r, k, block);
      worked(8 + block.ops.size());
      largest = std::max(largest, std::bit_ceil(block.ops.size()) * sizeof(ActiveOp) +
                                      std::bit_ceil(block.dependencies.size()) * sizeof(u32));
      for (const Op& op : block.ops) {
        const bool calc = op.kind == OpKind::kCalc;
        if (op.size > (calc ? kLongestNs : most)) {
          const std::string at = program.where(r, k, static_cast<u32>(&op - block.ops.data()));
          throw ConfigError((at.empty() ? where : at) + ": " + std::to_string(op.size) +
                            (calc ? " ns of computation" : " bytes") + " are more than the " +
                            std::to_string(calc ? kLongestNs : most) +
                            (calc ? " that can be simulated" : " that a message of such packets can have"));
        }
        w.cpus = std::max(w.cpus, u32{op.cpu} + 1);
        w.nics = std::max(w.nics, u32{op.nic} + 1);
      }
    }
    w.memory_bytes += largest;
  }
}

}  // namespace

std::shared_ptr<const Program> motif_program(const Section& section, const std::string& where, Values* validated) {
  const auto names = registered_names<MotifSpec>();
  const auto found = registry<MotifSpec>().find(section.name);
  if (found == registry<MotifSpec>().end())
    throw ConfigError(where + ".motif: unknown name '" + section.name + "'" + did_you_mean(section.name, names) +
                      "; valid names: " + join(names));
  const MotifSpec& spec = noted(found->second);
  std::vector<ParamSpec> specs = common_motif_params();
  specs.insert(specs.end(), spec.params.begin(), spec.params.end());
  const Params params(where + "." + spec.name, specs, section.values);
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
      return motif_program({name, {{"ranks", i64{ranks}}}}, "workload")->ranks;
    } catch (const ConfigError&) {
      if (found == registry<MotifSpec>().end()) throw;
    }
  }
  return std::min(available, 1u);
}

namespace {

void place(const WorkloadSection& section, const Params& params, const Network& net, Workload& w) {
  std::vector<u32> left;  // ranks of each job whose terminals are not given
  std::vector<char> used(net.terminals, 0);
  for (u32 j = 0; j < w.job_count(); j++) {
    const std::string where = "workload.jobs." + w.jobs[j].name + ".terminals";
    const auto& given = section.jobs[j].terminals;
    left.push_back(given.empty() ? w.jobs[j].ranks : 0);
    w.rank_job.insert(w.rank_job.end(), w.jobs[j].ranks, j);
    if (given.empty()) {
      w.rank_terminal.insert(w.rank_terminal.end(), w.jobs[j].ranks, kNone);
      continue;
    }
    if (given.size() != w.jobs[j].ranks)
      throw ConfigError(where + ": " + std::to_string(given.size()) + " terminals for " +
                        std::to_string(w.jobs[j].ranks) + " ranks");
    for (const u32 t : given) {
      if (t >= net.terminals)
        throw ConfigError(where + ": terminal " + std::to_string(t) + " of a network of " +
                          std::to_string(net.terminals));
      if (used[t]) throw ConfigError(where + ": terminal " + std::to_string(t) + " is taken already");
      used[t] = 1;
      w.rank_terminal.push_back(t);
    }
  }
  if (params.text("placement") == "mapped") {
    w.mapping = map_ranks(params, net, w.jobs, w.rank_terminal);
  } else {
    const std::vector<u32> order =
        placement_order(net, params.text("placement"), static_cast<u64>(params.integer("placement_seed")), left);
    std::size_t at = 0;
    for (u32& terminal : w.rank_terminal) {
      worked(8);
      if (terminal != kNone) continue;
      while (used[order[at]]) at++;
      terminal = order[at++];
    }
  }
  for (u32 r = 0; r < w.ranks(); r++) w.terminal_rank[w.rank_terminal[r]] = r;
}

}  // namespace

std::shared_ptr<const Workload> build_workload(const WorkloadSection& section, Network& net, double flit_bytes) {
  const Params params("workload", workload_params(), section.values);
  net.config.workload.values = params.values();
  auto w = std::make_shared<Workload>();
  w->host = host_of(params);
  w->cycle_ps = static_cast<u64>(std::llround(net.cycle_ns * 1000));
  if (std::abs(static_cast<double>(w->cycle_ps) - net.cycle_ns * 1000) > 1e-6)
    throw ConfigError("router.cycle_ns: " + to_string(Value{net.cycle_ns}) +
                      " ns is not a whole number of picoseconds, in which the hosts of a workload count");
  w->packet_bytes = params.count("packet_bytes");
  w->flit_bytes = static_cast<u32>(flit_bytes);
  if (w->flit_bytes != flit_bytes)
    throw ConfigError("router.flit_bytes: " + to_string(Value{flit_bytes}) +
                      " is not a whole number, which a workload's packets need");
  const bool mpi = w->host.kind == HostKind::kMpi;
  const u32 eager = params.count("header_bytes_eager"), rendezvous = params.count("header_bytes_rendezvous");
  const u32 headers[5] = {eager, eager, rendezvous, rendezvous, params.count("header_bytes_acknowledge")};
  for (u32 k = 0; k < 5; k++) w->header_bytes[k] = mpi ? headers[k] : 0;
  w->interleave = params.text("nic_order") == "packet";
  w->blame = params.boolean("blame");

  std::set<std::string> names;
  u32 ranks = 0;
  u64 wanted = 0;
  for (const JobSection& job : section.jobs) {
    const std::string where = "workload.jobs." + job.name;
    if (!job.program && job.motif.name.empty())
      throw ConfigError("workload.jobs: a job" + (job.name.empty() ? std::string() : " called '" + job.name + "'") +
                        " has neither motif nor goal_file nor program");
    if (job.name.empty() ||
        job.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
            std::string::npos)
      throw ConfigError("workload.jobs: '" + job.name + "' is no name for a job; use letters, digits, _ and -");
    if (!names.insert(job.name).second)
      throw ConfigError("workload.jobs: two jobs are called '" + job.name + "'; give each a name of its own");
    JobSection validated{job.name, {job.program ? "program" : job.motif.name, {}}, nullptr, job.terminals};
    const auto program = job.program ? job.program : motif_program(job.motif, where, &validated.motif.values);
    if (program->ranks == 0) throw ConfigError(where + ": the job has no ranks");
    std::vector<ParamSpec> common = common_motif_params();
    if (job.program) {  // which has its own ranks and sizes
      std::erase_if(common, [](const ParamSpec& spec) { return spec.key != "start_ns"; });
    }
    Values own;
    for (const auto& [key, value] : job.motif.values)
      if (job.program || key == "start_ns") own[key] = value;
    const double start_ns = Params(where, common, own).real("start_ns");
    validated.motif.values["ranks"] = i64{program->ranks};
    validated.motif.values["start_ns"] = start_ns;
    w->jobs.push_back({job.name, validated.motif.name, program, program->ranks, ranks,
                       static_cast<u64>(std::llround(start_ns * 1000))});
    net.config.workload.jobs.push_back(std::move(validated));
    ranks += program->ranks;
    wanted += program->ranks;
  }
  if (wanted > net.terminals)
    throw ConfigError("workload: the jobs have " + std::to_string(wanted) + " ranks in all, the network has " +
                      std::to_string(net.terminals) + " terminals (one rank each)");
  for (const Job& job : w->jobs) examine(*job.program, "workload.jobs." + job.name, *w);
  if (w->job_count() > 255)
    throw ConfigError("workload.jobs: " + std::to_string(w->job_count()) + " jobs, the core takes at most 255");
  if (w->blame && w->job_count() > kMostAccountedJobs)
    throw ConfigError("workload.blame: the account of who delays whom on every channel is for at most " +
                      std::to_string(kMostAccountedJobs) + " jobs, there are " + std::to_string(w->job_count()) +
                      "; use workload.blame=false");
  claim_memory(w->memory_bytes, "workload.jobs", "the operations of " + std::to_string(wanted) + " ranks");
  if (params.boolean("message_matrix")) w->matrix = declare_message_matrix(net, w->jobs);
  w->terminal_rank.assign(net.terminals, kNone);
  place(section, params, net, *w);
  return w;
}

const std::vector<ParamSpec>& common_motif_params() {
  static const std::vector<ParamSpec> specs = {
      integer("ranks", 0, 0, 1 << 24, "", "size of the job; 0 = the motif's own"),
      real("scale", 1.0, 1e-6, 1e6, "", "multiplies the number of iterations (never below one)"),
      real("size_scale", 1.0, 1e-9, 1e6, "", "multiplies the bytes of every message (to whole bytes, never below one)"),
      real("start_ns", 0, 0, 1e15, "ns", "when its ranks start"),
  };
  return specs;
}

namespace {

std::vector<ParamSpec> all_workload_params() {
  const double many = std::numeric_limits<u32>::max();
  std::vector<ParamSpec> all = {
      choice("placement", "random", placement_policies(),
             "order in which jobs take terminals: as numbered, at random, whole routers or groups at random, each job "
             "in groups of its own, or as numbered with gaps; mapped: by what ranks exchange, see mapping"),
      integer("placement_seed", 1, 0, i64{1} << 62, "",
              "of what is random in a placement; apart from the run's seed, so that runs of several seeds share one"),
      choice("network", "simulated", {"simulated", "none"},
             "none: a message takes LogGOPS's latency whatever else is on the way (no congestion)"),
      choice("host", "mpi", {"mpi", "loggops"},
             "what a message costs its two ends: an MPI library and its NIC, or LogGOPS"),
      integer("packet_bytes", 512, 1, 1 << 20, "bytes",
              "a message is cut into packets of this size, its header included; the last is shorter"),
      choice("nic_order", "message", {"message", "packet"},
             "a NIC sends one message after the other, or takes packets from them in turn"),
      flag("blame", true, "account for who delays whom on every channel"),
      flag("message_matrix", false,
           "account for the bytes and times of messages from every rank to every other of its job"),
      integer("loggops_S_bytes", 65535, 0, i64{1} << 40, "bytes",
              "larger messages wait for their receiver (rendezvous)"),
      real("loggops_L_ns", 2500, 0, 1e9, "ns", "latency (without a simulated network)"),
      real("loggops_o_ns", 1500, 0, 1e9, "ns", "processor overhead of a message, at either end"),
      real("loggops_g_ns", 1000, 0, 1e9, "ns", "gap between messages at a NIC"),
      real("loggops_G_ns_per_byte", 6, 0, 1e6, "ns/byte", "gap per byte (without a simulated network)"),
      real("loggops_O_ns_per_byte", 0, 0, 1e6, "ns/byte", "processor overhead per byte"),
      integer("mpi_eager_bytes", 12000, 0, i64{1} << 40, "bytes",
              "larger messages wait for their receiver (rendezvous)"),
      real("mpi_enter_ns", 30, 0, 1e9, "ns", "entry of a call"),
      real("mpi_return_ns", 30, 0, 1e9, "ns", "return of a call"),
      real("mpi_send_setup_ns", 24, 0, 1e9, "ns", "setup of a send (13) and its match header (32 bytes, 11)"),
      real("mpi_receive_setup_ns", 10, 0, 1e9, "ns", "of a message that has arrived"),
      real("mpi_match_ns", 15, 0, 1e9, "ns", "per entry of a queue looked at"),
      real("mpi_send_copy_ns_per_byte", 0.344, 0, 1e6, "ns/byte", "of an eager message"),
      real("mpi_receive_copy_ns_per_byte", 0, 0, 1e6, "ns/byte",
           "of an eager message (the study's platform file leaves it at 0)"),
      real("mpi_registration_ns", 300, 0, 1e9, "ns",
           "memory of a rendezvous message: once by the sender, twice by the receiver"),
      real("mpi_registration_ns_per_page", 10, 0, 1e9, "ns", "and for each page"),
      integer("mpi_page_bytes", 4096, 1, 1 << 30, "bytes", "size of a page"),
      real("nic_send_ns", 10, 0, 1e9, "ns", "host to NIC (5) and its transmit engine (5)"),
      real("nic_receive_ns", 15, 0, 1e9, "ns", "matching at the NIC (10) and NIC to host (5)"),
      real("nic_fetch_ns", 205, 0, 1e9, "ns",
           "a NIC that is asked for data reads it from its host (200) and sends it (5)"),
      integer("header_bytes_eager", 45, 0, many, "bytes", "of an eager message, and of the request of a large one"),
      integer("header_bytes_rendezvous", 13, 0, many, "bytes", "of the fetch and of the data"),
      integer("header_bytes_acknowledge", 15, 0, many, "bytes", "of the acknowledgement"),
  };
  const std::vector<ParamSpec> mapping = mapping_params();  // beside the placement's own
  all.insert(all.begin() + 2, mapping.begin(), mapping.end());
  return all;
}

}  // namespace

const std::vector<ParamSpec>& workload_params() {
  static const std::vector<ParamSpec> specs = all_workload_params();
  return specs;
}

}  // namespace flitgym
