// GOAL schedules as text, as bytes and as arrays: their content, refusals with their places, and lossless writing.
#include "readers/goal.hpp"

#include "readers/array_program.hpp"
#include "readers/goal_binary.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/workload.hpp"
#include "support/fabrics.hpp"
#include "support/fuzz.hpp"
#include "support/loggops_reference.hpp"

namespace workload_goal_test {

using namespace flitgym;
using fabrics::File;
using testing::block_of;

std::string text(const Op& op) {
  return std::to_string(static_cast<int>(op.kind)) + " " + std::to_string(op.size) + " peer " +
         std::to_string(op.peer) + " tag " + std::to_string(op.tag) + " cpu " + std::to_string(op.cpu) + " nic " +
         std::to_string(op.nic);
}
std::string text(const Block& block) {
  std::string out;
  for (const Op& op : block.ops) out += text(op) + "\n";
  for (const Dependency& d : block.dependencies)
    out += std::to_string(d.before) + (d.on_start ? " ~> " : " -> ") + std::to_string(d.after) + "\n";
  return out;
}
std::string text(const Program& program) {
  std::string out;
  for (u32 rank = 0; rank < program.ranks; rank++)
    for (u64 index = 0; index < program.blocks(rank); index++)
      out += "rank " + std::to_string(rank) + "\n" + text(block_of(program, rank, index));
  return out;
}

// The block of a program with one rank and the lines `body`.
Block only(const std::string& body) {
  return block_of(*workload::read_goal("num_ranks 1\nrank 0 {\n" + body + "}\n", "x.goal"), 0);
}

void refused(const std::string& goal, const std::string& place, const std::vector<std::string>& parts) {
  const std::string message = testing::thrown<ConfigError>(
      __FILE__, __LINE__, "read_goal", [&] { workload::read_goal(goal, "x.goal"); }, parts);
  CHECK_FOR(message.starts_with("x.goal:" + place + ": "), message);
  CHECK_FOR(message.find("; expected ") != std::string::npos, message);
}
// The same for lines of rank 0 of two ranks. The first of these lines is line 3.
void refused_in_rank(const std::string& lines, const std::string& place, const std::vector<std::string>& parts) {
  refused("num_ranks 2\nrank 0 {\n" + lines + "\n}\nrank 1 {\n}\n", place, parts);
}
// The same for a program that cannot run, in which the operation at line `line` is named.
void refused_program(const std::string& goal, u32 line, const std::string& part) {
  CHECK_THROWS(ConfigError, workload::read_goal(goal, "x.goal"), "x.goal: rank ",
               "(x.goal:" + std::to_string(line) + ")", part);
}

// Messages down and up a binary tree.
std::string tree(u32 ranks) {
  std::string out = "num_ranks " + std::to_string(ranks) + "\n";
  for (u32 rank = 0; rank < ranks; rank++) {
    out += "rank " + std::to_string(rank) + " {\nwork: calc 100\n";
    const std::string parent = std::to_string((rank - 1) / 2);
    if (rank > 0)
      out += "in: recv 8b from " + parent + " tag 1\nout: send 8b to " + parent +
             " tag 2\nwork requires in\nout requires work\n";
    for (const u32 child : {2 * rank + 1, 2 * rank + 2})
      if (child < ranks) {
        const std::string n = std::to_string(child);
        out += "down" + n + ": send 8b to " + n + " tag 1\nup" + n + ": recv 8b from " + n + " tag 2\n";
        if (rank > 0) out += "down" + n + " requires in\nout requires up" + n + "\n";
      }
    out += "}\n";
  }
  return out;
}

// The arrays of a program, which the cases change.
struct Arrays {
  i64 ranks = 2;
  // Rank 0: three times {calc, send}, then {send}. Rank 1: four times {receive}.
  std::vector<i64> rank{0, 0, 0, 1}, block{0, 0, 1, 0}, kind{0, 1, 1, 2}, size{100, 8, 8, 8}, peer{0, 1, 1, 0},
      tag{0, 5, 5, 5}, cpu{0, 0, 1, 0};
  std::vector<i64> d_rank{0}, d_block{0}, d_before{0}, d_after{1}, d_on_start{0};
  std::vector<i64> r_rank{0, 1}, r_block{0, 0}, r_count{3, 4};
  std::shared_ptr<const Program> program() const {
    workload::ProgramArrays a;
    a.ranks = ranks;
    a.op_rank = rank, a.op_block = block, a.op_kind = kind, a.op_size = size, a.op_peer = peer, a.op_tag = tag,
    a.op_cpu = cpu;
    a.dependency_rank = d_rank, a.dependency_block = d_block, a.dependency_before = d_before,
    a.dependency_after = d_after, a.dependency_on_start = d_on_start;
    a.repeat_rank = r_rank, a.repeat_block = r_block, a.repeat_count = r_count;
    return workload::looped_program(a);
  }
};

TEST(goal_example_is_read_exactly) {
  const auto program = workload::read_goal(loggops::kPingPong, "ping_pong.goal");
  CHECK_EQ(program->ranks, 2u);
  CHECK_EQ(program->blocks(0), 1u);
  CHECK_EQ(
      text(block_of(*program, 0)),
      "0 4000 peer 0 tag 0 cpu 0 nic 0\n1 1000 peer 1 tag 7 cpu 0 nic 0\n2 1000 peer 1 tag 9 cpu 0 nic 0\n0 -> 1\n");
  CHECK_EQ(text(block_of(*program, 1)),
           "2 1000 peer 0 tag 7 cpu 0 nic 0\n0 500 peer 0 tag 0 cpu 0 nic 0\n1 1000 peer 0 tag 9 cpu 0 nic 0\n0 -> "
           "1\n1 -> 2\n");
  CHECK_EQ(program->where(0, 0, 1), "ping_pong.goal:4");
  CHECK_EQ(program->where(1, 0, 2), "ping_pong.goal:12");
}

TEST(goal_options_wildcards_and_irequires) {
  CHECK_EQ(text(only("a: send 5b to 0 tag 3 cpu 1 nic 2\nb: recv 5 b from -1 tag -1 nic 255\ncalc 9223372036854775807 "
                     "cpu 255\nb irequires a\n")),
           "1 5 peer 0 tag 3 cpu 1 nic 2\n2 5 peer 4294967295 tag -1 cpu 0 nic 255\n0 9223372036854775807 peer 0 tag 0 "
           "cpu 255 nic 0\n0 ~> 1\n");
}

TEST(goal_blank_lines_comments_and_carriage_returns) {
  const std::string plain = "a: calc 1\nb: calc 2\nb requires a\n";
  CHECK_EQ(text(only("\r\n\n  // first\r\na: calc 1 // one\r\n/* two\n lines **/\tb : calc /* 7 */ 2\r\n\nb requires "
                     "a\r\n//last\n")),
           text(only(plain)));
  const auto program = workload::read_goal(
      "// head\nnum_ranks 1 /* one */\n\nrank 0 {\n/*\n*/ x: calc 5\n} // end\n\n/* all */", "c.goal");
  CHECK_EQ(program->where(0, 0, 0), "c.goal:6");
  std::string comments;
  for (u32 k = 0; k < 100000; k++) comments += "/**/";
  CHECK_EQ(text(only(comments + "calc 5\n")), text(only("calc 5\n")));
  CHECK_EQ(workload::read_goal("num_ranks 2\nrank 0 {\n}\nrank 1 {\n}", "e.goal")->blocks(1), 0u);
}

TEST(goal_labels) {
  refused_in_rank("a: calc 1\na: calc 2", "4:1", {"'a'", "line 3"});
  refused_in_rank("first: calc 1\nfrist requires first", "4:1", {"unknown label 'frist' (did you mean 'first'?)"});
  refused_in_rank("a: calc 1\na requires b\nb: calc 2", "4:12", {"unknown label 'b'", "of rank 0 above this line"});
  refused("num_ranks 2\nrank 0 {\nmine: calc 1\n}\nrank 1 {\na: calc 1\na requires mine\n}\n", "7:12",
          {"unknown label 'mine'", "of rank 1 above this line"});
  refused_in_rank("a: calc 1\na requires a", "4:1", {"'a'", "itself"});
  refused_in_rank("a: calc 1\na requires", "4:11", {"line ends", "a label"});
  CHECK_EQ(text(*workload::read_goal("num_ranks 2\nrank 0 {\na: calc 1\n}\nrank 1 {\na: calc 2\n}\n", "x")),
           "rank 0\n0 1 peer 0 tag 0 cpu 0 nic 0\nrank 1\n0 2 peer 0 tag 0 cpu 0 nic 0\n");
}

TEST(goal_cycles) {
  const std::string three = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\n";
  refused_program(three + "b requires a\nc requires b\na requires c\n}\n", 3,
                  "0 (x.goal:3) requires 2 (x.goal:5) requires 1 (x.goal:4) requires 0 (x.goal:3)");
  // A dependency on a start closes a cycle as well. The operation c only depends on the cycle and is not named.
  refused_program(three + "a irequires b\nb irequires a\nc requires b\n}\n", 3,
                  "0 (x.goal:3) requires 1 (x.goal:4) requires 0 (x.goal:3)");
  CHECK_EQ(only("a: calc 1\nb: calc 1\na requires b\n").dependencies.size(), 1u);
}

TEST(goal_messages_without_partner) {
  const auto two = [](const std::string& zero, const std::string& one) {
    return "num_ranks 2\nrank 0 {\n" + zero + "}\nrank 1 {\n" + one + "}\n";
  };
  refused_program(two("s: send 1b to 1 tag 3\n  send 1b to 1 tag 3\n", "recv 1b from 0 tag 3\n"), 4,
                  "no receive matches it (1 without a match)");
  refused_program(two("send 1b to 1\n", "recv 1b from 0\nrecv 1b from 0 tag 4\n"), 7,
                  "no send matches it (1 without a match)");
  refused_program(two("", "recv 1b from -1\n"), 5, "no send matches it (1 without a match)");
  refused_program(two("send 1b to 1\nsend 1b to 1\n", "recv 1b from -1\n"), 4,
                  "no receive matches it (1 without a match)");
  refused_program(two("send 1b to 1 tag 1\n", "recv 1b from -1 tag 2\n"), 3, "no receive matches it");
  // Exact receives match first, and receives with wildcards take the rest.
  workload::read_goal(two("send 1b to 1 tag 1\nsend 1b to 1 tag 1\nsend 1b to 1 tag 2\nsend 1b to 0\nrecv 1b from 0\n",
                          "recv 1b from -1 tag 1\nrecv 1b from 0 tag -1\nrecv 1b from 0 tag 1\n"),
                      "x.goal");
}

TEST(goal_write_then_read_is_the_same) {
  std::vector<std::shared_ptr<const Program>> programs = {workload::read_goal(loggops::kPingPong, "p"),
                                                          workload::read_goal(tree(32), "t")};
  programs.push_back(workload::read_goal(
      "num_ranks 1\nrank 0 {\nb: recv 0b from -1 tag -1 cpu 3 nic 4\na: send 0b to 0 tag 2147483647 cpu 1\nb "
      "irequires a\n}\n",
      "w"));
  for (const auto& program : programs)
    CHECK_EQ(text(*workload::read_goal(workload::write_goal(*program), "again")), text(*program));
}

TEST(goal_write_joins_blocks) {
  auto two = std::make_shared<testing::Written>(1);
  Block wide, one;
  for (u64 k = 0; k < 3; k++) wide.calc(k + 1);
  one.calc(10);
  two->of[0] = {wide, Block{}, wide, one, one};
  // 3 x 3 dependencies are more than 3 + 3 with a join between them. 3 x 1 and 1 x 1 are not.
  CHECK_EQ(workload::write_goal(*two),
           "num_ranks 1\nrank 0 {\no0: calc 1\no1: calc 2\no2: calc 3\no3: calc 1\no4: calc 2\no5: calc 3\no6: calc 0\n"
           "o6 requires o0\no6 requires o1\no6 requires o2\no3 requires o6\no4 requires o6\no5 requires o6\n"
           "o7: calc 10\no7 requires o3\no7 requires o4\no7 requires o5\no8: calc 10\no8 requires o7\n}\n");
  // Repeated blocks: rank 0 computes and sends three times, then sends again.
  CHECK_EQ(text(block_of(*workload::read_goal(workload::write_goal(*Arrays().program()), "loop"), 0)),
           "0 100 peer 0 tag 0 cpu 0 nic 0\n1 8 peer 1 tag 5 cpu 0 nic 0\n0 100 peer 0 tag 0 cpu 0 nic 0\n1 8 peer 1 "
           "tag 5 cpu 0 nic 0\n"
           "0 100 peer 0 tag 0 cpu 0 nic 0\n1 8 peer 1 tag 5 cpu 0 nic 0\n1 8 peer 1 tag 5 cpu 1 nic 0\n0 -> 1\n2 -> "
           "3\n1 -> 2\n4 -> 5\n3 -> 4\n5 -> 6\n");
}

TEST(array_program_repeats_blocks) {
  const auto program = Arrays().program();
  CHECK_EQ(program->blocks(0), 4u);
  CHECK_EQ(program->blocks(1), 4u);
  CHECK_EQ(program->repeats(0, 0), 3u);
  CHECK_EQ(program->repeats(0, 2), 1u);
  CHECK_EQ(program->repeats(0, 3), 1u);
  CHECK_EQ(program->repeats(1, 1), 3u);
  CHECK_EQ(text(block_of(*program, 0, 2)), "0 100 peer 0 tag 0 cpu 0 nic 0\n1 8 peer 1 tag 5 cpu 0 nic 0\n0 -> 1\n");
  CHECK_EQ(text(block_of(*program, 0, 3)), "1 8 peer 1 tag 5 cpu 1 nic 0\n");
  CHECK_EQ(program->where(0, 3, 0), "operation 2");
  // Operations may be in any order of blocks.
  Arrays a;
  std::swap(a.rank[0], a.rank[3]), std::swap(a.kind[0], a.kind[3]), std::swap(a.size[0], a.size[3]),
      std::swap(a.tag[0], a.tag[3]);
  std::swap(a.block[1], a.block[2]), std::swap(a.cpu[1], a.cpu[2]);
  a.d_before = {1}, a.d_after = {0};
  CHECK_EQ(text(block_of(*a.program(), 0)), "1 8 peer 1 tag 5 cpu 0 nic 0\n0 100 peer 0 tag 0 cpu 0 nic 0\n1 -> 0\n");
}

// ---- Binary schedules: bytes by hand, refusals with their places, lossless translation, and mutations ----

std::string number(u64 value, u32 width) {
  std::string out;
  for (u32 k = 0; k < width; k++) out += static_cast<char>(value >> 8 * k);
  return out;
}

// One operation as the format stores it. Successors are {number, first index} at the end and at the start.
std::string record(u32 waits, u8 type, u32 peer, u64 size, u32 tag, u8 cpu, u8 nic, std::pair<u32, u32> ends,
                   std::pair<u32, u32> starts) {
  return number(waits, 4) + number(type, 1) + number(peer, 4) + number(size, 8) + number(tag, 4) + number(cpu, 1) +
         number(nic, 1) + number(ends.first, 4) + number(ends.second, 4) + number(starts.first, 4) +
         number(starts.second, 4);
}

std::string file_of(const std::vector<std::string>& sections, u8 cpus = 0, u8 nics = 0) {
  std::string out = number(4223, 8) + number(sections.size(), 4) + number(cpus, 1) + number(nics, 1), rest;
  u64 at = 6 + 16 * sections.size();
  for (const std::string& section : sections) {
    out += number(at, 8) + number(at + section.size(), 8);
    at += section.size();
    rest += section;
  }
  return out + rest;
}

const char* const kText = R"(num_ranks 2
rank 0 {
c: calc 4000 cpu 2
s: send 70000b to 1 tag 7 nic 3
r: recv 5b from -1 tag -1
s requires c
r irequires c
}
rank 1 {
r: recv 70000b from 0 tag 7
s: send 5b to 0 tag 2147483647
s requires r
}
)";

