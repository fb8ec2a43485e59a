"""The results of many runs, for a Python program or a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from ...configs import GROUPS
from ...simcore import ConfigError
from ..plotting.swept import named, swept
from ..results.files import results_below
from ..results.rows import row, table_of
from ..templates import html_table
from .result import Result

# The import of each takes longer than a short run.
if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes

_MOST_SHOWN = 30  # rows
_NUMBERS = ("accepted_load", "packet_latency_mean_ns", "packet_latency_p99_ns", "hops_mean")


class Runs(Sequence[Result]):
    """The results of a sweep in the order of its values, as a sequence of `Result`.

    Args:
        results: One result per run, with its folder.
        values: For each run, the values of the keys that distinguish it from the others.
    """

    def __init__(self, results: Sequence[Result], values: Sequence[Mapping[str, Any]]) -> None:
        self._results, self._swept = list(results), [dict(one) for one in values]

    @classmethod
    def read(cls, directory: str | Path) -> Runs:
        """The finished runs below a folder, such as a study of `flitgym simulate -m`.

        Raises:
            ConfigError: there is no finished run.
            DamagedError: a result cannot be read, or it has changed.
        """
        found, damaged = results_below(Path(directory))
        if damaged:
            raise damaged[0]
        found = [(result, where) for result, where in found if "kind" not in result]  # no tables, no searches
        if not found:
            raise ConfigError(f"{directory}: no finished run; make some with flitgym.sweep or flitgym simulate")
        rows = named(row(result, where) for result, where in found)
        keys = [*swept(rows), *(["seed"] if len({one.get("seed") for one in rows}) > 1 else [])]
        return cls([Result(*one) for one in found], [{key: one.get(key) for key in keys} for one in rows])

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Result | Runs:
        if isinstance(index, slice):
            return Runs(self._results[index], self._swept[index])
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per run: its numbers, and its configuration as `traffic.load`, `routing.name` and so on.

        The column of a group's name holds the chosen option: `routing` is `ugal_l` if `routing.name` is the registered
        `ugal_group`.
        """
        rows = []
        for result, values in zip(self._results, self._swept, strict=True):
            assert result.directory is not None  # every run of a sweep has its folder
            groups = {key: value for key, value in values.items() if key in GROUPS}
            rows.append({**groups, **row(dict(result), result.directory)})
        return named(rows)

    def table(self) -> pa.Table:
        """The rows as an Arrow table. A missing value is null."""
        return table_of(self.rows())

    def frame(self) -> pd.DataFrame:
        """The rows as a pandas frame, if pandas is installed."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def plot(self, x: str | None = None, y: str | None = None, by: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw a column against another, a curve per value of a third, with 95 % intervals over the seeds.

        Args:
            x: Column; None: `traffic.load`, or the first swept key with numbers.
            y: Column; None: the mean latency, `packet_latency_mean_ns`.
            by: Column; None: every other key that differs between the runs.
            ax: Axes to draw into; None: the axes of a new figure.

        Raises:
            ConfigError: a column does not exist, or no swept key has numbers.
        """
        from ..plotting.sweeps import curves

        if x is None:
            values = self._swept[0] if self._swept else {}
            numbers = [key for key, value in values.items() if isinstance(value, int | float) and key != "seed"]
            if not numbers:
                raise ConfigError("x: no swept key has numbers; name a column, such as x='traffic.load'")
            x = "traffic.load" if "traffic.load" in numbers else numbers[0]
        return curves(self.rows(), x, y or "packet_latency_mean_ns", by, ax)

    def __repr__(self) -> str:
        header, rows = self._shown()
        cells = [header, *rows]
        widths = [max(len(line[k]) for line in cells) for k in range(len(header))]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in cells]
        return "\n".join([f"{len(self)} runs", *(f"  {line.rstrip()}" for line in lines), *self._more()])

    def _repr_html_(self) -> str:
        header, rows = self._shown()
        return html_table(rows, header, f"{len(self)} runs") + "".join(self._more())

    def _more(self) -> list[str]:
        rest = len(self) - _MOST_SHOWN
        return [f"and {rest} more; table() has all of them"] if rest > 0 else []

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """The header and the first rows, with the swept keys and the main numbers."""
        keys = list(dict.fromkeys(key for values in self._swept for key in values))
        some = [name for name in _NUMBERS if any(result.get(name) is not None for result in self)]
        rows = [
            [*(_text(values.get(key)) for key in keys), *(_text(result.get(name)) for name in some)]
            for result, values in zip(self._results[:_MOST_SHOWN], self._swept, strict=False)
        ]
        return [*keys, *some], rows


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
