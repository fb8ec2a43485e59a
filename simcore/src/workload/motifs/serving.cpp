// Serving of a language model with separate instances for prefill and decode (DistServe: Zhong et al., OSDI 2024).
//
// Rank 0 is the front end, to which requests come. It sends the prompts to the prefill instances in turn. An instance
// has `tensor` ranks, with two allreduces of the activations per layer (Narayanan et al., SC 2021, 3.2). It passes the
// prompt through the model and sends the keys and values of all tokens, the KV cache, to a decode instance: rank i to
// rank i. A decode instance collects the caches of `batch` requests and then generates their tokens, one pass each,
// while it collects the next caches.
//
// Deviations: real decode instances add and remove single requests between passes. Their answers return at once.
#include "simcore/rng.hpp"
#include "simcore/workload/motif.hpp"
#include "workload/motifs/training_step_plan.hpp"

namespace flitgym::workload::motifs::serving {

using training_step::Model;

constexpr u64 kTokenBytes = 4;                                            // of the prompt
constexpr i32 kCaches = kCollectiveTags, kPrompts = 2 * kCollectiveTags;  // bases of tags

struct Serving : Program {
  Model model;
  u32 tensor, prefill, decode;  // ranks of an instance, instances
  u64 requests;
  u32 batch, prompt, output, reduces;
  u64 value_bytes, cache_bytes, seed;
  double gap_ns, prefill_ns;             // mean time between two requests; computation of a prompt
  double token_ns, values_ns, cache_ns;  // computation of a token; reads of the values and of the cache of a request
  Algorithm algorithm;

  // Requests of instance `k` of `of`, which has every of-th one, and their batches.
  u64 share(u32 k, u32 of) const { return requests / of + (k < requests % of); }
  u64 batches(u32 k) const { return (share(k, decode) + batch - 1) / batch; }
  u32 instance(u32 rank) const { return (rank - 1) / tensor; }
  u32 first_rank(u32 instance) const { return 1 + instance * tensor; }

  // A prefill instance sends a cache during the next prefill, and a decode instance generates during the next batch.
  u64 blocks(u32 rank) const override {
    if (rank == 0) return 1;
    const u32 k = instance(rank);
    return 1 + (k < prefill ? share(k, prefill) : batches(k - prefill));
  }
  void block(u32 rank, u64 index, Block& out) const override {
    Script script(out);
    script.use_processor(1);
    if (rank == 0) return front_end(script);
    const u32 k = instance(rank), me = (rank - 1) % tensor;
    const Communicator all{{}, me, first_rank(k), 1, tensor};
    const u64 cache = part(cache_bytes, tensor, me);
    Script transfers = script.strand();
    if (k < prefill) {
      if (index > 0 && decode > 0) {
        const u64 sent = (index - 1) * prefill + k;
        transfers.isend(first_rank(prefill + static_cast<u32>(sent % decode)) + me, cache, tag(kCaches, sent));
      }
      if (index == share(k, prefill)) return;
      script.receive(0, prompt * kTokenBytes, tag(kPrompts, index * prefill + k));
      return pass(script, all, prefill_ns, prompt);
    }
    const u64 all_requests = share(k - prefill, decode);
    for (u64 i = index * batch; i < std::min(all_requests, (index + 1) * batch); i++) {
      const u64 request = i * decode + (k - prefill);
      transfers.ireceive(first_rank(static_cast<u32>(request % prefill)) + me, cache, tag(kCaches, request));
    }
    const u64 generated = index == 0 ? 0 : std::min<u64>(batch, all_requests - (index - 1) * batch);
    for (u32 token = 0; token < output && generated > 0; token++) pass(script, all, decode_ns(generated), generated);
  }
  std::string where(u32, u64 index, u32) const override { return "step " + std::to_string(index); }

 private:
  static i32 tag(i32 base, u64 request) { return base + static_cast<i32>(request % kCollectiveTags); }

  void front_end(Script& script) const {
    for (u64 i = 0; i < requests; i++) {
      script.compute(static_cast<u64>(std::llround(-log_unit(unit(draw(seed, 0, i))) * gap_ns)));
      for (u32 k = 0; k < tensor && prefill > 0; k++)
        script.isend(first_rank(static_cast<u32>(i % prefill)) + k, prompt * kTokenBytes, tag(kPrompts, i));
    }
  }

  // A pass of one token per request reads all values and the caches of the requests once.
  double decode_ns(u64 tokens) const {
    return std::max(static_cast<double>(tokens) * token_ns, values_ns + static_cast<double>(tokens) * cache_ns);
  }

