"""Tables of results on the pages of docs, made from recorded results.

Two comments mark the place of a table on a page. The first comment names a function of `MAKERS` and its arguments:

    <!-- table: scores suite=quick -->

    <!-- end of table -->

`make reference` writes the tables between the comments, and tests/docs/test_result_tables.py compares them. The
benchmark's own code scores the results of its suites. The other sources are the headers of shipped policies, the
READMEs of figures and studies, the saved figures of the core's speed, and the numbers of `flitgym list cost`.
"""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np
from flitgym.configs.composition import SIMULATION
from flitgym.configs.policies import shipped_policies, shipped_policy
from flitgym.experiments.benchmarks.records import Record, read_records
from flitgym.experiments.benchmarks.scoring import Summary, standing_of
from flitgym.experiments.benchmarks.study import router_cost
from flitgym.experiments.benchmarks.suite import POLICIES, TUNING, Suite, load_suite
from flitgym.experiments.benchmarks.text import overview, split
from flitgym.experiments.benchmarks.transfer import transfers_of, worlds_of
from flitgym.experiments.evaluation.tables import Table
from flitgym.experiments.hardware.measure import rows_of
from flitgym.simcore._policy_file import load_policy

DOCS = Path(__file__).resolve().parent.parent
SUITES = ("quick", "standard", "jobs", "changing", "random")
_PLACE = re.compile(
    r"(?P<begin><!-- table: (?P<name>\w+)(?P<words>[^\n]*?) -->\n)(?P<table>.*?)(?P<end><!-- end of table -->)",
    re.DOTALL,
)
_COMMENT = "<!-- table:"
_SCENES = (
    "input_queued_minimal_uniform_0.6",
    "hpdc21_q_adaptive_uniform_0.6",
    "input_queued_minimal_uniform_0.3_100352_terminals",
    "sc22_par_fft3d_and_halo3d",
    "sc22_flit_crossbar_par_fft3d_and_halo3d",
)
# Headings of text columns.
_TEXTS = {
    *("policy", "suite", "network", "scene", "per router and packet", "routing", "setting"),
    *(
        "extra",
        "for",
        "packages",
        "command",
        "trained on",
        "observation",
        "units",
        "slots",
        "relation",
        "plays on",
        "worst / best other",
    ),
    *("networks of the training", "patterns and pairs of jobs of the training"),
}

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


# --- Suites ----------------------------------------------------------------------------------------------------------


def suites() -> str:
    """Tasks, seeds, networks and recorded runs of every suite."""
    rows = []
    for name in SUITES:
        suite = _suite(name)
        train = sum(task.set == "train" for task in suite.tasks)
        networks = dict.fromkeys(task.network for task in suite.tasks)
        numbers = (len(suite.tasks), train, len(suite.seeds), len(networks), len(_records(name)))
        rows.append([f"[`{suite.id}`](#suite-{name})", *(f"{number:,}" for number in numbers)])
    return markdown(("suite", "tasks", "to train on", "seeds", "networks", "recorded runs"), rows)


def transfers() -> str:
    """The training of every shipped policy, and the held-out tasks of all suites by what is new to it."""
    rows = []
    for policy in shipped_policies():
        worlds = worlds_of(policy)
        kinds = Counter[str]()
        for name in SUITES:
            kinds.update(transfers_of(policy, name).values())
        families = Counter(shape[0] for shape in {world.shape for world in worlds})
        cells = [", ".join(f"{number} `{family}`" for family, number in sorted(families.items()))]
        cells.append(", ".join(f"`{name}`" for name in sorted({name for world in worlds for name in world.traffic})))
        rows.append([f"`{policy}`", *cells, *(str(kinds[kind]) for kind in ("shape", "pattern", "family", "train"))])
    heads = ("policy", "networks of the training", "patterns and pairs of jobs of the training")
    return markdown([*heads, "new shape", "new pattern", "new family", "contaminated"], rows)


def tuning() -> str:
    """The fastest setting of each tuned baseline, which may be the default."""
    lines = list(csv.DictReader(TUNING.read_text().splitlines()))
    rows = []
    for name in dict.fromkeys(line["policy"] for line in lines):
        own = [line for line in lines if line["policy"] == name]  # fastest first
        routing, params = POLICIES[name]["routing"], json.loads(own[0]["params"])
        setting = ", ".join(f"`{key}={value}`" for key, value in params.items())
        defaults = SIMULATION.resolved([f"routing={routing}"])["routing"]
        setting += " (the default)" * (params.items() <= defaults.items())
        rows.append([f"`{name}`", f"`{routing}`", setting, str(len(own)), own[0]["runs"]])
    return markdown(("policy", "routing", "setting", "settings tried", "runs of each"), rows)


