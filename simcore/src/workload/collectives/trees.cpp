// Trees: data goes up to the root, down from it, or up and then down.
#include "workload/collectives/families.hpp"

namespace flitgym::workload::collectives {

namespace trees {

// Positions in a tree, counted from its root, or ranks.
struct Tree {
  u32 parent = kNone;
  std::vector<u32> children;
};

Tree binary(u32 size, u32 place) {
  Tree tree;
  if (place > 0) tree.parent = (place - 1) / 2;
  for (const u32 child : {2 * place + 1, 2 * place + 2})
    if (child < size) tree.children.push_back(child);
  return tree;
}

// The parent is the position without its lowest set bit. A child has one more bit, below that one.
Tree binomial(u32 size, u32 place) {
  Tree tree;
  if (place > 0) tree.parent = place & (place - 1);
  const u32 end = place > 0 ? place & (~place + 1) : std::bit_ceil(size);
  for (u32 bit = end / 2; bit > 0; bit /= 2)
    if (place + bit < size) tree.children.push_back(place + bit);
  return tree;
}

Tree flat(u32 size, u32 place) {
  Tree tree;
  if (place > 0) tree.parent = 0;
  else
    for (u32 child = 1; child < size; child++) tree.children.push_back(child);
  return tree;
}

// A binary tree whose positions are in order from left to right. Odd positions are leaves. The height of an inner
// position is that of its lowest set bit. Position 0 is above the rest, with one child. The rules for sizes that are
// not powers of two are those of NCCL (src/graph/trees.cc).
u32 in_order_parent(u32 size, u32 place) {
  if (place == 0) return kNone;
  const u32 bit = place & (~place + 1), above = (place ^ bit) | (bit << 1);
  return above < size ? above : place ^ bit;
}
Tree in_order(u32 size, u32 place) {
  Tree tree;
  tree.parent = in_order_parent(size, place);
  if (place == 0) {
    if (size > 1) tree.children.push_back(std::bit_floor(size - 1));
    return tree;
  }
  u32 bit = (place & (~place + 1)) / 2;
  if (bit == 0) return tree;
  tree.children.push_back(place - bit);
  while (bit > 0 && place + bit >= size) bit /= 2;
  if (bit > 0) tree.children.push_back(place + bit);
  return tree;
}

// One of the two trees. The second one is the mirror image or, for an odd size, the tree moved by one position.
Tree of_two(u32 size, u32 place, u32 which) {
  if (which == 0) return in_order(size, place);
  const bool mirror = size % 2 == 0;
  const auto moved = [&](u32 p) { return mirror ? size - 1 - p : (p + size - 1) % size; };
  const auto back = [&](u32 p) { return mirror ? size - 1 - p : (p + 1) % size; };
  Tree tree = in_order(size, moved(place));
  if (tree.parent != kNone) tree.parent = back(tree.parent);
  for (u32& child : tree.children) child = back(child);
  return tree;
}

// For a root, the two trees connect the other ranks, and the root is above both.
Tree of_two_below_root(u32 size, u32 place, u32 which) {
  Tree tree;
  if (place == 0) {
    for (u32 p = 0; p + 1 < size; p++)
      if (of_two(size - 1, p, which).parent == kNone) tree.children.push_back(p + 1);
    return tree;
  }
  tree = of_two(size - 1, place - 1, which);
  tree.parent = tree.parent == kNone ? 0 : tree.parent + 1;
  for (u32& child : tree.children) child++;
  return tree;
}

Tree ranks_of(Tree tree, const Communicator& comm, u32 root) {
  const auto rank = [&](u32 p) { return comm.rank((p + root) % comm.size()); };
  if (tree.parent != kNone) tree.parent = rank(tree.parent);
  for (u32& child : tree.children) child = rank(child);
  return tree;
}

// Receives from all children at once, then sends one message to the parent.
void up(Script& script, const Tree& tree, u64 bytes, i32 tag) {
  std::vector<Script::Request> receives;
  for (const u32 child : tree.children) receives.push_back(script.ireceive(child, bytes, tag));
  script.wait_all(receives);
  if (tree.parent != kNone) script.send(tree.parent, bytes, tag);
}

// Receives from the parent, then sends to all children at once.
void down(Script& script, const Tree& tree, u64 bytes, i32 tag) {
  if (tree.parent != kNone) script.receive(tree.parent, bytes, tag);
  std::vector<Script::Request> sends;
  for (const u32 child : tree.children) sends.push_back(script.isend(child, bytes, tag));
  script.wait_all(sends);
}

// A chunk goes on when it has arrived from all children, or from the parent. The root returns a chunk when it is
// complete. The messages on each edge follow each other, so that one tag is enough.
void chunked(Script& script, const Tree& tree, u64 bytes, Pass pass, i32 tag, u64 chunk_bytes) {
  const Script start = script.strand();
  const std::size_t children = tree.children.size();
  std::vector<Script> from(children, start), to(children, start);
  Script turn = start,
         arrival = start;  // receives of all children and the send to the parent; receives from the parent
  const u32 chunks = chunk_count(bytes, chunk_bytes);
  for (u32 k = 0; k < chunks; k++) {
    const u64 size = part(bytes, chunks, k);
    if (pass != Pass::kDown) {
      for (std::size_t c = 0; c < children; c++) turn.wait(from[c].receive(tree.children[c], size, tag));
      if (tree.parent != kNone) turn.send(tree.parent, size, tag);
    }
    if (pass == Pass::kUp) continue;
    if (tree.parent != kNone) arrival.receive(tree.parent, size, tag);
    for (std::size_t c = 0; c < children; c++) {
      to[c].join(tree.parent != kNone ? arrival : turn);
      to[c].send(tree.children[c], size, tag);
    }
  }
  script.join(turn);
  script.join(arrival);
  for (std::size_t c = 0; c < children; c++) script.join(to[c]);
}

void run(Script& script, const Tree& tree, u64 bytes, Pass pass, i32 tag, u64 chunk_bytes) {
  if (chunk_count(bytes, chunk_bytes) > 1) return chunked(script, tree, bytes, pass, tag, chunk_bytes);
  if (pass != Pass::kDown) up(script, tree, bytes, tag);
  if (pass != Pass::kUp) down(script, tree, bytes, tag);
}

}  // namespace trees

void tree(Script& script, const Communicator& comm, u32 root, u64 bytes, Algorithm algorithm, Pass pass, i32 tag,
          u64 chunk_bytes) {
  const u32 size = comm.size(), place = (comm.me + size - root) % size;
  const trees::Tree tree = algorithm == Algorithm::kTree       ? trees::binary(size, place)
                           : algorithm == Algorithm::kBinomial ? trees::binomial(size, place)
                                                               : trees::flat(size, place);
  trees::run(script, trees::ranks_of(tree, comm, root), bytes, pass, tag, chunk_bytes);
}

void double_tree(Script& script, const Communicator& comm, u32 root, u64 bytes, Pass pass, i32 tag, u64 chunk_bytes) {
  const u32 size = comm.size(), place = (comm.me + size - root) % size;
  if (size == 1) return;
  std::vector<Script> halves;
  for (const u32 which : {0u, 1u}) {
    const trees::Tree tree =
        pass == Pass::kUpAndDown ? trees::of_two(size, place, which) : trees::of_two_below_root(size, place, which);
    halves.push_back(script.strand());
    trees::run(halves.back(), trees::ranks_of(tree, comm, root), part(bytes, 2, which), pass,
               tag + static_cast<i32>(which), chunk_bytes);
  }
  for (const Script& half : halves) script.join(half);
}

}  // namespace flitgym::workload::collectives
