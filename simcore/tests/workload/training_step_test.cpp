// training_step: volumes by the published formulas and by AICB, the pipeline's bubble, and the model's computation.
#include "simcore/program_totals.hpp"
#include "support/abstract_machine.hpp"
#include "support/motif_programs.hpp"
#include "test.hpp"
#include "workload/motifs/training_step_plan.hpp"

namespace workload_training_step_test {

using namespace flitgym;
using testing::AbstractMachine;
using workload::motifs::training_step::Model;
using workload::motifs::training_step::model_named;

std::shared_ptr<const Program> step(u32 ranks, const Values& values) {
  return testing::motif("training_step", ranks, values);
}

// A dense model of 8 layers: h 64, s 32, so the activations of a micro-batch of one sequence have 4,096 bytes. Its
// input and output embeddings are separate, and it learns no positions.
constexpr u64 kHidden = 64, kSequence = 32, kLayers = 8, kVocabulary = 128, kInner = 256;
constexpr u64 kActivations = kHidden * kSequence * 2;
Values dense(const Values& more) {
  Values values{{"model", "llama_7b"},
                {"layers", i64{kLayers}},
                {"hidden", i64{kHidden}},
                {"heads", 8},
                {"intermediate", i64{kInner}},
                {"sequence", i64{kSequence}},
                {"vocabulary", i64{kVocabulary}},
                {"micro_batches", 1}};
  for (const auto& [key, value] : more) values[key] = value;
  return values;
}
constexpr u64 kLayerValues = 4 * kHidden * kHidden + 3 * kHidden * kInner;
constexpr u64 kEmbeddingValues = kVocabulary * kHidden;
constexpr u64 kValues = kLayers * kLayerValues + 2 * kEmbeddingValues;

AbstractMachine run(const Program& program, bool rendezvous = true) {
  workload::check_program(program, "training_step");
  AbstractMachine machine(program, rendezvous);
  CHECK(machine.finished);
  CHECK(machine.sizes_agree);
  return machine;
}

// An allreduce sends 2 (d - 1) / d of the gradients. ZeRO-1 and 2 send as much, ZeRO-3 half as much again
// (Rajbhandari et al., SC 2020, section 7). ZeRO-2 reduces after every micro-batch, ZeRO-3 also gathers twice.
TEST(training_step_data_parallel_volumes) {
  for (const i64 zero : {0, 1, 2, 3})
    for (const u32 d : {1u, 2u, 4u, 8u})
      for (const i64 micro_batches : {1, 3})
        for (const bool overlap : {false, true})
          for (const i64 bucket : {i64{1}, i64{300000}, i64{80000000}}) {
            const auto program = step(d, dense({{"zero", zero},
                                                {"micro_batches", micro_batches},
                                                {"overlap", overlap},
                                                {"bucket_bytes", bucket}}));
            const auto m = static_cast<u64>(micro_batches);
            const u64 passes = zero <= 1 ? 2 : zero == 2 ? m + 1 : 3 * m;
            for (const u64 sent : run(*program).sent) CHECK_EQ(sent, passes * (d - 1) * (kValues * 2 / d));
          }
  // Gradients of 4 bytes double the reduction, not the gathering of values.
  for (const u64 sent : run(*step(4, dense({{"zero", 1}, {"bytes_per_gradient", 4}}))).sent)
    CHECK_EQ(sent, 3 * kValues / 4 * (4 + 2));
}

// Two allreduces of b s h per layer and direction (Narayanan et al., SC 2021, section 3.2). The input embedding and the
// output layer add one each, the loss three. Sequence parallelism sends the same amount (Korthikanti et al., 4.2.2).
TEST(training_step_tensor_parallel_volumes) {
  for (const u32 t : {2u, 4u, 8u})
    for (const bool sequence : {false, true})
      for (const bool recompute : {false, true})
        for (const i64 batch : {1, 3}) {
          const auto program = step(t, dense({{"tensor", t},
                                              {"sequence_parallel", sequence},
                                              {"recompute", recompute},
                                              {"micro_batch", batch},
                                              {"micro_batches", 2}}));
          const auto b = static_cast<u64>(batch);
          const u64 allreduces = (recompute ? 6 : 4) * kLayers + 2;
          const u64 loss = 3 * b * kSequence * 4;
          for (const u64 sent : run(*program).sent)
            CHECK_EQ(sent, 2 * 2 * (t - 1) * (allreduces * b * kActivations + loss) / t);
        }
}

// Activations forward and gradients backward between neighbouring stages, v times with v chunks per stage.
TEST(training_step_pipeline_volumes) {
  for (const u32 p : {2u, 4u})
    for (const u32 v : {1u, 2u})
      for (const u32 t : {1u, 2u})
        for (const bool sequence : {false, true}) {
          const u32 m = 8;
          AbstractMachine machine = run(*step(p * t, dense({{"pipeline", p},
                                                            {"virtual_stages", v},
                                                            {"tensor", t},
                                                            {"sequence_parallel", sequence},
                                                            {"micro_batches", m}})));
          const u64 each = kActivations / (sequence ? t : 1);
          for (u32 stage = 0; stage < p; stage++)
            for (u32 k = 0; k < t; k++) {
              const u32 next = (stage + 1) % p;
              const u64 forward = m * each * (next == 0 ? v - 1 : v);
              // With two stages, the messages of both directions have the same two ends.
              const u64 wanted = p == 2 ? m * each * (2 * v - 1) : forward;
              CHECK_EQ((machine.between[{stage * t + k, next * t + k}]), wanted);
              CHECK_EQ((machine.between[{next * t + k, stage * t + k}]), wanted);
            }
        }
  // GPT's two ends share the embedding: an allreduce of its gradients between the first and the last stage.
  const i64 layers = 4, micro_batches = 4;
  AbstractMachine tied = run(*step(4, {{"pipeline", 4}, {"layers", layers}, {"micro_batches", micro_batches}}));
  const Model& small = model_named("small");
  CHECK_EQ((tied.between[{0, 3}]), small.embedding_values() * 2);
  CHECK_EQ((tied.between[{3, 0}]), small.embedding_values() * 2);
}

// Two alltoalls per layer and direction, each of top_k b s h values, of which (e - 1) / e leave the rank. The gradients
// of an expert are reduced among the d / e ranks that hold it.
TEST(training_step_expert_parallel_volumes) {
  const u64 experts = 8, top_k = 2;
  for (const u32 e : {1u, 2u, 4u})
    for (const u32 d : {4u, 8u}) {
      const auto program = step(d, dense({{"experts", i64{experts}}, {"top_k", i64{top_k}}, {"expert", e}}));
      const u64 alltoalls = e == 1 ? 0 : 4 * kLayers * (e - 1) * (top_k * kActivations / e);
      const u64 expert = kLayers * (experts / e) * 3 * kHidden * kInner;
      const u64 other = kLayers * (4 * kHidden * kHidden + kHidden * experts) + 2 * kEmbeddingValues;
      const u64 replicas = d / e;
      for (const u64 sent : run(*program).sent)
        CHECK_EQ(sent, alltoalls + 2 * 2 * ((d - 1) * other / d + (replicas - 1) * expert / replicas));
    }
  // Tensor parts dispatch different tokens, and gather all tokens of their experts.
  const auto both =
      step(8, dense({{"experts", 8}, {"top_k", 2}, {"expert", 4}, {"tensor", 2}, {"sequence_parallel", true}}));
  AbstractMachine machine = run(*both);
  // Per layer: attention moves the activations 4 times, the experts top_k times as much 4 times.
  const u64 gathers = kLayers * 4 * (1 + top_k) * kActivations / 2 + 4 * kActivations / 2 + 3 * kSequence * 4;
  CHECK_EQ((machine.between[{0, 1}]), gathers);
}

// The bubble is (p - 1) / m of the ideal time, and (p - 1) / (v m) with v chunks per stage. Messages take no time, and
// may be eager or rendezvous. Source: Narayanan et al., SC 2021, section 2.2.
TEST(training_step_bubble) {
  const auto time = [](u32 p, u32 v, u32 m, bool rendezvous) {
    // The output layer of a vocabulary of one takes less than half a nanosecond.
    const auto program = step(
        p, dense({{"layers", 16}, {"vocabulary", 1}, {"pipeline", p}, {"virtual_stages", v}, {"micro_batches", m}}));
    return run(*program, rendezvous).time;
  };
  for (const bool rendezvous : {false, true}) {
    const u64 alone = time(1, 1, 1, rendezvous);  // forward and backward of all layers
    CHECK(alone > 100 && alone % 16 == 0);
    for (const u32 p : {2u, 4u, 8u})
      for (const u32 v : {1u, 2u})
        for (const u32 m : {8u, 16u}) {
          const u64 ideal = alone / p * m;
          CHECK_EQ(time(p, v, m, rendezvous), ideal + ideal * (p - 1) / (v * m));
        }
    CHECK_EQ(time(4, 1, 3, rendezvous), alone / 4 * (3 + 3));  // fewer micro-batches than stages
    CHECK_EQ(time(2, 4, 4, rendezvous), alone / 2 * 4 + alone / 8);
  }
}

// Every micro-batch passes every chunk forward, then backward. A stage of 1F1B keeps the activations of at most p -
// stage micro-batches (Narayanan et al., SC 2021, section 2.2.1). The interleaved warm-up is Megatron-LM's.
TEST(training_step_schedule) {
  using namespace workload::motifs::training_step;
  for (const u32 p : {1u, 2u, 3u, 4u})
    for (const u32 v : {1u, 2u, 3u})
      for (const u32 m : {p, 2 * p, 4 * p}) {
        if (p == 1 && v > 1) continue;
        Settings s{};
        s.pipeline = p, s.virtual_stages = v, s.micro_batches = m;
        for (u32 stage = 0; stage < p; stage++) {
          std::map<std::pair<u32, u32>, u32> passes;
          u32 kept = 0, most = 0;
          for (const auto& entry : schedule(s, stage))
            for (const Slot& slot : entry) {
              CHECK(slot.chunk < v && slot.micro_batch < m);
              CHECK_EQ((passes[{slot.chunk, slot.micro_batch}]++), u32{slot.backward});
              kept += slot.backward ? ~0u : 1u;
              most = std::max(most, kept);
            }
          CHECK_EQ(kept, 0u);
          CHECK_EQ(passes.size(), std::size_t{m} * v);
          const u32 warm_up = v == 1 ? p - 1 - stage : 2 * (p - 1 - stage) + (v - 1) * p;
          CHECK_EQ(most, std::min(m * v, warm_up + 1));
        }
      }
}

// Values that the papers publish, in billions.
TEST(training_step_published_models) {
  const std::map<std::string, double> billions{
      {"gpt_13b", 12.85}, {"gpt_175b", 174.6}, {"llama_7b", 6.7}, {"llama_65b", 65.2}, {"mixtral_8x7b", 46.7}};
  for (const auto& [name, published] : billions)
    CHECK_NEAR(static_cast<double>(model_named(name).values()) / 1e9, published, 0.01 * published);
  const Model& m = model_named("mixtral_8x7b");
  const u64 unused = m.layers * (m.experts - m.top_k) * m.expert_values();
  CHECK_NEAR(static_cast<double>(m.values() - unused) / 1e9, 12.9, 0.1);
}

// Narayanan et al., SC 2021, equation 3. With recomputation a step of B sequences has
// 96 B s l h^2 (1 + s / 6 h + V / 16 l h) operations. Without it there are 72 B s l h^2 (1 + s / 6 h + V / 12 l h).
TEST(training_step_computation) {
  const Model& m = model_named("gpt_175b");
  const double s = m.sequence, l = m.layers, h = m.hidden, v = m.vocabulary, micro_batches = 4;
  for (const bool recompute : {false, true}) {
    const auto program = step(
        8, {{"model", "gpt_175b"}, {"pipeline", 8}, {"micro_batches", 4}, {"tflops", 100.0}, {"recompute", recompute}});
    const double published =
        (recompute ? 96 : 72) * micro_batches * s * l * h * h * (1 + s / (6 * h) + v / ((recompute ? 16 : 12) * l * h));
    CHECK_NEAR(static_cast<double>(workload::totals(*program).calc_ns) * 100e3 / published, 1.0, 1e-6);
  }
}

namespace {

// Bytes and messages that rank 0 sends to a peer.
struct Sent {
  u64 bytes = 0, messages = 0;
};
Sent sent_to(const Program& program, u32 peer) {
  Sent sum;
  for (u64 k = 0; k < program.blocks(0); k++) {
    const Block block = testing::block_of(program, 0, k);
    for (const Op& op : block.ops)
      if (op.kind == OpKind::kSend && op.peer == peer) sum.bytes += op.size, sum.messages++;
  }
  return sum;
}

}  // namespace

// Numbers of AICB's files for the same models (aliyun/aicb, workload/simAI, Apache-2.0), in bytes. Each file has one
// micro-batch.
//   GPT13B_megatron_tp8_pp1_mbs1: 162 allreduces of 20,971,520 for layers and embedding, 3 of 8,192 for the loss;
//     REDUCESCATTER 6,497,239,040 of gradients, ALLGATHER 3,248,619,520 of values. Vocabulary 32,000.
//   Llama7B_megatron_tp2_pp1_mbs1: 130 allreduces of 16,777,216, 3 of 8,192; 13,509,853,184 and 6,754,926,592.
// Differences: gradients there have 4 bytes, which bytes_per_gradient=4 reproduces. AICB counts the tied embedding of
// GPT twice, and gives Llama an embedding of positions. It adds small messages (norms, optimizer), and an allreduce of
// the embedding that a single stage does not need. The file Llama65B_deepspeed_zero3 has traced sizes of 12 modules
// (such as 357,468 bytes) that do not follow from the sizes of the model, so it is not compared.
TEST(training_step_agrees_with_aicb) {
  struct File {
    const char* model;
    u32 tensor;
    u64 allreduces, activations, gradients, values, more_values;
  };
  const File files[] = {
      {"gpt_13b", 8, 162, 20971520, 6497239040, 3248619520, u64{32000} * 5120 / 8},
      {"llama_7b", 2, 130, 16777216, 13509853184, 6754926592, u64{2048} * 4096},
  };
  for (const File& file : files) {
    const u32 t = file.tensor, d = 2;
    const auto program = step(t * d, {{"model", file.model},
                                      {"tensor", t},
                                      {"zero", 1},
                                      {"vocabulary", 32000},
                                      {"micro_batches", 1},
                                      {"bytes_per_gradient", 4}});
    const Sent tensor = sent_to(*program, 1), data = sent_to(*program, t);
    CHECK_EQ(tensor.bytes, 2 * (t - 1) * (file.allreduces * file.activations + 3 * 8192) / t);
    CHECK_EQ(tensor.messages, 2 * (t - 1) * (file.allreduces + 3));
    const u64 gradients = file.gradients - 4 * file.more_values, values = file.values - 2 * file.more_values;
    CHECK_EQ(data.bytes, (d - 1) * (gradients + values) / d);
  }
}

// Every message takes a microsecond. Without overlap the allreduces of the gradients follow the computation. With
// overlap they run during the backward pass, but not the last bucket.
TEST(training_step_overlap) {
  const auto time = [](u32 ranks, bool overlap, double tflops) {
    const auto program =
        step(ranks, dense({{"overlap", overlap}, {"bucket_bytes", 1}, {"tflops", tflops}, {"micro_batches", 2}}));
    return AbstractMachine(*program, true, {}, 1000).time;
  };
  const u64 bucket = 2 * 3 * 1000;  // an allreduce of six steps
  for (const double tflops : {0.001, 1.0}) {
    const u64 computation = time(1, false, tflops), layer = computation / (2 * 3 * kLayers) * 2;
    CHECK_EQ(time(4, false, tflops), computation + kLayers * bucket);
    const u64 seen = time(4, true, tflops);
    if (layer > bucket) CHECK_EQ(seen, computation + bucket);
    else CHECK(seen < computation + kLayers * bucket && seen > std::max(computation, kLayers * bucket));
  }
}

// All kinds of parallelism together, with rendezvous messages: no rank waits for ever, and the bytes are the same with
// every algorithm that is optimal in bytes.
DEEP_TEST(training_step_combinations_finish) {
  for (const i64 t : {1, 2})
    for (const i64 p : {1, 2, 4})
      for (const i64 v : {1, 2})
        for (const i64 e : {1, 2})
          for (const i64 zero : {0, 3})
            for (const i64 m : {4, 8}) {
              if ((v > 1 && p == 1) || (zero == 3 && p > 1)) continue;
              const Values values = dense({{"tensor", t},
                                           {"pipeline", p},
                                           {"virtual_stages", v},
                                           {"experts", 4},
                                           {"top_k", 2},
                                           {"expert", e},
                                           {"zero", zero},
                                           {"sequence_parallel", true},
                                           {"micro_batches", m},
                                           {"bucket_bytes", 100000},
                                           {"iterations", 2}});
              const auto program = step(static_cast<u32>(t * p * 2), values);
              for (const bool rendezvous : {false, true}) run(*program, rendezvous);
            }
  const Values hybrid{{"tensor", 4}, {"ranks_per_node", 8}, {"zero", 1}};
  u64 bytes = 0;
  for (const char* algorithm : {"ring", "halving_doubling", "hierarchical", "auto"}) {
    Values values = dense(hybrid);
    values["algorithm"] = std::string(algorithm);
    values["channels"] = i64{2}, values["chunk_bytes"] = i64{5000};
    run(*step(16, values));
    const u64 sum = workload::totals(*step(16, values)).bytes;
    if (bytes == 0) bytes = sum;
    if (std::string(algorithm) != "auto") CHECK_EQ(sum, bytes);
  }
}

}  // namespace workload_training_step_test
