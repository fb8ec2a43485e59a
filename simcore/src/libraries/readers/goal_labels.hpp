// Labels of one rank of a GOAL file: an open hash table of words in the text. Clearing takes constant time.
#pragma once

#include <string_view>
#include <vector>

#include "simcore/types.hpp"

namespace flitgym::workload {

class GoalLabels {
 public:
  // The operation with this label, or kNone.
  u32 find(std::string_view label) const {
    const Slot& slot = slots_[place(label)];
    return slot.round == round_ ? slot.op : kNone;
  }
  // Returns the operation that already has the label and keeps it, or kNone if the label is new.
  u32 insert(std::string_view label, u32 op) {
    Slot& slot = slots_[place(label)];
    if (slot.round == round_) return slot.op;
    slot = {label.data(), static_cast<u32>(label.size()), op, round_};
    if (2 * ++used_ > slots_.size()) grow();
    return kNone;
  }
  void clear() { round_++, used_ = 0; }

  template <class Visit>
  void each(Visit&& visit) const {
    for (const Slot& slot : slots_)
      if (slot.round == round_) visit(std::string_view(slot.text, slot.size), slot.op);
  }

 private:
  struct Slot {
    const char* text = nullptr;
    u32 size = 0, op = 0;
    u64 round = 0;  // valid if equal to round_
  };

  // Index of the label, or of the empty slot for it (FNV-1a, linear probing).
  std::size_t place(std::string_view label) const {
    u64 hash = 0xcbf29ce484222325ull;
    for (const char c : label) hash = (hash ^ static_cast<u8>(c)) * 0x100000001b3ull;
    std::size_t at = (hash ^ hash >> 32) & (slots_.size() - 1);
    while (slots_[at].round == round_ && std::string_view(slots_[at].text, slots_[at].size) != label)
      at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.round == round_) slots_[place({slot.text, slot.size})] = slot;
  }

  std::vector<Slot> slots_ = std::vector<Slot>(64);
  u64 round_ = 1, used_ = 0;
};

}  // namespace flitgym::workload
