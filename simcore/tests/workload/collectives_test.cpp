// Collectives: the flow of every byte, and closed forms of bytes and steps.
//
// The oracle does not know the algorithms. It builds a collective twice, the second time with one byte more. The
// messages that have grown are the ones that carry this byte. Along these messages alone, in the order of their
// dependencies, the byte must reach every rank that needs it, with the contributions of all ranks.
#include <set>

#include "simcore/program_totals.hpp"
#include "support/abstract_machine.hpp"
#include "support/motif_programs.hpp"
#include "test.hpp"

namespace workload_collectives_test {

using namespace flitgym;
using testing::AbstractMachine;
using testing::Written;
using testing::written;
using workload::Algorithm;
using workload::Collective;

u64 all_of_ranks(u32 ranks) { return ranks >= 64 ? ~u64{0} : (u64{1} << ranks) - 1; }
u32 rounds(u32 n) { return static_cast<u32>(std::bit_width(n - 1)); }  // ceil(log2(n))

// Follows one byte. `more` is the program with it, `less` the one without.
AbstractMachine follow(const Written& less, const Written& more, bool rendezvous, const std::string& text) {
  for (u32 rank = 0; rank < more.ranks; rank++)
    CHECK_FOR(less.of[rank][0].ops.size() == more.of[rank][0].ops.size(), text);
  const AbstractMachine machine(more, rendezvous, [&](u32 rank, u64, u32 op) {
    return more.of[rank][0].ops[op].size != less.of[rank][0].ops[op].size;
  });
  CHECK_FOR(machine.finished && machine.sizes_agree, text);
  return machine;
}

// Additional bytes that each rank receives, and the number of messages that carry them.
struct Growth {
  std::vector<u64> received;
  u64 messages = 0;
};
Growth growth(const Written& less, const Written& more) {
  Growth result{std::vector<u64>(more.ranks, 0)};
  for (u32 rank = 0; rank < more.ranks; rank++)
    for (std::size_t k = 0; k < more.of[rank][0].ops.size(); k++) {
      const Op &a = less.of[rank][0].ops[k], &b = more.of[rank][0].ops[k];
      if (b.kind == OpKind::kReceive) result.received[rank] += b.size - a.size;
      if (b.kind == OpKind::kSend) result.messages += b.size != a.size;
    }
  return result;
}

bool holds(Collective which, const AbstractMachine& machine, u32 rank, u32 n, u32 byte) {
  const u64 all = all_of_ranks(n);
  switch (which) {
    case Collective::kBcast: return machine.knows[rank] & 1;
    case Collective::kReduce: return rank != 0 || machine.knows[rank] == all;
    case Collective::kReduceScatter: return rank != byte % n || machine.knows[rank] == all;
    default: return machine.knows[rank] == all;
  }
}

std::vector<u32> sizes_of_nodes(Algorithm algorithm, u32 n) {
  std::vector<u32> result{1};
  if (algorithm == Algorithm::kHierarchical)
    for (u32 each = 2; each <= n; each++)
      if (n % each == 0) result.push_back(each);
  return result;
}

// Every byte position of a vector that decides about its way: part of a rank, and channel.
void follow_every_byte(Collective which, Algorithm algorithm, u32 n, u32 each, const workload::Pipelining& ways) {
  const std::string text = name(which) + " by " + name(algorithm) + " of " + std::to_string(n) + " in nodes of " +
                           std::to_string(each) + ", chunks " + std::to_string(ways.chunk_bytes) + ", channels " +
                           std::to_string(ways.channels);
  const u64 base = ways.chunk_bytes ? u64{2617} * n * ways.channels : 0;
  const auto with = [&](u64 bytes) {
    return written(n, [&](workload::Script& script, workload::Communicator comm) {
      comm.ranks_per_node = each;
      collective(script, comm, which, bytes, algorithm, 0, ways);
    });
  };
  const u32 positions = n * ways.channels;
  Written less = with(base);
  for (u32 byte = 0; byte < positions; byte++) {
    Written more = with(base + byte + 1);
    if (byte == 0) workload::check_program(more, text);
    for (const bool rendezvous : {false, true}) {
      if (!rendezvous && n > 6) continue;  // saves time
      const AbstractMachine machine = follow(less, more, rendezvous, text);
      for (u32 rank = 0; rank < n; rank++) CHECK_FOR(holds(which, machine, rank, n, byte), text);
      CHECK_FOR(which == Collective::kBcast || machine.once, text);
    }
    less = std::move(more);
  }
}

constexpr Collective kVectors[] = {Collective::kBcast, Collective::kReduce, Collective::kAllreduce,
                                   Collective::kReduceScatter};

TEST(collectives_every_byte_arrives_with_all_contributions) {
  for (const Collective which : kVectors)
    for (const Algorithm algorithm : workload::algorithms(which))
      for (u32 n = 1; n <= 17; n++)
        for (const u32 each : sizes_of_nodes(algorithm, n)) follow_every_byte(which, algorithm, n, each, {});
}

DEEP_TEST(collectives_every_byte_arrives_in_chunks_and_channels) {
  for (const Collective which : kVectors)
    for (const Algorithm algorithm : workload::algorithms(which))
      for (const u32 n : {2u, 3u, 6u, 8u})
        for (const workload::Pipelining& ways :
             {workload::Pipelining{1000, 1}, workload::Pipelining{0, 3}, workload::Pipelining{1000, 2}})
          follow_every_byte(which, algorithm, n, n % 2 == 0 ? 2 : 1, ways);
}

// A barrier has no data; every rank must hear of every other rank.
TEST(collectives_barriers_reach_everyone) {
  for (const Algorithm algorithm : workload::algorithms(Collective::kBarrier))
    for (u32 n = 1; n <= 17; n++)
      for (const u32 each : sizes_of_nodes(algorithm, n)) {
        const AbstractMachine machine(written(n,
                                              [&](workload::Script& script, workload::Communicator comm) {
                                                comm.ranks_per_node = each;
                                                workload::barrier(script, comm, algorithm, 0, 1);
                                              }),
                                      true);
        for (const u64 knows : machine.knows) CHECK_FOR(knows == all_of_ranks(n), name(algorithm));
      }
}

// A byte of one rank's share reaches every other rank exactly once.
TEST(collectives_allgather_moves_each_share_once) {
  for (const Algorithm algorithm : workload::algorithms(Collective::kAllgather))
    for (u32 n = 1; n <= 13; n++)
      for (const u32 each : sizes_of_nodes(algorithm, n))
        for (u32 owner = 0; owner < n; owner++) {
          const std::string text = name(algorithm) + " of " + std::to_string(n) + " by " + std::to_string(each);
          const auto with = [&](u64 more) {
            return written(n, [&](workload::Script& script, workload::Communicator comm) {
              comm.ranks_per_node = each;
              workload::allgatherv(script, comm, [&](u32 k) { return 5 + k + (k == owner ? more : 0); }, algorithm, 0);
            });
          };
          const Written less = with(0), more = with(1);
          const AbstractMachine machine = follow(less, more, true, text);
          const Growth grown = growth(less, more);
          for (u32 rank = 0; rank < n; rank++) {
            CHECK_FOR(machine.knows[rank] >> owner & 1, text);
            CHECK_FOR(grown.received[rank] == (rank != owner), text);
          }
        }
}

// A byte of one pair travels from its source to its destination, and takes as many messages as the algorithm needs:
// Bruck's one per set bit of the distance, the hierarchy at most one per level.
TEST(collectives_alltoall_moves_each_block_along_its_way) {
  for (const Algorithm algorithm : workload::algorithms(Collective::kAlltoall))
    for (const u32 n : {1u, 2u, 3u, 6u, 7u})
      for (const u32 each : sizes_of_nodes(algorithm, n)) {
        const auto with = [&](u32 a, u32 b, u64 more) {
          return written(n, [&](workload::Script& script, workload::Communicator comm) {
            comm.ranks_per_node = each;
            workload::alltoallv(
                script, comm, [&](u32 from, u32 to) { return 10 * from + to + (from == a && to == b ? more : 0); },
                algorithm, 0);
          });
        };
        const Written less = with(0, 0, 0);
        workload::check_program(less, "alltoall");
        for (u32 a = 0; a < n; a++)
          for (u32 b = 0; b < n; b++) {
            if (a == b) continue;
            const std::string text = name(algorithm) + " of " + std::to_string(n) + " by " + std::to_string(each) +
                                     ", " + std::to_string(a) + " to " + std::to_string(b);
            const Written more = with(a, b, 1);
            for (const bool rendezvous : {false, true})
              CHECK_FOR(follow(less, more, rendezvous, text).knows[b] >> a & 1, text);
            const u64 hops = algorithm == Algorithm::kBruck          ? static_cast<u64>(std::popcount((b + n - a) % n))
                             : algorithm == Algorithm::kHierarchical ? (a % each != b % each) + (a / each != b / each)
                                                                     : 1;
            CHECK_EQ(growth(less, more).messages, hops);
          }
      }
}

namespace {

// Bytes sent by all ranks, largest number of bytes sent by a rank, and steps: messages one after another.
struct Cost {
  u64 bytes, most, steps;
};
Cost cost(u32 n, Collective which, Algorithm algorithm, u64 size, u32 each = 1) {
  const AbstractMachine machine(written(n,
                                        [&](workload::Script& script, workload::Communicator comm) {
                                          comm.ranks_per_node = each;
                                          collective(script, comm, which, size, algorithm, 0);
                                        }),
                                true, {}, 1);
  u64 bytes = 0;
  for (const u64 sent : machine.sent) bytes += sent;
  return {bytes, *std::max_element(machine.sent.begin(), machine.sent.end()), machine.time};
}

}  // namespace

TEST(collectives_closed_forms) {
  std::vector<u32> counts;
  for (u32 n = 2; n <= 17; n++) counts.push_back(n);
  for (const u32 n : {24u, 31u, 32u, 33u, 60u}) counts.push_back(n);
  for (const u32 n : counts) {
    const u64 part = 240, whole = part * n;  // a multiple of n and of every power of two up to 16
    const u32 power = std::bit_floor(n), excess = n - power, log = rounds(power), fold = excess > 0 ? 1 : 0;
    const auto check = [&](Collective which, Algorithm algorithm, u64 size, u64 bytes, u64 most, u64 steps) {
      const Cost c = cost(n, which, algorithm, size);
      const std::string text = name(which) + " by " + name(algorithm) + " of " + std::to_string(n) + ": " +
                               std::to_string(c.bytes) + " B, " + std::to_string(c.most) + " B, " +
                               std::to_string(c.steps) + " steps";
      CHECK_FOR(c.bytes == bytes && c.steps == steps && (most == 0 || c.most == most), text);
    };
    using enum Algorithm;
    check(Collective::kAllreduce, kRing, whole, 2 * (n - 1) * whole, 2 * (n - 1) * part, 2 * (n - 1));
    check(Collective::kReduceScatter, kRing, whole, (n - 1) * whole, (n - 1) * part, n - 1);
    check(Collective::kReduceScatter, kPairwise, whole, (n - 1) * whole, (n - 1) * part, n - 1);
    check(Collective::kAllgather, kRing, part, (n - 1) * whole, (n - 1) * part, n - 1);
    check(Collective::kAllgather, kLinear, part, (n - 1) * whole, (n - 1) * part, 1);
    check(Collective::kAllgather, kDissemination, part, (n - 1) * whole, (n - 1) * part, rounds(n));
    check(Collective::kAllreduce, kRecursiveDoubling, whole, (power * log + 2 * excess) * whole, 0, log + 2 * fold);
    check(Collective::kAllreduce, kHalvingDoubling, whole, (2 * (power - 1) + 2 * excess) * whole, 0,
          2 * log + 2 * fold);
    // Halving sends (power - 1) vectors in total. Each served rank sends the whole vector and receives its part.
    check(Collective::kReduceScatter, kHalvingDoubling, whole, (power - 1) * whole + excess * (whole + part), 0,
          log + 2 * fold);
    check(Collective::kAllgather, kHalvingDoubling, part, (power - 1) * whole + excess * whole, 0, log + 2 * fold);
    check(Collective::kAlltoall, kPairwise, part, (n - 1) * whole, (n - 1) * part, n - 1);
    check(Collective::kAlltoall, kLinear, part, (n - 1) * whole, (n - 1) * part, 1);
    u64 bits = 0;
    for (u32 distance = 1; distance < n; distance++) bits += static_cast<u64>(std::popcount(distance));
    check(Collective::kAlltoall, kBruck, part, bits * whole, bits * part, rounds(n));
    for (const Algorithm tree : {kTree, kBinomial, kDoubleTree}) {
      CHECK_EQ(cost(n, Collective::kBcast, tree, whole).bytes, (n - 1) * whole);
      CHECK_EQ(cost(n, Collective::kReduce, tree, whole).bytes, (n - 1) * whole);
      CHECK_EQ(cost(n, Collective::kAllreduce, tree, whole).bytes, 2 * (n - 1) * whole);
    }
    // A power of two: halving and doubling send 2 (n - 1) / n of the vector per rank, as the ring does.
    if (excess == 0) CHECK_EQ(cost(n, Collective::kAllreduce, kHalvingDoubling, whole).most, 2 * (n - 1) * part);
  }
}

// Each rank sends 2 (g - 1) / g of the vector within its node of g ranks. On its rail of m ranks it sends 2 (m - 1) / m
// of a g-th.
TEST(collectives_hierarchy_costs) {
  for (const u32 g : {1u, 2u, 4u, 8u})
    for (const u32 m : {1u, 2u, 3u, 5u}) {
      const u32 n = g * m;
      if (n == 1) continue;
      const u64 part = 120, whole = part * n;
      const Cost all = cost(n, Collective::kAllreduce, Algorithm::kHierarchical, whole, g);
      CHECK_EQ(all.most, 2 * (g - 1) * whole / g + 2 * (m - 1) * whole / g / m);
      CHECK_EQ(all.bytes, all.most * n);
      CHECK_EQ(all.steps, 2 * (g - 1) + 2 * (m - 1));
      CHECK_EQ(cost(n, Collective::kAllgather, Algorithm::kHierarchical, part, g).bytes, (n - 1) * whole);
      CHECK_EQ(cost(n, Collective::kReduceScatter, Algorithm::kHierarchical, whole, g).bytes,
               n * ((g - 1) * whole / g + (m - 1) * part));
      const Cost blocks = cost(n, Collective::kAlltoall, Algorithm::kHierarchical, part, g);
      CHECK_EQ(blocks.most, (g - 1) * m * part + (m - 1) * g * part);
      CHECK_EQ(blocks.steps, g - 1 + m - 1);
      CHECK_EQ(cost(n, Collective::kBcast, Algorithm::kHierarchical, whole, g).bytes, (n - 1) * whole);
    }
  CHECK_THROWS(ConfigError, cost(6, Collective::kAllreduce, Algorithm::kHierarchical, 8, 4), "ranks_per_node", "6",
               "whole nodes of 4");
}

// With an even number of ranks, every rank is inner in at most one of the two trees (Sanders, Speck, Traeff). So no
// rank sends more than twice the vector in an allreduce. With an odd number one rank may be inner in both.
TEST(collectives_double_tree_balances_inner_ranks) {
  for (u32 n = 2; n <= 65; n++) {
    const Written program = written(n, [&](workload::Script& script, const workload::Communicator& comm) {
      collective(script, comm, Collective::kAllreduce, 1000, Algorithm::kDoubleTree, 0);
    });
    u32 both = 0;
    for (const auto& blocks : program.of) {
      const Block& block = blocks[0];
      u32 inner = 0;
      for (const i32 tree : {0, 1}) {
        const auto first = std::find_if(block.ops.begin(), block.ops.end(),
                                        [&](const Op& op) { return op.kind != OpKind::kCalc && op.tag == tree; });
        CHECK(first != block.ops.end());
        inner += first->kind == OpKind::kReceive;  // a leaf sends first
      }
      both += inner == 2;
    }
    CHECK_FOR(both <= n % 2, std::to_string(n));
    if (n % 2 == 0) CHECK(cost(n, Collective::kAllreduce, Algorithm::kDoubleTree, 1000).most <= 2000);
    // The depth grows with the logarithm.
    CHECK(cost(n, Collective::kAllreduce, Algorithm::kDoubleTree, 1000).steps <= 2 * (rounds(n) + 1));
  }
}

// Distances that are prime to the number of ranks give rings without a common edge: seven ranks have six.
TEST(collectives_channels_use_different_links) {
  const u32 n = 7, channels = 6;
  const u64 whole = 42 * 100;
  const AbstractMachine machine(written(n,
                                        [&](workload::Script& script, const workload::Communicator& comm) {
                                          collective(script, comm, Collective::kAllreduce, whole, Algorithm::kRing, 0,
                                                     {0, channels});
                                        }),
                                true);
  CHECK(machine.finished);
  CHECK_EQ(machine.between.size(), std::size_t{n * (n - 1)});
  for (const auto& [pair, bytes] : machine.between) CHECK_EQ(bytes, 2 * (n - 1) * whole / n / channels);
  // Two nodes of four: each of four channels crosses between the nodes at other ranks.
  std::set<u32> senders;
  const AbstractMachine nodes(written(8,
                                      [&](workload::Script& script, workload::Communicator comm) {
                                        comm.ranks_per_node = 4;
                                        collective(script, comm, Collective::kAllreduce, whole, Algorithm::kRing, 0,
                                                   {0, 4});
                                      }),
                              true);
  for (const auto& [pair, bytes] : nodes.between)
    if (pair.first / 4 != pair.second / 4) senders.insert(pair.first);
  CHECK_EQ(senders.size(), std::size_t{8});
}

TEST(collectives_chunks_have_the_given_size) {
  const auto largest = [](Algorithm algorithm, u64 chunk) {
    u64 most = 0, bytes = 0;
    for (const auto& blocks : written(6, [&](workload::Script& script, const workload::Communicator& comm) {
                                collective(script, comm, Collective::kAllreduce, 60000, algorithm, 0, {chunk, 1});
                              }).of)
      for (const Op& op : blocks[0].ops)
        if (op.kind == OpKind::kSend) most = std::max(most, op.size), bytes += op.size;
    CHECK_EQ(bytes, 10u * 60000);
    return most;
  };
  CHECK_EQ(largest(Algorithm::kRing, 0), 10000u);
  CHECK_EQ(largest(Algorithm::kRing, 4000), 3334u);
  CHECK_EQ(largest(Algorithm::kTree, 0), 60000u);
  CHECK_EQ(largest(Algorithm::kTree, 4000), 4000u);
  CHECK_EQ(largest(Algorithm::kDoubleTree, 4000), 3750u);
  CHECK_THROWS(ConfigError, largest(Algorithm::kTree, 1), "chunk_bytes", "60000");
}

// MPICH's limits.
TEST(collectives_automatic_choice) {
  const auto choice = [](Collective which, u64 bytes, u32 ranks) {
    return name(workload::chosen(which, bytes, ranks));
  };
  CHECK_EQ(choice(Collective::kAllreduce, 2048, 16), "recursive_doubling");
  CHECK_EQ(choice(Collective::kAllreduce, 2049, 16), "halving_doubling");
  CHECK_EQ(choice(Collective::kAllreduce, 524288, 16), "ring");
  CHECK_EQ(choice(Collective::kBcast, 12287, 16), "binomial");
  CHECK_EQ(choice(Collective::kBcast, 12288, 16), "double_tree");
  CHECK_EQ(choice(Collective::kBcast, 12288, 7), "binomial");
  CHECK_EQ(choice(Collective::kAllgather, 5119, 16), "halving_doubling");
  CHECK_EQ(choice(Collective::kAllgather, 5119, 15), "dissemination");
  CHECK_EQ(choice(Collective::kAllgather, 32768, 16), "ring");
  CHECK_EQ(choice(Collective::kReduceScatter, 524287, 12), "halving_doubling");
  CHECK_EQ(choice(Collective::kReduceScatter, 524288, 12), "pairwise");
  CHECK_EQ(choice(Collective::kAlltoall, 256, 8), "bruck");
  CHECK_EQ(choice(Collective::kAlltoall, 256, 7), "linear");
  CHECK_EQ(choice(Collective::kAlltoall, 32769, 8), "pairwise");
}

// The parameters of the motif reach its messages.
TEST(collectives_motif_parameters) {
  const auto totals = [](const Values& values) { return workload::totals(*testing::motif("collective", 12, values)); };
  const std::string bytes = "bytes";
  const Values plain{{bytes, i64{120000}}, {"algorithm", "ring"}};
  Values chunks = plain, channels = plain, hierarchy = plain, automatic = plain;
  chunks["chunk_bytes"] = i64{2500}, channels["channels"] = i64{4}, automatic["algorithm"] = std::string("auto");
  hierarchy["algorithm"] = std::string("hierarchical"), hierarchy["ranks_per_node"] = i64{4};
  CHECK_EQ(totals(plain).messages, 12u * 22);
  CHECK_EQ(totals(chunks).messages, 4u * 12 * 22);
  CHECK_EQ(totals(channels).messages, 4u * 12 * 22);
  CHECK_EQ(totals(hierarchy).messages, 12u * (2 * 3 + 2 * 2));
  CHECK_EQ(totals(automatic).bytes, (2 * 7 + 2 * 4) * u64{120000});  // halving and doubling among eight, four served
  CHECK_EQ(totals(chunks).bytes, totals(plain).bytes);
  CHECK_EQ(totals(channels).bytes, totals(plain).bytes);
}

}  // namespace workload_collectives_test