  // A pass of some tokens through the model.
  void pass(Script& script, const Communicator& all, double ns, u64 tokens) const {
    for (u32 k = 0; k < reduces; k++) {
      script.compute(static_cast<u64>(std::llround(ns / reduces)));
      const u64 bytes = tokens * model.hidden * value_bytes * 2 * model.layers;
      if (tensor > 1) allreduce(script, all, part(bytes, reduces, k), algorithm, 0);
    }
  }
};

template <class... Parts>
[[noreturn]] void refuse(const std::string& key, const Parts&... why) {
  throw ConfigError("motif.serving.", key, ": ", why...);
}

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = std::make_shared<Serving>();
  Serving& s = *program;
  s.model = training_step::model_named(params.text("model"));
  s.tensor = params.count("tensor");
  s.ranks = ranks ? ranks : 1 + 4 * s.tensor;
  const u32 instances = (s.ranks - 1) / s.tensor;
  if ((s.ranks - 1) % s.tensor != 0)
    refuse("tensor", s.ranks, " ranks are not a front end and instances of ", s.tensor, " ranks");
  if (s.model.heads % s.tensor != 0) refuse("tensor", s.tensor, " does not divide the ", s.model.heads, " heads");
  s.prefill = static_cast<u32>(std::lround(params.real("prefill_share") * instances));
  s.prefill = instances < 2 ? instances : std::clamp(s.prefill, 1u, instances - 1);
  s.decode = instances - s.prefill;
  s.requests = scaled(params.count("requests"), scale);
  s.batch = params.count("batch");
  s.prompt = params.count("prompt_tokens");
  s.output = params.count("output_tokens");
  s.reduces = params.count("reduces") ? params.count("reduces") : 2 * s.model.layers;
  s.value_bytes = params.count("bytes_per_value");
  s.cache_bytes = s.model.cache_values() * s.value_bytes * s.prompt;
  s.seed = params.seed("seed");
  s.gap_ns = 1e9 / params.real("rate_per_s");
  s.algorithm = algorithm_named(params.text("algorithm"));
  const double flops_per_ns = params.real("tflops") * 1000 * s.tensor;
  const double bytes_per_ns = params.real("memory_gb_per_s") * s.tensor;
  Model m = s.model;
  m.sequence = s.prompt;
  s.prefill_ns = m.pass_flops(1) / flops_per_ns;
  m.sequence = 1;
  s.token_ns = m.pass_flops(1) / flops_per_ns;
  s.values_ns = static_cast<double>(m.values() * s.value_bytes) / bytes_per_ns;
  s.cache_ns = static_cast<double>(s.cache_bytes) / bytes_per_ns;
  return program;
}

const Register<MotifSpec> registration{{
    .name = "serving",
    .summary = "serving of a language model: prefill, transfer of the KV cache, decode",
    .params =
        {
            choice("model", "small", training_step::model_names(), "sizes of the transformer, as in training_step"),
            integer("tensor", 1, 1, 1 << 10, "ranks", "tensor-parallel ranks of an instance"),
            real("prefill_share", 0.5, 0, 1, "",
                 "share of the instances that prefill; at least one of each kind, and a single one only prefills"),
            integer("requests", 16, 1, 1 << 20, "", "number of requests"),
            real("rate_per_s", 10000, 1e-3, 1e9, "1/s", "requests per second, with exponential gaps"),
            seed_of("the requests", "seed"),
            integer("prompt_tokens", 512, 1, 1 << 20, "tokens", "length of a prompt"),
            integer("output_tokens", 16, 1, 1 << 20, "tokens", "tokens that are generated for a request"),
            integer("batch", 4, 1, 1 << 16, "requests", "requests whose tokens a decode instance generates together"),
            integer("reduces", 0, 0, 1 << 20, "",
                    "allreduces of a pass; 0 = two per layer; fewer ones have the same bytes in total"),
            integer("bytes_per_value", 2, 1, 8, "B", "size of a weight, an activation, a key and a value"),
            real("tflops", 400, 1e-6, 1e6, "TFLOP/s", "computation of a rank that is reached in a prefill"),
            real("memory_gb_per_s", 3350, 1e-3, 1e6, "GB/s",
                 "bandwidth of a rank's memory, which limits decoding (H100 SXM)"),
            choice("algorithm", "ring", {"ring", "halving_doubling", "auto"}, "algorithm of the allreduces"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::serving
