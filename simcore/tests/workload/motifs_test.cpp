// Motifs: the messages that they send, to the byte, and the data flow through these messages.
#include <set>

#include "simcore/program_totals.hpp"
#include "simcore/workload/motif.hpp"
#include "support/abstract_machine.hpp"
#include "support/motif_programs.hpp"
#include "test.hpp"
#include "workload/motifs/permutation.hpp"
#include "workload/motifs/process_grid.hpp"

namespace workload_motifs_test {

using namespace flitgym;
using testing::AbstractMachine;
using testing::motif;
using testing::Written;
using testing::written;

workload::ProgramTotals checked_totals(const std::string& name, u32 ranks = 0, const Values& values = {}) {
  const auto program = motif(name, ranks, values);
  workload::check_program(*program, name);
  const workload::ProgramTotals sum = workload::totals(*program);
  CHECK_EQ(sum.receives, sum.messages);
  return sum;
}

u64 all_of_ranks(u32 ranks) { return (u64{1} << ranks) - 1; }

// The totals of the study's table, with the arguments of its scripts: pairwise and mixed.
TEST(motifs_send_the_bytes_of_the_study) {
  CHECK_EQ(checked_totals("lu").bytes, 13635000000u);
  CHECK_EQ(checked_totals("lu", 140).bytes, 3456000000u);
  CHECK_EQ(checked_totals("fft3d").bytes, 15748128768u);
  CHECK_EQ(checked_totals("fft3d", 140).bytes, 15054379008u);
  CHECK_EQ(checked_totals("halo3d").bytes, 47761920000u);
  CHECK_EQ(checked_totals("halo3d").messages, 2764u * 30);
  CHECK_EQ(checked_totals("dl").bytes, 9713664000u);
  CHECK_EQ(checked_totals("cosmoflow").bytes, 2373608000u);
  CHECK_EQ(checked_totals("cosmoflow", 138).bytes, 617048000u);
  CHECK_EQ(checked_totals("lqcd").bytes, 11923050976u);
  CHECK_EQ(checked_totals("lqcd", 256).bytes, 7948623840u);
  CHECK_EQ(checked_totals("stencil5d").bytes, 9833600000u);
  CHECK_EQ(checked_totals("stencil5d").messages, 3512u);
  CHECK_EQ(checked_totals("stencil5d", 243).bytes, 4536000000u);
  CHECK_EQ(checked_totals("stencil5d", 243).messages, 1620u);
  CHECK_EQ(checked_totals("lulesh").bytes, 17836358208u);
}

TEST(motifs_compute_as_long_as_the_study) {
  CHECK_EQ(workload::totals(*motif("cosmoflow")).calc_ns, u64{528} * 2 * 5160000);
  CHECK_EQ(workload::totals(*motif("fft3d")).calc_ns, u64{528} * 8 * 7 * 121200);
  CHECK_EQ(workload::totals(*motif("fft3d", 140)).calc_ns, u64{140} * 8 * 7 * 456800);
  CHECK_EQ(workload::totals(*motif("lqcd")).calc_ns, 528u * 5);
  CHECK_EQ(workload::totals(*motif("lu")).calc_ns, 528u * 3 * 300);
  for (const char* name : {"ur", "halo3d", "dl", "stencil5d", "lulesh"})
    CHECK_EQ(workload::totals(*motif(name, 0, {}, 0.01)).calc_ns, 0u);
}

// Message sizes: the splits of FFT3D, and the halves of LQCD rounded down.
TEST(motifs_message_sizes) {
  const auto sizes = [](const Program& program, u64 least) {
    std::set<u64> found;
    for (u32 rank = 0; rank < program.ranks; rank++) {
      const Block block = testing::block_of(program, rank, 0);
      for (const Op& op : block.ops)
        if (op.kind == OpKind::kSend && op.size > least) found.insert(op.size);
    }
    return found;
  };
  const auto fft = sizes(*motif("fft3d"), 0), mixed = sizes(*motif("fft3d", 140), 0);
  CHECK_EQ(*fft.begin(), 36864u);
  CHECK_EQ(*fft.rbegin(), 51680u);
  CHECK_EQ(*mixed.begin(), 250880u);
  CHECK_EQ(*mixed.rbegin(), 389760u);
  CHECK(sizes(*motif("lqcd"), 8) == (std::set<u64>{1149984, 2299968, 313632, 627264, 418176, 836352}));
  CHECK(sizes(*motif("lqcd", 256), 8) == (std::set<u64>{862464, 1724976}));
  CHECK(sizes(*motif("lulesh"), 0) == (std::set<u64>{240, 7457, 74814}));
}

TEST(motifs_stencil27) {
  const Values halo{{"phase", "halo"}, {"iterations", 1}}, collective{{"phase", "collective"}, {"iterations", 1}};
  CHECK_EQ(checked_totals("stencil27", 0, halo).messages, 93240u);
  CHECK_EQ(checked_totals("stencil27", 512, halo).messages, 10136u);
  CHECK_EQ(checked_totals("stencil27", 0, collective).messages, 12u * 4096);
  CHECK_EQ(checked_totals("stencil27").messages, 4u * (93240 + 12 * 4096));
  Values periodic = halo;
  periodic["periodic"] = true;
  CHECK_EQ(checked_totals("stencil27", 512, periodic).messages, 26u * 512);
  // In a periodic grid every process is an interior process.
  for (const i64 n : {1, 44, 45, 112}) {
    periodic["n"] = n;
    CHECK_EQ(checked_totals("stencil27", 216, periodic).bytes, 216u * static_cast<u64>(48 * n * n + 96 * n + 64));
  }
  periodic["face_bytes"] = i64{100}, periodic["edge_bytes"] = i64{10}, periodic["corner_bytes"] = i64{1};
  CHECK_EQ(checked_totals("stencil27", 27, periodic).bytes, 27u * (6 * 100 + 12 * 10 + 8));
  // Twelve rounds: each rank has a chain of twelve receives.
  const Block block = testing::block_of(*motif("stencil27", 0, collective), 1234);
  CHECK_EQ(std::count_if(block.ops.begin(), block.ops.end(), [](const Op& op) { return op.kind == OpKind::kReceive; }),
           12);
}

// If messages take no time, step s of a sweep is done at (x, y) after s + x + y computations.
DEEP_TEST(motifs_lu_is_a_wavefront) {
  const auto duration = [](u32 ranks, const Values& values) {
    const AbstractMachine machine(*motif("lu", ranks, values), false);
    CHECK(machine.finished && machine.sizes_agree);
    return machine.time;
  };
  CHECK_EQ(duration(528, {{"iterations", 1}}), 2u * (150 + 22 + 24 - 2));
  CHECK_EQ(duration(140, {{"iterations", 1}}), 2u * (150 + 10 + 14 - 2));
  CHECK_EQ(duration(12, {{"grid", std::vector<double>{4, 3}}, {"nz", 10}, {"iterations", 3}, {"compute_ns", 7}}),
           3u * 2 * 7 * (1 + 4 + 3 - 2));
}

TEST(motifs_choose_the_grids_of_the_study) {
  using Sizes = std::vector<u32>;
  CHECK(workload::near_square(528) == Sizes({22, 24}));
  CHECK(workload::near_square(140) == Sizes({10, 14}));
  CHECK(workload::near_square(512) == Sizes({16, 32}));
  CHECK(workload::near_square(13) == Sizes({1, 13}));
  CHECK(workload::balanced_sizes(528, 5) == Sizes({2, 2, 3, 4, 11}));
  CHECK(workload::balanced_sizes(243, 5) == Sizes({3, 3, 3, 3, 3}));
  CHECK(workload::balanced_sizes(4096, 3) == Sizes({16, 16, 16}));
  CHECK(workload::balanced_sizes(1, 3) == Sizes({1, 1, 1}));
}

TEST(motifs_refuse_wrong_grids) {
  const auto grid = [](std::vector<double> sizes) { return Values{{"grid", std::move(sizes)}}; };
  CHECK_EQ(motif("halo3d", 0, grid({4, 4, 2}))->ranks, 32u);
  CHECK_EQ(motif("halo3d", 32, grid({4, 4, 2}))->ranks, 32u);
  CHECK_THROWS(ConfigError, motif("halo3d", 33, grid({4, 4, 2})), "motif.halo3d.grid", "4 x 4 x 2 = 32", "33");
  CHECK_THROWS(ConfigError, motif("lqcd", 5), "motif.lqcd.lattice", "factor 5");
  CHECK_THROWS(ConfigError, motif("lu", 0, {{"nzblock", 7}}), "motif.lu.nzblock", "7", "1500");
}

// Every registered motif on few ranks and shortened. It passes the check, and finishes with eager and with rendezvous
// sends. The totals by repeats() are the totals of all blocks.
TEST(motifs_finish) {
  CHECK(registered_names<MotifSpec>().size() >= 11);
  for (const std::string& name : registered_names<MotifSpec>())
    for (const u32 ranks : {1u, 2u, 3u, 4u, 8u, 12u, 16u}) {
      const auto program = motif(name, ranks, {}, 0.005);
      const std::string text = name + " on " + std::to_string(ranks);
      CHECK_EQ(program->ranks, ranks);
      workload::check_program(*program, name);
      const workload::ProgramTotals sum = workload::totals(*program);
      u64 operations = 0, bytes = 0;
      for (u32 rank = 0; rank < ranks; rank++)
        for (u64 index = 0; index < program->blocks(rank); index++) {
          const Block block = testing::block_of(*program, rank, index);
          operations += block.ops.size();
          for (const Op& op : block.ops) bytes += op.kind == OpKind::kSend ? op.size : 0;
        }
      CHECK_EQ(sum.operations, operations);
      CHECK_EQ(sum.bytes, bytes);
      for (const bool rendezvous : {false, true}) {
        const AbstractMachine machine(*program, rendezvous);
        CHECK_FOR(machine.finished, text);
        CHECK_FOR(machine.sizes_agree, text);
      }
    }
}

// The other operation is the default. Three ranks read 8 times per window, in 100 windows.
TEST(motifs_one_sided_gets_finish) {
  const auto program = motif("one_sided", 4, {{"operation", "get"}});
  CHECK_EQ(workload::totals(*program).bytes, u64{3 * 8 * 100} * 4096);
  CHECK(AbstractMachine(*program, true).finished);
}

TEST(motifs_shorten_their_iterations) {
  CHECK_EQ(motif("ur")->blocks(0), 7200u);
  CHECK_EQ(motif("ur", 0, {}, 0.1)->blocks(0), 720u);
  CHECK_EQ(motif("cosmoflow", 0, {}, 0.01)->blocks(0), 1u);
  CHECK_EQ(workload::totals(*motif("halo3d", 0, {}, 0.5)).messages, 2764u * 15);
}

TEST(motifs_ur_pairs_all_ranks) {
  const auto program = motif("ur", 139, {}, 0.05);
  u32 alone = 0;
  for (u64 index = 0; index < program->blocks(0); index++) {
    std::vector<u32> to(139, kNone), from(139, kNone);
    for (u32 rank = 0; rank < 139; rank++) {
      const Block block = testing::block_of(*program, rank, index);
      CHECK_EQ(block.ops.size(), std::size_t{2});
      for (const Op& op : block.ops) (op.kind == OpKind::kSend ? to : from)[rank] = op.peer;
    }
    for (u32 rank = 0; rank < 139; rank++) {
      CHECK_EQ(from[to[rank]], rank);
      alone += to[rank] == rank;
    }
  }
  // One fixed point per iteration on average, as for random permutations.
  CHECK_NEAR(alone / static_cast<double>(program->blocks(0)), 1.0, 0.2);
  // Every rank sends in every iteration: the totals of the study's table.
  CHECK_EQ(workload::totals(*motif("ur")).bytes, 11678515200u);
  CHECK_EQ(workload::totals(*motif("ur", 139)).bytes, 3074457600u);
}

// Roots other than the first rank, and groups that are not the whole job in its order.
TEST(collectives_roots_and_groups) {
  for (const workload::Algorithm algorithm : workload::algorithms(workload::Collective::kBcast))
    for (u32 root = 0; root < 5; root++) {
      const AbstractMachine down(
          written(5, [&](workload::Script& script,
                         const workload::Communicator& comm) { workload::bcast(script, comm, root, 9, algorithm, 0); }),
          true);
      const AbstractMachine up(
          written(5, [&](workload::Script& script,
                         const workload::Communicator& comm) { reduce(script, comm, root, 9, algorithm, 0); }),
          true);
      CHECK(down.finished && up.finished);
      CHECK_EQ(up.knows[root], all_of_ranks(5));
      for (u32 rank = 0; rank < 5; rank++) CHECK(down.knows[rank] >> root & 1);
    }
  const std::vector<u32> group{6, 1, 4};
  const AbstractMachine machine(written(8,
                                        [&](workload::Script& script, const workload::Communicator& all) {
                                          const auto at = std::find(group.begin(), group.end(), all.me);
                                          if (at == group.end()) return;
                                          workload::allreduce(script, {group, static_cast<u32>(at - group.begin())},
                                                              100, workload::Algorithm::kRecursiveDoubling, 0);
                                        }),
                                true);
  CHECK(machine.finished);
  for (const u32 rank : group) CHECK_EQ(machine.knows[rank], 0b1010010u);
  CHECK_EQ(machine.knows[0], 1u);
}

// ---- Programs that the core accepts or refuses: operations without a match, cycles, repeated blocks ----

TEST(programs_that_are_refused) {
  const auto refused = [](const std::function<void(Written&)>& write, const std::vector<std::string>& parts) {
    Written program(3);
    program.of.assign(3, std::vector<Block>(1));
    write(program);
    testing::thrown<ConfigError>(
        __FILE__, __LINE__, "check_program", [&] { workload::check_program(program, "job"); }, parts);
  };
  refused([](Written& p) { p.of[1][0].send(3, 8); },
          {"job: rank 1, block 0, operation 0 (line 1)", "send to rank 3", "3 ranks"});
  refused(
      [](Written& p) {
        for (u32 k = 0; k < 5; k++) p.of[0][0].calc(1);
        p.of[0][0].require(0, 1), p.of[0][0].require(1, 2), p.of[0][0].require(2, 3), p.of[0][0].require(3, 1),
            p.of[0][0].require(4, 3);
      },
      {"rank 0", "1 (line 2) requires 2 (line 3) requires 3 (line 4) requires 1 (line 2)"});
  refused([](Written& p) { p.of[0][0].send(1, 8, 5), p.of[1][0].receive(0, 8, 6); },
          {"rank 0", "send to rank 1, 8 B, tag 5", "1 without a match"});
  refused([](Written& p) { p.of[0][0].send(1, 8), p.of[0][0].send(1, 9), p.of[1][0].receive(kAnySource, 8); },
          {"rank 0", "send to rank 1", "1 without a match"});
}

TEST(programs_that_are_accepted) {
  Written p(3);
  p.of.assign(3, std::vector<Block>(2));
  workload::check_program(p, "empty");
  p.of[0][0].send(1, 8, 5), p.of[0][0].send(1, 8, 6), p.of[2][0].send(1, 8, 5), p.of[2][1].send(1, 8, 9);
  p.of[1][1].receive(0, 8, 5);                      // by source, in a later block
  p.of[1][0].receive(0, 8, kAnyTag);                // the message with tag 6
  p.of[1][0].receive(kAnySource, 8, 5);             // the message of rank 2
  p.of[1][1].receive(kAnySource, 8, kAnyTag);       // the message with tag 9
  p.of[1][1].send(1, 4), p.of[1][1].receive(1, 4);  // rank 1 to itself
  p.of[0][0].calc(3), p.of[0][0].require(0, 2);     // depends on a later operation
  workload::check_program(p, "wildcards");
  CHECK_EQ(workload::totals(p).messages, 5u);
  CHECK_EQ(workload::totals(p).bytes, 36u);
  CHECK_EQ(workload::totals(p).calc_ns, 3u);
  CHECK_EQ(workload::totals(p).operations, 11u);
}

// Runs of blocks that repeats() reports as alike: identical blocks are counted, blocks with shifting peers are checked
// one by one.
TEST(programs_whose_blocks_repeat) {
  struct Shift : Program {
    bool moving = true, wrong = false;
    Shift() { ranks = 5; }
    u64 blocks(u32) const override { return 1000; }
    u64 repeats(u32, u64 index) const override { return 1000 - index; }
    void block(u32 rank, u64 index, Block& out) const override {
      const u32 by = moving ? 1 + static_cast<u32>(index) % 4 : 1;
      out.send((rank + by) % 5, 8), out.receive((rank + 5 - by) % 5, 8);
      if (wrong && rank == 3) out.ops[1].peer = (out.ops[1].peer + 1) % 5;
    }
  };
  Shift shift;
  for (const bool moving : {false, true}) {
    shift.moving = moving;
    shift.wrong = false;
    workload::check_program(shift, "shift");
    CHECK_EQ(workload::totals(shift).messages, 5000u);
    shift.wrong = true;
    // Fixed peers: rank 2 sends to rank 3, which has no receive for it. Shifting peers: rank 3 also expects a message
    // from itself in every fourth block.
    if (moving)
      CHECK_THROWS(ConfigError, workload::check_program(shift, "shift"), "rank 3", "receive from rank 3",
                   "250 without a match");
    else
      CHECK_THROWS(ConfigError, workload::check_program(shift, "shift"), "rank 2", "send to rank 3",
                   "1000 without a match");
  }
}

}  // namespace workload_motifs_test
