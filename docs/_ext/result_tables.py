"""Tables of results on the pages of docs, made from recorded results.

Two comments mark the place of a table on a page. The first comment names a function of `MAKERS` and its arguments:

    <!-- table: scores suite=quick -->

    <!-- end of table -->

`make reference` writes the tables between the comments, and tests/docs/test_result_tables.py compares them. The
benchmark's own code scores the results of its suites. The other sources are the headers of shipped policies, the
READMEs of figures and studies, the saved figures of the core's speed, and the numbers of `flitgym list cost`.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
from flitgym.agents.policy.file import load_policy
from flitgym.configs import compose, core_sections
from flitgym.configs.policies import shipped_policy
from flitgym.experiments.benchmarks.measures import SCORED
from flitgym.experiments.benchmarks.records import Record, read_records
from flitgym.experiments.benchmarks.scoring import Summary, standing_of
from flitgym.experiments.benchmarks.suite import Suite, Task, load_suite
from flitgym.experiments.benchmarks.text import overview, split
from flitgym.experiments.evaluation.tables import Table
from flitgym.experiments.hardware.measure import rows_of
from flitgym.simcore import Simulation

DOCS = Path(__file__).resolve().parent.parent
SUITES = ("quick", "standard")
ALL_SUITES = (*SUITES, "jobs", "changing", "random")
# The best of these counts as the best adaptive baseline. They use only information that a router has.
BASELINES = ("ugal", "ugal_l", "par", "q_adaptive", "dim_war", "omni_war")
GOAL = 1.02  # times the best baseline's latency
_PLACE = re.compile(
    r"(?P<begin><!-- table: (?P<name>\w+)(?P<words>[^\n]*?) -->\n)(?P<table>.*?)(?P<end><!-- end of table -->)",
    re.DOTALL,
)
_COMMENT = "<!-- table:"
# Networks on which the leaderboard measures memory and cost: the first one that a policy played.
_MEASURED_ON = ("dragonfly_342", "hyperx_64", "fat_tree_64", "torus_64", "dragonfly_342_sc22")
_SCENES = (
    "input_queued_minimal_uniform_0.6",
    "hpdc21_q_adaptive_uniform_0.6",
    "input_queued_minimal_uniform_0.3_100352_terminals",
    "sc22_par_fft3d_and_halo3d",
    "sc22_flit_crossbar_par_fft3d_and_halo3d",
)
# Headings of text columns.
_TEXTS = {"policy", "suite", "in task", "network", "scene", "per router and packet"}

Rows = list[list[str]]


def markdown(heads: Sequence[str], rows: Rows) -> str:
    """A Markdown table whose columns of numbers are aligned to the right."""
    rules = ["---" if head in _TEXTS else "---:" for head in heads]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, rules, *rows))


@cache
def _suite(name: str) -> Suite:
    return load_suite(name)


@cache
def _summaries(suite: str) -> list[Summary]:
    return standing_of(_suite(suite))


@cache
def _records(suite: str) -> list[Record]:
    whole = _suite(suite)
    return [record for record in read_records(whole.results) if record.suite == whole.id]


@cache
def _means(suite: str) -> dict[tuple[str, str], float]:
    """The scored measure by task and policy, as the mean over the seeds."""
    kinds = {task.id: task.kind for task in _suite(suite).tasks}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for record in _records(suite):
        if record.task in kinds:
            value = record.measures.get(SCORED[kinds[record.task]][0])
            found[record.task, record.policy] += [] if value is None else [value]
    return {key: float(np.mean(values)) for key, values in found.items() if values}


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


# --- Suites ----------------------------------------------------------------------------------------------------------


def suites() -> str:
    """Tasks, seeds, networks and recorded runs of every suite."""
    rows = []
    for name in ALL_SUITES:
        suite = _suite(name)
        train = sum(task.set == "train" for task in suite.tasks)
        networks = dict.fromkeys(task.network for task in suite.tasks)
        numbers = (len(suite.tasks), train, len(suite.seeds), len(networks), len(_records(name)))
        rows.append([f"[`{suite.id}`](#suite-{name})", *(f"{number:,}" for number in numbers)])
    return markdown(("suite", "tasks", "to train on", "seeds", "networks", "recorded runs"), rows)


# --- Scores ----------------------------------------------------------------------------------------------------------


def _rows_of(
    make: Callable[[Sequence[Summary]], Table], suite: str | None, policies: str | None
) -> tuple[list[str], Rows]:
    """Headings and rows of a benchmark table: of one suite, or of all suites with a column for the suite."""
    heads: list[str] = []
    rows: Rows = []
    for name in (suite,) if suite else SUITES:
        summaries = [s for s in _summaries(name) if policies is None or s.policy in policies.split(",")]
        if not summaries:
            continue
        table = make(summaries)
        heads = list(table.heads)
        rows += [[*([] if suite else [name]), *map(str, line)] for line in table.lines]
    return (heads if suite else ["suite", *heads]), rows


def scores(suite: str | None = None, policies: str | None = None) -> str:
    """Scores on both sets of tasks, the lowest score of any task, and latency relative to the best known."""
    heads, rows = _rows_of(overview, suite, policies)
    last, best = heads.index("tasks") + 2, heads.index("/ best known")
    table = [[*row[:last], row[best]] for row in rows]
    columns = [*heads[:last], "latency / best known"]
    for index in reversed([index for index, cells in enumerate(zip(*table, strict=True)) if set(cells) == {"-"}]):
        columns.pop(index)  # no task to train on, or no latency
        for row in table:
            row.pop(index)
    return markdown(columns, table)


def kinds(suite: str | None = None, policies: str | None = None) -> str:
    """Scores by kind of task."""
    return markdown(*_rows_of(partial(split, key="kind"), suite, policies))


def scoreboard(policies: str) -> str:
    """One row per policy: held-out scores on the suites, and latency relative to the best known."""
    rows = []
    for policy in policies.split(","):
        of = {name: {s.policy: s for s in _summaries(name)}.get(policy) for name in SUITES}
        cells = [f"`{policy}`"]
        for summary in of.values():
            value = np.nan if summary is None else summary.by["set"]["held_out"].value
            cells.append("-" if np.isnan(value) else f"{value:.2f}")
        last = of["standard"]
        ratio = np.nan if last is None else last.latency_to_best
        cells.append("-" if np.isnan(ratio) else f"{ratio:.3f}")
        cells.append("-" if last is None else f"{last.played} of {last.of}")
        rows.append(cells)
    return markdown(
        ("policy", "`quick`", "`standard`", "`standard`: latency / best known", "tasks of `standard`"), rows
    )


def against_baselines(suite: str, policies: str) -> str:
    """Mean latency below saturation relative to the best of `BASELINES` in each task."""
    rows = []
    for policy in policies.split(","):
        ratios = _ratios(suite, policy)
        worst = max(ratios, key=lambda task: ratios[task])
        mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
        within = sum(ratio <= GOAL for ratio in ratios.values())
        rows.append(
            [f"`{policy}`", _percent(mean), f"{within} of {len(ratios)}", _percent(ratios[worst]), f"`{worst.name}`"]
        )
    return markdown(("policy", "mean", f"at most {100 * (GOAL - 1):.0f} % above", "worst", "in task"), rows)


def _ratios(suite: str, policy: str) -> dict[Task, float]:
    means = _means(suite)
    tasks = [task for task in _suite(suite).tasks if task.kind == "below" and (task.id, policy) in means]
    best = {task: min(means[task.id, name] for name in BASELINES if (task.id, name) in means) for task in tasks}
    return {task: means[task.id, policy] / best[task] for task in tasks}


# --- Leaderboard ------------------------------------------------------------------------------------------------------


def leaderboard() -> str:
    """One row per policy of `standard`: scores, cost of a decision and memory of a router."""
    of = {suite: {summary.policy: summary for summary in _summaries(suite)} for suite in ALL_SUITES}
    rows = []
    for policy, summary in of["standard"].items():
        cells = [f"`{policy}`" + ("" if summary.complete else "†")]
        for suite in ALL_SUITES:
            known = of[suite].get(policy)
            value = np.nan if known is None else known.by["set"]["held_out"].value
            cells.append("-" if np.isnan(value) else f"{value:.2f}")
        rows.append([*cells, *_hardware(policy)])
    heads = ["policy", *(f"`{suite}`" for suite in ALL_SUITES), "multiplications", "table values"]
    return markdown([*heads, "bytes per router", "network"], rows)


def _hardware(policy: str) -> list[str]:
    """Multiplications and table values that a decision needs, bytes that a router keeps, and the network of both."""
    played = {record.task for record in _records("standard") if record.policy == policy}
    networks = {task.network: task for task in _suite("standard").tasks if task.id in played}
    network = next((name for name in _MEASURED_ON if name in networks), next(iter(networks)))
    task = networks[network]
    overrides = [word for word in task.overrides if not word.startswith("workload.")]  # of the job, not the network
    simulation = Simulation(core_sections(compose([f"routing={policy}", *overrides])))
    products = weights = 0
    if policy in _shipped():
        layers, header = load_policy(shipped_policy(policy))
        products = int(header["slots"]) * sum(weight.size for weight, _ in layers)
        weights = sum(weight.size + bias.size for weight, bias in layers)
    values, size = 0, weights * np.dtype(np.float32).itemsize
    for memory in simulation.memories().values():
        shape = memory["shape"]
        if memory["learned"]:
            values += shape[-1]  # a row
        if memory["per"] in ("router", "port"):
            # An array of ports is padded to a power of two.
            cells = simulation.facts()["radix"] * np.prod(shape[2:]) if memory["per"] == "port" else np.prod(shape[1:])
            size += int(cells) * np.dtype(memory["type"]).itemsize
    return [f"{products:,}", f"{values:,}", f"{size:,}", f"`{network}`"]


@cache
def _shipped() -> set[str]:
    return {path.stem for path in (DOCS.parent / "agents" / "policies").glob("*.safetensors")}


# --- Other sources ---------------------------------------------------------------------------------------------------


def shipped(policies: str) -> str:
    """Policies that come with flitgym (`all` of them), with observation and training command from their files."""
    rows = []
    for policy in sorted(_shipped()) if policies == "all" else policies.split(","):
        layers, header = load_policy(shipped_policy(policy))
        sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
        sees = (f"`{header['observation']}`", "-".join(map(str, sizes)), header["slots"], f"`{header['relation']}`")
        rows.append([f"`{policy}`", f"`{header['trained_by']}`", *sees, header["topology"]])
    heads = ("policy", "command", "observation", "units", "slots", "relation", "networks")
    return markdown(heads, rows).replace("---:", "---")


def readme(folder: str, number: str) -> str:
    """The n-th table of the README of a figure or a study."""
    path = DOCS.parent / folder / "README.md"
    tables = re.findall(r"(?:^\|[^\n]*\n)+", path.read_text(), re.MULTILINE)
    if not 1 <= int(number) <= len(tables):
        raise ValueError(f"{path}: table {number} does not exist; the file has {len(tables)} tables")
    table: str = tables[int(number) - 1]
    if "](" in table:
        raise ValueError(f"{path}: table {number} has relative links, which break on another page")
    return table


def speed() -> str:
    """Saved figures of the core's benchmark for the scenes of `_SCENES`."""
    saved = json.loads((DOCS.parent / "simcore" / "bench" / "results" / "third.json").read_text())
    of = {scene["scene"]: scene for scene in saved["scenes"]}
    rows = []
    for name in _SCENES:
        million = of[name]["flit_hops_per_cpu_second"] / 1e6
        rows.append(
            [f"`{name}`", f"{of[name]['terminals']:,}", f"{million:.1f}", f"{of[name]['ratio_to_yardstick']:.2f}"]
        )
    return markdown(("scene", "terminals", "million flit-hops per CPU second", "relative to the prototype"), rows)


