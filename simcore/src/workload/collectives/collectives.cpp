#include "workload/collectives/collectives.hpp"

#include "simcore/error.hpp"
#include "workload/collectives/families.hpp"

namespace flitgym::workload {

template <class Enum>
static Enum named(const std::string& what, const std::string& text, const std::vector<std::string>& names) {
  for (std::size_t k = 0; k < names.size(); k++)
    if (names[k] == text) return static_cast<Enum>(k);
  throw ConfigError(what, ": unknown value '", text, "'", did_you_mean(text, names), "; valid values: ", join(names));
}

// Sends whole messages along trees: up for a reduce, down for a bcast.
static void along_trees(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm,
                        collectives::Pass pass, i32 tag, u64 chunk_bytes) {
  switch (algorithm) {
    case Algorithm::kHierarchical:
      return collectives::hierarchical_tree(script, comm, root, bytes, pass, tag, chunk_bytes);
    case Algorithm::kDoubleTree: return collectives::double_tree(script, comm, root, bytes, pass, tag, chunk_bytes);
    default: return collectives::tree(script, comm, root, bytes, algorithm, pass, tag, chunk_bytes);
  }
}

static void allgather(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag,
                      u64 chunk_bytes) {
  const u32 size = comm.size();
  if (algorithm == Algorithm::kDissemination)  // as dissemination_allgather(), without a list of ranks
    return collectives::dissemination(
        script, comm, [&](u32 distance) { return bytes * std::min(distance, size - distance); }, tag);
  allgatherv(script, comm, [&](u32) { return bytes; }, algorithm, tag, chunk_bytes);
}

// `part_of` is the size of the result of each rank.
static void reduce_scatterv(Script& script, const Communicator& comm, const Bytes& part_of, Algorithm algorithm,
                            i32 tag, u64 chunk_bytes) {
  switch (algorithm) {
    case Algorithm::kPairwise:
      return collectives::pairwise(script, comm, part_of, [&](u32) { return part_of(comm.me); }, tag);
    case Algorithm::kHalvingDoubling: return collectives::halving_reduce_scatter(script, comm, part_of, tag);
    case Algorithm::kHierarchical:
      return collectives::hierarchical_reduce_scatter(script, comm, part_of, tag, chunk_bytes);
    default: return collectives::ring_reduce_scatter(script, comm, part_of, tag, chunk_bytes);
  }
}

// One channel of a collective. The sizes are cut last, so that the parts of all channels add up.
static void one_channel(Script& script, const Communicator& comm, Collective which, u64 bytes, Algorithm algorithm,
                        i32 tag, const Pipelining& pipelining, u32 channel) {
  const bool keeps_order = channel == 0 || algorithm == Algorithm::kHierarchical;
  const auto order = keeps_order ? collectives::ChannelOrder{comm, {}} : collectives::channel_order(comm, channel);
  const u32 size = comm.size(), root = 0;
  const auto place = [&](u32 q) { return order.place_of.empty() ? q : order.place_of[q]; };
  const auto cut = [&](u64 whole) { return part(whole, pipelining.channels, channel); };
  u32 root_at = 0;
  while (place(root_at) != root) root_at++;
  const u64 chunk = pipelining.chunk_bytes;
  switch (which) {
    case Collective::kBarrier: break;
    case Collective::kBcast: return bcast(script, order.comm, root_at, cut(bytes), algorithm, tag, chunk);
    case Collective::kReduce: return reduce(script, order.comm, root_at, cut(bytes), algorithm, tag, chunk);
    case Collective::kAllreduce: return allreduce(script, order.comm, cut(bytes), algorithm, tag, chunk);
    case Collective::kAllgather: return allgather(script, order.comm, cut(bytes), algorithm, tag, chunk);
    case Collective::kReduceScatter:
      return reduce_scatterv(
          script, order.comm, [&](u32 q) { return cut(part(bytes, size, place(q))); }, algorithm, tag, chunk);
    case Collective::kAlltoall:
      return alltoallv(script, order.comm, [&](u32, u32) { return cut(bytes); }, algorithm, tag);
  }
}

const std::vector<Algorithm>& algorithms(Collective collective) {
  using enum Algorithm;
  static const std::vector<Algorithm> of[] = {
      {kTree, kDissemination, kBinomial, kLinear, kDoubleTree, kHierarchical},                      // barrier
      {kTree, kBinomial, kLinear, kDoubleTree, kHierarchical},                                      // bcast
      {kTree, kBinomial, kLinear, kDoubleTree, kHierarchical},                                      // reduce
      {kTree, kRecursiveDoubling, kRing, kBinomial, kHalvingDoubling, kDoubleTree, kHierarchical},  // allreduce
      {kRing, kDissemination, kLinear, kHalvingDoubling, kHierarchical},                            // allgather
      {kRing, kPairwise, kHalvingDoubling, kHierarchical},                                          // reduce_scatter
      {kPairwise, kLinear, kBruck, kHierarchical},                                                  // alltoall
  };
  return of[static_cast<u32>(collective)];
}

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names{"barrier",   "bcast",          "reduce",  "allreduce",
                                              "allgather", "reduce_scatter", "alltoall"};
  return names;
}
const std::vector<std::string>& algorithm_names() {
  static const std::vector<std::string> names{
      "tree",   "binomial",         "recursive_doubling", "ring",  "dissemination", "pairwise",
      "linear", "halving_doubling", "double_tree",        "bruck", "hierarchical",  "auto"};
  return names;
}
const std::string& name(Collective collective) { return collective_names()[static_cast<u32>(collective)]; }
const std::string& name(Algorithm algorithm) { return algorithm_names()[static_cast<u32>(algorithm)]; }
Collective collective_named(const std::string& text) {
  return named<Collective>("collective", text, collective_names());
}
Algorithm algorithm_named(const std::string& text, const std::string& where) {
  return named<Algorithm>(where, text, algorithm_names());
}

