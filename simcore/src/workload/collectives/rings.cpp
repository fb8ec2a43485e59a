// Rings: each rank sends to the next one and receives from the previous one (Patarasuk, Yuan, JPDC 69(2), 2009).
#include "workload/collectives/families.hpp"

namespace flitgym::workload::collectives {

namespace rings {

struct Neighbours {
  u32 to, from;
};

Neighbours neighbours(const Communicator& comm) {
  const u32 size = comm.size();
  return {comm.rank((comm.me + 1) % size), comm.rank((comm.me + size - 1) % size)};
}

// A chunk is sent as soon as it has arrived, so the chunks of several steps are on their way at the same time. Sends
// follow each other, and so do receives, so that one tag is enough.
void chunked(Script& script, const Communicator& comm, u32 first, u32 steps, const Bytes& bytes, i32 tag,
             u64 chunk_bytes) {
  const u32 size = comm.size();
  const auto [to, from] = neighbours(comm);
  Script in = script.strand(), out = script.strand();
  std::vector<Script::Request> before, arrived;
  for (u32 step = 0; step < steps; step++) {
    const u32 sent = (first + size - step % size) % size, received = (sent + size - 1) % size;
    const u32 sends = chunk_count(bytes(sent), chunk_bytes), receives = chunk_count(bytes(received), chunk_bytes);
    arrived.clear();
    for (u32 k = 0; k < receives; k++) arrived.push_back(in.receive(from, part(bytes(received), receives, k), tag));
    for (u32 k = 0; k < sends; k++) {
      if (step > 0) out.wait(before[k]);
      out.send(to, part(bytes(sent), sends, k), tag);
    }
    before.swap(arrived);
  }
  script.join(in);
  script.join(out);
}

}  // namespace rings

void ring(Script& script, const Communicator& comm, u32 first, u32 steps, const Bytes& bytes, i32 tag,
          u64 chunk_bytes) {
  if (steps == 0) return;
  if (chunk_bytes > 0) return rings::chunked(script, comm, first, steps, bytes, tag, chunk_bytes);
  const u32 size = comm.size();
  const auto [to, from] = rings::neighbours(comm);
  for (u32 step = 0; step < steps; step++) {
    const u32 sent = (first + size - step % size) % size, received = (sent + size - 1) % size;
    exchange(script, to, bytes(sent), from, bytes(received), tag + static_cast<i32>(step));
  }
}

// The parts circulate once while they are summed, and a second time to reach all ranks.
void ring_allreduce(Script& script, const Communicator& comm, u64 bytes, i32 tag, u64 chunk_bytes) {
  const u32 size = comm.size();
  const auto part_of = [&](u32 index) { return part(bytes, size, index); };
  if (chunk_bytes > 0) return ring(script, comm, comm.me, 2 * (size - 1), part_of, tag, chunk_bytes);
  ring(script, comm, comm.me, size - 1, part_of, tag, 0);
  ring(script, comm, (comm.me + 1) % size, size - 1, part_of, tag + static_cast<i32>(size), 0);
}

}  // namespace flitgym::workload::collectives