# --- Scores ----------------------------------------------------------------------------------------------------------


def scores(suite: str) -> str:
    """Scores on both sets of tasks, and comparisons with the best of the other policies."""
    return _table(overview, suite)


def kinds(suite: str, policies: str | None = None, key: str = "kind") -> str:
    """Scores by kind of task, or by another key of `split`."""
    return _table(partial(split, key=key), suite, policies)


def _table(make: Callable[[Sequence[Summary]], Table], suite: str, policies: str | None = None) -> str:
    shown = [one for one in _summaries(suite) if policies is None or one.policy in policies.split(",")]
    if not shown:
        return f"No results of version {_suite(suite).version} are recorded.\n"
    table = make(shown)
    return markdown(table.heads, [list(map(str, line)) for line in table.lines])


# --- Leaderboard ------------------------------------------------------------------------------------------------------


def leaderboard() -> str:
    """One row per policy: held-out scores of the suites with results, cost of a decision and memory of a router."""
    recorded = [suite for suite in SUITES if _records(suite)]
    of = {suite: {summary.policy: summary for summary in _summaries(suite)} for suite in recorded}
    rows = []
    for policy in dict.fromkeys(policy for known in of.values() for policy in known):
        marks = "" if all(policy in known and known[policy].complete for known in of.values()) else "†"
        values = [known[policy].by["set"]["held_out"].value if policy in known else np.nan for known in of.values()]
        cells = ["-" if np.isnan(value) else f"{value:.2f}" for value in values]
        rows.append([f"`{policy}`{marks}", *cells, *_hardware(policy)])
    return markdown(["policy", *(f"`{suite}`" for suite in recorded), "multiplications", "bytes", "network"], rows)


def _hardware(policy: str) -> list[str]:
    """`router_cost` a policy on the first network that it played, and the network."""
    played = {(record.suite, record.task) for suite in SUITES for record in _records(suite)
              if record.policy == policy}  # fmt: skip
    suites = map(_suite, SUITES)
    task = next(task for suite in suites for task in suite.tasks if (suite.id, task.id) in played)
    overrides = [word for word in task.overrides if word.startswith(("topology", "router"))]
    entry = next(one for one in task.baselines if one.name == policy)
    plain = SIMULATION.resolved([*overrides, f"routing={entry.routing}"], entry.settings)
    return [*router_cost(plain), f"`{task.network}`"]


# --- Other sources ---------------------------------------------------------------------------------------------------


def cards() -> str:
    """The card of every policy that comes with flitgym: its training and its inputs, its scores and its limits."""
    of = {summary.policy: summary for summary in _summaries("quick")}
    rows = []
    for policy in shipped_policies():
        layers, header = load_policy(shipped_policy(policy))
        families = ", ".join(f"`{family}`" for family in sorted({world.shape[0] for world in worlds_of(policy)}))
        sizes = [layers[0][0].shape[1], *(len(bias) for _, bias in layers)]
        sees = (f"`{header['observation']}`", "-".join(map(str, sizes)), header["slots"], f"`{header['relation']}`")
        cells = [f"`{policy}`", f"`{header['trained_by']}`", families, *sees, header["topology"], "-", "-", "-", "-"]
        if one := of.get(policy):
            worst = "-" if one.worst is None else f"{one.worst[1]:.2f} in {one.worst[0].name}"
            ratio = "-" if np.isnan(one.latency_to_best) else f"{one.latency_to_best:.3f}"
            cells[-4:] = [f"{one.by['set']['held_out'].value:.2f}", f"{one.played} of {one.of}", ratio, worst]
        rows.append(cells)
    heads = ["policy", "command", "trained on", "observation", "units", "slots", "relation", "plays on"]
    return markdown([*heads, "held out", "tasks", "latency / best known", "worst / best other"], rows)


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


def versions() -> str:
    """The lowest and the first excluded version of every package, and the purpose of every extra."""
    text = (DOCS.parent / "pyproject.toml").read_text()
    project, purposes = tomllib.loads(text)["project"], dict(re.findall(r"^(\w+) = \[.*?  # (.*)$", text, re.MULTILINE))
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    rows = [
        [f"`[{name}]`" if name else "none", purposes.get(name, "simulations and pictures"), ", ".join(sorted(words))]
        for name, words in groups.items()
    ]
    return markdown(("extra", "for", "packages"), rows)


MAKERS: dict[str, Callable[..., str]] = {
    maker.__name__: maker
    for maker in (
        suites,
        scores,
        kinds,
        transfers,
        tuning,
        leaderboard,
        cards,
        readme,
        speed,
        hardware_cost,
        versions,
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
