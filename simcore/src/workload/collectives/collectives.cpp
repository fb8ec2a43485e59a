#include "workload/collectives/collectives.hpp"

#include <algorithm>
#include <bit>

#include "simcore/error.hpp"

namespace flitgym::workload {

namespace {

// Posts the receive, sends (blocking), and waits for the receive.
void exchange(Script& script, u32 to, u64 send_bytes, u32 from, u64 receive_bytes, i32 tag) {
  const auto request = script.ireceive(from, receive_bytes, tag);
  script.send(to, send_bytes, tag);
  script.wait(request);
}

// Positions in a tree, counted from its root.
struct Tree {
  u32 parent = kNone;
  std::vector<u32> children;
};

Tree binary_tree(u32 size, u32 place) {
  Tree tree;
  if (place > 0) tree.parent = (place - 1) / 2;
  for (const u32 child : {2 * place + 1, 2 * place + 2})
    if (child < size) tree.children.push_back(child);
  return tree;
}

// The parent is the position without its lowest set bit. A child has one more bit, below that one.
Tree binomial_tree(u32 size, u32 place) {
  Tree tree;
  if (place > 0) tree.parent = place & (place - 1);
  const u32 end = place > 0 ? place & (~place + 1) : std::bit_ceil(size);
  for (u32 bit = end / 2; bit > 0; bit /= 2)
    if (place + bit < size) tree.children.push_back(place + bit);
  return tree;
}

Tree flat_tree(u32 size, u32 place) {
  Tree tree;
  if (place > 0) tree.parent = 0;
  else
    for (u32 child = 1; child < size; child++) tree.children.push_back(child);
  return tree;
}

// The neighbours in the tree, as ranks of the job.
Tree tree_of(const Communicator& comm, u32 root, Algorithm algorithm) {
  const u32 size = comm.size(), place = (comm.me + size - root) % size;
  Tree tree = algorithm == Algorithm::kTree       ? binary_tree(size, place)
              : algorithm == Algorithm::kBinomial ? binomial_tree(size, place)
                                                  : flat_tree(size, place);
  const auto rank = [&](u32 p) { return comm.rank((p + root) % size); };
  if (tree.parent != kNone) tree.parent = rank(tree.parent);
  for (u32& child : tree.children) child = rank(child);
  return tree;
}

// Receives from all children at once, then sends one message to the parent.
void up(Script& script, const Tree& tree, u64 bytes, i32 tag) {
  std::vector<Script::Request> receives;
  for (const u32 child : tree.children) receives.push_back(script.ireceive(child, bytes, tag));
  script.wait_all(receives);
  if (tree.parent != kNone) script.send(tree.parent, bytes, tag);
}

// Receives from the parent, then sends to all children at once.
void down(Script& script, const Tree& tree, u64 bytes, i32 tag) {
  if (tree.parent != kNone) script.receive(tree.parent, bytes, tag);
  std::vector<Script::Request> sends;
  for (const u32 child : tree.children) sends.push_back(script.isend(child, bytes, tag));
  script.wait_all(sends);
}

// Allreduce by doubling. Among the first 2 * excess ranks, even ranks send their data to the odd ranks, which then take
// part.
void recursive_doubling(Script& script, const Communicator& comm, u64 bytes, i32 tag) {
  const u32 size = comm.size(), power = std::bit_floor(size), excess = size - power, me = comm.me;
  if (me < 2 * excess && me % 2 == 0) {
    script.send(comm.rank(me + 1), bytes, tag);
    script.receive(comm.rank(me + 1), bytes, tag + 1);
    return;
  }
  const bool served = me < 2 * excess;
  if (served) script.receive(comm.rank(me - 1), bytes, tag);
  const u32 place = served ? me / 2 : me - excess;
  i32 step = 2;
  for (u32 bit = 1; bit < power; bit *= 2, step++) {
    const u32 other = place ^ bit, partner = comm.rank(other < excess ? 2 * other + 1 : other + excess);
    exchange(script, partner, bytes, partner, bytes, tag + step);
  }
  if (served) script.send(comm.rank(me - 1), bytes, tag + 1);
}

// Takes size - 1 steps around the ring. `first` is the part sent in the first step. Each later step sends the part
// received in the step before.
void ring(Script& script, const Communicator& comm, u32 first, const Bytes& bytes, i32 tag) {
  const u32 size = comm.size(), to = comm.rank((comm.me + 1) % size), from = comm.rank((comm.me + size - 1) % size);
  for (u32 step = 0; step + 1 < size; step++) {
    const u32 out = (first + size - step % size) % size, in = (out + size - 1) % size;
    exchange(script, to, bytes(out), from, bytes(in), tag + static_cast<i32>(step));
  }
}

// A round ends when its message has arrived. The sends are waited for at the end.
void dissemination(Script& script, const Communicator& comm, const std::function<u64(u32 distance)>& bytes, i32 tag) {
  const u32 size = comm.size();
  std::vector<Script::Request> sends;
  for (u32 distance = 1; distance < size; distance *= 2, tag++) {
    const auto request = script.ireceive(comm.rank((comm.me + size - distance) % size), bytes(distance), tag);
    sends.push_back(script.isend(comm.rank((comm.me + distance) % size), bytes(distance), tag));
    script.wait(request);
  }
  script.wait_all(sends);
}

[[noreturn]] void refuse(Collective which, Algorithm algorithm) {
  std::vector<std::string> valid;
  for (const Algorithm a : algorithms(which)) valid.push_back(name(a));
  throw ConfigError("collective " + name(which) + ": there is no algorithm '" + name(algorithm) +
                    "'; valid values: " + join(valid));
}

template <class Enum>
Enum named(const std::string& what, const std::string& text, const std::vector<std::string>& names) {
  for (std::size_t k = 0; k < names.size(); k++)
    if (names[k] == text) return static_cast<Enum>(k);
  throw ConfigError(what + ": unknown value '" + text + "'" + did_you_mean(text, names) +
                    "; valid values: " + join(names));
}

}  // namespace

const std::vector<Algorithm>& algorithms(Collective collective) {
  using enum Algorithm;
  static const std::vector<Algorithm> of[] = {
      {kTree, kDissemination, kBinomial, kLinear},    // barrier
      {kTree, kBinomial, kLinear},                    // bcast
      {kTree, kBinomial, kLinear},                    // reduce
      {kTree, kRecursiveDoubling, kRing, kBinomial},  // allreduce
      {kRing, kDissemination, kLinear},               // allgather
      {kRing, kPairwise},                             // reduce_scatter
      {kPairwise, kLinear},                           // alltoall
  };
  return of[static_cast<u32>(collective)];
}

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names{"barrier",   "bcast",          "reduce",  "allreduce",
                                              "allgather", "reduce_scatter", "alltoall"};
  return names;
}
const std::vector<std::string>& algorithm_names() {
  static const std::vector<std::string> names{"tree",     "binomial", "recursive_doubling", "ring", "dissemination",
                                              "pairwise", "linear"};
  return names;
}
const std::string& name(Collective collective) { return collective_names()[static_cast<u32>(collective)]; }
const std::string& name(Algorithm algorithm) { return algorithm_names()[static_cast<u32>(algorithm)]; }
Collective collective_named(const std::string& text) {
  return named<Collective>("collective", text, collective_names());
}
Algorithm algorithm_named(const std::string& text) { return named<Algorithm>("algorithm", text, algorithm_names()); }

