// LogGOPS by the book, for tests only: what a program takes on a network without congestion, in whole nanoseconds.
// Plain rather than fast, and nothing of it is shared with the engine that it is compared to.
//
// With s bytes, s' = max(s, 1) - 1 of them behind the first, and clocks of each processor and of each direction of each
// interface:
//   calc     waits for its processor, takes it for its time
//   send     waits for its processor and outgoing interface, takes them for o + s'O and g + s'G; its head is there o +
//   L after its begin message  waits for the receiver's processor and incoming interface, takes them for o + s' max(O,
//   G) and g + s'G. It uses the numbers
//            of the send's cpu and nic, for it need not know its receive yet. Then it meets the first posted receive,
//            or is kept.
//   receive  meets the first kept message or is posted; takes no time itself
// Finished is a calc and an eager send (s <= S) when its processor is free again, a receive when the message it meets
// has left the processor, a rendezvous send when its message has met its receive: this pulls the send's clocks up to
// that moment, without latency. A rank is in one block at a time. LogGOPSim calls an operation finished when it begins,
// and lets whoever comes next wait for its own processor: the same times where a rank uses one processor, earlier ones
// where it uses several.
//
// Events happen in the order of their times, at one time in the order of their creation. One that has to wait happens
// again when its clocks are free and keeps its place in the order of creation. Who loses a clock to another event of
// the same time is noted as a tie: where there is none, every correct engine finds the same times.
#pragma once

#include <algorithm>
#include <memory>
#include <queue>
#include <stdexcept>
#include <vector>

#include "simcore/program.hpp"
#include "simcore/rng.hpp"

namespace loggops {

using namespace flitgym;

// ns; G and O per byte; S bytes. The defaults are LogGOPSim's.
struct Model {
  u64 L = 2500, o = 1500, g = 1000, G = 6, O = 0, S = 65535;
};

struct Who {
  u32 rank;
  u64 block;
  u32 op;
  bool message;  // the message of this send, at its receiver
  bool operator==(const Who&) const = default;
};
struct Times {
  u32 rank;
  u64 block;
  u32 op;
  u64 start, finish;
};
struct Tie {
  u64 time;
  Who winner, loser;
};
struct Result {
  std::vector<u64> end;    // of each rank: when its last processor is free
  std::vector<Times> ops;  // in the order in which ranks got to them
  std::vector<Tie> ties;
  u64 last() const { return *std::max_element(end.begin(), end.end()); }
};

class Reference {
 public:
  Reference(const Program& program, const Model& model) : program_(program), model_(model), ranks_(program.ranks) {}

