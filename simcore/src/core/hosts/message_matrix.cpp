#include "core/hosts/engine.hpp"

namespace flitgym::workload {

constexpr u32 kMostRanks = 4096;  // each pair needs 36 bytes, in total 0.6 GB

static std::size_t place(const Workload& w, const Message& m) {
  const u32 job = w.rank_job[m.source], first = w.jobs[job].first_rank;
  const std::size_t n = w.matrix.ranks;
  return (job * n + (m.source - first)) * n + (m.destination - first);
}

static double ns(u64 ps) { return static_cast<double>(ps) / 1000; }

MessageMatrix declare_message_matrix(Network& net, const std::vector<Job>& jobs) {
  MessageMatrix matrix;
  for (const Job& job : jobs) {
    if (job.ranks > kMostRanks)
      throw ConfigError("workload.message_matrix: job '", job.name, "' has ", job.ranks,
                        " ranks; a table of all pairs supports at most ", kMostRanks,
                        "; use workload.message_matrix=false");
    matrix.ranks = std::max(matrix.ranks, job.ranks);
  }
  const auto shape = [&](const char* name, const char* meaning) {
    return MemoryShape{
        .name = name,
        .meaning = std::string(meaning) + "; row: sending rank, column: receiving rank, numbered within the job",
        .per = Per::kJob,
        .rows = matrix.ranks,
        .columns = matrix.ranks};
  };
  matrix.bytes = declare<double>(net, shape("message_bytes", "bytes of messages that have arrived"));
  matrix.messages = declare<u32>(net, shape("message_count", "messages that have arrived"));
  matrix.time = declare<double>(
      net, shape("message_time_ns", "sum over arrived messages of the time from the send call to the last byte"));
  matrix.busy =
      declare<double>(net, shape("message_busy_ns", "time in which at least one message of the pair was in transit"));
  matrix.open = declare<u32>(net, shape("message_open", "messages in transit"));
  matrix.since = declare<double>(net, shape("message_since_ns", "time up to which message_busy_ns counts"));
  return matrix;
}

void message_begun(const Workload& w, State& s, const Message& m) {
  if (m.bytes == 0) return;
  const std::size_t k = place(w, m);
  // Without a simulated network, the end of a message is known in advance, so the next one may begin before it.
  if (w.matrix.open.of(s)[k]++ == 0) w.matrix.since.of(s)[k] = std::max(w.matrix.since.of(s)[k], ns(m.begun));
}

void message_complete(const Workload& w, State& s, const Message& m, u64 when) {
  if (m.bytes == 0) return;
  const std::size_t k = place(w, m);
  w.matrix.bytes.of(s)[k] += static_cast<double>(m.bytes);
  w.matrix.messages.of(s)[k]++;
  w.matrix.time.of(s)[k] += ns(when > m.begun ? when - m.begun : 0);
  if (--w.matrix.open.of(s)[k] > 0) return;
  double& since = w.matrix.since.of(s)[k];
  const double end = std::max(since, ns(when));
  w.matrix.busy.of(s)[k] += end - since;
  since = end;
}

}  // namespace flitgym::workload