def hardware_cost() -> str:
    """The numbers that `flitgym list cost ... out=docs/hardware_cost.json` has written."""
    costs = json.loads((DOCS / "hardware_cost.json").read_text())
    names = [f"`{cost['policy']}`" for cost in costs]
    return markdown(("per router and packet", *names), [[name, *cells] for name, cells in rows_of(costs)])


MAKERS: dict[str, Callable[..., str]] = {
    maker.__name__: maker
    for maker in (
        suites,
        scores,
        kinds,
        scoreboard,
        against_baselines,
        leaderboard,
        shipped,
        readme,
        speed,
        hardware_cost,
    )
}


def pages() -> list[Path]:
    """The pages with tables of results."""
    return [path for path in sorted(DOCS.rglob("*.md")) if _COMMENT in path.read_text()]


def written(text: str) -> str:
    """The text of a page with its tables made again.

    Raises:
        ValueError: A comment names an unknown maker, has wrong arguments, or is not closed.
    """
    found = list(_PLACE.finditer(text))
    if len(found) != text.count(_COMMENT):
        raise ValueError("each comment `<!-- table: ... -->` ends its line, and `<!-- end of table -->` follows it")
    return _PLACE.sub(lambda place: f"{place['begin']}\n{_made(place['name'], place['words'])}\n{place['end']}", text)


def _made(name: str, words: str) -> str:
    if name not in MAKERS:
        raise ValueError(f"table: unknown name '{name}'; valid names: {', '.join(MAKERS)}")
    arguments = dict(word.split("=", 1) for word in words.split())
    try:
        return MAKERS[name](**arguments)
    except TypeError as error:
        raise ValueError(f"table: {name}{words}: {error}") from error


if __name__ == "__main__":
    for page in pages():
        page.write_text(written(page.read_text()))
        print(page)
