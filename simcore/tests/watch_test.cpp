// The text record of one packet, from terminal 2 to terminal 10 on 72 terminals with router hpdc21.
// stage/zero_load_test.cpp derives the cycles.
#include "support/scenes.hpp"
#include "test.hpp"

namespace watch_test {

using namespace scenes;

TEST(life_of_a_packet) {
  Simulation sim(config(small_network(), hpdc21(), {"minimal", {}}, planned({{2, 10}, {4, 0}})));
  sim.watch(2, 0);
  sim.run(1000);
  CHECK_EQ("\n" + sim.watch_log(), R"(
         0  2.0 2->10  packet is accepted by terminal 2
        20  2.0 2->10  packet leaves on the channel of terminal 2
        32  2.0 2->10  packet arrives in the input buffer of router 1 port 0 (terminal) vc 0, hops 0
        33  2.0 2->10  packet is routed to router 1 port 2 (local) vc 0, hops 0
        33  2.0 2->10  packet wins the switch to router 1 port 2 (local) vc 0, hops 0
        53  2.0 2->10  packet leaves on the channel of router 1 port 2 (local) vc 0, hops 0
        84  2.0 2->10  packet arrives in the input buffer of router 0 port 2 (local) vc 0, hops 1
        85  2.0 2->10  packet is routed to router 0 port 5 (global) vc 0, hops 1
        85  2.0 2->10  packet wins the switch to router 0 port 5 (global) vc 0, hops 1
       105  2.0 2->10  packet leaves on the channel of router 0 port 5 (global) vc 0, hops 1
       305  2.0 2->10  packet arrives in the input buffer of router 4 port 5 (global) vc 0, hops 2
       306  2.0 2->10  packet is routed to router 4 port 2 (local) vc 1, hops 2
       306  2.0 2->10  packet wins the switch to router 4 port 2 (local) vc 1, hops 2
       326  2.0 2->10  packet leaves on the channel of router 4 port 2 (local) vc 1, hops 2
       357  2.0 2->10  packet arrives in the input buffer of router 5 port 2 (local) vc 1, hops 3
       358  2.0 2->10  packet is routed to router 5 port 0 (terminal) vc 1, hops 3
       358  2.0 2->10  packet wins the switch to router 5 port 0 (terminal) vc 1, hops 3
       378  2.0 2->10  packet leaves on the channel of router 5 port 0 (terminal) vc 1, hops 3
       391  2.0 2->10  packet is delivered to terminal 10
)");
}

// One thread advances all partitions, so that the log is in the order of time.
TEST(a_packet_is_watched_across_partitions) {
  // A head of dal that is not watched withholds its request for an output without room.
  const Section box = hyperx_section({4, 3}, 3);
  const Values shallow = merge(sc19(), {{"input_buffer_flits", 8}, {"output_buffer_flits", 8}});
  for (Config c :
       {config(small_network(), hpdc21(), {"minimal", {}}, {"adversarial", {{"load", 0.3}}}),
        config(small_network(), hpdc21(), {"ugal_global", {}}, {"adversarial", {{"load", 0.3}}}),
        config(box, shallow, {"dal", {}}, {"tornado", {{"load", 0.9}, {"packet_bytes_max", bytes_of(7)}}})}) {
    Simulation whole(c);
    c.partitions = 4;
    Simulation cut(c), unseen(c);
    CHECK(cut.network().partitions() > 1);
    for (Simulation* sim : {&cut, &unseen}) sim->set_threads(2);
    for (Simulation* sim : {&whole, &cut}) sim->watch(5, 3);
    for (Simulation* sim : {&whole, &cut, &unseen}) {
      sim->begin_window();
      sim->run(3000);
    }
    CHECK(whole.watch_log().find("is delivered to") != std::string::npos);
    CHECK_EQ(cut.watch_log(), whole.watch_log());
    CHECK(statistics(cut.network(), cut.state()) == statistics(unseen.network(), unseen.state()));
  }
}

}  // namespace watch_test