  Result run() {
    for (u32 rank = 0; rank < program_.ranks; rank++) enter_next_block(rank, kNone);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.kind == Kind::kFinish) finish(event.task);
      else if (event.kind == Kind::kMessage) message(event);
      else if (tasks_[event.task].op.kind == OpKind::kCalc) calc(event);
      else if (tasks_[event.task].op.kind == OpKind::kSend) send(event);
      else receive(event.task);
    }
    for (const Task& task : tasks_) {
      if (!task.finished)
        throw std::runtime_error("operation " + std::to_string(task.who.op) + " of block " +
                                 std::to_string(task.who.block) + " of rank " + std::to_string(task.who.rank) +
                                 " never finishes");
      result_.ops.push_back({task.who.rank, task.who.block, task.who.op, task.start, task.finish});
    }
    for (const Rank& rank : ranks_) {
      u64 end = 0;
      for (const Clock& clock : rank.cpu) end = std::max(end, clock.free);
      result_.end.push_back(end);
    }
    return std::move(result_);
  }

 private:
  enum class Kind : u8 { kStart, kMessage, kFinish };
  struct Event {
    u64 time, number;
    Kind kind;
    u32 task;  // of a message: its send
    // for a queue of the largest
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  struct Clock {
    u64 free = 0, taken_at = ~u64{0};
    Who holder{};
  };
  struct Task {
    Who who;
    Op op;
    u32 waits = 0;
    std::vector<u32> after_finish, after_start;
    u64 start = 0, finish = 0;
    u64 cpu_free = 0;  // of a send: when its processor is
    bool finished = false;
  };
  struct Kept {
    u32 send;
    u64 cpu_free;  // when the receiver's processor is done with it
  };
  struct Rank {
    std::vector<Clock> cpu = std::vector<Clock>(256), out = std::vector<Clock>(256), in = std::vector<Clock>(256);
    std::vector<u32> posted;
    std::vector<Kept> kept;
    u64 next_block = 0;
    u32 open = 0;  // operations of the block it is in that are not finished
  };

  void create(u64 time, Kind kind, u32 task) { events_.push({time, created_++, kind, task}); }

  // ---- blocks and dependencies ----

  void enter_next_block(u32 rank, u32 cause) {
    Rank& r = ranks_[rank];
    while (r.open == 0 && r.next_block < program_.blocks(rank)) {
      Block block;
      program_.block(rank, r.next_block, block);
      const u32 first = static_cast<u32>(tasks_.size());
      for (u32 op = 0; op < block.ops.size(); op++) {
        tasks_.emplace_back();
        tasks_.back().who = {rank, r.next_block, op, false};
        tasks_.back().op = block.ops[op];
      }
      for (const Dependency& d : block.dependencies) {
        tasks_[first + d.after].waits++;
        (d.on_start ? tasks_[first + d.before].after_start : tasks_[first + d.before].after_finish)
            .push_back(first + d.after);
      }
      r.next_block++;
      r.open = static_cast<u32>(block.ops.size());
      for (u32 task = first; task < tasks_.size(); task++)
        if (tasks_[task].waits == 0) release(task, cause);
    }
  }

  // What `cause` let go of. That it has to wait for a clock that `cause` itself has just taken is no tie.
  void release(u32 task, u32 cause) {
    const Who* by = cause == kNone ? nullptr : &tasks_[cause].who;
    const Op& op = tasks_[task].op;
    Rank& r = ranks_[tasks_[task].who.rank];
    u64 time = now_;
    if (op.kind == OpKind::kCalc) time = free_at(tasks_[task].who, by, {&r.cpu[op.cpu]});
    if (op.kind == OpKind::kSend) time = free_at(tasks_[task].who, by, {&r.cpu[op.cpu], &r.out[op.nic]});
    create(time, Kind::kStart, task);
  }
  void meet(const std::vector<u32>& successors, u32 cause) {
    for (const u32 task : successors)
      if (--tasks_[task].waits == 0) release(task, cause);
  }
  void started(u32 task) {
    tasks_[task].start = now_;
    meet(std::vector<u32>(tasks_[task].after_start), task);
  }
  void finish_at(u32 task, u64 time) { create(time, Kind::kFinish, task); }
  void finish(u32 task) {
    tasks_[task].finished = true;
    tasks_[task].finish = now_;
    const u32 rank = tasks_[task].who.rank;
    meet(std::vector<u32>(tasks_[task].after_finish), task);
    if (--ranks_[rank].open == 0) enter_next_block(rank, task);
  }

  // ---- clocks ----

  u64 free_at(const Who& who, const Who* cause, std::initializer_list<Clock*> clocks) {
    u64 time = now_;
    for (const Clock* clock : clocks) {
      time = std::max(time, clock->free);
      if (clock->free > now_ && clock->taken_at == now_ && !(cause && *cause == clock->holder))
        result_.ties.push_back({now_, clock->holder, who});
    }
    return time;
  }
  bool has_to_wait(Event event, const Who& who, std::initializer_list<Clock*> clocks) {
    const u64 time = free_at(who, nullptr, clocks);
    if (time == now_) return false;
    event.time = time;
    events_.push(event);
    return true;
  }
  void take(Clock& clock, const Who& who, u64 ns) { clock = {now_ + ns, now_, who}; }
  static u64 behind_first(const Op& op) { return std::max(op.size, u64{1}) - 1; }

  // ---- the four of them ----

  void calc(const Event& event) {
    const Task& task = tasks_[event.task];
    Clock& cpu = ranks_[task.who.rank].cpu[task.op.cpu];
    if (has_to_wait(event, task.who, {&cpu})) return;
    take(cpu, task.who, task.op.size);
    finish_at(event.task, cpu.free);
    started(event.task);
  }
  void send(const Event& event) {
    Task& task = tasks_[event.task];
    Clock& cpu = ranks_[task.who.rank].cpu[task.op.cpu];
    Clock& out = ranks_[task.who.rank].out[task.op.nic];
    if (has_to_wait(event, task.who, {&cpu, &out})) return;
    take(cpu, task.who, model_.o + behind_first(task.op) * model_.O);
    take(out, task.who, model_.g + behind_first(task.op) * model_.G);
    task.cpu_free = cpu.free;
    create(now_ + model_.o + model_.L, Kind::kMessage, event.task);
    if (task.op.size <= model_.S) finish_at(event.task, cpu.free);
    started(event.task);
  }
  void message(const Event& event) {
    const Task& sent = tasks_[event.task];
    Rank& r = ranks_[sent.op.peer];
    Who who = sent.who;
    who.message = true;
    Clock& cpu = r.cpu[sent.op.cpu];
    Clock& in = r.in[sent.op.nic];
    if (has_to_wait(event, who, {&cpu, &in})) return;
    take(cpu, who, model_.o + behind_first(sent.op) * std::max(model_.O, model_.G));
    take(in, who, model_.g + behind_first(sent.op) * model_.G);
    for (std::size_t k = 0; k < r.posted.size(); k++)
      if (fits(r.posted[k], event.task)) {
        const u32 task = r.posted[k];
        r.posted.erase(r.posted.begin() + static_cast<std::ptrdiff_t>(k));
        return met(task, event.task, cpu.free);
      }
    r.kept.push_back({event.task, cpu.free});
  }
  void receive(u32 task) {
    Rank& r = ranks_[tasks_[task].who.rank];
    for (std::size_t k = 0; k < r.kept.size(); k++)
      if (fits(task, r.kept[k].send)) {
        const Kept kept = r.kept[k];
        r.kept.erase(r.kept.begin() + static_cast<std::ptrdiff_t>(k));
        met(task, kept.send, kept.cpu_free);
        return started(task);
      }
    r.posted.push_back(task);
    started(task);
  }

  bool fits(u32 receives, u32 sends) const {
    const Op& wanted = tasks_[receives].op;
    const Task& sent = tasks_[sends];
    return (wanted.peer == kAnySource || wanted.peer == sent.who.rank) &&
           (wanted.tag == kAnyTag || wanted.tag == sent.op.tag);
  }
  void met(u32 receives, u32 sends, u64 cpu_free) {
    finish_at(receives, std::max(now_, cpu_free));
    const Task& sent = tasks_[sends];
    if (sent.op.size <= model_.S) return;
    Rank& sender = ranks_[sent.who.rank];
    for (Clock* clock : {&sender.cpu[sent.op.cpu], &sender.out[sent.op.nic]}) clock->free = std::max(clock->free, now_);
    finish_at(sends, std::max(now_, sent.cpu_free));
  }

  const Program& program_;
  const Model model_;
  u64 now_ = 0, created_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Task> tasks_;
  std::priority_queue<Event> events_;
  Result result_;
};

