"""The tables of `flitgym route`, with a row per forwarding table."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..terminal.tables import MISSING, console, terminal_table

Result = Mapping[str, Any]


def columns(result: Result) -> dict[str, str]:
    """The cells of a forwarding table's row, by heading."""
    if not result["routed"]:
        return {"table": result["table"], "layers": "no table"}
    bisection = MISSING
    if result["ebb_mean"] is not None:
        error = result["ebb_standard_error"]
        bisection = f"{result['ebb_mean']:.4f}" + ("" if error is None else f" ±{error:.4f}")
    seconds = result["route_cpu_seconds"]
    return {
        "table": result["table"],
        "layers": str(result["layers"]),
        "acyclic": "yes" if result["acyclic"] else "NO",
        "EFI": f"{result['edge_forwarding_index']:,.8g}",
        "mean": f"{result['load_mean']:,.6g}",
        "dev.": f"{result['load_deviation']:,.4g}",
        "unused": f"{result['channels_unused']:,}",
        "hops": f"{result['hops_mean']:.3f}",
        "max": str(result["hops_max"]),
        "minimal": "yes" if result["minimal"] else "no",
        "eBB": bisection,
        "CPU s": MISSING if seconds is None else f"{seconds:.3g}",
    }


def headline(result: Result) -> str:
    """A result in a few words."""
    bisection = "" if result["ebb_mean"] is None else f", eBB {result['ebb_mean']:.3f}"
    free = "acyclic" if result["acyclic"] else "with a cycle"
    layers = f"{result['layers']} layer{'s' if result['layers'] > 1 else ''}"
    return (
        f"edge forwarding index {result['edge_forwarding_index']:,.6g}, deviation {result['load_deviation']:,.4g}, "
        f"{result['hops_mean']:.3f} hops{bisection}, {layers}, {free}"
    )


def print_rows(results: Sequence[Result]) -> None:
    """Print a table per network with its forwarding tables in the given order, and remarks about them below."""
    networks: dict[str, list[Result]] = {}
    for result in results:
        networks.setdefault(network_label(result), []).append(result)
    heads = next((list(columns(result)) for result in results if result["routed"]), ["table", "layers"])
    terminal = console(140)
    for name, own in networks.items():
        terminal.print(name, highlight=False, markup=False, soft_wrap=True)
        table = terminal_table(heads, left=["table"])
        for column in table.columns:
            column.no_wrap = True
        for result in own:
            cells = columns(result)
            table.add_row(*(cells.get(head, MISSING) for head in heads))
        terminal.print(table)
        for result in own:
            for line in remarks(result):
                terminal.print(line, highlight=False, markup=False, soft_wrap=True)


def network_label(result: Result) -> str:
    """The network of a forwarding table, with its size."""
    topology, failures = result["config"]["topology"], result["config"]["failures"]
    name = topology.get("file") or topology["name"]
    lost = "".join(f", failures.{key}={value}" for key, value in failures.items() if value is not None)
    demand = result["config"]["demand"]
    return (
        f"{name}: {result['terminals']:,} terminals, {result['switches']:,} switches, {result['channels']:,} channels"
        f"{lost}{f', demand {demand}' if demand else ''}"
    )


def remarks(result: Result) -> list[str]:
    """Remarks about a forwarding table: the engine's refusal, a cycle of channels, and the congestion of flows."""
    lines = []
    if not result["routed"]:
        return [f"{result['table']}: {result['note']}"]
    if result["cycle"]:
        lines.append(f"{result['table']} can deadlock: {result['cycle']}")
    if (under := result.get("under_demand")) is not None:
        lines.append(
            f"{result['table']} under {result['config']['demand']}: fullest channel "
            f"{under['edge_forwarding_index']:.6g}, mean {under['load_mean']:.6g}, "
            f"deviation {under['load_deviation']:.6g}, {under['hops_mean']:.4g} hops"
        )
    if (flows := result.get("flows")) is not None:
        lines.append(
            f"{result['table']}, {flows['count']:,} flows: congestion {flows['congestion_mean']:.4g} on average, "
            f"{flows['congestion_max']:.6g} at most; at their ends {flows['endpoint_congestion_mean']:.4g} and "
            f"{flows['endpoint_congestion_max']:.6g}"
        )
    return lines
