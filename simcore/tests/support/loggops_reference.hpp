// A plain LogGOPS interpreter for tests: the time that a program takes on a network without congestion, in whole ns. It
// shares no code with the engine that it is compared to.
//
// Let s be the bytes of a message and s' = max(s, 1) - 1 the bytes after the first. Each processor has a clock. Each
// interface has two, one per direction. A clock holds the time at which its owner is free again.
//   calc     waits for its processor and occupies it for its own time.
//   send     waits for its processor and outgoing interface. It occupies them for o + s'O and g + s'G.
//            Its message begins to arrive o + L later.
//   message  waits for the receiver's processor and incoming interface. It occupies them for
//            o + s' max(O, G) and g + s'G. Both have the numbers that the send names, because the receive
//            may not be known yet. Then the message meets the first posted receive, or is kept.
//   receive  meets the first kept message, or is posted. It takes no time itself.
// Times of finish:
//   calc, eager send (s <= S)  when the processor is free again
//   receive                    when its message has left the processor
//   rendezvous send            when its message has met its receive. The clocks of the send advance to that
//                              moment, without latency.
// A rank runs one block at a time. LogGOPSim differs: it counts an operation as finished when it begins, and the next
// operation waits only for its own processor. Both rules give the same times if a rank uses one processor. If it uses
// several, LogGOPSim's times may be earlier.
//
// Events run in the order of time, and at equal times in the order of creation. An event that has to wait runs again
// when its clocks are free and keeps its place in the order of creation. If two events of the same time need the same
// clock, a tie is recorded. Without ties every correct engine finds the same times.
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

// Times in ns, G and O in ns per byte, S in bytes. The defaults are LogGOPSim's.
struct Model {
  u64 L = 2500, o = 1500, g = 1000, G = 6, O = 0, S = 65535;
};

struct OpId {
  u32 rank;
  u64 block;
  u32 op;
  bool message;  // true: the message of this send, at its receiver
  bool operator==(const OpId&) const = default;
};
struct Times {
  u32 rank;
  u64 block;
  u32 op;
  u64 start, finish;
};
struct Tie {
  u64 time;
  OpId winner, loser;
};
struct Result {
  std::vector<u64> end;    // [ranks] time at which the last processor is free
  std::vector<Times> ops;  // in the order in which ranks reached them
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
        throw std::runtime_error("operation " + std::to_string(task.id.op) + " of block " +
                                 std::to_string(task.id.block) + " of rank " + std::to_string(task.id.rank) +
                                 " never finishes");
      result_.ops.push_back({task.id.rank, task.id.block, task.id.op, task.start, task.finish});
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
    // Reversed: std::priority_queue takes the largest first.
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  struct Clock {
    u64 free = 0, taken_at = ~u64{0};
    OpId holder{};
  };
  struct Task {
    OpId id;
    Op op;
    u32 waits = 0;
    std::vector<u32> after_finish, after_start;
    u64 start = 0, finish = 0;
    u64 cpu_free = 0;  // time at which the processor of a send is free
    bool finished = false;
  };
  struct Kept {
    u32 send;
    u64 cpu_free;  // time at which the receiver's processor has handled the message
  };
  struct Rank {
    std::vector<Clock> cpu = std::vector<Clock>(256), out = std::vector<Clock>(256), in = std::vector<Clock>(256);
    std::vector<u32> posted;
    std::vector<Kept> kept;
    u64 next_block = 0;
    u32 open = 0;  // unfinished operations of the current block
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
        tasks_.back().id = {rank, r.next_block, op, false};
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

  // Schedules a task whose last dependency is `cause`. If the task waits for a clock that `cause` has just taken, this
  // is not a tie.
  void release(u32 task, u32 cause) {
    const OpId* by = cause == kNone ? nullptr : &tasks_[cause].id;
    const Op& op = tasks_[task].op;
    Rank& r = ranks_[tasks_[task].id.rank];
    u64 time = now_;
    if (op.kind == OpKind::kCalc) time = free_at(tasks_[task].id, by, {&r.cpu[op.cpu]});
    if (op.kind == OpKind::kSend) time = free_at(tasks_[task].id, by, {&r.cpu[op.cpu], &r.out[op.nic]});
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
    const u32 rank = tasks_[task].id.rank;
    meet(std::vector<u32>(tasks_[task].after_finish), task);
    if (--ranks_[rank].open == 0) enter_next_block(rank, task);
  }

