"""`flitgym-regret`: what decisions of routings lose against the best candidate in hindsight, as tables and a figure.

    flitgym-regret routing=par topology=dragonfly_72 traffic=uniform traffic.load=0.3
    flitgym-regret 'policies=[ugal_l,par,q_adaptive]' 'patterns=[uniform,adversarial]' 'loads=[0.1,0.3]'

`configs/regret.yaml` explains every key.
"""

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from ..configs import CONFIG_DIR, core_failures, explain, refuse_added
from ..simcore import ConfigError, CoreError, __version__
from ..simcore._files import atomic_path
from .evaluation.plan import Policy, Scenario, Trial, check_axis, plan, policies_of, scenarios_of
from .hindsight.measure import Trying, identity, measure
from .hindsight.summary import Line, summarise
from .hindsight.text import About, markdown, print_tables, write_csv
from .results.cautions import say_cautions
from .results.files import finished, read_columns, require_writable
from .results.rows import ROWS_FILE, row, write_rows
from .running.estimate import Estimate
from .running.launcher import refuse_launcher
from .terminal.commandline import CommandError, by_hydra, past_hydra, run_command
from .terminal.progress import SweepProgress

NAME = "regret"  # of the files written
# What a run has one of, and this study several.
_LISTS = {"routing": "policies", "traffic": "patterns", "traffic.load": "loads", "seed": "seeds"}
_COMMON = ("topology", "router", "failures", "run")
_OPTIONS = ("topology", "router", "run")
_WIDTH_OF_FILES = 120  # columns, where the output is no terminal


@hydra.main(config_path=str(CONFIG_DIR), config_name="regret", version_base="1.3")
def app(config: DictConfig) -> None:
    """Run the study in Hydra's run directory."""
    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    words = list(hydra_config.overrides.task)
    common = [f"{group}={hydra_config.runtime.choices[group]}" for group in _OPTIONS]
    common += [word for word in words if word.lstrip("+~").partition(".")[0] in _COMMON]
    try:
        with past_hydra():
            refuse_launcher("the forks of each run fill the cores of this machine; threads=<n> takes so many of them")
            refuse_added(config)
            regret(config, common, directory, shlex.join(["flitgym-regret", *words]))
    except BaseException:
        # Hydra has made the folder already; a study that came to nothing leaves none behind.
        with suppress(OSError):
            directory.rmdir()
        raise


