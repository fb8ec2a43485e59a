"""`flitgym saturate`: the highest load that a network carries, by routing and pattern, as a table and a figure.

    flitgym saturate topology=hyperx_64 routing=dim_war,omni_war,ugal traffic=uniform,urb_y

`configs/saturate.yaml` explains every key.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from ..configs import CONFIG_DIR
from ..simcore import ConfigError
from .evaluation.plan import Policy, check_axis, plan, policies_of, scenarios_of
from .evaluation.play import play
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
from .results.copies import copies_text
from .results.files import require_writable
from .running.launcher import HERE, Launcher, launcher_of_app
from .running.plan import Composers
from .saturation.search import Search, search_of
from .saturation.summary import summarise, tidy
from .saturation.text import About, markdown, print_tables
from .terminal.commandline import CommandError, by_hydra, run_command
from .terminal.tables import console

COMMAND = "flitgym saturate"
NAME = "saturation"  # of the files
# Keys of a single run, and the lists that replace them here.
_LISTS = {"topology": "networks", "routing": "policies", "traffic": "patterns", "seed": "seeds"}
_SETTINGS = ("precision", "confidence", "max_ns")


@hydra.main(config_path=str(CONFIG_DIR), config_name="saturate", version_base="1.3")
def app(config: DictConfig) -> None:
    """Search in Hydra's run directory."""
    with study_of_app(COMMAND, config) as study:
        saturate(config, study, launcher_of_app())


def saturate(config: DictConfig, study: Study, launcher: Launcher = HERE) -> None:
    """Search what is missing, print the tables, and write rows, tables and figure.

    Args:
        config: Composed from `saturate.yaml`.
        study: The folder, the overrides of every search and the command line.
        launcher: Runs the searches.

    Raises:
        ConfigError, CommandError: the configuration names something that does not exist, and nothing ran; or every
            search was refused or failed.
        CoreError: some searches failed. The files hold the others.
        OSError: a file cannot be read or written.
    """
    # Without `run`: the length of a warm-up depends on the routing of each search.
    own = OmegaConf.masked_copy(config, [str(key) for key in config if key not in OPTIONS])
    given: Any = OmegaConf.to_container(own, resolve=True, throw_on_missing=True)
    policies = policies_of(given["policies"])
    searches = _plan(given, study, policies)
    require_writable(study.directory)
    results, failures = play(searches, COMMAND, NAME, given["workers"], launcher)
    require_results(results, failures)

    rows = labelled_rows(searches, results)
    confidence = given["confidence"]
    lines = summarise(rows, confidence)
    copies = copies_text(list(results.values()))
    about = About(study.command, _networks(searches, results), given["precision"], confidence, copies)
    print_tables(console(WIDTH_OF_FILES), lines, about)
    from .saturation.figure import draw  # with Matplotlib, which takes long to import

    written = write_study(
        *(study.directory, NAME, rows, tidy(lines), policies),
        lambda styles: draw(lines, styles, confidence),
        lambda figure: markdown(lines, about, figure, failures),
    )
    conclude(written, failures)


def _plan(given: Mapping[str, Any], study: Study, policies: Sequence[Policy]) -> list[Search]:
    """Every search, networks x policies x patterns x seeds; all numbers are checked, too."""
    patterns = scenarios_of("pattern", given["patterns"], given["traffic"])
    for key, entries in (("networks", given["networks"]), ("policies", policies), ("patterns", patterns)):
        if not entries:
            raise CommandError(f"{key}: give at least one")
    twice = next((name for name in given["networks"] if given["networks"].count(name) > 1), None)
    if twice is not None:
        raise CommandError(f"networks: '{twice}' occurs twice")
    check_axis("seeds", given["seeds"])
    check_numbers(given["confidence"], workers=given["workers"])
    if not 0 < given["precision"] < 0.5:
        raise CommandError(f"precision: {given['precision']:g} is not between 0 and 0.5")
    if not 0 < given["max_ns"] < math.inf:
        raise CommandError(f"max_ns: {given['max_ns']:g} is not a time above 0")
    settings, composers = {key: given[key] for key in _SETTINGS}, Composers()
    searches = []
    for network in given["networks"]:
        common = [f"topology={network}", *study.common]
        trials = plan(policies, patterns, common, [1.0], given["seeds"], study.directory, composers)
        searches += [search_of(trial, network, settings) for trial in trials]
    return searches


def _networks(searches: Sequence[Search], results: Mapping[Path, Mapping[str, Any]]) -> str:
    texts = {s.network: network_text(results[s.run.directory]) for s in searches if s.run.directory in results}
    version = next(iter(results.values()))["version"]
    return f"{'; '.join(f'{name}: {text}' for name, text in texts.items())}. Code {version}."


def _refuse(words: Sequence[str]) -> None:
    """Refuse a key together with its list, the load, which is the result, and keys of `run` that have another name."""
    given = refuse_both(words, _LISTS)
    of_run = [given[key] for key in ("run.precision", "run.confidence", "run.max_ns") if key in given]
    of_run += [word for word in words if word == "run=steady"]
    if of_run:
        raise ConfigError(f"{of_run[0]}: has no effect here; use precision, confidence and max_ns, without 'run.'")
    if "traffic.load" in given:
        raise ConfigError(f"{given['traffic.load']}: the command searches for the load; leave it out")


def main() -> None:
    """Entry point of the command."""
    words = sys.argv[1:]

    def command() -> None:
        _refuse(words)
        by_hydra(app, COMMAND, "saturate", "this study")

    sys.argv[1:] = [as_list(word, _LISTS) for word in words]
    sys.exit(run_command(COMMAND, command))