  // ---- clocks ----

  u64 free_at(const OpId& id, const OpId* cause, std::initializer_list<Clock*> clocks) {
    u64 time = now_;
    for (const Clock* clock : clocks) {
      time = std::max(time, clock->free);
      if (clock->free > now_ && clock->taken_at == now_ && !(cause && *cause == clock->holder))
        result_.ties.push_back({now_, clock->holder, id});
    }
    return time;
  }
  bool has_to_wait(Event event, const OpId& id, std::initializer_list<Clock*> clocks) {
    const u64 time = free_at(id, nullptr, clocks);
    if (time == now_) return false;
    event.time = time;
    events_.push(event);
    return true;
  }
  void take(Clock& clock, const OpId& id, u64 ns) { clock = {now_ + ns, now_, id}; }
  static u64 behind_first(const Op& op) { return std::max(op.size, u64{1}) - 1; }

  // ---- the four kinds of events ----

  void calc(const Event& event) {
    const Task& task = tasks_[event.task];
    Clock& cpu = ranks_[task.id.rank].cpu[task.op.cpu];
    if (has_to_wait(event, task.id, {&cpu})) return;
    take(cpu, task.id, task.op.size);
    finish_at(event.task, cpu.free);
    started(event.task);
  }
  void send(const Event& event) {
    Task& task = tasks_[event.task];
    Clock& cpu = ranks_[task.id.rank].cpu[task.op.cpu];
    Clock& out = ranks_[task.id.rank].out[task.op.nic];
    if (has_to_wait(event, task.id, {&cpu, &out})) return;
    take(cpu, task.id, model_.o + behind_first(task.op) * model_.O);
    take(out, task.id, model_.g + behind_first(task.op) * model_.G);
    task.cpu_free = cpu.free;
    create(now_ + model_.o + model_.L, Kind::kMessage, event.task);
    if (task.op.size <= model_.S) finish_at(event.task, cpu.free);
    started(event.task);
  }
  void message(const Event& event) {
    const Task& sent = tasks_[event.task];
    Rank& r = ranks_[sent.op.peer];
    OpId id = sent.id;
    id.message = true;
    Clock& cpu = r.cpu[sent.op.cpu];
    Clock& in = r.in[sent.op.nic];
    if (has_to_wait(event, id, {&cpu, &in})) return;
    take(cpu, id, model_.o + behind_first(sent.op) * std::max(model_.O, model_.G));
    take(in, id, model_.g + behind_first(sent.op) * model_.G);
    for (std::size_t k = 0; k < r.posted.size(); k++)
      if (fits(r.posted[k], event.task)) {
        const u32 task = r.posted[k];
        r.posted.erase(r.posted.begin() + static_cast<std::ptrdiff_t>(k));
        return met(task, event.task, cpu.free);
      }
    r.kept.push_back({event.task, cpu.free});
  }
  void receive(u32 task) {
    Rank& r = ranks_[tasks_[task].id.rank];
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
    return (wanted.peer == kAnySource || wanted.peer == sent.id.rank) &&
           (wanted.tag == kAnyTag || wanted.tag == sent.op.tag);
  }
  void met(u32 receives, u32 sends, u64 cpu_free) {
    finish_at(receives, std::max(now_, cpu_free));
    const Task& sent = tasks_[sends];
    if (sent.op.size <= model_.S) return;
    Rank& sender = ranks_[sent.id.rank];
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
  std::vector<std::vector<Block>> listed;  // [ranks][blocks]
  explicit ListedProgram(u32 count) : listed(count) { ranks = count; }
  u64 blocks(u32 rank) const override { return listed[rank].size(); }
  void block(u32 rank, u64 index, Block& out) const override { out = listed[rank][index]; }
};

// A program of about `ops` operations. Every message has a receive, no operation waits for itself, and no ties occur
// under `model`, so every correct engine gives the same times. Operations are added one by one, each receive right
// after its send. They depend only on earlier operations, so the program can finish, also with rendezvous. Ties are
// then removed one by one.
class RandomProgram {
 public:
  static constexpr u32 kCpus = 6, kNics = 4;

