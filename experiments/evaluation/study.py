"""The common parts of `flitgym evaluate` and `flitgym regret`: both run policies over scenarios and seeds."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from ...configs import core_failures, refuse_added
from ...simcore import CoreError
from ...simcore._files import atomic_path
from ..results.files import remove_if_unused
from ..results.rows import ROWS_FILE, row, write_rows
from ..terminal.commandline import CommandError, past_hydra
from ..terminal.tables import write_csv
from .plan import Policy, Trial

# Matplotlib takes long to import.
if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..plotting.drawing import Style

OPTIONS = ("topology", "router", "run")  # sections of every run that are Hydra groups
_COMMON = (*OPTIONS, "failures")  # sections that every run takes from the study

WIDTH_OF_FILES = 120  # columns of tables that do not go to a terminal


@dataclass(frozen=True)
class Study:
    """One call of a command that runs policies over scenarios.

    Args:
        directory: The folder of its files and runs.
        common: Hydra overrides of every run: topology, router, failures and windows.
        command: The command line, for the Markdown file.
    """

    directory: Path
    common: Sequence[str]
    command: str


@contextmanager
def study_of_app(name: str, config: DictConfig) -> Iterator[Study]:
    """Run a block as the work of a Hydra application, in Hydra's run directory.

    Args:
        name: The name of the command.
        config: The configuration of the application.

    Raises:
        ConfigError: `config` has a key that nothing reads.
    """
    hydra = HydraConfig.get()
    directory, words = Path(hydra.runtime.output_dir), list(hydra.overrides.task)
    choices = hydra.runtime.choices
    common = [f"{group}={choices[group]}" for group in OPTIONS if group in choices]
    common += [word for word in words if section_of(word) in _COMMON]
    # Hydra has made the folder already.
    with remove_if_unused(directory), past_hydra():
        refuse_added(config)
        yield Study(directory, common, shlex.join([name, *words]))


def section_of(word: str) -> str:
    """The section of an override, such as `failures` for `failures.links=3` and `failures={links: 3}`."""
    return word.lstrip("+~").partition("=")[0].partition(".")[0]


def as_list(word: str, lists: Mapping[str, str]) -> str:
    """Turn `routing=par` into `policies=[par]`, and likewise the other keys of a single run that are lists here.

    Args:
        word: A word of the command line.
        lists: The list that replaces each key of a single run.
    """
    key, equals, value = word.partition("=")
    if not equals or key not in lists:
        return word
    return f"{lists[key]}={value if value.startswith('[') else f'[{value}]'}"


def refuse_both(words: Sequence[str], lists: Mapping[str, str]) -> dict[str, str]:
    """Refuse a key together with its list, such as `routing=par` with `policies=[par]`. Returns each word by its key.

    Raises:
        CommandError: names both words.
    """
    given = {key: word for word in words if (key := word.partition("=")[0]) != word}
    for single, several in lists.items():
        if single in given and several in given:
            raise CommandError(f"{given[single]} and {given[several]} set the same list; give one of them")
    return given


def check_numbers(confidence: float, **counts: int | None) -> None:
    """Check a confidence, and counts by their keys.

    Raises:
        CommandError: names the key.
    """
    if not 0 < confidence < 1:
        raise CommandError(f"confidence: {confidence:g} is not between 0 and 1")
    for key, count in counts.items():
        if count is not None and count < 1:
            raise CommandError(f"{key}: {count} is less than 1")


def require_results(results: Mapping[Path, Any], failures: Sequence[str]) -> None:
    """Refuse to continue without any result.

    Raises:
        CommandError: lists the failures.
    """
    if not results:
        raise CommandError("no run finished:\n" + "\n".join(failures))


def labelled_rows(trials: Sequence[Trial], results: Mapping[Path, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A row per trial that has a result, with its policy and scenario."""
    return [row(results[path], path) | trial.labels for trial in trials if (path := trial.run.directory) in results]


def network_text(result: Mapping[str, Any]) -> str:
    """The network of a run: topology, size and failures."""
    config = result["config"]
    failures = "".join(f", failures.{key}={value}" for key, value in core_failures(OmegaConf.create(config)).items())
    return f"{config['topology']['name']} with {result['facts']['terminals']:,} terminals{failures}"


def write_study(
    directory: Path,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    numbers: Sequence[Mapping[str, Any]],
    policies: Sequence[Policy],
    draw: Callable[[Mapping[str, "Style"]], "Figure"],
    markdown: Callable[[str], str],
) -> list[Path]:
    """Write the rows, the CSV, the figure and the Markdown page of a study.

    Args:
        directory: The folder of the study.
        name: The name of the files, without suffix.
        rows: One per run.
        numbers: The rows of the CSV.
        policies: In the order of the legend.
        draw: Makes the figure from the style of each policy.
        markdown: Makes the page from the name of the picture.

    Returns:
        The files.
    """
    from ..plotting.drawing import distinct_styles, save_figure

    table, text = directory / f"{name}.csv", directory / f"{name}.md"
    write_rows(directory / ROWS_FILE, rows, "labelled")
    write_csv(table, numbers)
    styles = distinct_styles({policy.name: policy.routing for policy in policies})
    images = save_figure(draw(styles), directory / name, salt=name)
    page = markdown(images[0].name)
    before = text.read_text().splitlines()[2:3] if text.is_file() else []
    if before and before != page.splitlines()[2:3]:
        print(
            f"{text} and its tables were those of: {before[0].strip()}; another study=... keeps both", file=sys.stderr
        )
    with atomic_path(text) as temporary:
        temporary.write_text(page)
    return [directory / ROWS_FILE, table, text, *images]


def relative(path: Path) -> Path:
    """The path from the working directory if it lies below, for messages."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def conclude(written: Sequence[Path], failures: Sequence[str]) -> None:
    """Print the files that were written.

    Raises:
        CoreError: some runs failed.
    """
    for path in written:
        print(relative(path))
    if failures:
        raise CoreError("some runs failed; the tables have the others:\n" + "\n".join(failures))
