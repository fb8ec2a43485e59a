"""The hardware cost of routings on a network: measured counts per packet, and arithmetic and memory from the core."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...configs import compose, has_workload
from ...simcore import ConfigError, __version__, registered
from ..evaluation.plan import Policy
from ..recording.run import prepared, recorded
from ..terminal.commandline import CommandError

_SLOTS = int(registered("record")["record"]["params"]["slots"]["max"])
_CAPACITY = 4096  # transitions in the core's ring; the rows of a record with many slots are wide


def cost_of(policy: Policy, words: Sequence[str], decisions: int) -> dict[str, Any]:
    """The cost of a policy in a run with the overrides `words`: its name, all overrides, the counts, and `declared`.

    The counts are means over the packets that are delivered during so many decisions after the warm-up. `declared` is
    the result of `Simulation.hardware_cost`.
    """
    own = [f"routing={policy.routing}", *(f"{key}={value}" for key, value in policy.settings.items())]
    config = compose([*words, *own])
    if has_workload(config):
        raise ConfigError(
            f"workload={config.workload.name}: the cost is measured under traffic; leave the workload out"
        )
    recording = "record" in registered("routing")[config.routing.name]["params"]
    simulation = prepared(config, {} if recording else {"observation": "progress", "slots": _SLOTS}, _CAPACITY)
    simulation.run_ns(config.run.warmup_ns)
    made = simulation.decision_count
    simulation.begin_window()
    try:
        mask = recorded(simulation, decisions)["mask"]
    except CommandError:
        if simulation.decision_count > made:
            raise
        mask = None  # an oblivious routing, whose packets have a single candidate
    simulation.end_window()
    statistics = simulation.statistics()
    packets = statistics["packets_delivered"]
    if not packets:
        raise ConfigError("no packet was delivered; check that traffic.load is above 0")
    candidates, core = 0.0 if mask is None else float(mask.sum(axis=1).mean()), simulation.configuration()
    return {
        "policy": policy.name,
        "words": [*words, *own],
        "version": __version__,
        "candidates": candidates,
        "decisions_per_packet": (simulation.decision_count - made) / packets,
        "hops_per_packet": statistics["hops_mean"],
        "packet_bytes": core["traffic"]["packet_bytes"] or core["router"]["flit_bytes"],
        "declared": simulation.hardware_cost(candidates),
    }


def rows_of(costs: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """A table with a line per quantity and a column per policy."""
    rows = []
    for cost in costs:
        declared = cost["declared"]
        message, decision = message_bytes(declared), declared["decision"]
        memories = declared["memories"]
        learned, other = (sum(one["bytes"] for one in memories if one["learned"] == kind) for kind in (True, False))
        operations = ("multiplications", "additions", "comparisons", "table_reads")
        rows.append(
            {
                "candidates per decision": f"{cost['candidates']:.1f}" if cost["candidates"] else "-",
                "decisions per packet": f"{cost['decisions_per_packet']:.2f}",
                "inputs per decision": f"{declared['inputs']:,.0f}" if declared["inputs"] else "-",
                **{
                    f"{key.replace('_', ' ')} per decision": "-" if decision is None else f"{decision[key]:,.0f}"
                    for key in operations
                },
                "weights": f"{declared['weights'] + declared['biases']:,.0f}",
                "weights, bytes per router": f"{declared['weight_bytes']:,.0f}",
                "learned tables, bytes per router": f"{learned:,.0f}",
                "other state, bytes per router": f"{other:,.0f}",
                "packet header, bits": f"{declared['header_bits']:,.0f}",
                "feedback per hop, bytes": f"{message:,}",
                "feedback per packet, bytes": f"{message * cost['hops_per_packet']:.1f}",
                "feedback per byte of data and hop": f"{100 * message / cost['packet_bytes']:.1f} %",
                "multiplications per update": f"{declared['update']['multiplications']:,.0f}",
            }
        )
    return [(name, [row[name] for row in rows]) for name in (rows[0] if rows else ())]


def message_bytes(declared: Mapping[str, Any]) -> int:
    """Whole bytes of a feedback message: the number of the table's row, and the value."""
    return -(-int(declared["feedback_row_bits"] + declared["feedback_value_bits"]) // 8)