def regret(config: DictConfig, common: Sequence[str], directory: Path, command: str) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure into `directory`.

    Args:
        config: Composed from `regret.yaml`.
        common: Hydra overrides of every run: topology, router, warm-up.
        directory: Of the study.
        command: What the user typed, for `regret.md`.

    Raises:
        ConfigError, CommandError: something that does not exist was asked for; nothing was run. Or no run can be made.
        CoreError: some runs failed; the others ended, and what they gave was written.
        OSError: a file cannot be read or written.
    """
    # Not `run`: how long a warm-up is hangs on each run's routing.
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key not in _OPTIONS])
    given: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    trying = Trying(**{key: given[key] for key in ("decisions", "part", "horizon_ns", "slots", "others")})
    policies, scenarios = _players(given, trying)
    require_writable(directory)
    trials = plan(policies, scenarios, common, given["loads"], given["seeds"], directory)
    results, failures = _run(trials, trying, given["threads"])
    if not results:
        raise CommandError("no run ended well:\n" + "\n".join(failures))

    say_cautions("flitgym-regret", results.values())
    rows = [row(results[d], d) | trial.labels for trial in trials if (d := trial.run.directory) in results]
    lines = summarise(_groups(trials, results), given["confidence"], given["resamples"])
    about = About(
        command, _network(next(iter(results.values()))), given["confidence"], trying.horizon_ns, trying.others
    )
    print_tables(Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES), lines, about)
    write_rows(directory / ROWS_FILE, rows, "labelled")
    for path in [directory / ROWS_FILE, *write(lines, policies, about, failures, directory)]:
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    if failures:
        raise CoreError("some runs failed, the others are in the tables:\n" + "\n".join(failures))


def write(
    lines: Sequence[Line], policies: Sequence[Policy], about: About, failures: Sequence[str], directory: Path
) -> list[Path]:
    """Write the CSV, the Markdown and the figure. Returns the files."""
    from .hindsight.figure import draw
    from .plotting.drawing import distinct_styles, save_figure  # with Matplotlib, which takes long to import

    table, text = directory / f"{NAME}.csv", directory / f"{NAME}.md"
    write_csv(table, lines)
    styles = distinct_styles({policy.name: policy.routing for policy in policies})
    images = save_figure(draw(lines, styles, about.confidence), directory / NAME, salt=NAME)
    with atomic_path(text) as temporary:
        temporary.write_text(markdown(lines, about, images[0].name, failures))
    return [table, text, *images]


def _players(given: Mapping[str, Any], trying: Trying) -> tuple[list[Policy], list[Scenario]]:
    """Policies and patterns, and all numbers checked."""
    policies = policies_of(given["policies"])
    patterns = scenarios_of("pattern", given["patterns"], given["traffic"])
    if not policies:
        raise CommandError("policies: give at least one, policies=[par]")
    if not patterns:
        raise CommandError("patterns: give at least one, patterns=[uniform]")
    for axis in ("seeds", "loads"):
        check_axis(axis, given[axis])
    trying.check()
    if not 0 < given["confidence"] < 1:
        raise CommandError(f"confidence: {given['confidence']:g} is not between 0 and 1")
    if given["resamples"] < 1:
        raise CommandError(f"resamples: {given['resamples']} is less than 1")
    if given["threads"] < 0:
        raise CommandError(f"threads: {given['threads']} is less than 0")
    return policies, patterns


def _run(trials: Sequence[Trial], trying: Trying, threads: int) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """The results by directory, and what went wrong. One run after the other: the forks of each fill all cores."""
    known = {
        trial.run.directory: result
        for trial in trials
        if not trial.run.plain["run"]["overwrite"]
        and (result := finished(trial.run.directory, identity(trial.run.plain, trying), __version__)) is not None
    }
    runs = {trial.run.directory: trial for trial in trials}
    todo = [trial for directory, trial in runs.items() if directory not in known]
    print(f"{NAME}: {len(runs)} runs, {len(runs) - len(todo)} finished before", file=sys.stderr)
    results, left_out = dict(known), set[str]()
    failures: list[str] = []
    if not todo:
        return results, failures
    costs = [trial.run.cost for trial in todo]
    estimate = Estimate([trial.run.kind.alike(trial.run.plain) for trial in todo], costs, workers=1)
    with SweepProgress(NAME, costs) as progress:
        for k, trial in enumerate(todo):
            began = time.monotonic()

            def report(phase: str, part: float, k: int = k, began: float = began) -> None:
                active = {k: (min(part, 0.999), time.monotonic() - began)}
                progress.update(range(k), {k: active[k][0]}, estimate.left(active))

            directory = trial.run.directory
            try:
                if trial.pair not in left_out:
                    results[directory] = measure(trial.run.config, trying, threads, directory, report)
            except ConfigError as error:
                # A configuration that is refused is refused at any load and seed.
                left_out.add(trial.pair)
                failures.append(f"{trial.pair}: {explain(error)}")
                print(f"flitgym-regret: left out: {failures[-1]}", file=sys.stderr, flush=True)
            except CoreError as error:
                failures.append(f"{directory.name}: {error}")
            finally:
                with suppress(OSError):
                    directory.rmdir()  # unless there is something in it
            estimate.ended(k, time.monotonic() - began)
            progress.update(range(k + 1), {}, estimate.left({}))
    return results, failures


def _groups(
    trials: Sequence[Trial], results: Mapping[Path, Mapping[str, Any]]
) -> dict[tuple[str, str, float], list[dict[str, NDArray[Any]]]]:
    """The decisions of every run, by policy, pattern and load; pattern by pattern, load by load."""
    groups: dict[tuple[str, str, float], list[dict[str, NDArray[Any]]]] = {}
    patterns = list(dict.fromkeys(trial.scenario.name for trial in trials))
    ordered = sorted(trials, key=lambda t: (patterns.index(t.scenario.name), t.run.plain["traffic"]["load"]))
    for trial in ordered:
        if (result := results.get(trial.run.directory)) is None:
            continue
        columns = read_columns(result, trial.run.directory, "decisions")
        if columns is None:
            raise CoreError(f"{trial.run.directory}: decisions.parquet is missing; add run.overwrite=true")
        key = (trial.policy.name, trial.scenario.name, float(trial.run.plain["traffic"]["load"]))
        groups.setdefault(key, []).append(columns)
    return groups


def _network(result: Mapping[str, Any]) -> str:
    config = result["config"]
    failures = "".join(f", failures.{key}={value}" for key, value in core_failures(OmegaConf.create(config)).items())
    return (
        f"{config['topology']['name']} with {result['facts']['terminals']:,} terminals{failures}; "
        f"code {result['version']}."
    )


def _as_list(word: str) -> str:
    """`routing=par` as `policies=[par]`, likewise the others that are lists here."""
    key, equals, value = word.partition("=")
    if not equals or key not in _LISTS:
        return word
    return f"{_LISTS[key]}={value if value.startswith('[') else f'[{value}]'}"


def _refuse_both(words: Sequence[str]) -> None:
    """Refuse `routing=par` together with `policies=[par]`: one of the two would not count. So with the other lists."""
    given = {key: word for word in words if (key := word.partition("=")[0]) != word}
    for single, several in _LISTS.items():
        if single in given and several in given:
            raise CommandError(f"{given[single]}: {given[several]} says it as well; give one of the two")


def main() -> None:
    """Entry point of the command."""
    words = sys.argv[1:]

    def command() -> None:
        _refuse_both(words)
        by_hydra(app, "flitgym-regret", "regret", "this study")

    sys.argv[1:] = [_as_list(word) for word in words]
    sys.exit(run_command("flitgym-regret", command))


if __name__ == "__main__":
    main()
