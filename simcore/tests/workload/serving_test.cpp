// serving: volumes of KV caches against published ones, all bytes of a run, and the times of arrivals.
#include "simcore/program_totals.hpp"
#include "support/abstract_machine.hpp"
#include "support/motif_programs.hpp"
#include "test.hpp"
#include "workload/motifs/training_step_plan.hpp"

namespace serving_test {

using namespace flitgym;
using workload::motifs::training_step::model_named;

// Llama-2-70B: 320 KiB per token, 1,342,177,280 bytes for 4,096 tokens (draft-calabria-bmwg-ai-fabric-inference-bench,
// appendix "S_KV"). A model of the size of OPT-13B: 800 KB per token (Kwon et al., SOSP 2023, section 3).
TEST(kv_caches_have_the_published_volumes) {
  CHECK_EQ(model_named("llama2_70b").cache_values() * 2, u64{320} * 1024);
  CHECK_EQ(model_named("llama2_70b").cache_values() * 2 * 4096, u64{1342177280});
  CHECK_EQ(model_named("gpt_13b").cache_values() * 2, u64{800} * 1024);
  CHECK_NEAR(static_cast<double>(model_named("llama2_70b").values()), 68.98e9, 0.01e9);
}

// Seven requests, two prefill and three decode instances of four ranks; `small` has 4 layers of 256 values.
TEST(serving_moves_caches_and_activations) {
  const auto program = testing::motif("serving", 21,
                                      {{"tensor", 4},
                                       {"prefill_share", 0.4},
                                       {"requests", 7},
                                       {"batch", 2},
                                       {"prompt_tokens", 100},
                                       {"output_tokens", 5}});
  workload::check_program(*program, "serving");
  testing::AbstractMachine machine(*program, true);
  CHECK(machine.finished && machine.sizes_agree);
  const u64 cache = 2 * 4 * 256 * 2 * 100, prompts = 4 * 100 * 4;
  // A ring sends 2 (n - 1) times the vector in total; there are two allreduces per layer and pass.
  const u64 activations = 2 * 3 * 2 * 4 * 256 * 2 * (100 + 5);
  CHECK_EQ(workload::totals(*program).bytes, 7 * (cache + prompts + activations));
  for (u32 me = 0; me < 4; me++) {  // request 3 goes from the second prefill instance to the first decode instance
    CHECK_EQ((machine.between[{5 + me, 9 + me}]), cache / 4);
    CHECK_EQ((machine.between[{1 + me, 9 + me}]), 2 * cache / 4);  // requests 0 and 6
  }
  // Fewer allreduces have the same bytes.
  const auto merged = testing::motif("serving", 21,
                                     {{"tensor", 4},
                                      {"prefill_share", 0.4},
                                      {"requests", 7},
                                      {"batch", 2},
                                      {"reduces", 3},
                                      {"prompt_tokens", 100},
                                      {"output_tokens", 5}});
  CHECK_EQ(workload::totals(*merged).bytes, workload::totals(*program).bytes);
}

// The front end computes for the time between two requests: n / rate in the mean.
TEST(serving_requests_come_at_their_rate) {
  const auto program = testing::motif("serving", 9, {{"requests", 4000}, {"rate_per_s", 50000.0}});
  double sum = 0;
  for (const Op& op : testing::block_of(*program, 0).ops)
    if (op.kind == OpKind::kCalc) sum += static_cast<double>(op.size);
  CHECK_NEAR(sum / 4000, 20000.0, 20000 * 4 / 63.2);
}

}  // namespace serving_test