inline Result run(const Program& program, const Model& model = {}) { return Reference(program, model).run(); }

// ---- random programs ----

struct ListedProgram : Program {
  std::vector<std::vector<Block>> listed;  // of each rank
  explicit ListedProgram(u32 count) : listed(count) { ranks = count; }
  u64 blocks(u32 rank) const override { return listed[rank].size(); }
  void block(u32 rank, u64 index, Block& out) const override { out = listed[rank][index]; }
};

// A program of about `ops` operations in which every message has its receive, nothing waits for itself and no ties
// occur under `model`, so that every correct engine gives the same times. Operations are made one after the other, a
// receive right after its send, and depend on earlier ones only: this order proves that all of them can happen, also
// with rendezvous. Ties are then taken out one by one.
class RandomProgram {
 public:
  static constexpr u32 kCpus = 6, kNics = 4;

  RandomProgram(u64 seed, u32 ranks, u32 ops, const Model& model)
      : seed_(seed), model_(model), program_(std::make_shared<ListedProgram>(ranks)) {
    for (auto& blocks : program_->listed) blocks.resize(1);
    for (u32 made = 0; made < ops;) made += add(below(ranks));
  }

  // Nothing when ties remain: a change that makes more of them is taken back.
  std::shared_ptr<const Program> without_ties(u32 attempts) {
    std::vector<Tie> ties = run(*program_, model_).ties;
    for (; attempts > 0 && !ties.empty(); attempts--) {
      const auto before = program_->listed;
      change(ties[below(static_cast<u32>(ties.size()))]);
      std::vector<Tie> left = run(*program_, model_).ties;
      if (left.size() <= ties.size()) ties = std::move(left);
      else program_->listed = before;
    }
    return ties.empty() ? program_ : nullptr;
  }