  RandomProgram(u64 seed, u32 ranks, u32 ops, const Model& model)
      : seed_(seed), model_(model), program_(std::make_shared<ListedProgram>(ranks)) {
    for (auto& blocks : program_->listed) blocks.resize(1);
    for (u32 made = 0; made < ops;) made += add(below(ranks));
  }

  // Returns null if ties remain. A change that adds ties is undone.
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
    OpId send, receive;
  };

  u32 below(u32 n) { return flitgym::below(draw(seed_, 0, drawn_++), n); }
  bool chance(u32 percent) { return below(100) < percent; }
  Block& block(const OpId& id) { return program_->listed[id.rank][id.block]; }
  Op& op(const OpId& id) { return block(id).ops[id.op]; }

  u32 add(u32 rank) {
    if (chance(4) && !program_->listed[rank].back().ops.empty()) program_->listed[rank].emplace_back();
    if (chance(60)) {
      add(rank, {chance(10) ? 0 : u64{1} + below(30000), 0, 0, OpKind::kCalc, static_cast<u8>(below(kCpus)), 0, {}}, 0);
      return 1;
    }
    // Each message has a unique tag, so it meets its own receive in any order of arrival. Some sizes are close to S, on
    // both sides.
    const u32 to = chance(3) ? rank : below(program_->ranks);
    const u64 size = chance(5) ? 0 : chance(10) ? model_.S - 50 + below(100) : 1 + below(600);
    Op made{size,
            to,
            static_cast<i32>(pairs_.size()) + 1,
            OpKind::kSend,
            static_cast<u8>(below(kCpus)),
            static_cast<u8>(below(kNics)),
            {}};
    const OpId send = add(rank, made, 0);
    made.kind = OpKind::kReceive;
    made.peer = chance(15) ? kAnySource : rank;
    pairs_.push_back({send, add(to, made, to == rank)});
    return 2;
  }
  // Adds an operation that depends on one or two earlier operations of the block, but on none of the last `spared`. In
  // a rendezvous of a rank with itself, the receive must not wait for the send.
  OpId add(u32 rank, const Op& made, u32 spared) {
    Block& mine = program_->listed[rank].back();
    const u32 index = mine.add(made), earlier = index - std::min(index, spared);
    if (earlier > 0) {
      mine.require(index, chance(70) ? earlier - 1 : below(earlier), chance(15));
      if (chance(30)) mine.require(index, below(earlier), chance(15));
    }
    return {rank, program_->listed[rank].size() - 1, index, false};
  }

  // Removes a tie. If both operations are in one block and are not a send and its receive, the later one gets a
  // dependency on the earlier one. Otherwise one of them moves to another processor and interface, or a calc becomes
  // longer.
  void change(const Tie& tie) {
    const auto& [time, winner, loser] = tie;
    const bool same_block = !winner.message && !loser.message && winner.block == loser.block;
    if (same_block && !is_pair(op(winner), op(loser)))
      return block(winner).require(std::max(winner.op, loser.op), std::min(winner.op, loser.op));
    OpId id = chance(50) ? winner : loser;
    id.message = false;
    Op& chosen = op(id);
    if (chosen.kind == OpKind::kCalc) {
      if (chance(50)) chosen.size += below(20000);
      else chosen.cpu = static_cast<u8>(below(kCpus));
      return;
    }
    chosen.cpu = static_cast<u8>(below(kCpus)), chosen.nic = static_cast<u8>(below(kNics));
    for (const Pair& pair : pairs_)
      if (pair.send == id) op(pair.receive).cpu = chosen.cpu, op(pair.receive).nic = chosen.nic;
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
