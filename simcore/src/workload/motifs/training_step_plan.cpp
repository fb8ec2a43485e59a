// Schedules of pipelines (Narayanan et al., SC 2021, section 2.2), and the place of data-parallel communication in them
// (ZeRO: Rajbhandari et al., SC 2020).
#include "workload/motifs/training_step_plan.hpp"

namespace flitgym::workload::motifs::training_step {

// Published sizes of language models. `small` is not published; it keeps tests and first runs short.
//
// GPT: Brown et al., NeurIPS 2020, table 2.1 (13B has d_model 5,140 there, which 40 heads of 128 correct to 5,120).
// Llama: Touvron et al. 2023, table 2; inner size 2/3 4 h, rounded up to a multiple of 256. Mixtral 8x7B: Jiang et al.
// 2024, table 1.
// clang-format off
constexpr Model kModels[] = {
    // layers hidden heads kv inner  vocabulary sequence experts top_k gated tied positions
    {   4,    256,    8,   8,  1024,  2048,      128,    1,      1, false, true,  true },
    {  40,   5120,   40,  40, 20480, 50257,     2048,    1,      1, false, true,  true },
    {  96,  12288,   96,  96, 49152, 50257,     2048,    1,      1, false, true,  true },
    {  32,   4096,   32,  32, 11008, 32000,     2048,    1,      1, true,  false, false},
    {  80,   8192,   64,  64, 22016, 32000,     2048,    1,      1, true,  false, false},
    {  80,   8192,   64,   8, 28672, 32000,     4096,    1,      1, true,  false, false},
    {  32,   4096,   32,   8, 14336, 32000,    32768,    8,      2, true,  false, false},
};
// clang-format on

// The forward pass number k of a rank (with `backward`, the backward pass). Micro-batches pass a chunk in groups of as
// many as there are stages, then the next chunk.
static Slot slot(const Settings& s, bool backward, u32 k) {
  if (s.virtual_stages == 1) return {backward, 0, k};
  const u32 group = s.pipeline * s.virtual_stages, chunk = k % group / s.pipeline;
  return {backward, backward ? s.virtual_stages - 1 - chunk : chunk, k / group * s.pipeline + k % s.pipeline};
}

class Planner {
 public:
  Planner(const Settings& settings, u32 stage) : s_(settings), stage_(stage), slots_(schedule(settings, stage)) {}

  std::vector<Plan> run() {
    if (needs_input(0)) {
      plans_.emplace_back();
      receive(0);
    }
    for (std::size_t k = 0; k < slots_.size(); k++) {
      add(slots_[k]);
      receive(k + 1);
    }
    finish();
    return std::move(plans_);
  }

 private:
  u32 depth(const Slot& slot) const { return slot.chunk * s_.pipeline + stage_; }
  u32 last_depth() const { return s_.pipeline * s_.virtual_stages - 1; }
  bool has_input(const Slot& slot) const { return slot.backward ? depth(slot) < last_depth() : depth(slot) > 0; }
  bool has_output(const Slot& slot) const { return slot.backward ? depth(slot) > 0 : depth(slot) < last_depth(); }
  bool needs_input(std::size_t entry) const {
    return std::any_of(slots_[entry].begin(), slots_[entry].end(), [&](const Slot& x) { return has_input(x); });
  }
  // The last block before some slots receives their inputs.
  void receive(std::size_t entry) {
    if (entry >= slots_.size()) return;
    for (const Slot& slot : slots_[entry])
      if (has_input(slot))
        (slot.backward ? plans_.back().receives_gradients : plans_.back().receives_activations) = true;
  }

  bool reduces(const Slot& slot) const {
    return slot.backward && s_.data > 1 && (s_.zero >= 2 || slot.micro_batch + 1 == s_.micro_batches);
  }

  Task whole(const Slot& slot) const {
    return {slot.backward, depth(slot) == 0, depth(slot) == last_depth(), s_.layers_of_chunk(), has_output(slot)};
  }

  // The parts of a slot that are blocks of their own. With a pipeline only gradients that are reduced meanwhile need
  // parts. Without one, parts keep the blocks small.
  std::vector<Task> parts(const Slot& slot) const {
    const Task all = whole(slot);
    const bool buckets = s_.zero < 3 && reduces(slot) && s_.overlap;
    if (s_.pipeline > 1 && !buckets) return {all};
    std::vector<Task> result;
    for (u32 left = all.layers; left > 0;) {
      Task part{slot.backward, false, false, 0, false};
      const bool first = left == all.layers;
      (slot.backward ? part.head : part.embedding) = first && (slot.backward ? all.head : all.embedding);
      do part.layers++, left--;
      while (left > 0 && buckets && bytes(part) < s_.bucket_bytes);
      if (left == 0) {
        (slot.backward ? part.embedding : part.head) = slot.backward ? all.embedding : all.head;
        part.sends = all.sends;
      }
      result.push_back(part);
    }
    return result;
  }
  u64 bytes(const Task& task) const {
    const Values values = values_of(s_, task);
    return (values.dense + values.expert) * s_.gradient_bytes;
  }