void barrier(Script& script, const Communicator& comm, Algorithm algorithm, i32 tag, u64 bytes) {
  if (algorithm == Algorithm::kDissemination) return dissemination(script, comm, [&](u32) { return bytes; }, tag);
  if (algorithm != Algorithm::kTree && algorithm != Algorithm::kBinomial && algorithm != Algorithm::kLinear)
    refuse(Collective::kBarrier, algorithm);
  const Tree tree = tree_of(comm, 0, algorithm);
  up(script, tree, bytes, tag);
  down(script, tree, bytes, tag);
}

void bcast(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag) {
  if (algorithm != Algorithm::kTree && algorithm != Algorithm::kBinomial && algorithm != Algorithm::kLinear)
    refuse(Collective::kBcast, algorithm);
  down(script, tree_of(comm, root, algorithm), bytes, tag);
}

void reduce(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, i32 tag) {
  if (algorithm != Algorithm::kTree && algorithm != Algorithm::kBinomial && algorithm != Algorithm::kLinear)
    refuse(Collective::kReduce, algorithm);
  up(script, tree_of(comm, root, algorithm), bytes, tag);
}

void allreduce(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag) {
  switch (algorithm) {
    case Algorithm::kTree:
    case Algorithm::kBinomial: {
      const Tree tree = tree_of(comm, 0, algorithm);
      up(script, tree, bytes, tag);
      down(script, tree, bytes, tag);
      return;
    }
    case Algorithm::kRecursiveDoubling: return recursive_doubling(script, comm, bytes, tag);
    case Algorithm::kRing: {
      // The parts circulate once while they are summed, and a second time to reach all ranks (Patarasuk, Yuan 2009).
      const u32 size = comm.size();
      const auto part_of = [&](u32 index) { return part(bytes, size, index); };
      ring(script, comm, comm.me, part_of, tag);
      ring(script, comm, (comm.me + 1) % size, part_of, tag + static_cast<i32>(size));
      return;
    }
    default: refuse(Collective::kAllreduce, algorithm);
  }
}