// The bytes of kText, put together by hand from the description of the format.
const std::string kZero = number(3, 4) + number(1, 4) + number(0, 4) + record(0, 3, 0, 4000, 0, 2, 0, {1, 0}, {1, 1}) +
                          record(1, 1, 1, 70000, 7, 0, 3, {0, 2}, {0, 2}) +
                          record(1, 2, 0xffffffff, 5, 0xffffffff, 0, 0, {0, 2}, {0, 2}) + number(1, 4) + number(2, 4);
const std::string kOne = number(2, 4) + number(1, 4) + number(0, 4) + record(0, 2, 0, 70000, 7, 0, 0, {1, 0}, {0, 1}) +
                         record(1, 1, 0, 5, 2147483647, 0, 0, {0, 1}, {0, 1}) + number(1, 4);
const std::string kBytes = file_of({kZero, kOne}, 2, 3);
constexpr u64 kZeroAt = 14 + 32;  // of rank 0

std::shared_ptr<const Program> read(const std::string& bytes) {
  const File file(bytes);
  return workload::read_goal_binary(file.path.string());
}

// The error of `bytes` names the file, the byte and the operation, and the expected value.
void refused_bytes(const std::string& bytes, const std::string& place, const std::vector<std::string>& parts) {
  const File file(bytes);
  const std::string message = testing::thrown<ConfigError>(
      __FILE__, __LINE__, "read_goal_binary", [&] { workload::read_goal_binary(file.path.string()); }, parts);
  CHECK_FOR(message.starts_with(file.path.string() + ": " + place), message);
}

