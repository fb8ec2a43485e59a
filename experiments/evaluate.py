"""`flitgym-evaluate`: policies and baselines over patterns, loads, workloads and seeds, as tables and a figure.

    flitgym-evaluate 'policies=[ugal_l,q_adaptive,results/mine/policy.safetensors]' 'patterns=[uniform,adversarial]'

`configs/evaluate.yaml` explains every key.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from ..configs import CONFIG_DIR, core_failures, refuse_added, unknown
from ..simcore import ConfigError, CoreError
from ..simcore._files import atomic_path
from .evaluation.plan import Policy, Scenario, check_axis, plan, policies_of, scenarios_of
from .evaluation.play import play
from .evaluation.summary import Bootstrap, Cell, summarise
from .evaluation.text import About, markdown, print_tables, write_csv
from .results.files import require_writable
from .results.rows import ROWS_FILE, row, write_rows
from .running.launcher import HERE, Launcher, launcher_of_app
from .terminal.commandline import CommandError, by_hydra, past_hydra, run_command

NAME = "evaluation"  # of the files written
# What a run has and an evaluation has several of.
_LISTS = {"routing": "policies", "traffic": "patterns", "workload": "workloads", "seed": "seeds"}
# Sections that the runs take over as they are, and those of them that have options.
_COMMON = ("topology", "router", "failures", "run")
_OPTIONS = ("topology", "router", "run")
_WIDTH_OF_FILES = 120  # columns, where the output is no terminal


@hydra.main(config_path=str(CONFIG_DIR), config_name="evaluate", version_base="1.3")
def app(config: DictConfig) -> None:
    """Evaluate in Hydra's run directory."""
    hydra_config = HydraConfig.get()
    directory = Path(hydra_config.runtime.output_dir)
    words = list(hydra_config.overrides.task)
    common = [f"{group}={hydra_config.runtime.choices[group]}" for group in _OPTIONS]
    common += [word for word in words if word.lstrip("+~").partition(".")[0] in _COMMON]
    try:
        with past_hydra():
            refuse_added(config)
            evaluate(config, common, directory, shlex.join(["flitgym-evaluate", *words]), launcher_of_app())
    except BaseException:
        # Hydra has made the folder already; an evaluation that came to nothing leaves none behind.
        with suppress(OSError):
            directory.rmdir()
        raise


def evaluate(
    config: DictConfig, common: Sequence[str], directory: Path, command: str, launcher: Launcher = HERE
) -> None:
    """Run what is missing, print the tables, and write rows, tables and figure into `directory`.

    Args:
        config: Composed from `evaluate.yaml`.
        common: Hydra overrides of every run: topology, router, windows.
        directory: Of the study.
        command: What the user typed, for `evaluation.md`.
        launcher: Where it runs.

    Raises:
        ConfigError, CommandError: something that does not exist was asked for; nothing was run. Or no run can be made.
        CoreError: some runs failed; the others ended, and what they gave was written.
        OSError: a file cannot be read or written.
    """
    given: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    policies, scenarios, reference = _players(given)
    require_writable(directory)
    trials = plan(policies, scenarios, common, given["loads"], given["seeds"], directory)
    results, failures = play(trials, "flitgym-evaluate", NAME, given["workers"], launcher)
    rows = [row(results[d], d) | trial.labels for trial in trials if (d := trial.run.directory) in results]
    if not rows:
        raise CommandError("no run ended well:\n" + "\n".join(failures))

    bootstrap = Bootstrap(given["confidence"], given["resamples"])
    names = [policy.name for policy in policies]
    cells = summarise(rows, names, scenarios, given["loads"], given["seeds"], reference, bootstrap)
    network = _network(next(iter(results.values())), any(scenario.kind == "pattern" for scenario in scenarios))
    about = About(command, network, reference, bootstrap.confidence, len(given["seeds"]))
    print_tables(Console(width=None if sys.stdout.isatty() else _WIDTH_OF_FILES), cells, about)
    write_rows(directory / ROWS_FILE, rows, "labelled")
    for path in [directory / ROWS_FILE, *write(cells, policies, about, failures, directory)]:
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
    if failures:
        raise CoreError("some runs failed, the others are in the tables:\n" + "\n".join(failures))


def write(
    cells: Sequence[Cell], policies: Sequence[Policy], about: About, failures: Sequence[str], directory: Path
) -> list[Path]:
    """Write the CSV, the Markdown and the figure. Returns the files."""
    from .evaluation.figure import draw
    from .plotting.drawing import distinct_styles, save_figure  # with Matplotlib, which takes long to import

    table, text = directory / f"{NAME}.csv", directory / f"{NAME}.md"
    write_csv(table, cells)
    styles = distinct_styles({policy.name: policy.routing for policy in policies})
    images = save_figure(draw(cells, styles, about.reference, about.confidence), directory / NAME, salt=NAME)
    with atomic_path(text) as temporary:
        temporary.write_text(markdown(cells, about, images[0].name, failures))
    return [table, text, *images]


def _players(given: Mapping[str, Any]) -> tuple[list[Policy], list[Scenario], str]:
    """Policies, scenarios and the name of the reference, all checked."""
    policies = policies_of(given["policies"])
    patterns = scenarios_of("pattern", given["patterns"], given["traffic"])
    scenarios = patterns + scenarios_of("workload", given["workloads"], given["workload"])
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
    if not 0 < given["confidence"] < 1:
        raise CommandError(f"confidence: {given['confidence']:g} is not between 0 and 1")
    for key in ("resamples", "workers"):
        if given[key] is not None and given[key] < 1:
            raise CommandError(f"{key}: {given[key]} is less than 1")
    return policies, scenarios, reference


def _network(result: Mapping[str, Any], windows: bool) -> str:
    config = result["config"]
    run = config["run"]
    # Every run has the same bins.
    percentiles = 100 * result["histogram_relative_error"]
    failures = "".join(f", failures.{key}={value}" for key, value in core_failures(OmegaConf.create(config)).items())
    measured = f", {run['measure_ns']:,.0f} ns measured after {run['warmup_ns']:,.0f} ns" if windows else ""
    return (
        f"{config['topology']['name']} with {result['facts']['terminals']:,} terminals{failures}{measured}; code "
        f"{result['version']}. Percentiles come from a "
        f"histogram and are exact within {percentiles:.2g} %."
    )


def _refuse_singles(words: Sequence[str]) -> None:
    for word in words:
        key, _, value = word.lstrip("+~").partition("=")
        if key in _LISTS:
            raise ConfigError(f"{word}: an evaluation has several; write {_LISTS[key]}=[{value}]")


def main() -> None:
    """Entry point of the command."""

    def command() -> None:
        _refuse_singles(sys.argv[1:])
        by_hydra(app, "flitgym-evaluate", "evaluate", "an evaluation")

    sys.exit(run_command("flitgym-evaluate", command))


if __name__ == "__main__":
    main()