 private:
  struct Pair {
    Who send, receive;
  };

  u32 below(u32 n) { return flitgym::below(draw(seed_, 0, drawn_++), n); }
  bool chance(u32 percent) { return below(100) < percent; }
  Block& block(const Who& who) { return program_->listed[who.rank][who.block]; }
  Op& op(const Who& who) { return block(who).ops[who.op]; }

  u32 add(u32 rank) {
    if (chance(4) && !program_->listed[rank].back().ops.empty()) program_->listed[rank].emplace_back();
    if (chance(60)) {
      add(rank, {chance(10) ? 0 : u64{1} + below(30000), 0, 0, OpKind::kCalc, static_cast<u8>(below(kCpus)), 0, {}}, 0);
      return 1;
    }
    // A tag of its own for each message: whatever the order of arrival, it meets its receive. Sizes on both sides of S.
    const u32 to = chance(3) ? rank : below(program_->ranks);
    const u64 size = chance(5) ? 0 : chance(10) ? model_.S - 50 + below(100) : 1 + below(600);
    Op made{size,
            to,
            static_cast<i32>(pairs_.size()) + 1,
            OpKind::kSend,
            static_cast<u8>(below(kCpus)),
            static_cast<u8>(below(kNics)),
            {}};
    const Who send = add(rank, made, 0);
    made.kind = OpKind::kReceive;
    made.peer = chance(15) ? kAnySource : rank;
    pairs_.push_back({send, add(to, made, to == rank)});
    return 2;
  }
  // Behind one or two earlier operations of the block, but not the last `spared` ones: a rendezvous with oneself needs
  // both sides.
  Who add(u32 rank, const Op& made, u32 spared) {
    Block& mine = program_->listed[rank].back();
    const u32 index = mine.add(made), earlier = index - std::min(index, spared);
    if (earlier > 0) {
      mine.require(index, chance(70) ? earlier - 1 : below(earlier), chance(15));
      if (chance(30)) mine.require(index, below(earlier), chance(15));
    }
    return {rank, program_->listed[rank].size() - 1, index, false};
  }

  // Of two operations the later one waits for the earlier one; otherwise one of the two goes to another processor and
  // interface, or one operation of the rank takes longer.
  void change(const Tie& tie) {
    const auto& [time, winner, loser] = tie;
    const bool same_block = !winner.message && !loser.message && winner.block == loser.block;
    if (same_block && !is_pair(op(winner), op(loser)))
      return block(winner).require(std::max(winner.op, loser.op), std::min(winner.op, loser.op));
    Who who = chance(50) ? winner : loser;
    who.message = false;
    Op& chosen = op(who);
    if (chosen.kind == OpKind::kCalc) {
      if (chance(50)) chosen.size += below(20000);
      else chosen.cpu = static_cast<u8>(below(kCpus));
      return;
    }
    chosen.cpu = static_cast<u8>(below(kCpus)), chosen.nic = static_cast<u8>(below(kNics));
    for (const Pair& pair : pairs_)
      if (pair.send == who) op(pair.receive).cpu = chosen.cpu, op(pair.receive).nic = chosen.nic;
  }
  static bool is_pair(const Op& a, const Op& b) {
    return a.kind != OpKind::kCalc && b.kind != OpKind::kCalc && a.tag == b.tag;
  }

  const u64 seed_;
  const Model model_;
  u64 drawn_ = 0;
  std::shared_ptr<ListedProgram> program_;
  std::vector<Pair> pairs_;
};

inline std::shared_ptr<const Program> random_program(u64 seed, u32 ranks, u32 ops, const Model& model = {}) {
  for (u64 attempt = 0; attempt < 20; attempt++)
    if (auto program = RandomProgram(mix64(seed) + attempt, ranks, ops, model).without_ties(3 * ops + 50))
      return program;
  throw std::runtime_error("no random program of " + std::to_string(ops) + " operations on " + std::to_string(ranks) +
                           " ranks without ties; use fewer operations or more ranks");
}

}  // namespace loggops