std::string with(u64 at, u64 value, u32 width, std::string bytes = kBytes) {
  return bytes.replace(at, width, number(value, width));
}

TEST(goal_binary_bytes_by_hand) {
  const auto text = workload::read_goal(kText, "x.goal");
  CHECK(workload::write_goal_binary(*text) == kBytes);
  const auto binary = read(kBytes);
  CHECK_EQ(workload::write_goal(*binary), workload::write_goal(*text));
  CHECK(workload::write_goal_binary(*binary) == kBytes);
  CHECK_EQ(binary->blocks(0), 1u);
  const File file(kBytes);
  CHECK_EQ(workload::read_goal_file(file.path.string())->where(0, 0, 2), file.path.string() + ":byte 136");
  // A rank without operations.
  CHECK_EQ(read(file_of({number(0, 8)}))->blocks(0), 0u);
}

TEST(goal_binary_of_random_programs) {
  for (u64 seed = 0; seed < 40; seed++) {
    const auto program = loggops::random_program(seed, 2 + static_cast<u32>(seed % 7), 80);
    const std::string bytes = workload::write_goal_binary(*program), text = workload::write_goal(*program);
    const auto binary = read(bytes), again = workload::read_goal(text, "random.goal");
    CHECK(workload::write_goal_binary(*binary) == bytes);
    CHECK(workload::write_goal_binary(*again) == bytes);
    // The size by another count: the text has a line per operation and per dependency.
    u64 ops = 0, dependencies = 0, roots = 0;
    for (u32 rank = 0; rank < binary->ranks; rank++) {
      Block block;
      if (binary->blocks(rank)) binary->block(rank, 0, block);
      std::vector<bool> waits(block.ops.size());
      for (const Dependency& d : block.dependencies) waits[d.after] = true;
      for (const bool w : waits) roots += !w;
      ops += block.ops.size(), dependencies += block.dependencies.size();
    }
    CHECK_EQ(bytes.size(), 14 + 24 * u64{binary->ranks} + 39 * ops + 4 * (dependencies + roots));
    CHECK_EQ(static_cast<u64>(std::count(text.begin(), text.end(), '\n')), 1 + 2 * binary->ranks + ops + dependencies);
  }
}