void allgather(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag) {
  switch (algorithm) {
    case Algorithm::kRing: return ring(script, comm, comm.me, [&](u32) { return bytes; }, tag);
    // The gathered data doubles in each step; the last step sends only the missing part.
    case Algorithm::kDissemination:
      return dissemination(
          script, comm, [&](u32 distance) { return bytes * std::min(distance, comm.size() - distance); }, tag);
    case Algorithm::kLinear: return alltoall(script, comm, bytes, algorithm, tag);
    default: refuse(Collective::kAllgather, algorithm);
  }
}

void reduce_scatter(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag) {
  const u32 size = comm.size();
  const auto part_of = [&](u32 index) { return part(bytes, size, index); };
  switch (algorithm) {
    // Part i starts from rank i + 1 and reaches rank i in the last step, with the shares of all ranks.
    case Algorithm::kRing: return ring(script, comm, (comm.me + size - 1) % size, part_of, tag);
    case Algorithm::kPairwise:
      return alltoallv(script, comm, part_of, [&](u32) { return part_of(comm.me); }, algorithm, tag);
    default: refuse(Collective::kReduceScatter, algorithm);
  }
}

void alltoallv(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, Algorithm algorithm,
               i32 tag) {
  const u32 size = comm.size(), me = comm.me;
  const auto before = [&](u32 step) { return (me + size - step) % size; };
  const auto after = [&](u32 step) { return (me + step) % size; };
  if (algorithm == Algorithm::kPairwise) {
    for (u32 step = 1; step < size; step++)
      exchange(script, comm.rank(after(step)), to(after(step)), comm.rank(before(step)), from(before(step)), tag);
  } else if (algorithm == Algorithm::kLinear) {
    std::vector<Script::Request> requests;
    for (u32 step = 1; step < size; step++)
      requests.push_back(script.ireceive(comm.rank(before(step)), from(before(step)), tag));
    for (u32 step = 1; step < size; step++)
      requests.push_back(script.isend(comm.rank(after(step)), to(after(step)), tag));
    script.wait_all(requests);
  } else {
    refuse(Collective::kAlltoall, algorithm);
  }
}

void alltoall(Script& script, const Communicator& comm, u64 bytes, Algorithm algorithm, i32 tag) {
  const auto same = [&](u32) { return bytes; };
  alltoallv(script, comm, same, same, algorithm, tag);
}

void collective(Script& script, const Communicator& comm, Collective which, u64 bytes, Algorithm algorithm, i32 tag) {
  switch (which) {
    case Collective::kBarrier: return barrier(script, comm, algorithm, tag, bytes);
    case Collective::kBcast: return bcast(script, comm, 0, bytes, algorithm, tag);
    case Collective::kReduce: return reduce(script, comm, 0, bytes, algorithm, tag);
    case Collective::kAllreduce: return allreduce(script, comm, bytes, algorithm, tag);
    case Collective::kAllgather: return allgather(script, comm, bytes, algorithm, tag);
    case Collective::kReduceScatter: return reduce_scatter(script, comm, bytes, algorithm, tag);
    case Collective::kAlltoall: return alltoall(script, comm, bytes, algorithm, tag);
  }
}

Communicator world(u32 ranks, u32 rank) { return {{}, rank, 0, 1, ranks}; }

}  // namespace flitgym::workload