std::string algorithms_of(Collective collective) {
  std::vector<std::string> words;
  for (const Algorithm a : algorithms(collective)) words.push_back(name(a));
  return join(words);
}

void check_algorithm(const std::string& where, Collective collective, Algorithm algorithm) {
  if (const auto& all = algorithms(collective); std::find(all.begin(), all.end(), algorithm) == all.end())
    throw ConfigError(where, ": '", name(algorithm), "' does not exist for ", name(collective),
                      "; valid values: ", algorithms_of(collective), ", auto");
}

void barrier(Script& script, const Communicator& comm, Algorithm algorithm, i32 tag, u64 bytes) {
  const Script::Collectively marked(script);
  switch (algorithm) {
    case Algorithm::kDissemination: return collectives::dissemination(script, comm, [&](u32) { return bytes; }, tag);
    case Algorithm::kHierarchical: return collectives::hierarchical_barrier(script, comm, bytes, tag);
    default: return along_trees(script, comm, 0, bytes, algorithm, collectives::Pass::kUpAndDown, tag, 0);
  }
}

void bcast(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag,
           u64 chunk_bytes) {
  const Script::Collectively marked(script);
  along_trees(script, comm, root, bytes, algorithm, collectives::Pass::kDown, tag, chunk_bytes);
}

void reduce(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag,
            u64 chunk_bytes) {
  const Script::Collectively marked(script);
  along_trees(script, comm, root, bytes, algorithm, collectives::Pass::kUp, tag, chunk_bytes);
}

void allreduce(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag, u64 chunk_bytes) {
  const Script::Collectively marked(script);
  switch (algorithm) {
    case Algorithm::kRecursiveDoubling: return collectives::recursive_doubling(script, comm, bytes, tag);
    case Algorithm::kRing: return collectives::ring_allreduce(script, comm, bytes, tag, chunk_bytes);
    case Algorithm::kHalvingDoubling: return collectives::halving_doubling_allreduce(script, comm, bytes, tag);
    case Algorithm::kHierarchical: return collectives::hierarchical_allreduce(script, comm, bytes, tag, chunk_bytes);
    default: return along_trees(script, comm, 0, bytes, algorithm, collectives::Pass::kUpAndDown, tag, chunk_bytes);
  }
}

void allgatherv(Script& script, const Communicator& comm, const Bytes& share, Algorithm algorithm, i32 tag,
                u64 chunk_bytes) {
  const Script::Collectively marked(script);
  switch (algorithm) {
    case Algorithm::kDissemination: return collectives::dissemination_allgather(script, comm, share, tag);
    case Algorithm::kLinear: return collectives::linear(script, comm, [&](u32) { return share(comm.me); }, share, tag);
    case Algorithm::kHalvingDoubling: return collectives::doubling_allgather(script, comm, share, tag);
    case Algorithm::kHierarchical: return collectives::hierarchical_allgather(script, comm, share, tag, chunk_bytes);
    default: return collectives::ring_allgather(script, comm, share, tag, chunk_bytes);
  }
}

void alltoallv(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, Algorithm algorithm,
               i32 tag) {
  const Script::Collectively marked(script);
  if (algorithm == Algorithm::kLinear) return collectives::linear(script, comm, to, from, tag);
  collectives::pairwise(script, comm, to, from, tag);
}

void alltoallv(Script& script, const Communicator& comm, const PairBytes& bytes, Algorithm algorithm, i32 tag) {
  const Script::Collectively marked(script);
  switch (algorithm) {
    case Algorithm::kBruck: return collectives::bruck(script, comm, bytes, tag);
    case Algorithm::kHierarchical: return collectives::hierarchical_alltoall(script, comm, bytes, tag);
    default:
      return alltoallv(
          script, comm, [&](u32 to) { return bytes(comm.me, to); }, [&](u32 from) { return bytes(from, comm.me); },
          algorithm, tag);
  }
}

void collective(Script& script, const Communicator& comm, Collective which, u64 bytes, Algorithm algorithm, i32 tag,
                const Pipelining& pipelining) {
  const Script::Collectively marked(script);
  if (algorithm == Algorithm::kAuto) algorithm = chosen(which, bytes, comm.size());
  check_algorithm("collective", which, algorithm);
  if (which == Collective::kBarrier) return barrier(script, comm, algorithm, tag, bytes);
  const u32 channels = comm.size() > 1 ? pipelining.channels : 1;
  if (channels <= 1) return one_channel(script, comm, which, bytes, algorithm, tag, {pipelining.chunk_bytes, 1}, 0);
  if (channels > kMostChannels || u64{2} * comm.size() * channels > kCollectiveTags)
    throw ConfigError("channels: ", channels, " channels of ", comm.size(), " ranks exceed ", kMostChannels,
                      " channels, or ", kCollectiveTags, " tags; use fewer channels");
  std::vector<Script> strands;
  for (u32 channel = 0; channel < channels; channel++) {
    strands.push_back(script.strand());
    one_channel(strands.back(), comm, which, bytes, algorithm,
                tag + static_cast<i32>(channel) * (kCollectiveTags / static_cast<i32>(channels)), pipelining, channel);
  }
  for (const Script& strand : strands) script.join(strand);
}

Communicator world(u32 ranks, u32 rank) { return {{}, rank, 0, 1, ranks}; }

}  // namespace flitgym::workload
