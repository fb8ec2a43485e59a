"""The figures of a sweep, and its numbers beside published or known ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..results.files import write_text
from .places import Place


def draw(name: str, place: Place, rows: Sequence[Mapping[str, Any]], directory: Path, preset: str) -> list[Path]:
    """Draw a figure, or the figures of a study, from rows alone.

    Returns:
        The files: PNG and SVG of each figure, and the table of differences. If a figure cannot be drawn, no file is
        written.
    """
    # Imported here, because Matplotlib takes long to import.
    import matplotlib

    from ..plotting.drawing import STYLE, save_figure
    from ..plotting.seeds import state_seeds

    script, expected = place.script, place.expected()
    with matplotlib.rc_context(STYLE):
        drawn = script.draw(rows, expected)
    figures = drawn if isinstance(drawn, Mapping) else {name: drawn}
    for stem, figure in figures.items():
        # A description is that of all figures, or one by figure.
        notes = (getattr(script, key, "") for key in ("OVER_SEEDS", "INTERVALS", "OF_ONE_SEED"))
        state_seeds(figure, rows, *(note.get(stem, "") if isinstance(note, Mapping) else note for note in notes))
    written = [path for stem, figure in figures.items() for path in save_figure(figure, directory / stem, salt=name)]
    # A preset with `bands` names another preset, whose bands of expected numbers apply to it, too.
    bands = place.load().presets[preset].get("bands", preset)
    table = directory / "differences.md"
    compared = differences(name, script.measured(rows), expected["numbers"], bands)
    write_text(table, f"{compared}\n{script.summary(rows)}")
    return [*written, table]


def differences(
    figure: str, measured: Mapping[str, float | None], expected: Sequence[Mapping[str, Any]], preset: str = "quick"
) -> str:
    """The Markdown table of measured and expected numbers of a figure, with the source of each expected number.

    A measured number that the runs did not give is None. `expected` are the `numbers` of `Place.expected`. A value in
    the range `band` counts as met; `band` may map presets to ranges, if the number does not apply to all presets.
    """
    lines = [
        f"# {figure}: measured and expected\n",
        "| quantity | expected | measured | difference | within | source of what is expected |",
        "|---|---|---|---|---|---|",
    ]
    for entry in expected:
        value, wanted, bands = measured[entry["id"]], entry["value"], entry["band"]
        limits = bands.get(preset) if isinstance(bands, Mapping) else bands
        low, high = limits or (None, None)
        shown = "-" if value is None else _text(value)
        difference = "-" if value is None or not limits else f"{value / wanted - 1:+.1%}"
        if not limits:
            verdict = f"only {', '.join(bands)}"
        elif value is None:
            verdict = "not measured"
        else:
            verdict = "yes" if (low is None or value >= low) and (high is None or value <= high) else "**no**"
        band = f" ({_text(low)} to {_text(high)})" if limits else ""
        cells = (entry["what"], _text(wanted), shown, difference, verdict + band, entry["source"])
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _text(number: float | None) -> str:
    return "any" if number is None else f"{number:.4g}"
