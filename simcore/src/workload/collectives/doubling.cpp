// Recursive doubling, recursive halving, and dissemination.
//
// Halving and doubling need a power of two of ranks. Among the first 2 * excess ranks, the even ranks send their data
// to the odd ranks, which then take part for both. Source: Thakur, Rabenseifner, Gropp, IJHPCA 19(1), 2005, section 4.
#include "workload/collectives/families.hpp"

namespace flitgym::workload::collectives {

namespace doubling {

// The ranks that take part, numbered by position. `me` is kNone for a rank that another rank serves.
struct Participants {
  u32 power, excess, me;
  bool serves;  // takes part for the rank below, too

  explicit Participants(const Communicator& comm) : power(std::bit_floor(comm.size())), excess(comm.size() - power) {
    serves = comm.me < 2 * excess && comm.me % 2 == 1;
    me = serves ? comm.me / 2 : comm.me < 2 * excess ? kNone : comm.me - excess;
  }
  u32 place(u32 position) const { return position < excess ? 2 * position + 1 : position + excess; }
  // Sums of `bytes` over the ranks of the positions below each position: [power + 1].
  std::vector<u64> sums(const Bytes& bytes) const {
    std::vector<u64> at{0};
    for (u32 p = 0; p < power; p++) at.push_back(at.back() + bytes(place(p)) + (p < excess ? bytes(place(p) - 1) : 0));
    return at;
  }
};

u32 reversed(u32 number, u32 power) {
  u32 result = 0;
  for (u32 bit = 1; bit < power; bit *= 2) result = 2 * result + ((number & bit) != 0);
  return result;
}

// A rank's label is the part that it owns after the halving. `at` has the starts of the parts.
struct Labels {
  const Participants& ranks;
  const Communicator& comm;
  bool reverse;  // labels are positions with their bits reversed: the nearest partners exchange the largest messages

  u32 me() const { return reverse ? reversed(ranks.me, ranks.power) : ranks.me; }
  u32 rank(u32 label) const { return comm.rank(ranks.place(reverse ? reversed(label, ranks.power) : label)); }
};

void halve(Script& script, const Labels& labels, const std::vector<u64>& at, i32 tag) {
  const u32 me = labels.me();
  u32 low = 0;
  for (u32 half = labels.ranks.power / 2; half > 0; half /= 2, tag++) {
    const u32 kept = low + (me & half), given = low + (~me & half), partner = labels.rank(me ^ half);
    exchange(script, partner, at[given + half] - at[given], partner, at[kept + half] - at[kept], tag);
    low = kept;
  }
}

void redouble(Script& script, const Labels& labels, const std::vector<u64>& at, i32 tag) {
  const u32 me = labels.me();
  for (u32 owned = 1; owned < labels.ranks.power; owned *= 2, tag++) {
    const u32 mine = me & ~(owned - 1), other = mine ^ owned, partner = labels.rank(me ^ owned);
    exchange(script, partner, at[mine + owned] - at[mine], partner, at[other + owned] - at[other], tag);
  }
}

// Calls work(participants, tag of its first message). Before it, a rank that another rank serves sends before(rank)
// bytes to that rank. After it, the rank receives after(rank) bytes. The tags of these two messages come first.
template <class Before, class After, class Work>
void with_participants(Script& script, const Communicator& comm, Before&& before, After&& after, i32 tag, Work&& work) {
  const Participants ranks(comm);
  const u32 me = comm.me;
  if (ranks.me == kNone) {
    script.send(comm.rank(me + 1), before(me), tag);
    script.receive(comm.rank(me + 1), after(me), tag + 1);
    return;
  }
  if (ranks.serves) script.receive(comm.rank(me - 1), before(me - 1), tag);
  work(ranks, tag + 2);
  if (ranks.serves) script.send(comm.rank(me - 1), after(me - 1), tag + 1);
}

// A round ends when its message has arrived. The sends are waited for at the end.
void rounds(Script& script, const Communicator& comm, const Bytes& sent, const Bytes& received, i32 tag) {
  const u32 size = comm.size();
  std::vector<Script::Request> sends;
  for (u32 distance = 1; distance < size; distance *= 2, tag++) {
    const auto request = script.ireceive(comm.rank((comm.me + size - distance) % size), received(distance), tag);
    sends.push_back(script.isend(comm.rank((comm.me + distance) % size), sent(distance), tag));
    script.wait(request);
  }
  script.wait_all(sends);
}

}  // namespace doubling

void recursive_doubling(Script& script, const Communicator& comm, u64 bytes, i32 tag) {
  const auto all = [&](u32) { return bytes; };
  doubling::with_participants(script, comm, all, all, tag, [&](const doubling::Participants& ranks, i32 step) {
    for (u32 bit = 1; bit < ranks.power; bit *= 2, step++) {
      const u32 partner = comm.rank(ranks.place(ranks.me ^ bit));
      exchange(script, partner, bytes, partner, bytes, step);
    }
  });
}

// The halving begins with the nearest partners, as in MPICH, so that the largest messages take the shortest ways.
void halving_doubling_allreduce(Script& script, const Communicator& comm, u64 bytes, i32 tag) {
  const auto all = [&](u32) { return bytes; };
  doubling::with_participants(script, comm, all, all, tag, [&](const doubling::Participants& ranks, i32 step) {
    std::vector<u64> at{0};
    for (u32 p = 0; p < ranks.power; p++) at.push_back(at.back() + part(bytes, ranks.power, p));
    const doubling::Labels labels{ranks, comm, true};
    doubling::halve(script, labels, at, step);
    doubling::redouble(script, labels, at, step + static_cast<i32>(std::bit_width(ranks.power)) - 1);
  });
}

void halving_reduce_scatter(Script& script, const Communicator& comm, const Bytes& part_of, i32 tag) {
  const std::vector<u64> at = doubling::Participants(comm).sums(part_of);
  doubling::with_participants(
      script, comm, [&](u32) { return at.back(); }, part_of, tag,
      [&](const doubling::Participants& ranks, i32 step) { doubling::halve(script, {ranks, comm, false}, at, step); });
}

void doubling_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag) {
  const std::vector<u64> at = doubling::Participants(comm).sums(share);
  doubling::with_participants(
      script, comm, share, [&](u32 served) { return at.back() - share(served); }, tag,
      [&](const doubling::Participants& ranks, i32 step) {
        doubling::redouble(script, {ranks, comm, false}, at, step);
      });
}

void dissemination(Script& script, const Communicator& comm, const Bytes& bytes_at_distance, i32 tag) {
  doubling::rounds(script, comm, bytes_at_distance, bytes_at_distance, tag);
}

// Before the round of a distance d, a rank has the shares of itself and of the d - 1 ranks before it. The last round
// sends only the missing shares.
void dissemination_allgather(Script& script, const Communicator& comm, const Bytes& share, i32 tag) {
  const u32 size = comm.size();
  std::vector<u64> below{0};
  for (u32 k = 0; k < size; k++) below.push_back(below.back() + share(k));
  // Sum over `count` ranks that end with `last`.
  const auto ending = [&](u32 last, u32 count) {
    return last + 1 >= count ? below[last + 1] - below[last + 1 - count]
                             : below[last + 1] + below[size] - below[size + last + 1 - count];
  };
  const auto count = [&](u32 distance) { return std::min(distance, size - distance); };
  doubling::rounds(
      script, comm, [&](u32 distance) { return ending(comm.me, count(distance)); },
      [&](u32 distance) { return ending((comm.me + size - distance) % size, count(distance)); }, tag);
}

}  // namespace flitgym::workload::collectives