TEST(goal_binary_sections) {
  for (std::size_t size = 46; size < kBytes.size(); size++) {
    const File file(kBytes.substr(0, size));
    CHECK_THROWS(ConfigError, workload::read_goal_binary(file.path.string()), "whole file");
  }
  refused_bytes(with(kZeroAt, 4, 4), "byte 46 (rank 0): 4 operations", {"and the section has 137"});
}

DEEP_TEST(fuzz_goal_binary) {
  const std::string tree = workload::write_goal_binary(
      *motif_program({"collective", {{"ranks", 6}, {"collective", "alltoall"}}}, "motif", 0));
  const std::vector<std::string> words = {number(4223, 8), number(0xffffffff, 4), number(1, 4), number(0, 8), kOne};
  u32 accepted = 0;
  testing::fuzz({kBytes, tree, file_of({number(0, 8), number(0, 8)})}, words, 4000, [&](const std::string& bytes) {
    const File file(bytes);
    const auto program = workload::read_goal_binary(file.path.string());
    workload::check_program(*program, "program");
    CHECK_EQ(workload::totals(*workload::read_goal(workload::write_goal(*program), "again")).operations,
             workload::totals(*program).operations);
    accepted++;
  });
  CHECK(accepted > 6);
}

}  // namespace workload_goal_test
