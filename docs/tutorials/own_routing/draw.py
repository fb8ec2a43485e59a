"""Draws own_routing.png: the effect of the number of compared queues on two routers, in NumPy and in the core.

    python draw.py [--ns 5000] [--loads 0.1 0.2 ...] [--out own_routing.png]

"In turns" and "the least of all" are the core's `minimal`. If `two_choices` is not built into the core, the script
leaves its line out and prints a note.
"""

import argparse

from flitgym.env import World, play
from flitgym.simcore import registered
from matplotlib.figure import Figure
from two_choices import SEEN, fewest_of

ROUTERS = {"input_queued": "input queues, credits a link later", "hpdc21": "output queues"}
# Routings with label, colour and line or marker. A NumPy rule has the colour of the same rule in C++.
CORE = {
    "in turns": ({"name": "minimal", "ports": "packet"}, "#000000", "-"),
    "two drawn (C++)": ({"name": "two_choices"}, "#D55E00", "-"),
    "the least of all": ({"name": "minimal", "ports": "queue"}, "#0072B2", "--"),
}
NUMPY = {1: ("one drawn (NumPy)", "#999999", "v"), 2: ("two drawn (NumPy)", "#D55E00", "o")}


def by_the_core(routing: dict[str, str], world: list[str], ns: float) -> dict[str, float]:
    """The statistics that `play` returns for a rule, here for a routing of the core."""
    simulation = World.composed(world).simulation(routing, 1)
    simulation.run_ns(ns)
    simulation.begin_window()
    simulation.run_ns(ns)
    return simulation.statistics()


def main() -> None:
    """Measure all routings, draw them, and print the missing ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9])
    parser.add_argument(
        "--ns", type=float, default=5000, help="warm-up and measurement window in ns; four times as long on hpdc21"
    )
    parser.add_argument("--out", default="own_routing.png")
    given = parser.parse_args()
    missing = sorted({routing["name"] for routing, *_ in CORE.values()} - set(registered("routing")))
    if missing:
        print(f"left out, since this core does not have them: {', '.join(missing)}")
    figure = Figure(figsize=(8.4, 3.7), layout="constrained")
    for column, (router, title) in enumerate(ROUTERS.items()):
        ax = figure.add_subplot(1, 2, column + 1)
        quantity = "accepted_load" if column == 0 else "packet_latency_mean_ns"
        ns = given.ns * (4 if router == "hpdc21" else 1)  # its flits take 20 times as long
        worlds = [
            ["topology=fat_tree_64", f"router={router}", "traffic=bit_complement", f"traffic.load={load}"]
            for load in given.loads
        ]
        for label, (routing, color, line) in CORE.items():
            if routing["name"] not in missing:
                heights = [by_the_core(routing, world, ns)[quantity] for world in worlds]
                ax.plot(given.loads, heights, line, color=color, label=label)
        for choices, (label, color, marker) in NUMPY.items():
            rule = fewest_of(choices)
            heights = [
                play(rule, overrides=world, seeds=[1], warmup_ns=ns, measure_ns=ns, **SEEN)[quantity]
                for world in worlds
            ]
            ax.plot(given.loads, heights, marker, color=color, fillstyle="none", label=label)
        ax.set_title(f"router={router}: {title}", fontsize=9)
        ax.set_xlabel("offered load")
        ax.set_ylabel("accepted load" if column == 0 else "mean latency (ns)")
        ax.set_ylim(bottom=0)
        ax.grid(color="#e6e6e6")
        ax.spines[["top", "right"]].set_visible(False)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=8)
    figure.savefig(given.out, dpi=110)
    print(given.out)


if __name__ == "__main__":
    main()
