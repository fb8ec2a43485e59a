// Damaged GOAL schedules. Each is refused, or it is read, built and run for a while.
#include "readers/goal.hpp"
#include "simcore/program_totals.hpp"
#include "simcore/workload.hpp"
#include "support/fuzz.hpp"
#include "support/scenes.hpp"

namespace fuzz_goal_test {

using namespace scenes;

DEEP_TEST(fuzz_goal) {
  const std::vector<std::string> corpus = {
      "num_ranks 2\nrank 0 {\nc: calc 4000\ns: send 1000b to 1 tag 7\nr: recv 1000b from 1 tag 9\ns requires c\n}\n"
      "rank 1 {\nr: recv 1000b from 0 tag 7\nk: calc 500\nk requires r\ns: send 1000b to 0 tag 9\ns requires k\n}\n",
      "num_ranks 3 // a comment\nrank 0 {\na: recv 70000b from -1 tag -1\nb: calc 1 cpu 2\nb irequires a\n}\nrank 1 { "
      "/* two */\n"
      "a: send 70000b to 0 nic 1\n}\nrank 2 {\n}\n",
      workload::write_goal(*motif_program({"collective", {{"ranks", 6}, {"collective", "alltoall"}}}, "motif", 0)),
  };
  const auto words = testing::words_of(
      "num_ranks~rank~calc~send~recv~requires~irequires~b~to~from~tag~cpu~nic~{~}~-1~0~255~256~4294967295~"
      "18446744073709551615~/*~*/~//~\n~:~o1~a~s");
  u32 ran = 0;
  testing::fuzz(corpus, words, 2500, [&](const std::string& text) {
    const auto program = workload::read_goal(text, "fuzz.goal");
    workload::check_program(*program, "program");
    CHECK(workload::read_goal(workload::write_goal(*program), "again")->ranks == program->ranks);
    if (program->ranks > 72) return;
    for (const char* host : {"mpi", "loggops"}) {
      Config c = config(small_network(), sc22(), {"minimal", {}}, {"", {}});
      c.workload = {{{"host", host}}, {{"a", {}, program, {}}}};
      Simulation sim(c);
      sim.run_workload(3000);
      ran++;
    }
  });
  CHECK(ran > 6);
}

}  // namespace fuzz_goal_test
