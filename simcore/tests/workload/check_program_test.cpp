// Programs that the core accepts or refuses: operations without a match, cycles, repeated blocks.
#include "simcore/error.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/workload/script.hpp"
#include "support/written.hpp"
#include "test.hpp"

namespace workload_check_program_test {

using namespace flitgym;
using testing::Written;

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

}  // namespace workload_check_program_test
