// Collectives in two levels: within nodes of `ranks_per_node` ranks, and across nodes along rails. A rail connects the
// ranks with the same place in their nodes, as NICs on the same rail do (BlueConnect: Cho et al., SysML 2019; the
// all-to-all in two levels: Rajbhandari et al., DeepSpeed-MoE, ICML 2022, section 5). Both levels use rings, except
// that the all-to-all is pairwise, and one-to-all trees are binomial.
#include "simcore/error.hpp"
#include "workload/collectives/families.hpp"

namespace flitgym::workload::collectives {

u32 nodes_of(const Communicator& comm) {
  if (comm.ranks_per_node == 0 || comm.size() % comm.ranks_per_node != 0)
    throw ConfigError("ranks_per_node: ", comm.size(), " ranks do not make up whole nodes of ", comm.ranks_per_node,
                      " ranks; use a divisor of ", comm.size());
  return comm.size() / comm.ranks_per_node;
}

namespace hierarchical {

// The ranks first, first + step, ... of a communicator.
Communicator every(const Communicator& comm, u32 first, u32 step, u32 count, u32 me) {
  Communicator result{{}, me, comm.rank(first), comm.step * step, count};
  if (comm.ranks.empty()) return result;
  for (u32 k = 0; k < count; k++) result.ranks.push_back(comm.ranks[first + k * step]);
  return result;
}

struct Levels {
  u32 each, nodes, my_node, my_rail;  // `each` is the number of ranks per node
  Communicator node, rail;

  explicit Levels(const Communicator& comm)
      : each(comm.ranks_per_node), nodes(nodes_of(comm)), my_node(comm.me / each), my_rail(comm.me % each),
        node(every(comm, my_node * each, 1, each, my_rail)), rail(every(comm, my_rail, each, nodes, my_node)) {}
  u32 place(u32 in_node, u32 on_rail) const { return in_node * each + on_rail; }
  // Bytes of one rail, summed over the nodes.
  Bytes rail_sums(const Bytes& bytes) const {
    std::vector<u64> sums(each, 0);
    for (u32 k = 0; k < each; k++)
      for (u32 n = 0; n < nodes; n++) sums[k] += bytes(place(n, k));
    return [sums](u32 k) { return sums[k]; };
  }
};

}  // namespace hierarchical

void hierarchical_barrier(Script& script, const Communicator& comm, u64 bytes, i32 tag) {
  const hierarchical::Levels levels(comm);
  tree(script, levels.node, 0, bytes, Algorithm::kBinomial, Pass::kUp, tag, 0);
  if (levels.my_rail == 0) dissemination(script, levels.rail, [&](u32) { return bytes; }, tag);
  tree(script, levels.node, 0, bytes, Algorithm::kBinomial, Pass::kDown, tag, 0);
}

void hierarchical_tree(Script& script, const Communicator& comm, u32 root, u64 bytes, Pass pass, i32 tag,
                       u64 chunk_bytes) {
  const hierarchical::Levels levels(comm);
  const u32 rail = root % levels.each;
  const auto within_node = [&] {
    tree(script, levels.node, rail, bytes, Algorithm::kBinomial, pass, tag, chunk_bytes);
  };
  if (pass == Pass::kUp) within_node();
  if (levels.my_rail == rail)
    tree(script, levels.rail, root / levels.each, bytes, Algorithm::kBinomial, pass, tag, chunk_bytes);
  if (pass == Pass::kDown) within_node();
}

void hierarchical_allreduce(Script& script, const Communicator& comm, u64 bytes, i32 tag, u64 chunk_bytes) {
  const hierarchical::Levels levels(comm);
  const auto part_of = [&](u32 k) { return part(bytes, levels.each, k); };
  ring_reduce_scatter(script, levels.node, part_of, tag, chunk_bytes);
  ring_allreduce(script, levels.rail, part_of(levels.my_rail), tag, chunk_bytes);
  ring_allgather(script, levels.node, part_of, tag + static_cast<i32>(levels.each), chunk_bytes);
}

void hierarchical_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag, u64 chunk_bytes) {
  const hierarchical::Levels levels(comm);
  const auto on_my_rail = [&](u32 n) { return share(levels.place(n, levels.my_rail)); };
  ring_allgather(script, levels.rail, on_my_rail, tag, chunk_bytes);
  ring_allgather(script, levels.node, levels.rail_sums(share), tag, chunk_bytes);
}

void hierarchical_reduce_scatter(Script& script, const Communicator& comm, const Bytes& part_of, i32 tag,
                                 u64 chunk_bytes) {
  const hierarchical::Levels levels(comm);
  const auto on_my_rail = [&](u32 n) { return part_of(levels.place(n, levels.my_rail)); };
  ring_reduce_scatter(script, levels.node, levels.rail_sums(part_of), tag, chunk_bytes);
  ring_reduce_scatter(script, levels.rail, on_my_rail, tag, chunk_bytes);
}

// A rank first gives its blocks to the ranks of its node that are on the rails of the destinations. Then every rank
// sends the blocks of its whole node along its rail.
void hierarchical_alltoall(Script& script, const Communicator& comm, const PairBytes& bytes, i32 tag) {
  const hierarchical::Levels levels(comm);
  const u32 node = levels.my_node, rail = levels.my_rail;
  const auto to_rail = [&](u32 from, u32 to) {
    u64 sum = 0;
    for (u32 n = 0; n < levels.nodes; n++) sum += bytes(levels.place(node, from), levels.place(n, to));
    return sum;
  };
  const auto to_node = [&](u32 from, u32 to) {
    u64 sum = 0;
    for (u32 k = 0; k < levels.each; k++) sum += bytes(levels.place(from, k), levels.place(to, rail));
    return sum;
  };
  pairwise(script, levels.node, [&](u32 k) { return to_rail(rail, k); }, [&](u32 k) { return to_rail(k, rail); }, tag);
  pairwise(script, levels.rail, [&](u32 n) { return to_node(node, n); }, [&](u32 n) { return to_node(n, node); }, tag);
}

}  // namespace flitgym::workload::collectives
