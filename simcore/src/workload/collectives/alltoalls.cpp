// Messages from every rank to every other rank.
#include "workload/collectives/families.hpp"

namespace flitgym::workload::collectives {

void pairwise(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, i32 tag) {
  const u32 size = comm.size();
  for (u32 step = 1; step < size; step++) {
    const u32 after = (comm.me + step) % size, before = (comm.me + size - step) % size;
    exchange(script, comm.rank(after), to(after), comm.rank(before), from(before), tag);
  }
}

void linear(Script& script, const Communicator& comm, const Bytes& to, const Bytes& from, i32 tag) {
  const u32 size = comm.size();
  std::vector<Script::Request> requests;
  for (u32 step = 1; step < size; step++) {
    const u32 before = (comm.me + size - step) % size;
    requests.push_back(script.ireceive(comm.rank(before), from(before), tag));
  }
  for (u32 step = 1; step < size; step++) {
    const u32 after = (comm.me + step) % size;
    requests.push_back(script.isend(comm.rank(after), to(after), tag));
  }
  script.wait_all(requests);
}

// A block with distance d = destination - source takes the steps 2^k of the bits of d, the lowest first. Before step
// 2^k it has moved by the lower bits of d.
void bruck(Script& script, const Communicator& comm, const PairBytes& bytes, i32 tag) {
  const u32 size = comm.size();
  for (u32 bit = 1; bit < size; bit *= 2, tag++) {
    const auto sent_by = [&](u32 place) {
      u64 sum = 0;
      for (u32 distance = bit; distance < size; distance++) {
        if (!(distance & bit)) continue;
        const u32 source = (place + size - (distance & (bit - 1))) % size;
        sum += bytes(source, (source + distance) % size);
      }
      return sum;
    };
    const u32 after = (comm.me + bit) % size, before = (comm.me + size - bit) % size;
    exchange(script, comm.rank(after), sent_by(comm.me), comm.rank(before), sent_by(before), tag);
  }
}

}  // namespace flitgym::workload::collectives
