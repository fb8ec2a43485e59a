// Runs a program without a network, for tests of the meaning of programs. Every message takes `message_ns`, which is 0
// unless given. A message carries the knowledge that its rank had when the last dependency of the send was done. A send
// is done at once (eager) or when its receive is posted (rendezvous).
#pragma once

#include <deque>
#include <functional>
#include <tuple>

#include "simcore/program.hpp"

namespace testing {

using namespace flitgym;

class AbstractMachine {
 public:
  // `carries` reports whether the message of a send (rank, block, operation) carries the rank's knowledge. Empty: every
  // message does.
  using Carries = std::function<bool(u32 rank, u64 block, u32 op)>;

  bool finished = true;     // false: a deadlock, some ranks wait for each other
  bool sizes_agree = true;  // every receive got a message of its own size
  bool once = true;         // no contribution was merged twice: each message was new to its receiver, or complete
  u64 time = 0;             // ns of computation and messages on the longest path
  std::vector<u64> knows;   // [ranks] bit r: the rank knows the contribution of rank r (ranks up to 64)
  std::vector<u64> received, sent;             // [ranks] bytes
  std::map<std::pair<u32, u32>, u64> between;  // bytes, by (source, destination)

  AbstractMachine(const Program& program, bool rendezvous, Carries carries = {}, u64 message_ns = 0)
      : program_(program), rendezvous_(rendezvous), message_ns_(message_ns), carries_(std::move(carries)),
        ranks_(program.ranks) {
    knows.resize(program.ranks), received.resize(program.ranks), sent.resize(program.ranks);
    for (u32 rank = 0; rank < program.ranks; rank++) {
      knows[rank] = u64{1} << rank % 64;
      enter(rank);
    }
    while (!ready_.empty()) {
      const auto [rank, op] = ready_.front();
      ready_.pop_front();
      start(rank, op);
    }
    for (const Rank& rank : ranks_) finished &= rank.block == rank.blocks;
  }

 private:
  struct Rank {
    Block block_ops;
    u64 block = 0, blocks = 0, now = 0;
    std::vector<u32> waits;              // [ops] unfinished dependencies
    std::vector<u64> begin, knows;       // [ops] earliest start, and the rank's knowledge at that time
    std::vector<std::vector<u32>> next;  // [ops] the operations that depend on this one
    u32 left = 0;
  };
  struct Posted {
    u32 rank, op;
    u64 begin, bytes, knowledge;
  };
  struct Channel {
    std::deque<Posted> sends, receives;
  };

  void enter(u32 r) {
    Rank& rank = ranks_[r];
    rank.blocks = program_.blocks(r);
    for (; rank.block < rank.blocks; rank.block++) {
      rank.block_ops.clear();
      program_.block(r, rank.block, rank.block_ops);
      rank.left = static_cast<u32>(rank.block_ops.ops.size());
      rank.waits.assign(rank.left, 0);
      rank.begin.assign(rank.left, rank.now);
      rank.knows.assign(rank.left, knows[r]);
      rank.next.assign(rank.left, {});
      for (const Dependency& d : rank.block_ops.dependencies)
        rank.waits[d.after]++, rank.next[d.before].push_back(d.after);
      for (u32 op = 0; op < rank.left; op++)
        if (rank.waits[op] == 0) ready_.push_back({r, op});
      if (rank.left > 0) return;
    }
    time = std::max(time, rank.now);
  }

  void start(u32 r, u32 index) {
    Rank& rank = ranks_[r];
    const Op op = rank.block_ops.ops[index];
    const u64 begin = rank.begin[index];
    if (op.kind == OpKind::kCalc) return finish(r, index, begin + op.size, 0);
    const bool send = op.kind == OpKind::kSend;
    const auto key = send ? std::tuple(r, op.peer, op.tag) : std::tuple(op.peer, r, op.tag);
    Channel& channel = channels_[key];
    if (send) {
      sent[r] += op.size;
      between[{r, op.peer}] += op.size;
      channel.sends.push_back(
          {r, index, begin, op.size, !carries_ || carries_(r, rank.block, index) ? rank.knows[index] : 0});
      if (!rendezvous_) finish(r, index, begin, 0);
    } else {
      channel.receives.push_back({r, index, begin, op.size, 0});
    }
    if (channel.sends.empty() || channel.receives.empty()) return;
    const Posted from = channel.sends.front(), to = channel.receives.front();
    channel.sends.pop_front(), channel.receives.pop_front();
    const u64 all = program_.ranks >= 64 ? ~u64{0} : (u64{1} << program_.ranks) - 1;
    once &= (from.knowledge & knows[to.rank]) == 0 || from.knowledge == all;
    sizes_agree &= from.bytes == to.bytes;
    knows[to.rank] |= from.knowledge;
    received[to.rank] += from.bytes;
    const u64 end =
        rendezvous_ ? std::max(from.begin, to.begin) + message_ns_ : std::max(from.begin + message_ns_, to.begin);
    if (rendezvous_) finish(from.rank, from.op, end, 0);
    finish(to.rank, to.op, end, from.knowledge);
  }

  void finish(u32 r, u32 index, u64 when, u64 learned) {
    Rank& rank = ranks_[r];
    rank.now = std::max(rank.now, when);
    for (const u32 after : rank.next[index]) {
      rank.begin[after] = std::max(rank.begin[after], when);
      rank.knows[after] |= rank.knows[index] | learned;
      if (--rank.waits[after] == 0) ready_.push_back({r, after});
    }
    if (--rank.left == 0) {
      rank.block++;
      enter(r);
    }
  }

  const Program& program_;
  bool rendezvous_;
  u64 message_ns_;
  Carries carries_;
  std::vector<Rank> ranks_;
  std::map<std::tuple<u32, u32, i32>, Channel> channels_;
  std::deque<std::pair<u32, u32>> ready_;
};

}  // namespace testing
