"""The result of one run, for a Python program or a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...configs import workload_label
from ...simcore import ConfigError
from ..presets import preset_of
from ..results.files import read_columns
from ..templates import html_table
from ..terminal.times import time_text


class Result(Mapping[str, Any]):
    """The result of one run: a mapping of the fields of its `result.json`.

        result["packet_latency_mean_ns"], result["accepted_load"], result["jobs"]

    The reference page "Fields of a result" lists the fields with their units.

    Args:
        fields: The content of `result.json`.
        directory: The folder of the result; None: the run left no files.
        tables: For a run without files, the columns of its tables by their names in `files`.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        directory: Path | None = None,
        tables: Mapping[str, Mapping[str, NDArray[Any]]] | None = None,
    ) -> None:
        self._fields = dict(fields)
        self._tables = dict(tables or {})
        self.directory = directory

    def __getitem__(self, key: str) -> Any:
        if key not in self._fields:
            raise KeyError(f"'{key}' is not a field of this result; valid fields: {', '.join(sorted(self._fields))}")
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def config(self) -> dict[str, Any]:
        """The resolved configuration, a mapping of sections."""
        sections: dict[str, Any] = self._fields["config"]
        return sections

    def columns(self, name: str) -> Mapping[str, NDArray[Any]]:
        """The columns of a table of the run, such as `series` or `channels`, the keys of `result["files"]`.

        Raises:
            ConfigError: the run did not keep this table.
            DamagedError: the file cannot be read, or it has changed.
        """
        kept = self._tables.get(name)
        if kept is None and self.directory is not None:
            kept = read_columns(self._fields, self.directory, name)
        if kept is None:
            raise ConfigError(
                f"{name}: the run did not keep this table; run.series_interval_ns=1000 keeps 'series', "
                "run.channels=true keeps 'channels'"
            )
        return kept

    def __repr__(self) -> str:
        rows = self._lines()
        width = max(len(name) for name, _ in rows)
        return "\n".join([f"Result of {self._title()}", *(f"  {name:<{width}}  {text}" for name, text in rows)])

    def _repr_html_(self) -> str:
        return html_table(self._lines(), title=self._title())

    def _title(self) -> str:
        config, facts = self.config, self._fields["facts"]
        size = f"{facts['routers']:,} routers, {facts['terminals']:,} terminals"
        network = f"{preset_of('topology', config['topology'])} ({size})"
        routing = config["routing"]
        name = Path(routing["path"]).stem if routing.get("path") else preset_of("routing", routing)
        if self._fields["jobs"]:
            sent = f"jobs {workload_label(config['workload'])}"
        else:
            sent = f"traffic {config['traffic']['name']} at load {config['traffic']['load']:g}"
        return f"{network}, routing {name}, {sent}, seed {config['seed']}"

    def _lines(self) -> list[tuple[str, str]]:
        fields = self._fields
        lines = [*(_of_jobs(fields) if fields["jobs"] else _of_traffic(fields))]
        lines.append(("CPU time", f"{fields['cpu_seconds']:.2g} s for {time_text(fields['simulated_ns'])}"))
        if self.directory is not None:
            lines.append(("directory", str(self.directory)))
        return lines + [("warning", text) for text in (fields.get("warnings") or {}).values()]


def _of_traffic(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    loads = (
        f"{fields['accepted_load']:.3f} of {fields['offered_load']:.3f} offered, in flits per terminal per flit time"
    )
    if not fields["packets_delivered"]:
        return [("accepted load", loads), ("latency", "no packet was delivered in the window")]
    mean, p99 = fields["packet_latency_mean_ns"], fields["packet_latency_p99_ns"]
    since = "acceptance by the NIC" if fields["latency_reference"] == "nic" else "generation"
    return [
        ("accepted load", loads),
        ("latency", f"mean {mean:,.0f} ns, p99 {p99:,.0f} ns, from {since}"),
        ("hops", f"{fields['hops_mean']:.2f} between routers"),
    ]


def _of_jobs(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = [("finished", "yes" if fields["workload_finished"] else "NO: the time limit came first")]
    for name, job in fields["jobs"].items():
        mean, deviation = job["comm_time_mean_ns"], job["comm_time_std_ns"]
        took = "" if mean is None else f", communication {time_text(mean, deviation)}"
        lines.append((f"job {name}", f"{job['ranks']} ranks{took}"))
    return lines
