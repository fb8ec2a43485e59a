"""`flitgym regret`: the loss of routing decisions against the best candidate in hindsight, as tables and a figure.

    flitgym regret routing=par topology=dragonfly_72 traffic=uniform traffic.load=0.3
    flitgym regret 'policies=[ugal_l,par,q_adaptive]' 'patterns=[uniform,adversarial]' 'loads=[0.1,0.3]'

`configs/regret.yaml` explains every key.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import hydra
from numpy.typing import NDArray
from omegaconf import DictConfig, OmegaConf

from ..configs import CONFIG_DIR, explain
from ..simcore import ConfigError, CoreError, __version__
from .evaluation.plan import Policy, Scenario, Trial, check_axis, plan, policies_of, scenarios_of
from .evaluation.study import (
    OPTIONS,
    WIDTH_OF_FILES,
    Study,
    as_list,
    check_numbers,
    conclude,
    labelled_rows,
    network_text,
    refuse_both,
    require_results,
    study_of_app,
    write_study,
)
from .hindsight.measure import Sampling, identity, measure
from .hindsight.summary import summarise, tidy
from .hindsight.text import UNEVEN, About, is_uneven, markdown, print_tables
from .results.cautions import say_cautions
from .results.files import finished, read_columns, require_writable
from .running.estimate import Estimate
from .running.launcher import refuse_launcher
from .terminal.commandline import CommandError, by_hydra, run_command
from .terminal.progress import SweepProgress
from .terminal.tables import console

COMMAND = "flitgym regret"
NAME = "regret"  # of the files
# Keys of a single run, and the lists that replace them here.
_LISTS = {"routing": "policies", "traffic": "patterns", "traffic.load": "loads", "seed": "seeds"}


@hydra.main(config_path=str(CONFIG_DIR), config_name="regret", version_base="1.3")
def app(config: DictConfig) -> None:
    """Run the study in Hydra's run directory."""
    with study_of_app(COMMAND, config) as study:
        refuse_launcher("the forks of each run use all cores of this machine, or threads=<n> of them")
        regret(config, study)


def regret(config: DictConfig, study: Study) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure.

    Args:
        config: Composed from `regret.yaml`.
        study: The folder, the overrides of every run and the command line.

    Raises:
        ConfigError, CommandError: the configuration names something that does not exist, and nothing ran; or every
            run was refused or failed.
        CoreError: some runs failed. The files hold the others.
        OSError: a file cannot be read or written.
    """
    # Without `run`: the length of a warm-up depends on the routing of each run.
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key not in OPTIONS])
    given: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    sampling = Sampling(**{key.name: given[key.name] for key in fields(Sampling)})
    policies, scenarios = _players(given, sampling)
    require_writable(study.directory)
    trials = plan(policies, scenarios, study.common, given["loads"], given["seeds"], study.directory)
    results, failures = _run(trials, sampling, given["threads"])
    require_results(results, failures)

    say_cautions(COMMAND, results.values())
    rows = labelled_rows(trials, results)
    confidence = given["confidence"]
    lines = summarise(_groups(trials, results), confidence)
    result = next(iter(results.values()))
    network = f"{network_text(result)}; code {result['version']}."
    uneven = is_uneven(lines)
    if uneven:
        print(f"{COMMAND}: warning: {UNEVEN}", file=sys.stderr, flush=True)
    chosen = (sampling.other_packets, sampling.candidates, uneven)
    about = About(study.command, network, confidence, sampling.horizon_ns, *chosen)
    print_tables(console(WIDTH_OF_FILES), lines, about)
    from .hindsight.figure import draw  # with Matplotlib, which takes long to import

    written = write_study(
        *(study.directory, NAME, rows, tidy(lines), policies),
        lambda styles: draw(lines, styles, confidence, len(given["seeds"])),
        lambda figure: markdown(lines, about, figure, failures),
    )
    conclude(written, failures)


def _players(given: Mapping[str, Any], sampling: Sampling) -> tuple[list[Policy], list[Scenario]]:
    """The policies and patterns; all numbers are checked, too."""
    policies = policies_of(given["policies"])
    patterns = scenarios_of("pattern", given["patterns"], given["traffic"])
    if not policies:
        raise CommandError("policies: give at least one, policies=[par]")
    if not patterns:
        raise CommandError("patterns: give at least one, patterns=[uniform]")
    for axis in ("seeds", "loads"):
        check_axis(axis, given[axis])
    sampling.check()
    check_numbers(given["confidence"])
    if given["threads"] < 0:
        raise CommandError(f"threads: {given['threads']} is less than 0")
    return policies, patterns


def _run(trials: Sequence[Trial], sampling: Sampling, threads: int) -> tuple[dict[Path, dict[str, Any]], list[str]]:
    """The results by directory, and the failures. Runs are sequential, because the forks of each use all cores."""
    known = {
        trial.run.directory: result
        for trial in trials
        if not trial.run.plain["run"]["overwrite"]
        and (result := finished(trial.run.directory, identity(trial.run.plain, sampling), __version__)) is not None
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
                    results[directory] = measure(trial.run.config, sampling, threads, directory, report)
            except ConfigError as error:
                # The core would refuse this policy at every load and seed.
                left_out.add(trial.pair)
                failures.append(f"{trial.pair}: {explain(error)}")
                print(f"{COMMAND}: left out: {failures[-1]}", file=sys.stderr, flush=True)
            except CoreError as error:
                failures.append(f"{directory.name}: {error}")
            finally:
                with suppress(OSError):
                    directory.rmdir()  # succeeds if it is empty
            estimate.ended(k, time.monotonic() - began)
            progress.update(range(k + 1), {}, estimate.left({}))
    return results, failures


def _groups(
    trials: Sequence[Trial], results: Mapping[Path, Mapping[str, Any]]
) -> dict[tuple[str, str, float], list[dict[str, NDArray[Any]]]]:
    """The decisions of every run by policy, pattern and load, ordered by pattern and then by load."""
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


def main() -> None:
    """Entry point of the command."""
    words = sys.argv[1:]

    def command() -> None:
        refuse_both(words, _LISTS)
        by_hydra(app, COMMAND, "regret", "this study")

    sys.argv[1:] = [as_list(word, _LISTS) for word in words]
    sys.exit(run_command(COMMAND, command))
