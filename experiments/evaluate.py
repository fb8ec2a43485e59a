"""`flitgym evaluate`: policies and baselines over patterns, loads, workloads and seeds, as tables and a figure.

    flitgym evaluate 'policies=[ugal_l,q_adaptive,results/mine/policy.safetensors]' 'patterns=[uniform,adversarial]'

`configs/evaluate.yaml` explains every key.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from ..configs import CONFIG_DIR, unknown
from ..simcore import ConfigError
from .evaluation.plan import Policy, Scenario, Trial, check_axis, plan, policies_of, scenarios_of
from .evaluation.play import play
from .evaluation.study import (
    OPTIONS,
    WIDTH_OF_FILES,
    Study,
    check_numbers,
    conclude,
    labelled_rows,
    network_text,
    relative,
    require_results,
    study_of_app,
    write_study,
)
from .evaluation.summary import summarise, tidy
from .evaluation.text import About, markdown, print_tables
from .results.copies import copies_text
from .results.files import require_writable
from .running.launcher import HERE, Launcher, launcher_of_app
from .running.sweep import collect
from .terminal.commandline import CommandError, by_hydra, run_command
from .terminal.tables import console

COMMAND = "flitgym evaluate"
NAME = "evaluation"  # of the files
_PATTERNS = ("uniform", "adversarial")  # without patterns and workloads
# Keys of a single run, and the lists that replace them here.
_LISTS = {"routing": "policies", "traffic": "patterns", "workload": "workloads", "seed": "seeds"}


@hydra.main(config_path=str(CONFIG_DIR), config_name="evaluate", version_base="1.3")
def app(config: DictConfig) -> None:
    """Evaluate in Hydra's run directory."""
    with study_of_app(COMMAND, config) as study:
        evaluate(config, study, launcher_of_app())


def evaluate(config: DictConfig, study: Study, launcher: Launcher = HERE) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure.

    Args:
        config: Composed from `evaluate.yaml`.
        study: The folder, the overrides of every run and the command line.
        launcher: Runs the simulations.

    Raises:
        ConfigError, CommandError: the configuration names something that does not exist, and nothing ran; or every
            run was refused or failed.
        CoreError: some runs failed. The files hold the others.
        OSError: a file cannot be read or written.
    """
    # Without `run`: the length of a warm-up depends on the routing of each run.
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key not in OPTIONS])
    given: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    policies, scenarios, reference = _players(given)
    require_writable(study.directory)
    trials = plan(policies, scenarios, study.common, given["loads"], given["seeds"], study.directory)

    def write(results: Mapping[Path, dict[str, Any]], failures: Sequence[str]) -> list[Path]:
        return _write(given, study, (policies, scenarios, reference), trials, results, failures)

    try:
        results, failures = play(trials, COMMAND, NAME, given["workers"], launcher)
    except KeyboardInterrupt:
        results = collect({trial.run.directory: trial.run for trial in trials}.values())
        if not results:
            raise
        runs = len({trial.run.directory for trial in trials})
        written = write(results, [f"the evaluation was interrupted after {len(results)} of {runs} runs"])
        folder = relative(written[0].parent)
        raise KeyboardInterrupt(
            f"{folder} has the tables of the {len(results)} finished runs of {runs}, start again to continue"
        ) from None
    require_results(results, failures)
    conclude(write(results, failures), failures)


def _write(
    given: Mapping[str, Any],
    study: Study,
    players: tuple[list[Policy], list[Scenario], str],
    trials: Sequence[Trial],
    results: Mapping[Path, dict[str, Any]],
    failures: Sequence[str],
) -> list[Path]:
    """Print the tables, and write rows, tables and figure; returns the files."""
    policies, scenarios, reference = players
    rows = labelled_rows(trials, results)
    confidence = given["confidence"]
    names = [policy.name for policy in policies]
    cells = summarise(rows, names, scenarios, given["loads"], given["seeds"], reference, confidence)
    found = list(results.values())
    network = _network(found, any(scenario.kind == "pattern" for scenario in scenarios))
    about = About(study.command, network, reference, confidence, len(given["seeds"]), copies_text(found))
    print_tables(console(WIDTH_OF_FILES), cells, about)
    from .evaluation.figure import draw  # with Matplotlib, which takes long to import

    return write_study(
        *(study.directory, NAME, rows, tidy(cells), policies),
        lambda styles: draw(cells, styles, reference, confidence),
        lambda figure: markdown(cells, about, figure, failures),
    )


def _players(given: Mapping[str, Any]) -> tuple[list[Policy], list[Scenario], str]:
    """The policies, the scenarios and the name of the reference, all checked."""
    policies = policies_of(given["policies"])
    workloads = scenarios_of("workload", given["workloads"], given["workload"])
    entries = given["patterns"] if given["patterns"] is not None else [] if workloads else _PATTERNS
    patterns = scenarios_of("pattern", entries, given["traffic"])
    scenarios = patterns + workloads
    if not policies:
        raise CommandError("policies: give at least one, policies=[minimal]")
    if not scenarios:
        raise CommandError("give at least one of patterns=[...] and workloads=[...]")
    check_axis("seeds", given["seeds"])
    if patterns:
        check_axis("loads", given["loads"])
    names = [policy.name for policy in policies]
    reference = names[0] if given["reference"] is None else given["reference"]
    if reference not in names:
        raise CommandError(unknown("reference", reference, names, "policy"))
    check_numbers(given["confidence"], workers=given["workers"])
    return policies, scenarios, reference


def _network(results: Sequence[Mapping[str, Any]], windows: bool) -> str:
    result = results[0]
    run = result["config"]["run"]
    warmups = [one["config"]["run"]["warmup_ns"] for one in results]
    after = " to ".join(f"{end:,.0f}" for end in sorted({min(warmups), max(warmups)}))
    measured = f", {run['measure_ns']:,.0f} ns measured after {after} ns" if windows else ""
    if windows and run.get("precision"):
        measured = f", measured until the intervals are within {100 * run['precision']:g} %"
    # All runs have histograms with the same bins.
    percentiles = 100 * result["histogram_relative_error"]
    return (
        f"{network_text(result)}{measured}; code {result['version']}. Percentiles come from a histogram and are exact "
        f"within {percentiles:.2g} %."
    )


def _refuse_singles(words: Sequence[str]) -> None:
    for word in words:
        key, _, value = word.lstrip("+~").partition("=")
        if key not in _LISTS:
            continue
        keys = OverridesParser.create().parse_override(word).value() if value.startswith("{") else None
        if isinstance(keys, dict):
            raise ConfigError(f"{word}: write {' '.join(f'{key}.{name}={one}' for name, one in keys.items())}")
        raise ConfigError(f"{word}: an evaluation takes a list; write {_LISTS[key]}=[{value}]")


def main() -> None:
    """Entry point of the command."""

    def command() -> None:
        _refuse_singles(sys.argv[1:])
        by_hydra(app, COMMAND, "evaluate", "an evaluation")

    sys.exit(run_command(COMMAND, command))
