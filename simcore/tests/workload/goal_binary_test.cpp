// Binary GOAL schedules: bytes by hand, refusals with their places, lossless translation, and mutations.
#include "readers/goal_binary.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "readers/goal.hpp"
#include "simcore/error.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/workload.hpp"
#include "support/fuzz.hpp"
#include "support/loggops_reference.hpp"
#include "test.hpp"

namespace workload_goal_binary_test {

using namespace flitgym;

// A temporary file that lasts as long as the object.
struct TemporaryFile {
  std::filesystem::path path;
  explicit TemporaryFile(const std::string& bytes) {
    static u32 count = 0;
    path = std::filesystem::temp_directory_path() /
           ("flitgym_goal_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + ".bin");
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
};

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
  const TemporaryFile file(bytes);
  return workload::read_goal_binary(file.path.string());
}

// The error of `bytes` names the file, the byte and the operation, and the expected value.
void refused(const std::string& bytes, const std::string& place, const std::vector<std::string>& parts) {
  const TemporaryFile file(bytes);
  std::string message;
  try {
    workload::read_goal_binary(file.path.string());
  } catch (const ConfigError& error) {
    message = error.what();
  }
  CHECK_FOR(message.rfind(file.path.string() + ": " + place, 0) == 0, place + " in: " + message);
  for (const std::string& part : parts) CHECK_FOR(message.find(part) != std::string::npos, part + " in: " + message);
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
  const TemporaryFile file(kBytes);
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
    const TemporaryFile file(kBytes.substr(0, size));
    CHECK_THROWS(ConfigError, workload::read_goal_binary(file.path.string()), "whole file");
  }
  refused(with(14, 37, 8), "byte 14 (rank 0)", {"begins at offset 37", "from offset 38 on"});
  refused(with(kZeroAt, 4, 4), "byte 46 (rank 0): 4 operations", {"and the section has 137"});
}

DEEP_TEST(fuzz_goal_binary) {
  const std::string tree = workload::write_goal_binary(
      *motif_program({"collective", {{"ranks", i64{6}}, {"collective", std::string("alltoall")}}}, "motif", 0));
  const std::vector<std::string> words = {number(4223, 8), number(0xffffffff, 4), number(1, 4), number(0, 8), kOne};
  u32 accepted = 0;
  testing::fuzz({kBytes, tree, file_of({number(0, 8), number(0, 8)})}, words, 4000, [&](const std::string& bytes) {
    const TemporaryFile file(bytes);
    const auto program = workload::read_goal_binary(file.path.string());
    workload::check_program(*program, "program");
    CHECK_EQ(workload::totals(*workload::read_goal(workload::write_goal(*program), "again")).operations,
             workload::totals(*program).operations);
    accepted++;
  });
  CHECK(accepted > 6);
}

}  // namespace workload_goal_binary_test