  void add(const std::vector<Slot>& entry) {
    if (entry.size() > 1) {  // a pair of the interleaved schedule stays one block
      Plan& plan = new_plan();
      for (const Slot& slot : entry) plan.tasks.push_back(whole(slot));
      for (const Slot& slot : entry)
        if (reduces(slot)) reduce(whole(slot));
      return;
    }
    for (const Task& task : parts(entry.front())) {
      gather(task);
      new_plan().tasks.push_back(task);
      if (reduces(entry.front())) reduce(task);
    }
  }

  // Gradients that are complete are reduced while the next block computes.
  Plan& new_plan() {
    Plan& plan = plans_.emplace_back();
    plan.before = std::exchange(gathered_, {});
    if (s_.overlap) plan.background = std::exchange(complete_, {});
    return plan;
  }

  // ZeRO-3 fetches the values of a layer before each pass. With overlap, the block before does.
  void gather(const Task& task) {
    if (s_.zero < 3 || s_.data == 1) return;
    const Exchange gather{Collective::kAllgather, values_of(s_, task)};
    if (!s_.overlap || plans_.empty()) gathered_.push_back(gather);
    else plans_.back().background.insert(plans_.back().background.begin(), gather);
  }

  void reduce(const Task& task) {
    const auto which = s_.zero == 0 ? Collective::kAllreduce : Collective::kReduceScatter;
    const Exchange reduction{which, values_of(s_, task)};
    if (s_.zero >= 1 && s_.zero < 3) updated_.push_back({Collective::kAllgather, reduction.values});
    // Without overlap, ZeRO-2 and 3 reduce at once, because they keep no whole gradients.
    if (!s_.overlap && s_.zero >= 2) plans_.emplace_back().before.push_back(reduction);
    else complete_.push_back(reduction);
  }

  void finish() {
    for (const Exchange& exchange : complete_) plans_.emplace_back().before.push_back(exchange);
    const Model& m = s_.model;
    if (m.tied && s_.pipeline > 1 && (stage_ == 0 || stage_ + 1 == s_.pipeline)) {
      plans_.emplace_back().before.push_back({Collective::kAllreduce, {s_.embedding_values(), 0}, true});
    }
    // ZeRO-1 and 2 gather the values that each rank has updated, once per step.
    const std::size_t once =
        s_.zero == 2 && s_.micro_batches > 0 ? updated_.size() / s_.micro_batches : updated_.size();
    for (std::size_t k = 0; k < once; k++) plans_.emplace_back().before.push_back(updated_[k]);
  }

  const Settings& s_;
  u32 stage_;
  std::vector<std::vector<Slot>> slots_;
  std::vector<Plan> plans_;
  std::vector<Exchange> gathered_, complete_, updated_;
};

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names{"small",     "gpt_13b",    "gpt_175b",    "llama_7b",
                                              "llama_65b", "llama2_70b", "mixtral_8x7b"};
  return names;
}

const Model& model_named(const std::string& name) {
  const auto& names = model_names();
  return kModels[std::find(names.begin(), names.end(), name) - names.begin()];
}

// One forward, one backward (1F1B): after a warm-up, a rank alternates between both. In the interleaved schedule a rank
// has v chunks of layers, and the warm-up has (v - 1) p + 2 (p - 1 - stage) passes. The outputs of a forward and a
// backward pass are exchanged together. Megatron-LM does the same (core/pipeline_parallel/schedules.py).
std::vector<std::vector<Slot>> schedule(const Settings& s, u32 stage) {
  const u32 p = s.pipeline, v = s.virtual_stages, passes = s.micro_batches * v, after = p - 1 - stage;
  const u32 warm_up = std::min(passes, v == 1 ? after : 2 * after + (v - 1) * p);
  std::vector<std::vector<Slot>> result;
  for (u32 k = 0; k < warm_up; k++) result.push_back({slot(s, false, k)});
  for (u32 k = warm_up; k < passes; k++) {
    const Slot forward = slot(s, false, k), backward = slot(s, true, k - warm_up);
    if (v > 1) result.push_back({forward, backward});
    else result.insert(result.end(), {{forward}, {backward}});
  }
  for (u32 k = passes - warm_up; k < passes; k++) result.push_back({slot(s, true, k)});
  return result;
}

std::vector<Plan> plans(const Settings& settings, u32 stage) { return Planner(settings, stage).run(); }

// Tensor parallelism splits every matrix except the router's and the embedding of positions. Expert parallelism splits
// the experts. A tied embedding counts once on a rank that has both ends of the model.
Values values_of(const Settings& s, const Task& task) {
  const Model& m = s.model;
  const auto cut = [&](u64 values) { return (values + s.tensor - 1) / s.tensor; };
  const u64 feed_forward = m.experts / s.expert * cut(m.expert_values());
  const bool apart = m.experts > 1;  // experts have replicas of their own
  Values values;
  values.dense = task.layers * (cut(m.attention_values()) + m.router_values() + (apart ? 0 : feed_forward));
  values.expert = apart ? task.layers * feed_forward : 0;
  if (task.embedding) values.dense += s.embedding_values() + m.position_values();
  if (task.head && !(m.tied && s.pipeline == 1)) values.dense += s.embedding_values();
  return values;
}

}  // namespace flitgym::workload::motifs::training_step
